// Ops that pick, repeat, join and permute elements, on the machine against the plain reference: any
// dtype, rank, axis and tile.
#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

const DType kAllDTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64,
                            DType::kInt8,    DType::kUInt8,   DType::kInt16,    DType::kUInt16,
                            DType::kInt32,   DType::kUInt32,  DType::kInt64,    DType::kUInt64,
                            DType::kBool};

DType RandomDType(Random& random) {
  return kAllDTypes[RandomInt(random, 0, std::size(kAllDTypes) - 1)];
}

// Mostly small, sometimes with one long axis so that several tiles are needed.
Shape SampleShape(Random& random, int min_rank, int max_rank) {
  Shape shape = RandomShape(random, min_rank, max_rank, 4);
  if (shape.rank() > 0 && Chance(random, 0.5)) {
    shape[static_cast<int>(RandomInt(random, 0, shape.rank() - 1))] = RandomInt(random, 30, 400);
  }
  return shape;
}

// Calls sample(random) for `count` seeds.
template <typename Sample>
void ForSeeds(uint64_t count, Sample&& sample) {
  for (uint64_t seed = 1; seed <= count && !::testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    sample(random);
  }
}

// A tail that reads another operand, on float32 only.
void MaybeFuse(Random& random, OpCase& test, DType dtype, const Shape& output) {
  if (dtype != DType::kFloat32 || !Chance(random, 0.4)) return;
  test.Fuse(OpKind::kAdd, {}, {RandomTensor(random, dtype, RandomBroadcastOf(random, output))}, 0,
            Chance(random, 0.5));
  test.Fuse(OpKind::kRelu);
}

TEST(Movement, Concat) {
  ForSeeds(120, [](Random& random) {
    const DType dtype = RandomDType(random);
    Shape shape = SampleShape(random, 1, 5);
    const int axis = static_cast<int>(RandomInt(random, 0, shape.rank() - 1));
    OpCase test(OpKind::kConcat, 13);
    test.Attribute("axis", int64_t{Chance(random, 0.5) ? axis : axis - shape.rank()});
    const int64_t count = RandomInt(random, 1, 5);
    Shape output = shape;
    output[axis] = 0;
    for (int64_t i = 0; i < count; ++i) {
      shape[axis] = Chance(random, 0.1) ? 0 : RandomInt(random, 1, Chance(random, 0.2) ? 90 : 5);
      output[axis] += shape[axis];
      Tensor piece = RandomTensor(random, dtype, shape);
      Chance(random, 0.2) ? test.Constant(std::move(piece)) : test.Input(std::move(piece));
    }
    MaybeFuse(random, test, dtype, output);
    ASSERT_TRUE(MatchesEverywhere(test)) << DTypeName(dtype);
  });
}

TEST(Movement, ConcatOfTheSameValue) {
  Random random(1);
  OpCase test(OpKind::kConcat, 13);
  test.Attribute("axis", int64_t{1})
      .Input(RandomTensor(random, DType::kFloat32, Shape{7, 3}))
      .SameAs(0);
  EXPECT_TRUE(MatchesEverywhere(test));
}

TEST(Movement, Split) {
  ForSeeds(60, [](Random& random) {
    const Shape shape = SampleShape(random, 1, 4);
    const int axis = static_cast<int>(RandomInt(random, 0, shape.rank() - 1));
    const bool by_input = Chance(random, 0.5);
    OpCase test(OpKind::kSplit, by_input ? 13 : 11);
    test.Attribute("axis", int64_t{axis}).Input(RandomTensor(random, RandomDType(random), shape));
    std::vector<int64_t> lengths;
    for (int64_t left = shape[axis]; left > 0;) {
      lengths.push_back(RandomInt(random, 0, left));
      left -= lengths.back();
    }
    test.Outputs(static_cast<int>(lengths.size()));
    by_input ? test.Constant(Int64Tensor(lengths)) : test.Attribute("split", lengths);
    ASSERT_TRUE(MatchesEverywhere(test));
  });
}

TEST(Movement, SplitIntoEqualParts) {
  Random random(1);
  for (const int opset : {2, 11, 13, 18}) {
    OpCase test(OpKind::kSplit, opset);
    test.Attribute("axis", int64_t{-1})
        .Input(RandomTensor(random, DType::kFloat32, Shape{5, 12}))
        .Outputs(3);
    EXPECT_TRUE(MatchesEverywhere(test)) << opset;
  }
  OpCase uneven(OpKind::kSplit, 18);
  uneven.Input(RandomTensor(random, DType::kFloat32, Shape{7})).Outputs(3);
  EXPECT_TRUE(MatchesEverywhere(uneven));
  OpCase refused(OpKind::kSplit, 13);
  refused.Input(RandomTensor(random, DType::kFloat32, Shape{7})).Outputs(3);
  EXPECT_EQ(refused.Infer().code(), absl::StatusCode::kInvalidArgument);
}

