// States of a bundle: which inputs and outputs a context binds itself, and which are the caller's.
#pragma once

#include <vector>

#include "base/status.h"
#include "runtime/bundle/contents.h"

namespace berth {

// What stands behind input or output i of the program.
struct TensorBinding {
  bool is_state = false;
  size_t position = 0;  // among the states, or among the caller's tensors
};

// Inputs and outputs as the caller sees them, and where each of the program's belongs.
struct CallersInterface {
  std::vector<TensorInfo> inputs, outputs;
  std::vector<TensorBinding> input_bindings, output_bindings;  // of each of the program's
};
CallersInterface InterfaceOf(const BundleContents& info);

const TensorType& StateType(const BundleContents& info, const StateInfo& state);
// Of all states, each buffer aligned as contexts hold it; there are two of each.
int64_t StateBytes(const BundleContents& info);
inline constexpr int64_t kStateAlignmentBytes = 64;

// DataLoss: positions out of range or bound twice, types that differ, initial values of no fitting
// size.
absl::Status CheckStates(const BundleContents& info);

// The initial value as a StateInfo holds it: nothing for zeros, one element where all are the same.
std::vector<std::byte> PackInitial(const ConstTensorView& initial);
// Fills the buffer of a state with its initial value.
void FillInitial(const StateInfo& state, const TensorView& buffer);

}  // namespace berth
