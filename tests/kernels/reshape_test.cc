// Ops that keep every element in its place, and images cut into blocks, on the machine against the
// plain reference; shapes that the type rules give and refuse.
#include "kernels/ops/flat_range.h"
#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

Shape OutputShape(OpCase& test, size_t i = 0) {
  const absl::Status status = test.Infer();
  EXPECT_TRUE(status.ok()) << status;
  return test.graph().at(test.node().outputs[i]).type.shape;
}

absl::StatusCode InferCode(OpCase& test) { return test.Infer().code(); }

// Another shape of as many elements.
Shape RandomReshape(Random& random, const Shape& shape) {
  std::vector<int64_t> factors;
  for (int64_t left = shape.ElementCount(), factor = 2; left > 1;) {
    if (left % factor == 0) {
      factors.push_back(factor);
      left /= factor;
    } else {
      ++factor;
    }
  }
  std::shuffle(factors.begin(), factors.end(), random);
  std::vector<int64_t> extents{1};
  for (const int64_t factor : factors) {
    if (extents.size() < 6 && Chance(random, 0.5)) extents.push_back(1);
    extents.back() *= factor;
  }
  return Shape(extents);
}

TEST(Reshape, RandomShapesDTypesAndTiles) {
  const DType dtypes[] = {DType::kFloat32, DType::kFloat16, DType::kFloat64, DType::kInt64,
                          DType::kBool};
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const DType dtype = dtypes[RandomInt(random, 0, std::size(dtypes) - 1)];
    Shape shape = RandomShape(random, 0, 5, 7);
    if (shape.rank() > 0 && Chance(random, 0.5)) shape[0] = RandomInt(random, 20, 300);
    const Shape target = RandomReshape(random, shape);
    OpCase test(OpKind::kReshape, 14);
    test.Input(RandomTensor(random, dtype, shape)).Constant(Int64Tensor(target.extents()));
    if (dtype == DType::kFloat32 && Chance(random, 0.5)) {
      test.Fuse(OpKind::kAdd, {}, {RandomTensor(random, dtype, RandomBroadcastOf(random, target))},
                0, false);
    }
    ASSERT_TRUE(MatchesEverywhere(test, 4 << 10))
        << DTypeName(dtype) << " " << shape.ToString() << " to " << target.ToString();
  }
}

TEST(Reshape, CopiedAndInferredDimensions) {
  const Tensor input(TensorType{DType::kFloat32, Shape{2, 3, 4}});
  const auto shape_of = [&](std::vector<int64_t> target) {
    OpCase test(OpKind::kReshape, 13);
    test.Input(input).Constant(Int64Tensor(target));
    return OutputShape(test);
  };
  EXPECT_EQ(shape_of({0, -1}), (Shape{2, 12}));
  EXPECT_EQ(shape_of({-1}), (Shape{24}));
  EXPECT_EQ(shape_of({4, 0, 2}), (Shape{4, 3, 2}));
  for (const std::vector<int64_t>& bad :
       {std::vector<int64_t>{5, -1}, {-1, -1}, {2, 3}, {2, 3, 4, 0}, {-2, -12}}) {
    OpCase test(OpKind::kReshape, 13);
    test.Input(input).Constant(Int64Tensor(bad));
    EXPECT_EQ(InferCode(test), absl::StatusCode::kInvalidArgument);
  }
}

TEST(Reshape, ZeroIsAnExtentWhereAllowed) {
  OpCase test(OpKind::kReshape, 14);
  test.Attribute("allowzero", int64_t{1})
      .Input(Tensor(TensorType{DType::kFloat32, Shape{3, 0, 2}}))
      .Constant(Int64Tensor({0, 5}));
  EXPECT_EQ(OutputShape(test), (Shape{0, 5}));
  EXPECT_TRUE(MatchesReference(test));
}

TEST(Reshape, OfUnknownShapeMustWait) {
  OpCase test(OpKind::kReshape, 13);
  test.Input(Tensor(TensorType{DType::kFloat32, Shape{4}})).Input(Int64Tensor({2, 2}));
  EXPECT_EQ(InferCode(test), absl::StatusCode::kFailedPrecondition);
}

TEST(Reshape, ByAttribute) {
  Random random(1);
  OpCase test(OpKind::kReshape, 1);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{2, 6}))
      .Attribute("shape", std::vector<int64_t>{3, -1});
  EXPECT_TRUE(MatchesEverywhere(test));
  EXPECT_EQ(OutputShape(test), (Shape{3, 4}));
}

TEST(Squeeze, AxesAsAttributeAndAsInput) {
  Random random(1);
  const Tensor input = RandomTensor(random, DType::kFloat32, Shape{1, 3, 1, 5});
  OpCase old(OpKind::kSqueeze, 11);
  old.Input(input).Attribute("axes", std::vector<int64_t>{-2});
  EXPECT_TRUE(MatchesEverywhere(old));
  EXPECT_EQ(OutputShape(old), (Shape{1, 3, 5}));
  OpCase all(OpKind::kSqueeze, 13);
  all.Input(input);
  EXPECT_EQ(OutputShape(all), (Shape{3, 5}));
  OpCase bad(OpKind::kSqueeze, 13);
  bad.Input(input).Constant(Int64Tensor({1}));
  EXPECT_EQ(InferCode(bad), absl::StatusCode::kInvalidArgument);
}