int64_t RandomBound(Random& random, int64_t extent) {
  if (Chance(random, 0.05)) return std::numeric_limits<int64_t>::max();
  if (Chance(random, 0.05)) return std::numeric_limits<int64_t>::min();
  return RandomInt(random, -extent - 2, extent + 2);
}

TEST(Movement, Slice) {
  ForSeeds(200, [](Random& random) {
    const DType dtype = RandomDType(random);
    const Shape shape = SampleShape(random, 1, 5);
    std::vector<int64_t> starts, ends, axes, steps;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (Chance(random, 0.3)) continue;
      axes.push_back(Chance(random, 0.5) ? axis : axis - shape.rank());
      const bool whole = Chance(random, 0.5);
      steps.push_back(Chance(random, 0.4) ? 1 : RandomInt(random, -20, 20));
      if (steps.back() == 0) steps.back() = -1;
      const bool up = steps.back() > 0;
      starts.push_back(whole ? (up ? 0 : -1) : RandomBound(random, shape[axis]));
      ends.push_back(
          whole ? (up ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min())
                : RandomBound(random, shape[axis]));
    }
    OpCase test(OpKind::kSlice, 13);
    test.Input(RandomTensor(random, dtype, shape))
        .Constant(Int64Tensor(starts))
        .Constant(Int64Tensor(ends))
        .Constant(Int64Tensor(axes))
        .Constant(Int64Tensor(steps));
    ASSERT_TRUE(test.Infer().ok());
    MaybeFuse(random, test, dtype, test.graph().at(test.node().outputs[0]).type.shape);
    ASSERT_TRUE(MatchesEverywhere(test, 16 << 10)) << DTypeName(dtype);
  });
}

TEST(Movement, SliceByAttributes) {
  Random random(1);
  OpCase test(OpKind::kSlice, 9);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{6, 7, 8}))
      .Attribute("starts", std::vector<int64_t>{1, -3})
      .Attribute("ends", std::vector<int64_t>{1000, -1})
      .Attribute("axes", std::vector<int64_t>{0, 2});
  EXPECT_TRUE(MatchesEverywhere(test));
  EXPECT_EQ(test.graph().at(test.node().outputs[0]).type.shape, (Shape{5, 7, 2}));
}

TEST(Movement, SliceOfRowsLoadsOnlyThem) {
  Random random(1);
  OpCase test(OpKind::kSlice, 13);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{64, 100}))
      .Constant(Int64Tensor({63}))
      .Constant(Int64Tensor({std::numeric_limits<int64_t>::min()}))
      .Constant(Int64Tensor({0}))
      .Constant(Int64Tensor({-4}));
  HarnessStats stats;
  ASSERT_TRUE(MatchesReference(test, {}, &stats));
  EXPECT_EQ(stats.load_bytes, 16 * 100 * 4);
  EXPECT_EQ(stats.vector_commands, 0);
}

TEST(Movement, Pad) {
  ForSeeds(200, [](Random& random) {
    const DType dtype = RandomDType(random);
    const Shape shape = SampleShape(random, 1, 4);
    const int kind = static_cast<int>(RandomInt(random, 0, 3));
    const char* const modes[] = {"constant", "edge", "reflect", "wrap"};
    const auto rank = static_cast<size_t>(shape.rank());
    std::vector<int64_t> pads(2 * rank, 0);
    for (size_t axis = 0; axis < rank; ++axis) {
      const int64_t extent = shape[static_cast<int>(axis)];
      if (Chance(random, 0.3)) continue;
      const int64_t most = kind == 2 ? std::min<int64_t>(extent - 1, 9) : 9;
      pads[axis] = RandomInt(random, 0, most);
      pads[rank + axis] = RandomInt(random, 0, most);
      if (kind == 0 && Chance(random, 0.4)) {
        pads[axis] = -RandomInt(random, 0, extent);
        pads[rank + axis] = RandomInt(random, -extent - pads[axis], 9);
      }
    }
    OpCase test(OpKind::kPad, kind == 3 ? 19 : 13);
    test.Attribute("mode", std::string(modes[kind]))
        .Input(RandomTensor(random, dtype, shape))
        .Constant(Int64Tensor(pads));
    if (Chance(random, 0.7)) test.Constant(RandomTensor(random, dtype, Shape{}));
    ASSERT_TRUE(test.Infer().ok()) << test.Infer();
    MaybeFuse(random, test, dtype, test.graph().at(test.node().outputs[0]).type.shape);
    ASSERT_TRUE(MatchesEverywhere(test, 16 << 10)) << modes[kind] << " " << DTypeName(dtype);
  });
}

