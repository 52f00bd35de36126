// Ops that read or write where indices say, and those whose result's shape hangs on values.
#include "kernels/host_data_dependent.h"
#include "kernels/host_functions.h"
#include "kernels/host_scatter.h"
#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat16, DType::kInt64, DType::kUInt8,
                             DType::kFloat64};

HarnessOptions WithHost(int64_t scratchpad_bytes = 384 << 10) {
  HarnessOptions options;
  options.scratchpad_bytes = scratchpad_bytes;
  options.host_functions = KernelHostFunctions();
  return options;
}

// Indices of both signs within `extent`.
Tensor RandomIndices(Random& random, const Shape& shape, int64_t extent, DType dtype) {
  return RandomTensor(random, dtype, shape, static_cast<double>(-extent),
                      static_cast<double>(extent - 1));
}

TEST(Indexing, GatherElementsOfSmallerIndices) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const DType dtype = kDTypes[RandomInt(random, 0, 4)];
    const Shape data = RandomShape(random, 1, 4, 6);
    const int axis = static_cast<int>(RandomInt(random, 0, data.rank() - 1));
    Shape places = data;
    for (int i = 0; i < data.rank(); ++i) {
      places[i] = RandomInt(random, 1, i == axis ? 8 : data[i]);
    }
    OpCase test(OpKind::kGatherElements, 13);
    const DType index = Chance(random, 0.5) ? DType::kInt64 : DType::kInt32;
    test.Attribute("axis", int64_t{axis} - (Chance(random, 0.5) ? data.rank() : 0))
        .Input(RandomTensor(random, dtype, data));
    const Tensor indices = RandomIndices(random, places, data[axis], index);
    Chance(random, 0.3) ? test.Constant(indices) : test.Input(indices);
    ASSERT_TRUE(MatchesEverywhere(test, 24 << 10)) << DTypeName(dtype);
  }
}

TEST(Indexing, TuplesOfIndicesWithBatchAxes) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const DType dtype = kDTypes[RandomInt(random, 0, 4)];
    const Shape data = RandomShape(random, 2, 4, 5);
    const int64_t batch_axes = RandomInt(random, 0, 1);
    const int64_t tuple = RandomInt(random, 1, data.rank() - batch_axes);
    std::vector<int64_t> extents(data.begin(), data.begin() + batch_axes);
    if (Chance(random, 0.7)) extents.push_back(RandomInt(random, 1, 4));
    extents.push_back(tuple);
    if (static_cast<int64_t>(extents.size()) <= batch_axes) continue;
    // Each component within its own axis.
    Tensor indices(TensorType{DType::kInt64, Shape(extents)});
    const auto values = indices.Values<int64_t>();
    for (size_t i = 0; i < values.size(); ++i) {
      const auto component = static_cast<int64_t>(i) % tuple;
      const int64_t extent = data[static_cast<int>(batch_axes + component)];
      values[i] = RandomInt(random, -extent, extent - 1);
    }
    OpCase gather(OpKind::kGatherND, 13);
    gather.Attribute("batch_dims", batch_axes).Input(RandomTensor(random, dtype, data));
    gather.Input(indices);
    ASSERT_TRUE(MatchesEverywhere(gather, 24 << 10)) << DTypeName(dtype);
  }
}

TEST(Indexing, IndicesOutOfRangeFailTheRun) {
  for (const OpKind kind : {OpKind::kGatherElements, OpKind::kScatterElements}) {
    for (const int64_t index : {4, -5, 1000000}) {
      OpCase test(kind, 13);
      Random random(1);
      test.Attribute("axis", int64_t{1})
          .Input(RandomTensor(random, DType::kFloat32, Shape{3, 4}))
          .Input(MakeTensor<int64_t>(DType::kInt64, Shape{2, 2}, {0, 1, index, 3}));
      if (kind == OpKind::kScatterElements) {
        test.Input(RandomTensor(random, DType::kFloat32, Shape{2, 2}));
      }
      ASSERT_TRUE(test.Infer().ok());
      EXPECT_FALSE(RunOnMachine(test, WithHost()).ok()) << OpName(kind) << index;
    }
  }
}

TEST(Indexing, ReversedSequences) {
  Random random(3);
  for (const int64_t time : {0, 1}) {
    OpCase test(OpKind::kReverseSequence, 10);
    test.Attribute("time_axis", time)
        .Attribute("batch_axis", 1 - time)
        .Input(RandomTensor(random, DType::kFloat32, Shape{4, 4, 3}))
        .Input(MakeTensor<int64_t>(DType::kInt64, Shape{4}, {1, 2, 3, 4}));
    EXPECT_TRUE(MatchesEverywhere(test, 2 << 10));
  }
}

