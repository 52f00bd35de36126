#include "npu_sim/access.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "npu_sim/operands.h"

namespace berth {
namespace {

struct Loop {
  int64_t extent = 1;
  int64_t stride_bytes = 0;
};
using Loops = std::array<Loop, 4>;

Loop& At(Loops& loops, int i) { return loops[static_cast<size_t>(i)]; }

// Joins loop `outer` into loop `inner` where both together step regularly.
bool MergeLoops(const Loop& outer, Loop& inner) {
  if (outer.stride_bytes % inner.stride_bytes != 0) return false;
  const int64_t ratio = outer.stride_bytes / inner.stride_bytes;
  if (ratio > inner.extent) return false;
  inner.extent += (outer.extent - 1) * ratio;
  return true;
}

// Brings the loops over elements of `element_bytes` into normal form.
void SetGrid(Access& access, int64_t offset_bytes, const Loops& loops, int64_t element_bytes) {
  access.offset_bytes = offset_bytes;
  access.run_bytes = element_bytes;
  Loops sorted;  // strides descending
  int count = 0;
  for (Loop loop : loops) {
    if (loop.extent <= 1 || loop.stride_bytes == 0) continue;
    if (loop.stride_bytes < 0) {
      access.offset_bytes += (loop.extent - 1) * loop.stride_bytes;
      loop.stride_bytes = -loop.stride_bytes;
    }
    int place = count++;
    for (; place > 0 && At(sorted, place - 1).stride_bytes < loop.stride_bytes; --place) {
      At(sorted, place) = At(sorted, place - 1);
    }
    At(sorted, place) = loop;
  }
  while (count > 0) {  // adjacent runs become one
    const Loop& inner = At(sorted, count - 1);
    if (inner.stride_bytes > access.run_bytes) break;
    access.run_bytes += (inner.extent - 1) * inner.stride_bytes;
    --count;
  }
  int kept = 4;  // filled from the back, innermost last
  for (int i = count - 1; i >= 0; --i) {
    const Loop& loop = At(sorted, i);
    if (kept < 4) {
      Loop inner{access.extent[kept], access.stride_bytes[kept]};
      if (MergeLoops(loop, inner)) {
        access.extent[kept] = inner.extent;
        continue;
      }
    }
    --kept;
    access.extent[kept] = loop.extent;
    access.stride_bytes[kept] = loop.stride_bytes;
  }
}

struct Samples {  // first, first + step, ..., count of them
  int64_t first = 0, step = 1, count = 0;
};

// Samples of one axis that a window can reach: positions o * stride + k * dilation - pad on the
// upsampled axis, of which the multiples of `upsample` inside the input exist.
Samples ReachableSamples(int64_t out_extent, int64_t kernel, int64_t stride, int64_t dilation,
                         int64_t pad, int64_t upsample, int64_t input) {
  const int64_t out_step = out_extent > 1 ? stride : 0;
  const int64_t kernel_step = kernel > 1 ? dilation : 0;
  const int64_t step = std::max<int64_t>(1, std::gcd(out_step, kernel_step));
  int64_t low = -pad;
  int64_t high = (out_extent - 1) * stride + (kernel - 1) * dilation - pad;
  if (low < 0) low += CeilDiv(-low, step) * step;
  high = std::min(high, (input - 1) * upsample);
  if (low > high) return {};
  if (upsample > 1) {
    const int64_t first = CeilDiv(low, upsample);
    return {first, 1, std::max<int64_t>(0, high / upsample - first + 1)};
  }
  return {low, step, (high - low) / step + 1};
}

class Collector {
 public:
  explicit Collector(const Command& command) : c_(command) {}

  void Read(int operand, const Loops& loops) {
    Add(operand, false, Get(operand).offset_bytes, loops);
  }
  void Write(int operand, const Loops& loops) {
    Add(operand, true, Get(operand).offset_bytes, loops);
  }
  void Read(int operand) { Read(operand, OwnLoops(operand)); }
  void Write(int operand) { Write(operand, OwnLoops(operand)); }

