#include "npu_sim/units/loop_nest.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "npu_sim/units/copy_run.h"

namespace berth {
namespace {

// Below this length the two innermost loops are buffered together.
constexpr int64_t kShortLoop = 128;

void SwapLoops(LoopNest& nest, int a, int b) {
  std::swap(nest.extent[a], nest.extent[b]);
  for (int i = 0; i < nest.operand_count; ++i) {
    std::swap(nest.stride_bytes[i][a], nest.stride_bytes[i][b]);
  }
}

// Whether loop `a` should stand outside loop `b`.
bool IsOutside(const LoopNest& nest, int a, int b) {
  if (nest.extent[a] == 1 || nest.extent[b] == 1) return nest.extent[a] == 1 && nest.extent[b] != 1;
  for (int i = 0; i < nest.operand_count; ++i) {
    const int64_t stride_a = std::abs(nest.stride_bytes[i][a]);
    const int64_t stride_b = std::abs(nest.stride_bytes[i][b]);
    if (stride_a != stride_b) return stride_a > stride_b;
  }
  return false;
}

bool StepAsOne(const LoopNest& nest, int outer, int inner) {
  for (int i = 0; i < nest.operand_count; ++i) {
    const int64_t* stride = nest.stride_bytes[i];
    if (stride[outer] != stride[inner] * nest.extent[inner]) return false;
  }
  return true;
}

// A chunk: `rows` iterations of loop 2 times `columns` of loop 3.
struct ChunkShape {
  int64_t rows = 1, columns = 1;
};

// One operand's chunk: its own bytes or a buffer with a memory of what it holds.
class ChunkOperand {
 public:
  void Init(const LoopNest& nest, int index, bool two_loops) {
    element_bytes_ = nest.element_bytes[index];
    column_stride_ = nest.stride_bytes[index][3];
    row_stride_ = two_loops ? nest.stride_bytes[index][2] : 0;
    dense_ = (column_stride_ == element_bytes_ || nest.extent[3] == 1) &&
             (!two_loops || row_stride_ == nest.extent[3] * element_bytes_);
    // The same element everywhere: a shorter chunk then finds its values in the buffer of a longer.
    constant_ = column_stride_ == 0 && row_stride_ == 0;
  }
  bool dense() const { return dense_; }

  std::byte* Read(std::byte* source, ChunkShape shape) {
    if (dense_) return source;
    const bool covered = constant_ ? shape.rows * shape.columns <= held_.rows * held_.columns
                                   : shape.rows <= held_.rows && shape.columns == held_.columns;
    if (source == held_source_ && covered) return buffer_;
    for (int64_t row = 0; row < shape.rows; ++row) {
      GatherElements(source + row * row_stride_, column_stride_, element_bytes_, shape.columns,
                     buffer_ + row * shape.columns * element_bytes_);
    }
    held_source_ = source;
    held_ = shape;
    return buffer_;
  }
  std::byte* Target(std::byte* target) { return dense_ ? target : buffer_; }
  void Write(std::byte* target, ChunkShape shape) const {
    if (dense_) return;
    for (int64_t row = 0; row < shape.rows; ++row) {
      ScatterElements(buffer_ + row * shape.columns * element_bytes_, element_bytes_, shape.columns,
                      target + row * row_stride_, column_stride_);
    }
  }

 private:
  int64_t element_bytes_ = 1, column_stride_ = 0, row_stride_ = 0;
  bool dense_ = false, constant_ = false;
  const std::byte* held_source_ = nullptr;
  ChunkShape held_{0, 0};
  alignas(64) std::byte buffer_[kChunkElements * 8];
};

class Walker {
 public:
  Walker(const LoopNest& nest, ChunkFunction function) : nest_(nest), function_(function) {
    const bool two_loops = nest.extent[3] < kShortLoop && nest.extent[2] > 1;
    bool all_dense = true;
    for (int i = 0; i < nest.operand_count; ++i) {
      operands_[i].Init(nest, i, two_loops);
      all_dense = all_dense && operands_[i].dense();
    }
    step_.rows = two_loops ? std::min(nest.extent[2], kChunkElements / nest.extent[3]) : 1;
    step_.columns =
        two_loops || all_dense ? nest.extent[3] : std::min(nest.extent[3], kChunkElements);
  }

  void Run() {
    for (int64_t i0 = 0; i0 < nest_.extent[0]; ++i0) {
      for (int64_t i1 = 0; i1 < nest_.extent[1]; ++i1) {
        for (int64_t i2 = 0; i2 < nest_.extent[2]; i2 += step_.rows) RunRows(i0, i1, i2);
      }
    }
  }

