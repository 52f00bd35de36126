#include "kernels/ops/axis_map.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/tail.h"
#include "kernels/tile_loop.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

// A DMA run shorter than this wastes most of its burst.
constexpr int64_t kShortRunBytes = 64;

// The segments that positions [begin, begin + extent) see, counted from `begin`.
AxisSegments Clip(const AxisSegments& segments, int64_t begin, int64_t extent) {
  AxisSegments clipped;
  for (const AxisSegment& segment : segments) {
    const int64_t first = std::max(segment.begin, begin);
    const int64_t last = std::min(segment.begin + segment.count, begin + extent);
    if (first >= last) continue;
    clipped.push_back({first - begin, last - first,
                       segment.source + (first - segment.begin) * segment.step, segment.step});
  }
  return clipped;
}

int64_t CountOf(const AxisSegments& segments) {
  int64_t count = 0;
  for (const AxisSegment& segment : segments) count += segment.count;
  return count;
}

// The input positions between the first and the last that the segments read.
struct Range {
  int64_t begin = 0;
  int64_t extent = 0;
};
Range SourceRange(const AxisSegments& segments) {
  int64_t low = segments[0].source, high = low;
  for (const AxisSegment& segment : segments) {
    const int64_t last = segment.source + (segment.count - 1) * segment.step;
    low = std::min({low, segment.source, last});
    high = std::max({high, segment.source, last});
  }
  return {low, high - low + 1};
}

bool IsPlain(const AxisSegments& segments) {
  return segments.empty() ||
         (segments.size() == 1 && (segments[0].step == 1 || segments[0].count <= 1));
}

// Whether the axis is loaded as a range and picked by copies: where picking it by DMA would move
// runs too short, or the same elements again and again. `pitch_bytes`: of the axis when dense.
bool IsCopied(const AxisSegments& segments, int64_t pitch_bytes) {
  if (IsPlain(segments)) return false;
  int64_t longest_step = 1;
  for (const AxisSegment& segment : segments) {
    longest_step = std::max(longest_step, std::abs(segment.step));
  }
  return pitch_bytes * longest_step < kShortRunBytes ||
         SourceRange(segments).extent < CountOf(segments);
}

std::vector<bool> CopiedAxes(const OpCall& call, const AxisMap& map) {
  const Shape& input = call.input(0).shape;
  std::vector<bool> copied(map.axes.size(), false);
  int64_t pitch_bytes = DTypeBytes(call.input(0).dtype);
  for (size_t axis = map.axes.size(); axis-- > 0;) {
    copied[axis] = IsCopied(map.axes[axis], pitch_bytes);
    pitch_bytes *= input[static_cast<int>(axis)];
  }
  return copied;
}

// The largest range that a tile of `extent` positions reads of a copied axis.
int64_t LargestRange(const AxisSegments& segments, int64_t axis_extent, int64_t extent) {
  int64_t largest = 0;
  for (int64_t begin = 0; begin < axis_extent; begin += extent) {
    const AxisSegments clipped = Clip(segments, begin, std::min(extent, axis_extent - begin));
    if (!clipped.empty()) largest = std::max(largest, SourceRange(clipped).extent);
  }
  return largest;
}

// One segment of each axis.
using Combination = absl::InlinedVector<AxisSegment, 6>;

template <typename Visit>
void ForEachCombination(const std::vector<AxisSegments>& axes, Combination& chosen, Visit&& visit) {
  if (chosen.size() == axes.size()) return visit(static_cast<const Combination&>(chosen));
  for (const AxisSegment& segment : axes[chosen.size()]) {
    chosen.push_back(segment);
    ForEachCombination(axes, chosen, visit);
    chosen.pop_back();
  }
}

// The part of a tile that a combination fills.
TileView PartOf(const TileView& tile, const Combination& combination) {
  Extents begin, extent;
  for (const AxisSegment& segment : combination) {
    begin.push_back(segment.begin);
    extent.push_back(segment.count);
  }
  return tile.Sub(begin, extent);
}

Box SourceBox(const Combination& combination) {
  Box box;
  for (const AxisSegment& segment : combination) {
    box.begin.push_back(segment.source);
    box.extent.push_back(segment.count);
    box.step.push_back(segment.step);
  }
  return box;
}

// One output tile.
class MappedTile {
 public:
  MappedTile(const OpCall& call, const AxisMap& map, const std::vector<bool>& copied_axes,
             const Box& box, TileBuilder& builder)
      : value_(call.node->inputs[0]),
        result_(call.node->outputs[0]),
        dtype_(call.output().dtype),
        box_(box),
        builder_(builder) {
    for (size_t axis = 0; axis < map.axes.size(); ++axis) {
      AxisSegments segments = Clip(map.axes[axis], box.begin[axis], box.extent[axis]);
      is_empty_ = is_empty_ || segments.empty();
      has_fill_ = has_fill_ || CountOf(segments) < box.extent[axis];
      copied_.push_back(copied_axes[axis] && !IsPlain(segments));
      segments_.push_back(std::move(segments));
    }
  }

