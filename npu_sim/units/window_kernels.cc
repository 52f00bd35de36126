#include "npu_sim/units/window_kernels.h"

#include <limits>
#include <type_traits>

#include "npu_sim/units/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "npu_sim/units/window_kernels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace berth {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Each operation names the type of a lane while taps are summed (Lane), of a weight and of a
// result, and says how a sum starts, how a tap changes it and how it is stored.
template <typename T, class D>
HWY_INLINE void StoreSum(D d, hn::Vec<D> sum, bool accumulate, T* out) {
  if (accumulate) sum = hn::Add(sum, hn::LoadU(d, out));
  hn::StoreU(sum, d, out);
}

template <typename In>
struct MultiplyAdd {
  using Lane = std::conditional_t<std::is_same_v<In, float>, float, int32_t>;
  using Weight = Lane;
  using Result = Lane;
  static constexpr bool kHasWeights = true;
  template <class D>
  static HWY_INLINE hn::Vec<D> Start(D d, const WindowJob&, int64_t) {
    return hn::Zero(d);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const In* p, HWY_MAYBE_UNUSED int32_t zero_point) {
    if constexpr (std::is_same_v<In, float>) {
      return hn::LoadU(d, p);
    } else if constexpr (std::is_same_v<In, int32_t>) {
      return hn::Sub(hn::LoadU(d, p), hn::Set(d, zero_point));
    } else {
      const hn::Rebind<In, D> narrow;
      return hn::Sub(hn::PromoteTo(d, hn::LoadU(narrow, p)), hn::Set(d, zero_point));
    }
  }
  template <class V>
  static HWY_INLINE V Add(V sum, V value, V weight) {
    if constexpr (std::is_same_v<In, float>) {
      return hn::MulAdd(value, weight, sum);
    } else {
      return hn::Add(sum, hn::Mul(value, weight));
    }
  }
  template <class D>
  static HWY_INLINE void Store(D d, hn::Vec<D> sum, bool accumulate, Result* out) {
    StoreSum(d, sum, accumulate, out);
  }
};

// Bytes as floats: exact, because neither the sum of products (at most 128 * 255 * 255) nor that
// sum less the zero point's share leaves 24 bits.
template <typename In>
struct MultiplyAddBytes {
  using Lane = float;
  using Weight = float;
  using Result = int32_t;
  static constexpr bool kHasWeights = true;
  // sum of (x - zero) w = sum of x w - zero * sum of w
  template <class D>
  static HWY_INLINE hn::Vec<D> Start(D d, const WindowJob& job, int64_t c) {
    hn::Vec<D> sum = hn::Zero(d);
    if (job.input_zero_point == 0) return sum;
    const auto* weights = reinterpret_cast<const float*>(job.weights) + c;
    for (int64_t t = 0; t < job.taps.count; ++t) {
      sum = hn::Add(sum, hn::LoadU(d, weights + job.taps.weight_index[t] * job.channels));
    }
    return hn::Mul(sum, hn::Set(d, static_cast<float>(-job.input_zero_point)));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(HWY_MAYBE_UNUSED D d, const In* p, int32_t) {
    const hn::RebindToSigned<D> di;
    const hn::Rebind<In, D> narrow;
    return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(narrow, p)));
  }
  template <class V>
  static HWY_INLINE V Add(V sum, V value, V weight) {
    return hn::MulAdd(value, weight, sum);
  }
  template <class D>
  static HWY_INLINE void Store(D, hn::Vec<D> sum, bool accumulate, Result* out) {
    const hn::RebindToSigned<D> di;
    StoreSum(di, hn::ConvertTo(di, sum), accumulate, out);
  }
};