TEST(Movement, PadOfOldVersions) {
  Random random(1);
  const std::vector<int64_t> pads = {0, 2, 1, 0};
  OpCase first(OpKind::kPad, 1);
  first.Input(RandomTensor(random, DType::kFloat32, Shape{3, 4}))
      .Attribute("paddings", pads)
      .Attribute("value", 1.5f);
  EXPECT_TRUE(MatchesEverywhere(first));
  OpCase second(OpKind::kPad, 2);
  second.Input(RandomTensor(random, DType::kFloat16, Shape{3, 4}))
      .Attribute("pads", pads)
      .Attribute("value", 1.5f);
  EXPECT_TRUE(MatchesEverywhere(second));
  OpCase with_axes(OpKind::kPad, 18);
  with_axes.Input(RandomTensor(random, DType::kFloat32, Shape{3, 4}))
      .Constant(Int64Tensor({1, 2}))
      .Absent()
      .Constant(Int64Tensor({-1}));
  EXPECT_TRUE(MatchesEverywhere(with_axes));
  EXPECT_EQ(with_axes.graph().at(with_axes.node().outputs[0]).type.shape, (Shape{3, 7}));
}

TEST(Movement, Transpose) {
  ForSeeds(150, [](Random& random) {
    const DType dtype = RandomDType(random);
    const Shape shape = SampleShape(random, 0, 6);
    std::vector<int64_t> perm(static_cast<size_t>(shape.rank()));
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), random);
    OpCase test(OpKind::kTranspose, 13);
    test.Input(RandomTensor(random, dtype, shape));
    if (Chance(random, 0.9)) test.Attribute("perm", perm);
    ASSERT_TRUE(test.Infer().ok());
    MaybeFuse(random, test, dtype, test.graph().at(test.node().outputs[0]).type.shape);
    ASSERT_TRUE(MatchesEverywhere(test)) << DTypeName(dtype);
  });
}

TEST(Movement, TransposeMovesRunsNotElements) {
  Random random(1);
  OpCase test(OpKind::kTranspose, 13);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{1, 24, 40, 40}))
      .Attribute("perm", std::vector<int64_t>{0, 2, 3, 1});
  HarnessStats stats;
  ASSERT_TRUE(MatchesReference(test, {.scratchpad_bytes = 64 << 10}, &stats));
  EXPECT_EQ(stats.load_bytes, 24 * 40 * 40 * 4);
  EXPECT_EQ(stats.store_bytes, 24 * 40 * 40 * 4);
  EXPECT_LT(stats.dma_commands, 60);
}

TEST(Movement, TransposeOfWholeRowsIsDmaAlone) {
  Random random(1);
  OpCase test(OpKind::kTranspose, 13);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{9, 11, 16}))
      .Attribute("perm", std::vector<int64_t>{1, 0, 2});
  HarnessStats stats;
  ASSERT_TRUE(MatchesReference(test, {}, &stats));
  EXPECT_EQ(stats.vector_commands, 0);
}

TEST(Movement, Expand) {
  ForSeeds(120, [](Random& random) {
    const DType dtype = RandomDType(random);
    const Shape output = SampleShape(random, 0, 5);
    const Shape input = RandomBroadcastOf(random, output);
    OpCase test(OpKind::kExpand, 13);
    test.Input(RandomTensor(random, dtype, input)).Constant(Int64Tensor(output.extents()));
    MaybeFuse(random, test, dtype, output);
    ASSERT_TRUE(MatchesEverywhere(test, 16 << 10)) << DTypeName(dtype);
  });
}

TEST(Movement, Tile) {
  ForSeeds(80, [](Random& random) {
    const Shape shape = RandomShape(random, 0, 6, 5);
    std::vector<int64_t> repeats;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      repeats.push_back(Chance(random, 0.5) ? 1 : RandomInt(random, 0, 3));
    }
    OpCase test(OpKind::kTile, 13);
    test.Input(RandomTensor(random, RandomDType(random), shape)).Constant(Int64Tensor(repeats));
    ASSERT_TRUE(MatchesEverywhere(test, 16 << 10));
  });
}

}  // namespace
}  // namespace berth::testing
