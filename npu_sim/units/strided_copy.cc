#include "npu_sim/units/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "npu_sim/units/copy_run.h"
#include "npu_sim/units/transpose_block.h"

namespace berth {
namespace {

// A tile of this many elements a side stays in L1 on both sides.
constexpr int64_t kTileElements = 32;

// Two loops of which the source is contiguous along one and the target along the other.
struct Plane {
  std::byte* target;
  const std::byte* source;
  int64_t columns, rows;  // the target is contiguous along columns, the source along rows
  int64_t target_row_stride_bytes;
  int64_t source_column_stride_bytes;
};

template <typename T>
void CopyTileEdge(const Plane& p, int64_t row_begin, int64_t row_end, int64_t column_begin,
                  int64_t column_end) {
  for (int64_t row = row_begin; row < row_end; ++row) {
    std::byte* target = p.target + row * p.target_row_stride_bytes;
    const std::byte* source = p.source + row * static_cast<int64_t>(sizeof(T));
    for (int64_t column = column_begin; column < column_end; ++column) {
      std::memcpy(target + column * static_cast<int64_t>(sizeof(T)),
                  source + column * p.source_column_stride_bytes, sizeof(T));
    }
  }
}

template <typename T>
void TransposeTile(const Plane& p, int64_t row_begin, int64_t row_end, int64_t column_begin,
                   int64_t column_end) {
  constexpr int64_t kBlock = kTransposeBlock<T>;
  const int64_t rows = row_begin + (row_end - row_begin) / kBlock * kBlock;
  const int64_t columns = column_begin + (column_end - column_begin) / kBlock * kBlock;
  for (int64_t row = row_begin; row < rows; row += kBlock) {
    for (int64_t column = column_begin; column < columns; column += kBlock) {
      TransposeBlock<T>(
          p.source + row * static_cast<int64_t>(sizeof(T)) + column * p.source_column_stride_bytes,
          p.source_column_stride_bytes,
          p.target + row * p.target_row_stride_bytes + column * static_cast<int64_t>(sizeof(T)),
          p.target_row_stride_bytes);
    }
  }
  CopyTileEdge<T>(p, row_begin, rows, columns, column_end);
  CopyTileEdge<T>(p, rows, row_end, column_begin, column_end);
}

template <typename T>
void TransposePlane(const Plane& p) {
  for (int64_t row = 0; row < p.rows; row += kTileElements) {
    const int64_t row_end = std::min(p.rows, row + kTileElements);
    for (int64_t column = 0; column < p.columns; column += kTileElements) {
      TransposeTile<T>(p, row, row_end, column, std::min(p.columns, column + kTileElements));
    }
  }
}

// Calls function(target, source) for every iteration of the loops outside `inner_loops`.
template <typename F>
void ForOuterLoops(const LoopNest& nest, int inner_loops, F function) {
  int64_t extent[4] = {1, 1, 1, 1};
  std::copy_n(nest.extent, 4 - inner_loops, extent);
  for (int64_t i0 = 0; i0 < extent[0]; ++i0) {
    for (int64_t i1 = 0; i1 < extent[1]; ++i1) {
      for (int64_t i2 = 0; i2 < extent[2]; ++i2) {
        const int64_t* to = nest.stride_bytes[0];
        const int64_t* from = nest.stride_bytes[1];
        function(nest.base[0] + i0 * to[0] + i1 * to[1] + i2 * to[2],
                 nest.base[1] + i0 * from[0] + i1 * from[1] + i2 * from[2]);
      }
    }
  }
}

void CopyRuns(const LoopNest& nest) {
  const int64_t run_bytes = nest.extent[3] * nest.element_bytes[0];
  ForOuterLoops(nest, 1, [&](std::byte* target, const std::byte* source) {
    CopyRun(target, source, run_bytes);
  });
}

// Elements along the innermost loop, neither side contiguous or the source repeated.
void CopyElements(const LoopNest& nest) {
  const int64_t bytes = nest.element_bytes[0];
  const int64_t to = nest.stride_bytes[0][3], from = nest.stride_bytes[1][3];
  ForOuterLoops(nest, 1, [&](std::byte* target, const std::byte* source) {
    if (to == bytes) return GatherElements(source, from, bytes, nest.extent[3], target);
    if (from == bytes) return ScatterElements(source, bytes, nest.extent[3], target, to);
    for (int64_t i = 0; i < nest.extent[3]; ++i) {
      CopyRun(target + i * to, source + i * from, bytes);
    }
  });
}

// The loop along which the source is contiguous, or -1.
int ContiguousSourceLoop(const LoopNest& nest) {
  for (int d = 0; d < 3; ++d) {
    if (nest.extent[d] > 1 && nest.stride_bytes[1][d] == nest.element_bytes[1]) return d;
  }
  return -1;
}

void MoveLoopToSecond(LoopNest& nest, int loop) {
  for (; loop < 2; ++loop) {
    std::swap(nest.extent[loop], nest.extent[loop + 1]);
    for (auto& stride : nest.stride_bytes) std::swap(stride[loop], stride[loop + 1]);
  }
}

void TransposePlanes(const LoopNest& nest) {
  ForOuterLoops(nest, 2, [&](std::byte* target, const std::byte* source) {
    const Plane plane{target,
                      source,
                      nest.extent[3],
                      nest.extent[2],
                      nest.stride_bytes[0][2],
                      nest.stride_bytes[1][3]};
    switch (nest.element_bytes[0]) {
      case 1:
        return TransposePlane<uint8_t>(plane);
      case 2:
        return TransposePlane<uint16_t>(plane);
      case 4:
        return TransposePlane<uint32_t>(plane);
      default:
        return TransposePlane<uint64_t>(plane);
    }
  });
}

}  // namespace

void CopyStrided(LoopNest nest) {
  Normalize(nest);
  const int64_t bytes = nest.element_bytes[0];
  const bool target_dense = nest.extent[3] == 1 || nest.stride_bytes[0][3] == bytes;
  if (target_dense && (nest.extent[3] == 1 || nest.stride_bytes[1][3] == bytes)) {
    return CopyRuns(nest);
  }
  const int loop = target_dense ? ContiguousSourceLoop(nest) : -1;
  if (loop < 0) return CopyElements(nest);
  MoveLoopToSecond(nest, loop);
  TransposePlanes(nest);
}

}  // namespace berth
