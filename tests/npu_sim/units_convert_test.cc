// kCast and the quantizing opcodes against scalar conversions.
#include <cmath>

#include "tests/npu_sim/units_bench.h"

namespace berth {
namespace {

class Seeds : public ::testing::TestWithParam<uint64_t> {
 protected:
  Seeds() : bench(GetParam()) {
    c.params.vector = {};
    trace = std::make_unique<::testing::ScopedTrace>(__FILE__, __LINE__,
                                                     ::testing::Message() << "seed " << GetParam());
  }
  UnitsBench bench;
  Command c;
  std::unique_ptr<::testing::ScopedTrace> trace;
};

TEST_P(Seeds, Cast) {
  const auto from = static_cast<DType>(bench.Uniform(1, kDTypeCount - 1));
  const auto to = static_cast<DType>(bench.Uniform(1, kDTypeCount - 1));
  const Extents e = RandomExtents(bench, c);
  c.opcode = Opcode::kCast;
  const double low = IsSigned(from) && IsSigned(to) ? -100 : 0;
  c.in0 = bench.PlaceFilled(from, e, RandomLayout(bench, true), from == DType::kBool ? 0 : low,
                            from == DType::kBool ? 1 : 100);
  c.out = bench.Place(to, e, RandomLayout(bench, false));
  ASSERT_TRUE(bench.Run(c).ok());
  ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
    std::byte expected[8] = {};
    const double x = bench.Get(c.in0, i, j, k, l);
    StoreValue(to, to == DType::kBool ? x != 0 : IsFloat(to) ? x : std::trunc(x), expected);
    ASSERT_EQ(bench.Get(c.out, i, j, k, l), AsDouble(to, expected)) << x;
  });
}

TEST_P(Seeds, RequantizeQuantizeDequantize) {
  constexpr DType kNarrow[] = {DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16};
  const DType narrow = kNarrow[bench.Uniform(0, 3)];
  const Extents e = RandomExtents(bench, c);
  const auto zero_point = static_cast<int32_t>(bench.Uniform(IsSigned(narrow) ? -100 : 0, 100));
  c.params.vector.zero_point = zero_point;
  const double range = std::ldexp(1, static_cast<int>(8 * DTypeBytes(narrow)));
  const double low = IsSigned(narrow) ? -range / 2 : 0, high = low + range - 1;
  c.in1 = bench.PlaceFilled(DType::kFloat32, e, RandomLayout(bench, true), 0.01, 0.5);
  for (Opcode opcode : {Opcode::kRequantize, Opcode::kQuantize, Opcode::kDequantize}) {
    c.opcode = opcode;
    const DType in = opcode == Opcode::kRequantize ? DType::kInt32
                     : opcode == Opcode::kQuantize ? DType::kFloat32
                                                   : narrow;
    const double in_low = in == narrow ? low : -range, in_high = in == narrow ? high : range;
    c.in0 = bench.PlaceFilled(in, e, RandomLayout(bench, true), in_low, in_high);
    c.out = bench.Place(opcode == Opcode::kDequantize ? DType::kFloat32 : narrow, e,
                        RandomLayout(bench, false));
    ASSERT_TRUE(bench.Run(c).ok());
    ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
      const auto scale = static_cast<float>(bench.Get(c.in1, i, j, k, l));
      const auto x = static_cast<float>(bench.Get(c.in0, i, j, k, l));
      float y = x * scale;
      if (opcode == Opcode::kQuantize) y = x / scale;
      if (opcode == Opcode::kDequantize) y = (x - static_cast<float>(zero_point)) * scale;
      // 16-bit results need more bits than a float32 product has.
      const bool is_wide = opcode == Opcode::kRequantize && DTypeBytes(narrow) == 2;
      const double exact = is_wide ? double{x} * double{scale} : double{y};
      const double expected = opcode == Opcode::kDequantize
                                  ? y
                                  : std::clamp(std::nearbyint(exact) + zero_point, low, high);
      ASSERT_EQ(bench.Get(c.out, i, j, k, l), expected) << x << " " << scale;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Random, Seeds, ::testing::Range<uint64_t>(0, 120));

// What ONNX leaves open is at least defined: truncated, saturated to 64 bits, wrapped.
TEST(UnitsConvert, CastOfFloatsBeyondTheTarget) {
  UnitsBench bench(1);
  Command c;
  c.opcode = Opcode::kCast;
  c.extent[3] = 4;
  const UnitsBench::Layout dense{MemorySpace::kScratchpad, true};
  c.in0 = bench.PlaceFilled(DType::kFloat32, {1, 1, 1, 4}, dense, 0, 0);
  const float values[] = {300.0f, -1.0f, 3e10f, std::nanf("")};
  std::memcpy(bench.At(c.in0), values, sizeof(values));
  c.out = bench.Place(DType::kUInt8, {1, 1, 1, 4}, dense);
  ASSERT_TRUE(bench.Run(c).ok());
  const int64_t expected[] = {300 - 256, 255, int64_t{30000000000} % 256, 0};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(bench.GetInt(c.out, 0, 0, 0, i), expected[i]);
}

}  // namespace
}  // namespace berth
