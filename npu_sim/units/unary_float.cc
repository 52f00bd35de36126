#include <algorithm>
#include <cmath>

#include "npu_sim/units/elementwise_float.h"
#include "npu_sim/units/highway_targets.h"
#include "npu_sim/units/scalar_functions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "npu_sim/units/unary_float.cc"
#include "hwy/foreach_target.h"
#include "npu_sim/units/float_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Highway's sine and cosine are defined up to this magnitude.
constexpr float kTrigonometricLimit = 39000.0f;

struct Map {
  const float* source;
  float* target;
  size_t count;
  template <class F>
  HWY_INLINE void operator()(const F& function) const {
    MapFloats(source, target, count, function);
  }
};

HWY_NOINLINE void Exponentials(UnaryFunction function, float alpha, const Map& map) {
  switch (function) {
    case UnaryFunction::kSigmoid:
      return map([](auto d, auto x) HWY_ATTR { return Sigmoid(d, x); });
    case UnaryFunction::kSilu:
      return map([](auto d, auto x) HWY_ATTR { return hn::Mul(x, Sigmoid(d, x)); });
    case UnaryFunction::kTanh:
      return map([](auto d, auto x) HWY_ATTR { return FullTanh(d, x); });
    case UnaryFunction::kExp:
      return map([](auto d, auto x) HWY_ATTR { return FullExp(d, x); });
    case UnaryFunction::kLog:
      return map([](auto d, auto x) HWY_ATTR { return FullLog(d, x); });
    case UnaryFunction::kErf:
      return map([](auto d, auto x) HWY_ATTR { return Erf(d, x); });
    case UnaryFunction::kGelu:
      return map([](auto d, auto x) HWY_ATTR {
        const auto half = hn::Mul(x, hn::Set(d, 0.5f));
        return hn::MulAdd(half, Erf(d, hn::Mul(x, hn::Set(d, 0.70710678118654752f))), half);
      });
    case UnaryFunction::kGeluTanh:
      return map([](auto d, auto x) HWY_ATTR {
        const auto half = hn::Mul(x, hn::Set(d, 0.5f));
        const auto cube = hn::Mul(hn::Mul(x, x), hn::Mul(x, hn::Set(d, 0.044715f)));
        const auto inner = hn::Mul(hn::Add(x, cube), hn::Set(d, 0.79788456080286536f));
        return hn::MulAdd(half, FullTanh(d, inner), half);
      });
    case UnaryFunction::kSoftplus:
      return map([](auto d, auto x) HWY_ATTR { return Softplus(d, x); });
    default:  // kElu
      return map([alpha](auto d, auto x) HWY_ATTR {
        const auto zero = hn::Zero(d);
        const auto tail = hn::Mul(hn::Set(d, alpha), hn::Expm1(d, hn::Min(x, zero)));
        return hn::IfThenElse(hn::Lt(x, zero), tail, x);
      });
  }
}

HWY_NOINLINE void Trigonometric(bool sine, const Map& map) {
  float largest = 0;
  for (size_t i = 0; i < map.count; ++i) {
    const float magnitude = map.source[i] < 0 ? -map.source[i] : map.source[i];
    largest = magnitude > largest ? magnitude : largest;
  }
  if (largest <= kTrigonometricLimit) {
    if (sine) return map([](auto d, auto x) HWY_ATTR { return hn::Sin(d, x); });
    return map([](auto d, auto x) HWY_ATTR { return hn::Cos(d, x); });
  }
  for (size_t i = 0; i < map.count; ++i) {
    map.target[i] = sine ? ::sinf(map.source[i]) : ::cosf(map.source[i]);
  }
}

HWY_NOINLINE void Roundings(UnaryFunction function, const Map& map) {
  switch (function) {
    case UnaryFunction::kFloor:
      return map([](auto, auto x) HWY_ATTR { return hn::Floor(x); });
    case UnaryFunction::kCeil:
      return map([](auto, auto x) HWY_ATTR { return hn::Ceil(x); });
    case UnaryFunction::kRound:
      return map([](auto, auto x) HWY_ATTR { return hn::Round(x); });
    default:  // kSign: of 0 it is 0
      return map([](auto d, auto x) HWY_ATTR {
        const auto one = hn::CopySign(hn::Set(d, 1.0f), x);
        return hn::IfThenElse(hn::Gt(hn::Abs(x), hn::Zero(d)), one, x);
      });
  }
}

