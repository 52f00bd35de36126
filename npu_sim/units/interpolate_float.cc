#include "npu_sim/units/interpolate_float.h"

#include "npu_sim/units/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "npu_sim/units/interpolate_float.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace berth {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void Sum(const float* const* taps, const float* weights, int64_t tap_count, int64_t count,
         float* target) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto sum = hn::Mul(hn::LoadU(d, taps[0] + i), hn::Set(d, weights[0]));
    for (int64_t t = 1; t < tap_count; ++t) {
      sum = hn::MulAdd(hn::LoadU(d, taps[t] + i), hn::Set(d, weights[t]), sum);
    }
    hn::StoreU(sum, d, target + i);
  }
  for (; i < count; ++i) {
    float sum = taps[0][i] * weights[0];
    for (int64_t t = 1; t < tap_count; ++t) sum += taps[t][i] * weights[t];
    target[i] = sum;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace berth
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth {
HWY_EXPORT(Sum);

void WeightedSum(const float* const* taps, const float* weights, int64_t tap_count, int64_t count,
                 float* target) {
  HWY_DYNAMIC_DISPATCH(Sum)(taps, weights, tap_count, count, target);
}

}  // namespace berth
#endif  // HWY_ONCE
