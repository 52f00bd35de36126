// Integer arithmetic bit by bit against whole numbers of 128 bits (exact_arithmetic.h): every way
// in which the machine rounds, exhaustively over small ranges and at random over all of them.
#include <limits>

#include "tests/npu_sim/exact_arithmetic.h"
#include "tests/npu_sim/units_bench.h"

namespace berth {
namespace {

using exact::Number;

constexpr DType kNarrow[] = {DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16};
constexpr int64_t kLeast32 = std::numeric_limits<int32_t>::min();
constexpr int64_t kMost32 = std::numeric_limits<int32_t>::max();

int64_t Least(DType dtype) {
  return IsSigned(dtype) ? -(int64_t{1} << (8 * DTypeBytes(dtype) - 1)) : 0;
}
int64_t Most(DType dtype) { return Least(dtype) + (int64_t{1} << (8 * DTypeBytes(dtype))) - 1; }

// sum * factor as the output stage has it: 8-bit results by float32, 16-bit ones by float64.
Number Scaled(int64_t sum, float factor, DType out) {
  if (DTypeBytes(out) == 2) {
    return exact::ToDouble(exact::Times(exact::Of(sum), exact::Of(factor)));
  }
  return exact::ToFloat(exact::Times(exact::ToFloat(exact::Of(sum)), exact::Of(factor)));
}
int64_t Requantized(int64_t sum, float factor, int64_t zero_point, DType out) {
  return exact::Stored(Scaled(sum, factor, out), zero_point, Least(out), Most(out));
}
int64_t Wrapped(int64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }

// Halves, thirds, powers of two, factors whose products round in float32, and such that overflow
// or vanish.
const float kFactors[] = {1.0f,
                          0.5f,
                          0.25f,
                          0.125f,
                          1.0f / 3,
                          2.0f / 3,
                          0.1f,
                          0.0078125f,
                          0.3333333f,
                          0.4999999f,
                          1.5f,
                          2.5f,
                          0.0123456f,
                          1e-4f,
                          3.7e-9f,
                          1e-38f,
                          1e-45f,
                          1e38f,
                          16777215.0f / 33554432};

// Vectors of every instruction set: by the seed.
class Targets : public ::testing::TestWithParam<uint64_t> {
 protected:
  Targets() : bench(GetParam()) {}

  Operand Row(DType dtype, int64_t count) {
    return bench.Place(dtype, {1, 1, 1, count}, {MemorySpace::kScratchpad, true});
  }
  void ExpectFloat(const Number& expected, const std::byte* stored) {
    float out = 0;
    std::memcpy(&out, stored, 4);
    ASSERT_EQ(std::isinf(out), expected.infinite);
    if (expected.infinite) return;
    const Number actual = exact::Of(out);
    ASSERT_FALSE(exact::Less(actual, expected) || exact::Less(expected, actual)) << out;
  }
  // Runs a vector command over `integers`.
  void RunVector(Command& c, DType out, const std::vector<int64_t>& integers, DType in) {
    const auto count = static_cast<int64_t>(integers.size());
    c.extent[3] = static_cast<int32_t>(count);
    c.in0 = Row(in, count);
    for (int64_t i = 0; i < count; ++i) {
      StoreValue(in, static_cast<double>(integers[static_cast<size_t>(i)]),
                 bench.At(c.in0, 0, 0, 0, i));
    }
    c.out = Row(out, count);
    ASSERT_TRUE(bench.Run(c).ok());
  }