TEST(Indexing, ScattersWithEveryReduction) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
      const DType dtype = kDTypes[RandomInt(random, 0, 4)];
      const Shape data = RandomShape(random, 1, 3, 5);
      const int axis = static_cast<int>(RandomInt(random, 0, data.rank() - 1));
      Shape places = data;
      for (int i = 0; i < data.rank(); ++i) {
        places[i] = RandomInt(random, 1, i == axis ? 7 : data[i]);
      }
      const double low = IsSigned(dtype) ? -3 : 0;
      OpCase elements(Chance(random, 0.2) ? OpKind::kScatter : OpKind::kScatterElements, 18);
      elements.Attribute("axis", int64_t{axis})
          .Attribute("reduction", std::string(reduction))
          .Input(RandomTensor(random, dtype, data, low, 3))
          .Input(RandomIndices(random, places, data[axis], DType::kInt64))
          .Input(RandomTensor(random, dtype, places, low, 3));
      ASSERT_TRUE(MatchesReference(elements, WithHost())) << reduction << DTypeName(dtype);
      OpCase rows(OpKind::kScatterND, 18);
      rows.Attribute("reduction", std::string(reduction))
          .Input(RandomTensor(random, dtype, Shape{6, 5}, low, 3))
          .Input(RandomIndices(random, Shape{4, 1}, 6, DType::kInt64))
          .Input(RandomTensor(random, dtype, Shape{4, 5}, low, 3));
      ASSERT_TRUE(MatchesReference(rows, WithHost())) << reduction << DTypeName(dtype);
      OpCase single(OpKind::kScatterND, 18);
      single.Attribute("reduction", std::string(reduction))
          .Input(RandomTensor(random, dtype, Shape{5, 5, 2}, low, 3))
          .Input(RandomIndices(random, Shape{2, 2, 2}, 5, DType::kInt64))
          .Input(RandomTensor(random, dtype, Shape{2, 2, 2}, low, 3));
      ASSERT_TRUE(MatchesReference(single, WithHost())) << reduction << DTypeName(dtype);
    }
  }
}

TEST(Indexing, KnownScattersMoveDataOnly) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const int64_t rows = Chance(random, 0.5) ? 7 : 80, count = Chance(random, 0.5) ? 3 : 40;
    OpCase scattered(OpKind::kScatterND, 18), block(OpKind::kScatterND, 18);
    scattered.Input(RandomTensor(random, DType::kFloat32, Shape{rows, 5}))
        .Constant(RandomIndices(random, Shape{count, 1}, rows, DType::kInt64))
        .Input(RandomTensor(random, DType::kFloat32, Shape{count, 5}));
    ASSERT_TRUE(MatchesEverywhere(scattered, 24 << 10));
    block.Input(RandomTensor(random, DType::kFloat32, Shape{4, 6, 3}))
        .Constant(MakeTensor<int64_t>(DType::kInt64, Shape{3, 2}, {1, 2, 1, 3, 1, -2}))
        .Input(RandomTensor(random, DType::kFloat32, Shape{3, 3}));
    ASSERT_TRUE(MatchesEverywhere(block, 24 << 10));
  }
  OpCase outside(OpKind::kScatterND, 18);
  Random random(1);
  outside.Input(RandomTensor(random, DType::kFloat32, Shape{4, 6}))
      .Constant(MakeTensor<int64_t>(DType::kInt64, Shape{1, 1}, {4}))
      .Input(RandomTensor(random, DType::kFloat32, Shape{1, 6}));
  ASSERT_TRUE(outside.Infer().ok());
  EXPECT_FALSE(RunOnMachine(outside, WithHost()).ok());
}

TEST(Indexing, MaxUnpoolIntoALargerTensor) {
  for (const bool given : {false, true}) {
    OpCase test(OpKind::kMaxUnpool, 11);
    test.Attribute("kernel_shape", std::vector<int64_t>{2, 2})
        .Attribute("strides", std::vector<int64_t>{2, 2})
        .Input(MakeTensor<float>(DType::kFloat32, Shape{1, 1, 2, 2}, {1, 2, 3, 4}))
        .Input(MakeTensor<int64_t>(DType::kInt64, Shape{1, 1, 2, 2}, {5, 7, 13, 15}));
    if (given) test.Constant(Int64Tensor({1, 1, 5, 5}));
    EXPECT_TRUE(MatchesReference(test, WithHost())) << given;
  }
}

