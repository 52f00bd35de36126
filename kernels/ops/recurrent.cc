#include "kernels/ops/recurrent.h"

#include <algorithm>

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/recurrent_form.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

ValueId Input(const OpCall& call, int i) {
  return call.HasInput(i) ? call.node->inputs[static_cast<size_t>(i)] : ValueId::kNone;
}

}  // namespace

RecurrentRewriter::RecurrentRewriter(const OpCall& call, GraphRewriter& rewrite, int gates,
                                     std::vector<std::string> default_activations,
                                     int separate_from)
    : call_(call),
      rewrite_(rewrite),
      gates_(gates),
      default_activations_(std::move(default_activations)),
      separate_from_(separate_from) {}

absl::Status RecurrentRewriter::Run(const Step& step) {
  BERTH_ASSIGN_OR_RETURN(form_, ResolveRecurrentForm(call_, gates_));
  ValueId x = Input(call_, kRecurrentX);
  if (form_.batch_first) x = ApplyTranspose(rewrite_, x, {1, 0, 2});
  sequence_ = ApplyReshape(rewrite_, x, Shape{form_.steps * form_.batch, form_.input});
  if (call_.HasInput(kRecurrentLengths)) {
    const ValueId lengths = ApplyCast(rewrite_, Input(call_, kRecurrentLengths), DType::kInt64);
    lengths_ = ApplyReshape(rewrite_, lengths, Shape{form_.batch, 1});
  }
  std::vector<Results> results;
  for (int direction = 0; direction < form_.directions; ++direction) {
    results.push_back(Walk(direction, step));
    if (!rewrite_.status().ok()) return rewrite_.status();
  }
  return Finish(results);
}

ValueId RecurrentRewriter::Scalar(double value) {
  return rewrite_.Constant(ScalarTensor(call_.input(kRecurrentX).dtype, value));
}

ValueId RecurrentRewriter::Gate(ValueId sums, int gate, int count) {
  if (sums == ValueId::kNone || count == gates_) return sums;
  return ApplySlice(rewrite_, sums, {1, gate * form_.hidden, count * form_.hidden});
}

ValueId RecurrentRewriter::GateRows(ValueId matrix, int gate, int count) {
  if (matrix == ValueId::kNone || count == gates_) return matrix;
  return ApplySlice(rewrite_, matrix, {0, gate * form_.hidden, count * form_.hidden});
}

ValueId RecurrentRewriter::TimesTransposed(ValueId state, ValueId matrix) {
  if (state == ValueId::kNone) return ValueId::kNone;
  Attributes attributes;
  attributes.Set("transB", int64_t{1});
  return rewrite_.Apply(OpKind::kMatMul, {state, matrix}, std::move(attributes));
}

ValueId RecurrentRewriter::Add(ValueId a, ValueId b) {
  if (a == ValueId::kNone || b == ValueId::kNone) return a == ValueId::kNone ? b : a;
  return rewrite_.Apply(OpKind::kAdd, {a, b});
}

ValueId RecurrentRewriter::Mul(ValueId a, ValueId b) {
  if (a == ValueId::kNone || b == ValueId::kNone) return ValueId::kNone;
  return rewrite_.Apply(OpKind::kMul, {a, b});
}

ValueId RecurrentRewriter::OneMinus(ValueId x) {
  return rewrite_.Apply(OpKind::kSub, {Scalar(1), x});
}

ValueId RecurrentRewriter::Activate(ValueId x, const RecurrentActivation& activation) {
  const float bound = call_.node->attributes.Float("clip", 0);
  if (bound > 0) x = rewrite_.Apply(OpKind::kClip, {x, Scalar(-bound), Scalar(bound)});
  const auto linear = [&](ValueId value, float factor, float addend) {
    const ValueId scaled = rewrite_.Apply(OpKind::kMul, {value, Scalar(factor)});
    return addend == 0 ? scaled : rewrite_.Apply(OpKind::kAdd, {scaled, Scalar(addend)});
  };
  if (activation.name == "affine") return linear(x, activation.alpha, activation.beta);
  if (activation.name == "scaledtanh") {
    const ValueId inner = rewrite_.Apply(OpKind::kTanh, {linear(x, activation.beta, 0)});
    return linear(inner, activation.alpha, 0);
  }
  Attributes attributes;
  if (activation.has_alpha) attributes.Set("alpha", activation.alpha);
  if (activation.has_beta) attributes.Set("beta", activation.beta);
  return rewrite_.Apply(*RecurrentActivationOp(activation.name), {x}, std::move(attributes));
}