  UnitsBench bench;
};

TEST_P(Targets, RequantizeOfEverySmallSum) {
  std::vector<int64_t> sums;
  for (int64_t sum = -1100; sum <= 1100; ++sum) sums.push_back(sum);
  for (int64_t sum = 65000; sum <= 67000; sum += 3) sums.push_back(sum % 2 == 0 ? sum : -sum);
  for (const DType out : kNarrow) {
    for (const float factor : kFactors) {
      for (const int64_t zero_point : {int64_t{0}, Least(out), Most(out), int64_t{7}}) {
        Command c;
        c.opcode = Opcode::kRequantize;
        c.params.vector = VectorParams{};
        c.params.vector.alpha = factor;
        c.params.vector.zero_point = static_cast<int32_t>(zero_point);
        RunVector(c, out, sums, DType::kInt32);
        for (size_t i = 0; i < sums.size(); ++i) {
          ASSERT_EQ(bench.GetInt(c.out, 0, 0, 0, static_cast<int64_t>(i)),
                    Requantized(sums[i], factor, zero_point, out))
              << sums[i] << " * " << factor << " + " << zero_point << " to " << DTypeName(out);
        }
      }
    }
  }
}

// A float32 of any exponent and sign, subnormal ones too.
float AnyFactor(UnitsBench& bench) {
  const auto bits = static_cast<uint32_t>(bench.Uniform(0, 0x7f7fffff));
  return std::bit_cast<float>(bits);
}
// One that brings sums of the given size into the range of 16 bits, where rounding is seen.
float UsefulFactor(UnitsBench& bench, int sum_bits) {
  return static_cast<float>(
      std::ldexp(bench.Real(0.5, 1), static_cast<int>(bench.Uniform(0, 17)) - sum_bits));
}
int64_t AnySum(UnitsBench& bench, int bits) {
  const int64_t limit = int64_t{1} << (bits - 1);
  return bench.Uniform(-limit, limit - 1);
}

// The matrix unit's output stage over given sums: no product is added to the accumulators.
struct Stage {
  DType out = DType::kInt8;
  int64_t rows = 1, columns = 1;
  bool has_bias = false, has_factors = false;
};

class OutputStages : public Targets {
 protected:
  void Prepare(const Stage& stage) {
    c.opcode = Opcode::kGemm;
    c.flags = kFlagAccumulate | kFlagWriteOut;
    c.params.matrix = MatrixParams{};
    c.extent[1] = static_cast<int32_t>(stage.rows);
    c.extent[2] = static_cast<int32_t>(stage.columns);
    const UnitsBench::Layout dense{MemorySpace::kScratchpad, true};
    c.in0 = bench.PlaceFilled(DType::kInt8, {1, stage.rows, 1, 1}, dense, 0, 0);
    c.in1 = bench.PlaceFilled(DType::kInt8, {1, 1, stage.columns, 1}, dense, 3, 3);
    c.in0.stride_bytes[2] = c.in1.stride_bytes[1] = 0;
    c.acc = bench.Place(DType::kInt32, {1, stage.rows, stage.columns, 1},
                        {MemorySpace::kAccumulator, true});
    c.out = bench.Place(stage.out, {1, stage.rows, stage.columns, 1},
                        {MemorySpace::kScratchpad, bench.Coin()});
    c.acc.stride_bytes[3] = c.out.stride_bytes[3] = 0;
    ForEachIndex({1, stage.rows, stage.columns, 1}, [&](int64_t, int64_t i, int64_t j, int64_t) {
      StoreValue(DType::kInt32, static_cast<double>(AnySum(bench, sum_bits)),
                 bench.At(c.acc, 0, i, j));
    });
    if (stage.has_bias) PlaceColumns(stage);
  }
  void PlaceColumns(const Stage& stage) {
    c.in2 = bench.Place(stage.has_factors ? DType::kInt64 : DType::kInt32, {1, 1, stage.columns, 1},
                        {MemorySpace::kScratchpad, bench.Coin()});
    c.in2.stride_bytes[0] = c.in2.stride_bytes[1] = c.in2.stride_bytes[3] = 0;
    for (int64_t j = 0; j < stage.columns; ++j) {
      const int64_t bias =
          bench.Uniform(0, 3) == 0 ? (bench.Coin() ? kLeast32 : kMost32) : AnySum(bench, sum_bits);
      const auto low = static_cast<int32_t>(bias);
      std::memcpy(bench.At(c.in2, 0, 0, j), &low, 4);
      biases.push_back(bias);
      if (!stage.has_factors) continue;
      const float factor =
          bench.Uniform(0, 9) == 0 ? AnyFactor(bench) : UsefulFactor(bench, sum_bits);
      std::memcpy(bench.At(c.in2, 0, 0, j) + 4, &factor, 4);
      factors.push_back(factor);
    }
  }
  int64_t Sum(int64_t i, int64_t j) {
    const int64_t sum = before[static_cast<size_t>(i * c.extent[2] + j)];
    return biases.empty() ? sum : Wrapped(sum + biases[static_cast<size_t>(j)]);
  }
  float Factor(int64_t j) const {
    return factors.empty() ? c.params.matrix.out_scale : factors[static_cast<size_t>(j)];
  }
  void Run() {
    ForEachIndex({1, c.extent[1], c.extent[2], 1}, [&](int64_t, int64_t i, int64_t j, int64_t) {
      before.push_back(bench.GetInt(c.acc, 0, i, j));
    });
    ASSERT_TRUE(bench.Run(c).ok());
  }

