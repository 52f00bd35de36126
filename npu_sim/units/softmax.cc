// kSoftmax along e3, computed in float. Long dense float rows are done in place; short, strided or
// 16-bit rows in blocks of rows that are transposed into scratch, so that vectors run across rows.
#include <algorithm>

#include "npu_sim/units/convert.h"
#include "npu_sim/units/reduction_loops.h"
#include "npu_sim/units/softmax_float.h"
#include "npu_sim/units/strided_copy.h"
#include "npu_sim/units/unit_ops.h"

namespace berth {
namespace {

constexpr int64_t kShortRow = 32;
constexpr int64_t kShortRowBlock = 64;  // rows in a block, SoftmaxColumns' limit
constexpr int64_t kLongRowBlock = 16;

bool InPlace(const Command& c) {
  return c.in0.dtype == DType::kFloat32 && c.out.dtype == DType::kFloat32 &&
         c.in0.stride_bytes[3] == 4 && c.out.stride_bytes[3] == 4 && c.extent[3] > kShortRow;
}

int64_t BlockRows(const Command& c) {
  return c.extent[3] <= kShortRow ? kShortRowBlock : kLongRowBlock;
}

// [rows, e3] <-> dense [e3, rows].
LoopNest TransposeNest(const Command& c, std::byte* target, int64_t target_row,
                       int64_t target_element, std::byte* source, int64_t source_row,
                       int64_t source_element, int64_t rows) {
  LoopNest nest;
  nest.operand_count = 2;
  nest.extent[2] = rows;
  nest.extent[3] = c.extent[3];
  nest.base[0] = target;
  nest.base[1] = source;
  nest.element_bytes[0] = nest.element_bytes[1] = 4;
  nest.stride_bytes[0][2] = target_row;
  nest.stride_bytes[0][3] = target_element;
  nest.stride_bytes[1][2] = source_row;
  nest.stride_bytes[1][3] = source_element;
  return nest;
}

void RunFloatBlock(const Command& c, std::byte* out, int64_t out_row_stride, std::byte* in,
                   int64_t in_row_stride, int64_t rows, float* block) {
  auto* bytes = reinterpret_cast<std::byte*>(block);
  CopyStrided(TransposeNest(c, bytes, 4, rows * 4, in, in_row_stride, c.in0.stride_bytes[3], rows));
  SoftmaxColumns(block, c.extent[3], rows, c.params.vector.function == 1);
  CopyStrided(
      TransposeNest(c, out, out_row_stride, c.out.stride_bytes[3], bytes, 4, rows * 4, rows));
}

void RunBlock(const Command& c, std::byte* out, int64_t out_row_stride, const std::byte* in,
              int64_t in_row_stride, int64_t rows, float* block) {
  for (int64_t i = 0; i < c.extent[3]; ++i) {
    LoadFloats(c.in0.dtype, in + i * c.in0.stride_bytes[3], in_row_stride, rows, block + i * rows);
  }
  SoftmaxColumns(block, c.extent[3], rows, c.params.vector.function == 1);
  alignas(8) std::byte dense[kShortRowBlock * 4];
  for (int64_t i = 0; i < c.extent[3]; ++i) {
    FromFloat(c.out.dtype, block + i * rows, rows, dense);
    ScatterElements(dense, DTypeBytes(c.out.dtype), rows, out + i * c.out.stride_bytes[3],
                    out_row_stride);
  }
}

bool IsShortFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

}  // namespace

int64_t SoftmaxScratchBytes(const Command& c) {
  if (InPlace(c)) return 0;
  return ScratchCursor::AlignedBytes(int64_t{c.extent[3]} * BlockRows(c) * 4);
}

absl::Status ExecuteSoftmax(const UnitCall& call) {
  const Command& c = call.command;
  if (!IsShortFloat(c.in0.dtype)) return UnsupportedDType(c, c.in0.dtype);
  if (!IsShortFloat(c.out.dtype)) return UnsupportedDType(c, c.out.dtype);
  const LoopNest rows = SplitReduction(c, call.memory, 3).kept;
  const int64_t out_stride = rows.stride_bytes[0][3], in_stride = rows.stride_bytes[1][3];
  const bool in_place = InPlace(c), logarithm = c.params.vector.function == 1;
  auto* block = ScratchCursor(call.scratch).Take<float>(0);
  const int64_t step = in_place ? 1 : BlockRows(c);
  ForOuterThree(rows, [&](std::byte* const* p) {
    for (int64_t i = 0; i < rows.extent[3]; i += step) {
      std::byte* out = p[0] + i * out_stride;
      std::byte* in = p[1] + i * in_stride;
      const int64_t count = std::min(step, rows.extent[3] - i);
      if (in_place) {
        SoftmaxRow(reinterpret_cast<const float*>(in), c.extent[3], logarithm,
                   reinterpret_cast<float*>(out));
      } else if (c.in0.dtype == DType::kFloat32 && c.out.dtype == DType::kFloat32) {
        RunFloatBlock(c, out, out_stride, in, in_stride, count, block);
      } else {
        RunBlock(c, out, out_stride, in, in_stride, count, block);
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace berth
