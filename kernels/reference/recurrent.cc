// References of RNN, GRU and LSTM: element by element, one batch entry after the other.
#include <algorithm>
#include <cmath>

#include "kernels/ops/recurrent_form.h"
#include "kernels/reference/doubles.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;
using Doubles = std::vector<double>;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double Apply(const RecurrentActivation& f, double clip, double x) {
  if (clip > 0) x = std::fmax(-clip, std::fmin(clip, x));
  const double a = f.alpha, b = f.beta;
  if (f.name == "relu") return std::fmax(0, x);
  if (f.name == "tanh") return std::tanh(x);
  if (f.name == "sigmoid") return Sigmoid(x);
  if (f.name == "affine") return a * x + b;
  if (f.name == "leakyrelu") return x < 0 ? a * x : x;
  if (f.name == "thresholdedrelu") return x > a ? x : 0;
  if (f.name == "scaledtanh") return a * std::tanh(b * x);
  if (f.name == "hardsigmoid") return std::fmax(0, std::fmin(1, a * x + b));
  if (f.name == "elu") return x < 0 ? a * std::expm1(x) : x;
  if (f.name == "softsign") return x / (1 + std::abs(x));
  return std::fmax(x, 0) + std::log1p(std::exp(-std::abs(x)));  // softplus
}

enum class Cell { kRnn, kGru, kLstm };
int GatesOf(Cell cell) { return cell == Cell::kRnn ? 1 : cell == Cell::kGru ? 3 : 4; }
const std::vector<std::string>& Defaults(Cell cell) {
  static const std::vector<std::string> kRnn = {"tanh"}, kGru = {"sigmoid", "tanh"},
                                        kLstm = {"sigmoid", "tanh", "tanh"};
  return cell == Cell::kRnn ? kRnn : cell == Cell::kGru ? kGru : kLstm;
}

// One direction of one batch entry.
class Sequence {
 public:
  Sequence(const OpCall& call, Cell cell, const RecurrentForm& form,
           const std::vector<Doubles>& operands, size_t direction, size_t entry)
      : call_(call), cell_(cell), form_(form), x_(operands), d_(direction), b_(entry) {
    const auto each = Defaults(cell).size();
    const auto all = *RecurrentActivations(*call.node, Defaults(cell), form.directions);
    const auto begin = all.begin() + static_cast<ptrdiff_t>(each * direction);
    activations_.assign(begin, begin + static_cast<ptrdiff_t>(each));
    h_ = Initial(kRecurrentHidden);
    c_ = Initial(kRecurrentCell);
  }

  void Step(size_t time) {
    switch (cell_) {
      case Cell::kRnn:
        return StepRnn(time);
      case Cell::kGru:
        return StepGru(time);
      case Cell::kLstm:
        return StepLstm(time);
    }
  }
  const Doubles& hidden() const { return h_; }
  const Doubles& cell() const { return c_; }

 private:
  size_t size() const { return static_cast<size_t>(form_.hidden); }
  size_t rows() const { return static_cast<size_t>(GatesOf(cell_)) * size(); }
  bool Has(int input) const {
    return static_cast<size_t>(input) < x_.size() && !x_[static_cast<size_t>(input)].empty();
  }
  const Doubles& In(int input) const { return x_[static_cast<size_t>(input)]; }

  Doubles Initial(int input) const {
    if (!Has(input)) return Doubles(size(), 0);
    const auto directions = static_cast<size_t>(form_.directions);
    const auto batch = static_cast<size_t>(form_.batch);
    const size_t place = form_.batch_first ? b_ * directions + d_ : d_ * batch + b_;
    const auto begin = In(input).begin() + static_cast<ptrdiff_t>(place * size());
    return Doubles(begin, begin + static_cast<ptrdiff_t>(size()));
  }

  // Of row `row` of the gates.
  double Bias(size_t row, bool recurrent) const {
    if (!Has(kRecurrentB)) return 0;
    return In(kRecurrentB)[d_ * 2 * rows() + (recurrent ? rows() : 0) + row];
  }
  double FromInput(size_t time, size_t row) const {
    const auto width = static_cast<size_t>(form_.input), batch = static_cast<size_t>(form_.batch);
    const size_t place =
        form_.batch_first ? b_ * static_cast<size_t>(form_.steps) + time : time * batch + b_;
    double sum = Bias(row, false);
    for (size_t i = 0; i < width; ++i) {
      sum += In(kRecurrentW)[(d_ * rows() + row) * width + i] * In(kRecurrentX)[place * width + i];
    }
    return sum;
  }
  double FromState(size_t row, const Doubles& state) const {
    double sum = 0;
    for (size_t i = 0; i < size(); ++i) {
      sum += In(kRecurrentR)[(d_ * rows() + row) * size() + i] * state[i];
    }
    return sum;
  }
  double Act(size_t which, double x) const {
    return Apply(activations_[which], call_.node->attributes.Float("clip", 0), x);
  }

