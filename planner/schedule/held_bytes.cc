// What a striped segment keeps in scratchpad besides its tiles.
#include <algorithm>

#include "base/checked_math.h"
#include "planner/schedule/bands.h"

namespace berth {

std::vector<ValueId> HeldWeights(const Graph& graph, const StoragePlan& storage,
                                 const Segment& segment) {
  std::vector<ValueId> weights;
  for (int step = segment.begin_step; step < segment.end_step; ++step) {
    const Node& node = graph.nodes[static_cast<size_t>(step)];
    if (storage.nodes[static_cast<size_t>(step)] == NodeStorage::kView) continue;
    if (node.kind != OpKind::kConv && node.kind != OpKind::kConvTranspose) continue;
    if (graph.at(node.inputs[1]).constant == nullptr) continue;
    if (std::find(weights.begin(), weights.end(), node.inputs[1]) == weights.end()) {
      weights.push_back(node.inputs[1]);
    }
  }
  return weights;
}

int64_t HeldWeightBytes(const Graph& graph, const StoragePlan& storage, const Segment& segment) {
  int64_t bytes = 0;
  for (const ValueId id : HeldWeights(graph, storage, segment)) {
    bytes += AlignUp(graph.at(id).type.ByteCount(), 64);
  }
  return bytes;
}

int64_t HeldBytes(const Graph& graph, const StoragePlan& storage, const BandPlan& plan,
                  const Segment& segment) {
  int64_t band_bytes = 0, largest_bytes = 0;
  for (const Band& band : plan.bands) {
    const int64_t bytes = AlignUp(band.buffer_bytes(), 64);
    band_bytes += bytes;
    if (band.buffer_rows < band.rows && !segment.moves_in_place)
      largest_bytes = std::max(largest_bytes, bytes);
  }
  return HeldWeightBytes(graph, storage, segment) + band_bytes + largest_bytes;
}

}  // namespace berth
