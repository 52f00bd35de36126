#include <cmath>

#include "npu_sim/units/elementwise_float.h"
#include "npu_sim/units/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "npu_sim/units/binary_float.cc"
#include "hwy/foreach_target.h"
#include "npu_sim/units/float_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void Arithmetic(BinaryFunction function, const float* a, const float* b, size_t count,
                float* target) {
  auto map = [&](const auto& f) HWY_ATTR { MapFloatPairs(a, b, target, count, f); };
  switch (function) {
    case BinaryFunction::kAdd:
      return map([](auto, auto x, auto y) HWY_ATTR { return hn::Add(x, y); });
    case BinaryFunction::kSub:
      return map([](auto, auto x, auto y) HWY_ATTR { return hn::Sub(x, y); });
    case BinaryFunction::kMul:
      return map([](auto, auto x, auto y) HWY_ATTR { return hn::Mul(x, y); });
    case BinaryFunction::kDiv:
      return map([](auto, auto x, auto y) HWY_ATTR { return hn::Div(x, y); });
    case BinaryFunction::kMax:
      return map([](auto, auto x, auto y) HWY_ATTR {
        const auto larger = hn::IfThenElse(hn::Gt(x, y), x, y);
        return hn::IfThenElse(hn::IsNaN(x), x, larger);
      });
    case BinaryFunction::kMin:
      return map([](auto, auto x, auto y) HWY_ATTR {
        const auto smaller = hn::IfThenElse(hn::Lt(x, y), x, y);
        return hn::IfThenElse(hn::IsNaN(x), x, smaller);
      });
    default:  // kPRelu
      return map([](auto d, auto x, auto y)
                     HWY_ATTR { return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, y), x); });
  }
}

template <class F>
HWY_INLINE void CompareLoop(const float* a, const float* b, size_t count, uint8_t* target, F f) {
  for (size_t i = 0; i < count; ++i) target[i] = f(a[i], b[i]) ? 1 : 0;
}

void Comparison(BinaryFunction function, const float* a, const float* b, size_t count,
                uint8_t* target) {
  switch (function) {
    case BinaryFunction::kEqual:
      return CompareLoop(a, b, count, target, [](float x, float y) HWY_ATTR { return x == y; });
    case BinaryFunction::kLess:
      return CompareLoop(a, b, count, target, [](float x, float y) HWY_ATTR { return x < y; });
    case BinaryFunction::kLessOrEqual:
      return CompareLoop(a, b, count, target, [](float x, float y) HWY_ATTR { return x <= y; });
    case BinaryFunction::kGreater:
      return CompareLoop(a, b, count, target, [](float x, float y) HWY_ATTR { return x > y; });
    default:
      return CompareLoop(a, b, count, target, [](float x, float y) HWY_ATTR { return x >= y; });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace berth
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth {
namespace {
HWY_EXPORT(Arithmetic);
HWY_EXPORT(Comparison);

// Powers with one exponent for all elements are mostly squares and roots.
bool PowerOfConstant(const float* base, const float* exponent, size_t count, float* target) {
  for (size_t i = 1; i < count; ++i) {
    if (exponent[i] != exponent[0]) return false;
  }
  UnaryFunction function;
  if (exponent[0] == 2.0f) {
    function = UnaryFunction::kSquare;
  } else if (exponent[0] == 1.0f) {
    function = UnaryFunction::kIdentity;
  } else if (exponent[0] == -1.0f) {
    function = UnaryFunction::kReciprocal;
  } else {
    return false;
  }
  ComputeUnaryFloat(function, 0, 0, base, count, target);
  return true;
}

void Power(const float* base, const float* exponent, size_t count, float* target) {
  if (count > 0 && PowerOfConstant(base, exponent, count, target)) return;
  for (size_t i = 0; i < count; ++i) target[i] = std::pow(base[i], exponent[i]);
}

}  // namespace

void ComputeBinaryFloat(BinaryFunction function, const float* a, const float* b, size_t count,
                        float* target) {
  switch (function) {
    case BinaryFunction::kPow:
      return Power(a, b, count, target);
    case BinaryFunction::kPowReversed:
      return Power(b, a, count, target);
    case BinaryFunction::kMod:
      for (size_t i = 0; i < count; ++i) target[i] = std::fmod(a[i], b[i]);
      return;
    case BinaryFunction::kSubReversed:
      return HWY_DYNAMIC_DISPATCH(Arithmetic)(BinaryFunction::kSub, b, a, count, target);
    case BinaryFunction::kDivReversed:
      return HWY_DYNAMIC_DISPATCH(Arithmetic)(BinaryFunction::kDiv, b, a, count, target);
    default:
      return HWY_DYNAMIC_DISPATCH(Arithmetic)(function, a, b, count, target);
  }
}

void CompareFloats(BinaryFunction function, const float* a, const float* b, size_t count,
                   uint8_t* target) {
  HWY_DYNAMIC_DISPATCH(Comparison)(function, a, b, count, target);
}

}  // namespace berth
#endif  // HWY_ONCE