TEST(Indexing, HostScatterRefusesWhatDoesNotFit) {
  float data[6] = {}, result[6] = {}, updates[2] = {};
  int64_t rows[1] = {0};
  Command command;
  command.opcode = Opcode::kHostCall;
  command.out.dtype = command.in0.dtype = command.in2.dtype = DType::kFloat32;
  command.in1.dtype = DType::kInt64;
  command.out.stride_bytes[0] = command.in0.stride_bytes[0] = sizeof(data);
  command.in1.stride_bytes[0] = sizeof(rows);
  command.in2.stride_bytes[0] = sizeof(updates);
  HostCall call;
  call.command = &command;
  std::byte* const operands[] = {
      reinterpret_cast<std::byte*>(result), reinterpret_cast<std::byte*>(data),
      reinterpret_cast<std::byte*>(rows), reinterpret_cast<std::byte*>(updates)};
  std::copy(std::begin(operands), std::end(operands), call.operands);
  command.params.host = {1, 1, {3, 2, 1, 0}};
  EXPECT_TRUE(HostScatterRows(call).ok());
  for (const auto& [r, e, u, how] :
       {std::tuple{4, 2, 1, 0}, {3, 3, 1, 0}, {3, 2, 2, 0}, {3, 2, 1, 5}, {-3, -2, 1, 0}}) {
    command.params.host = {1, 1, {r, e, u, how}};
    EXPECT_EQ(HostScatterRows(call).code(), absl::StatusCode::kInvalidArgument);
  }
  command.params.host = {1, 1, {3, 2, 1, 0}};
  rows[0] = 3;
  EXPECT_EQ(HostScatterRows(call).code(), absl::StatusCode::kInvalidArgument);
}

TEST(DataDependent, NonZeroNeedsKnownValues) {
  Random random(4);
  for (const DType dtype : {DType::kBool, DType::kFloat32, DType::kInt8}) {
    OpCase test(OpKind::kNonZero, 13);
    test.Constant(RandomTensor(random, dtype, Shape{3, 4, 2}, -1, 1));
    EXPECT_TRUE(MatchesReference(test, WithHost())) << DTypeName(dtype);
  }
  OpCase unknown(OpKind::kNonZero, 13);
  unknown.Input(RandomTensor(random, DType::kFloat32, Shape{3}));
  EXPECT_EQ(unknown.Infer().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(DataDependent, UniqueSlices) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const Shape shape = RandomShape(random, 1, 3, 5);
    OpCase test(OpKind::kUnique, 11);
    const DType dtype = Chance(random, 0.5) ? DType::kInt32 : DType::kInt64;
    test.Attribute("sorted", RandomInt(random, 0, 1))
        .Constant(RandomTensor(random, dtype, shape, 0, 2))
        .Outputs(4);
    if (Chance(random, 0.7)) {
      test.Attribute("axis", RandomInt(random, -shape.rank(), shape.rank() - 1));
    }
    ASSERT_TRUE(MatchesReference(test, WithHost())) << DTypeName(dtype);
  }
}

TEST(DataDependent, NonMaxSuppressionOfBothForms) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    OpCase test(OpKind::kNonMaxSuppression, 11);
    test.Attribute("center_point_box", RandomInt(random, 0, 1))
        .Constant(RandomTensor(random, DType::kFloat32, Shape{2, 9, 4}, 0.1, 1))
        .Constant(RandomTensor(random, DType::kFloat32, Shape{2, 3, 9}, 0, 1))
        .Constant(Int64Tensor({RandomInt(random, 0, 5)}))
        .Constant(MakeTensor<float>(DType::kFloat32, Shape{}, {0.4f}));
    if (Chance(random, 0.5)) {
      test.Constant(MakeTensor<float>(DType::kFloat32, Shape{1}, {0.3f}));
    }
    ASSERT_TRUE(MatchesReference(test, WithHost()));
  }
}

TEST(DataDependent, CompressAndRange) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const Shape shape = RandomShape(random, 1, 3, 6);
    OpCase test(OpKind::kCompress, 11);
    int64_t most = shape.ElementCount();
    if (Chance(random, 0.6)) {
      const int64_t axis = RandomInt(random, 0, shape.rank() - 1);
      most = shape[static_cast<int>(axis)];
      test.Attribute("axis", axis);
    }
    test.Input(RandomTensor(random, DType::kFloat32, shape))
        .Constant(RandomTensor(random, DType::kBool, Shape{RandomInt(random, 1, most)}));
    ASSERT_TRUE(MatchesReference(test));
  }
  const auto range = [](DType dtype, double start, double limit, double delta) {
    OpCase test(OpKind::kRange, 11);
    for (const double value : {start, limit, delta}) {
      Tensor scalar(TensorType{dtype, Shape{}});
      VisitDType(dtype, [&]<typename T>() {
        if constexpr (std::is_arithmetic_v<T>) scalar.Values<T>()[0] = static_cast<T>(value);
      });
      test.Constant(std::move(scalar));
    }
    return test;
  };
  for (const DType dtype : {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64}) {
    OpCase up = range(dtype, 1, 17, 3), down = range(dtype, 10, 4, -2),
           none = range(dtype, 5, 5, 1);
    EXPECT_TRUE(MatchesReference(up)) << DTypeName(dtype);
    EXPECT_TRUE(MatchesReference(down)) << DTypeName(dtype);
    EXPECT_TRUE(MatchesReference(none)) << DTypeName(dtype);
    EXPECT_EQ(range(dtype, 0, 1, 0).Infer().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(range(DType::kInt64, 0, 1e15, 1).Infer().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace berth::testing