HWY_NOINLINE void Piecewise(UnaryFunction function, float alpha, float beta, const Map& map) {
  switch (function) {
    case UnaryFunction::kRelu:
      return map([](auto d, auto x)
                     HWY_ATTR { return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x); });
    case UnaryFunction::kLeakyRelu:
      return map([alpha](auto d, auto x) HWY_ATTR {
        return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, hn::Set(d, alpha)), x);
      });
    case UnaryFunction::kClip:  // the upper bound wins where the bounds cross
      return map([alpha, beta](auto d, auto x) HWY_ATTR {
        const auto low = hn::Set(d, alpha), high = hn::Set(d, beta);
        const auto raised = hn::IfThenElse(hn::Lt(x, low), low, x);
        return hn::IfThenElse(hn::Gt(raised, high), high, raised);
      });
    case UnaryFunction::kHardSigmoid:
      return map([alpha, beta](auto d, auto x) HWY_ATTR {
        const auto line = hn::MulAdd(x, hn::Set(d, alpha), hn::Set(d, beta));
        const auto raised = hn::IfThenZeroElse(hn::Lt(line, hn::Zero(d)), line);
        const auto one = hn::Set(d, 1.0f);
        return hn::IfThenElse(hn::Gt(raised, one), one, raised);
      });
    case UnaryFunction::kHardSwish:
      return map([](auto d, auto x) HWY_ATTR {
        const auto line = hn::MulAdd(x, hn::Set(d, 1.0f / 6.0f), hn::Set(d, 0.5f));
        const auto raised = hn::IfThenZeroElse(hn::Lt(line, hn::Zero(d)), line);
        const auto one = hn::Set(d, 1.0f);
        return hn::Mul(x, hn::IfThenElse(hn::Gt(raised, one), one, raised));
      });
    case UnaryFunction::kAffine:
      return map([alpha, beta](auto d, auto x)
                     HWY_ATTR { return hn::MulAdd(x, hn::Set(d, alpha), hn::Set(d, beta)); });
    default:  // kIdentity
      return map([](auto, auto x) HWY_ATTR { return x; });
  }
}

HWY_NOINLINE void Algebraic(UnaryFunction function, const Map& map) {
  switch (function) {
    case UnaryFunction::kSqrt:
      return map([](auto, auto x) HWY_ATTR { return hn::Sqrt(x); });
    case UnaryFunction::kNeg:
      return map([](auto, auto x) HWY_ATTR { return hn::Neg(x); });
    case UnaryFunction::kAbs:
      return map([](auto, auto x) HWY_ATTR { return hn::Abs(x); });
    case UnaryFunction::kSquare:
      return map([](auto, auto x) HWY_ATTR { return hn::Mul(x, x); });
    case UnaryFunction::kReciprocal:
      return map([](auto d, auto x) HWY_ATTR { return hn::Div(hn::Set(d, 1.0f), x); });
    default:  // kRsqrt
      return map([](auto d, auto x) HWY_ATTR { return hn::Div(hn::Set(d, 1.0f), hn::Sqrt(x)); });
  }
}

void UnaryFloat(UnaryFunction function, float alpha, float beta, const float* source, size_t count,
                float* target) {
  const Map map{source, target, count};
  switch (function) {
    case UnaryFunction::kSin:
    case UnaryFunction::kCos:
      return Trigonometric(function == UnaryFunction::kSin, map);
    case UnaryFunction::kFloor:
    case UnaryFunction::kCeil:
    case UnaryFunction::kRound:
    case UnaryFunction::kSign:
      return Roundings(function, map);
    case UnaryFunction::kSqrt:
    case UnaryFunction::kNeg:
    case UnaryFunction::kAbs:
    case UnaryFunction::kSquare:
    case UnaryFunction::kReciprocal:
    case UnaryFunction::kRsqrt:
      return Algebraic(function, map);
    case UnaryFunction::kRelu:
    case UnaryFunction::kLeakyRelu:
    case UnaryFunction::kClip:
    case UnaryFunction::kHardSigmoid:
    case UnaryFunction::kHardSwish:
    case UnaryFunction::kAffine:
    case UnaryFunction::kIdentity:
    case UnaryFunction::kNot:  // not a function of reals
      return Piecewise(function, alpha, beta, map);
    default:
      return Exponentials(function, alpha, map);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace berth
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth {
HWY_EXPORT(UnaryFloat);

void ComputeUnaryFloat(UnaryFunction function, float alpha, float beta, const float* source,
                       size_t count, float* target) {
  const bool is_fast = function == UnaryFunction::kSin || function == UnaryFunction::kCos;
  if (IsTrigonometric(function) && !is_fast) {  // rare: not worth loops of their own
    for (size_t i = 0; i < count; ++i) {
      target[i] = static_cast<float>(UnaryOfReal(function, alpha, beta, source[i]));
    }
    return;
  }
  HWY_DYNAMIC_DISPATCH(UnaryFloat)(function, alpha, beta, source, count, target);
}

}  // namespace berth
#endif  // HWY_ONCE
