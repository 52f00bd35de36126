#include "planner/storage/views.h"

#include <algorithm>

#include "base/tensor.h"

namespace berth {

Extents DenseStrideBytes(const TensorType& type) {
  Extents strides;
  for (const int64_t stride : type.shape.DenseStrides()) {
    strides.push_back(stride * DTypeBytes(type.dtype));
  }
  return strides;
}

std::optional<Extents> ReshapeStrides(const Shape& from, const Extents& stride_bytes,
                                      const Shape& to) {
  // Both shapes are walked from the last axis in groups of equal element count; inside a group of
  // `from` the axes must be contiguous with one another.
  Extents result(static_cast<size_t>(to.rank()), 0);
  int i = from.rank() - 1, j = to.rank() - 1;
  while (i >= 0 || j >= 0) {
    while (i >= 0 && from[i] == 1) --i;
    if (i < 0) break;  // only extents of 1 are left on either side
    int64_t from_count = from[i], stride = stride_bytes[static_cast<size_t>(i)];
    int64_t expected = stride * from[i];
    int64_t to_count = 1;
    const int64_t unit = stride;
    while (to_count != from_count) {
      if (to_count < from_count) {
        if (j < 0) return std::nullopt;
        result[static_cast<size_t>(j)] = unit * to_count;
        to_count *= to[j--];
      } else {
        do {
          --i;
        } while (i >= 0 && from[i] == 1);
        if (i < 0 || stride_bytes[static_cast<size_t>(i)] != expected) return std::nullopt;
        from_count *= from[i];
        expected *= from[i];
      }
    }
    --i;
  }
  // What remains of `to` has extent 1: any stride serves.
  for (; j >= 0; --j) result[static_cast<size_t>(j)] = 0;
  for (int axis = to.rank() - 1; axis >= 0; --axis) {
    int64_t& stride = result[static_cast<size_t>(axis)];
    if (to[axis] == 1 && axis + 1 < to.rank()) {
      stride = result[static_cast<size_t>(axis + 1)] * to[axis + 1];
    }
  }
  return result;
}

bool IsDenseLayout(const TensorType& type, const Extents& stride_bytes) {
  const Extents dense = DenseStrideBytes(type);
  for (int axis = 0; axis < type.shape.rank(); ++axis) {
    const size_t a = static_cast<size_t>(axis);
    if (type.shape[axis] != 1 && stride_bytes[a] != dense[a]) return false;
  }
  return true;
}

namespace {

// starts/ends/axes/steps as inputs (opset >= 10) or attributes.
std::optional<std::vector<int64_t>> SliceOperand(const Graph& graph, const Node& node, size_t input,
                                                 std::string_view attribute, int rank,
                                                 int64_t otherwise, bool is_axes) {
  if (node.inputs.size() > 1) {
    if (input < node.inputs.size() && node.inputs[input] != ValueId::kNone) {
      const Value& value = graph.at(node.inputs[input]);
      if (value.constant == nullptr) return std::nullopt;
      absl::StatusOr<std::vector<int64_t>> values = ToInt64Values(value.constant->view());
      if (!values.ok()) return std::nullopt;
      return *values;
    }
  } else if (node.attributes.Has(attribute)) {
    return node.attributes.Ints(attribute);
  }
  std::vector<int64_t> values(static_cast<size_t>(rank), otherwise);
  for (int i = 0; is_axes && i < rank; ++i) values[static_cast<size_t>(i)] = i;
  return values;
}

}  // namespace

std::optional<SliceWindow> ReadSliceWindow(const Graph& graph, const Node& node) {
  const Shape& shape = graph.at(node.inputs[0]).type.shape;
  const auto starts = SliceOperand(graph, node, 1, "starts", shape.rank(), 0, false);
  const auto axes = SliceOperand(graph, node, 3, "axes", shape.rank(), 0, true);
  const auto steps = SliceOperand(graph, node, 4, "steps", shape.rank(), 1, false);
  if (!starts || !axes || !steps || axes->size() < starts->size()) return std::nullopt;
  SliceWindow window;
  window.begin.assign(static_cast<size_t>(shape.rank()), 0);
  window.step.assign(static_cast<size_t>(shape.rank()), 1);
  for (size_t i = 0; i < starts->size(); ++i) {
    const absl::StatusOr<int> axis = NormalizeAxis((*axes)[i], shape.rank());
    const int64_t step = i < steps->size() ? (*steps)[i] : 1;
    if (!axis.ok() || step <= 0) return std::nullopt;
    const int64_t extent = shape[*axis];
    int64_t begin = (*starts)[i];
    if (begin < 0) begin += extent;
    window.begin[static_cast<size_t>(*axis)] = std::clamp<int64_t>(begin, 0, extent);
    window.step[static_cast<size_t>(*axis)] = step;
  }
  return window;
}

}  // namespace berth