  // The command's four loops with the operand's strides.
  Loops OwnLoops(int operand) const {
    return LoopsOf(operand, {c_.extent[0], c_.extent[1], c_.extent[2], c_.extent[3]});
  }
  Loops LoopsOf(int operand, const std::array<int64_t, 4>& extent) const {
    Loops loops;
    for (size_t d = 0; d < 4; ++d) loops[d] = {extent[d], Get(operand).stride_bytes[d]};
    return loops;
  }

  // What a moving window can reach of in0; `channels` loops with stride position `channel_axis`.
  void ReadWindow(const Window& w, int64_t channels, size_t channel_axis) {
    const Samples rows =
        ReachableSamples(c_.extent[0], w.kernel_height, w.stride_height, w.dilation_height,
                         w.pad_top, w.upsample_height, w.input_height);
    const Samples columns =
        ReachableSamples(c_.extent[1], w.kernel_width, w.stride_width, w.dilation_width, w.pad_left,
                         w.upsample_width, w.input_width);
    if (rows.count == 0 || columns.count == 0) return;
    const int64_t row_stride = c_.in0.stride_bytes[0], column_stride = c_.in0.stride_bytes[1];
    const Loops loops = {Loop{rows.count, rows.step * row_stride},
                         Loop{columns.count, columns.step * column_stride},
                         Loop{channels, c_.in0.stride_bytes[channel_axis]}, Loop{}};
    Add(1, false, c_.in0.offset_bytes + rows.first * row_stride + columns.first * column_stride,
        loops);
  }

  // acc is dense, `words` of four bytes.
  void Accumulator(int64_t words) {
    const Loops loops = {Loop{words, 4}, Loop{}, Loop{}, Loop{}};
    if (c_.flags & kFlagAccumulate) AddDense(4, false, loops);
    AddDense(4, true, loops);
  }

  AccessList Take() {  // reads first: a command reads before it writes
    std::stable_partition(list_.items, list_.items + list_.count,
                          [](const Access& access) { return !access.is_write; });
    return list_;
  }

 private:
  const Operand& Get(int operand) const {
    switch (operand) {
      case 0:
        return c_.out;
      case 1:
        return c_.in0;
      case 2:
        return c_.in1;
      case 3:
        return c_.in2;
      default:
        return c_.acc;
    }
  }
  void Add(int operand, bool is_write, int64_t offset_bytes, const Loops& loops) {
    AddElements(operand, is_write, offset_bytes, loops, DTypeBytes(Get(operand).dtype));
  }
  void AddDense(int operand, bool is_write, const Loops& loops) {
    AddElements(operand, is_write, Get(operand).offset_bytes, loops, 4);
  }
  void AddElements(int operand, bool is_write, int64_t offset_bytes, const Loops& loops,
                   int64_t element_bytes) {
    const Operand& o = Get(operand);
    if (!o.present()) return;
    Access& access = list_.items[list_.count++];
    access.space = o.space;
    access.is_write = is_write;
    access.operand = static_cast<uint8_t>(operand);
    access.region = o.space == MemorySpace::kDram ? o.region : uint16_t{0};
    access.slot = o.slot;
    SetGrid(access, offset_bytes, loops, element_bytes);
  }

