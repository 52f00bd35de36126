#include "npu_sim/sanitizer/footprint.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "npu_sim/operands.h"

namespace berth::sanitizer {
namespace {

constexpr int kOut = 0, kIn0 = 1, kIn1 = 2, kIn2 = 3, kAcc = 4;

// A loop of `count` steps, in either direction, as one that ascends.
Axis Regular(int64_t count, int64_t step_bytes) {
  if (step_bytes == 0 || count <= 1) return {};
  if (step_bytes > 0) return {0, step_bytes, count, {}};
  return {(count - 1) * step_bytes, -step_bytes, count, {}};
}

// Positions in any order and number; evenly spaced ones become a regular axis.
Axis OfPositions(std::vector<int64_t> positions, int64_t stride_bytes) {
  for (int64_t& position : positions) position *= stride_bytes;
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  const auto count = static_cast<int64_t>(positions.size());
  if (count == 1) return {positions[0], 0, 1, {}};
  const int64_t step = positions[1] - positions[0];
  for (size_t i = 1; i < positions.size(); ++i) {
    if (positions[i] - positions[i - 1] != step) return {0, 0, 1, std::move(positions)};
  }
  return {positions[0], step, count, {}};
}

std::vector<int64_t> WindowPositions(int64_t outputs, int64_t stride, int64_t pad, int64_t taps,
                                     int64_t dilation, int64_t upsample, int64_t samples) {
  std::vector<int64_t> positions;
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t at = o * stride - pad + t * dilation;
      if (at >= 0 && at % upsample == 0 && at / upsample < samples) {
        positions.push_back(at / upsample);
      }
    }
    // Outputs walk on, so what is kept stays short.
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  }
  return positions;
}

class Builder {
 public:
  Builder(const Command& command, const MemoryMap* memory) : c_(command), memory_(memory) {}

  std::vector<Footprint> Build() {
    switch (c_.opcode) {
      case Opcode::kGemm:
        Plain(kIn0);
        Plain(kIn1);
        break;
      case Opcode::kConv:
      case Opcode::kDepthwise:
        Window(c_.params.matrix.window);
        Weights(c_.params.matrix.window);
        break;
      case Opcode::kPool:
        Window(c_.params.vector.window);
        break;
      case Opcode::kDmaGather:
        Rows(kIn0, false);
        Plain(kIn1);
        Plain(kOut, true);
        return std::move(footprints_);
      case Opcode::kDmaScatter:
        Plain(kIn0);
        Plain(kIn1);
        Rows(kOut, true);
        return std::move(footprints_);
      case Opcode::kInterpolate:
        Samples();
        Plain(kIn1);
        break;
      case Opcode::kHostCall:
        Host();
        return std::move(footprints_);
      default:
        Plain(kIn0);
        Plain(kIn1);
        break;
    }
    Plain(kIn2);
    if (EngineOf(c_.opcode) == EngineKind::kMatrix) {
      Accumulators();
      if (c_.flags & kFlagWriteOut) Plain(kOut, true);
    } else {
      if (c_.opcode == Opcode::kReduce && (c_.flags & kFlagAccumulate)) Plain(kOut);
      Plain(kOut, true);
    }
    return std::move(footprints_);
  }

 private:
  Footprint* Start(int operand, bool is_write) {
    const Operand& o = OperandOf(c_, operand);
    if (!o.present()) return nullptr;
    Footprint& footprint = footprints_.emplace_back();
    footprint.operand = operand;
    footprint.is_write = is_write;
    footprint.offset_bytes = o.offset_bytes;
    footprint.element_bytes = DTypeBytes(o.dtype);
    return &footprint;
  }

  // All four loops; a loop that the operand does not have has stride 0.
  void Plain(int operand, bool is_write = false) {
    Footprint* footprint = Start(operand, is_write);
    if (footprint == nullptr) return;
    for (size_t d = 0; d < 4; ++d) {
      footprint->axes[d] = Regular(c_.extent[d], OperandOf(c_, operand).stride_bytes[d]);
    }
  }

  void Window(const berth::Window& w) {
    Footprint& footprint = *Start(kIn0, false);
    std::vector<int64_t> rows =
        WindowPositions(c_.extent[0], w.stride_height, w.pad_top, w.kernel_height,
                        w.dilation_height, w.upsample_height, w.input_height);
    std::vector<int64_t> columns =
        WindowPositions(c_.extent[1], w.stride_width, w.pad_left, w.kernel_width, w.dilation_width,
                        w.upsample_width, w.input_width);
    footprint.touches_nothing = rows.empty() || columns.empty();
    if (footprint.touches_nothing) return;
    footprint.axes[0] = OfPositions(std::move(rows), c_.in0.stride_bytes[0]);
    footprint.axes[1] = OfPositions(std::move(columns), c_.in0.stride_bytes[1]);
    const size_t channels = c_.opcode == Opcode::kConv ? 3 : 2;
    footprint.axes[2] = Regular(c_.extent[channels], c_.in0.stride_bytes[channels]);
  }

  void Weights(const berth::Window& w) {
    Footprint& footprint = *Start(kIn1, false);
    const int64_t counts[] = {w.kernel_height, w.kernel_width, c_.extent[2],
                              c_.opcode == Opcode::kConv ? c_.extent[3] : 1};
    for (size_t d = 0; d < 4; ++d) {
      footprint.axes[d] = Regular(counts[d], c_.in1.stride_bytes[d]);
    }
  }

