// kUnary and kBinary against scalar functions.
#include <cmath>
#include <limits>

#include "tests/npu_sim/units_bench.h"

namespace berth {
namespace {

double Unary(UnaryFunction f, double a, double b, double x) {
  switch (f) {
    case UnaryFunction::kIdentity:
      return x;
    case UnaryFunction::kRelu:
      return std::max(x, 0.0);
    case UnaryFunction::kLeakyRelu:
      return x < 0 ? a * x : x;
    case UnaryFunction::kClip:
      return std::min(std::max(x, a), b);
    case UnaryFunction::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case UnaryFunction::kHardSigmoid:
      return std::min(1.0, std::max(0.0, a * x + b));
    case UnaryFunction::kHardSwish:
      return x * std::min(1.0, std::max(0.0, x / 6 + 0.5));
    case UnaryFunction::kTanh:
      return std::tanh(x);
    case UnaryFunction::kExp:
      return std::exp(x);
    case UnaryFunction::kLog:
      return std::log(x);
    case UnaryFunction::kSqrt:
      return std::sqrt(x);
    case UnaryFunction::kNeg:
      return -x;
    case UnaryFunction::kAbs:
      return std::abs(x);
    case UnaryFunction::kErf:
      return std::erf(x);
    case UnaryFunction::kGelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case UnaryFunction::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case UnaryFunction::kSoftplus:
      return std::log1p(std::exp(x));
    case UnaryFunction::kElu:
      return x < 0 ? a * (std::exp(x) - 1) : x;
    case UnaryFunction::kReciprocal:
      return 1 / x;
    case UnaryFunction::kRsqrt:
      return 1 / std::sqrt(x);
    case UnaryFunction::kSquare:
      return x * x;
    case UnaryFunction::kNot:
      return 0;
    case UnaryFunction::kAffine:
      return a * x + b;
    case UnaryFunction::kFloor:
      return std::floor(x);
    case UnaryFunction::kCeil:
      return std::ceil(x);
    case UnaryFunction::kRound:
      return std::nearbyint(x);
    case UnaryFunction::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case UnaryFunction::kSin:
      return std::sin(x);
    case UnaryFunction::kCos:
      return std::cos(x);
    case UnaryFunction::kSilu:
      return x / (1 + std::exp(-x));
    case UnaryFunction::kTan:
      return std::tan(x);
    case UnaryFunction::kAsin:
      return std::asin(x);
    case UnaryFunction::kAcos:
      return std::acos(x);
    case UnaryFunction::kAtan:
      return std::atan(x);
    case UnaryFunction::kSinh:
      return std::sinh(x);
    case UnaryFunction::kCosh:
      return std::cosh(x);
    case UnaryFunction::kAsinh:
      return std::asinh(x);
    case UnaryFunction::kAcosh:
      return std::acosh(x);
    case UnaryFunction::kAtanh:
      return std::atanh(x);
  }
  return 0;
}

double Epsilon(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 1e-12;
    case DType::kFloat16:
      return 1e-3;
    case DType::kBFloat16:
      return 8e-3;
    default:
      return 6e-7;
  }
}

struct Domain {
  double low = -6, high = 6;
};
Domain DomainOf(UnaryFunction f) {
  switch (f) {
    case UnaryFunction::kLog:
    case UnaryFunction::kSqrt:
    case UnaryFunction::kRsqrt:
    case UnaryFunction::kReciprocal:
      return {0.05, 6};
    case UnaryFunction::kAsin:
    case UnaryFunction::kAcos:
    case UnaryFunction::kAtanh:
      return {-0.95, 0.95};
    case UnaryFunction::kAcosh:
      return {1, 6};
    default:
      return {};
  }
}

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

TEST_P(Seeds, UnaryOfReals) {
  constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                               DType::kFloat64};
  const DType dtype = kDTypes[bench.Uniform(0, 4)];
  const Extents e = RandomExtents(bench, c);
  for (int f = 0; f <= static_cast<int>(UnaryFunction::kAtanh); ++f) {
    const auto function = static_cast<UnaryFunction>(f);
    if (function == UnaryFunction::kNot) continue;
    c.opcode = Opcode::kUnary;
    c.params.vector.function = static_cast<uint8_t>(f);
    c.params.vector.alpha = function == UnaryFunction::kClip ? -1.5f : 0.2f;
    c.params.vector.beta = 0.5f;
    const Domain domain = DomainOf(function);
    c.in0 = bench.PlaceFilled(dtype, e, RandomLayout(bench, true), domain.low, domain.high);
    c.out = bench.Place(dtype, e, RandomLayout(bench, false));
    std::vector<double> source;
    ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
      source.push_back(bench.Get(c.in0, i, j, k, l));
    });
    const bool in_place = bench.Coin() && std::count(std::begin(c.in0.stride_bytes),
                                                     std::end(c.in0.stride_bytes), 0) == 0;
    if (in_place) c.out = c.in0;
    ASSERT_TRUE(bench.Run(c).ok());
    size_t n = 0;
    ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
      const double x = source[n++];
      const double y = Unary(function, c.params.vector.alpha, c.params.vector.beta, x);
      ASSERT_NEAR(bench.Get(c.out, i, j, k, l), y, Epsilon(dtype) * std::max(1.0, std::abs(y)))
          << "function " << f << " of " << x;
    });
  }
}

