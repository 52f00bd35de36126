// `berth inspect --interference`: which slots of a memory need their bytes at the same time.
//
// An edge is a pair of slots whose intervals meet. Intervals are those that the memory was packed
// by: ops for the pool (everything that an op reads or writes is needed for as long as it runs),
// commands for scratchpad and accumulators. The graph is an interval graph: its heaviest clique is
// the set of slots that live at one step, and no plan can be lower than the bytes of that set.
// Cost: O(slots log slots) without the list of edges.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/inspect_plan.h"

namespace berth {

struct InterferenceNode {
  uint32_t slot = 0;
  uint32_t begin_step = 0, end_step = 0;  // half open
  int64_t size_bytes = 0;
};

struct Interference {
  MemorySpace space = MemorySpace::kDram;
  std::vector<InterferenceNode> nodes;  // slots of the memory, in their order
  int64_t edge_count = 0;
  std::vector<uint32_t> clique;  // positions among `nodes`, largest first
  int64_t clique_bytes = 0;
  uint32_t clique_step = 0;  // the first at which it lives

  double Density() const;  // edges over pairs
};

Interference FindInterference(const InspectedPlan& plan, MemorySpace space);

// Pairs (a, b) with a < b of positions among `nodes`, ascending. O(edges log edges).
std::vector<std::pair<uint32_t, uint32_t>> ListEdges(const Interference& graph);

// The height that no plan of these nodes can be below when all stand at multiples of `alignment`:
// at each step all live slots but the topmost take their sizes rounded up.
int64_t AlignedBound(const Interference& graph, int64_t alignment_bytes);

// How the clique's bytes come to the bound of the plan: "equal to ...", or what makes up the
// difference.
std::string CompareWithBound(const Interference& graph, const MemoryPlan& plan);

// "op 3 'conv'", "command 12 of op 3 'conv'": a step of the memory's intervals.
std::string StepText(const InspectedPlan& plan, MemorySpace space, uint32_t step);

std::string InterferenceText(const InspectedPlan& plan);
nlohmann::ordered_json InterferenceJson(const InspectedPlan& plan);

}  // namespace berth
