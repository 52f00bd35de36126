// Loops over several strided operands, and the walk over them in contiguous chunks that all
// element-wise units share.
//
// A kernel sees only dense arrays: WalkChunks hands out the operand's own bytes where they are
// dense and small buffers otherwise (gathered before, scattered after the call). Broadcast operands
// are buffered once and reused, so broadcasting costs no more than reading from L1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "absl/functional/function_ref.h"
#include "npu_sim/command.h"
#include "npu_sim/units/memory.h"

namespace berth {

struct LoopNest {
  static constexpr int kMaxOperands = 4;
  int operand_count = 0;
  int64_t extent[4] = {1, 1, 1, 1};  // outermost first
  std::byte* base[kMaxOperands] = {};
  int64_t element_bytes[kMaxOperands] = {};
  int64_t stride_bytes[kMaxOperands][4] = {};
};

// The loops of a command over the given operands (operand 0 is the output).
LoopNest NestOf(const Command& command, const MemoryMap& memory,
                std::initializer_list<const Operand*> operands);

// Orders the loops by the output's strides (largest outermost), drops loops of extent 1 and merges
// neighbours that step as one. Valid wherever the order of iterations does not matter.
void Normalize(LoopNest& nest);

// Elements in a buffered chunk.
inline constexpr int64_t kChunkElements = 512;

// `pointers[i]` is dense in operand i for `count` elements. Where every operand is dense, chunks
// are as long as the innermost loop, else at most kChunkElements.
using ChunkFunction = absl::FunctionRef<void(std::byte* const* pointers, int64_t count)>;
void WalkChunks(const LoopNest& nest, ChunkFunction function);

// Copies a strided run of elements of 1, 2, 4 or 8 bytes into a dense one, and back.
void GatherElements(const std::byte* source, int64_t stride_bytes, int64_t element_bytes,
                    int64_t count, std::byte* dense);
void ScatterElements(const std::byte* dense, int64_t element_bytes, int64_t count,
                     std::byte* target, int64_t stride_bytes);

}  // namespace berth
