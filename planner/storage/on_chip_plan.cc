#include "planner/storage/on_chip_plan.h"

namespace berth {

OnChipPlan NothingOnChip(const Graph& graph) {
  OnChipPlan plan;
  for (int step = 0; step < static_cast<int>(graph.nodes.size()); ++step) {
    plan.segments.push_back({step, step + 1, 1});
  }
  plan.resident.assign(graph.values.size(), false);
  return plan;
}

absl::Status VerifyOnChipPlan(const Graph& graph, const OnChipPlan& plan) {
  int next = 0;
  for (const Segment& segment : plan.segments) {
    if (segment.begin_step != next || segment.end_step <= segment.begin_step || segment.parts < 1 ||
        (!segment.is_striped() && segment.end_step != segment.begin_step + 1)) {
      return Internal("segment [{}, {}) in {} parts after step {}", segment.begin_step,
                      segment.end_step, segment.parts, next);
    }
    next = segment.end_step;
  }
  if (next != static_cast<int>(graph.nodes.size())) {
    return Internal("segments end with step {} of {}", next, graph.nodes.size());
  }
  if (plan.resident.size() != graph.values.size()) {
    return Internal("{} values are planned of {}", plan.resident.size(), graph.values.size());
  }
  const auto is_resident = [&](ValueId id) { return plan.resident[Index(id)]; };
  for (const std::vector<ValueId>* ids : {&graph.inputs, &graph.outputs}) {
    for (const ValueId id : *ids) {
      if (is_resident(id)) return Internal("'{}' is the caller's, not resident", graph.at(id).name);
    }
  }
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (plan.resident[i] && graph.values[i].constant != nullptr) {
      return Internal("constant '{}' is resident", graph.values[i].name);
    }
  }
  return absl::OkStatus();
}

std::vector<int> SegmentOfSteps(const OnChipPlan& plan) {
  std::vector<int> segment_of;
  for (size_t i = 0; i < plan.segments.size(); ++i) {
    segment_of.resize(static_cast<size_t>(plan.segments[i].end_step), static_cast<int>(i));
  }
  return segment_of;
}

}  // namespace berth
