// RNN, GRU and LSTM: one step of each. The rest is in recurrent.h.
//
// Formulas: ONNX RNN, GRU, LSTM. With sums s = W x + b of a step:
//   RNN   h' = f(s + R h)
//   GRU   z = f(s_z + R_z h)   r = f(s_r + R_r h)   h' = (1 - z) n + z h   where
//         n = g(s_h + R_h (r h) + b_Rh), or g(s_h + r (R_h h + b_Rh)) with linear_before_reset
//   LSTM  i, o, f, c in this order; peepholes P_i, P_o, P_f see the cell:
//         c' = f c + i g(..)   h' = o h(c')   and f = 1 - i with input_forget
#include "kernels/ops/recurrent.h"

namespace berth {
namespace {

const std::vector<std::string>& RnnActivations() {
  static const std::vector<std::string> kNames = {"Tanh"};
  return kNames;
}
const std::vector<std::string>& GruActivations() {
  static const std::vector<std::string> kNames = {"Sigmoid", "Tanh"};
  return kNames;
}
const std::vector<std::string>& LstmActivations() {
  static const std::vector<std::string> kNames = {"Sigmoid", "Tanh", "Tanh"};
  return kNames;
}

constexpr int kRnnGates = 1, kGruGates = 3, kLstmGates = 4;
enum GruGate { kUpdate = 0, kReset = 1, kNew = 2 };
enum LstmGate { kInput = 0, kOutput = 1, kForget = 2, kCell = 3 };

absl::StatusOr<std::vector<TensorType>> RNNTypes(const OpCall& call) {
  return RecurrentTypes(call, kRnnGates, RnnActivations(), false);
}
absl::StatusOr<std::vector<TensorType>> GRUTypes(const OpCall& call) {
  return RecurrentTypes(call, kGruGates, GruActivations(), false);
}
absl::StatusOr<std::vector<TensorType>> LSTMTypes(const OpCall& call) {
  return RecurrentTypes(call, kLstmGates, LstmActivations(), true);
}

absl::Status ExpandRNN(const OpCall& call, GraphRewriter& rewrite) {
  RecurrentRewriter r(call, rewrite, kRnnGates, RnnActivations(), kRnnGates);
  return r.Run(
      [&r](const RecurrentDirection& direction, ValueId sums, const RecurrentState& state) {
        const ValueId sum = r.Add(sums, r.TimesTransposed(state.hidden, direction.recurrent));
        return RecurrentState{r.Activate(sum, direction.activations[0]), ValueId::kNone};
      });
}

absl::Status ExpandGRU(const OpCall& call, GraphRewriter& rewrite) {
  const bool linear_first = call.node->attributes.Int("linear_before_reset", 0) != 0;
  RecurrentRewriter r(call, rewrite, kGruGates, GruActivations(), linear_first ? kNew : kGruGates);
  return r.Run([&](const RecurrentDirection& direction, ValueId sums, const RecurrentState& state) {
    const auto matrix = [&](int gate, int count) {
      return r.GateRows(direction.recurrent, gate, count);
    };
    ValueId gates = r.TimesTransposed(state.hidden, matrix(kUpdate, 2));
    gates = r.Add(r.Gate(sums, kUpdate, 2), gates);
    gates = r.Activate(gates, direction.activations[0]);
    const ValueId update = r.Gate(gates, kUpdate), reset = r.Gate(gates, kReset);
    ValueId seen = ValueId::kNone;
    if (linear_first) {
      seen = r.Mul(
          reset, r.Add(r.TimesTransposed(state.hidden, matrix(kNew, 1)), direction.separate_bias));
    } else {
      seen = r.TimesTransposed(r.Mul(reset, state.hidden), matrix(kNew, 1));
    }
    const ValueId fresh = r.Activate(r.Add(r.Gate(sums, kNew), seen), direction.activations[1]);
    const ValueId next = r.Add(r.Mul(r.OneMinus(update), fresh), r.Mul(update, state.hidden));
    return RecurrentState{next, ValueId::kNone};
  });
}

absl::Status ExpandLSTM(const OpCall& call, GraphRewriter& rewrite) {
  const bool input_forget = call.node->attributes.Int("input_forget", 0) != 0;
  RecurrentRewriter r(call, rewrite, kLstmGates, LstmActivations(), kLstmGates);
  return r.Run([&](const RecurrentDirection& direction, ValueId sums, const RecurrentState& state) {
    const ValueId all = r.Add(sums, r.TimesTransposed(state.hidden, direction.recurrent));
    const auto gate = [&](LstmGate which, ValueId cell) {
      ValueId sum = r.Gate(all, which);
      if (!direction.peepholes.empty()) {
        sum = r.Add(sum, r.Mul(cell, direction.peepholes[static_cast<size_t>(which)]));
      }
      return r.Activate(sum, direction.activations[0]);
    };
    const ValueId input = gate(kInput, state.cell);
    const ValueId forget = input_forget ? r.OneMinus(input) : gate(kForget, state.cell);
    const ValueId fresh = r.Activate(r.Gate(all, kCell), direction.activations[1]);
    RecurrentState next;
    next.cell = r.Add(r.Mul(forget, state.cell), r.Mul(input, fresh));
    const ValueId output = gate(kOutput, next.cell);
    next.hidden = r.Mul(output, r.Activate(next.cell, direction.activations[2]));
    return next;
  });
}

}  // namespace

#define BERTH_RECURRENT_OP(NAME)                                                      \
  const OpDef& NAME##Op() {                                                           \
    static const OpDef def{                                                           \
        .kind = OpKind::k##NAME, .infer_types = NAME##Types, .expand = Expand##NAME}; \
    return def;                                                                       \
  }
BERTH_RECURRENT_OP(RNN)
BERTH_RECURRENT_OP(GRU)
BERTH_RECURRENT_OP(LSTM)
#undef BERTH_RECURRENT_OP

}  // namespace berth
