// kReduce's kArgMax and kArgMin: the position along e3, as int64. The first NaN wins, as in NumPy.
#include <algorithm>
#include <type_traits>

#include "npu_sim/units/convert.h"
#include "npu_sim/units/reduce_kernels.h"
#include "npu_sim/units/reduction_loops.h"
#include "npu_sim/units/unit_ops.h"

namespace berth {

absl::Status ExecuteArgReduce(const UnitCall& call);

namespace {

void LoadValues(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
                double* target) {
  LoadDoubles(dtype, source, stride_bytes, count, target);
}
void LoadValues(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
                int64_t* target) {
  LoadInt64s(dtype, source, stride_bytes, count, target);
}

void LoadValues(DType dtype, const std::byte* source, int64_t stride_bytes, int64_t count,
                float* target) {
  LoadFloats(dtype, source, stride_bytes, count, target);
}

template <typename Value>
class ArgReducer {
 public:
  using Sum = std::conditional_t<std::is_same_v<Value, int64_t>, int64_t, double>;

  ArgReducer(const Command& command, const ReductionLoops& loops)
      : c_(command),
        loops_(loops),
        is_max_(command.params.vector.function == static_cast<uint8_t>(ReduceFunction::kArgMax)),
        last_(command.flags & kFlagLastIndex) {}

  void Run() {
    const LoopNest& kept = loops_.kept;
    const int64_t out_stride = kept.stride_bytes[0][3], in_stride = kept.stride_bytes[1][3];
    ForOuterThree(kept, [&](std::byte* const* p) {
      for (int64_t i = 0; i < kept.extent[3]; i += kChunkElements) {
        const int64_t count = std::min(kChunkElements, kept.extent[3] - i);
        const std::byte* in = p[1] + i * in_stride;
        if (loops_.KeptIsInner()) {
          SearchRows(in, count);
        } else {
          for (int64_t k = 0; k < count; ++k) positions_[k] = SearchLine(in + k * in_stride);
        }
        StoreInt64s(c_.out.dtype, positions_, count, p[0] + i * out_stride, out_stride);
      }
    });
  }

 private:
  bool Beats(Value challenger, Value best) const {
    if (best != best) return false;
    if (challenger != challenger) return true;
    if (challenger == best) return last_;
    return is_max_ ? challenger > best : challenger < best;
  }

  void SearchRows(const std::byte* in, int64_t count) {
    const int64_t in_stride = loops_.kept.stride_bytes[1][3];
    const int64_t row_stride = loops_.reduced.stride_bytes[0][3];
    for (int64_t row = 0; row < loops_.reduced.extent[3]; ++row) {
      LoadValues(c_.in0.dtype, in + row * row_stride, in_stride, count, row == 0 ? best_ : values_);
      for (int64_t k = 0; k < count; ++k) {
        if (row > 0 && !Beats(values_[k], best_[k])) continue;
        if (row > 0) best_[k] = values_[k];
        positions_[k] = row;
      }
    }
  }

  // The extreme of each chunk at vector speed; only a chunk that wins is searched for its place.
  int64_t SearchLine(const std::byte* in) {
    const int64_t stride = loops_.reduced.stride_bytes[0][3], extent = loops_.reduced.extent[3];
    const auto function = is_max_ ? ReduceFunction::kMax : ReduceFunction::kMin;
    int64_t position = 0;
    Value best{};
    for (int64_t i = 0; i < extent; i += kChunkElements) {
      const int64_t count = std::min(kChunkElements, extent - i);
      LoadValues(c_.in0.dtype, in + i * stride, stride, count, values_);
      const auto extreme = static_cast<Value>(
          ReduceRun(function, values_, count, ReductionIdentity(function, Sum{})));
      if (i > 0 && !Beats(extreme, best)) continue;
      best = extreme;
      position = i + Find(extreme, count);
    }
    return position;
  }

  // The first NaN if `value` is NaN; else its first or last place.
  int64_t Find(Value value, int64_t count) const {
    if (value != value) {
      return std::find_if(values_, values_ + count, [](Value x) { return x != x; }) - values_;
    }
    if (!last_) return std::find(values_, values_ + count, value) - values_;
    int64_t k = count - 1;
    while (values_[k] != value) --k;
    return k;
  }

  const Command& c_;
  const ReductionLoops& loops_;
  const bool is_max_, last_;
  int64_t positions_[kChunkElements];
  Value best_[kChunkElements], values_[kChunkElements];
};

}  // namespace

absl::Status ExecuteArgReduce(const UnitCall& call) {
  const Command& c = call.command;
  if (!IsInteger(c.out.dtype)) return UnsupportedDType(c, c.out.dtype);
  if (c.in0.dtype == DType::kUInt64) return UnsupportedDType(c, c.in0.dtype);
  const ReductionLoops loops = SplitReduction(c, call.memory, 3);
  if (IsFloat(c.in0.dtype) && c.in0.dtype != DType::kFloat64) {
    ArgReducer<float>(c, loops).Run();
  } else if (c.in0.dtype == DType::kFloat64) {
    ArgReducer<double>(c, loops).Run();
  } else {
    ArgReducer<int64_t>(c, loops).Run();
  }
  return absl::OkStatus();
}

}  // namespace berth
