// kRequantize, kQuantize, kDequantize. in1 = float32 scales by strides; absent: one for all.
#include <algorithm>
#include <cstring>

#include "npu_sim/units/convert.h"
#include "npu_sim/units/integer_store.h"
#include "npu_sim/units/loop_nest.h"
#include "npu_sim/units/requantize_kernels.h"
#include "npu_sim/units/unit_ops.h"

namespace berth {
namespace {

// Of element `i` of the chunk and those behind it; null where one scale serves all.
const float* ScalesAt(const Command& c, std::byte* const* p, int64_t i) {
  return c.in1.present() ? reinterpret_cast<const float*>(p[2]) + i : nullptr;
}

void RequantizeChunk(const Command& c, std::byte* const* p, int64_t count) {
  const int64_t out_bytes = DTypeBytes(c.out.dtype), in_bytes = DTypeBytes(c.in0.dtype);
  int32_t integers[kChunkElements];
  float values[kChunkElements];
  for (int64_t i = 0; i < count; i += kChunkElements) {
    const int64_t n = std::min(kChunkElements, count - i);
    std::byte* out = p[0] + i * out_bytes;
    ScaledIntegers from;
    from.scales = ScalesAt(c, p, i);
    from.scale = c.params.vector.alpha;
    from.sums = reinterpret_cast<const int32_t*>(p[1]) + i;
    if (c.in0.dtype != DType::kInt32) {
      LoadInts(c.in0.dtype, p[1] + i * in_bytes, in_bytes, n, 0, integers);
      from.sums = integers;
    }
    if (IsNarrowInteger(c.out.dtype)) {
      RoundScaled(from, n, FullRange(c.out.dtype, c.params.vector.zero_point, out));
    } else {
      ScaleIntegers(from, n, values);
      StoreRounded(c.out.dtype, values, n, c.params.vector.zero_point, out, out_bytes);
    }
  }
}

void QuantizeChunk(const Command& c, std::byte* const* p, int64_t count) {
  const int64_t out_bytes = DTypeBytes(c.out.dtype), in_bytes = DTypeBytes(c.in0.dtype);
  float values[kChunkElements];
  for (int64_t i = 0; i < count; i += kChunkElements) {
    const int64_t n = std::min(kChunkElements, count - i);
    ToFloat(c.in0.dtype, p[1] + i * in_bytes, n, values);
    DivideByScales(values, ScalesAt(c, p, i), c.params.vector.alpha, n, values);
    StoreRounded(c.out.dtype, values, n, c.params.vector.zero_point, p[0] + i * out_bytes,
                 out_bytes);
  }
}

void DequantizeChunk(const Command& c, std::byte* const* p, int64_t count) {
  const int64_t out_bytes = DTypeBytes(c.out.dtype), in_bytes = DTypeBytes(c.in0.dtype);
  int32_t integers[kChunkElements];
  float values[kChunkElements];
  for (int64_t i = 0; i < count; i += kChunkElements) {
    const int64_t n = std::min(kChunkElements, count - i);
    LoadInts(c.in0.dtype, p[1] + i * in_bytes, in_bytes, n, c.params.vector.zero_point, integers);
    ScaledIntegers from;
    from.sums = integers;
    from.scales = ScalesAt(c, p, i);
    from.scale = c.params.vector.alpha;
    ScaleIntegers(from, n, values);
    FromFloat(c.out.dtype, values, n, p[0] + i * out_bytes);
  }
}

bool FitsInt32(DType dtype) {
  return IsInteger(dtype) && DTypeBytes(dtype) <= 4 && dtype != DType::kUInt32;
}

absl::Status CheckDTypes(const Command& c) {
  const bool in_float = c.opcode == Opcode::kQuantize, out_float = c.opcode == Opcode::kDequantize;
  if (in_float ? !IsFloat(c.in0.dtype) : !FitsInt32(c.in0.dtype)) {
    return UnsupportedDType(c, c.in0.dtype);
  }
  if (out_float ? !IsFloat(c.out.dtype) : !IsInteger(c.out.dtype)) {
    return UnsupportedDType(c, c.out.dtype);
  }
  if (c.in1.present() && c.in1.dtype != DType::kFloat32) return UnsupportedDType(c, c.in1.dtype);
  return absl::OkStatus();
}

}  // namespace

absl::Status ExecuteRequantize(const UnitCall& call) {
  const Command& c = call.command;
  BERTH_RETURN_IF_ERROR(CheckDTypes(c));
  LoopNest nest = c.in1.present() ? NestOf(c, call.memory, {&c.out, &c.in0, &c.in1})
                                  : NestOf(c, call.memory, {&c.out, &c.in0});
  Normalize(nest);
  WalkChunks(nest, [&](std::byte* const* p, int64_t count) {
    switch (c.opcode) {
      case Opcode::kRequantize:
        return RequantizeChunk(c, p, count);
      case Opcode::kQuantize:
        return QuantizeChunk(c, p, count);
      default:
        return DequantizeChunk(c, p, count);
    }
  });
  return absl::OkStatus();
}

}  // namespace berth
