// BatchNormalization: (x - mean) / sqrt(var + epsilon) * scale + bias, per channel. Expands to Mul
// and Add, with factor and addend computed at compile time where they are known. In training mode
// mean and variance are those of the data, and the running statistics are mixed with them.
//
// Formula: ONNX BatchNormalization.
#include <cmath>

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/ops.h"
#include "kernels/rewrite.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

int BatchNormChannelAxis(const OpCall& call) {
  const int rank = call.input(0).shape.rank();
  return rank == 1 ? 0 : ChannelAxis(call.node->layout, rank);
}

bool IsTraining(const Node& node) {
  return node.opset >= 14 && node.attributes.Int("training_mode", 0) != 0;
}

// Opset 14 states the mode; before, a node that also gives the running statistics trains.
absl::Status CheckInferenceMode(const Node& node) {
  if (IsTraining(node)) return absl::OkStatus();
  if (node.opset < 7 && node.attributes.Int("is_test", 0) == 0 && node.outputs.size() > 1) {
    return Unimplemented("training (is_test 0) is not supported");
  }
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != ValueId::kNone) {
      return Unimplemented("output {} (a running statistic) is not supported", i);
    }
  }
  if (node.opset < 9 && node.attributes.Int("spatial", 1) == 0) {
    return Unimplemented("spatial 0 is not supported");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TensorType>> InferBatchNorm(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 5, 5));
  BERTH_RETURN_IF_ERROR(CheckInferenceMode(*call.node));
  const TensorType& x = call.input(0);
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  if (x.shape.rank() < 1) return InvalidArgument("the input is a scalar");
  const int64_t channels = x.shape.rank() == 1 ? 1 : x.shape[BatchNormChannelAxis(call)];
  for (int i = 1; i < 5; ++i) {
    BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kFloat));
    if (call.input(i).shape != Shape{channels}) {
      return InvalidArgument("input {} has shape {}; {} channels", i,
                             call.input(i).shape.ToString(), channels);
    }
    if (call.input(i).dtype != x.dtype) {
      return Unimplemented("input {} is {}, the data is {}", i, DTypeName(call.input(i).dtype),
                           DTypeName(x.dtype));
    }
  }
  std::vector<TensorType> types(call.node->outputs.size());
  if (!types.empty()) types[0] = x;
  if (!IsTraining(*call.node)) return types;
  if (types.size() > 3) return InvalidArgument("{} outputs, the operator makes 3", types.size());
  for (size_t i = 1; i < types.size(); ++i) types[i] = call.input(static_cast<int>(i) + 2);
  return types;
}

struct Affine {
  ValueId factor = ValueId::kNone;
  ValueId addend = ValueId::kNone;
};

// The shape in which a vector over channels broadcasts to the data.
std::vector<int64_t> ChannelShape(const OpCall& call) {
  const Shape& x = call.input(0).shape;
  const int axis = BatchNormChannelAxis(call);
  std::vector<int64_t> shape(static_cast<size_t>(x.rank() - axis), 1);
  shape[0] = call.input(1).shape[0];
  return shape;
}

absl::StatusOr<Affine> FoldAffine(const OpCall& call, GraphRewriter& rewrite) {
  std::vector<float> values[5];
  for (int i = 1; i < 5; ++i) {
    BERTH_ASSIGN_OR_RETURN(values[i], ToFloatValues(call.Constant(i)->view()));
  }
  const double epsilon = call.node->attributes.Float("epsilon", 1e-5f);
  std::vector<float> factor, addend;
  for (size_t c = 0; c < values[1].size(); ++c) {
    const double scale = values[1][c] / std::sqrt(double{values[4][c]} + epsilon);
    factor.push_back(static_cast<float>(scale));
    addend.push_back(static_cast<float>(values[2][c] - values[3][c] * scale));
  }
  const Shape shape(ChannelShape(call));
  return Affine{rewrite.Constant(Tensor::FromValues<float>(DType::kFloat32, shape, factor)),
                rewrite.Constant(Tensor::FromValues<float>(DType::kFloat32, shape, addend))};
}

struct Statistics {
  ValueId mean = ValueId::kNone;
  ValueId variance = ValueId::kNone;
};

