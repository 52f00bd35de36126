// kBinary over any dtype. in0 and in1 have one dtype, except for powers, which may mix them; out
// has it too, except for comparisons, which write bool.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "npu_sim/units/convert.h"
#include "npu_sim/units/elementwise_float.h"
#include "npu_sim/units/loop_nest.h"
#include "npu_sim/units/scalar_functions.h"
#include "npu_sim/units/unit_ops.h"

namespace berth {
namespace {

bool IsComparison(BinaryFunction function) {
  return function >= BinaryFunction::kEqual && function <= BinaryFunction::kGreaterOrEqual;
}
bool IsLogical(BinaryFunction function) {
  return function >= BinaryFunction::kAnd && function <= BinaryFunction::kXor;
}
bool IsShift(BinaryFunction function) {
  return function == BinaryFunction::kShiftLeft || function == BinaryFunction::kShiftRight;
}
bool IsPower(BinaryFunction function) {
  return function == BinaryFunction::kPow || function == BinaryFunction::kPowReversed;
}

template <typename T, typename R, typename F>
void MapPairs(std::byte* const* p, int64_t count, F f) {
  R* target = reinterpret_cast<R*>(p[0]);
  const T* a = reinterpret_cast<const T*>(p[1]);
  const T* b = reinterpret_cast<const T*>(p[2]);
  for (int64_t i = 0; i < count; ++i) target[i] = f(a[i], b[i]);
}

template <typename T>
void CompareChunk(BinaryFunction function, std::byte* const* p, int64_t count) {
  switch (function) {
    case BinaryFunction::kEqual:
      return MapPairs<T, bool>(p, count, [](T a, T b) { return a == b; });
    case BinaryFunction::kLess:
      return MapPairs<T, bool>(p, count, [](T a, T b) { return a < b; });
    case BinaryFunction::kLessOrEqual:
      return MapPairs<T, bool>(p, count, [](T a, T b) { return a <= b; });
    case BinaryFunction::kGreater:
      return MapPairs<T, bool>(p, count, [](T a, T b) { return a > b; });
    default:
      return MapPairs<T, bool>(p, count, [](T a, T b) { return a >= b; });
  }
}

void BoolChunk(BinaryFunction function, std::byte* const* p, int64_t count) {
  switch (function) {
    case BinaryFunction::kOr:
    case BinaryFunction::kMax:
    case BinaryFunction::kAdd:
      return MapPairs<bool, bool>(p, count, [](bool a, bool b) { return a || b; });
    case BinaryFunction::kXor:
      return MapPairs<bool, bool>(p, count, [](bool a, bool b) { return a != b; });
    default:  // kAnd, kMin, kMul
      return MapPairs<bool, bool>(p, count, [](bool a, bool b) { return a && b; });
  }
}

void DoubleChunk(BinaryFunction function, std::byte* const* p, int64_t count) {
  auto map = [&](auto f) { MapPairs<double, double>(p, count, f); };
  switch (function) {
    case BinaryFunction::kAdd:
      return map([](double a, double b) { return a + b; });
    case BinaryFunction::kSub:
      return map([](double a, double b) { return a - b; });
    case BinaryFunction::kMul:
      return map([](double a, double b) { return a * b; });
    case BinaryFunction::kDiv:
      return map([](double a, double b) { return a / b; });
    case BinaryFunction::kMax:
      return map([](double a, double b) { return a > b || std::isnan(a) ? a : b; });
    case BinaryFunction::kMin:
      return map([](double a, double b) { return a < b || std::isnan(a) ? a : b; });
    case BinaryFunction::kPRelu:
      return map([](double a, double b) { return a < 0 ? a * b : a; });
    case BinaryFunction::kPow:
      return map([](double a, double b) { return std::pow(a, b); });
    case BinaryFunction::kMod:
      return map([](double a, double b) { return std::fmod(a, b); });
    case BinaryFunction::kSubReversed:
      return map([](double a, double b) { return b - a; });
    case BinaryFunction::kDivReversed:
      return map([](double a, double b) { return b / a; });
    default:
      return map([](double a, double b) { return std::pow(b, a); });
  }
}

// Arithmetic is done modulo 2^64 and then narrowed.
template <typename T, typename F>
void MapWrapped(std::byte* const* p, int64_t count, F f) {
  MapPairs<T, T>(p, count, [f](T a, T b) {
    return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  });
}

template <typename T>
void IntegerPairChunk(BinaryFunction function, bool sign_of_dividend, std::byte* const* p,
                      int64_t count) {
  auto map = [&](auto f) { MapPairs<T, T>(p, count, f); };
  switch (function) {
    case BinaryFunction::kDiv:
      return map([](T a, T b) { return DivideIntegers(a, b); });
    case BinaryFunction::kDivReversed:
      return map([](T a, T b) { return DivideIntegers(b, a); });
    case BinaryFunction::kPow:
      return map([](T a, T b) { return PowerOfIntegers(a, b); });
    case BinaryFunction::kPowReversed:
      return map([](T a, T b) { return PowerOfIntegers(b, a); });
    case BinaryFunction::kShiftLeft:
      return map([](T a, T b) { return ShiftInteger(a, b, true); });
    case BinaryFunction::kShiftRight:
      return map([](T a, T b) { return ShiftInteger(a, b, false); });
    default:
      return map([=](T a, T b) { return RemainderOfIntegers(a, b, sign_of_dividend); });
  }
}

template <typename T>
void IntegerChunk(BinaryFunction function, bool sign_of_dividend, std::byte* const* p,
                  int64_t count) {
  auto map = [&](auto f) { MapPairs<T, T>(p, count, f); };
  auto wrapped = [&](auto f) { MapWrapped<T>(p, count, f); };
  switch (function) {
    case BinaryFunction::kAdd:
      return wrapped([](uint64_t a, uint64_t b) { return a + b; });
    case BinaryFunction::kSub:
      return wrapped([](uint64_t a, uint64_t b) { return a - b; });
    case BinaryFunction::kSubReversed:
      return wrapped([](uint64_t a, uint64_t b) { return b - a; });
    case BinaryFunction::kMul:
      return wrapped([](uint64_t a, uint64_t b) { return a * b; });
    case BinaryFunction::kAnd:
      return wrapped([](uint64_t a, uint64_t b) { return a & b; });
    case BinaryFunction::kOr:
      return wrapped([](uint64_t a, uint64_t b) { return a | b; });
    case BinaryFunction::kXor:
      return wrapped([](uint64_t a, uint64_t b) { return a ^ b; });
    case BinaryFunction::kMax:
      return map([](T a, T b) { return a > b ? a : b; });
    case BinaryFunction::kMin:
      return map([](T a, T b) { return a < b ? a : b; });
    case BinaryFunction::kPRelu:
      return map([](T a, T b) {
        return a < T{0} ? static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)) : a;
      });
    default:
      return IntegerPairChunk<T>(function, sign_of_dividend, p, count);
  }
}