TEST(Unsqueeze, AxesAsAttributeAndAsInput) {
  Random random(1);
  const Tensor input = RandomTensor(random, DType::kInt64, Shape{3, 5});
  OpCase old(OpKind::kUnsqueeze, 11);
  old.Input(input).Attribute("axes", std::vector<int64_t>{0, 3});
  EXPECT_TRUE(MatchesEverywhere(old));
  EXPECT_EQ(OutputShape(old), (Shape{1, 3, 5, 1}));
  OpCase last(OpKind::kUnsqueeze, 13);
  last.Input(input).Constant(Int64Tensor({-1, 1}));
  EXPECT_EQ(OutputShape(last), (Shape{3, 1, 5, 1}));
  OpCase twice(OpKind::kUnsqueeze, 13);
  twice.Input(input).Constant(Int64Tensor({1, -3}));
  EXPECT_EQ(InferCode(twice), absl::StatusCode::kInvalidArgument);
}

TEST(Flatten, EveryAxis) {
  Random random(1);
  for (int64_t axis = -3; axis <= 3; ++axis) {
    OpCase test(OpKind::kFlatten, 13);
    test.Input(RandomTensor(random, DType::kFloat32, Shape{2, 3, 4})).Attribute("axis", axis);
    EXPECT_TRUE(MatchesEverywhere(test));
    EXPECT_EQ(OutputShape(test)[0],
              std::vector<int64_t>({1, 2, 6, 24})[axis < 0 ? axis + 3 : axis]);
  }
}

TEST(Identity, Copies) {
  Random random(1);
  OpCase test(OpKind::kIdentity, 13);
  test.Input(RandomTensor(random, DType::kInt16, Shape{20, 30}));
  EXPECT_TRUE(MatchesEverywhere(test, 1 << 10));
}

TEST(Dropout, IsIdentityOutsideOfTraining) {
  Random random(1);
  for (const int opset : {7, 10, 13}) {
    OpCase test(OpKind::kDropout, opset);
    test.Input(RandomTensor(random, DType::kFloat32, Shape{20, 3})).Outputs(2);
    EXPECT_TRUE(MatchesEverywhere(test)) << opset;
  }
  OpCase training(OpKind::kDropout, 13);
  training.Input(RandomTensor(random, DType::kFloat32, Shape{20, 3}))
      .Constant(ScalarF32(0.5f))
      .Constant(MakeTensor<uint8_t>(DType::kBool, Shape{}, {1}));
  EXPECT_EQ(InferCode(training), absl::StatusCode::kUnimplemented);
}

TEST(Blocks, DepthToSpaceAndBack) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const int64_t block = RandomInt(random, 1, 3);
    const int64_t n = RandomInt(random, 1, 2), c = RandomInt(random, 1, 5);
    const int64_t h = RandomInt(random, 1, 6), w = RandomInt(random, 1, 6);
    const bool nhwc = Chance(random, 0.5);
    const auto shape = [&](int64_t channels, int64_t height, int64_t width) {
      return nhwc ? Shape{n, height, width, channels} : Shape{n, channels, height, width};
    };
    OpCase deep(OpKind::kDepthToSpace, 13);
    deep.Layout(nhwc ? DataLayout::kNhwc : DataLayout::kNchw)
        .Attribute("blocksize", block)
        .Attribute("mode", std::string(Chance(random, 0.5) ? "DCR" : "CRD"))
        .Input(RandomTensor(random, DType::kFloat32, shape(c * block * block, h, w)));
    ASSERT_TRUE(MatchesEverywhere(deep));
    EXPECT_EQ(OutputShape(deep), shape(c, h * block, w * block));
    OpCase wide(OpKind::kSpaceToDepth, 13);
    wide.Layout(nhwc ? DataLayout::kNhwc : DataLayout::kNchw)
        .Attribute("blocksize", block)
        .Input(RandomTensor(random, DType::kUInt8, shape(c, h * block, w * block)));
    ASSERT_TRUE(MatchesEverywhere(wide));
    EXPECT_EQ(OutputShape(wide), shape(c * block * block, h, w));
  }
}

TEST(FlatRange, BoxesCoverEveryElementInOrder) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const Shape shape = RandomShape(random, 0, 5, 5);
    const int64_t begin = RandomInt(random, 0, shape.ElementCount());
    const int64_t end = RandomInt(random, begin, shape.ElementCount());
    const std::vector<int64_t> strides = shape.DenseStrides();
    const Extents largest = LargestFlatBox(shape, end - begin);
    int64_t next = begin;
    const std::vector<Box> boxes = BoxesOfFlatRange(shape, begin, end);
    EXPECT_LE(static_cast<int>(boxes.size()), std::max(1, 2 * shape.rank() - 1));
    for (const Box& box : boxes) {
      int64_t first = 0, last = 0;
      for (size_t axis = 0; axis < strides.size(); ++axis) {
        ASSERT_LE(box.extent[axis], largest[axis]);
        first += box.begin[axis] * strides[axis];
        last += (box.begin[axis] + box.extent[axis] - 1) * strides[axis];
      }
      ASSERT_EQ(first, next);
      ASSERT_EQ(last, first + box.ElementCount() - 1);  // one run
      next = last + 1;
    }
    ASSERT_EQ(next, end);
  }
}

}  // namespace
}  // namespace berth::testing
