// What the rules of Gather share.
#pragma once

#include <vector>

#include "kernels/op_def.h"

namespace berth {

struct GatherAxes {
  int axis = 0;
  int index_rank = 0;
  int64_t extent = 0;       // of the axis
  int64_t inner_bytes = 0;  // of what stands behind the axis
};

GatherAxes ResolveGather(const OpCall& call);
// The known indices as elements of the axis from its beginning; empty where they are not known.
std::vector<int64_t> KnownIndices(const OpCall& call);

IterationSpace GatherSpace(const OpCall& call);
TileCost GatherCost(const OpCall& call, const TileShape& tile);
absl::Status LowerGather(const OpCall& call, const TileShape& tile, TileBuilder& builder);

}  // namespace berth
