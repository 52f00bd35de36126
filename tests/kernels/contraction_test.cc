// Einsum, the losses and the discrete transforms on the machine against the plain reference.
#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

struct EinsumSample {
  const char* equation;
  std::vector<Shape> shapes;
};

const EinsumSample kEquations[] = {
    {"ij->ji", {{3, 4}}},
    {"i...->...", {{3, 4, 2}}},
    {"...ii->...i", {{2, 3, 3}}},
    {"ii", {{4, 4}}},
    {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}},
    {"i,i", {{7}, {7}}},
    {"ij,ij->", {{3, 4}, {3, 4}}},
    {"ab,cd->dcba", {{2, 3}, {4, 5}}},
    {"bhid,bhjd->bhij", {{2, 3, 4, 5}, {2, 3, 6, 5}}},
    {"...ij,...jk", {{2, 3, 4}, {4, 5}}},
    {"bc,bc->bc", {{1, 3}, {4, 1}}},
    {"bij,bj->bi", {{1, 3, 4}, {5, 4}}},
    {"ab,bc,cd->ad", {{2, 3}, {3, 4}, {4, 5}}},
    {"aab,abc->bc", {{3, 3, 2}, {3, 2, 4}}},
    {"B a, a -> B", {{3, 4}, {4}}},
};

TEST(Einsum, EquationsMatchTheReference) {
  Random random(1);
  for (const EinsumSample& sample : kEquations) {
    for (const DType dtype : {DType::kFloat32, DType::kInt32, DType::kFloat64}) {
      OpCase test(OpKind::kEinsum, 12);
      test.Attribute("equation", std::string(sample.equation));
      for (const Shape& shape : sample.shapes)
        test.Input(RandomTensor(random, dtype, shape, -3, 3));
      ASSERT_TRUE(MatchesReference(test)) << sample.equation << " " << DTypeName(dtype);
    }
  }
}

TEST(Einsum, WrongEquationsAreRefused) {
  Random random(2);
  for (const char* equation : {"ij", "i->i", "ijk->i", "ij->k", "ij->ii", "i1->i", "ij,jk->ik",
                               "i...j...->i", "", "->", "ij-->i"}) {
    OpCase test(OpKind::kEinsum, 12);
    test.Attribute("equation", std::string(equation))
        .Input(RandomTensor(random, DType::kFloat32, Shape{3, 4}));
    const absl::Status status = test.Infer();
    const bool fits = std::string(equation) == "ij";
    EXPECT_EQ(status.ok(), fits) << equation;
  }
  OpCase unequal(OpKind::kEinsum, 12);
  unequal.Attribute("equation", std::string("ij,jk->ik"))
      .Input(RandomTensor(random, DType::kFloat32, Shape{3, 4}))
      .Input(RandomTensor(random, DType::kFloat32, Shape{5, 2}));
  EXPECT_EQ(unequal.Infer().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Losses, EveryReductionWeightAndIgnoredTarget) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    for (const OpKind kind :
         {OpKind::kNegativeLogLikelihoodLoss, OpKind::kSoftmaxCrossEntropyLoss}) {
      for (const char* reduction : {"none", "sum", "mean"}) {
        const int64_t classes = RandomInt(random, 2, 5);
        std::vector<int64_t> extents = {RandomInt(random, 1, 4)};
        for (int64_t i = RandomInt(random, 0, 3); i > 0; --i) extents.push_back(3);
        const Shape targets(extents);
        extents.insert(extents.begin() + 1, classes);
        OpCase test(kind, 13);
        test.Attribute("reduction", std::string(reduction))
            .Input(RandomTensor(random, DType::kFloat32, Shape(extents), 0.1, 2));
        Tensor wanted =
            RandomTensor(random, DType::kInt64, targets, 0, static_cast<double>(classes - 1));
        if (Chance(random, 0.5)) {
          const int64_t ignored = Chance(random, 0.5) ? -1 : 1;
          test.Attribute("ignore_index", ignored);
          wanted.Values<int64_t>()[0] = ignored;
          wanted.Values<int64_t>()[targets.ElementCount() - 1] = 0;
        }
        test.Input(std::move(wanted));
        if (Chance(random, 0.5)) {
          test.Input(RandomTensor(random, DType::kFloat32, Shape{classes}, 0.5, 2));
        }
        if (kind == OpKind::kSoftmaxCrossEntropyLoss && Chance(random, 0.5)) test.Outputs(2);
        if (targets.ElementCount() == 1) continue;  // the mean may be 0 / 0
        ASSERT_TRUE(MatchesReference(test)) << OpName(kind) << reduction;
      }
    }
  }
}

TEST(Spectral, Windows) {
  for (const OpKind kind : {OpKind::kHannWindow, OpKind::kHammingWindow, OpKind::kBlackmanWindow}) {
    for (const int64_t periodic : {0, 1}) {
      OpCase test(kind, 17);
      test.Attribute("periodic", periodic)
          .Constant(MakeTensor<int64_t>(DType::kInt64, Shape{}, {11}));
      EXPECT_TRUE(MatchesReference(test)) << OpName(kind);
    }
  }
}

TEST(Spectral, Transforms) {
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const bool is_complex = Chance(random, 0.5);
    OpCase test(OpKind::kDFT, 17);
    test.Attribute("axis", RandomInt(random, 1, 2))
        .Input(RandomTensor(random, DType::kFloat32, Shape{2, 6, 5, is_complex ? 2 : 1}));
    if (Chance(random, 0.5)) {
      test.Constant(MakeTensor<int64_t>(DType::kInt64, Shape{}, {RandomInt(random, 1, 9)}));
    }
    if (Chance(random, 0.3))
      test.Attribute("inverse", int64_t{1});
    else if (!is_complex && Chance(random, 0.5))
      test.Attribute("onesided", int64_t{1});
    ASSERT_TRUE(MatchesReference(test));
  }
}

TEST(Spectral, FramesOfASignal) {
  Random random(5);
  for (const bool windowed : {false, true}) {
    OpCase test(OpKind::kSTFT, 17);
    test.Input(RandomTensor(random, DType::kFloat32, Shape{2, 40, 1}))
        .Constant(MakeTensor<int64_t>(DType::kInt64, Shape{}, {6}));
    windowed ? test.Input(RandomTensor(random, DType::kFloat32, Shape{16})) : test.Absent();
    if (!windowed) test.Constant(MakeTensor<int64_t>(DType::kInt64, Shape{}, {16}));
    EXPECT_TRUE(MatchesReference(test)) << windowed;
  }
}

}  // namespace
}  // namespace berth::testing