// What input `input` has for a direction; a constant stays one.
ValueId RecurrentRewriter::Part(int input, int direction, const Shape& shape) {
  const ValueId whole = Input(call_, input);
  if (whole == ValueId::kNone) return whole;
  const TensorType type{call_.input(input).dtype, shape};
  if (const Tensor* constant = call_.Constant(input)) {
    Tensor part(type);
    const auto begin = constant->bytes().begin() + direction * type.ByteCount();
    std::copy(begin, begin + type.ByteCount(), part.bytes().begin());
    return rewrite_.Constant(std::move(part));
  }
  if (form_.directions == 1) return ApplyReshape(rewrite_, whole, shape);
  return ApplyReshape(rewrite_, ApplySlice(rewrite_, whole, {0, direction, 1}), shape);
}

ValueId RecurrentRewriter::InitialState(int input, int direction) {
  const Shape shape{form_.batch, form_.hidden};
  if (!form_.batch_first || form_.directions == 1) return Part(input, direction, shape);
  const ValueId whole = Input(call_, input);
  if (whole == ValueId::kNone) return whole;
  return ApplyReshape(rewrite_, ApplySlice(rewrite_, whole, {1, direction, 1}), shape);
}

RecurrentDirection RecurrentRewriter::Describe(int direction) {
  RecurrentDirection described;
  const int64_t rows = gates_ * form_.hidden;
  described.recurrent = Part(kRecurrentR, direction, Shape{rows, form_.hidden});
  if (separate_from_ < gates_ && call_.HasInput(kRecurrentB)) {
    const ValueId biases = Part(kRecurrentB, direction, Shape{2 * rows});
    const int64_t begin = separate_from_ * form_.hidden;
    described.separate_bias = ApplySlice(rewrite_, biases, {0, rows + begin, rows - begin});
  }
  if (call_.HasInput(kRecurrentPeepholes)) {
    constexpr int kPeepholes = 3;
    const ValueId all = Part(kRecurrentPeepholes, direction, Shape{kPeepholes * form_.hidden});
    for (int i = 0; i < kPeepholes; ++i) {
      described.peepholes.push_back(ApplySlice(rewrite_, all, {0, i * form_.hidden, form_.hidden}));
    }
  }
  const auto activations =
      RecurrentActivations(*call_.node, default_activations_, form_.directions);
  const size_t each = default_activations_.size();
  const auto first = activations->begin() + static_cast<ptrdiff_t>(each) * direction;
  described.activations.assign(first, first + static_cast<ptrdiff_t>(each));
  return described;
}

// W x + b of every step.
ValueId RecurrentRewriter::InputSums(int direction) {
  const int64_t rows = gates_ * form_.hidden;
  const ValueId weights = Part(kRecurrentW, direction, Shape{rows, form_.input});
  const ValueId sums = TimesTransposed(sequence_, weights);
  if (!call_.HasInput(kRecurrentB)) return sums;
  const ValueId biases = Part(kRecurrentB, direction, Shape{2 * rows});
  const int64_t joined = separate_from_ * form_.hidden;
  const ValueId recurrent = ApplySlice(rewrite_, biases, {0, rows, joined});
  ValueId bias = Add(ApplySlice(rewrite_, biases, {0, 0, joined}), recurrent);
  if (joined < rows) {
    Attributes attributes;
    attributes.Set("axis", int64_t{0});
    const ValueId rest = ApplySlice(rewrite_, biases, {0, joined, rows - joined});
    bias = rewrite_.Apply(OpKind::kConcat, {bias, rest}, std::move(attributes));
  }
  return Add(sums, bias);
}

