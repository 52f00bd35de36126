#include "planner/storage/storage.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/ranges.h>

#include "base/checked_math.h"
#include "kernels/op_def.h"
#include "planner/storage/views.h"

namespace berth {
namespace {

constexpr int kForever = std::numeric_limits<int>::max();
constexpr int64_t kConstantAlignment = 64;

bool MayBeView(const Node& node) {
  return node.tail.empty() && (node.kind == OpKind::kReshape || node.kind == OpKind::kSlice ||
                               node.kind == OpKind::kConcat);
}

class Assigner {
 public:
  Assigner(const Graph& graph, const StorageOptions& options) : graph_(graph), options_(options) {
    plan_.places.resize(graph.values.size());
    plan_.nodes.assign(graph.nodes.size(), NodeStorage::kComputed);
    plan_.in_place.assign(graph.nodes.size(), ValueId::kNone);
  }

  StoragePlan Run() {
    FindLastUses();
    FindDenseNeeds();
    PlaceInterface();
    if (options_.views) {
      for (size_t step = graph_.nodes.size(); step-- > 0;) PlaceOperands(graph_.nodes[step]);
    }
    for (size_t step = 0; step < graph_.nodes.size(); ++step) {
      PlaceOutputs(graph_.nodes[step], static_cast<int>(step));
    }
    FindLives();
    return std::move(plan_);
  }

 private:
  const TensorType& TypeOf(ValueId id) const { return graph_.at(id).type; }
  StoragePlace& PlaceOf(ValueId id) { return plan_.places[Index(id)]; }
  bool Placed(ValueId id) { return PlaceOf(id).buffer >= 0; }

  // The last node that reads a value's bytes, through views too.
  void FindLastUses() {
    last_use_.assign(graph_.values.size(), -1);
    for (const ValueId output : graph_.outputs) last_use_[Index(output)] = kForever;
    for (size_t step = graph_.nodes.size(); step-- > 0;) {
      const Node& node = graph_.nodes[step];
      int last = static_cast<int>(step);
      if (MayBeView(node)) last = std::max(last, last_use_[Index(node.outputs[0])]);
      for (const ValueId input : ReadValues(node)) {
        last_use_[Index(input)] = std::max(last_use_[Index(input)], last);
      }
    }
  }

  // Values of ops that cannot work on strided places.
  void FindDenseNeeds() {
    needs_dense_.assign(graph_.values.size(), false);
    for (const Node& node : graph_.nodes) {
      if (!GetOpDef(node.kind).needs_dense) continue;
      for (const ValueId id : ReadValues(node)) needs_dense_[Index(id)] = true;
      for (const ValueId id : node.outputs) {
        if (id != ValueId::kNone) needs_dense_[Index(id)] = true;
      }
    }
  }

  bool MayHaveStrides(ValueId value, const Extents& stride_bytes) {
    return !needs_dense_[Index(value)] || IsDenseLayout(TypeOf(value), stride_bytes);
  }

  int NewBuffer(RegionKind kind, uint32_t index, ValueId value) {
    StorageBuffer buffer;
    buffer.kind = kind;
    buffer.index = index;
    buffer.size_bytes = TypeOf(value).ByteCount();
    buffer.name = graph_.at(value).name;
    buffer.begin_step = kForever;
    plan_.buffers.push_back(std::move(buffer));
    buffer_last_use_.push_back(-1);
    return static_cast<int>(plan_.buffers.size()) - 1;
  }

  void SetPlace(ValueId value, int buffer, int64_t offset_bytes, Extents stride_bytes) {
    PlaceOf(value) = {buffer, offset_bytes, std::move(stride_bytes)};
    int& last = buffer_last_use_[static_cast<size_t>(buffer)];
    last = std::max(last, last_use_[Index(value)]);
  }

  void PlaceAlone(ValueId value, RegionKind kind, uint32_t index) {
    if (TypeOf(value).shape.ElementCount() == 0) return;
    SetPlace(value, NewBuffer(kind, index, value), 0, DenseStrideBytes(TypeOf(value)));
  }

