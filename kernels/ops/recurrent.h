// What RNN, GRU and LSTM share: the form of their operands, the walk over time, and the activations
// that a model may choose. Sequences are unrolled: the products with the inputs of all steps are
// one matrix product, those with the state one for each step.
//
// Source of the formulas: ONNX RNN, GRU and LSTM.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/ops/expansions.h"

namespace berth {

// Positions among the operands.
enum RecurrentInput {
  kRecurrentX = 0,
  kRecurrentW = 1,
  kRecurrentR = 2,
  kRecurrentB = 3,
  kRecurrentLengths = 4,
  kRecurrentHidden = 5,
  kRecurrentCell = 6,
  kRecurrentPeepholes = 7,
};

struct RecurrentForm {
  int64_t steps = 0, batch = 0, input = 0, hidden = 0;
  int directions = 1;
  bool reverse = false;      // the first direction goes backwards
  bool batch_first = false;  // layout = 1
};

// Types of Y, Y_h and, for `has_cell`, Y_c; every operand and attribute is checked.
absl::StatusOr<std::vector<TensorType>> RecurrentTypes(const OpCall& call, int gates,
                                                       const std::vector<std::string>& activations,
                                                       bool has_cell);

struct RecurrentActivation {
  std::string name;  // in lower case
  float alpha = 0, beta = 0;
  bool has_alpha = false, has_beta = false;
};

// States of one direction; kNone: zeros.
struct RecurrentState {
  ValueId hidden = ValueId::kNone;
  ValueId cell = ValueId::kNone;
};

// One direction of the node.
struct RecurrentDirection {
  ValueId recurrent = ValueId::kNone;      // [gates * hidden, hidden]
  ValueId separate_bias = ValueId::kNone;  // recurrent bias of the gates that are not in the sums
  std::vector<ValueId> peepholes;          // [hidden] each, or none
  std::vector<RecurrentActivation> activations;
};

class RecurrentRewriter {
 public:
  // The new state from the sums W x + b of the step, [batch, gates * hidden], and the state before.
  using Step = std::function<RecurrentState(const RecurrentDirection& direction, ValueId sums,
                                            const RecurrentState& state)>;

  // The recurrent bias of gates from `separate_from` on is left to the step.
  RecurrentRewriter(const OpCall& call, GraphRewriter& rewrite, int gates,
                    std::vector<std::string> default_activations, int separate_from);

  absl::Status Run(const Step& step);

  // For the steps. A kNone stands for zeros.
  ValueId Gate(ValueId sums, int gate, int count = 1);        // columns of `count` gates
  ValueId GateRows(ValueId matrix, int gate, int count = 1);  // rows of `count` gates
  ValueId TimesTransposed(ValueId state, ValueId matrix);     // state * matrix^T
  ValueId Add(ValueId a, ValueId b);
  ValueId Mul(ValueId a, ValueId b);
  ValueId OneMinus(ValueId x);
  // Clipped as the node says.
  ValueId Activate(ValueId x, const RecurrentActivation& activation);

 private:
  struct Results {
    std::vector<ValueId> hidden;  // by step, [batch, hidden]
    RecurrentState last;
  };

  ValueId Scalar(double value);
  ValueId Part(int input, int direction, const Shape& shape);
  ValueId InitialState(int input, int direction);
  RecurrentDirection Describe(int direction);
  ValueId InputSums(int direction);
  Results Walk(int direction, const Step& step);
  ValueId Masked(ValueId is_active, ValueId fresh, ValueId otherwise);
  absl::Status Finish(const std::vector<Results>& results);
  ValueId JoinDirections(const std::vector<ValueId>& states);

  const OpCall& call_;
  GraphRewriter& rewrite_;
  const int gates_;
  const std::vector<std::string> default_activations_;
  const int separate_from_;
  RecurrentForm form_;
  ValueId sequence_ = ValueId::kNone;  // [steps * batch, input]
  ValueId lengths_ = ValueId::kNone;   // int64 [batch, 1]
};

}  // namespace berth
