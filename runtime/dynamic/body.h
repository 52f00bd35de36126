// The operands and results of If, Loop and Scan, apart from the running of their bodies.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "kernels/graph.h"

namespace berth {

// The graph of an attribute; InvalidArgument where there is none, or where it has not as many
// inputs as given.
absl::StatusOr<std::shared_ptr<const Graph>> BodyOf(const Node& node, std::string_view attribute,
                                                    size_t input_count);

// Inputs of the node that its bodies capture: its last ones.
absl::StatusOr<size_t> CaptureCount(const Node& node);

// A single number or bool.
absl::StatusOr<int64_t> ScalarOf(const ConstTensorView& view, std::string_view what);

// How the sequences of a Scan are walked.
struct ScanSequence {
  int axis = 0;
  bool is_reversed = false;
};
struct ScanForm {
  size_t state_count = 0;                     // of inputs and outputs, in front
  std::vector<ScanSequence> inputs, outputs;  // behind the states
  int64_t length = 0;                         // of all sequences
};
// `inputs` are the operands without captures.
absl::StatusOr<ScanForm> ReadScan(const Node& node, const Graph& body,
                                  absl::Span<const ConstTensorView> inputs);

// Slice `position` of `axis`, which the result has no more.
void CopySliceOut(const ConstTensorView& whole, int axis, int64_t position, std::byte* slice);
void CopySliceIn(const ConstTensorView& slice, int axis, int64_t position, const TensorView& whole);

}  // namespace berth
