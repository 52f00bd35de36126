// If, Loop and Scan of a dynamic run: their bodies are graphs that run like the whole.
#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/control_flow.h"
#include "runtime/dynamic/body.h"
#include "runtime/dynamic/dynamic_run.h"

namespace berth {
namespace {

RunValue ScalarValue(DType dtype, int64_t number) {
  auto tensor = std::make_shared<Tensor>(TensorType{dtype, Shape{}});
  if (dtype == DType::kBool) {
    tensor->Values<bool>()[0] = number != 0;
  } else {
    tensor->Values<int64_t>()[0] = number;
  }
  return ValueOf(std::move(tensor));
}

// The results that the node names, in front of all that there are.
absl::StatusOr<std::vector<RunValue>> Named(const Node& node, std::vector<RunValue> results) {
  if (results.size() < node.outputs.size()) {
    return InvalidArgument("{} results, {} are expected", results.size(), node.outputs.size());
  }
  results.resize(node.outputs.size());
  return results;
}

}  // namespace

absl::StatusOr<std::vector<RunValue>> DynamicRun::RunControlFlow(
    const Node& node, const std::vector<RunValue>& operands) {
  BERTH_RETURN_IF_ERROR(CountStep());
  ++depth_;
  absl::StatusOr<std::vector<RunValue>> results = node.kind == kIfOp     ? RunIf(node, operands)
                                                  : node.kind == kLoopOp ? RunLoop(node, operands)
                                                                         : RunScan(node, operands);
  --depth_;
  if (results.ok()) results = Named(node, *std::move(results));
  if (results.ok()) return results;
  return Annotate(results.status(), fmt::format("{} '{}'", OpName(node.kind), node.name));
}

absl::StatusOr<std::vector<RunValue>> DynamicRun::RunIf(const Node& node,
                                                        const std::vector<RunValue>& operands) {
  if (operands.empty()) return InvalidArgument("it has no condition");
  BERTH_ASSIGN_OR_RETURN(const int64_t condition, ScalarOf(operands[0].view(), "the condition"));
  Values captures(operands.begin() + 1, operands.end());
  BERTH_ASSIGN_OR_RETURN(
      const std::shared_ptr<const Graph> branch,
      BodyOf(node, condition != 0 ? "then_branch" : "else_branch", captures.size()));
  return Run(branch, std::move(captures));
}

// What every iteration gave of one output, along a new first axis. Without an iteration the body
// tells the type as far as it is declared.
absl::StatusOr<RunValue> DynamicRun::Stack(const std::vector<RunValue>& slices, int axis,
                                           bool is_reversed, const Value& declared) {
  TensorType slice{declared.type.dtype, {}};
  if (!slices.empty()) slice = slices[0].type;
  if (slice.dtype == DType::kUndefined) {
    return InvalidArgument("'{}': without an iteration its type is not known", declared.name);
  }
  std::vector<int64_t> extents(slice.shape.begin(), slice.shape.end());
  if (slices.empty()) {
    for (const Dim& dim : declared.declared) extents.push_back(std::max<int64_t>(dim.extent, 0));
  }
  BERTH_ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, static_cast<int>(extents.size()) + 1));
  extents.insert(extents.begin() + at, static_cast<int64_t>(slices.size()));
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create(std::move(extents)));
  BERTH_ASSIGN_OR_RETURN(RunValue whole, NewValue({slice.dtype, std::move(shape)}));
  const TensorView view{whole.type, const_cast<std::byte*>(whole.data)};  // just made
  const auto count = static_cast<int64_t>(slices.size());
  for (int64_t i = 0; i < count; ++i) {
    const RunValue& one = slices[static_cast<size_t>(i)];
    if (one.type != slice) {
      return InvalidArgument("'{}' is {} in iteration {}, {} before", declared.name,
                             one.type.ToString(), i, slice.ToString());
    }
    CopySliceIn(one.view(), at, is_reversed ? count - 1 - i : i, view);
  }
  return whole;
}

