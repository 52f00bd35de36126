#include "runtime/dynamic/body.h"

#include <cstring>

namespace berth {
namespace {

// A tensor as [outer, axis, inner bytes].
struct Planes {
  int64_t outer = 1, axis_count = 1, inner_bytes = 1;
};

Planes PlanesOf(const TensorType& type, int axis) {
  return {type.shape.Product(0, axis), type.shape[axis],
          type.shape.Product(axis + 1, type.shape.rank()) * DTypeBytes(type.dtype)};
}

absl::StatusOr<std::vector<ScanSequence>> ReadSequences(const Node& node, std::string_view side,
                                                        size_t count) {
  const std::vector<int64_t> axes = node.attributes.Ints(fmt::format("scan_{}_axes", side));
  const std::vector<int64_t> directions =
      node.attributes.Ints(fmt::format("scan_{}_directions", side));
  if ((!axes.empty() && axes.size() != count) ||
      (!directions.empty() && directions.size() != count)) {
    return InvalidArgument("{} axes and {} directions for {} {} sequences", axes.size(),
                           directions.size(), count, side);
  }
  std::vector<ScanSequence> sequences(count);
  for (size_t i = 0; i < count; ++i) {
    if (!axes.empty()) sequences[i].axis = static_cast<int>(axes[i]);
    if (!directions.empty()) sequences[i].is_reversed = directions[i] != 0;
  }
  return sequences;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Graph>> BodyOf(const Node& node, std::string_view attribute,
                                                    size_t input_count) {
  const auto found = node.attributes.values().find(attribute);
  const auto* body =
      found == node.attributes.values().end() ? nullptr : std::get_if<BodyGraph>(&found->second);
  if (body == nullptr) return InvalidArgument("it has no graph '{}'", attribute);
  if (body->graph->inputs.size() != input_count) {
    return InvalidArgument("its '{}' has {} inputs, {} are given", attribute,
                           body->graph->inputs.size(), input_count);
  }
  return body->graph;
}

absl::StatusOr<size_t> CaptureCount(const Node& node) {
  const int64_t count = node.attributes.Int("captures", 0);
  if (count < 0 || count > static_cast<int64_t>(node.inputs.size())) {
    return InvalidArgument("{} of {} inputs are captured", count, node.inputs.size());
  }
  return static_cast<size_t>(count);
}

absl::StatusOr<int64_t> ScalarOf(const ConstTensorView& view, std::string_view what) {
  if (view.type.shape.ElementCount() != 1) {
    return InvalidArgument("{} is {}, one value is expected", what, view.type.ToString());
  }
  auto values = ToInt64Values(view);
  if (!values.ok()) return Annotate(values.status(), what);
  return (*values)[0];
}

absl::StatusOr<ScanForm> ReadScan(const Node& node, const Graph& body,
                                  absl::Span<const ConstTensorView> inputs) {
  const int64_t scanned = node.attributes.Int("num_scan_inputs", 0);
  if (scanned < 1 || scanned > static_cast<int64_t>(inputs.size())) {
    return InvalidArgument("{} of {} inputs are sequences", scanned, inputs.size());
  }
  ScanForm form;
  form.state_count = inputs.size() - static_cast<size_t>(scanned);
  if (body.outputs.size() < form.state_count || node.outputs.size() > body.outputs.size()) {
    return InvalidArgument("its body has {} outputs, the node {}, of {} states",
                           body.outputs.size(), node.outputs.size(), form.state_count);
  }
  BERTH_ASSIGN_OR_RETURN(form.inputs, ReadSequences(node, "input", static_cast<size_t>(scanned)));
  BERTH_ASSIGN_OR_RETURN(form.outputs,
                         ReadSequences(node, "output", body.outputs.size() - form.state_count));
  for (size_t i = 0; i < form.inputs.size(); ++i) {
    const Shape& shape = inputs[form.state_count + i].type.shape;
    BERTH_ASSIGN_OR_RETURN(form.inputs[i].axis, NormalizeAxis(form.inputs[i].axis, shape.rank()));
    const int64_t length = shape[form.inputs[i].axis];
    if (i > 0 && length != form.length) {
      return InvalidArgument("sequence {} is {} long, the first {}", i, length, form.length);
    }
    form.length = length;
  }
  return form;
}

void CopySliceOut(const ConstTensorView& whole, int axis, int64_t position, std::byte* slice) {
  const Planes planes = PlanesOf(whole.type, axis);
  const auto bytes = static_cast<size_t>(planes.inner_bytes);
  for (int64_t outer = 0; bytes > 0 && outer < planes.outer; ++outer) {
    std::memcpy(slice + outer * planes.inner_bytes,
                whole.data + (outer * planes.axis_count + position) * planes.inner_bytes, bytes);
  }
}

void CopySliceIn(const ConstTensorView& slice, int axis, int64_t position,
                 const TensorView& whole) {
  const Planes planes = PlanesOf(whole.type, axis);
  const auto bytes = static_cast<size_t>(planes.inner_bytes);
  for (int64_t outer = 0; bytes > 0 && outer < planes.outer; ++outer) {
    std::memcpy(whole.data + (outer * planes.axis_count + position) * planes.inner_bytes,
                slice.data + outer * planes.inner_bytes, bytes);
  }
}

}  // namespace berth