TEST_P(Seeds, UnaryOfIntegers) {
  constexpr UnaryFunction kFunctions[] = {
      UnaryFunction::kIdentity, UnaryFunction::kRelu, UnaryFunction::kNeg, UnaryFunction::kAbs,
      UnaryFunction::kSquare,   UnaryFunction::kSign, UnaryFunction::kClip};
  constexpr DType kDTypes[] = {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64};
  const DType dtype = kDTypes[bench.Uniform(0, 3)];
  const Extents e = RandomExtents(bench, c);
  for (UnaryFunction function : kFunctions) {
    c.opcode = Opcode::kUnary;
    c.params.vector.function = static_cast<uint8_t>(function);
    c.params.vector.alpha = -4;
    c.params.vector.beta = 5;
    c.in0 = bench.PlaceFilled(dtype, e, RandomLayout(bench, true), -11, 11);
    c.out = bench.Place(dtype, e, RandomLayout(bench, false));
    ASSERT_TRUE(bench.Run(c).ok());
    ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
      const double x = bench.Get(c.in0, i, j, k, l);
      ASSERT_EQ(bench.Get(c.out, i, j, k, l), Unary(function, -4, 5, x));
    });
  }
}

double BinaryReal(BinaryFunction f, double a, double b) {
  switch (f) {
    case BinaryFunction::kAdd:
      return a + b;
    case BinaryFunction::kSub:
      return a - b;
    case BinaryFunction::kMul:
      return a * b;
    case BinaryFunction::kDiv:
      return a / b;
    case BinaryFunction::kPow:
      return std::pow(a, b);
    case BinaryFunction::kMax:
      return std::max(a, b);
    case BinaryFunction::kMin:
      return std::min(a, b);
    case BinaryFunction::kPRelu:
      return a < 0 ? a * b : a;
    case BinaryFunction::kEqual:
      return a == b;
    case BinaryFunction::kLess:
      return a < b;
    case BinaryFunction::kLessOrEqual:
      return a <= b;
    case BinaryFunction::kGreater:
      return a > b;
    case BinaryFunction::kGreaterOrEqual:
      return a >= b;
    case BinaryFunction::kMod:
      return std::fmod(a, b);
    case BinaryFunction::kSubReversed:
      return b - a;
    case BinaryFunction::kDivReversed:
      return b / a;
    case BinaryFunction::kPowReversed:
      return std::pow(b, a);
    default:
      return 0;
  }
}