absl::StatusOr<std::vector<RunValue>> DynamicRun::RunLoop(const Node& node,
                                                          const std::vector<RunValue>& operands) {
  BERTH_ASSIGN_OR_RETURN(const size_t capture_count, CaptureCount(node));
  if (operands.size() < capture_count + 2) return InvalidArgument("{} inputs", operands.size());
  BERTH_ASSIGN_OR_RETURN(const std::shared_ptr<const Graph> body,
                         BodyOf(node, "body", operands.size()));
  const size_t carried = operands.size() - capture_count - 2;
  if (body->outputs.size() < carried + 1) {
    return InvalidArgument("its body has {} outputs for {} carried values", body->outputs.size(),
                           carried);
  }
  int64_t trips = std::numeric_limits<int64_t>::max(), goes_on = 1;
  if (operands[0].type.dtype != DType::kUndefined) {
    BERTH_ASSIGN_OR_RETURN(trips, ScalarOf(operands[0].view(), "the trip count"));
  }
  if (operands[1].type.dtype != DType::kUndefined) {
    BERTH_ASSIGN_OR_RETURN(goes_on, ScalarOf(operands[1].view(), "the condition"));
  }
  Values state = operands;
  std::vector<Values> scanned(body->outputs.size() - carried - 1);
  for (int64_t i = 0; i < trips && goes_on != 0; ++i) {
    BERTH_RETURN_IF_ERROR(CountStep());
    state[0] = ScalarValue(DType::kInt64, i);
    state[1] = ScalarValue(DType::kBool, goes_on);
    auto results = Run(body, state);
    if (!results.ok()) return Annotate(results.status(), fmt::format("iteration {}", i));
    BERTH_ASSIGN_OR_RETURN(goes_on, ScalarOf((*results)[0].view(), "the condition"));
    for (size_t k = 0; k < carried; ++k) state[2 + k] = std::move((*results)[1 + k]);
    for (size_t k = 0; k < scanned.size(); ++k) {
      scanned[k].push_back(std::move((*results)[1 + carried + k]));
    }
  }
  Values outputs(state.begin() + 2, state.begin() + 2 + static_cast<ptrdiff_t>(carried));
  for (size_t k = 0; k < scanned.size(); ++k) {
    BERTH_ASSIGN_OR_RETURN(RunValue whole,
                           Stack(scanned[k], 0, false, body->at(body->outputs[1 + carried + k])));
    outputs.push_back(std::move(whole));
  }
  return outputs;
}

absl::StatusOr<std::vector<RunValue>> DynamicRun::RunScan(const Node& node,
                                                          const std::vector<RunValue>& operands) {
  BERTH_ASSIGN_OR_RETURN(const size_t capture_count, CaptureCount(node));
  BERTH_ASSIGN_OR_RETURN(const std::shared_ptr<const Graph> body,
                         BodyOf(node, "body", operands.size()));
  std::vector<ConstTensorView> views;
  for (size_t i = 0; i + capture_count < operands.size(); ++i) views.push_back(operands[i].view());
  BERTH_ASSIGN_OR_RETURN(const ScanForm form, ReadScan(node, *body, views));
  Values state = operands;
  std::vector<Values> scanned(form.outputs.size());
  for (int64_t i = 0; i < form.length; ++i) {
    BERTH_RETURN_IF_ERROR(CountStep());
    for (size_t k = 0; k < form.inputs.size(); ++k) {
      const ConstTensorView& whole = views[form.state_count + k];
      std::vector<int64_t> extents = whole.type.shape.extents();
      extents.erase(extents.begin() + form.inputs[k].axis);
      BERTH_ASSIGN_OR_RETURN(RunValue slice,
                             NewValue({whole.type.dtype, Shape(std::move(extents))}));
      CopySliceOut(whole, form.inputs[k].axis, form.inputs[k].is_reversed ? form.length - 1 - i : i,
                   const_cast<std::byte*>(slice.data));  // just made
      state[form.state_count + k] = std::move(slice);
    }
    auto results = Run(body, state);
    if (!results.ok()) return Annotate(results.status(), fmt::format("iteration {}", i));
    for (size_t k = 0; k < form.state_count; ++k) state[k] = std::move((*results)[k]);
    for (size_t k = 0; k < scanned.size(); ++k) {
      scanned[k].push_back(std::move((*results)[form.state_count + k]));
    }
  }
  Values outputs(state.begin(), state.begin() + static_cast<ptrdiff_t>(form.state_count));
  for (size_t k = 0; k < scanned.size(); ++k) {
    BERTH_ASSIGN_OR_RETURN(RunValue whole,
                           Stack(scanned[k], form.outputs[k].axis, form.outputs[k].is_reversed,
                                 body->at(body->outputs[form.state_count + k])));
    outputs.push_back(std::move(whole));
  }
  return outputs;
}

}  // namespace berth
