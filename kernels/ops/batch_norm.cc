// BatchNormalization at inference: (x - mean) / sqrt(var + epsilon) * scale + bias, per channel.
// Expands to Mul and Add, with factor and addend computed at compile time where they are known.
//
// Formula: ONNX BatchNormalization.
#include <cmath>

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/rewrite.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

int BatchNormChannelAxis(const OpCall& call) {
  const int rank = call.input(0).shape.rank();
  return rank == 1 ? 0 : ChannelAxis(call.node->layout, rank);
}

// Opset 14 states the mode; before, a node that also gives the running statistics trains.
absl::Status CheckInferenceMode(const Node& node) {
  if (node.attributes.Int("training_mode", 0) != 0) {
    return Unimplemented("training_mode 1 is not supported");
  }
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

Affine ComputeAffine(const OpCall& call, GraphRewriter& rewrite) {
  const auto& in = call.node->inputs;
  const float epsilon = call.node->attributes.Float("epsilon", 1e-5f);
  const ValueId epsilon_value = rewrite.Constant(ScalarTensor(call.input(0).dtype, epsilon));
  const ValueId shifted = rewrite.Apply(OpKind::kAdd, {in[4], epsilon_value});
  const ValueId deviation = rewrite.Apply(OpKind::kSqrt, {shifted});
  const ValueId scale = rewrite.Apply(OpKind::kDiv, {in[1], deviation});
  const ValueId mean = rewrite.Apply(OpKind::kMul, {in[3], scale});
  const ValueId bias = rewrite.Apply(OpKind::kSub, {in[2], mean});
  const ValueId shape = rewrite.Int64s(ChannelShape(call));
  return {rewrite.Apply(OpKind::kReshape, {scale, shape}),
          rewrite.Apply(OpKind::kReshape, {bias, shape})};
}

absl::Status ExpandBatchNorm(const OpCall& call, GraphRewriter& rewrite) {
  bool known = call.input(0).dtype == DType::kFloat32;
  for (int i = 1; i < 5; ++i) known = known && call.Constant(i) != nullptr;
  Affine affine;
  if (known) {
    BERTH_ASSIGN_OR_RETURN(affine, FoldAffine(call, rewrite));
  } else {
    affine = ComputeAffine(call, rewrite);
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
