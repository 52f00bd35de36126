#include "planner/storage/assigner.h"

#include <algorithm>
#include <limits>

#include "base/checked_math.h"
#include "kernels/op_def.h"
#include "planner/storage/overlap.h"
#include "planner/storage/views.h"

namespace berth {
namespace {

constexpr int kForever = std::numeric_limits<int>::max();
constexpr int64_t kConstantAlignment = 64;

bool MayBeView(const Node& node) {
  return node.tail.empty() && (node.kind == OpKind::kReshape || node.kind == OpKind::kSlice ||
                               node.kind == OpKind::kConcat);
}

int ConcatAxis(const Node& node, int rank) {
  return *NormalizeAxis(node.attributes.Int("axis", 1), rank);
}

bool IsSamePlace(const StoragePlace& a, const StoragePlace& b, const Shape& shape) {
  if (a.buffer != b.buffer || a.offset_bytes != b.offset_bytes) return false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const size_t i = static_cast<size_t>(axis);
    if (shape[axis] != 1 && a.stride_bytes[i] != b.stride_bytes[i]) return false;
  }
  return true;
}

std::string NodeText(const Node& node) {
  return fmt::format("{} '{}'", OpName(node.kind), node.name);
}

}  // namespace

StorageAssigner::StorageAssigner(const Graph& graph, const StorageOptions& options,
                                 const std::set<int>& kept_apart)
    : graph_(graph), options_(options), kept_apart_(kept_apart), uses_(ComputeUses(graph)) {
  plan_.places.resize(graph.values.size());
  plan_.origins.resize(graph.values.size());
  plan_.nodes.assign(graph.nodes.size(), NodeStorage::kComputed);
  if (options.on_chip != nullptr) segment_of_ = SegmentOfSteps(*options.on_chip);
}

StoragePlan StorageAssigner::Run() {
  FindLastUses();
  FindDenseNeeds();
  PlaceInterface();
  PlaceConstants();
  if (options_.views) {
    for (size_t step = graph_.nodes.size(); step-- > 0;) PlaceOperands(graph_.nodes[step]);
  }
  for (size_t step = 0; step < graph_.nodes.size(); ++step) {
    PlaceOutputs(graph_.nodes[step], static_cast<int>(step));
  }
  FindLives();
  FindHomes();
  return std::move(plan_);
}

void StorageAssigner::FindLastUses() {
  plan_.last_use.assign(graph_.values.size(), -1);
  for (const ValueId output : graph_.outputs) plan_.last_use[Index(output)] = kForever;
  for (size_t step = graph_.nodes.size(); step-- > 0;) {
    const Node& node = graph_.nodes[step];
    int last = static_cast<int>(step);
    if (MayBeView(node)) last = std::max(last, plan_.last_use[Index(node.outputs[0])]);
    for (const ValueId input : ReadValues(node)) {
      plan_.last_use[Index(input)] = std::max(plan_.last_use[Index(input)], last);
    }
  }
}

// Values of ops that cannot work on strided places.
void StorageAssigner::FindDenseNeeds() {
  needs_dense_.assign(graph_.values.size(), false);
  for (const Node& node : graph_.nodes) {
    if (!GetOpDef(node.kind).needs_dense) continue;
    for (const ValueId id : ReadValues(node)) needs_dense_[Index(id)] = true;
    for (const ValueId id : node.outputs) {
      if (id != ValueId::kNone) needs_dense_[Index(id)] = true;
    }
  }
}

bool StorageAssigner::MayHaveStrides(ValueId value, const Extents& stride_bytes) {
  return !needs_dense_[Index(value)] || IsDenseLayout(TypeOf(value), stride_bytes);
}

int StorageAssigner::NewBuffer(RegionKind kind, uint32_t index, ValueId value) {
  StorageBuffer buffer;
  buffer.kind = kind;
  buffer.index = index;
  buffer.size_bytes = TypeOf(value).ByteCount();
  buffer.name = graph_.at(value).name;
  buffer.begin_step = kForever;
  plan_.buffers.push_back(std::move(buffer));
  values_in_buffer_.emplace_back();
  return static_cast<int>(plan_.buffers.size()) - 1;
}

