// References of the ops that keep every element in its place, and of those that only make
// constants.
#include <algorithm>

#include "kernels/reference/movement.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

using Inputs = absl::Span<const ConstTensorView>;
using Outputs = absl::Span<const TensorView>;

absl::Status Same(Inputs inputs, Outputs outputs) {
  CopyAll(inputs[0], outputs[0]);
  return absl::OkStatus();
}

// The index in an image of the other layout.
Coordinates ToNchw(const Coordinates& index, DataLayout layout) {
  if (layout == DataLayout::kNchw) return index;
  return {index[0], index[3], index[1], index[2]};
}
Coordinates FromNchw(const Coordinates& index, DataLayout layout) {
  if (layout == DataLayout::kNchw) return index;
  return {index[0], index[2], index[3], index[1]};
}

}  // namespace

absl::Status IdentityReference(const OpCall&, Inputs inputs, Outputs outputs) {
  return Same(inputs, outputs);
}
absl::Status ReshapeReference(const OpCall&, Inputs inputs, Outputs outputs) {
  return Same(inputs, outputs);
}
absl::Status FlattenReference(const OpCall&, Inputs inputs, Outputs outputs) {
  return Same(inputs, outputs);
}
absl::Status SqueezeReference(const OpCall&, Inputs inputs, Outputs outputs) {
  return Same(inputs, outputs);
}
absl::Status UnsqueezeReference(const OpCall&, Inputs inputs, Outputs outputs) {
  return Same(inputs, outputs);
}

absl::Status SizeReference(const OpCall&, Inputs inputs, Outputs outputs) {
  outputs[0].Values<int64_t>()[0] = inputs[0].type.shape.ElementCount();
  return absl::OkStatus();
}

absl::Status DropoutReference(const OpCall&, Inputs inputs, Outputs outputs) {
  CopyAll(inputs[0], outputs[0]);
  if (outputs.size() > 1) {
    VisitDType(outputs[1].type.dtype, [&]<typename T>() {
      const absl::Span<T> mask = outputs[1].Values<T>();
      std::fill(mask.begin(), mask.end(), static_cast<T>(1.0f));
    });
  }
  return absl::OkStatus();
}

// Output (c, h, w) is input channel (block row, block column, c) or (c, block row, block column).
absl::Status DepthToSpaceReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const DataLayout layout = call.node->layout;
  const int64_t block = call.node->attributes.Int("blocksize", 1);
  const bool depth_first = call.node->attributes.String("mode", "DCR") == "CRD";
  const int64_t depth = outputs[0].type.shape[layout == DataLayout::kNchw ? 1 : 3];
  CopyFrom(inputs[0], outputs[0], [&](const Coordinates& index) {
    const Coordinates at = ToNchw(index, layout);
    const int64_t cell = at[2] % block * block + at[3] % block;
    const int64_t channel = depth_first ? at[1] * block * block + cell : cell * depth + at[1];
    return FromNchw({at[0], channel, at[2] / block, at[3] / block}, layout);
  });
  return absl::OkStatus();
}

absl::Status SpaceToDepthReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const DataLayout layout = call.node->layout;
  const int64_t block = call.node->attributes.Int("blocksize", 1);
  const int64_t channels = inputs[0].type.shape[layout == DataLayout::kNchw ? 1 : 3];
  CopyFrom(inputs[0], outputs[0], [&](const Coordinates& index) {
    const Coordinates at = ToNchw(index, layout);
    const int64_t cell = at[1] / channels;
    return FromNchw(
        {at[0], at[1] % channels, at[2] * block + cell / block, at[3] * block + cell % block},
        layout);
  });
  return absl::OkStatus();
}

absl::Status ConstantReference(const OpCall& call, Inputs, Outputs outputs) {
  const Attributes& attributes = call.node->attributes;
  const TensorView& out = outputs[0];
  if (const Tensor* value = attributes.TensorOrNull("value")) {
    CopyAll(value->view(), out);
  } else if (attributes.Has("value_float")) {
    out.Values<float>()[0] = attributes.Float("value_float", 0);
  } else if (attributes.Has("value_int")) {
    out.Values<int64_t>()[0] = attributes.Int("value_int", 0);
  } else if (attributes.Has("value_floats")) {
    const std::vector<float> values = attributes.Floats("value_floats");
    std::copy(values.begin(), values.end(), out.Values<float>().begin());
  } else {
    const std::vector<int64_t> values = attributes.Ints("value_ints");
    std::copy(values.begin(), values.end(), out.Values<int64_t>().begin());
  }
  return absl::OkStatus();
}

absl::Status ConstantOfShapeReference(const OpCall& call, Inputs, Outputs outputs) {
  const Tensor zero(TensorType{DType::kFloat32, Shape{}});
  const Tensor* value = call.node->attributes.TensorOrNull("value");
  const ConstTensorView one = (value != nullptr ? *value : zero).view();
  for (int64_t i = 0; i < outputs[0].type.shape.ElementCount(); ++i) {
    CopyElement(one, 0, outputs[0], i);
  }
  return absl::OkStatus();
}

absl::Status ShapeReference(const OpCall& call, Inputs inputs, Outputs outputs) {
  const Shape& shape = inputs[0].type.shape;
  int64_t start = call.node->attributes.Int("start", 0);
  if (start < 0) start += shape.rank();
  start = std::max<int64_t>(start, 0);
  const absl::Span<int64_t> out = outputs[0].Values<int64_t>();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = shape[static_cast<int>(start) + static_cast<int>(i)];
  return absl::OkStatus();
}

}  // namespace berth
