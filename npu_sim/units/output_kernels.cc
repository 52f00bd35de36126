#include "npu_sim/units/output_kernels.h"

#include "npu_sim/units/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "npu_sim/units/output_kernels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace berth {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <Activation kActivation, class D, class V = hn::Vec<D>>
HWY_INLINE V Activate(D d, V x, V alpha, V beta) {
  if constexpr (kActivation == Activation::kRelu) {
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
  } else if constexpr (kActivation == Activation::kClip) {
    const V raised = hn::IfThenElse(hn::Lt(x, alpha), alpha, x);
    return hn::IfThenElse(hn::Gt(raised, beta), beta, raised);
  } else if constexpr (kActivation == Activation::kLeakyRelu) {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, alpha), x);
  } else {
    return x;
  }
}

// Columns [c, ...) of one row in full vectors, the rest in vectors of half the width, and so on.
template <Activation kActivation, class D>
HWY_INLINE void Row(D d, const FloatOutput& o, int64_t row, int64_t c) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto alpha = hn::Set(d, o.alpha), beta = hn::Set(d, o.beta);
  const float* sums = o.sums + row * o.sums_step;
  float* out = o.out + row * o.out_step;
  for (; c + lanes <= o.columns; c += lanes) {
    auto x = hn::LoadU(d, sums + c);
    if (o.bias != nullptr) x = hn::Add(x, hn::LoadU(d, o.bias + c));
    hn::StoreU(Activate<kActivation>(d, x, alpha, beta), d, out + c);
  }
  if constexpr (hn::MaxLanes(D()) > 1) {
    if (c < o.columns) Row<kActivation>(hn::Half<D>(), o, row, c);
  }
}

template <Activation kActivation>
HWY_NOINLINE void Rows(const FloatOutput& o) {
  for (int64_t row = 0; row < o.rows; ++row) Row<kActivation>(hn::ScalableTag<float>(), o, row, 0);
}

void AllRows(const FloatOutput& o) {
  switch (o.activation) {
    case Activation::kNone:
      return Rows<Activation::kNone>(o);
    case Activation::kRelu:
      return Rows<Activation::kRelu>(o);
    case Activation::kClip:
      return Rows<Activation::kClip>(o);
    case Activation::kLeakyRelu:
      return Rows<Activation::kLeakyRelu>(o);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace berth
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth {
namespace {
HWY_EXPORT(AllRows);
}  // namespace

void BiasAndActivate(const FloatOutput& output) { HWY_DYNAMIC_DISPATCH(AllRows)(output); }

UnaryFunction FunctionOf(Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return UnaryFunction::kRelu;
    case Activation::kClip:
      return UnaryFunction::kClip;
    case Activation::kLeakyRelu:
      return UnaryFunction::kLeakyRelu;
    case Activation::kNone:
      break;
  }
  return UnaryFunction::kIdentity;
}

}  // namespace berth
#endif  // HWY_ONCE
