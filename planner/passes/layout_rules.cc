#include "planner/passes/layout_rules.h"

#include <map>

#include "kernels/rewrite.h"
#include "planner/passes/reshape_order.h"

namespace berth {
namespace {

Permutation WeightOrder(OpKind kind, int rank) {
  Permutation order;
  for (int axis = 2; axis < rank; ++axis) order.push_back(axis);
  // Input channels before output channels: [OC, IC/g, ...] for Conv, [IC, OC/g, ...] transposed.
  order.push_back(kind == OpKind::kConv ? 1 : 0);
  order.push_back(kind == OpKind::kConv ? 0 : 1);
  return order;
}

bool HasWeights(OpKind kind) { return kind == OpKind::kConv || kind == OpKind::kConvTranspose; }

}  // namespace

bool IsSpatial(OpKind kind) {
  return kind == OpKind::kConv || kind == OpKind::kConvTranspose || kind == OpKind::kMaxPool ||
         kind == OpKind::kAveragePool || kind == OpKind::kResize || kind == OpKind::kUpsample ||
         kind == OpKind::kLRN;
}

Permutation PreferredOrder(const OpCall& call, int rank, LayoutContext& context) {
  std::map<Permutation, int64_t> bytes;
  for (const ValueId id : call.node->inputs) {
    if (id == ValueId::kNone || context.graph.at(id).constant) continue;
    const TensorType& type = context.graph.at(id).type;
    if (type.shape.rank() == rank) bytes[context.placements.Primary(id).order] += type.ByteCount();
  }
  const bool wants_channels_last = rank >= 3 && context.feeds_spatial[Index(call.node->outputs[0])];
  const Permutation favourite =
      wants_channels_last ? ChannelsLast(rank) : IdentityPermutation(rank);
  Permutation best = IdentityPermutation(rank);
  int64_t most = -1;
  for (const auto& [order, total] : bytes) {
    if (total < most || (total == most && order != favourite)) continue;
    best = order;
    most = total;
  }
  return best;
}

std::optional<PermutedNode> PermuteSpatial(const OpCall& call, LayoutContext& context) {
  const int rank = call.input(0).shape.rank();
  if (call.node->layout != DataLayout::kNchw || rank < 3) return std::nullopt;
  PermutedNode result{*call.node, ChannelsLast(rank)};
  Node& node = result.node;
  node.layout = DataLayout::kNhwc;
  node.inputs[0] = context.placements.Get(node.inputs[0], result.output_order);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ValueId::kNone) continue;
    node.inputs[i] = HasWeights(node.kind) && i == 1
                         ? context.placements.Get(node.inputs[i], WeightOrder(node.kind, rank))
                         : context.placements.GetNatural(node.inputs[i]);
  }
  return result;
}

std::optional<PermutedNode> PermuteElementwise(const OpCall& call, LayoutContext& context) {
  PermutedNode result{*call.node, PreferredOrder(call, call.output().shape.rank(), context)};
  for (ValueId& id : result.node.inputs) {
    if (id != ValueId::kNone) id = context.placements.GetBroadcast(id, result.output_order);
  }
  return result;
}

std::optional<PermutedNode> PermuteConcat(const OpCall& call, LayoutContext& context) {
  const int rank = call.output().shape.rank();
  PermutedNode result{*call.node, PreferredOrder(call, rank, context)};
  for (ValueId& id : result.node.inputs) id = context.placements.Get(id, result.output_order);
  const auto axis = NormalizeAxis(call.node->attributes.Int("axis", 1), rank);
  if (!axis.ok()) return std::nullopt;
  const Permutation place = Inverse(result.output_order);
  result.node.attributes.Set("axis", int64_t{place[static_cast<size_t>(*axis)]});
  return result;
}

std::optional<PermutedNode> PermuteReshape(const OpCall& call, LayoutContext& context) {
  const Placement input = context.placements.Primary(call.node->inputs[0]);
  if (IsIdentity(input.order)) return std::nullopt;
  const auto order = PassThroughReshape(call.input(0).shape, call.output().shape, input.order);
  if (!order) return std::nullopt;
  const ValueId source = context.placements.Get(call.node->inputs[0], order->from_order);
  const Shape shape = Permuted(call.output().shape, order->to_order);
  PermutedNode result{*call.node, order->to_order};
  result.node.kind = OpKind::kReshape;
  result.node.opset = kRewriteOpset;
  result.node.attributes = {};
  result.node.attributes.Set("allowzero", int64_t{1});
  result.node.inputs = {source,
                        AddInt64s(context.graph, call.node->name + "/shape", shape.extents())};
  return result;
}

std::optional<PermutedNode> PermuteNode(const OpCall& call, LayoutContext& context) {
  if (!call.node->tail.empty()) return std::nullopt;
  if (IsSpatial(call.node->kind)) return PermuteSpatial(call, context);
  switch (call.node->kind) {
    case OpKind::kConcat:
      return PermuteConcat(call, context);
    case OpKind::kReshape:
      return PermuteReshape(call, context);
    case OpKind::kMatMul:
      return PermuteMatMul(call, context);
    case OpKind::kReduceMean:
    case OpKind::kReduceSum:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
    case OpKind::kReduceProd:
    case OpKind::kReduceL1:
    case OpKind::kReduceSumSquare:
      return PermuteReduce(call, context);
    case OpKind::kArgMax:
    case OpKind::kArgMin:
      return PermuteArg(call, context);
    case OpKind::kSoftmax:
    case OpKind::kLogSoftmax:
      return PermuteSoftmax(call, context);
    case OpKind::kSlice:
      return PermuteSlice(call, context);
    case OpKind::kPad:
      return PermutePad(call, context);
    case OpKind::kGather:
      return PermuteGather(call, context);
    case OpKind::kExpand:
    case OpKind::kTile:
      return PermutePerAxisList(call, context);
    default:
      break;
  }
  if (GetOpDef(call.node->kind).elementwise) return PermuteElementwise(call, context);
  return std::nullopt;
}

}  // namespace berth
