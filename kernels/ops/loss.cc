// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss as compositions.
//
// Formulas: ONNX operators of these names: loss = -weight[t] * x[n, t, ...] at target t, 0 at
// ignored targets; their mean is divided by the sum of the weights.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

absl::StatusOr<std::string> ReductionOf(const Node& node) {
  std::string name = node.attributes.String("reduction", "mean");
  if (name == "none" || name == "sum" || name == "mean") return name;
  return InvalidArgument("attribute reduction is '{}'", name);
}

// x [N, C, ...], targets [N, ...], weights [C].
absl::StatusOr<TensorType> LossType(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 3));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 1, DTypeClass::kInteger));
  const Shape& x = call.input(0).shape;
  if (x.rank() < 2) return InvalidArgument("input 0 has shape {}", x.ToString());
  std::vector<int64_t> extents = x.extents();
  extents.erase(extents.begin() + 1);
  const Shape targets(std::move(extents));
  if (call.input(1).shape != targets) {
    return InvalidArgument("targets have shape {}, expected {}", call.input(1).shape.ToString(),
                           targets.ToString());
  }
  const TensorType weights{call.input(0).dtype, Shape{x[1]}};
  if (call.HasInput(2) && call.input(2) != weights) {
    return InvalidArgument("weights are {}, expected {}", call.input(2).ToString(),
                           weights.ToString());
  }
  BERTH_ASSIGN_OR_RETURN(const std::string reduction, ReductionOf(*call.node));
  return TensorType{call.input(0).dtype, reduction == "none" ? targets : Shape{}};
}

absl::StatusOr<std::vector<TensorType>> NegativeLogLikelihoodLossTypes(const OpCall& call) {
  BERTH_ASSIGN_OR_RETURN(TensorType loss, LossType(call));
  return std::vector<TensorType>{std::move(loss)};
}

absl::StatusOr<std::vector<TensorType>> SoftmaxCrossEntropyLossTypes(const OpCall& call) {
  BERTH_ASSIGN_OR_RETURN(TensorType loss, LossType(call));
  std::vector<TensorType> types = {std::move(loss), call.input(0)};
  if (call.node->outputs.size() > types.size()) {
    return InvalidArgument("{} outputs, the operator makes 1 or 2", call.node->outputs.size());
  }
  types.resize(call.node->outputs.size());
  return types;
}

class Loss {
 public:
  Loss(const OpCall& call, GraphRewriter& rewrite)
      : call_(call), rewrite_(rewrite), dtype_(call.input(0).dtype) {}

  void Apply(ValueId log_probabilities, ValueId result) {
    ReadTargets();
    const ValueId picked = Picked(log_probabilities);
    ValueId weights = ValueId::kNone;
    if (call_.HasInput(2)) {
      weights = rewrite_.Apply(OpKind::kGather, {call_.node->inputs[2], targets_});
      weights = WithoutIgnored(weights);
    }
    ValueId losses = rewrite_.Apply(OpKind::kNeg, {picked});
    if (weights != ValueId::kNone) losses = rewrite_.Apply(OpKind::kMul, {losses, weights});
    losses = WithoutIgnored(losses);
    const std::string reduction = call_.node->attributes.String("reduction", "mean");
    if (reduction == "none") {
      rewrite_.Alias(losses, result);
    } else if (reduction == "sum") {
      Sum(losses, result);
    } else if (weights == ValueId::kNone && is_ignored_ == ValueId::kNone) {
      Attributes whole;
      whole.Set("keepdims", int64_t{0});
      rewrite_.Apply(OpKind::kReduceMean, {losses}, std::move(whole), result);
    } else {
      if (weights == ValueId::kNone) {
        weights = rewrite_.Apply(OpKind::kWhere, {is_ignored_, Number(0), Number(1)});
      }
      rewrite_.Apply(OpKind::kDiv, {Sum(losses), Sum(weights)}, {}, result);
    }
  }

 private:
  ValueId Number(double value) { return rewrite_.Constant(ScalarTensor(dtype_, value)); }

  ValueId Sum(ValueId values, ValueId result = ValueId::kNone) {
    Attributes whole;
    whole.Set("keepdims", int64_t{0});
    return rewrite_.Apply(OpKind::kReduceSum, {values}, std::move(whole), result);
  }

  // An ignored target may be no class at all: it reads class 0.
  void ReadTargets() {
    targets_ = ApplyCast(rewrite_, call_.node->inputs[1], DType::kInt64);
    if (!call_.node->attributes.Has("ignore_index")) return;
    const int64_t ignored = call_.node->attributes.Int("ignore_index", 0);
    const auto number = [&](int64_t value) {
      return rewrite_.Constant(IntegerScalar(DType::kInt64, value));
    };
    is_ignored_ = rewrite_.Apply(OpKind::kEqual, {targets_, number(ignored)});
    targets_ = rewrite_.Apply(OpKind::kWhere, {is_ignored_, number(0), targets_});
  }

  ValueId Picked(ValueId log_probabilities) {
    const Shape& targets = call_.input(1).shape;
    std::vector<int64_t> extents = targets.extents();
    extents.insert(extents.begin() + 1, 1);
    Attributes along;
    along.Set("axis", int64_t{1});
    const ValueId index = ApplyReshape(rewrite_, targets_, Shape(std::move(extents)));
    const ValueId picked =
        rewrite_.Apply(OpKind::kGatherElements, {log_probabilities, index}, std::move(along));
    return ApplyReshape(rewrite_, picked, targets);
  }

  ValueId WithoutIgnored(ValueId values) {
    if (is_ignored_ == ValueId::kNone) return values;
    return rewrite_.Apply(OpKind::kWhere, {is_ignored_, Number(0), values});
  }

  const OpCall& call_;
  GraphRewriter& rewrite_;
  const DType dtype_;
  ValueId targets_ = ValueId::kNone;
  ValueId is_ignored_ = ValueId::kNone;
};

absl::Status ExpandNegativeLogLikelihoodLoss(const OpCall& call, GraphRewriter& rewrite) {
  Loss(call, rewrite).Apply(call.node->inputs[0], call.node->outputs[0]);
  return rewrite.status();
}

absl::Status ExpandSoftmaxCrossEntropyLoss(const OpCall& call, GraphRewriter& rewrite) {
  const std::vector<ValueId>& outputs = call.node->outputs;
  Attributes along;
  along.Set("axis", int64_t{1});
  const ValueId probabilities =
      rewrite.Apply(OpKind::kLogSoftmax, {call.node->inputs[0]}, std::move(along),
                    outputs.size() > 1 ? outputs[1] : ValueId::kNone);
  if (outputs[0] != ValueId::kNone) Loss(call, rewrite).Apply(probabilities, outputs[0]);
  return rewrite.status();
}

}  // namespace

#define BERTH_LOSS_OP(NAME)                                                           \
  const OpDef& NAME##Op() {                                                           \
    static const OpDef def{                                                           \
        .kind = OpKind::k##NAME, .infer_types = NAME##Types, .expand = Expand##NAME}; \
    return def;                                                                       \
  }
BERTH_LOSS_OP(NegativeLogLikelihoodLoss)
BERTH_LOSS_OP(SoftmaxCrossEntropyLoss)
#undef BERTH_LOSS_OP

}  // namespace berth
