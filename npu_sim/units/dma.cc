// The DMA engine: strided copies, fills, and row gathers and scatters with checked row numbers.
#include <algorithm>
#include <cstring>

#include "npu_sim/units/strided_copy.h"
#include "npu_sim/units/unit_ops.h"

namespace berth {
namespace {

bool IsByteRepeated(uint64_t pattern, int64_t element_bytes) {
  for (int64_t i = 1; i < element_bytes; ++i) {
    if ((pattern >> (8 * i) & 0xff) != (pattern & 0xff)) return false;
  }
  return true;
}

void Fill(const UnitCall& call) {
  const Command& c = call.command;
  LoopNest nest = NestOf(c, call.memory, {&c.out});
  Normalize(nest);
  uint64_t pattern = c.params.dma.pattern;
  const int64_t element_bytes = nest.element_bytes[0];
  const bool as_bytes = IsByteRepeated(pattern, element_bytes);
  const auto* element = reinterpret_cast<const std::byte*>(&pattern);
  WalkChunks(nest, [&](std::byte* const* p, int64_t count) {
    if (as_bytes) {
      std::memset(p[0], static_cast<int>(pattern & 0xff),
                  static_cast<size_t>(count * element_bytes));
    } else {
      GatherElements(element, 0, element_bytes, count, p[0]);
    }
  });
}

int64_t ReadRowNumber(DType dtype, const std::byte* source) {
  if (dtype == DType::kInt64) {
    int64_t value;
    std::memcpy(&value, source, sizeof(value));
    return value;
  }
  int32_t value;
  std::memcpy(&value, source, sizeof(value));
  return value;
}

// Moves row r of one side to or from the row of the other that in1[r] names.
absl::Status MoveIndexedRows(const UnitCall& call, const Operand& indexed) {
  const Command& c = call.command;
  const bool gather = &indexed == &c.in0;
  if (c.in1.dtype != DType::kInt32 && c.in1.dtype != DType::kInt64) {
    return UnsupportedDType(c, c.in1.dtype);
  }
  const std::byte* numbers = Resolve(c.in1, call.memory);
  const int64_t limit = c.params.dma.row_limit;
  LoopNest row = NestOf(c, call.memory, {&c.out, &c.in0});
  row.extent[0] = 1;
  std::byte* const target = row.base[0];
  std::byte* const source = row.base[1];
  for (int64_t r = 0; r < c.extent[0]; ++r) {
    int64_t number = ReadRowNumber(c.in1.dtype, numbers + r * c.in1.stride_bytes[0]);
    if (number < -limit || number >= limit) {
      return InvalidArgument("{}: row index {} is outside [-{}, {})", OpcodeName(c.opcode), number,
                             limit, limit);
    }
    if (number < 0) number += limit;
    row.base[0] = target + (gather ? r : number) * c.out.stride_bytes[0];
    row.base[1] = source + (gather ? number : r) * c.in0.stride_bytes[0];
    CopyStrided(row);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExecuteDma(const UnitCall& call) {
  const Command& c = call.command;
  switch (c.opcode) {
    case Opcode::kDmaFill:
      Fill(call);
      return absl::OkStatus();
    case Opcode::kDmaGather:
      return MoveIndexedRows(call, c.in0);
    case Opcode::kDmaScatter:
      return MoveIndexedRows(call, c.out);
    default:
      CopyStrided(NestOf(c, call.memory, {&c.out, &c.in0}));
      return absl::OkStatus();
  }
}

}  // namespace berth
