#include "planner/passes/expand_ops.h"

#include "kernels/contrib_ops.h"
#include "kernels/op_def.h"
#include "kernels/rewrite.h"
#include "planner/passes/eliminate_identities.h"

namespace berth {
namespace {

// An op may expand into ops that expand; a rule that makes its own op again would not end.
constexpr int kMaxRounds = 8;

// The window of LRN moves over channels: with them last it needs no transpose.
bool WaitsForLayout(OpKind kind) { return kind == OpKind::kLRN; }

// BatchNormalization and Gemm become affine ops that fold; the others are written differently by
// different versions, and one of the ops that they become is the same in all.
bool IsLessPortable(OpKind kind) {
  switch (kind) {
    case OpKind::kBatchNormalization:
    case OpKind::kGemm:
    case OpKind::kDropout:
    case OpKind::kSoftmax:
    case OpKind::kLogSoftmax:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze:
    case OpKind::kFlatten:
    case OpKind::kSplit:
    case OpKind::kAdd:  // broadcasting before opset 7
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kDiv:
    case OpKind::kPRelu:
    case OpKind::kEqual:
    case OpKind::kLess:
    case OpKind::kGreater:
    case OpKind::kAnd:
    case OpKind::kOr:
    case OpKind::kXor:
    case OpKind::kHardmax:
    case OpKind::kGroupNormalization:
    case OpKind::kDFT:
      return true;
    default:
      return false;
  }
}

bool Waits(OpKind kind, ExpandScope scope) {
  switch (scope) {
    case ExpandScope::kQuantized:
      return !IsContribOp(kind);
    case ExpandScope::kPortable:
      return !IsLessPortable(kind);
    case ExpandScope::kBeforeLayout:
      return WaitsForLayout(kind);
    case ExpandScope::kAll:
      break;
  }
  return false;
}

absl::StatusOr<bool> ExpandOnce(Graph& graph, ExpandScope scope) {
  const std::vector<Node> before = std::move(graph.nodes);
  graph.nodes.clear();
  std::vector<Node> after;
  bool changed = false;
  for (const Node& node : before) {
    const NodeCall call(graph, node);
    const OpDef& op = GetOpDef(node.kind);
    if (Waits(node.kind, scope) || !NeedsExpansion(op, call.call())) {
      after.push_back(node);
      continue;
    }
    changed = true;
    GraphRewriter rewriter(graph, after, node);
    if (absl::Status status = op.expand(call.call(), rewriter); !status.ok()) {
      return Annotate(status, fmt::format("{} '{}'", OpName(node.kind), node.name));
    }
  }
  graph.nodes = std::move(after);
  return changed;
}

}  // namespace

absl::Status ExpandOps(Graph& graph, ExpandScope scope) {
  for (int round = 0; round < kMaxRounds; ++round) {
    BERTH_ASSIGN_OR_RETURN(const bool changed, ExpandOnce(graph, scope));
    if (!changed) return EliminateIdentities(graph);
  }
  return Internal("op expansion does not end after {} rounds", kMaxRounds);
}

}  // namespace berth