int64_t BinaryInt(BinaryFunction f, int64_t a, int64_t b) {
  switch (f) {
    case BinaryFunction::kDiv:
      return b == 0 ? 0 : a / b;
    case BinaryFunction::kDivReversed:
      return a == 0 ? 0 : b / a;
    case BinaryFunction::kAnd:
      return a & b;
    case BinaryFunction::kOr:
      return a | b;
    case BinaryFunction::kXor:
      return a ^ b;
    case BinaryFunction::kMod:
      return b == 0 ? a : ((a % b) + b) % b;
    case BinaryFunction::kPow: {
      int64_t power = 1;
      for (int64_t i = 0; i < b; ++i) power *= a;
      return b < 0 ? static_cast<int64_t>(std::pow(a, b)) : power;
    }
    default:
      return static_cast<int64_t>(BinaryReal(f, static_cast<double>(a), static_cast<double>(b)));
  }
}

bool IsComparison(BinaryFunction f) {
  return f >= BinaryFunction::kEqual && f <= BinaryFunction::kGreaterOrEqual;
}
bool IsLogical(BinaryFunction f) { return f >= BinaryFunction::kAnd && f <= BinaryFunction::kXor; }
bool IsPower(BinaryFunction f) {
  return f == BinaryFunction::kPow || f == BinaryFunction::kPowReversed;
}

TEST_P(Seeds, BinaryOfReals) {
  constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                               DType::kFloat64};
  const DType dtype = kDTypes[bench.Uniform(0, 4)];
  const Extents e = RandomExtents(bench, c);
  for (int f = 0; f <= static_cast<int>(BinaryFunction::kPowReversed); ++f) {
    const auto function = static_cast<BinaryFunction>(f);
    if (IsLogical(function)) continue;
    const bool positive = IsPower(function) || function == BinaryFunction::kMod ||
                          function == BinaryFunction::kDiv ||
                          function == BinaryFunction::kDivReversed;
    c.opcode = Opcode::kBinary;
    c.params.vector.function = static_cast<uint8_t>(f);
    c.in0 = bench.PlaceFilled(dtype, e, RandomLayout(bench, true), positive ? 0.3 : -3, 3);
    c.in1 = bench.PlaceFilled(dtype, e, RandomLayout(bench, true), positive ? 0.3 : -3, 3);
    if (bench.Uniform(0, 3) == 0) c.in1 = c.in0;
    c.out =
        bench.Place(IsComparison(function) ? DType::kBool : dtype, e, RandomLayout(bench, false));
    ASSERT_TRUE(bench.Run(c).ok());
    ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
      const double a = bench.Get(c.in0, i, j, k, l), b = bench.Get(c.in1, i, j, k, l);
      const double y = BinaryReal(function, a, b);
      const double tolerance =
          IsComparison(function) ? 0 : Epsilon(dtype) * std::max(1.0, std::abs(y));
      ASSERT_NEAR(bench.Get(c.out, i, j, k, l), y, tolerance)
          << "function " << f << " of " << a << " and " << b;
    });
  }
}

