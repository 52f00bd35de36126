#include "planner/tflite/hybrid.h"

namespace berth {
namespace {

struct Activations {
  ValueId steps = ValueId::kNone;  // of x's shape: less the zero point
  ValueId step = ValueId::kNone;   // the size of a step; broadcasts
};

// Applies ops one after another; the first failure stays.
class Arithmetic {
 public:
  explicit Arithmetic(TfliteOpImport& op) : op_(op) {}

  ValueId Apply(OpKind kind, std::vector<ValueId> operands, Attributes attributes = {}) {
    if (!status_.ok()) return ValueId::kNone;
    auto result = op_.Apply(kind, std::move(operands), std::move(attributes));
    status_ = result.status();
    return result.ok() ? *result : ValueId::kNone;
  }
  ValueId Scalar(float value) { return op_.Scalar(value); }
  ValueId Add(ValueId a, ValueId b) { return Apply(OpKind::kAdd, {a, b}); }
  ValueId Sub(ValueId a, ValueId b) { return Apply(OpKind::kSub, {a, b}); }
  ValueId Mul(ValueId a, ValueId b) { return Apply(OpKind::kMul, {a, b}); }
  ValueId Div(ValueId a, ValueId b) { return Apply(OpKind::kDiv, {a, b}); }
  ValueId Max(ValueId a, ValueId b) { return Apply(OpKind::kMax, {a, b}); }
  ValueId Min(ValueId a, ValueId b) { return Apply(OpKind::kMin, {a, b}); }
  // Over all axes but the first.
  ValueId Reduced(OpKind kind, ValueId x) {
    if (!status_.ok()) return ValueId::kNone;
    Attributes attributes;
    std::vector<int64_t> axes;
    for (int axis = 1; axis < op_.ShapeOf(x).rank(); ++axis) axes.push_back(axis);
    attributes.Set("axes", std::move(axes));
    return Apply(kind, {x}, std::move(attributes));
  }
  // `otherwise` where a is `value`.
  ValueId Replaced(ValueId a, float value, float otherwise) {
    const ValueId is_value = Apply(OpKind::kEqual, {a, Scalar(value)});
    return Apply(OpKind::kWhere, {is_value, Scalar(otherwise), a});
  }
  const absl::Status& status() const { return status_; }

 private:
  TfliteOpImport& op_;
  absl::Status status_;
};

// The zero point is where the end of the range that it misses by less says.
ValueId ZeroPoint(Arithmetic& a, ValueId least, ValueId most, ValueId scale) {
  const ValueId low = a.Mul(least, scale), high = a.Mul(most, scale);
  const ValueId error = a.Add(a.Add(a.Scalar(-128), low), a.Add(a.Scalar(127), high));
  const ValueId sign = a.Apply(OpKind::kSign, {error});
  const ValueId from_least = a.Apply(OpKind::kEqual, {sign, a.Scalar(1)});
  const ValueId exact =
      a.Apply(OpKind::kWhere, {from_least, a.Sub(a.Scalar(-128), low), a.Sub(a.Scalar(127), high)});
  const ValueId bounded = a.Min(a.Max(exact, a.Scalar(-128)), a.Scalar(127));
  return a.Apply(OpKind::kRound, {bounded});
}

// Each index of axis 0 of x has its own scale.
Activations Rounded(Arithmetic& a, ValueId x, bool symmetric) {
  const ValueId zero = a.Scalar(0);
  const ValueId least = a.Min(a.Reduced(OpKind::kReduceMin, x), zero);
  const ValueId most = a.Max(a.Reduced(OpKind::kReduceMax, x), zero);
  const float steps = symmetric ? 127.0f : 255.0f;
  const ValueId range = symmetric ? a.Max(most, a.Sub(zero, least)) : a.Sub(most, least);
  const ValueId scale = a.Div(a.Scalar(steps), a.Replaced(range, 0, steps));
  const ValueId rounded = a.Apply(OpKind::kRound, {a.Mul(x, scale)});
  const ValueId step = a.Div(a.Scalar(1), scale);
  if (symmetric) return {a.Min(a.Max(rounded, a.Scalar(-steps)), a.Scalar(steps)), step};
  const ValueId zero_point = ZeroPoint(a, least, most, scale);
  const ValueId low = a.Sub(a.Scalar(-128), zero_point);
  const ValueId high = a.Sub(a.Scalar(127), zero_point);
  return {a.Min(a.Max(rounded, low), high), step};
}

}  // namespace

absl::StatusOr<bool> IsHybrid(TfliteOpImport& op) {
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(const ValueId weights, op.Stored(1));
  BERTH_ASSIGN_OR_RETURN(const auto of_weights, op.InputQuantization(1));
  BERTH_ASSIGN_OR_RETURN(const auto of_result, op.OutputQuantization());
  return op.TypeOf(x).dtype == DType::kFloat32 && op.TypeOf(weights).dtype == DType::kInt8 &&
         of_weights.has_value() && !of_result.has_value();
}

absl::StatusOr<ValueId> HybridProduct(TfliteOpImport& op, OpKind kind,
                                      const HybridOperands& operands, Attributes attributes,
                                      bool symmetric) {
  Arithmetic a(op);
  const Activations x = Rounded(a, operands.x, symmetric);
  ValueId result = a.Apply(kind, {x.steps, operands.weights}, std::move(attributes));
  result = a.Mul(result, x.step);
  BERTH_RETURN_IF_ERROR(a.status());
  if (operands.bias == ValueId::kNone) return result;
  std::vector<int64_t> extents(static_cast<size_t>(op.ShapeOf(result).rank()), 1);
  extents[1] = op.ShapeOf(operands.bias).ElementCount();
  BERTH_ASSIGN_OR_RETURN(const ValueId bias, op.Reshaped(operands.bias, extents));
  return op.Apply(OpKind::kAdd, {result, bias});
}

}  // namespace berth