  Command c;
  int sum_bits = 32;
  std::vector<int64_t> biases, before;
  std::vector<float> factors;
};

TEST_P(OutputStages, NarrowIntegers) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  sum_bits = static_cast<int>(bench.Uniform(10, 32));
  Stage stage;
  stage.out = kNarrow[bench.Uniform(0, 3)];
  stage.rows = bench.Uniform(1, 40);
  stage.columns = bench.Uniform(1, bench.Coin() ? 40 : 600);
  stage.has_bias = bench.Coin();
  stage.has_factors = stage.has_bias && bench.Coin();
  Prepare(stage);
  MatrixParams& p = c.params.matrix;
  p.out_scale = bench.Coin() ? UsefulFactor(bench, sum_bits) : kFactors[bench.Uniform(0, 18)];
  p.out_zero_point = static_cast<int32_t>(bench.Uniform(Least(stage.out), Most(stage.out)));
  int64_t least = Least(stage.out), most = Most(stage.out);
  const int64_t activation = bench.Uniform(0, 2);
  if (activation == 1) {
    p.activation = Activation::kRelu;
    least = p.out_zero_point;
  } else if (activation == 2) {
    p.activation = Activation::kClip;
    least = bench.Uniform(least, most);
    most = bench.Uniform(least, most);
    p.activation_alpha = static_cast<float>(least - p.out_zero_point);
    p.activation_beta = static_cast<float>(most - p.out_zero_point);
  }
  Run();
  ForEachIndex({1, stage.rows, stage.columns, 1}, [&](int64_t, int64_t i, int64_t j, int64_t) {
    const Number x = Scaled(Sum(i, j), Factor(j), stage.out);
    ASSERT_EQ(bench.GetInt(c.out, 0, i, j), exact::Stored(x, p.out_zero_point, least, most))
        << Sum(i, j) << " * " << Factor(j) << " + " << p.out_zero_point << " to "
        << DTypeName(stage.out);
  });
}

// Below zero two float32 products.
TEST_P(OutputStages, LeakyRelu) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  sum_bits = static_cast<int>(bench.Uniform(10, 32));
  Stage stage;
  stage.out = kNarrow[bench.Uniform(0, 3)];
  stage.columns = bench.Uniform(1, 600);
  Prepare(stage);
  MatrixParams& p = c.params.matrix;
  p.activation = Activation::kLeakyRelu;
  p.activation_alpha = static_cast<float>(bench.Real(0, 0.5));
  p.out_scale = UsefulFactor(bench, sum_bits);
  p.out_zero_point = static_cast<int32_t>(bench.Uniform(Least(stage.out), Most(stage.out)));
  Run();
  for (int64_t j = 0; j < stage.columns; ++j) {
    Number x = Scaled(Sum(0, j), p.out_scale, DType::kInt8);
    if (x.m < 0) x = exact::ToFloat(exact::Times(x, exact::Of(p.activation_alpha)));
    ASSERT_EQ(bench.GetInt(c.out, 0, 0, j),
              exact::Stored(x, p.out_zero_point, Least(stage.out), Most(stage.out)));
  }
}

