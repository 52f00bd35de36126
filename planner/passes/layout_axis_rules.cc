// Layout rules of the ops that name axes.
#include <limits>

#include "kernels/ops/axis_map.h"
#include "kernels/ops/reduce_axes.h"
#include "kernels/rewrite.h"
#include "planner/passes/layout_rules.h"

namespace berth {
namespace {

// Input 0 as it stands, or nothing when that is its own order.
std::optional<Placement> MovedInput(const OpCall& call, LayoutContext& context) {
  const Placement& input = context.placements.Primary(call.node->inputs[0]);
  if (IsIdentity(input.order)) return std::nullopt;
  return input;
}

int PlaceOf(int axis, const Permutation& order) {
  return Inverse(order)[static_cast<size_t>(axis)];
}

// The order of what is left when the `reduced` axes go.
Permutation WithoutAxes(const Permutation& order, const std::vector<bool>& reduced) {
  std::vector<int> renumbered(reduced.size());
  int next = 0;
  for (size_t axis = 0; axis < reduced.size(); ++axis) {
    renumbered[axis] = reduced[axis] ? -1 : next++;
  }
  Permutation left;
  for (const int axis : order) {
    if (!reduced[static_cast<size_t>(axis)]) left.push_back(renumbered[static_cast<size_t>(axis)]);
  }
  return left;
}

template <typename T>
std::vector<T> Reordered(const std::vector<T>& per_axis, const Permutation& order) {
  std::vector<T> result;
  for (const int axis : order) result.push_back(per_axis[static_cast<size_t>(axis)]);
  return result;
}

}  // namespace

std::optional<PermutedNode> PermuteReduce(const OpCall& call, LayoutContext& context) {
  const auto input = MovedInput(call, context);
  const auto axes = ResolveReducedAxes(call);
  if (!input || !axes.ok() || !axes->Any()) return std::nullopt;
  std::vector<int64_t> moved_axes;
  for (size_t k = 0; k < input->order.size(); ++k) {
    if (axes->reduced[static_cast<size_t>(input->order[k])]) {
      moved_axes.push_back(static_cast<int64_t>(k));
    }
  }
  PermutedNode result{*call.node,
                      axes->keep_dims ? input->order : WithoutAxes(input->order, axes->reduced)};
  result.node.inputs = {input->id};
  result.node.attributes.Set("axes", std::move(moved_axes));
  return result;
}

std::optional<PermutedNode> PermuteArg(const OpCall& call, LayoutContext& context) {
  const auto input = MovedInput(call, context);
  const auto axis = ResolveAxis(call, 0);
  if (!input || !axis.ok()) return std::nullopt;
  std::vector<bool> reduced(input->order.size());
  reduced[static_cast<size_t>(*axis)] = true;
  const bool keeps = call.node->attributes.Int("keepdims", 1) != 0;
  PermutedNode result{*call.node, keeps ? input->order : WithoutAxes(input->order, reduced)};
  result.node.inputs[0] = input->id;
  result.node.attributes.Set("axis", int64_t{PlaceOf(*axis, input->order)});
  return result;
}

std::optional<PermutedNode> PermuteSoftmax(const OpCall& call, LayoutContext& context) {
  const auto input = MovedInput(call, context);
  // Before opset 13 what did not expand takes the last axis alone.
  const auto axis = ResolveAxis(call, call.node->opset < 13 ? 1 : -1);
  if (!input || !axis.ok()) return std::nullopt;
  PermutedNode result{*call.node, input->order};
  result.node.opset = kRewriteOpset;
  result.node.inputs[0] = input->id;
  result.node.attributes.Set("axis", int64_t{PlaceOf(*axis, input->order)});
  return result;
}

std::optional<PermutedNode> PermuteSlice(const OpCall& call, LayoutContext& context) {
  const auto input = MovedInput(call, context);
  const auto map = SliceMap(call);
  if (!input || !map.ok()) return std::nullopt;
  std::vector<int64_t> starts, ends, axes, steps;
  for (size_t k = 0; k < input->order.size(); ++k) {
    const AxisSegment& range = map->axes[static_cast<size_t>(input->order[k])][0];
    if (range.count == call.input(0).shape[input->order[k]] && range.step == 1) continue;
    if (range.count == 0) return std::nullopt;
    const int64_t end = range.source + range.count * range.step;
    starts.push_back(range.source);
    // -1 would count from the back.
    ends.push_back(end < 0 ? std::numeric_limits<int64_t>::min() : end);
    axes.push_back(static_cast<int64_t>(k));
    steps.push_back(range.step);
  }
  PermutedNode result{*call.node, input->order};
  const auto list = [&](const char* what, const std::vector<int64_t>& values) {
    return AddInt64s(context.graph, call.node->name + what, values);
  };
  result.node.opset = kRewriteOpset;
  result.node.attributes = {};
  result.node.inputs = {input->id, list("/starts", starts), list("/ends", ends),
                        list("/axes", axes), list("/steps", steps)};
  return result;
}

std::optional<PermutedNode> PermutePad(const OpCall& call, LayoutContext& context) {
  const auto input = MovedInput(call, context);
  const bool by_attribute = call.node->opset < 11;
  if (!input || (call.HasInput(3) && call.node->opset >= 18)) return std::nullopt;
  const char* attribute = call.node->opset < 2 ? "paddings" : "pads";
  std::vector<int64_t> pads = call.node->attributes.Ints(attribute);
  if (!by_attribute) {
    const auto known = ToInt64Values(call.Constant(1)->view());
    if (!known.ok()) return std::nullopt;
    pads = *known;
  }
  const size_t rank = input->order.size();
  std::vector<int64_t> moved;
  for (const size_t side : {size_t{0}, rank}) {
    for (const int axis : input->order) moved.push_back(pads[side + static_cast<size_t>(axis)]);
  }
  PermutedNode result{*call.node, input->order};
  result.node.inputs[0] = input->id;
  if (by_attribute) {
    result.node.attributes.Set(attribute, std::move(moved));
  } else {
    result.node.inputs[1] = AddInt64s(context.graph, call.node->name + "/pads", moved);
  }
  return result;
}

std::optional<PermutedNode> PermuteGather(const OpCall& call, LayoutContext& context) {
  const auto input = MovedInput(call, context);
  const auto axis = ResolveAxis(call, 0);
  if (!input || !axis.ok()) return std::nullopt;
  const int index_rank = call.input(1).shape.rank();
  Permutation order;
  for (const int moved : input->order) {
    if (moved != *axis) {
      order.push_back(moved < *axis ? moved : moved + index_rank - 1);
      continue;
    }
    for (int i = 0; i < index_rank; ++i) order.push_back(*axis + i);
  }
  PermutedNode result{*call.node, std::move(order)};
  result.node.inputs[0] = input->id;
  result.node.inputs[1] = context.placements.GetNatural(call.node->inputs[1]);
  result.node.attributes.Set("axis", int64_t{PlaceOf(*axis, input->order)});
  return result;
}

// Expand and Tile: input 1 is a list with one entry per axis of an output of the same rank.
std::optional<PermutedNode> PermutePerAxisList(const OpCall& call, LayoutContext& context) {
  const auto input = MovedInput(call, context);
  const Tensor* known = call.Constant(1);
  const int rank = call.input(0).shape.rank();
  if (!input || known == nullptr || call.node->inputs.size() != 2 ||
      known->shape() != Shape{rank} || call.output().shape.rank() != rank) {
    return std::nullopt;
  }
  const auto list = ToInt64Values(known->view());
  if (!list.ok()) return std::nullopt;
  PermutedNode result{*call.node, input->order};
  result.node.inputs = {input->id, AddInt64s(context.graph, call.node->name + "/list",
                                             Reordered(*list, input->order))};
  return result;
}

// An operand whose last two axes stand swapped is taken as it stands.
std::optional<PermutedNode> PermuteMatMul(const OpCall& call, LayoutContext& context) {
  PermutedNode result{*call.node, IdentityPermutation(call.output().shape.rank())};
  constexpr const char* kFlags[2] = {"transA", "transB"};
  bool changed = false;
  for (size_t i = 0; i < 2; ++i) {
    const Placement input = context.placements.Primary(call.node->inputs[i]);
    Permutation swapped = IdentityPermutation(static_cast<int>(input.order.size()));
    if (swapped.size() >= 2) std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
    if (swapped.size() < 2 || input.order != swapped) {
      result.node.inputs[i] = context.placements.GetNatural(call.node->inputs[i]);
      continue;
    }
    changed = true;
    result.node.inputs[i] = input.id;
    const bool was = call.node->attributes.Int(kFlags[i], 0) != 0;
    result.node.attributes.Set(kFlags[i], int64_t{was ? 0 : 1});
  }
  if (!changed) return std::nullopt;
  if (call.HasInput(2)) {
    result.node.inputs[2] = context.placements.GetNatural(call.node->inputs[2]);
  }
  return result;
}

}  // namespace berth
