// GridSample on the machine against the plain reference.
#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

TEST(GridSample, ModesPaddingsAndCorners) {
  Random random(1);
  for (const char* mode : {"nearest", "bilinear", "bicubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const int64_t align : {0, 1}) {
        OpCase test(OpKind::kGridSample, 16);
        test.Attribute("mode", std::string(mode))
            .Attribute("padding_mode", std::string(padding))
            .Attribute("align_corners", align)
            .Input(RandomTensor(random, DType::kFloat32, Shape{2, 3, 5, 4}))
            .Input(RandomTensor(random, DType::kFloat32, Shape{2, 4, 6, 2}, -2.3, 2.3));
        HarnessOptions options;
        options.absolute_tolerance = 2e-5;
        ASSERT_TRUE(MatchesReference(test, options)) << mode << padding << align;
      }
    }
  }
}

TEST(GridSample, ContradictionsAreRefused) {
  Random random(2);
  const auto sample = [&](const Shape& x, const Shape& grid, const char* mode) {
    OpCase test(OpKind::kGridSample, 16);
    test.Attribute("mode", std::string(mode))
        .Input(RandomTensor(random, DType::kFloat32, x))
        .Input(RandomTensor(random, DType::kFloat32, grid));
    return test.Infer().code();
  };
  EXPECT_EQ(sample({2, 3, 5, 4}, {2, 4, 6, 2}, "bilinear"), absl::StatusCode::kOk);
  EXPECT_EQ(sample({2, 3, 5, 4}, {1, 4, 6, 2}, "bilinear"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sample({2, 3, 5, 4}, {2, 4, 6, 3}, "bilinear"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sample({2, 3, 5, 4}, {2, 4, 6, 2}, "sharp"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sample({2, 3, 5, 4, 6}, {2, 4, 6, 2, 3}, "bilinear"), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace berth::testing