  void StepRnn(size_t time) {
    Doubles next(size());
    for (size_t i = 0; i < size(); ++i) {
      next[i] = Act(0, FromInput(time, i) + FromState(i, h_) + Bias(i, true));
    }
    h_ = next;
  }

  void StepGru(size_t time) {
    const bool linear_first = call_.node->attributes.Int("linear_before_reset", 0) != 0;
    Doubles update(size()), reset(size()), reset_state(size()), next(size());
    for (size_t i = 0; i < size(); ++i) {
      const size_t r = size() + i;
      update[i] = Act(0, FromInput(time, i) + FromState(i, h_) + Bias(i, true));
      reset[i] = Act(0, FromInput(time, r) + FromState(r, h_) + Bias(r, true));
      reset_state[i] = reset[i] * h_[i];
    }
    for (size_t i = 0; i < size(); ++i) {
      const size_t n = 2 * size() + i;
      const double seen = linear_first ? reset[i] * (FromState(n, h_) + Bias(n, true))
                                       : FromState(n, reset_state) + Bias(n, true);
      next[i] = (1 - update[i]) * Act(1, FromInput(time, n) + seen) + update[i] * h_[i];
    }
    h_ = next;
  }

  double Peephole(size_t which, size_t i, double cell) const {
    if (!Has(kRecurrentPeepholes)) return 0;
    return In(kRecurrentPeepholes)[(d_ * 3 + which) * size() + i] * cell;
  }

  void StepLstm(size_t time) {
    const bool input_forget = call_.node->attributes.Int("input_forget", 0) != 0;
    Doubles next(size());
    const auto sum = [&](size_t gate, size_t i) {
      const size_t row = gate * size() + i;
      return FromInput(time, row) + FromState(row, h_) + Bias(row, true);
    };
    for (size_t i = 0; i < size(); ++i) {
      const double input = Act(0, sum(0, i) + Peephole(0, i, c_[i]));
      const double forget = input_forget ? 1 - input : Act(0, sum(2, i) + Peephole(2, i, c_[i]));
      const double cell = forget * c_[i] + input * Act(1, sum(3, i));
      next[i] = Act(0, sum(1, i) + Peephole(1, i, cell)) * Act(2, cell);
      c_[i] = cell;
    }
    h_ = next;
  }

  const OpCall& call_;
  const Cell cell_;
  const RecurrentForm& form_;
  const std::vector<Doubles>& x_;
  const size_t d_, b_;
  std::vector<RecurrentActivation> activations_;
  Doubles h_, c_;
};

absl::Status Run(const OpCall& call, Inputs inputs, Outputs outputs, Cell cell) {
  BERTH_ASSIGN_OR_RETURN(const RecurrentForm form, ResolveRecurrentForm(call, GatesOf(cell)));
  std::vector<Doubles> operands;
  for (const ConstTensorView& input : inputs) {
    operands.push_back(input.type.dtype == DType::kUndefined ? Doubles() : ToDoubles(input));
  }
  const auto directions = static_cast<size_t>(form.directions);
  const auto batch = static_cast<size_t>(form.batch), steps = static_cast<size_t>(form.steps);
  const auto size = static_cast<size_t>(form.hidden);
  Doubles all(steps * directions * batch * size, 0), last(directions * batch * size), cells = last;
  for (size_t d = 0; d < directions; ++d) {
    for (size_t b = 0; b < batch; ++b) {
      Sequence sequence(call, cell, form, operands, d, b);
      const bool has_length = call.HasInput(kRecurrentLengths);
      const size_t length =
          has_length ? static_cast<size_t>(operands[kRecurrentLengths][b]) : steps;
      for (size_t i = 0; i < std::min(length, steps); ++i) {
        const bool backwards = form.reverse || d == 1;
        const size_t time = backwards ? std::min(length, steps) - 1 - i : i;
        sequence.Step(time);
        const size_t place = form.batch_first ? (b * steps + time) * directions + d
                                              : (time * directions + d) * batch + b;
        for (size_t k = 0; k < size; ++k) all[place * size + k] = sequence.hidden()[k];
      }
      const size_t place = form.batch_first ? b * directions + d : d * batch + b;
      for (size_t k = 0; k < size; ++k) {
        last[place * size + k] = sequence.hidden()[k];
        cells[place * size + k] = sequence.cell()[k];
      }
    }
  }
  const Doubles* const results[] = {&all, &last, &cells};
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].data != nullptr) FromDoubles(*results[i], outputs[i]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RNNReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Run(call, inputs, outputs, Cell::kRnn);
}
absl::Status GRUReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Run(call, inputs, outputs, Cell::kGru);
}
absl::Status LSTMReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  return Run(call, inputs, outputs, Cell::kLstm);
}

}  // namespace berth
