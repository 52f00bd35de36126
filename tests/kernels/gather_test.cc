// Gather and TopK on the machine against the plain reference.
#include "kernels/host_functions.h"
#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

Tensor RandomIndices(Random& random, DType dtype, const Shape& shape, int64_t extent) {
  return RandomTensor(random, dtype, shape, static_cast<double>(-extent),
                      static_cast<double>(extent - 1));
}

TEST(Gather, RandomAxesIndicesAndDTypes) {
  const DType dtypes[] = {DType::kFloat32, DType::kFloat16, DType::kFloat64,
                          DType::kInt64,   DType::kUInt8,   DType::kBool};
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const DType dtype = dtypes[RandomInt(random, 0, std::size(dtypes) - 1)];
    const DType index_dtype = Chance(random, 0.5) ? DType::kInt64 : DType::kInt32;
    Shape data = RandomShape(random, 1, 4, 5);
    const int axis = static_cast<int>(RandomInt(random, 0, data.rank() - 1));
    if (Chance(random, 0.3)) {
      data[axis] = RandomInt(random, 1000, 3000);
    } else if (Chance(random, 0.5)) {
      data[data.rank() - 1] = RandomInt(random, 16, 70);
    }
    const Shape indices = RandomShape(random, 0, 3, 6);
    OpCase test(OpKind::kGather, 13);
    test.Attribute("axis", int64_t{Chance(random, 0.5) ? axis : axis - data.rank()})
        .Input(RandomTensor(random, dtype, data));
    Tensor picked = RandomIndices(random, index_dtype, indices, data[axis]);
    Chance(random, 0.5) ? test.Constant(std::move(picked)) : test.Input(std::move(picked));
    if (dtype == DType::kFloat32 && Chance(random, 0.3)) test.Fuse(OpKind::kRelu);
    ASSERT_TRUE(MatchesEverywhere(test))
        << DTypeName(dtype) << " " << data.ToString() << " by " << indices.ToString();
  }
}

TEST(Gather, KnownIndicesThatStepEvenlyAreASlice) {
  Random random(1);
  OpCase test(OpKind::kGather, 13);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{8, 32}))
      .Constant(Int64Tensor({-1, 5, 3, 1}));
  HarnessStats stats;
  ASSERT_TRUE(MatchesReference(test, {}, &stats));
  EXPECT_EQ(stats.dma_commands, 2);
  EXPECT_EQ(stats.load_bytes, 4 * 32 * 4);
}

TEST(Gather, KnownIndexOutOfRangeIsAModelError) {
  Random random(1);
  for (const int64_t index : {int64_t{8}, int64_t{-9}, int64_t{1} << 40}) {
    OpCase test(OpKind::kGather, 13);
    test.Input(RandomTensor(random, DType::kFloat32, Shape{8, 32})).Constant(Int64Tensor({index}));
    EXPECT_EQ(test.Infer().code(), absl::StatusCode::kInvalidArgument) << index;
  }
}

TEST(Gather, IndexOutOfRangeFailsTheRun) {
  Random random(1);
  for (const int64_t inner : {int64_t{2}, int64_t{32}}) {  // picked in scratchpad, and by DMA
    for (const int64_t index :
         {int64_t{8}, int64_t{-9}, int64_t{1} << 32, -(int64_t{1} << 32) - 1}) {
      OpCase test(OpKind::kGather, 13);
      test.Input(RandomTensor(random, DType::kFloat32, Shape{8, inner}))
          .Input(Int64Tensor({0, index}));
      ASSERT_TRUE(test.Infer().ok());
      EXPECT_FALSE(RunOnMachine(test, {}).ok()) << index << " " << inner;
    }
  }
}

TEST(Gather, LongRowsAreReadOnlyWhereNamed) {
  Random random(1);
  OpCase test(OpKind::kGather, 13);
  test.Input(RandomTensor(random, DType::kFloat32, Shape{500, 64}))
      .Input(Int64Tensor({7, 7, 499, 0, -2}));
  HarnessStats stats;
  ASSERT_TRUE(MatchesReference(test, {}, &stats));
  EXPECT_EQ(stats.vector_commands, 0);
  EXPECT_EQ(stats.store_bytes, 5 * 64 * 4);
}

TEST(TopK, RandomAxesAndDTypes) {
  const DType dtypes[] = {DType::kFloat32, DType::kFloat16, DType::kFloat64,
                          DType::kInt32,   DType::kInt64,   DType::kUInt8};
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const DType dtype = dtypes[RandomInt(random, 0, std::size(dtypes) - 1)];
    const Shape shape = RandomShape(random, 1, 4, 9);
    const int axis = static_cast<int>(RandomInt(random, 0, shape.rank() - 1));
    const int64_t k = RandomInt(random, 0, shape[axis]);
    const bool old = Chance(random, 0.3);
    OpCase test(OpKind::kTopK, old ? 1 : 11);
    test.Attribute("axis", int64_t{axis})
        .Input(RandomTensor(random, dtype, shape, -4, 4))  // with ties
        .Outputs(2);
    if (old) {
      test.Attribute("k", k);
    } else {
      test.Constant(Int64Tensor({k})).Attribute("largest", RandomInt(random, 0, 1));
    }
    if (Chance(random, 0.2)) test.OmitOutput(static_cast<int>(RandomInt(random, 0, 1)));
    HarnessOptions options;
    options.host_functions = KernelHostFunctions();
    ASSERT_TRUE(MatchesReference(test, options)) << DTypeName(dtype);
  }
}

TEST(TopK, HostFunctionRefusesWhatDoesNotFit) {
  float values[6] = {};
  float result[2] = {};
  Command command;
  command.opcode = Opcode::kHostCall;
  command.in0.dtype = command.out.dtype = DType::kFloat32;
  command.in0.stride_bytes[0] = sizeof(values);
  command.out.stride_bytes[0] = sizeof(result);
  HostCall call;
  call.command = &command;
  call.operands[0] = reinterpret_cast<std::byte*>(result);
  call.operands[1] = reinterpret_cast<std::byte*>(values);
  const HostFunction top_k = KernelHostFunctions()[static_cast<size_t>(HostFunctionId::kTopK)];
  command.params.host = {0, 1, {1, 6, 1, 2, 1}};
  EXPECT_TRUE(top_k(call).ok());
  command.params.host = {0, 1, {1, 7, 1, 2, 1}};  // reads beyond
  EXPECT_EQ(top_k(call).code(), absl::StatusCode::kInvalidArgument);
  command.params.host = {0, 1, {1, 6, 1, 3, 1}};  // writes beyond
  EXPECT_EQ(top_k(call).code(), absl::StatusCode::kInvalidArgument);
  command.params.host = {0, 1, {int64_t{1} << 62, 6, 4, 2, 1}};
  EXPECT_EQ(top_k(call).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace berth::testing