// Wide results take the sums themselves, float ones the scaled sums.
TEST_P(OutputStages, WideIntegersAndFloats) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  Stage stage;
  stage.out = bench.Coin() ? DType::kFloat32 : bench.Coin() ? DType::kInt32 : DType::kInt64;
  stage.rows = bench.Uniform(1, 9);
  stage.columns = bench.Uniform(1, 300);
  stage.has_bias = bench.Coin();
  stage.has_factors = stage.has_bias && stage.out == DType::kFloat32 && bench.Coin();
  Prepare(stage);
  c.params.matrix.out_scale = UsefulFactor(bench, 32);
  Run();
  ForEachIndex({1, stage.rows, stage.columns, 1}, [&](int64_t, int64_t i, int64_t j, int64_t) {
    if (stage.out != DType::kFloat32) {
      ASSERT_EQ(bench.GetInt(c.out, 0, i, j), Sum(i, j));
      return;
    }
    ExpectFloat(Scaled(Sum(i, j), Factor(j), DType::kInt8), bench.At(c.out, 0, i, j));
  });
}

// Scales by element too.
TEST_P(Targets, RequantizeAtRandom) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  for (const DType out : kNarrow) {
    const bool by_element = bench.Coin();
    const int sum_bits = static_cast<int>(bench.Uniform(10, 32));
    const int64_t count = bench.Uniform(1, 5000);
    std::vector<int64_t> sums(static_cast<size_t>(count));
    for (int64_t& sum : sums) sum = AnySum(bench, sum_bits);
    Command c;
    c.opcode = Opcode::kRequantize;
    c.params.vector = VectorParams{};
    c.params.vector.alpha = UsefulFactor(bench, sum_bits);
    const int64_t zero_point = bench.Uniform(Least(out), Most(out));
    c.params.vector.zero_point = static_cast<int32_t>(zero_point);
    std::vector<float> factors(sums.size(), c.params.vector.alpha);
    if (by_element) {
      c.in1 = Row(DType::kFloat32, count);
      for (int64_t i = 0; i < count; ++i) {
        float& factor = factors[static_cast<size_t>(i)];
        factor = bench.Uniform(0, 9) == 0 ? AnyFactor(bench) : UsefulFactor(bench, sum_bits);
        std::memcpy(bench.At(c.in1, 0, 0, 0, i), &factor, 4);
      }
    }
    RunVector(c, out, sums, DType::kInt32);
    for (size_t i = 0; i < sums.size(); ++i) {
      ASSERT_EQ(bench.GetInt(c.out, 0, 0, 0, static_cast<int64_t>(i)),
                Requantized(sums[i], factors[i], zero_point, out))
          << sums[i] << " * " << factors[i];
    }
  }
}

// x / scale rounded to float32, then to a whole number: on a grid with every tie, and at random.
TEST_P(Targets, Quantize) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  for (const DType out : kNarrow) {
    for (const float scale : {1.0f, 0.5f, 0.1f, 1.0f / 3, 0.0078125f, 3.0f, AnyFactor(bench),
                              static_cast<float>(bench.Real(0.001, 0.1))}) {
      if (scale == 0) continue;
      std::vector<float> values = {0.0f, -0.0f, 3e38f, -3e38f, 1e-45f, 65504.5f};
      for (int step = -700; step <= 700; ++step) {
        values.push_back(static_cast<float>(step) * 0.5f * scale);
        values.push_back(static_cast<float>(step) / 7.0f);
        values.push_back(static_cast<float>(bench.Real(-70000, 70000)) * scale);
      }
      const auto count = static_cast<int64_t>(values.size());
      Command c;
      c.opcode = Opcode::kQuantize;
      c.params.vector = VectorParams{};
      c.params.vector.alpha = scale;
      const int64_t zero_point = bench.Uniform(Least(out), Most(out));
      c.params.vector.zero_point = static_cast<int32_t>(zero_point);
      c.extent[3] = static_cast<int32_t>(count);
      c.in0 = Row(DType::kFloat32, count);
      std::memcpy(bench.At(c.in0), values.data(), values.size() * 4);
      c.out = Row(out, count);
      ASSERT_TRUE(bench.Run(c).ok());
      for (size_t i = 0; i < values.size(); ++i) {
        const Number quotient = exact::ToFloat(exact::Over(exact::Of(values[i]), exact::Of(scale)));
        ASSERT_EQ(bench.GetInt(c.out, 0, 0, 0, static_cast<int64_t>(i)),
                  exact::Stored(quotient, zero_point, Least(out), Most(out)))
            << values[i] << " / " << scale << " + " << zero_point;
      }
    }
  }
}

