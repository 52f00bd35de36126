// References of Conv and ConvTranspose: each as a scatter or gather over taps, in double.
#include "kernels/ops/convolution.h"

#include "kernels/reference/doubles.h"
#include "kernels/reference/quantized_product.h"
#include "kernels/reference/reference_list.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

// Strides, in elements, of weights by meaning.
struct WeightIndex {
  int64_t first_stride = 0, second_stride = 0;  // of the channel axes in the order of kNchw
  int64_t space_stride[3] = {};

  WeightIndex(const Node& node, const Shape& shape) {
    const std::vector<int64_t> strides = shape.DenseStrides();
    const size_t rank = strides.size();
    const bool channels_first = node.layout == DataLayout::kNchw;
    const bool transposed = node.kind == OpKind::kConvTranspose;
    if (channels_first) {
      first_stride = strides[0];
      second_stride = strides[1];
    } else {
      first_stride = strides[transposed ? rank - 2 : rank - 1];
      second_stride = strides[transposed ? rank - 1 : rank - 2];
    }
    for (size_t i = 0; i + 2 < rank; ++i) {
      space_stride[3 - (rank - 2) + i] = strides[channels_first ? i + 2 : i];
    }
  }
  int64_t At(int64_t first, int64_t second, const int64_t (&space)[3]) const {
    return first * first_stride + second * second_stride + space[0] * space_stride[0] +
           space[1] * space_stride[1] + space[2] * space_stride[2];
  }
};

struct Operands {
  std::vector<double> x, w, bias;
  ImageIndex in, out;
  WeightIndex weights;
  int64_t kernel[3];

  Operands(const OpCall& call, const Convolution& conv, absl::Span<const ConstTensorView> inputs)
      : x(ToDoubles(inputs[0])),
        w(ToDoubles(inputs[1])),
        in(call.node->layout, call.input(0).shape),
        out(call.node->layout, call.output().shape),
        weights(*call.node, call.input(1).shape) {
    if (IsQuantizedProduct(*call.node)) {
      CenterOperands(*call.node, x, w);  // the bias is added to the whole sums
    } else if (call.HasInput(2)) {
      bias = ToDoubles(inputs[2]);
    }
    for (int i = 0; i < 3; ++i) kernel[i] = conv.axis3(i).kernel;
  }
  double Bias(int64_t channel) const {
    return bias.empty() ? 0.0 : bias[static_cast<size_t>(channel)];
  }
};

double ConvolveAt(const Convolution& conv, const Operands& o, int64_t n, int64_t channel,
                  const int64_t (&position)[3]) {
  const int64_t first_input = channel / conv.group_outputs() * conv.group_inputs();
  double sum = o.Bias(channel);
  ForEachPoint(o.kernel, [&](const int64_t(&tap)[3]) {
    int64_t sample[3];
    for (int i = 0; i < 3; ++i) {
      const AxisWindow axis = conv.axis3(i);
      sample[i] = position[i] * axis.stride - axis.pad_begin + tap[i] * axis.dilation;
      if (sample[i] < 0 || sample[i] >= o.in.space_extent[i]) return;
    }
    const double* x = &o.x[static_cast<size_t>(o.in.At(n, first_input, sample))];
    const double* w = &o.w[static_cast<size_t>(o.weights.At(channel, 0, tap))];
    for (int64_t c = 0; c < conv.group_inputs(); ++c) {
      sum += x[c * o.in.channel_stride] * w[c * o.weights.second_stride];
    }
  });
  return sum;
}

// Adds the contribution of one input sample to all outputs that it reaches.
void ScatterFrom(const Convolution& conv, const Operands& o, int64_t n, int64_t channel,
                 const int64_t (&sample)[3], std::vector<double>& y) {
  const int64_t first_output = channel / conv.group_inputs() * conv.group_outputs();
  const double value = o.x[static_cast<size_t>(o.in.At(n, channel, sample))];
  ForEachPoint(o.kernel, [&](const int64_t(&tap)[3]) {
    int64_t position[3];
    for (int i = 0; i < 3; ++i) {
      const AxisWindow axis = conv.axis3(i);
      position[i] = sample[i] * axis.stride - axis.pad_begin + tap[i] * axis.dilation;
      if (position[i] < 0 || position[i] >= o.out.space_extent[i]) return;
    }
    for (int64_t c = 0; c < conv.group_outputs(); ++c) {
      y[static_cast<size_t>(o.out.At(n, first_output + c, position))] +=
          value * o.w[static_cast<size_t>(o.weights.At(channel, c, tap))];
    }
  });
}

}  // namespace

absl::Status ConvReference(const OpCall& call, absl::Span<const ConstTensorView> inputs,
                           absl::Span<const TensorView> outputs) {
  BERTH_ASSIGN_OR_RETURN(const Convolution conv, ResolveConv(call));
  const Operands o(call, conv, inputs);
  std::vector<double> y(static_cast<size_t>(call.output().shape.ElementCount()));
  for (int64_t n = 0; n < conv.batch; ++n) {
    for (int64_t channel = 0; channel < conv.output_channels; ++channel) {
      ForEachPoint(o.out.space_extent, [&](const int64_t(&position)[3]) {
        y[static_cast<size_t>(o.out.At(n, channel, position))] =
            ConvolveAt(conv, o, n, channel, position);
      });
    }
  }
  if (IsQuantizedProduct(*call.node)) {
    FinishQuantizedProduct(call, ChannelAxis(call.node->layout, call.output().shape.rank()), y,
                           inputs, outputs[0]);
  } else {
    FromDoubles(y, outputs[0]);
  }
  return absl::OkStatus();
}

absl::Status ConvTransposeReference(const OpCall& call, absl::Span<const ConstTensorView> inputs,
                                    absl::Span<const TensorView> outputs) {
  BERTH_ASSIGN_OR_RETURN(const Convolution conv, ResolveConvTranspose(call));
  const Operands o(call, conv, inputs);
  std::vector<double> y(static_cast<size_t>(call.output().shape.ElementCount()));
  for (int64_t n = 0; n < conv.batch; ++n) {
    for (int64_t channel = 0; channel < conv.output_channels; ++channel) {
      ForEachPoint(o.out.space_extent, [&](const int64_t(&position)[3]) {
        y[static_cast<size_t>(o.out.At(n, channel, position))] = o.Bias(channel);
      });
    }
    for (int64_t channel = 0; channel < conv.input_channels; ++channel) {
      ForEachPoint(o.in.space_extent,
                   [&](const int64_t(&sample)[3]) { ScatterFrom(conv, o, n, channel, sample, y); });
    }
  }
  if (IsQuantizedProduct(*call.node)) {
    FinishQuantizedProduct(call, ChannelAxis(call.node->layout, call.output().shape.rank()), y,
                           inputs, outputs[0]);
  } else {
    FromDoubles(y, outputs[0]);
  }
  return absl::OkStatus();
}

}  // namespace berth