  void PlaceInterface() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      PlaceAlone(graph_.inputs[i], RegionKind::kInput, static_cast<uint32_t>(i));
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      PlaceAlone(graph_.outputs[i], RegionKind::kOutput, static_cast<uint32_t>(i));
    }
    int64_t end_bytes = 0;
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const ValueId value = static_cast<ValueId>(i);
      if (graph_.at(value).constant == nullptr || last_use_[i] < 0 || Placed(value)) continue;
      PlaceAlone(value, RegionKind::kConstants, 0);
      if (!Placed(value)) continue;
      StorageBuffer& buffer = plan_.buffers[static_cast<size_t>(PlaceOf(value).buffer)];
      buffer.offset_bytes = AlignUp(end_bytes, kConstantAlignment);
      end_bytes = buffer.offset_bytes + buffer.size_bytes;
    }
  }

  // A value whose bytes may still be chosen to suit its reader.
  bool Free(ValueId value) {
    return !Placed(value) && graph_.at(value).constant == nullptr &&
           TypeOf(value).shape.ElementCount() > 0;
  }

  // Backwards: operands of a concat are written where the concat wants them, and what a reshape
  // reads stands where the result must.
  void PlaceOperands(const Node& node) {
    if (!MayBeView(node)) return;
    const ValueId out = node.outputs[0];
    if (TypeOf(out).shape.ElementCount() == 0) return;
    if (node.kind == OpKind::kConcat) {
      if (!Placed(out)) PlaceAlone(out, RegionKind::kPool, 0);
      const StoragePlace place = PlaceOf(out);
      const absl::StatusOr<int> axis =
          NormalizeAxis(node.attributes.Int("axis", 1), TypeOf(out).shape.rank());
      int64_t offset = place.offset_bytes;
      for (const ValueId operand : node.inputs) {
        if (Free(operand) && MayHaveStrides(operand, place.stride_bytes)) {
          SetPlace(operand, place.buffer, offset, place.stride_bytes);
        }
        offset += TypeOf(operand).shape[*axis] * place.stride_bytes[static_cast<size_t>(*axis)];
      }
    } else if (node.kind == OpKind::kReshape && Placed(out) && Free(node.inputs[0])) {
      const StoragePlace place = PlaceOf(out);
      const std::optional<Extents> strides = ReshapeStrides(
          TypeOf(out).shape, place.stride_bytes, TypeOf(node.inputs[0]).shape);
      if (strides && MayHaveStrides(node.inputs[0], *strides)) {
        SetPlace(node.inputs[0], place.buffer, place.offset_bytes, *strides);
      }
    }
  }

  // The place that would make `node` a view of its first input, if there is one.
  std::optional<StoragePlace> ViewPlace(const Node& node) {
    const StoragePlace& in = PlaceOf(node.inputs[0]);
    if (in.buffer < 0) return std::nullopt;
    const Shape& shape = TypeOf(node.inputs[0]).shape;
    StoragePlace place{in.buffer, in.offset_bytes, {}};
    if (node.kind == OpKind::kReshape) {
      const auto strides = ReshapeStrides(shape, in.stride_bytes, TypeOf(node.outputs[0]).shape);
      if (!strides) return std::nullopt;
      place.stride_bytes = *strides;
      return place;
    }
    const std::optional<SliceWindow> window = ReadSliceWindow(graph_, node);
    if (!window) return std::nullopt;
    for (size_t axis = 0; axis < in.stride_bytes.size(); ++axis) {
      place.offset_bytes += window->begin[axis] * in.stride_bytes[axis];
      place.stride_bytes.push_back(window->step[axis] * in.stride_bytes[axis]);
    }
    return place;
  }

  bool SamePlace(const StoragePlace& a, const StoragePlace& b, const Shape& shape) const {
    if (a.buffer != b.buffer || a.offset_bytes != b.offset_bytes) return false;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const size_t i = static_cast<size_t>(axis);
      if (shape[axis] != 1 && a.stride_bytes[i] != b.stride_bytes[i]) return false;
    }
    return true;
  }

  bool ConcatInPlace(const Node& node) {
    const StoragePlace& out = PlaceOf(node.outputs[0]);
    const int axis =
        *NormalizeAxis(node.attributes.Int("axis", 1), TypeOf(node.outputs[0]).shape.rank());
    StoragePlace want = out;
    for (const ValueId operand : node.inputs) {
      const Shape& shape = TypeOf(operand).shape;
      if (shape.ElementCount() > 0 && !SamePlace(PlaceOf(operand), want, shape)) return false;
      want.offset_bytes += shape[axis] * out.stride_bytes[static_cast<size_t>(axis)];
    }
    return true;
  }

  void PlaceOutputs(const Node& node, int step) {
    for (const ValueId out : node.outputs) {
      if (out == ValueId::kNone || TypeOf(out).shape.ElementCount() == 0) continue;
      const bool first = out == node.outputs[0];
      if (first && options_.views && MayBeView(node) && TryView(node, step)) continue;
      if (Placed(out)) continue;
      if (first && options_.in_place && TryInPlace(node, step)) continue;
      PlaceAlone(out, RegionKind::kPool, 0);
    }
  }

  bool TryView(const Node& node, int step) {
    const ValueId out = node.outputs[0];
    bool view = false;
    if (node.kind == OpKind::kConcat) {
      view = Placed(out) && ConcatInPlace(node);
    } else if (const std::optional<StoragePlace> place = ViewPlace(node);
               place && MayHaveStrides(out, place->stride_bytes)) {
      if (!Placed(out)) SetPlace(out, place->buffer, place->offset_bytes, place->stride_bytes);
      view = SamePlace(PlaceOf(out), *place, TypeOf(out).shape);
    }
    if (view) plan_.nodes[static_cast<size_t>(step)] = NodeStorage::kView;
    return view;
  }

  bool TryInPlace(const Node& node, int step) {
    const ValueId out = node.outputs[0];
    for (const ValueId candidate : InPlaceCandidates(graph_, node)) {
      const StoragePlace place = PlaceOf(candidate);
      if (place.buffer < 0) continue;
      const size_t buffer = static_cast<size_t>(place.buffer);
      if (plan_.buffers[buffer].kind != RegionKind::kPool || buffer_last_use_[buffer] > step) {
        continue;
      }
      if (TypeOf(candidate).shape != TypeOf(out).shape) continue;
      const std::vector<ValueId> reads = ReadValues(node);
      const bool clash = std::any_of(reads.begin(), reads.end(), [&](ValueId read) {
        return read != candidate && PlaceOf(read).buffer == place.buffer;
      });
      if (clash) continue;
      SetPlace(out, place.buffer, place.offset_bytes, place.stride_bytes);
      plan_.in_place[static_cast<size_t>(step)] = candidate;
      return true;
    }
    return false;
  }

  void FindLives() {
    for (size_t step = 0; step < graph_.nodes.size(); ++step) {
      if (plan_.nodes[step] == NodeStorage::kView) continue;
      const Node& node = graph_.nodes[step];
      std::vector<ValueId> touched = ReadValues(node);
      for (const ValueId out : node.outputs) {
        if (out != ValueId::kNone) touched.push_back(out);
      }
      for (const ValueId value : touched) {
        const int buffer = PlaceOf(value).buffer;
        if (buffer < 0) continue;
        StorageBuffer& storage = plan_.buffers[static_cast<size_t>(buffer)];
        storage.begin_step = std::min(storage.begin_step, static_cast<int>(step));
        storage.end_step = std::max(storage.end_step, static_cast<int>(step) + 1);
      }
    }
  }

  const Graph& graph_;
  const StorageOptions& options_;
  StoragePlan plan_;
  std::vector<bool> needs_dense_;     // per value
  std::vector<int> last_use_;         // per value
  std::vector<int> buffer_last_use_;  // per buffer
};

}  // namespace