// Of the data, over all axes but the channels'. Sums of 16-bit floats would lose digits.
Statistics DataStatistics(const OpCall& call, GraphRewriter& rewrite) {
  const DType own = call.input(0).dtype;
  const ValueId x = ApplyCast(rewrite, call.node->inputs[0], IsHalf(own) ? DType::kFloat32 : own);
  std::vector<int64_t> axes;
  for (int axis = 0; axis < call.input(0).shape.rank(); ++axis) {
    const bool is_channel = call.input(0).shape.rank() > 1 && axis == BatchNormChannelAxis(call);
    if (!is_channel) axes.push_back(axis);
  }
  Attributes over;
  over.Set("axes", std::move(axes));
  const ValueId mean = rewrite.Apply(OpKind::kReduceMean, {x}, over);
  const ValueId centred = rewrite.Apply(OpKind::kSub, {x, mean});
  const ValueId squares = rewrite.Apply(OpKind::kMul, {centred, centred});
  const ValueId variance = rewrite.Apply(OpKind::kReduceMean, {squares}, over);
  const Shape list = call.input(1).shape;
  return {ApplyReshape(rewrite, ApplyCast(rewrite, mean, own), list),
          ApplyReshape(rewrite, ApplyCast(rewrite, variance, own), list)};
}

// running * momentum + current * (1 - momentum)
void ApplyRunning(const OpCall& call, int output, ValueId current, GraphRewriter& rewrite) {
  const std::vector<ValueId>& outputs = call.node->outputs;
  const auto at = static_cast<size_t>(output);
  if (at >= outputs.size() || outputs[at] == ValueId::kNone) return;
  const double momentum = call.node->attributes.Float("momentum", 0.9f);
  const auto times = [&](ValueId value, double factor) {
    const ValueId number = rewrite.Constant(ScalarTensor(call.input(0).dtype, factor));
    return rewrite.Apply(OpKind::kMul, {value, number});
  };
  rewrite.Apply(OpKind::kAdd,
                {times(call.node->inputs[at + 2], momentum), times(current, 1 - momentum)}, {},
                outputs[at]);
}

Affine ComputeAffine(const OpCall& call, const Statistics& statistics, GraphRewriter& rewrite) {
  const auto& in = call.node->inputs;
  const float epsilon = call.node->attributes.Float("epsilon", 1e-5f);
  const ValueId epsilon_value = rewrite.Constant(ScalarTensor(call.input(0).dtype, epsilon));
  const ValueId shifted = rewrite.Apply(OpKind::kAdd, {statistics.variance, epsilon_value});
  const ValueId deviation = rewrite.Apply(OpKind::kSqrt, {shifted});
  const ValueId scale = rewrite.Apply(OpKind::kDiv, {in[1], deviation});
  const ValueId mean = rewrite.Apply(OpKind::kMul, {statistics.mean, scale});
  const ValueId bias = rewrite.Apply(OpKind::kSub, {in[2], mean});
  const ValueId shape = rewrite.Int64s(ChannelShape(call));
  return {rewrite.Apply(OpKind::kReshape, {scale, shape}),
          rewrite.Apply(OpKind::kReshape, {bias, shape})};
}

absl::Status ExpandBatchNorm(const OpCall& call, GraphRewriter& rewrite) {
  const bool trains = IsTraining(*call.node);
  bool known = call.input(0).dtype == DType::kFloat32 && !trains;
  for (int i = 1; i < 5; ++i) known = known && call.Constant(i) != nullptr;
  Affine affine;
  if (known) {
    BERTH_ASSIGN_OR_RETURN(affine, FoldAffine(call, rewrite));
  } else {
    Statistics statistics{call.node->inputs[3], call.node->inputs[4]};
    if (trains) {
      statistics = DataStatistics(call, rewrite);
      ApplyRunning(call, 1, statistics.mean, rewrite);
      ApplyRunning(call, 2, statistics.variance, rewrite);
    }
    affine = ComputeAffine(call, statistics, rewrite);
    if (!rewrite.status().ok() || call.node->outputs[0] == ValueId::kNone) return rewrite.status();
  }
  const ValueId scaled = rewrite.Apply(OpKind::kMul, {call.node->inputs[0], affine.factor});
  rewrite.Apply(OpKind::kAdd, {scaled, affine.addend}, {}, call.node->outputs[0]);
  return rewrite.status();
}

}  // namespace

const OpDef& BatchNormalizationOp() {
  static const OpDef op = {.kind = OpKind::kBatchNormalization,
                           .infer_types = InferBatchNorm,
                           .expand = ExpandBatchNorm};
  return op;
}

}  // namespace berth