  const Command& c_;
  AccessList list_;
};

void CollectConvolution(const Command& c, Collector& collect) {
  const Window& window = c.params.matrix.window;
  const bool depthwise = c.opcode == Opcode::kDepthwise;
  collect.ReadWindow(window, depthwise ? c.extent[2] : c.extent[3], depthwise ? 2 : 3);
  collect.Read(2, collect.LoopsOf(2, {window.kernel_height, window.kernel_width, c.extent[2],
                                      depthwise ? 1 : c.extent[3]}));
}

void CollectMatrix(const Command& c, Collector& collect) {
  const std::array<int64_t, 4> e = {c.extent[0], c.extent[1], c.extent[2], c.extent[3]};
  if (c.opcode == Opcode::kGemm) {
    collect.Read(1);
    collect.Read(2);
  } else {
    CollectConvolution(c, collect);
  }
  collect.Read(3, collect.LoopsOf(3, {1, 1, e[2], 1}));
  collect.Accumulator(e[0] * e[1] * e[2]);
  if (c.flags & kFlagWriteOut) collect.Write(0, collect.LoopsOf(0, {e[0], e[1], e[2], 1}));
}

void CollectIndirect(const Command& c, Collector& collect) {
  const int table = c.opcode == Opcode::kDmaGather ? 1 : 0;
  Loops rows = collect.OwnLoops(table);
  rows[0].extent = c.params.dma.row_limit;
  collect.Read(2, collect.LoopsOf(2, {c.extent[0], 1, 1, 1}));
  if (table == 1) {
    collect.Read(1, rows);
    collect.Write(0);
  } else {
    collect.Read(1);
    collect.Write(0, rows);
  }
}

void CollectInterpolate(const Command& c, Collector& collect) {
  const std::array<int64_t, 4> e = {c.extent[0], c.extent[1], c.extent[2], c.extent[3]};
  collect.Read(1, collect.LoopsOf(1, {e[0], c.params.vector.window.input_height, e[2], 1}));
  collect.Read(2, collect.LoopsOf(2, {1, e[1], 1, e[3]}));
  collect.Read(3, collect.LoopsOf(3, {1, e[1], 1, e[3]}));
  collect.Write(0, collect.LoopsOf(0, {e[0], e[1], e[2], 1}));
}

void CollectHost(const Command& c, Collector& collect) {
  const std::array<const Operand*, 5> operands = OperandsOf(c);
  for (int i = 0; i < 5; ++i) {
    const Operand& operand = *operands[static_cast<size_t>(i)];
    if (!operand.present()) continue;
    const int64_t element_bytes = DTypeBytes(operand.dtype);
    const Loops dense = {Loop{operand.stride_bytes[0] / element_bytes, element_bytes}, Loop{},
                         Loop{}, Loop{}};
    if (c.params.host.output_mask >> i & 1) {
      collect.Write(i, dense);
    } else {
      collect.Read(i, dense);
    }
  }
}

void CollectElements(const Command& c, Collector& collect) {
  collect.Read(1);
  collect.Read(2);
  collect.Read(3);
  if (c.opcode == Opcode::kReduce && (c.flags & kFlagAccumulate)) collect.Read(0);
  collect.Write(0);
}

}  // namespace

int64_t Access::end_bytes() const {
  int64_t end = offset_bytes + run_bytes;
  for (int d = 0; d < 4; ++d) end += (extent[d] - 1) * stride_bytes[d];
  return end;
}

int64_t Access::total_bytes() const {
  return extent[0] * extent[1] * extent[2] * extent[3] * run_bytes;
}

bool HasSameBytes(const Access& a, const Access& b) {
  return a.offset_bytes == b.offset_bytes && a.run_bytes == b.run_bytes &&
         std::equal(a.extent, a.extent + 4, b.extent) &&
         std::equal(a.stride_bytes, a.stride_bytes + 4, b.stride_bytes);
}

AccessList CollectAccesses(const Command& command) {
  Collector collect(command);
  switch (EngineOf(command.opcode)) {
    case EngineKind::kMatrix:
      CollectMatrix(command, collect);
      break;
    case EngineKind::kHost:
      CollectHost(command, collect);
      break;
    case EngineKind::kDma:
      if (command.opcode == Opcode::kDmaGather || command.opcode == Opcode::kDmaScatter) {
        CollectIndirect(command, collect);
      } else {
        CollectElements(command, collect);
      }
      break;
    case EngineKind::kVector:
      if (command.opcode == Opcode::kPool) {
        collect.ReadWindow(command.params.vector.window, command.extent[2], 2);
        collect.Write(0);
      } else if (command.opcode == Opcode::kInterpolate) {
        CollectInterpolate(command, collect);
      } else {
        CollectElements(command, collect);
      }
      break;
  }
  return collect.Take();
}

}  // namespace berth