TEST_P(Seeds, BinaryOfIntegersAndBool) {
  constexpr DType kDTypes[] = {DType::kInt8,  DType::kUInt8,  DType::kInt16, DType::kInt32,
                               DType::kInt64, DType::kUInt32, DType::kBool};
  const DType dtype = kDTypes[bench.Uniform(0, 6)];
  const Extents e = RandomExtents(bench, c);
  for (int f = 0; f < static_cast<int>(BinaryFunction::kPowReversed); ++f) {
    const auto function = static_cast<BinaryFunction>(f);
    if (dtype == DType::kBool && !IsLogical(function) && function != BinaryFunction::kEqual) {
      continue;
    }
    c.opcode = Opcode::kBinary;
    c.params.vector.function = static_cast<uint8_t>(f);
    const double low = IsSigned(dtype) ? -9 : 0, high = dtype == DType::kBool ? 1 : 9;
    c.in0 = bench.PlaceFilled(dtype, e, RandomLayout(bench, true), low, high);
    c.in1 = bench.PlaceFilled(dtype, e, RandomLayout(bench, true), IsPower(function) ? 0 : low,
                              IsPower(function) ? 3 : high);
    c.out =
        bench.Place(IsComparison(function) ? DType::kBool : dtype, e, RandomLayout(bench, false));
    ASSERT_TRUE(bench.Run(c).ok());
    ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
      const int64_t a = bench.GetInt(c.in0, i, j, k, l), b = bench.GetInt(c.in1, i, j, k, l);
      int64_t y = BinaryInt(function, a, b);
      VisitDType(c.out.dtype, [&]<typename T>() {  // wraps
        if constexpr (std::is_integral_v<T>) y = static_cast<int64_t>(static_cast<T>(y));
      });
      ASSERT_EQ(bench.GetInt(c.out, i, j, k, l), y) << "function " << f << " of " << a << ", " << b;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Random, Seeds, ::testing::Range<uint64_t>(0, 120));

// Where functions of reals leave the ordinary range.
TEST(UnitsElementwise, SpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const float inputs[] = {0.0f,    -0.0f, kInf,   -kInf,  kNan,    1e30f,    -1e30f, 100.0f,
                          -100.0f, 88.5f, -87.0f, 1e-30f, -1e-30f, 50000.0f, 3e-39f, 12345678.0f};
  for (int f = 0; f <= static_cast<int>(UnaryFunction::kAtanh); ++f) {
    const auto function = static_cast<UnaryFunction>(f);
    if (function == UnaryFunction::kNot || function == UnaryFunction::kGeluTanh) continue;
    UnitsBench bench(static_cast<uint64_t>(f));
    Command c;
    c.opcode = Opcode::kUnary;
    c.params.vector = {};
    c.params.vector.function = static_cast<uint8_t>(f);
    c.params.vector.alpha = 0.5f;
    c.params.vector.beta = 0.75f;
    const Extents e = {1, 1, 1, std::size(inputs)};
    c.extent[3] = std::size(inputs);
    const UnitsBench::Layout dense{MemorySpace::kScratchpad, true};
    c.in0 = bench.PlaceFilled(DType::kFloat32, e, dense, 0, 1);
    c.out = bench.Place(DType::kFloat32, e, dense);
    std::memcpy(bench.At(c.in0), inputs, sizeof(inputs));
    ASSERT_TRUE(bench.Run(c).ok());
    for (size_t i = 0; i < std::size(inputs); ++i) {
      const double x = inputs[i];
      double y = Unary(function, 0.5, 0.75, x);
      if (std::isnan(x)) y = kNan;
      if (std::isinf(x) && function == UnaryFunction::kSilu) continue;  // 0 or NaN
      if (x < 0 && std::isinf(x) && function == UnaryFunction::kGelu) continue;
      if (x < 0 && std::isinf(x) && function == UnaryFunction::kHardSwish) continue;
      if (function == UnaryFunction::kSoftplus && x > 80) y = x;
      if (function == UnaryFunction::kSign && x == 0) y = 0;
      const auto expected = static_cast<float>(y);
      const auto got = static_cast<float>(bench.Get(c.out, 0, 0, 0, static_cast<int64_t>(i)));
      if (std::isnan(expected) || std::isinf(expected)) {
        EXPECT_EQ(std::isnan(got), std::isnan(expected)) << f << " of " << x << ": " << got;
        if (std::isinf(expected)) {
          EXPECT_EQ(got, expected) << f << " of " << x;
        }
      } else {
        EXPECT_NEAR(got, expected, 3e-6 * std::max(1e-6f, std::abs(expected)) + 1e-7)
            << f << " of " << x;
      }
    }
  }
}

TEST(UnitsElementwise, NamesADTypeThatItDoesNotCompute) {
  UnitsBench bench(1);
  Command c;
  c.opcode = Opcode::kSoftmax;
  const UnitsBench::Layout dense{MemorySpace::kScratchpad, true};
  c.in0 = c.out = bench.PlaceFilled(DType::kInt8, {1, 1, 1, 1}, dense, 0, 1);
  const absl::Status status = bench.Run(c);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("int8"), absl::string_view::npos);
}

}  // namespace
}  // namespace berth
