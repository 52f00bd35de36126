// The matrix unit's output stage: accumulators + bias -> activation -> conversion -> out.
//
// Float accumulators: x = sum + bias; x = activation(x); float out: x rounded to its dtype; integer
// out: saturate(round_half_even(x * out_scale) + out_zero_point).
// Integer accumulators (bias is an integer of the same scale, added modulo 2^32):
//   a bias of int64 pairs holds a factor for each column in place of out_scale;
//   int32 or int64 out: activation(sum + bias) in integers; scale and zero point do not apply;
//   narrower out: x = float(sum + bias) * out_scale; x = activation(x), whose parameters count in
//   steps of out; saturate(round_half_even(x) + out_zero_point). For 16-bit out the product is one
//   of float64, but before leaky ReLU;
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
  // What the stage adds and multiplies with, by column; null: nothing. The bias is float or int32
  // as the sums.
  struct ColumnTerms {
    const std::byte* bias = nullptr;
    const float* factors = nullptr;
  };
  // `count` sums whose results are `stride_bytes` apart.
  void WriteChunk(const std::byte* sums, const ColumnTerms& terms, int64_t count, std::byte* out,
                  int64_t stride_bytes) const;
  void WriteFloats(const float* sums, const float* bias, int64_t count, std::byte* out,
                   int64_t stride_bytes) const;
  void WriteInts(const ScaledIntegers& from, int64_t count, std::byte* out,
                 int64_t stride_bytes) const;
  void WriteWideInts(const int32_t* sums, const int32_t* bias, int64_t count, std::byte* out,
                     int64_t stride_bytes) const;
  IntegerTarget NarrowTarget(std::byte* out) const;
  void WriteMerged(const std::byte* sums, std::byte* out, Range rows) const;
  bool WriteDirect(const std::byte* sums, std::byte* out, Range rows, Range columns) const;
  // Terms of at most kChunkElements columns, dense, in buffers of as many words.
  ColumnTerms LoadTerms(Range columns, std::byte* bias, float* factors) const;

  const Command& c_;
  const std::byte* sums_;
  const std::byte* bias_;
  std::byte* out_;
  int64_t out_bytes_;
  bool is_float_;
};

}  // namespace berth
