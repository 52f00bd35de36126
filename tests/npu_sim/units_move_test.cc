// DMA, copies and gathers along an axis against element-by-element loops.
#include "tests/npu_sim/units_bench.h"

namespace berth {
namespace {

constexpr DType kBySize[] = {DType::kUInt8, DType::kFloat16, DType::kInt32, DType::kInt64};

class Move : public ::testing::TestWithParam<uint64_t> {
 protected:
  Move() : bench(GetParam()) {
    trace = std::make_unique<::testing::ScopedTrace>(__FILE__, __LINE__,
                                                     ::testing::Message() << "seed " << GetParam());
    dtype = kBySize[bench.Uniform(0, 3)];
    const bool large = GetParam() % 20 == 0;
    for (auto& extent : e)
      extent = bench.Uniform(0, 3) == 0 ? 1 : bench.Uniform(1, large ? 45 : 11);
    SetExtents();
  }
  void SetExtents() {
    for (size_t i = 0; i < 4; ++i) c.extent[i] = static_cast<int32_t>(e[i]);
  }
  void ExpectSame(const Operand& a, const Operand& b) {
    ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
      ASSERT_EQ(bench.GetInt(a, i, j, k, l), bench.GetInt(b, i, j, k, l));
    });
  }
  static UnitsBench::Layout In(MemorySpace space) { return {space}; }

  UnitsBench bench;
  std::unique_ptr<::testing::ScopedTrace> trace;
  DType dtype;
  Extents e;
  Command c;
};

constexpr MemorySpace kSpm = MemorySpace::kScratchpad, kDram = MemorySpace::kDram;

TEST_P(Move, LoadStoreAndCopy) {
  if (dtype == DType::kFloat16) dtype = DType::kInt16;
  const int which = static_cast<int>(bench.Uniform(0, 2));
  c.opcode = which == 0 ? Opcode::kDmaLoad : which == 1 ? Opcode::kDmaStore : Opcode::kCopy;
  UnitsBench::Layout source = In(which == 0 ? kDram : kSpm);
  if (which == 2) source.broadcast = {bench.Coin(), false, false, bench.Uniform(0, 3) == 0};
  c.in0 = bench.PlaceFilled(dtype, e, source, 0, 250);
  c.out = bench.Place(dtype, e, In(which == 1 ? kDram : kSpm));
  if (bench.Uniform(0, 3) == 0) {  // backwards
    c.in0.offset_bytes += (e[1] - 1) * c.in0.stride_bytes[1];
    c.in0.stride_bytes[1] = -c.in0.stride_bytes[1];
  }
  ASSERT_TRUE(bench.Run(c).ok());
  ExpectSame(c.in0, c.out);
}

TEST_P(Move, Fill) {
  if (dtype == DType::kFloat16) dtype = DType::kInt16;
  c.opcode = Opcode::kDmaFill;
  c.out = bench.Place(dtype, e, In(bench.Coin() ? kSpm : kDram));
  c.params.dma = {};
  c.params.dma.pattern = bench.Coin() ? 0 : bench.random()();
  ASSERT_TRUE(bench.Run(c).ok());
  int64_t expected = 0;
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) expected = static_cast<T>(c.params.dma.pattern);
  });
  ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
    ASSERT_EQ(bench.GetInt(c.out, i, j, k, l), expected);
  });
}

TEST_P(Move, GatherAndScatterRows) {
  if (dtype == DType::kFloat16) dtype = DType::kInt16;
  const bool gather = bench.Coin();
  const int64_t limit = bench.Uniform(1, 9);
  Extents table = e;
  table[0] = limit;
  c.opcode = gather ? Opcode::kDmaGather : Opcode::kDmaScatter;
  c.params.dma = {};
  c.params.dma.row_limit = limit;
  c.in0 = bench.PlaceFilled(dtype, gather ? table : e, In(gather ? kDram : kSpm), 0, 250);
  c.out = bench.PlaceFilled(dtype, gather ? e : table, In(gather ? kSpm : kDram), 0, 250);
  c.in1 = bench.PlaceFilled(bench.Coin() ? DType::kInt32 : DType::kInt64, {e[0], 1, 1, 1}, In(kSpm),
                            static_cast<double>(-limit), static_cast<double>(limit - 1));
  c.in1.stride_bytes[1] = c.in1.stride_bytes[2] = c.in1.stride_bytes[3] = 0;
  ASSERT_TRUE(bench.Run(c).ok());
  ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
    auto row_of = [&](int64_t r) {
      const int64_t row = bench.GetInt(c.in1, r);
      return row < 0 ? row + limit : row;
    };
    if (gather) {
      ASSERT_EQ(bench.GetInt(c.out, i, j, k, l), bench.GetInt(c.in0, row_of(i), j, k, l));
      return;
    }
    int64_t last = i;  // the last of equal rows stays
    for (int64_t r = i; r < e[0]; ++r) {
      if (row_of(r) == row_of(i)) last = r;
    }
    ASSERT_EQ(bench.GetInt(c.out, row_of(i), j, k, l), bench.GetInt(c.in0, last, j, k, l));
  });
  StoreValue(c.in1.dtype, static_cast<double>(limit), bench.At(c.in1, e[0] - 1));
  const absl::Status status = bench.Run(c);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find(std::to_string(limit)), absl::string_view::npos);
}

