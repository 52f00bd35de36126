#include "tools/inspect_interference.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/checked_math.h"
#include "tools/report_text.h"

namespace berth {
namespace {

constexpr int64_t kEdgeLimit = 100000;       // of the list in JSON
constexpr int64_t kLargestAlignment = 4096;  // that the bound is explained by
constexpr size_t kCliqueShown = 40;          // lines of text

std::string_view StepUnit(MemorySpace space) {
  return space == MemorySpace::kDram ? "op" : "command";
}

// Calls begin(node) and end(node) in the order of steps, ends first. Nodes that never live are left
// out.
template <typename Begin, typename End>
void Sweep(const Interference& graph, Begin&& begin, End&& end) {
  std::vector<uint32_t> begins, ends;
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].begin_step < graph.nodes[n].end_step) begins.push_back(n);
  }
  ends = begins;
  const auto by = [&](uint32_t InterferenceNode::*step) {
    return [&graph, step](uint32_t a, uint32_t b) {
      return graph.nodes[a].*step < graph.nodes[b].*step;
    };
  };
  std::stable_sort(begins.begin(), begins.end(), by(&InterferenceNode::begin_step));
  std::stable_sort(ends.begin(), ends.end(), by(&InterferenceNode::end_step));
  size_t ended = 0;
  for (const uint32_t n : begins) {
    while (graph.nodes[ends[ended]].end_step <= graph.nodes[n].begin_step) end(ends[ended++]);
    begin(n);
  }
}

void FindClique(Interference& graph) {
  int64_t live_nodes = 0, live_bytes = 0;
  const auto begin = [&](uint32_t n) {
    graph.edge_count += live_nodes++;
    live_bytes += graph.nodes[n].size_bytes;
    if (live_bytes <= graph.clique_bytes) return;
    graph.clique_bytes = live_bytes;
    graph.clique_step = graph.nodes[n].begin_step;
  };
  const auto end = [&](uint32_t n) {
    --live_nodes;
    live_bytes -= graph.nodes[n].size_bytes;
  };
  Sweep(graph, begin, end);
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const InterferenceNode& node = graph.nodes[n];
    if (node.begin_step <= graph.clique_step && graph.clique_step < node.end_step) {
      graph.clique.push_back(n);
    }
  }
  std::stable_sort(graph.clique.begin(), graph.clique.end(), [&](uint32_t a, uint32_t b) {
    return graph.nodes[a].size_bytes > graph.nodes[b].size_bytes;
  });
}

std::string GraphText(const InspectedPlan& plan, MemorySpace space) {
  const std::string_view memory = SpaceMemoryName(space);
  const Interference graph = FindInterference(plan, space);
  if (graph.nodes.empty()) return fmt::format("Interference in the {}: no slots\n", memory);
  std::string text = fmt::format(
      "Interference in the {}: {} slots, {} pairs that live at the same {} (density {:.4f})\n"
      "  heaviest clique: {} bytes in {} slots, at {}\n",
      memory, graph.nodes.size(), graph.edge_count, StepUnit(space), graph.Density(),
      graph.clique_bytes, graph.clique.size(), StepText(plan, space, graph.clique_step));
  if (const MemoryPlan* bound = plan.Memory(memory)) {
    text += fmt::format("  {}\n", CompareWithBound(graph, *bound));
  }
  for (size_t i = 0; i < graph.clique.size() && i < kCliqueShown; ++i) {
    const InterferenceNode& node = graph.nodes[graph.clique[i]];
    text += fmt::format("  {:>12} bytes  slot {:<6} {}s [{}, {})  {}\n", node.size_bytes, node.slot,
                        StepUnit(space), node.begin_step, node.end_step,
                        Shown(plan.SlotName(node.slot)));
  }
  if (graph.clique.size() > kCliqueShown) {
    text += fmt::format("  and {} smaller ones\n", graph.clique.size() - kCliqueShown);
  }
  return text;
}

nlohmann::ordered_json NodesJson(const InspectedPlan& plan, const Interference& graph) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const InterferenceNode& node : graph.nodes) {
    const Slot& slot = plan.program().slots[node.slot];
    const OpRange& ops = plan.slot_ops[node.slot];
    list.push_back({{"slot", node.slot},
                    {"name", plan.SlotName(node.slot)},
                    {"offset_bytes", slot.offset_bytes},
                    {"size_bytes", slot.size_bytes},
                    {"begin_op", ops.begin},
                    {"end_op", ops.end},
                    {"begin_command", slot.begin_command},
                    {"end_command", slot.end_command}});
  }
  return list;
}

nlohmann::ordered_json CliqueJson(const InspectedPlan& plan, const Interference& graph) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const uint32_t n : graph.clique) {
    const InterferenceNode& node = graph.nodes[n];
    list.push_back({{"node", n},
                    {"slot", node.slot},
                    {"name", plan.SlotName(node.slot)},
                    {"size_bytes", node.size_bytes}});
  }
  return list;
}