  TileView Emit(uint64_t fill_pattern) {
    const TileView tile = builder_.OutputTile(result_, dtype_, box_, "output");
    if (has_fill_) builder_.Fill(tile, fill_pattern);
    if (is_empty_) return tile;
    if (std::find(copied_.begin(), copied_.end(), true) == copied_.end()) {
      LoadParts(segments_, tile);
    } else {
      CopyParts(LoadSource(), tile);
    }
    return tile;
  }

 private:
  void LoadParts(const std::vector<AxisSegments>& segments, const TileView& tile) {
    Combination chosen;
    ForEachCombination(segments, chosen, [&](const Combination& combination) {
      builder_.LoadInto(value_, SourceBox(combination), PartOf(tile, combination));
    });
  }

  // The input of the tile: copied axes as the range that they read, others as they stand in the
  // output.
  TileView LoadSource() {
    std::vector<AxisSegments> loaded = segments_;
    Extents extent = box_.extent;
    bool is_one_box = true;
    for (size_t axis = 0; axis < loaded.size(); ++axis) {
      if (copied_[axis]) {
        const Range range = SourceRange(segments_[axis]);
        loaded[axis] = {{0, range.extent, range.begin, 1}};
        extent[axis] = range.extent;
      }
      is_one_box = is_one_box && loaded[axis].size() == 1 && loaded[axis][0].count == extent[axis];
    }
    if (is_one_box) {  // tiles that repeat it need no second load
      Combination chosen;
      for (const AxisSegments& axis : loaded) chosen.push_back(axis[0]);
      return builder_.LoadHeld(value_, SourceBox(chosen), "input");
    }
    const TileView source = builder_.NewTile(dtype_, extent, "input");
    LoadParts(loaded, source);
    return source;
  }

  void CopyParts(const TileView& source, const TileView& tile) {
    Combination chosen;
    ForEachCombination(segments_, chosen, [&](const Combination& combination) {
      TileView from = source;
      for (size_t axis = 0; axis < combination.size(); ++axis) {
        const AxisSegment& segment = combination[axis];
        from.extent[axis] = segment.count;
        if (copied_[axis]) {
          from.offset_bytes +=
              (segment.source - SourceRange(segments_[axis]).begin) * source.stride_bytes[axis];
          from.stride_bytes[axis] *= segment.step;
        } else {
          from.offset_bytes += segment.begin * source.stride_bytes[axis];
        }
      }
      builder_.Copy(PartOf(tile, combination), from);
    });
  }

  const ValueId value_;
  const ValueId result_;
  const DType dtype_;
  const Box& box_;
  TileBuilder& builder_;
  std::vector<AxisSegments> segments_;
  std::vector<bool> copied_;
  bool is_empty_ = false;  // nothing but fill
  bool has_fill_ = false;
};

}  // namespace

IterationSpace AxisMapSpace(const OpCall& call) { return AxisLoops(call.output().shape); }

TileCost AxisMapCost(const OpCall& call, const TileShape& tile, const AxisMap& map) {
  const Extents extent(tile.begin(), tile.end());
  TileCost cost;
  cost.scratchpad_bytes = TileBytes(call.output().dtype, extent) + TailBytes(call, extent);
  const std::vector<bool> copied = CopiedAxes(call, map);
  if (std::find(copied.begin(), copied.end(), true) == copied.end()) return cost;
  Extents loaded = extent;
  for (size_t axis = 0; axis < copied.size(); ++axis) {
    if (!copied[axis]) continue;
    loaded[axis] =
        LargestRange(map.axes[axis], call.output().shape[static_cast<int>(axis)], extent[axis]);
  }
  cost.scratchpad_bytes += TileBytes(call.input(0).dtype, loaded);
  return cost;
}

absl::Status LowerAxisMap(const OpCall& call, const TileShape& tile, const AxisMap& map,
                          TileBuilder& builder) {
  const std::vector<bool> copied = CopiedAxes(call, map);
  const ValueId result = call.node->outputs[0];
  ForEachTile(call.output().shape.extents(), tile, [&](const Box& box) {
    const TileView made = MappedTile(call, map, copied, box, builder).Emit(map.fill_pattern);
    builder.Store(result, box, EmitTail(*call.node, 0, box, made, builder));
  });
  return builder.status();
}

}  // namespace berth
