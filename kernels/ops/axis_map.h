// Ops that pick, repeat or reverse elements axis by axis: element [i0, i1, ...] of the output is
// element [f0(i0), f1(i1), ...] of the input, or a constant where some f has no value (a pad). Each
// op gives the f of its axes; the lowering is shared.
//
// Every f is piecewise affine: a list of segments in ascending order of output position. Where an
// output position belongs to no segment the element is the fill value.
//
// Lowering of a tile: outer axes are picked by DMA itself (strided boxes, one per combination of
// segments); axes whose runs would be shorter than a DMA burst's worth, or that repeat elements,
// are loaded whole and picked by the vector unit's copies inside the scratchpad.
#pragma once

#include <vector>

#include "kernels/op_def.h"

namespace berth {

// Output positions [begin, begin + count) are source, source + step, ...
struct AxisSegment {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t source = 0;
  int64_t step = 1;  // 0 repeats, negative walks back
};
using AxisSegments = std::vector<AxisSegment>;

struct AxisMap {
  std::vector<AxisSegments> axes;  // one entry per axis; input and output have the same rank
  uint64_t fill_pattern = 0;       // one element, in the low bytes
};
using AxisMapRule = absl::StatusOr<AxisMap> (*)(const OpCall& call);

// The shared rules; `map` of the op is passed on.
IterationSpace AxisMapSpace(const OpCall& call);
TileCost AxisMapCost(const OpCall& call, const TileShape& tile, const AxisMap& map);
absl::Status LowerAxisMap(const OpCall& call, const TileShape& tile, const AxisMap& map,
                          TileBuilder& builder);

// The maps of the ops that use it (the references read them too).
absl::StatusOr<AxisMap> SliceMap(const OpCall& call);
absl::StatusOr<AxisMap> PadMap(const OpCall& call);
absl::StatusOr<AxisMap> ExpandMap(const OpCall& call);

}  // namespace berth