ValueId RecurrentRewriter::Masked(ValueId is_active, ValueId fresh, ValueId otherwise) {
  if (otherwise == ValueId::kNone) otherwise = Scalar(0);
  return rewrite_.Apply(OpKind::kWhere, {is_active, fresh, otherwise});
}

// A sequence that has ended keeps its state and gives zeros; backwards, one that has not begun.
RecurrentRewriter::Results RecurrentRewriter::Walk(int direction, const Step& step) {
  const RecurrentDirection described = Describe(direction);
  const ValueId sums = InputSums(direction);
  const bool backwards = form_.reverse || direction == 1;
  Results results;
  results.hidden.resize(static_cast<size_t>(form_.steps));
  RecurrentState state{InitialState(kRecurrentHidden, direction),
                       InitialState(kRecurrentCell, direction)};
  for (int64_t i = 0; i < form_.steps && rewrite_.status().ok(); ++i) {
    const int64_t time = backwards ? form_.steps - 1 - i : i;
    const ValueId at_step =
        form_.steps == 1 ? sums : ApplySlice(rewrite_, sums, {0, time * form_.batch, form_.batch});
    RecurrentState next = step(described, at_step, state);
    ValueId result = next.hidden;
    if (lengths_ != ValueId::kNone) {
      const ValueId now = rewrite_.Constant(IntegerScalar(DType::kInt64, time));
      const ValueId is_active = rewrite_.Apply(OpKind::kGreater, {lengths_, now});
      result = Masked(is_active, next.hidden, ValueId::kNone);
      next.hidden = Masked(is_active, next.hidden, state.hidden);
      if (next.cell != ValueId::kNone) next.cell = Masked(is_active, next.cell, state.cell);
    }
    results.hidden[static_cast<size_t>(time)] = result;
    state = next;
  }
  results.last = state;
  return results;
}

// [batch, hidden] of each direction as [directions, batch, hidden].
ValueId RecurrentRewriter::JoinDirections(const std::vector<ValueId>& states) {
  std::vector<ValueId> parts;
  for (const ValueId state : states) {
    parts.push_back(ApplyReshape(rewrite_, state, Shape{1, form_.batch, form_.hidden}));
  }
  if (parts.size() == 1) return parts[0];
  Attributes attributes;
  attributes.Set("axis", int64_t{0});
  return rewrite_.Apply(OpKind::kConcat, std::move(parts), std::move(attributes));
}

absl::Status RecurrentRewriter::Finish(const std::vector<Results>& results) {
  const std::vector<ValueId>& outputs = call_.node->outputs;
  const auto wanted = [&](size_t i) { return i < outputs.size() && outputs[i] != ValueId::kNone; };
  const auto deliver = [&](ValueId value, std::vector<int64_t> perm, size_t output) {
    if (form_.batch_first) {
      ApplyTranspose(rewrite_, value, std::move(perm), outputs[output]);
    } else {
      rewrite_.Alias(value, outputs[output]);
    }
  };
  if (wanted(0)) {
    std::vector<ValueId> steps;
    for (size_t time = 0; time < static_cast<size_t>(form_.steps); ++time) {
      std::vector<ValueId> states;
      for (const Results& direction : results) states.push_back(direction.hidden[time]);
      steps.push_back(ApplyReshape(rewrite_, JoinDirections(states),
                                   Shape{1, form_.directions, form_.batch, form_.hidden}));
    }
    Attributes attributes;
    attributes.Set("axis", int64_t{0});
    deliver(rewrite_.Apply(OpKind::kConcat, std::move(steps), std::move(attributes)), {2, 0, 1, 3},
            0);
  }
  for (size_t output = 1; output <= 2; ++output) {
    if (!wanted(output)) continue;
    std::vector<ValueId> states;
    for (const Results& direction : results) {
      states.push_back(output == 1 ? direction.last.hidden : direction.last.cell);
    }
    deliver(JoinDirections(states), {1, 0, 2}, output);
  }
  return rewrite_.status();
}

}  // namespace berth
