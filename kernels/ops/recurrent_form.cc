#include "kernels/ops/recurrent_form.h"

#include <algorithm>

#include "kernels/ops/dtype_check.h"

namespace berth {
namespace {

// Sequences are unrolled.
constexpr int64_t kMostSteps = 2048;

struct ActivationRow {
  const char* name;
  std::optional<OpKind> op;
  float alpha, beta;  // defaults of ONNX
  bool has_alpha, has_beta;
};

const ActivationRow kActivations[] = {
    {"relu", OpKind::kRelu, 0, 0, false, false},
    {"tanh", OpKind::kTanh, 0, 0, false, false},
    {"sigmoid", OpKind::kSigmoid, 0, 0, false, false},
    {"softsign", OpKind::kSoftsign, 0, 0, false, false},
    {"softplus", OpKind::kSoftplus, 0, 0, false, false},
    {"leakyrelu", OpKind::kLeakyRelu, 0.01f, 0, true, false},
    {"thresholdedrelu", OpKind::kThresholdedRelu, 1, 0, true, false},
    {"elu", OpKind::kElu, 1, 0, true, false},
    {"hardsigmoid", OpKind::kHardSigmoid, 0.2f, 0.5f, true, true},
    {"scaledtanh", std::nullopt, 1, 1, true, true},
    {"affine", std::nullopt, 1, 0, true, true},
};

const ActivationRow* FindActivation(const std::string& name) {
  for (const ActivationRow& row : kActivations) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

std::string LowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

std::vector<std::string> Strings(const Node& node, const char* name) {
  const auto found = node.attributes.values().find(name);
  if (found == node.attributes.values().end()) return {};
  const auto* strings = std::get_if<std::vector<std::string>>(&found->second);
  return strings != nullptr ? *strings : std::vector<std::string>{};
}

absl::Status CheckShape(const OpCall& call, int i, const char* name, const Shape& expected,
                        bool is_float) {
  if (!call.HasInput(i)) return absl::OkStatus();
  const DType dtype = is_float ? call.input(kRecurrentX).dtype : DType::kInt32;
  if (call.input(i) == TensorType{dtype, expected}) return absl::OkStatus();
  return InvalidArgument("input {} ({}) is {}, expected {}", i, name, call.input(i).ToString(),
                         TensorType{dtype, expected}.ToString());
}

absl::StatusOr<bool> IsReverse(const Node& node, int* directions) {
  const std::string direction = node.attributes.String("direction", "forward");
  *directions = direction == "bidirectional" ? 2 : 1;
  if (direction == "forward" || direction == "bidirectional") return false;
  if (direction == "reverse") return true;
  return InvalidArgument("attribute direction is '{}'", direction);
}

absl::Status CheckOperands(const OpCall& call, const RecurrentForm& form, int gates) {
  const int64_t d = form.directions, rows = gates * form.hidden;
  const Shape state =
      form.batch_first ? Shape{form.batch, d, form.hidden} : Shape{d, form.batch, form.hidden};
  const auto check = [&](int i, const char* name, const Shape& shape, bool is_float = true) {
    return CheckShape(call, i, name, shape, is_float);
  };
  BERTH_RETURN_IF_ERROR(check(kRecurrentW, "W", Shape{d, rows, form.input}));
  BERTH_RETURN_IF_ERROR(check(kRecurrentR, "R", Shape{d, rows, form.hidden}));
  BERTH_RETURN_IF_ERROR(check(kRecurrentB, "B", Shape{d, 2 * rows}));
  BERTH_RETURN_IF_ERROR(check(kRecurrentLengths, "sequence_lens", Shape{form.batch}, false));
  BERTH_RETURN_IF_ERROR(check(kRecurrentHidden, "initial_h", state));
  BERTH_RETURN_IF_ERROR(check(kRecurrentCell, "initial_c", state));
  return check(kRecurrentPeepholes, "P", Shape{d, 3 * form.hidden});
}

}  // namespace

std::optional<OpKind> RecurrentActivationOp(const std::string& lower_case_name) {
  const ActivationRow* row = FindActivation(lower_case_name);
  return row == nullptr ? std::nullopt : row->op;
}

absl::StatusOr<RecurrentForm> ResolveRecurrentForm(const OpCall& call, int gates) {
  for (int i = 0; i < 3; ++i) BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kFloat));
  const Shape& x = call.input(kRecurrentX).shape;
  const Shape& recurrent = call.input(kRecurrentR).shape;
  if (x.rank() != 3 || recurrent.rank() != 3) {
    return InvalidArgument("X has shape {}, R {}: three axes are expected", x.ToString(),
                           recurrent.ToString());
  }
  RecurrentForm form;
  BERTH_ASSIGN_OR_RETURN(form.reverse, IsReverse(*call.node, &form.directions));
  form.batch_first = call.node->attributes.Int("layout", 0) != 0;
  form.steps = x[form.batch_first ? 1 : 0];
  form.batch = x[form.batch_first ? 0 : 1];
  form.input = x[2];
  form.hidden = recurrent[2];
  const int64_t given = call.node->attributes.Int("hidden_size", form.hidden);
  if (given != form.hidden) {
    return InvalidArgument("hidden_size is {}, R has shape {}", given, recurrent.ToString());
  }
  if (x.ElementCount() == 0 || form.hidden < 1) {
    return InvalidArgument("X has shape {}, hidden_size is {}", x.ToString(), form.hidden);
  }
  if (form.steps > kMostSteps) {
    return Unimplemented("{} steps of time, at most {} are supported", form.steps, kMostSteps);
  }
  BERTH_RETURN_IF_ERROR(CheckOperands(call, form, gates));
  return form;
}