// Every stored number of at most 16 bits.
TEST_P(Targets, Dequantize) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  for (const DType in : kNarrow) {
    std::vector<int64_t> stored;
    for (int64_t value = Least(in); value <= Most(in); ++value) stored.push_back(value);
    Command c;
    c.opcode = Opcode::kDequantize;
    c.params.vector = VectorParams{};
    const float scale = bench.Coin() ? UsefulFactor(bench, 16) : AnyFactor(bench);
    c.params.vector.alpha = scale;
    const int64_t zero_point = bench.Uniform(Least(in), Most(in));
    c.params.vector.zero_point = static_cast<int32_t>(zero_point);
    RunVector(c, DType::kFloat32, stored, in);
    for (size_t i = 0; i < stored.size(); ++i) {
      ExpectFloat(exact::ToFloat(exact::Times(exact::Of(stored[i] - zero_point), exact::Of(scale))),
                  bench.At(c.out, 0, 0, 0, static_cast<int64_t>(i)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Random, Targets, ::testing::Range<uint64_t>(0, 4));
INSTANTIATE_TEST_SUITE_P(Random, OutputStages, ::testing::Range<uint64_t>(0, 200));

// Sums of products at the ends of the operands' ranges, beyond 2^31 too: modulo 2^32.
TEST(UnitsExact, SumsOfExtremeOperands) {
  struct Case {
    DType in0, in1;
  };
  for (const Case dtypes : {Case{DType::kInt8, DType::kInt8}, Case{DType::kUInt8, DType::kUInt8},
                            Case{DType::kUInt8, DType::kInt8}, Case{DType::kInt16, DType::kInt8},
                            Case{DType::kInt16, DType::kInt16}, Case{DType::kUInt16, DType::kUInt8},
                            Case{DType::kUInt16, DType::kInt16}}) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE(::testing::Message() << DTypeName(dtypes.in0) << DTypeName(dtypes.in1) << seed);
      UnitsBench bench(seed);
      Command c;
      c.opcode = Opcode::kGemm;
      c.params.matrix = MatrixParams{};
      const int64_t m = 5, n = 7, k = bench.Uniform(600, 1500);
      for (int i = 1; i < 4; ++i) c.extent[i] = static_cast<int32_t>(i == 1 ? m : i == 2 ? n : k);
      const UnitsBench::Layout dense{MemorySpace::kScratchpad, true};
      const auto end = [&](DType dtype) {
        return static_cast<double>(bench.Coin() ? Least(dtype) : Most(dtype));
      };
      const double x = end(dtypes.in0), w = end(dtypes.in1);
      c.in0 = bench.PlaceFilled(dtypes.in0, {1, m, 1, k}, dense, x, x);
      c.in1 = bench.PlaceFilled(dtypes.in1, {1, 1, n, k}, dense, w, w);
      c.params.matrix.in0_zero_point = static_cast<int32_t>(end(dtypes.in0));
      c.params.matrix.in1_zero_point = static_cast<int32_t>(end(dtypes.in1));
      c.acc = bench.Place(DType::kInt32, {1, m, n, 1}, {MemorySpace::kAccumulator, true});
      ASSERT_TRUE(bench.Run(c).ok());
      const int64_t product = (static_cast<int64_t>(x) - c.params.matrix.in0_zero_point) *
                              (static_cast<int64_t>(w) - c.params.matrix.in1_zero_point);
      ForEachIndex({1, m, n, 1}, [&](int64_t, int64_t i, int64_t j, int64_t) {
        ASSERT_EQ(bench.GetInt(c.acc, 0, i, j), Wrapped(product * k));
      });
    }
  }
}

}  // namespace
}  // namespace berth