std::vector<ValueId> InPlaceCandidates(const Graph& graph, const Node& node) {
  std::vector<ValueId> candidates;
  const TensorType& out = graph.at(node.outputs[0]).type;
  const auto same_form = [&](ValueId id) {
    return graph.at(id).type.shape.ElementCount() == out.shape.ElementCount() &&
           DTypeBytes(graph.at(id).type.dtype) == DTypeBytes(out.dtype);
  };
  const OpDef& op = GetOpDef(node.kind);
  if (op.in_place != nullptr) {
    const NodeCall call(graph, node);
    for (const int input : op.in_place(call.call())) {
      candidates.push_back(node.inputs[static_cast<size_t>(input)]);
    }
  }
  // What the node itself reads may be needed beyond the element (a halo, a whole row).
  const auto read_by_node = [&](ValueId id) {
    return std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end();
  };
  for (const FusedOp& fused : node.tail) {
    for (const ValueId operand : fused.operands) {
      if (operand != ValueId::kNone && graph.at(operand).type.shape == out.shape &&
          !read_by_node(operand)) {
        candidates.push_back(operand);
      }
    }
  }
  std::erase_if(candidates, [&](ValueId id) { return !same_form(id); });
  return candidates;
}

StoragePlan AssignStorage(const Graph& graph, const StorageOptions& options) {
  return Assigner(graph, options).Run();
}

std::string DumpStorage(const Graph& graph, const StoragePlan& plan) {
  std::string text;
  static constexpr std::string_view kKinds[] = {"constants", "pool", "input", "output"};
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const StoragePlace& place = plan.places[i];
    if (place.buffer < 0) continue;
    const StorageBuffer& buffer = plan.buffers[static_cast<size_t>(place.buffer)];
    text += fmt::format("{} {}+{} size {} steps [{}, {}) value '{}' at +{} strides [{}]\n",
                        kKinds[static_cast<size_t>(buffer.kind)], place.buffer,
                        buffer.offset_bytes, buffer.size_bytes, buffer.begin_step,
                        buffer.end_step, graph.values[i].name, place.offset_bytes,
                        fmt::join(place.stride_bytes, " "));
  }
  return text;
}

}  // namespace berth