absl::StatusOr<std::vector<RecurrentActivation>> RecurrentActivations(
    const Node& node, const std::vector<std::string>& defaults, int directions) {
  std::vector<std::string> names = Strings(node, "activations");
  for (int i = 0; names.size() < defaults.size() * static_cast<size_t>(directions) &&
                  !node.attributes.Has("activations");
       ++i) {
    names.push_back(defaults[static_cast<size_t>(i) % defaults.size()]);
  }
  if (names.size() != defaults.size() * static_cast<size_t>(directions)) {
    return InvalidArgument("{} activations for {} directions", names.size(), directions);
  }
  const std::vector<float> alphas = node.attributes.Floats("activation_alpha");
  const std::vector<float> betas = node.attributes.Floats("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  std::vector<RecurrentActivation> activations;
  for (const std::string& name : names) {
    const ActivationRow* row = FindActivation(LowerCase(name));
    if (row == nullptr) return InvalidArgument("no activation is called '{}'", name);
    RecurrentActivation activation{row->name, row->alpha, row->beta, row->has_alpha, row->has_beta};
    if (row->has_alpha && next_alpha < alphas.size()) activation.alpha = alphas[next_alpha++];
    if (row->has_beta && next_beta < betas.size()) activation.beta = betas[next_beta++];
    activations.push_back(std::move(activation));
  }
  return activations;
}

absl::StatusOr<std::vector<TensorType>> RecurrentTypes(const OpCall& call, int gates,
                                                       const std::vector<std::string>& activations,
                                                       bool has_cell) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 3, has_cell ? 8 : 6));
  BERTH_ASSIGN_OR_RETURN(const RecurrentForm form, ResolveRecurrentForm(call, gates));
  BERTH_RETURN_IF_ERROR(RecurrentActivations(*call.node, activations, form.directions).status());
  const DType dtype = call.input(kRecurrentX).dtype;
  const int64_t d = form.directions;
  const Shape all = form.batch_first ? Shape{form.batch, form.steps, d, form.hidden}
                                     : Shape{form.steps, d, form.batch, form.hidden};
  const Shape last =
      form.batch_first ? Shape{form.batch, d, form.hidden} : Shape{d, form.batch, form.hidden};
  std::vector<TensorType> types = {{dtype, all}, {dtype, last}};
  if (has_cell) types.push_back({dtype, last});
  if (call.node->outputs.size() > types.size()) {
    return InvalidArgument("{} outputs, the operator makes {}", call.node->outputs.size(),
                           types.size());
  }
  types.resize(call.node->outputs.size());
  return types;
}

}  // namespace berth
