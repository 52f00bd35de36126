// Which commands must follow which on the host: true conflicts only (a common byte, at least one
// write), whatever the engine. Simulated queues run in order; the host may run any commands that
// the graph leaves unordered.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "npu_sim/program.h"

namespace berth {

// For each command the earlier commands that it conflicts with, without those that are implied: by
// a later full overwrite of the same bytes, or by the other edges as far as npu_sim/ancestors.h
// knows them. Ascending, no repeats.
struct Hazards {
  std::vector<uint32_t> begin;         // size commands + 1
  std::vector<uint32_t> predecessors;  // predecessors[begin[i] .. begin[i+1]) of command i

  absl::Span<const uint32_t> Of(size_t command) const {
    return absl::MakeConstSpan(predecessors)
        .subspan(begin[command], begin[command + 1] - begin[command]);
  }
};

// Cost: O(accesses x records per granule). A program in which nearly every two accesses have to be
// compared gets so far that the steps stay within a bound by the number of commands; what is left
// of it is ordered as it stands, each command after all before it.
Hazards ComputeHazards(const ProgramView& program);

// The same edges turned round, ready for a counting executor.
struct ConflictGraphView {
  absl::Span<const uint32_t> predecessor_count;  // per command
  absl::Span<const uint32_t> successor_begin;    // size commands + 1
  absl::Span<const uint32_t> successors;
};
struct ConflictGraph {
  std::vector<uint32_t> predecessor_count;
  std::vector<uint32_t> successor_begin;
  std::vector<uint32_t> successors;
  ConflictGraphView view() const { return {predecessor_count, successor_begin, successors}; }
};
ConflictGraph BuildConflictGraph(const Hazards& hazards);

// Two commands that conflict, `earlier` before `later` in the program.
struct Unordered {
  uint32_t earlier = 0, later = 0;
  bool operator==(const Unordered&) const = default;
};
// Whether `graph`, whose counts and ranges are right, orders all conflicts of `program`: the first
// one that it does not, by an edge or by a path as far as npu_sim/ancestors.h knows it, so that the
// graph of ComputeHazards and every one with more edges pass. Far quicker than finding the edges
// anew: of accesses that are ordered it compares no bytes. Where ComputeHazards gives up, the
// edges that it then gives must be there.
std::optional<Unordered> FindUnordered(const ProgramView& program, const ConflictGraphView& graph);

}  // namespace berth