void StorageAssigner::SetPlace(ValueId value, StoragePlace place, StorageOrigin origin) {
  values_in_buffer_[static_cast<size_t>(place.buffer)].push_back(value);
  PlaceOf(value) = std::move(place);
  StorageOrigin& known = plan_.origins[Index(value)];
  known.how = origin.how;
  known.source = origin.source;
}

void StorageAssigner::PlaceAlone(ValueId value, RegionKind kind, uint32_t index) {
  if (TypeOf(value).shape.ElementCount() == 0) return;
  SetPlace(value, {NewBuffer(kind, index, value), 0, DenseStrideBytes(TypeOf(value))}, {});
}

void StorageAssigner::PlaceInterface() {
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    PlaceAlone(graph_.inputs[i], RegionKind::kInput, static_cast<uint32_t>(i));
  }
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    PlaceAlone(graph_.outputs[i], RegionKind::kOutput, static_cast<uint32_t>(i));
    Note(graph_.outputs[i], "an output of the model stands in the caller's buffer");
  }
}

void StorageAssigner::PlaceConstants() {
  int64_t end_bytes = 0;
  for (size_t i = 0; i < graph_.values.size(); ++i) {
    const ValueId value = static_cast<ValueId>(i);
    if (graph_.at(value).constant == nullptr || plan_.last_use[i] < 0 || IsPlaced(value)) continue;
    PlaceAlone(value, RegionKind::kConstants, 0);
    if (!IsPlaced(value)) continue;
    StorageBuffer& buffer = BufferOf(value);
    buffer.offset_bytes = AlignUp(end_bytes, kConstantAlignment);
    end_bytes = buffer.offset_bytes + buffer.size_bytes;
  }
}

// A value whose bytes may still be chosen to suit its reader.
bool StorageAssigner::IsFree(ValueId value) {
  return !IsPlaced(value) && graph_.at(value).constant == nullptr &&
         TypeOf(value).shape.ElementCount() > 0;
}

void StorageAssigner::PlaceOperands(const Node& node) {
  if (!MayBeView(node)) return;
  const ValueId out = node.outputs[0];
  if (TypeOf(out).shape.ElementCount() == 0) return;
  if (node.kind == OpKind::kConcat) {
    PlaceConcatOperands(node);
  } else if (node.kind == OpKind::kReshape && IsPlaced(out) && IsFree(node.inputs[0])) {
    const StoragePlace place = PlaceOf(out);
    const std::optional<Extents> strides =
        ReshapeStrides(TypeOf(out).shape, place.stride_bytes, TypeOf(node.inputs[0]).shape);
    if (strides && MayHaveStrides(node.inputs[0], *strides)) {
      SetPlace(node.inputs[0], {place.buffer, place.offset_bytes, *strides},
               {ValueStorage::kPart, out, ""});
    }
  }
}

void StorageAssigner::PlaceConcatOperands(const Node& node) {
  const ValueId out = node.outputs[0];
  if (!IsPlaced(out)) PlaceAlone(out, RegionKind::kPool, 0);
  StoragePlace place = PlaceOf(out);
  const int axis = ConcatAxis(node, TypeOf(out).shape.rank());
  for (const ValueId operand : node.inputs) {
    if (IsFree(operand) && MayHaveStrides(operand, place.stride_bytes)) {
      SetPlace(operand, place, {ValueStorage::kPart, out, ""});
    }
    place.offset_bytes +=
        TypeOf(operand).shape[axis] * place.stride_bytes[static_cast<size_t>(axis)];
  }
}

