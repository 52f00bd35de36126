// Reductions, positions of extrema, softmaxes and LayerNormalization on the machine against the
// plain reference; a small scratchpad makes every one of them take several passes.
#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

const OpKind kReductions[] = {OpKind::kReduceSum, OpKind::kReduceMean, OpKind::kReduceMax,
                              OpKind::kReduceMin};

std::vector<int64_t> RandomAxes(Random& random, int rank) {
  std::vector<int64_t> axes;
  for (int axis = 0; axis < rank; ++axis) {
    if (Chance(random, 0.5)) axes.push_back(Chance(random, 0.5) ? axis : axis - rank);
  }
  return axes;
}

TEST(Reduce, RandomAxesShapesAndDTypes) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    for (const OpKind kind : kReductions) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64, DType::kInt32,
                                DType::kInt64, DType::kBFloat16}) {
        const Shape shape = RandomShape(random, 0, 5, 8);
        OpCase test(kind, 13);
        test.Input(RandomTensor(random, dtype, shape, -3, 5));
        const std::vector<int64_t> axes = RandomAxes(random, shape.rank());
        const bool as_input = kind == OpKind::kReduceSum;
        if (as_input && !axes.empty()) test.Constant(Int64Tensor(axes));
        if (!as_input && !axes.empty()) test.Attribute("axes", axes);
        if (Chance(random, 0.5)) test.Attribute("keepdims", int64_t{0});
        ASSERT_TRUE(MatchesEverywhere(test, 2 << 10)) << OpName(kind) << " " << DTypeName(dtype);
      }
    }
  }
}

TEST(Reduce, LongReductionsContinueOverTiles) {
  Random random(2);
  for (const OpKind kind : kReductions) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt32}) {
      OpCase test(kind, 13);
      test.Input(RandomTensor(random, dtype, Shape{2, 5000}, 0, 30));
      kind == OpKind::kReduceSum ? test.Constant(Int64Tensor({1}))
                                 : test.Attribute("axes", std::vector<int64_t>{1});
      const HarnessOptions options{.scratchpad_bytes = 4 << 10};
      // The sum of 16-bit floats may leave their range in both.
      ASSERT_TRUE(MatchesReference(test, options)) << OpName(kind) << DTypeName(dtype);
    }
  }
}

TEST(Reduce, NoAxesMayMeanNothing) {
  Random random(3);
  OpCase test(OpKind::kReduceSum, 13);
  test.Attribute("noop_with_empty_axes", int64_t{1})
      .Input(RandomTensor(random, DType::kFloat32, Shape{4, 5}));
  EXPECT_TRUE(MatchesEverywhere(test, 1 << 10));
}

TEST(Reduce, OverNoElements) {
  for (const OpKind kind : kReductions) {
    OpCase test(kind, 13);
    test.Input(Tensor(TensorType{DType::kFloat32, Shape{3, 0, 2}}));
    kind == OpKind::kReduceSum ? test.Constant(Int64Tensor({1}))
                               : test.Attribute("axes", std::vector<int64_t>{1});
    EXPECT_TRUE(MatchesReference(test)) << OpName(kind);
  }
}

TEST(Reduce, ManyAlternatingAxes) {
  Random random(4);
  OpCase test(OpKind::kReduceMean, 13);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{2, 3, 2, 3, 2, 3, 2, 3}))
      .Attribute("axes", std::vector<int64_t>{0, 2, 4, 6})
      .Attribute("keepdims", int64_t{0});
  EXPECT_TRUE(MatchesEverywhere(test, 4 << 10));
}

TEST(Reduce, EveryInputByteIsLoadedOnce) {
  Random random(5);
  OpCase test(OpKind::kReduceMean, 13);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{7, 7, 64}))
      .Attribute("axes", std::vector<int64_t>{0, 1});
  HarnessStats stats;
  ASSERT_TRUE(MatchesReference(test, {.scratchpad_bytes = 4 << 10}, &stats));
  EXPECT_EQ(stats.load_bytes, 7 * 7 * 64 * 4);
  EXPECT_EQ(stats.store_bytes, 64 * 4);
}

