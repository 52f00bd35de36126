// kReduce: sums and products in double or int64, extrema, and positions of extrema.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "npu_sim/units/convert.h"
#include "npu_sim/units/reduce_kernels.h"
#include "npu_sim/units/reduction_loops.h"
#include "npu_sim/units/unit_ops.h"

namespace berth {

absl::Status ExecuteArgReduce(const UnitCall& call);  // arg_reduce.cc

namespace {

// Loads of the three types in which values are reduced.
void LoadValues(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
                float* target) {
  LoadFloats(dtype, source, stride_bytes, count, target);
}
void LoadValues(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
                double* target) {
  LoadDoubles(dtype, source, stride_bytes, count, target);
}
void LoadValues(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
                int64_t* target) {
  LoadInt64s(dtype, source, stride_bytes, count, target);
}

void StoreResults(DType dtype, const double* results, int64_t count, std::byte* target,
                  int64_t stride_bytes) {
  alignas(8) std::byte dense[kChunkElements * 8];
  FromDouble(dtype, results, count, dense);
  ScatterElements(dense, DTypeBytes(dtype), count, target, stride_bytes);
}
void StoreResults(DType dtype, const int64_t* results, int64_t count, std::byte* target,
                  int64_t stride_bytes) {
  StoreInt64s(dtype, results, count, target, stride_bytes);
}

template <typename Value>
class Reducer {
 public:
  using Sum = std::conditional_t<std::is_same_v<Value, int64_t>, int64_t, double>;

  Reducer(const Command& command, const ReductionLoops& loops)
      : c_(command),
        loops_(loops),
        function_(static_cast<ReduceFunction>(command.params.vector.function)) {}

  void Run() {
    const LoopNest& kept = loops_.kept;
    const int64_t out_stride = kept.stride_bytes[0][3], in_stride = kept.stride_bytes[1][3];
    ForOuterThree(kept, [&](std::byte* const* p) {
      for (int64_t i = 0; i < kept.extent[3]; i += kChunkElements) {
        const int64_t count = std::min(kChunkElements, kept.extent[3] - i);
        ReduceBlock(p[0] + i * out_stride, p[1] + i * in_stride, count);
      }
    });
  }

 private:
  // `count` neighbouring results.
  void ReduceBlock(std::byte* out, std::byte* in, int64_t count) {
    const int64_t out_stride = loops_.kept.stride_bytes[0][3];
    const int64_t in_stride = loops_.kept.stride_bytes[1][3];
    if (c_.flags & kFlagAccumulate) {
      LoadValues(c_.out.dtype, out, out_stride, count, sums_);
    } else {
      std::fill_n(sums_, count, ReductionIdentity(function_, Sum{}));
    }
    LoopNest reduced = loops_.reduced;
    if (loops_.KeptIsInner()) {
      reduced.base[0] = in;
      ForOuterThree(reduced, [&](std::byte* const* p) { ReduceRows(reduced, p[0], count); });
    } else {
      for (int64_t i = 0; i < count; ++i) {
        reduced.base[0] = in + i * in_stride;
        ForOuterThree(reduced, [&](std::byte* const* p) { ReduceLine(reduced, p[0], sums_[i]); });
      }
    }
    if (c_.flags & kFlagFinish) Finish(count);
    StoreResults(c_.out.dtype, sums_, count, out, out_stride);
  }

  void ReduceRows(const LoopNest& reduced, const std::byte* in, int64_t count) {
    for (int64_t row = 0; row < reduced.extent[3]; ++row) {
      const Value* values =
          Dense(in + row * reduced.stride_bytes[0][3], loops_.kept.stride_bytes[1][3], count);
      ReduceElements(function_, values, count, sums_);
    }
  }

  void ReduceLine(const LoopNest& reduced, const std::byte* in, Sum& sum) {
    const int64_t stride = reduced.stride_bytes[0][3];
    const bool in_place = IsDense(stride);
    const int64_t step = in_place ? reduced.extent[3] : kChunkElements;
    for (int64_t i = 0; i < reduced.extent[3]; i += step) {
      const int64_t count = std::min(step, reduced.extent[3] - i);
      sum = ReduceRun(function_, Dense(in + i * stride, stride, count), count, sum);
    }
  }

  bool IsDense(int64_t stride_bytes) const {
    const DType own = std::is_same_v<Value, float>    ? DType::kFloat32
                      : std::is_same_v<Value, double> ? DType::kFloat64
                                                      : DType::kInt64;
    return c_.in0.dtype == own && stride_bytes == static_cast<int64_t>(sizeof(Value));
  }
  const Value* Dense(const std::byte* in, int64_t stride_bytes, int64_t count) {
    if (IsDense(stride_bytes)) return reinterpret_cast<const Value*>(in);
    LoadValues(c_.in0.dtype, in, stride_bytes, count, values_);
    return values_;
  }

  // Integer means truncate; alpha is the reciprocal of an integer there.
  void Finish(int64_t count) {
    const float alpha = c_.params.vector.alpha;
    if constexpr (std::is_same_v<Sum, int64_t>) {
      const int64_t divisor = alpha != 0 ? std::llround(1.0 / alpha) : 0;
      for (int64_t i = 0; i < count; ++i) {
        sums_[i] = divisor != 0 ? sums_[i] / divisor
                                : static_cast<int64_t>(static_cast<double>(sums_[i]) * alpha);
      }
    } else {
      for (int64_t i = 0; i < count; ++i) sums_[i] *= alpha;
    }
  }

  const Command& c_;
  const ReductionLoops& loops_;
  const ReduceFunction function_;
  Sum sums_[kChunkElements];
  Value values_[kChunkElements];
};

}  // namespace

absl::Status ExecuteReduce(const UnitCall& call) {
  const Command& c = call.command;
  const auto function = static_cast<ReduceFunction>(c.params.vector.function);
  if (function == ReduceFunction::kArgMax || function == ReduceFunction::kArgMin) {
    return ExecuteArgReduce(call);
  }
  const bool extremum = function == ReduceFunction::kMax || function == ReduceFunction::kMin;
  if (IsFloat(c.in0.dtype) != IsFloat(c.out.dtype)) return UnsupportedDType(c, c.out.dtype);
  if (extremum && c.in0.dtype == DType::kUInt64) return UnsupportedDType(c, c.in0.dtype);
  const ReductionLoops loops = SplitReduction(c, call.memory, -1);
  if (!IsFloat(c.in0.dtype)) {
    Reducer<int64_t>(c, loops).Run();
  } else if (c.in0.dtype == DType::kFloat64) {
    Reducer<double>(c, loops).Run();
  } else {
    Reducer<float>(c, loops).Run();
  }
  return absl::OkStatus();
}

}  // namespace berth
