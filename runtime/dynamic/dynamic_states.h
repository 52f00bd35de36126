// The states of a context over a dynamic program (docs/state.md): what a run gave for an output is
// what the next one reads as an input. A state is the block of the pool that the run wrote, so that
// nothing is copied, and its shape may change from run to run.
#pragma once

#include <optional>
#include <vector>

#include "runtime/dynamic/dynamic_run.h"

namespace berth {

class DynamicStates {
 public:
  // `program` outlives this.
  explicit DynamicStates(const Program& program);

  // As in a new context.
  void Reset();
  // The inputs of the graph in order, checked: the caller's and, between them, the states. Before
  // the first run a state is its initial value, or zeros of its declared shape, whose named
  // dimensions the caller's inputs decide; InvalidArgument where they do not.
  absl::StatusOr<std::vector<RunValue>> Inputs(absl::Span<const ConstTensorView> callers) const;
  // Keeps the states of a run that ended well; gives back the caller's outputs.
  std::vector<RunValue> Keep(std::vector<RunValue> results);

  // Empty where no run or caller gave a value yet.
  ConstTensorView value(size_t state) const;
  absl::Status Set(size_t state, const ConstTensorView& value);

 private:
  absl::StatusOr<RunValue> InitialOf(size_t state, absl::Span<const TensorType> callers) const;

  const Program& program_;
  std::vector<std::optional<RunValue>> values_;
};

}  // namespace berth
