// Single functions: shifts on every unsigned dtype, the accuracy of the fitted error function.
#include <cmath>

#include "tests/npu_sim/units_bench.h"

namespace berth {
namespace {

TEST(UnitsFunctions, LosesTheBitsThatLeave) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    UnitsBench bench(seed);
    constexpr DType kDTypes[] = {DType::kUInt8, DType::kUInt16, DType::kUInt32};
    const DType dtype = kDTypes[bench.Uniform(0, 2)];
    Command c;
    c.opcode = Opcode::kBinary;
    c.params.vector = {};
    Extents e;
    for (int d = 0; d < 4; ++d) {
      e[static_cast<size_t>(d)] = bench.Uniform(1, 7);
      c.extent[d] = static_cast<int32_t>(e[static_cast<size_t>(d)]);
    }
    const UnitsBench::Layout layout{MemorySpace::kScratchpad, seed % 2 == 0};
    for (const auto function : {BinaryFunction::kShiftLeft, BinaryFunction::kShiftRight}) {
      c.params.vector.function = static_cast<uint8_t>(function);
      c.in0 = bench.PlaceFilled(dtype, e, layout, 0, 255);
      c.in1 = bench.PlaceFilled(dtype, e, layout, 0, 33);
      c.out = bench.Place(dtype, e, layout);
      ASSERT_TRUE(bench.Run(c).ok());
      ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
        const int64_t a = bench.GetInt(c.in0, i, j, k, l), b = bench.GetInt(c.in1, i, j, k, l);
        const int64_t all = (int64_t{1} << 8 * DTypeBytes(dtype)) - 1;
        const int64_t y = function == BinaryFunction::kShiftLeft ? a << b & all : a >> b;
        ASSERT_EQ(bench.GetInt(c.out, i, j, k, l), y) << a << " by " << b;
      });
    }
  }
}

// The accuracy of the fitted error function over its whole range.
TEST(UnitsFunctions, ErfIsAccurate) {
  UnitsBench bench(1);
  Command c;
  c.opcode = Opcode::kUnary;
  c.params.vector = {};
  c.params.vector.function = static_cast<uint8_t>(UnaryFunction::kErf);
  const Extents e = {1, 1, 1, 100000};
  c.extent[3] = 100000;
  const UnitsBench::Layout dense{MemorySpace::kScratchpad, true};
  c.in0 = bench.PlaceFilled(DType::kFloat32, e, dense, -5, 5);
  c.out = bench.Place(DType::kFloat32, e, dense);
  ASSERT_TRUE(bench.Run(c).ok());
  for (int64_t i = 0; i < e[3]; ++i) {
    const double y = std::erf(bench.Get(c.in0, 0, 0, 0, i));
    ASSERT_NEAR(bench.Get(c.out, 0, 0, 0, i), y, 2.5e-7 * std::abs(y));
  }
}

}  // namespace
}  // namespace berth
