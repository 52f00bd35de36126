// What stays in scratchpad between ops, and which ops are computed together, part by part.
#pragma once

#include <vector>

#include "kernels/graph.h"

namespace berth {

// Consecutive steps. With several parts every op of the segment computes the rows (axis 1) of its
// output that one part needs before any computes the next, so that values between them need never
// exist whole: a cascade, or depth-first execution.
struct Segment {
  int begin_step = 0, end_step = 0;  // half open
  int parts = 1;
  // Rows of so many further parts fit into the buffer of a value before those that are still needed
  // are copied to a fresh one: fewer copies for more bytes.
  int spare_parts = 0;
  // The matrix unit works on rows that the vector unit finished in the part before, so that neither
  // waits for the other.
  bool is_skewed = false;
  // Rows that are still needed move to the beginning of their own buffer instead of to a fresh one:
  // the fewest bytes, but who reads the rows and who makes the next must wait for each other.
  bool moves_in_place = false;
  bool is_striped() const { return parts > 1; }
  friend bool operator==(const Segment&, const Segment&) = default;
};

// Invariants (VerifyOnChipPlan): the segments cover the steps in order without gaps; a segment of
// one part is one step; inputs, outputs and constants of the graph are not resident.
struct OnChipPlan {
  std::vector<Segment> segments;
  std::vector<bool> resident;  // per value: whole in scratchpad for its life

  friend bool operator==(const OnChipPlan&, const OnChipPlan&) = default;
};

// Every op for itself, every value in DRAM.
OnChipPlan NothingOnChip(const Graph& graph);

absl::Status VerifyOnChipPlan(const Graph& graph, const OnChipPlan& plan);

// Position in plan.segments of every step.
std::vector<int> SegmentOfSteps(const OnChipPlan& plan);

}  // namespace berth