 private:
  void RunRows(int64_t i0, int64_t i1, int64_t i2) {
    ChunkShape shape;
    shape.rows = std::min(step_.rows, nest_.extent[2] - i2);
    std::byte* source[LoopNest::kMaxOperands];
    for (int i = 0; i < nest_.operand_count; ++i) {
      const int64_t* stride = nest_.stride_bytes[i];
      source[i] = nest_.base[i] + i0 * stride[0] + i1 * stride[1] + i2 * stride[2];
    }
    for (int64_t i3 = 0; i3 < nest_.extent[3]; i3 += step_.columns) {
      shape.columns = std::min(step_.columns, nest_.extent[3] - i3);
      std::byte* pointers[LoopNest::kMaxOperands];
      std::byte* target = source[0] + i3 * nest_.stride_bytes[0][3];
      pointers[0] = operands_[0].Target(target);
      for (int i = 1; i < nest_.operand_count; ++i) {
        pointers[i] = operands_[i].Read(source[i] + i3 * nest_.stride_bytes[i][3], shape);
      }
      function_(pointers, shape.rows * shape.columns);
      operands_[0].Write(target, shape);
    }
  }

  const LoopNest& nest_;
  ChunkFunction function_;
  ChunkShape step_;
  ChunkOperand operands_[LoopNest::kMaxOperands];
};

template <typename T>
void GatherTyped(const std::byte* source, int64_t stride_bytes, int64_t count, std::byte* dense) {
  T* to = reinterpret_cast<T*>(dense);
  if (stride_bytes == 0) {
    T value;
    std::memcpy(&value, source, sizeof(T));
    for (int64_t i = 0; i < count; ++i) to[i] = value;
    return;
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i, source + i * stride_bytes, sizeof(T));
}

template <typename T>
void ScatterTyped(const std::byte* dense, int64_t count, std::byte* target, int64_t stride_bytes) {
  const T* from = reinterpret_cast<const T*>(dense);
  for (int64_t i = 0; i < count; ++i) std::memcpy(target + i * stride_bytes, from + i, sizeof(T));
}

}  // namespace

LoopNest NestOf(const Command& command, const MemoryMap& memory,
                std::initializer_list<const Operand*> operands) {
  LoopNest nest;
  std::copy_n(command.extent, 4, nest.extent);
  for (const Operand* operand : operands) {
    const int i = nest.operand_count++;
    nest.base[i] = Resolve(*operand, memory);
    nest.element_bytes[i] = DTypeBytes(operand->dtype);
    std::copy_n(operand->stride_bytes, 4, nest.stride_bytes[i]);
  }
  return nest;
}

void Normalize(LoopNest& nest) {
  for (int i = 1; i < 4; ++i) {
    for (int j = i; j > 0 && IsOutside(nest, j, j - 1); --j) SwapLoops(nest, j, j - 1);
  }
  int inner = 3;  // loops (inner, 3] are final
  for (int outer = 2; outer >= 0; --outer) {
    if (nest.extent[outer] == 1) break;  // all further ones are 1 too
    if (StepAsOne(nest, outer, inner)) {
      nest.extent[inner] *= nest.extent[outer];
      nest.extent[outer] = 1;
    } else if (--inner != outer) {
      SwapLoops(nest, inner, outer);
    }
  }
}

void WalkChunks(const LoopNest& nest, ChunkFunction function) { Walker(nest, function).Run(); }

void GatherElements(const std::byte* source, int64_t stride_bytes, int64_t element_bytes,
                    int64_t count, std::byte* dense) {
  if (stride_bytes == element_bytes) return CopyRun(dense, source, count * element_bytes);
  switch (element_bytes) {
    case 1:
      return GatherTyped<uint8_t>(source, stride_bytes, count, dense);
    case 2:
      return GatherTyped<uint16_t>(source, stride_bytes, count, dense);
    case 4:
      return GatherTyped<uint32_t>(source, stride_bytes, count, dense);
    default:
      return GatherTyped<uint64_t>(source, stride_bytes, count, dense);
  }
}

void ScatterElements(const std::byte* dense, int64_t element_bytes, int64_t count,
                     std::byte* target, int64_t stride_bytes) {
  if (stride_bytes == element_bytes) return CopyRun(target, dense, count * element_bytes);
  switch (element_bytes) {
    case 1:
      return ScatterTyped<uint8_t>(dense, count, target, stride_bytes);
    case 2:
      return ScatterTyped<uint16_t>(dense, count, target, stride_bytes);
    case 4:
      return ScatterTyped<uint32_t>(dense, count, target, stride_bytes);
    default:
      return ScatterTyped<uint64_t>(dense, count, target, stride_bytes);
  }
}

}  // namespace berth
