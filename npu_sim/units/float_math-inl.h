// Vector functions on floats that Highway's math library lacks or defines only on a part of the
// range. Included once per instruction set (hence the toggled guard).
//
// Erf: |x| < 1: x P(x^2); else 1 - exp(Q(x)), x capped at 4, with P and Q fitted (Chebyshev, error
// 1.3e-9 and 1.7e-8) to erf(sqrt t)/sqrt t on [0, 1] and log erfc on [1, 4].
#if defined(BERTH_NPU_SIM_UNITS_FLOAT_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_NPU_SIM_UNITS_FLOAT_MATH_INL_H_
#undef BERTH_NPU_SIM_UNITS_FLOAT_MATH_INL_H_
#else
#define BERTH_NPU_SIM_UNITS_FLOAT_MATH_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace berth {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Highway's Exp is defined up to 104 and takes NaN to 0.
template <class D, class V>
HWY_INLINE V FullExp(D d, V x) {
  const V result = hn::Exp(d, hn::Min(x, hn::Set(d, 100.0f)));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// Highway's Log is defined on positive finite values.
template <class D, class V>
HWY_INLINE V FullLog(D d, V x) {
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const V zero = hn::Zero(d);
  V result = hn::Log(d, x);
  result = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), result);
  result = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
  const V nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  return hn::IfThenElse(hn::Ge(x, zero), result, nan);
}

// Horner's rule, highest coefficient first.
template <class D, class V, size_t kCount>
HWY_INLINE V Polynomial(D d, V x, const float (&coefficients)[kCount]) {
  V sum = hn::Set(d, coefficients[0]);
  for (size_t i = 1; i < kCount; ++i) sum = hn::MulAdd(sum, x, hn::Set(d, coefficients[i]));
  return sum;
}

// The logistic function as 1/2 + x P(x^2) / Q(x^2), clamped to [0, 1]: the rational minimax
// approximation (degrees 4 and 5) published with Eigen and used by ONNX Runtime. Its absolute error
// is about 1e-7 and small results are multiples of 2^-25. An exact exponential would be closer to
// the truth and further from what models are compared with: where those runtimes round two scores
// to a tie, a later comparison of equals has to see the tie.
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  constexpr float kNumerator[] = {4.37031012579801e-11f, 1.15627324459942e-07f,
                                  6.08574864600143e-05f, 8.51377133304701e-03f,
                                  2.48287947061529e-01f};
  constexpr float kDenominator[] = {6.10247389755681e-13f, 5.76102136993427e-09f,
                                    6.29106785017040e-06f, 1.70198817374094e-03f,
                                    1.16817656904453e-01f, 9.93151921023180e-01f};
  const V limit = hn::Set(d, 18.0f);
  const V bounded = hn::Min(hn::Max(x, hn::Neg(limit)), limit);
  const V square = hn::Mul(bounded, bounded);
  const V ratio = hn::Div(hn::Mul(Polynomial(d, square, kNumerator), bounded),
                          Polynomial(d, square, kDenominator));
  const V value = hn::Add(ratio, hn::Set(d, 0.5f));
  const V clamped = hn::Min(hn::Max(value, hn::Zero(d)), hn::Set(d, 1.0f));
  return hn::IfThenElse(hn::IsNaN(x), x, clamped);
}

// Highway's Tanh needs finite arguments; beyond 20 the result is 1 in float.
template <class D, class V>
HWY_INLINE V FullTanh(D d, V x) {
  const V limit = hn::Set(d, 20.0f);
  const V bounded = hn::Min(hn::Max(x, hn::Neg(limit)), limit);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(d, bounded));
}