void StorageAssigner::PlaceOutputs(const Node& node, int step) {
  for (const ValueId out : node.outputs) {
    if (out == ValueId::kNone || TypeOf(out).shape.ElementCount() == 0) continue;
    const bool first = out == node.outputs[0];
    if (first && options_.views && MayBeView(node) && TryView(node, step)) continue;
    if (IsPlaced(out)) continue;
    if (first && options_.in_place && TryInPlace(node, step)) continue;
    PlaceAlone(out, RegionKind::kPool, 0);
  }
}

// The place that would make `node` a view of its first input, if there is one.
std::optional<StoragePlace> StorageAssigner::ViewPlace(const Node& node) {
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

bool StorageAssigner::IsConcatInPlace(const Node& node) {
  StoragePlace want = PlaceOf(node.outputs[0]);
  const int axis = ConcatAxis(node, TypeOf(node.outputs[0]).shape.rank());
  for (const ValueId operand : node.inputs) {
    const Shape& shape = TypeOf(operand).shape;
    if (shape.ElementCount() > 0 && !IsSamePlace(PlaceOf(operand), want, shape)) return false;
    want.offset_bytes += shape[axis] * want.stride_bytes[static_cast<size_t>(axis)];
  }
  return true;
}

bool StorageAssigner::TryView(const Node& node, int step) {
  const ValueId out = node.outputs[0];
  bool is_view = false;
  if (node.kind == OpKind::kConcat) {
    is_view = IsPlaced(out) && IsConcatInPlace(node);
  } else if (const std::optional<StoragePlace> place = ViewPlace(node);
             place && MayHaveStrides(out, place->stride_bytes)) {
    if (!IsPlaced(out)) SetPlace(out, *place, {ValueStorage::kView, node.inputs[0], ""});
    is_view = IsSamePlace(PlaceOf(out), *place, TypeOf(out).shape);
  }
  if (is_view) {
    plan_.nodes[static_cast<size_t>(step)] = NodeStorage::kView;
  } else {
    Note(out,
         fmt::format("{} copies: what it reads does not stand as the result must", NodeText(node)));
  }
  return is_view;
}

int StorageAssigner::LastReadAfter(ValueId value, int step) const {
  int last = -1;
  for (const int reader : uses_.readers[Index(value)]) {
    if (reader <= step) continue;  // done; a view made of it is a value of its own
    const Node& node = graph_.nodes[static_cast<size_t>(reader)];
    last = std::max(last, reader);
    if (MayBeView(node)) last = std::max(last, plan_.last_use[Index(node.outputs[0])]);
  }
  const std::vector<ValueId>& outputs = graph_.outputs;
  return std::find(outputs.begin(), outputs.end(), value) != outputs.end() ? kForever : last;
}

std::optional<std::string> StorageAssigner::WhatStops(const Node& node, int step,
                                                      ValueId candidate) {
  static constexpr std::string_view kNotPool[] = {"a constant", "", "an input of the model",
                                                  "an output of the model"};
  const StoragePlace& place = PlaceOf(candidate);
  if (place.buffer < 0) return "it has no bytes";
  if (!MayShareHome(candidate, node.outputs[0], step)) {
    return "the two stand in different memories, or change row by row together";
  }
  const StorageBuffer& buffer = plan_.buffers[static_cast<size_t>(place.buffer)];
  if (buffer.kind != RegionKind::kPool) {
    return fmt::format("it stands in {}", kNotPool[static_cast<size_t>(buffer.kind)]);
  }
  for (const ValueId other : values_in_buffer_[static_cast<size_t>(place.buffer)]) {
    const int last_read = LastReadAfter(other, step);
    if (last_read <= step || !ShareBytes(PlaceOf(other), TypeOf(other), place, TypeOf(candidate))) {
      continue;
    }
    if (last_read == kForever) return "its bytes are part of an output";
    return fmt::format("its bytes are read later, last by {}",
                       NodeText(graph_.nodes[static_cast<size_t>(last_read)]));
  }
  for (const ValueId read : ReadValues(node)) {
    if (read != candidate && ShareBytes(PlaceOf(read), TypeOf(read), place, TypeOf(candidate))) {
      return fmt::format("'{}' has bytes in common with it", graph_.at(read).name);
    }
  }
  if (kept_apart_.contains(step)) {
    return fmt::format("it would keep the {} bytes of '{}' alive, at a higher peak",
                       buffer.size_bytes, buffer.name);
  }
  return std::nullopt;
}

// Of the operands that die here the one whose buffer is the smallest: the others are given back.
bool StorageAssigner::TryInPlace(const Node& node, int step) {
  const ValueId out = node.outputs[0];
  ValueId best = ValueId::kNone;
  const std::vector<ValueId> candidates = InPlaceCandidates(graph_, node);
  for (const ValueId candidate : candidates) {
    if (const std::optional<std::string> reason = WhatStops(node, step, candidate)) {
      Note(out, fmt::format("not in place of '{}': {}", graph_.at(candidate).name, *reason));
    } else if (best == ValueId::kNone ||
               BufferOf(candidate).size_bytes < BufferOf(best).size_bytes) {
      best = candidate;
    }
  }
  if (candidates.empty()) {
    Note(out, fmt::format("{} reads no value of this size element by element", NodeText(node)));
  }
  if (best == ValueId::kNone) return false;
  if (BufferOf(best).size_bytes > TypeOf(out).ByteCount()) enlarging_steps_.push_back(step);
  SetPlace(out, PlaceOf(best), {ValueStorage::kInPlace, best, ""});
  return true;
}

void StorageAssigner::Note(ValueId value, const std::string& text) {
  if (!options_.explain) return;
  std::string& note = plan_.origins[Index(value)].note;
  if (!note.empty()) note += "; ";
  note += text;
}

void StorageAssigner::FindLives() {
  const auto segment_at = [&](int step) {
    if (options_.on_chip == nullptr) return Segment{step, step + 1, 1};
    return options_.on_chip->segments[static_cast<size_t>(segment_of_[static_cast<size_t>(step)])];
  };
  for (size_t step = 0; step < graph_.nodes.size(); ++step) {
    if (plan_.nodes[step] == NodeStorage::kView) continue;
    const Node& node = graph_.nodes[step];
    std::vector<ValueId> touched = ReadValues(node);
    for (const ValueId out : node.outputs) {
      if (out != ValueId::kNone) touched.push_back(out);
    }
    for (const ValueId value : touched) {
      if (!IsPlaced(value)) continue;
      StorageBuffer& buffer = BufferOf(value);
      const Segment segment = segment_at(static_cast<int>(step));
      buffer.begin_step = std::min(buffer.begin_step, segment.begin_step);
      buffer.end_step = std::max(buffer.end_step, segment.end_step);
    }
  }
}

void StorageAssigner::FindHomes() {
  if (options_.on_chip == nullptr) return;
  const OnChipPlan& on_chip = *options_.on_chip;
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    StorageBuffer& buffer = plan_.buffers[i];
    if (buffer.kind != RegionKind::kPool || buffer.end_step == 0) continue;
    const std::vector<ValueId>& values = values_in_buffer_[i];
    if (std::all_of(values.begin(), values.end(),
                    [&](ValueId id) { return on_chip.resident[Index(id)]; })) {
      buffer.home = StorageHome::kScratchpad;
      continue;
    }
    const Segment& segment =
        on_chip.segments[static_cast<size_t>(segment_of_[static_cast<size_t>(buffer.begin_step)])];
    if (segment.is_striped() && buffer.end_step <= segment.end_step) {
      buffer.home = StorageHome::kRows;
    }
  }
}

bool StorageAssigner::MayShareHome(ValueId a, ValueId b, int step) const {
  if (options_.on_chip == nullptr) return true;
  const OnChipPlan& on_chip = *options_.on_chip;
  const int segment = segment_of_[static_cast<size_t>(step)];
  return on_chip.resident[Index(a)] == on_chip.resident[Index(b)] &&
         !on_chip.segments[static_cast<size_t>(segment)].is_striped();
}

}  // namespace berth
