// One run of a dynamic program: what is known is lowered (or was, for these shapes) and runs on the
// machine; where a value decides how it goes on, the run goes on from that value.
//
//   run(graph, inputs):
//     specialization of the graph for the inputs' types -> program of the known part -> run it
//     nothing left: done
//     the first node that waits
//       is control flow: run its bodies, as often as they are to run
//       reads short lists that decide shapes, and much data: the rest again, these values known
//       otherwise (little data, or a result as long as the data say): computed on the host engine
//     -> run(what is behind that node, its inputs)
#pragma once

#include <memory>
#include <vector>

#include "berth/context.h"
#include "runtime/dynamic/dynamic_program.h"

namespace berth {

// A value while a run goes on: the caller's, a constant, or bytes of the pool.
struct RunValue {
  TensorType type;
  const std::byte* data = nullptr;
  std::shared_ptr<const void> owner;  // null: the caller's
  std::shared_ptr<Tensor> result;     // set: the bytes are this tensor's, which may be the caller's

  ConstTensorView view() const { return {type, data}; }
};

// All of the tensor, which it owns.
RunValue ValueOf(std::shared_ptr<const Tensor> tensor);

// Where a run takes place.
struct RunPlace {
  std::byte* scratchpad = nullptr;  // as large as the machine's
  std::byte* accumulator = nullptr;
  bool poison = false;
  WorkerSource workers;
  StopConditions stop;
  const FaultInjection* fault = nullptr;
  SanitizerReport* sanitizer = nullptr;  // set: programs run under the sanitizer
};

class DynamicRun {
 public:
  DynamicRun(DynamicProgram& program, const RunPlace& place, RunMode mode)
      : program_(program), place_(place), mode_(mode) {}

  absl::StatusOr<std::vector<RunValue>> Run(const std::shared_ptr<const Graph>& graph,
                                            std::vector<RunValue> inputs);
  const SimReport& report() const { return report_; }

 private:
  using Values = std::vector<RunValue>;

  absl::StatusOr<Values> RunBound(const std::shared_ptr<const Graph>& graph, const Values& inputs,
                                  const std::vector<bool>& known);
  absl::StatusOr<Values> RunRest(const GraphSplit& split, const Values& inputs);
  absl::StatusOr<Values> RunPart(Specialization& specialization, const Values& inputs);
  absl::Status RunProgram(const Program& program, const Values& inputs, const Values& outputs);
  // run_control_flow.cc: one of the three, with its captures behind its operands.
  absl::StatusOr<Values> RunControlFlow(const Node& node, const Values& operands);
  absl::StatusOr<Values> RunIf(const Node& node, const Values& operands);
  absl::StatusOr<Values> RunLoop(const Node& node, const Values& operands);
  absl::StatusOr<Values> RunScan(const Node& node, const Values& operands);
  absl::StatusOr<RunValue> Stack(const Values& slices, int axis, bool is_reversed,
                                 const Value& declared);
  // `bytes`: of operands and results.
  absl::StatusOr<Values> RunOnHost(const Graph& graph, const Node& node, const Values& operands,
                                   int64_t bytes);
  // Bytes of the pool.
  absl::StatusOr<RunValue> NewValue(const TensorType& type);
  // A tensor of its own, for what the caller gets.
  absl::StatusOr<RunValue> NewResult(const TensorType& type);
  absl::Status CountStep();

  DynamicProgram& program_;
  const RunPlace& place_;
  const RunMode mode_;
  SimReport report_;
  int64_t steps_ = 0;
  int depth_ = 0;  // of bodies
};

}  // namespace berth
