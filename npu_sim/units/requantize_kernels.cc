#include "npu_sim/units/requantize_kernels.h"

#include <limits>

#include "npu_sim/units/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "npu_sim/units/requantize_kernels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace berth {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls vectors(d, i) for i in steps of d's lanes over [0, count), the rest one by one.
template <typename Lane, class F>
HWY_INLINE void ForVectors(int64_t count, const F& vectors) {
  const hn::ScalableTag<Lane> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) vectors(d, i);
  for (; i < count; ++i) vectors(hn::CappedTag<Lane, 1>(), i);
}

// Clamping first keeps the conversion in range; the bounds are integers, so it commutes with
// rounding.
template <typename T, class D, class V>
HWY_INLINE void StoreRounded(D d, V x, const IntegerTarget& to, int64_t i) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<T, D> narrow;
  const V low = hn::Set(d, to.low), high = hn::Set(d, to.high);
  const V raised = hn::IfThenElse(hn::Gt(x, low), x, low);
  const V bounded = hn::IfThenElse(hn::Lt(raised, high), raised, high);
  const auto integer = hn::Add(hn::NearestInt(bounded), hn::Set(di, to.zero_point));
  hn::StoreU(hn::DemoteTo(narrow, integer), narrow, reinterpret_cast<T*>(to.data) + i);
}

template <bool kHasBias, bool kHasScales, class D>
HWY_INLINE hn::Vec<D> Scaled(D d, const ScaledIntegers& from, int64_t i) {
  const hn::RebindToSigned<D> di;
  auto sum = hn::LoadU(di, from.sums + i);
  if constexpr (kHasBias) sum = hn::Add(sum, hn::LoadU(di, from.bias + i));
  const auto scale = kHasScales ? hn::LoadU(d, from.scales + i) : hn::Set(d, from.scale);
  return hn::Mul(hn::ConvertTo(d, sum), scale);
}

template <class F>
HWY_INLINE void WithOptions(const ScaledIntegers& from, const F& f) {
  if (from.scales != nullptr) {
    if (from.bias != nullptr) return f.template operator()<true, true>();
    return f.template operator()<false, true>();
  }
  if (from.bias != nullptr) return f.template operator()<true, false>();
  return f.template operator()<false, false>();
}

template <typename T>
HWY_NOINLINE void RoundScaledTo(const ScaledIntegers& from, int64_t count,
                                const IntegerTarget& to) {
  WithOptions(from, [&]<bool kHasBias, bool kHasScales>() HWY_ATTR {
    ForVectors<float>(count, [&](auto d, int64_t i) HWY_ATTR {
      StoreRounded<T>(d, Scaled<kHasBias, kHasScales>(d, from, i), to, i);
    });
  });
}

// Through float64, half as many at a time.
template <typename T>
HWY_NOINLINE void RoundWideTo(const ScaledIntegers& from, int64_t count, const IntegerTarget& to) {
  WithOptions(from, [&]<bool kHasBias, bool kHasScales>() HWY_ATTR {
    ForVectors<double>(count, [&](auto d, int64_t i) HWY_ATTR {
      const hn::Rebind<int32_t, decltype(d)> di;
      const hn::Rebind<float, decltype(d)> df;
      const hn::Rebind<T, decltype(d)> narrow;
      auto sum = hn::LoadU(di, from.sums + i);
      if constexpr (kHasBias) sum = hn::Add(sum, hn::LoadU(di, from.bias + i));
      const auto scale = kHasScales ? hn::LoadU(df, from.scales + i) : hn::Set(df, from.scale);
      const auto x = hn::Mul(hn::PromoteTo(d, sum), hn::PromoteTo(d, scale));
      const auto low = hn::Set(d, double{to.low}), high = hn::Set(d, double{to.high});
      const auto raised = hn::IfThenElse(hn::Gt(x, low), x, low);
      const auto bounded = hn::IfThenElse(hn::Lt(raised, high), raised, high);
      const auto integer =
          hn::Add(hn::DemoteTo(di, hn::Round(bounded)), hn::Set(di, to.zero_point));
      hn::StoreU(hn::DemoteTo(narrow, integer), narrow, reinterpret_cast<T*>(to.data) + i);
    });
  });
}

