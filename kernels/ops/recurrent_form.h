// The form of the operands and the activations of RNN, GRU and LSTM, read and checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/ops/recurrent.h"

namespace berth {

// InvalidArgument where an operand or attribute contradicts the others.
absl::StatusOr<RecurrentForm> ResolveRecurrentForm(const OpCall& call, int gates);

// The op of an activation of one operand with attributes alpha and beta; nothing for Affine and
// ScaledTanh, which are compositions, and for unknown names.
std::optional<OpKind> RecurrentActivationOp(const std::string& lower_case_name);

// Those of all directions one after the other: `defaults` for each where none are given. The lists
// of alphas and betas are used up by the activations that have them, in order.
absl::StatusOr<std::vector<RecurrentActivation>> RecurrentActivations(
    const Node& node, const std::vector<std::string>& defaults, int directions);

}  // namespace berth