nlohmann::ordered_json GraphJson(const InspectedPlan& plan, MemorySpace space) {
  const std::string_view memory = SpaceMemoryName(space);
  const Interference graph = FindInterference(plan, space);
  nlohmann::ordered_json json = {{"memory", memory},
                                 {"step", StepUnit(space)},
                                 {"node_count", graph.nodes.size()},
                                 {"edge_count", graph.edge_count},
                                 {"density", graph.Density()},
                                 {"clique_bytes", graph.clique_bytes},
                                 {"clique_step", graph.clique_step}};
  if (const MemoryPlan* bound = plan.Memory(memory)) {
    json["lower_bound_bytes"] = bound->lower_bound_bytes;
    json["lower_bound_explained"] = CompareWithBound(graph, *bound);
  }
  json["clique"] = CliqueJson(plan, graph);
  if (space != MemorySpace::kDram) return json;  // a summary
  json["nodes"] = NodesJson(plan, graph);
  const bool listed = graph.edge_count <= kEdgeLimit;
  json["edges"] = listed ? nlohmann::ordered_json(ListEdges(graph)) : nlohmann::ordered_json();
  if (!listed) {
    json["edges_left_out"] = fmt::format("more than {} edges are not listed", kEdgeLimit);
  }
  return json;
}

}  // namespace

double Interference::Density() const {
  const auto count = static_cast<double>(nodes.size());
  return nodes.size() < 2 ? 0.0 : static_cast<double>(edge_count) / (count * (count - 1) / 2);
}

Interference FindInterference(const InspectedPlan& plan, MemorySpace space) {
  Interference graph;
  graph.space = space;
  for (uint32_t s = 0; s < plan.program().slots.size(); ++s) {
    const Slot& slot = plan.program().slots[s];
    if (slot.space != space) continue;
    const OpRange& ops = plan.slot_ops[s];
    const bool by_op = space == MemorySpace::kDram;
    graph.nodes.push_back({s, by_op ? ops.begin : slot.begin_command,
                           by_op ? ops.end : slot.end_command, slot.size_bytes});
  }
  FindClique(graph);
  return graph;
}

std::vector<std::pair<uint32_t, uint32_t>> ListEdges(const Interference& graph) {
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  std::set<uint32_t> live;
  const auto begin = [&](uint32_t n) {
    for (const uint32_t other : live) edges.push_back({std::min(n, other), std::max(n, other)});
    live.insert(n);
  };
  Sweep(graph, begin, [&](uint32_t n) { live.erase(n); });
  std::sort(edges.begin(), edges.end());
  return edges;
}

int64_t AlignedBound(const Interference& graph, int64_t alignment_bytes) {
  int64_t bound = 0, stacked = 0;
  std::map<int64_t, int64_t> padding_counts;  // of the live slots: the topmost saves the largest
  const auto padding = [&](uint32_t n) {
    return AlignUp(graph.nodes[n].size_bytes, alignment_bytes) - graph.nodes[n].size_bytes;
  };
  const auto begin = [&](uint32_t n) {
    stacked += AlignUp(graph.nodes[n].size_bytes, alignment_bytes);
    ++padding_counts[padding(n)];
    bound = std::max(bound, stacked - padding_counts.rbegin()->first);
  };
  const auto end = [&](uint32_t n) {
    stacked -= AlignUp(graph.nodes[n].size_bytes, alignment_bytes);
    const auto at = padding_counts.find(padding(n));
    if (--at->second == 0) padding_counts.erase(at);
  };
  Sweep(graph, begin, end);
  return bound;
}

std::string CompareWithBound(const Interference& graph, const MemoryPlan& plan) {
  const int64_t bound_bytes = plan.lower_bound_bytes;
  if (graph.clique_bytes == bound_bytes) {
    return fmt::format("equal to the plan's lower bound (height {}, {})", plan.height_bytes,
                       PlanStatusName(plan.status));
  }
  const std::string bound = fmt::format("the plan's lower bound is {} (height {}, {})", bound_bytes,
                                        plan.height_bytes, PlanStatusName(plan.status));
  for (int64_t alignment = 2; alignment <= kLargestAlignment; alignment *= 2) {
    if (AlignedBound(graph, alignment) != bound_bytes) continue;
    return fmt::format("{}: {} bytes more, since every slot begins at a multiple of {}", bound,
                       bound_bytes - graph.clique_bytes, alignment);
  }
  if (bound_bytes > graph.clique_bytes && bound_bytes == plan.height_bytes) {
    return fmt::format("{}: {} bytes more, since the search proved that no lower plan exists",
                       bound, bound_bytes - graph.clique_bytes);
  }
  return fmt::format("{}: it differs by {} bytes, which neither alignment nor the search explains",
                     bound, bound_bytes - graph.clique_bytes);
}

std::string StepText(const InspectedPlan& plan, MemorySpace space, uint32_t step) {
  if (space == MemorySpace::kDram) return fmt::format("op {} {}", step, Shown(plan.OpName(step)));
  if (step >= plan.program().commands.size()) return fmt::format("command {}", step);
  return fmt::format("command {} of op {}", step,
                     Shown(plan.OpName(plan.program().commands[step].op)));
}

std::string InterferenceText(const InspectedPlan& plan) {
  std::string text;
  for (const MemorySpace space : kViewedSpaces) text += GraphText(plan, space);
  return text;
}

nlohmann::ordered_json InterferenceJson(const InspectedPlan& plan) {
  nlohmann::ordered_json json;
  for (const MemorySpace space : kViewedSpaces) {
    json[std::string(SpaceMemoryName(space))] = GraphJson(plan, space);
  }
  return json;
}

}  // namespace berth