  // One word for each [0, 1, 2] of the extents, one behind the other.
  void Accumulators() {
    constexpr int64_t kWordBytes = 4;
    const int64_t words = int64_t{c_.extent[0]} * c_.extent[1] * c_.extent[2];
    for (const bool is_write : {false, true}) {
      if (!is_write && !(c_.flags & kFlagAccumulate)) continue;
      Footprint& footprint = *Start(kAcc, is_write);
      footprint.element_bytes = kWordBytes;
      footprint.axes[0] = Regular(words, kWordBytes);
    }
  }

  void Host() {
    for (const bool is_write : {false, true}) {
      for (int operand = 0; operand < 5; ++operand) {
        if ((c_.params.host.output_mask >> operand & 1) != (is_write ? 1u : 0u)) continue;
        Footprint* footprint = Start(operand, is_write);
        if (footprint == nullptr) continue;
        footprint->element_bytes = OperandOf(c_, operand).stride_bytes[0];
      }
    }
  }

  // The row numbers of a gather or scatter, or the indices of an interpolation.
  std::vector<int64_t> Numbers(int64_t outer, int64_t outer_bytes, int64_t inner,
                               int64_t inner_bytes) const {
    const std::byte* base = memory_->scratchpad + c_.in1.offset_bytes;
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < outer; ++i) {
      for (int64_t j = 0; j < inner; ++j) {
        const std::byte* at = base + i * outer_bytes + j * inner_bytes;
        int64_t wide = 0;
        int32_t narrow = 0;
        if (c_.in1.dtype == DType::kInt64) {
          std::memcpy(&wide, at, sizeof(wide));
        } else {
          std::memcpy(&narrow, at, sizeof(narrow));
          wide = narrow;
        }
        numbers.push_back(wide);
      }
    }
    return numbers;
  }

  // Sets the axis to `numbers` below `limit`, or to all below it where they are not to be read.
  void SetIndexed(Footprint& footprint, size_t axis, int64_t stride_bytes, int64_t limit,
                  std::vector<int64_t> numbers) const {
    std::erase_if(numbers, [&](int64_t number) { return number < 0 || number >= limit; });
    if (memory_ == nullptr) {
      footprint.axes[axis] = Regular(limit, stride_bytes);
    } else if (numbers.empty()) {
      footprint.touches_nothing = true;
    } else {
      footprint.axes[axis] = OfPositions(std::move(numbers), stride_bytes);
    }
  }

  void Rows(int operand, bool is_write) {
    Plain(operand, is_write);
    const int64_t limit = c_.params.dma.row_limit;
    std::vector<int64_t> numbers;
    if (memory_ != nullptr) numbers = Numbers(c_.extent[0], c_.in1.stride_bytes[0], 1, 0);
    for (int64_t& number : numbers) number += number < 0 ? limit : 0;
    SetIndexed(footprints_.back(), 0, OperandOf(c_, operand).stride_bytes[0], limit,
               std::move(numbers));
  }

  void Samples() {
    Plain(kIn0);
    Footprint& footprint = footprints_.back();
    footprint.axes[3] = {};
    std::vector<int64_t> numbers;
    if (memory_ != nullptr) {
      numbers = Numbers(c_.extent[1], c_.in1.stride_bytes[1], c_.extent[3], c_.in1.stride_bytes[3]);
    }
    SetIndexed(footprint, 1, c_.in0.stride_bytes[1], c_.params.vector.window.input_height,
               std::move(numbers));
  }

  const Command& c_;
  const MemoryMap* const memory_;  // null: what is possible
  std::vector<Footprint> footprints_;
};

}  // namespace

const Operand& OperandOf(const Command& command, int operand) {
  return *OperandsOf(command)[static_cast<size_t>(operand)];
}

Hull HullOf(const Footprint& footprint) {
  Hull hull{footprint.offset_bytes, footprint.offset_bytes + footprint.element_bytes};
  for (const Axis& axis : footprint.axes) {
    hull.begin_bytes += DisplacementOf(axis, 0);
    hull.end_bytes += DisplacementOf(axis, CountOf(axis) - 1);
  }
  return hull;
}

std::vector<Footprint> PossibleFootprints(const Command& command) {
  return Builder(command, nullptr).Build();
}

std::vector<Footprint> ActualFootprints(const Command& command, const MemoryMap& memory) {
  return Builder(command, &memory).Build();
}

FlatFootprint Flatten(const Footprint& footprint) {
  FlatFootprint flat{footprint.offset_bytes, footprint.element_bytes, {}};
  for (const Axis& axis : footprint.axes) {
    if (CountOf(axis) == 1) {
      flat.offset_bytes += DisplacementOf(axis, 0);
    } else {
      flat.axes.push_back(&axis);
    }
  }
  // Listed axes go outermost: runs are joined along regular ones.
  const auto step = [](const Axis* axis) {
    return axis->listed_bytes.empty() ? axis->step_bytes : INT64_MAX;
  };
  std::stable_sort(flat.axes.begin(), flat.axes.end(),
                   [&](const Axis* a, const Axis* b) { return step(a) > step(b); });
  // Elements that follow one another are one run; so are runs that do.
  while (!flat.axes.empty() && flat.axes.back()->step_bytes == flat.run_bytes) {
    flat.offset_bytes += flat.axes.back()->first_bytes;
    flat.run_bytes *= flat.axes.back()->count;
    flat.axes.pop_back();
  }
  return flat;
}

}  // namespace berth::sanitizer
