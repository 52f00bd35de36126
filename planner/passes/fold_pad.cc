#include "planner/passes/fold_pad.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "kernels/fold/graph_edit.h"
#include "kernels/op_def.h"
#include "kernels/ops/axis_map.h"
#include "kernels/ops/quantized_product.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

struct SpatialPads {
  std::vector<int64_t> before, after;
  uint64_t fill_pattern = 0;
};

// The pads of a Pad node that adds a constant around spatial axes only.
std::optional<SpatialPads> PadsOf(const Graph& graph, const Node& pad) {
  if (pad.attributes.String("mode", "constant") != "constant") return std::nullopt;
  const NodeCall call(graph, pad);
  const auto map = PadMap(call.call());
  if (!map.ok() || map->axes.size() < 3) return std::nullopt;
  const Shape& in = graph.at(pad.inputs[0]).type.shape;
  const Shape& out = graph.at(pad.outputs[0]).type.shape;
  SpatialPads pads;
  pads.fill_pattern = map->fill_pattern;
  for (int axis = 0; axis < in.rank(); ++axis) {
    const AxisSegments& segments = map->axes[static_cast<size_t>(axis)];
    const bool whole = segments.size() == 1 && segments[0].source == 0 &&
                       segments[0].count == in[axis] && segments[0].step == 1;
    if (!whole) return std::nullopt;
    if (axis < 2 && in[axis] != out[axis]) return std::nullopt;
    if (axis < 2) continue;
    pads.before.push_back(segments[0].begin);
    pads.after.push_back(out[axis] - in[axis] - segments[0].begin);
  }
  return pads;
}

bool IsNeverNegative(const Graph& graph, ValueId id, const std::vector<int>& producer) {
  const int position = producer[Index(id)];
  if (position < 0) return false;
  const Node& node = graph.nodes[static_cast<size_t>(position)];
  if (node.kind == OpKind::kRelu || node.kind == OpKind::kSigmoid ||
      node.kind == OpKind::kSoftmax) {
    return true;
  }
  if (node.kind != OpKind::kClip) return false;
  if (node.attributes.Float("min", -1.0f) >= 0) return true;
  if (node.inputs.size() < 2 || node.inputs[1] == ValueId::kNone) return false;
  const Tensor* least = graph.at(node.inputs[1]).constant.get();
  if (least == nullptr) return false;
  const auto value = ToFloatValues(least->view());
  return value.ok() && value->size() == 1 && (*value)[0] >= 0;
}

bool IsMinusInfinity(uint64_t pattern, DType dtype) {
  return dtype == DType::kFloat32 &&
         pattern == std::bit_cast<uint32_t>(-std::numeric_limits<float>::infinity());
}

// The element that a convolution of integers counts as zero.
uint64_t ZeroPointPattern(DType dtype, const QuantizedProduct& product) {
  const auto bits = static_cast<uint64_t>(int64_t{product.x_zero_point});
  return bits & ((uint64_t{1} << (8 * DTypeBytes(dtype))) - 1);
}

class PadFolder {
 public:
  explicit PadFolder(Graph& graph)
      : graph_(graph), readers_(SingleReaders(graph)), producer_(ComputeUses(graph).producer) {}

  void Run() {
    std::vector<bool> removed(graph_.nodes.size());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& pad = graph_.nodes[i];
      if (pad.kind == OpKind::kPad && pad.tail.empty()) removed[i] = TryFold(pad);
    }
    RemoveNodes(graph_, removed);
  }

 private:
  bool TryFold(const Node& pad) {
    const int reader = readers_[Index(pad.outputs[0])];
    if (reader < 0) return false;
    Node& window = graph_.nodes[static_cast<size_t>(reader)];
    if (window.inputs[0] != pad.outputs[0] || window.layout != DataLayout::kNchw) return false;
    const auto pads = PadsOf(graph_, pad);
    if (!pads) return false;
    const auto axes = WindowOf(window);
    if (!axes.ok() || axes->size() != pads->before.size()) return false;
    if (!FillIsHarmless(*pads, pad, window, *axes)) return false;
    Node folded = window;
    folded.inputs[0] = pad.inputs[0];
    std::vector<int64_t> all;
    for (size_t i = 0; i < axes->size(); ++i) all.push_back((*axes)[i].pad_begin + pads->before[i]);
    for (size_t i = 0; i < axes->size(); ++i) all.push_back((*axes)[i].pad_end + pads->after[i]);
    folded.attributes.Erase("auto_pad");
    folded.attributes.Set("pads", std::move(all));
    if (window.kind == OpKind::kAveragePool) {
      folded.attributes.Set("count_include_pad", int64_t{1});
    }
    const auto types = InferNodeTypes(graph_, folded);
    if (!types.ok() || (*types)[0] != graph_.at(window.outputs[0]).type) return false;
    window = std::move(folded);
    return true;
  }

  absl::StatusOr<AxisWindows> WindowOf(const Node& window) const {
    const NodeCall call(graph_, window);
    const Shape& input = graph_.at(window.inputs[0]).type.shape;
    switch (window.kind) {
      case OpKind::kConv: {
        const Shape& weights = graph_.at(window.inputs[1]).type.shape;
        if (weights.rank() != input.rank()) return InvalidArgument("weights");
        return ResolveWindow(window, input, absl::MakeConstSpan(weights.extents()).subspan(2));
      }
      case OpKind::kMaxPool:
      case OpKind::kAveragePool:
        return ResolvePoolWindow(call.call());
      default:
        return InvalidArgument("no window");
    }
  }

  bool FillIsHarmless(const SpatialPads& pads, const Node& pad, const Node& window,
                      const AxisWindows& axes) const {
    const bool zero = pads.fill_pattern == 0;
    const bool ceils = window.attributes.Int("ceil_mode", 0) != 0;
    switch (window.kind) {
      case OpKind::kConv:
        return IsQuantizedProduct(window)
                   ? pads.fill_pattern == ZeroPointPattern(graph_.at(pad.outputs[0]).type.dtype,
                                                           QuantizedProductOf(window))
                   : zero;
      case OpKind::kAveragePool: {
        const bool counts = window.attributes.Int("count_include_pad", 0) != 0;
        const bool own_pads = std::any_of(axes.begin(), axes.end(), [](const AxisWindow& axis) {
          return axis.pad_begin != 0 || axis.pad_end != 0;
        });
        return zero && !ceils && (counts || !own_pads);
      }
      case OpKind::kMaxPool: {
        if (IsMinusInfinity(pads.fill_pattern, graph_.at(pad.outputs[0]).type.dtype)) return true;
        bool sees_a_value = !ceils;
        for (size_t i = 0; i < axes.size(); ++i) {
          sees_a_value = sees_a_value && axes[i].dilation == 1 &&
                         axes[i].pad_begin + pads.before[i] < axes[i].kernel &&
                         axes[i].pad_end + pads.after[i] < axes[i].kernel;
        }
        return zero && sees_a_value && IsNeverNegative(graph_, pad.inputs[0], producer_);
      }
      default:
        return false;
    }
  }

  Graph& graph_;
  std::vector<int> readers_;
  std::vector<int> producer_;
};

}  // namespace

absl::Status FoldPad(Graph& graph) {
  PadFolder(graph).Run();
  return absl::OkStatus();
}

}  // namespace berth
