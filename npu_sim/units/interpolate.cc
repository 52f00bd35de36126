// kInterpolate: a weighted gather along one axis. Indices must lie in [0, window.input_height), the
// number of samples along the axis (the same field that npu_sim/access.h reads).
//
// Positions are the outer loop: indices and weights are read once per position and then applied to
// all of `outer` and `inner`, whichever of them is contiguous.
#include <algorithm>
#include <cstring>

#include "npu_sim/units/convert.h"
#include "npu_sim/units/interpolate_float.h"
#include "npu_sim/units/strided_copy.h"
#include "npu_sim/units/unit_ops.h"

namespace berth {
namespace {

constexpr int64_t kMaxTaps = 64;  // applied at once; more are summed in groups

struct Taps {
  int64_t count = 0;
  int64_t index[kMaxTaps];
  float weight[kMaxTaps];
};

absl::Status ReadTaps(const UnitCall& call, int64_t position, int64_t first, Taps& taps) {
  const Command& c = call.command;
  const int64_t limit = c.params.vector.window.input_height;
  taps.count = std::min<int64_t>(kMaxTaps, c.extent[3] - first);
  const std::byte* indices = Resolve(c.in1, call.memory) + position * c.in1.stride_bytes[1];
  const std::byte* weights = Resolve(c.in2, call.memory);
  for (int64_t t = 0; t < taps.count; ++t) {
    int32_t index;
    std::memcpy(&index, indices + (first + t) * c.in1.stride_bytes[3], sizeof(index));
    if (index < 0 || index >= limit) {
      return InvalidArgument("{}: index {} is outside [0, {})", OpcodeName(c.opcode), index, limit);
    }
    taps.index[t] = index;
    taps.weight[t] = 1;
    if (weights == nullptr) continue;
    std::memcpy(&taps.weight[t],
                weights + position * c.in2.stride_bytes[1] + (first + t) * c.in2.stride_bytes[3],
                sizeof(float));
  }
  return absl::OkStatus();
}

// A loop nest over {outer, inner} with operand 0 = out and one operand for each tap of a group.
constexpr int kTapsPerWalk = LoopNest::kMaxOperands - 2;

void SumTaps(const Command& c, const Taps& taps, std::byte* out, const std::byte* in, int64_t count,
             int64_t out_stride, int64_t in_stride, bool accumulate) {
  float buffers[kTapsPerWalk][kChunkElements], sum[kChunkElements];
  for (int64_t i = 0; i < count; i += kChunkElements) {
    const int64_t n = std::min(kChunkElements, count - i);
    std::byte* target = out + i * out_stride;
    bool have_sum = accumulate;
    if (have_sum) LoadFloats(c.out.dtype, target, out_stride, n, sum);
    for (int64_t t = 0; t < taps.count; t += kTapsPerWalk) {
      const float* pointers[kTapsPerWalk + 1];
      float weights[kTapsPerWalk + 1];
      int64_t used = 0;
      if (have_sum) pointers[used] = sum, weights[used++] = 1;
      for (int64_t k = 0; k < kTapsPerWalk && t + k < taps.count; ++k) {
        const std::byte* source = in + taps.index[t + k] * c.in0.stride_bytes[1] + i * in_stride;
        if (c.in0.dtype == DType::kFloat32 && in_stride == 4) {
          pointers[used] = reinterpret_cast<const float*>(source);
        } else {
          LoadFloats(c.in0.dtype, source, in_stride, n, buffers[k]);
          pointers[used] = buffers[k];
        }
        weights[used++] = taps.weight[t + k];
      }
      WeightedSum(pointers, weights, used, n, sum);
      have_sum = true;
    }
    alignas(8) std::byte dense[kChunkElements * 8];
    FromFloat(c.out.dtype, sum, n, dense);
    ScatterElements(dense, DTypeBytes(c.out.dtype), n, target, out_stride);
  }
}

// Without weights: the element itself, any dtype.
void CopyPosition(const UnitCall& call, int64_t position, int64_t index) {
  const Command& c = call.command;
  LoopNest nest = NestOf(c, call.memory, {&c.out, &c.in0});
  nest.base[0] += position * c.out.stride_bytes[1];
  nest.base[1] += index * c.in0.stride_bytes[1];
  nest.extent[1] = nest.extent[3] = 1;
  CopyStrided(nest);
}

void SumPosition(const UnitCall& call, int64_t position, const Taps& taps, bool accumulate) {
  const Command& c = call.command;
  LoopNest nest = NestOf(c, call.memory, {&c.out, &c.in0});
  nest.base[0] += position * c.out.stride_bytes[1];
  nest.extent[1] = nest.extent[3] = 1;
  Normalize(nest);
  for (int64_t i = 0; i < nest.extent[2]; ++i) {  // at most two loops are left
    SumTaps(c, taps, nest.base[0] + i * nest.stride_bytes[0][2],
            nest.base[1] + i * nest.stride_bytes[1][2], nest.extent[3], nest.stride_bytes[0][3],
            nest.stride_bytes[1][3], accumulate);
  }
}

}  // namespace

absl::Status ExecuteInterpolate(const UnitCall& call) {
  const Command& c = call.command;
  const bool copy = !c.in2.present();
  const bool is_float = c.in0.dtype == DType::kFloat32 || c.in0.dtype == DType::kFloat16 ||
                        c.in0.dtype == DType::kBFloat16;
  if (c.in1.dtype != DType::kInt32) return UnsupportedDType(c, c.in1.dtype);
  if (!copy && !is_float) return UnsupportedDType(c, c.in0.dtype);
  if (!copy && c.in2.dtype != DType::kFloat32) return UnsupportedDType(c, c.in2.dtype);
  Taps taps;
  for (int64_t position = 0; position < c.extent[1]; ++position) {
    for (int64_t first = 0; first < c.extent[3]; first += kMaxTaps) {
      BERTH_RETURN_IF_ERROR(ReadTaps(call, position, first, taps));
      if (copy) {
        CopyPosition(call, position, taps.index[0]);
      } else {
        SumPosition(call, position, taps, first > 0);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace berth
