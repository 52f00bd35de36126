#include "npu_sim/units/requantize_kernels.h"

#include "npu_sim/units/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "npu_sim/units/requantize_kernels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace berth {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Clamping first keeps the conversion in range; the bounds are integers, so it commutes with
// rounding.
template <class D>
HWY_INLINE void RoundVectors(D d, const float* values, int64_t& i, int64_t count,
                             const IntegerTarget& to, int32_t* target) {
  const hn::RebindToSigned<D> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto low = hn::Set(d, static_cast<float>(to.low - to.zero_point));
  const auto high = hn::Set(d, static_cast<float>(to.high - to.zero_point));
  const auto zero_point = hn::Set(di, to.zero_point);
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, values + i);
    const auto raised = hn::IfThenElse(hn::Gt(v, low), v, low);
    const auto bounded = hn::IfThenElse(hn::Lt(raised, high), raised, high);
    hn::StoreU(hn::Add(hn::NearestInt(bounded), zero_point), di, target + i);
  }
}

void Round(const float* values, int64_t count, const IntegerTarget& to, int32_t* target) {
  int64_t i = 0;
  RoundVectors(hn::ScalableTag<float>(), values, i, count, to, target);
  RoundVectors(hn::CappedTag<float, 1>(), values, i, count, to, target);
}

void Scale(const int32_t* values, const float* scales, int64_t count, float* target) {
  for (int64_t i = 0; i < count; ++i) target[i] = static_cast<float>(values[i]) * scales[i];
}

void ScaleByOne(const int32_t* values, float scale, int64_t count, float* target) {
  for (int64_t i = 0; i < count; ++i) target[i] = static_cast<float>(values[i]) * scale;
}

void Divide(const float* values, const float* scales, int64_t count, float* target) {
  for (int64_t i = 0; i < count; ++i) target[i] = values[i] / scales[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace berth
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth {
namespace {
HWY_EXPORT(Round);
HWY_EXPORT(Scale);
HWY_EXPORT(ScaleByOne);
HWY_EXPORT(Divide);
}  // namespace

void RoundToIntegers(const float* values, int64_t count, const IntegerTarget& to, int32_t* target) {
  HWY_DYNAMIC_DISPATCH(Round)(values, count, to, target);
}
void ScaleIntegers(const int32_t* values, const float* scales, int64_t count, float* target) {
  HWY_DYNAMIC_DISPATCH(Scale)(values, scales, count, target);
}
void ScaleIntegersByOne(const int32_t* values, float scale, int64_t count, float* target) {
  HWY_DYNAMIC_DISPATCH(ScaleByOne)(values, scale, count, target);
}
void DivideByScales(const float* values, const float* scales, int64_t count, float* target) {
  HWY_DYNAMIC_DISPATCH(Divide)(values, scales, count, target);
}

}  // namespace berth
#endif  // HWY_ONCE