void FloatChunk(BinaryFunction function, const float* a, const float* b, int64_t count,
                std::byte* target) {
  const auto n = static_cast<size_t>(count);
  if (IsComparison(function)) {
    CompareFloats(function, a, b, n, reinterpret_cast<uint8_t*>(target));
  } else {
    ComputeBinaryFloat(function, a, b, n, reinterpret_cast<float*>(target));
  }
}

void HalfChunk(BinaryFunction function, DType dtype, std::byte* const* p, int64_t count) {
  float a[kChunkElements], b[kChunkElements];
  const bool compare = IsComparison(function);
  for (int64_t i = 0; i < count; i += kChunkElements) {
    const int64_t n = std::min(kChunkElements, count - i);
    ToFloat(dtype, p[1] + i * 2, n, a);
    ToFloat(dtype, p[2] + i * 2, n, b);
    std::byte* target = compare ? p[0] + i : reinterpret_cast<std::byte*>(a);
    FloatChunk(function, a, b, n, target);
    if (!compare) FromFloat(dtype, a, n, p[0] + i * 2);
  }
}

// Base and exponent of different dtypes: in double, then converted (saturating) to out's.
void MixedPowerChunk(const Command& c, std::byte* const* p, int64_t count) {
  const bool reversed =
      static_cast<BinaryFunction>(c.params.vector.function) == BinaryFunction::kPowReversed;
  double a[kChunkElements], b[kChunkElements];
  for (int64_t i = 0; i < count; i += kChunkElements) {
    const int64_t n = std::min(kChunkElements, count - i);
    ToDouble(c.in0.dtype, p[1] + i * DTypeBytes(c.in0.dtype), n, a);
    ToDouble(c.in1.dtype, p[2] + i * DTypeBytes(c.in1.dtype), n, b);
    for (int64_t k = 0; k < n; ++k) a[k] = reversed ? std::pow(b[k], a[k]) : std::pow(a[k], b[k]);
    FromDouble(c.out.dtype, a, n, p[0] + i * DTypeBytes(c.out.dtype));
  }
}

absl::Status CheckDTypes(const Command& c, BinaryFunction function) {
  const DType dtype = c.in0.dtype;
  if (c.in1.dtype != dtype && !IsPower(function)) return UnsupportedDType(c, c.in1.dtype);
  const bool writes_bool = IsComparison(function);
  if (writes_bool != (c.out.dtype == DType::kBool) && dtype != DType::kBool) {
    return UnsupportedDType(c, c.out.dtype);
  }
  if (!writes_bool && !IsPower(function) && c.out.dtype != dtype) {
    return UnsupportedDType(c, c.out.dtype);
  }
  if (IsFloat(dtype) && IsLogical(function)) return UnsupportedDType(c, dtype);
  if (IsShift(function) && !IsInteger(dtype)) return UnsupportedDType(c, dtype);
  return absl::OkStatus();
}

}  // namespace

absl::Status ExecuteBinary(const UnitCall& call) {
  const Command& c = call.command;
  const auto function = static_cast<BinaryFunction>(c.params.vector.function);
  BERTH_RETURN_IF_ERROR(CheckDTypes(c, function));
  LoopNest nest = NestOf(c, call.memory, {&c.out, &c.in0, &c.in1});
  Normalize(nest);
  if (c.in0.dtype != c.in1.dtype) {
    WalkChunks(nest, [&](std::byte* const* p, int64_t n) { MixedPowerChunk(c, p, n); });
    return absl::OkStatus();
  }
  const bool compare = IsComparison(function);
  const bool sign_of_dividend = c.params.vector.alpha != 0;
  VisitDType(c.in0.dtype, [&]<typename T>() {
    WalkChunks(nest, [&](std::byte* const* p, int64_t count) {
      if constexpr (std::is_same_v<T, float>) {
        FloatChunk(function, reinterpret_cast<const float*>(p[1]),
                   reinterpret_cast<const float*>(p[2]), count, p[0]);
      } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
        HalfChunk(function, c.in0.dtype, p, count);
      } else if (compare) {
        CompareChunk<T>(function, p, count);
      } else if constexpr (std::is_same_v<T, bool>) {
        BoolChunk(function, p, count);
      } else if constexpr (std::is_same_v<T, double>) {
        DoubleChunk(function, p, count);
      } else {
        IntegerChunk<T>(function, sign_of_dividend, p, count);
      }
    });
  });
  return absl::OkStatus();
}

}  // namespace berth