TEST_P(Move, Interpolate) {
  const bool copy = bench.Coin();
  if (copy && dtype == DType::kFloat16) dtype = DType::kInt16;
  if (!copy) dtype = bench.Coin() ? DType::kFloat32 : DType::kFloat16;
  const int64_t samples = bench.Uniform(1, 9);
  e[3] = copy ? 1 : bench.Uniform(0, 9) == 0 ? 70 : bench.Uniform(1, 6);
  SetExtents();
  c.opcode = Opcode::kInterpolate;
  c.params.vector = {};
  c.params.vector.window.input_height = static_cast<int32_t>(samples);
  c.in0 = bench.PlaceFilled(dtype, {e[0], samples, e[2], 1}, In(kSpm), 0, copy ? 250 : 1);
  c.out = bench.Place(dtype, {e[0], e[1], e[2], 1}, In(kSpm));
  c.in1 = bench.PlaceFilled(DType::kInt32, {1, e[1], 1, e[3]}, In(kSpm), 0,
                            static_cast<double>(samples - 1));
  if (!copy) c.in2 = bench.PlaceFilled(DType::kFloat32, {1, e[1], 1, e[3]}, In(kSpm), -1, 1);
  c.in0.stride_bytes[3] = c.out.stride_bytes[3] = 0;
  for (Operand* o : {&c.in1, &c.in2}) o->stride_bytes[0] = o->stride_bytes[2] = 0;
  ASSERT_TRUE(bench.Run(c).ok());
  ForEachIndex({e[0], e[1], e[2], 1}, [&](int64_t i, int64_t j, int64_t k, int64_t) {
    double sum = 0;
    for (int64_t t = 0; t < e[3]; ++t) {
      const double weight = copy ? 1 : bench.Get(c.in2, 0, j, 0, t);
      sum += weight * bench.Get(c.in0, i, bench.GetInt(c.in1, 0, j, 0, t), k);
    }
    ASSERT_NEAR(bench.Get(c.out, i, j, k), sum, dtype == DType::kFloat16 ? 2e-2 : 1e-4);
  });
  StoreValue(DType::kInt32, static_cast<double>(samples), bench.At(c.in1, 0, e[1] - 1, 0, 0));
  EXPECT_EQ(bench.Run(c).code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(Move, Select) {
  if (dtype == DType::kFloat16) dtype = DType::kInt16;
  c.opcode = Opcode::kSelect;
  auto broadcast = [&] {
    UnitsBench::Layout layout;
    for (bool& b : layout.broadcast) b = bench.Uniform(0, 3) == 0;
    return layout;
  };
  c.in0 = bench.PlaceFilled(DType::kBool, e, broadcast(), 0, 1);
  c.in1 = bench.PlaceFilled(dtype, e, broadcast(), 0, 250);
  c.in2 = bench.PlaceFilled(dtype, e, broadcast(), 0, 250);
  c.out = bench.Place(dtype, e, In(kSpm));
  ASSERT_TRUE(bench.Run(c).ok());
  ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
    const Operand& chosen = bench.GetInt(c.in0, i, j, k, l) ? c.in1 : c.in2;
    ASSERT_EQ(bench.GetInt(c.out, i, j, k, l), bench.GetInt(chosen, i, j, k, l));
  });
}

INSTANTIATE_TEST_SUITE_P(Random, Move, ::testing::Range<uint64_t>(0, 200));

TEST(UnitsMove, LargeTransposesOfEachSize) {
  for (DType dtype : {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
    UnitsBench bench(3);
    Command c;
    c.opcode = Opcode::kCopy;
    const Extents e = {2, 67, 53, 3};
    for (size_t i = 0; i < 4; ++i) c.extent[i] = static_cast<int32_t>(e[i]);
    const UnitsBench::Layout dense{kSpm, true};
    c.in0 = bench.PlaceFilled(dtype, {2, 3, 53, 67}, dense, 0, 120);
    std::swap(c.in0.stride_bytes[1], c.in0.stride_bytes[3]);
    c.out = bench.Place(dtype, e, dense);
    ASSERT_TRUE(bench.Run(c).ok());
    ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
      ASSERT_EQ(bench.GetInt(c.out, i, j, k, l), bench.GetInt(c.in0, i, j, k, l));
    });
  }
}

TEST(UnitsMove, HostFunctionsSeeTheirOperands) {
  UnitsBench bench(1);
  static constexpr HostFunction kTable[] = {[](const HostCall& call) -> absl::Status {
    *reinterpret_cast<int32_t*>(call.operands[0]) =
        *reinterpret_cast<const int32_t*>(call.operands[1]) +
        static_cast<int32_t>(call.command->params.host.values[0]);
    return call.operands[2] == nullptr ? absl::OkStatus() : Internal("in1 is absent");
  }};
  bench.host_functions = kTable;
  Command c;
  c.opcode = Opcode::kHostCall;
  c.params.host = {};
  c.params.host.values[0] = 5;
  c.params.host.output_mask = 1;
  const UnitsBench::Layout dense{kDram, true};
  c.in0 = bench.PlaceFilled(DType::kInt32, {1, 1, 1, 1}, dense, 37, 37);
  c.out = bench.Place(DType::kInt32, {1, 1, 1, 1}, dense);
  ASSERT_TRUE(bench.Run(c).ok());
  EXPECT_EQ(bench.GetInt(c.out, 0), 42);
  c.params.host.function = 1;
  EXPECT_EQ(bench.Run(c).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace berth