template <typename T>
HWY_NOINLINE void RoundFloatsTo(const float* values, int64_t count, const IntegerTarget& to) {
  ForVectors<float>(count, [&](auto d, int64_t i)
                               HWY_ATTR { StoreRounded<T>(d, hn::LoadU(d, values + i), to, i); });
}

void RoundScaledAny(const ScaledIntegers& from, int64_t count, const IntegerTarget& to) {
  switch (to.dtype) {
    case DType::kInt8:
      return RoundScaledTo<int8_t>(from, count, to);
    case DType::kUInt8:
      return RoundScaledTo<uint8_t>(from, count, to);
    case DType::kInt16:
      return RoundWideTo<int16_t>(from, count, to);
    default:
      return RoundWideTo<uint16_t>(from, count, to);
  }
}

void RoundFloatsAny(const float* values, int64_t count, const IntegerTarget& to) {
  switch (to.dtype) {
    case DType::kInt8:
      return RoundFloatsTo<int8_t>(values, count, to);
    case DType::kUInt8:
      return RoundFloatsTo<uint8_t>(values, count, to);
    case DType::kInt16:
      return RoundFloatsTo<int16_t>(values, count, to);
    default:
      return RoundFloatsTo<uint16_t>(values, count, to);
  }
}

void Scale(const ScaledIntegers& from, int64_t count, float* target) {
  WithOptions(from, [&]<bool kHasBias, bool kHasScales>() HWY_ATTR {
    ForVectors<float>(count, [&](auto d, int64_t i) HWY_ATTR {
      hn::StoreU(Scaled<kHasBias, kHasScales>(d, from, i), d, target + i);
    });
  });
}

void Divide(const float* values, const float* scales, float scale, int64_t count, float* target) {
  ForVectors<float>(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto divisor = scales != nullptr ? hn::LoadU(d, scales + i) : hn::Set(d, scale);
    hn::StoreU(hn::Div(hn::LoadU(d, values + i), divisor), d, target + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace berth
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth {
namespace {
HWY_EXPORT(RoundScaledAny);
HWY_EXPORT(RoundFloatsAny);
HWY_EXPORT(Scale);
HWY_EXPORT(Divide);

template <typename T>
IntegerTarget RangeOf(DType dtype, int32_t zero_point, std::byte* data) {
  const auto bound = [&](int64_t stored) { return static_cast<float>(stored - zero_point); };
  return {dtype, bound(std::numeric_limits<T>::min()), bound(std::numeric_limits<T>::max()),
          zero_point, data};
}

}  // namespace

bool IsNarrowInteger(DType dtype) { return IsInteger(dtype) && DTypeBytes(dtype) <= 2; }

IntegerTarget FullRange(DType dtype, int32_t zero_point, std::byte* data) {
  switch (dtype) {
    case DType::kInt8:
      return RangeOf<int8_t>(dtype, zero_point, data);
    case DType::kUInt8:
      return RangeOf<uint8_t>(dtype, zero_point, data);
    case DType::kInt16:
      return RangeOf<int16_t>(dtype, zero_point, data);
    default:
      return RangeOf<uint16_t>(dtype, zero_point, data);
  }
}

void RoundFloats(const float* values, int64_t count, const IntegerTarget& to) {
  HWY_DYNAMIC_DISPATCH(RoundFloatsAny)(values, count, to);
}
void RoundScaled(const ScaledIntegers& from, int64_t count, const IntegerTarget& to) {
  HWY_DYNAMIC_DISPATCH(RoundScaledAny)(from, count, to);
}
void ScaleIntegers(const ScaledIntegers& from, int64_t count, float* target) {
  HWY_DYNAMIC_DISPATCH(Scale)(from, count, target);
}
void DivideByScales(const float* values, const float* scales, float scale, int64_t count,
                    float* target) {
  HWY_DYNAMIC_DISPATCH(Divide)(values, scales, scale, count, target);
}

}  // namespace berth
#endif  // HWY_ONCE
