// The matrix unit's output stage: accumulators + bias -> activation -> conversion -> out.
//
// Float accumulators: x = sum + bias; x = activation(x); float out: x rounded to its dtype; integer
// out: saturate(round_half_even(x * out_scale) + out_zero_point).
// Integer accumulators (bias is an integer of the same scale, added modulo 2^32):
//   int32 or int64 out: activation(sum + bias) in integers; scale and zero point do not apply;
//   narrower out: x = float(sum + bias) * out_scale; x = activation(x), whose parameters count in
//   steps of out; saturate(round_half_even(x) + out_zero_point);
//   float out: activation(float(sum + bias) * out_scale).
#pragma once

#include <cstddef>
#include <cstdint>

#include "npu_sim/units.h"
#include "npu_sim/units/parts.h"
#include "npu_sim/units/requantize_kernels.h"

namespace berth {

class OutputStage {
 public:
  OutputStage(const Command& command, const MemoryMap& memory);

  // Nothing without kFlagWriteOut. Index `i0` of loop 0, `rows` of loop 1, `columns` of loop 2.
  void Write(int64_t i0, Range rows, Range columns) const;

 private:
  // `count` sums whose results are `stride_bytes` apart; `bias` is float or int32 as the sums.
  void WriteChunk(const std::byte* sums, const std::byte* bias, int64_t count, std::byte* out,
                  int64_t stride_bytes) const;
  void WriteFloats(const float* sums, const float* bias, int64_t count, std::byte* out,
                   int64_t stride_bytes) const;
  void WriteInts(const int32_t* sums, const int32_t* bias, int64_t count, std::byte* out,
                 int64_t stride_bytes) const;
  void WriteWideInts(const int32_t* sums, const int32_t* bias, int64_t count, std::byte* out,
                     int64_t stride_bytes) const;
  IntegerTarget NarrowTarget(std::byte* out) const;
  void WriteMerged(const std::byte* sums, std::byte* out, Range rows) const;
  bool WriteDirect(const std::byte* sums, std::byte* out, Range rows, Range columns) const;
  // Bias of `columns` as dense float or int32.
  void LoadBias(Range columns, std::byte* target) const;

  const Command& c_;
  const std::byte* sums_;
  const std::byte* bias_;
  std::byte* out_;
  int64_t out_bytes_;
  bool is_float_;
};

}  // namespace berth