TEST(ArgReduce, RandomAxesAndTies) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    for (const OpKind kind : {OpKind::kArgMax, OpKind::kArgMin}) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt32, DType::kUInt8}) {
        const Shape shape = RandomShape(random, 1, 4, 12);
        OpCase test(kind, 13);
        Tensor values = RandomTensor(random, DType::kInt32, shape, 0, 5);  // many ties
        if (dtype != DType::kInt32) values = RandomTensor(random, dtype, shape, 0, 5);
        test.Input(std::move(values))
            .Attribute("axis", RandomInt(random, -shape.rank(), shape.rank() - 1))
            .Attribute("keepdims", RandomInt(random, 0, 1))
            .Attribute("select_last_index", RandomInt(random, 0, 1));
        ASSERT_TRUE(MatchesEverywhere(test, 1 << 10)) << OpName(kind) << DTypeName(dtype);
      }
    }
  }
}

TEST(ArgReduce, AxisLongerThanTheScratchpad) {
  Random random(6);
  for (const int64_t last : {0, 1}) {
    for (const int64_t axis : {0, 1}) {
      OpCase test(OpKind::kArgMax, 13);
      const Shape shape = axis == 0 ? Shape{3000, 3} : Shape{3, 3000};
      test.Input(RandomTensor(random, DType::kInt32, shape, 0, 20))
          .Attribute("axis", axis)
          .Attribute("select_last_index", last);
      ASSERT_TRUE(MatchesReference(test, {.scratchpad_bytes = 4 << 10}));
    }
  }
}

TEST(Softmax, RandomAxesAndVersions) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    for (const OpKind kind : {OpKind::kSoftmax, OpKind::kLogSoftmax}) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
        const Shape shape = RandomShape(random, 1, 5, 9);
        OpCase test(kind, Chance(random, 0.5) ? 13 : 11);
        test.Input(RandomTensor(random, dtype, shape, -6, 6))
            .Attribute("axis", RandomInt(random, -shape.rank(), shape.rank() - 1));
        ASSERT_TRUE(MatchesEverywhere(test, 16 << 10)) << OpName(kind);
      }
    }
  }
}

TEST(Softmax, RowsLongerThanTheScratchpad) {
  Random random(7);
  for (const OpKind kind : {OpKind::kSoftmax, OpKind::kLogSoftmax}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64}) {
      for (const int64_t axis : {0, 1}) {
        OpCase test(kind);
        test.Input(RandomTensor(random, dtype, axis == 0 ? Shape{2000, 3} : Shape{3, 2000}, -4, 4))
            .Attribute("axis", axis);
        ASSERT_TRUE(MatchesEverywhere(test, 4 << 10)) << OpName(kind) << DTypeName(dtype);
      }
    }
  }
}

TEST(LayerNormalization, AxesAndOptionalOperands) {
  Random random(8);
  for (const bool with_bias : {false, true}) {
    for (const int64_t axis : {-1, 1, 0}) {
      for (const int outputs : {1, 3}) {
        OpCase test(OpKind::kLayerNormalization);
        const Shape shape{3, 5, 20};
        const Shape scale = axis == -1 ? Shape{20} : axis == 1 ? Shape{5, 20} : shape;
        test.Input(RandomTensor(random, DType::kFloat32, shape))
            .Input(RandomTensor(random, DType::kFloat32, scale))
            .Attribute("axis", axis)
            .Outputs(outputs);
        if (with_bias) test.Input(RandomTensor(random, DType::kFloat32, scale));
        HarnessOptions options{.scratchpad_bytes = 4 << 10, .relative_tolerance = 1e-5};
        ASSERT_TRUE(MatchesReference(test, options)) << "axis " << axis;
      }
    }
  }
}

TEST(LayerNormalization, HalfIsComputedInFloat32) {
  Random random(9);
  OpCase test(OpKind::kLayerNormalization);
  test.Input(RandomTensor(random, DType::kFloat16, Shape{4, 64}, -9, 9))
      .Input(RandomTensor(random, DType::kFloat16, Shape{64}))
      .Input(RandomTensor(random, DType::kFloat16, Shape{64}));
  EXPECT_TRUE(MatchesReference(test, {.relative_tolerance = 4e-3}));
}

}  // namespace
}  // namespace berth::testing
