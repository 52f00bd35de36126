#include "kernels/control_flow.h"

#include <array>

namespace berth {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"If", "Loop", "Scan"};

size_t PositionOf(OpKind kind) { return static_cast<size_t>(kind) - static_cast<size_t>(kIfOp); }

absl::StatusOr<std::vector<TensorType>> DecidedWhileRunning(const OpCall&) {
  return FailedPrecondition("what comes out is known when it runs");
}

// Of operator set 8 it has other operands: lengths of sequences and a batch.
absl::StatusOr<std::vector<TensorType>> ScanTypes(const OpCall& call) {
  if (call.node->opset < 9) {
    return Unimplemented("operator set {}, at least 9 is expected", call.node->opset);
  }
  return DecidedWhileRunning(call);
}

constexpr OpDef kDefs[] = {{.kind = kIfOp, .infer_types = DecidedWhileRunning},
                           {.kind = kLoopOp, .infer_types = DecidedWhileRunning},
                           {.kind = kScanOp, .infer_types = ScanTypes}};

}  // namespace

std::string_view ControlFlowName(OpKind kind) { return kNames[PositionOf(kind)]; }

std::optional<OpKind> ControlFlowFromName(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return kDefs[i].kind;
  }
  return std::nullopt;
}

const OpDef& ControlFlowDef(OpKind kind) { return kDefs[PositionOf(kind)]; }

}  // namespace berth
