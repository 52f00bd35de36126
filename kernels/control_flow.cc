#include "kernels/control_flow.h"

#include <array>

namespace berth {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"If", "Loop", "Scan"};

size_t PositionOf(OpKind kind) { return static_cast<size_t>(kind) - static_cast<size_t>(kIfOp); }

absl::StatusOr<std::vector<TensorType>> DecidedWhileRunning(const OpCall&) {
  return FailedPrecondition("what comes out is known when it runs");
}

constexpr OpDef kDefs[] = {{.kind = kIfOp, .infer_types = DecidedWhileRunning},
                           {.kind = kLoopOp, .infer_types = DecidedWhileRunning},
                           {.kind = kScanOp, .infer_types = DecidedWhileRunning}};

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
