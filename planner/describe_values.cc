#include "planner/describe_values.h"

#include <algorithm>

#include "planner/schedule/lower.h"
#include "planner/storage/overlap.h"

namespace berth {
namespace {

uint16_t RegionOf(const Graph& graph, const StorageBuffer& buffer) {
  if (buffer.kind == RegionKind::kInput) return InputRegion(buffer.index);
  if (buffer.kind == RegionKind::kOutput) return OutputRegion(graph, buffer.index);
  return kPoolRegion;
}

bool IsDescribed(const StoragePlan& storage, size_t value) {
  const int buffer = storage.places[value].buffer;
  if (buffer < 0) return false;
  const StorageBuffer& described = storage.buffers[static_cast<size_t>(buffer)];
  return described.kind != RegionKind::kConstants && described.home == StorageHome::kDram;
}

}  // namespace

std::vector<ValueInfo> DescribeValues(const Graph& graph, const StoragePlan& storage,
                                      const std::vector<uint32_t>& pool_slots) {
  const GraphUses uses = ComputeUses(graph);
  const auto op_count = static_cast<int64_t>(graph.nodes.size());
  std::vector<int32_t> position(graph.values.size(), -1);
  int32_t count = 0;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (IsDescribed(storage, v)) position[v] = count++;
  }
  std::vector<ValueInfo> infos;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (position[v] < 0) continue;
    const StoragePlace& place = storage.places[v];
    const StorageOrigin& origin = storage.origins[v];
    const StorageBuffer& buffer = storage.buffers[static_cast<size_t>(place.buffer)];
    ValueInfo info;
    info.name = graph.values[v].name;
    info.type = graph.values[v].type;
    info.storage = origin.how;
    if (origin.source != ValueId::kNone) info.source = position[Index(origin.source)];
    info.region = RegionOf(graph, buffer);
    info.slot = pool_slots[static_cast<size_t>(place.buffer)];
    info.offset_bytes = buffer.offset_bytes + place.offset_bytes;
    info.span_bytes = SpanBytes(info.type, place.stride_bytes);
    const int64_t begin = std::max(uses.producer[v], 0);
    info.begin_op = static_cast<uint32_t>(begin);
    info.end_op = static_cast<uint32_t>(
        std::max(std::min<int64_t>(storage.last_use[v], op_count - 1), begin) + 1);
    if (op_count == 0) info.end_op = 0;
    info.note = origin.note;
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace berth
