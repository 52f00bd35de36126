// If, Loop and Scan. They stand apart from the list of ops: which of their bodies run, and how
// often, is decided while the model runs (runtime/dynamic), so they have neither types before that
// nor a lowering nor a reference.
//
// A body is a graph of its own, an attribute of the node. Its inputs are those that the operator
// gives it and, behind them, the values that it reads of the graphs around it; these are the last
// inputs of the node, too, as many as its attribute "captures" says.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/op_def.h"

namespace berth {

// Behind every number that the list of ops will ever reach.
inline constexpr OpKind kIfOp = static_cast<OpKind>(0xff00);
inline constexpr OpKind kLoopOp = static_cast<OpKind>(0xff01);
inline constexpr OpKind kScanOp = static_cast<OpKind>(0xff02);

constexpr bool IsControlFlow(OpKind kind) {
  return kind == kIfOp || kind == kLoopOp || kind == kScanOp;
}
std::string_view ControlFlowName(OpKind kind);
std::optional<OpKind> ControlFlowFromName(std::string_view name);

// Types that are FailedPrecondition, nothing else; Unimplemented for a Scan before operator set 9.
const OpDef& ControlFlowDef(OpKind kind);

}  // namespace berth
