// Inputs to calibrate a quantizer with: from files, or drawn.
#pragma once

#include <string>
#include <vector>

#include "planner/quantize/run_graph.h"

namespace berth {

// DIR is a case or a folder of cases (tools/cases.h: input_0.npy, input_1.npy, ...), or holds .npy
// files, one input each, for a model of one input. At most `limit` of them (0: all).
absl::StatusOr<std::vector<Sample>> ReadSamples(const std::string& directory, int limit);

// The samples as the graph's inputs: an array may lack a leading axis of 1, or hold several samples
// along its first axis. Those that do not fit are errors (with the file, its type and the type that
// is wanted), or left out with `skip_others`.
absl::StatusOr<std::vector<Sample>> FitSamples(const Graph& graph,
                                               const std::vector<Sample>& samples, int limit,
                                               bool skip_others);

// `count` samples: floats uniform in [low, high), integers 0 to 9; the same for the same seed.
std::vector<Sample> DrawSamples(const Graph& graph, int count, uint64_t seed, float low,
                                float high);

}  // namespace berth