template <class D, class V>
HWY_INLINE V Erf(D d, V x) {
  static constexpr float kInner[] = {
      7.875875062685488e-05f, -0.000801686428716587f, 0.005189087423433974f, -0.026854212010626412f,
      0.11283594715160218f,   -0.37612626666720334f,  1.1283791658483509f};
  static constexpr float kOuter[] = {
      1.6371514145936436e-06f, -4.605804268918978e-05f, 0.0005968056256607798f,
      -0.004759596293266265f,  0.026421136005663898f,   -0.11008008294882024f,
      -0.631826051559163f,     -1.130233434841994f,     0.00032013804967769883f};
  const V one = hn::Set(d, 1.0f);
  const V magnitude = hn::Abs(x);
  const V inner = hn::Mul(x, Polynomial(d, hn::Mul(x, x), kInner));
  const V capped = hn::Min(magnitude, hn::Set(d, 4.0f));
  const V outer = hn::CopySign(hn::Sub(one, hn::Exp(d, Polynomial(d, capped, kOuter))), x);
  const V result = hn::IfThenElse(hn::Lt(magnitude, one), inner, outer);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// log(1 + exp(x)) without overflow.
template <class D, class V>
HWY_INLINE V Softplus(D d, V x) {
  const V positive = hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
  return hn::Add(positive, hn::Log1p(d, FullExp(d, hn::Neg(hn::Abs(x)))));
}

// The larger (or smaller) of two vectors; NaN of either stays.
template <bool kMax, class V>
HWY_INLINE V Extreme(V best, V x) {
  const auto beats = kMax ? hn::Gt(x, best) : hn::Lt(x, best);
  return hn::IfThenElse(hn::Or(beats, hn::IsNaN(x)), x, best);
}

// The largest (or smallest) of `count` >= 1 values.
template <bool kMax>
HWY_INLINE float ExtremeOfRun(const float* x, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto best = hn::Set(one, x[0]);
  int64_t i = 0;
  if (count >= 4 * lanes) {
    auto b0 = hn::LoadU(d, x), b1 = b0, b2 = b0, b3 = b0;
    for (; i + 4 * lanes <= count; i += 4 * lanes) {
      b0 = Extreme<kMax>(b0, hn::LoadU(d, x + i));
      b1 = Extreme<kMax>(b1, hn::LoadU(d, x + i + lanes));
      b2 = Extreme<kMax>(b2, hn::LoadU(d, x + i + 2 * lanes));
      b3 = Extreme<kMax>(b3, hn::LoadU(d, x + i + 3 * lanes));
    }
    HWY_ALIGN float lane[hn::MaxLanes(d)];
    hn::Store(Extreme<kMax>(Extreme<kMax>(b0, b1), Extreme<kMax>(b2, b3)), d, lane);
    for (int64_t k = 0; k < lanes; ++k) best = Extreme<kMax>(best, hn::Set(one, lane[k]));
  }
  for (; i < count; ++i) best = Extreme<kMax>(best, hn::Set(one, x[i]));
  return hn::GetLane(best);
}

// target[i] = function(d, source[i]); the tail goes through a padded buffer.
template <class F>
HWY_INLINE void MapFloats(const float* source, float* target, size_t count, const F& function) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(function(d, hn::LoadU(d, source + i)), d, target + i);
  }
  if (i == count) return;
  HWY_ALIGN float tail[hn::MaxLanes(d)];
  for (size_t k = 0; k < lanes; ++k) tail[k] = i + k < count ? source[i + k] : 1.0f;
  hn::Store(function(d, hn::Load(d, tail)), d, tail);
  for (size_t k = 0; i + k < count; ++k) target[i + k] = tail[k];
}

template <class F>
HWY_INLINE void MapFloatPairs(const float* a, const float* b, float* target, size_t count,
                              const F& function) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(function(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, target + i);
  }
  if (i == count) return;
  HWY_ALIGN float tail_a[hn::MaxLanes(d)];
  HWY_ALIGN float tail_b[hn::MaxLanes(d)];
  for (size_t k = 0; k < lanes; ++k) {
    tail_a[k] = i + k < count ? a[i + k] : 1.0f;
    tail_b[k] = i + k < count ? b[i + k] : 1.0f;
  }
  hn::Store(function(d, hn::Load(d, tail_a), hn::Load(d, tail_b)), d, tail_a);
  for (size_t k = 0; i + k < count; ++k) target[i + k] = tail_a[k];
}

}  // namespace HWY_NAMESPACE
}  // namespace berth
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