template <typename In>
struct Max {
  using Lane = In;
  using Weight = In;
  using Result = In;
  static constexpr bool kHasWeights = false;
  template <class D>
  static HWY_INLINE hn::Vec<D> Start(D d, const WindowJob&, int64_t) {
    using Limits = std::numeric_limits<In>;
    return hn::Set(d, Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(HWY_MAYBE_UNUSED D d, const In* p, int32_t) {
    return hn::LoadU(d, p);
  }
  template <class V>
  static HWY_INLINE V Add(V sum, V value, V) {
    if constexpr (std::is_same_v<In, float>) {  // NaN stays
      return hn::IfThenElse(hn::Or(hn::Gt(value, sum), hn::IsNaN(value)), value, sum);
    } else {
      return hn::Max(sum, value);
    }
  }
  template <class D>
  static HWY_INLINE void Store(D d, hn::Vec<D> sum, bool, Result* out) {
    hn::StoreU(sum, d, out);
  }
};

template <typename In>
struct AddTaps : MultiplyAdd<In> {
  static constexpr bool kHasWeights = false;
  template <class V>
  static HWY_INLINE V Add(V sum, V value, V) {
    return hn::Add(sum, value);
  }
};

// kVectors vectors of channels from c on, of kPixels neighbouring pixels: that many sums in
// registers hide the latency of an addition.
template <template <typename> class Op, typename In, int kPixels, int kVectors, class D>
HWY_INLINE void Block(D d, const WindowJob& job, int64_t pixel, int64_t c) {
  using O = Op<In>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const std::byte* input =
      job.input + pixel * job.input_step_bytes + c * static_cast<int64_t>(sizeof(In));
  hn::Vec<D> sum[kPixels][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    sum[0][v] = O::Start(d, job, c + v * lanes);
    for (int i = 1; i < kPixels; ++i) sum[i][v] = sum[0][v];
  }
  for (int64_t t = 0; t < job.taps.count; ++t) {
    const std::byte* tap = input + job.taps.input_offset_bytes[t];
    for (int v = 0; v < kVectors; ++v) {
      hn::Vec<D> weight = hn::Zero(d);
      if constexpr (O::kHasWeights) {
        const auto* weights = reinterpret_cast<const typename O::Weight*>(job.weights);
        weight = hn::LoadU(d, weights + job.taps.weight_index[t] * job.channels + c + v * lanes);
      }
      for (int i = 0; i < kPixels; ++i) {
        const auto* p = reinterpret_cast<const In*>(tap + i * job.input_step_bytes) + v * lanes;
        sum[i][v] = O::Add(sum[i][v], O::Load(d, p, job.input_zero_point), weight);
      }
    }
  }
  for (int i = 0; i < kPixels; ++i) {
    std::byte* out = job.output + (pixel + i) * job.output_step_bytes;
    auto* results = reinterpret_cast<typename O::Result*>(out) + c;
    for (int v = 0; v < kVectors; ++v) {
      O::Store(d, sum[i][v], job.accumulate, results + v * lanes);
    }
  }
}

// Full vectors of channels, then the rest in vectors of half the width, and so on.
template <template <typename> class Op, typename In, int kPixels, int kVectors, class D>
HWY_INLINE void Channels(D d, const WindowJob& job, int64_t pixel, int64_t c) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if constexpr (kVectors > 1) {
    for (; c + kVectors * lanes <= job.channels; c += kVectors * lanes) {
      Block<Op, In, kPixels, kVectors>(d, job, pixel, c);
    }
  }
  for (; c + lanes <= job.channels; c += lanes) Block<Op, In, kPixels, 1>(d, job, pixel, c);
  if constexpr (hn::MaxLanes(D()) > 1) {
    if (c < job.channels) Channels<Op, In, kPixels, 1>(hn::Half<D>(), job, pixel, c);
  }
}

// Pixels in groups of kPixels while they last.
template <template <typename> class Op, typename In, int kPixels, int kVectors>
HWY_NOINLINE void Groups(const WindowJob& job, int64_t& pixel) {
  const hn::ScalableTag<typename Op<In>::Lane> d;
  for (; pixel + kPixels <= job.pixels; pixel += kPixels) {
    Channels<Op, In, kPixels, kVectors>(d, job, pixel, 0);
  }
}

template <template <typename> class Op, typename In>
HWY_NOINLINE void Run(const WindowJob& job) {
  int64_t pixel = 0;
  if (HWY_TARGET == HWY_AVX3) Groups<Op, In, 8, 1>(job, pixel);  // has 32 registers
  Groups<Op, In, 4, 1>(job, pixel);
  Groups<Op, In, 1, 4>(job, pixel);
}

template <template <typename> class Op>
HWY_INLINE void RunNarrow(DType dtype, const WindowJob& job) {
  if (dtype == DType::kFloat32) return Run<Op, float>(job);
  if (dtype == DType::kInt8) return Run<Op, int8_t>(job);
  return Run<Op, uint8_t>(job);
}

void RunAll(WindowOp op, const WindowJob& job) {
  const DType dtype = job.input_dtype;
  switch (op) {
    case WindowOp::kMultiplyAdd:
      if (dtype == DType::kInt32) return Run<MultiplyAdd, int32_t>(job);
      return RunNarrow<MultiplyAdd>(dtype, job);
    case WindowOp::kMultiplyAddBytes:
      if (dtype == DType::kInt8) return Run<MultiplyAddBytes, int8_t>(job);
      return Run<MultiplyAddBytes, uint8_t>(job);
    case WindowOp::kMax:
      return RunNarrow<Max>(dtype, job);
    case WindowOp::kSum:
      if (dtype == DType::kInt32) return Run<AddTaps, int32_t>(job);
      return RunNarrow<AddTaps>(dtype, job);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace berth
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth {
HWY_EXPORT(RunAll);

void RunWindow(WindowOp op, const WindowJob& job) { HWY_DYNAMIC_DISPATCH(RunAll)(op, job); }

}  // namespace berth
#endif  // HWY_ONCE
