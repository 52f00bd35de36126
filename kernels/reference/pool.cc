// References of the pools and of LRN, in double.
#include <cmath>
#include <limits>

#include "kernels/reference/doubles.h"
#include "kernels/reference/reference_list.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

struct WindowSum {
  double sum = 0, maximum = -std::numeric_limits<double>::infinity();
  int64_t inside = 0;         // samples of the input
  int64_t inside_padded = 0;  // samples of the input and its pads
};

using Axes3 = std::array<AxisWindow, 3>;

Axes3 ToAxes3(const AxisWindows& axes) {
  Axes3 result;
  for (size_t i = 0; i < axes.size(); ++i) result[3 - axes.size() + i] = axes[i];
  return result;
}

WindowSum SumWindow(const Axes3& axes, const ImageIndex& in, const std::vector<double>& x,
                    int64_t n, int64_t channel, const int64_t (&position)[3]) {
  WindowSum window;
  const int64_t kernel[3] = {axes[0].kernel, axes[1].kernel, axes[2].kernel};
  ForEachPoint(kernel, [&](const int64_t(&tap)[3]) {
    int64_t sample[3];
    bool inside = true, inside_padded = true;
    for (int i = 0; i < 3; ++i) {
      const AxisWindow& axis = axes[static_cast<size_t>(i)];
      sample[i] = position[i] * axis.stride - axis.pad_begin + tap[i] * axis.dilation;
      inside = inside && sample[i] >= 0 && sample[i] < axis.input;
      inside_padded = inside_padded && sample[i] < axis.input + axis.pad_end;
    }
    if (inside_padded) ++window.inside_padded;
    if (!inside) return;
    ++window.inside;
    const double value = x[static_cast<size_t>(in.At(n, channel, sample))];
    window.sum += value;
    if (!(value <= window.maximum)) window.maximum = value;
  });
  return window;
}

template <typename Finish>
void Pool(const OpCall& call, const AxisWindows& window, const ConstTensorView& input,
          const TensorView& output, Finish&& finish) {
  const Axes3 axes = ToAxes3(window);
  const DataLayout layout = call.node->layout;
  const ImageIndex in(layout, input.type.shape), out(layout, output.type.shape);
  const std::vector<double> x = ToDoubles(input);
  std::vector<double> y(static_cast<size_t>(output.type.shape.ElementCount()));
  const int64_t channels = input.type.shape[ChannelAxis(layout, input.type.shape.rank())];
  for (int64_t n = 0; n < input.type.shape[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      ForEachPoint(out.space_extent, [&](const int64_t(&position)[3]) {
        y[static_cast<size_t>(out.At(n, c, position))] =
            finish(SumWindow(axes, in, x, n, c, position));
      });
    }
  }
  FromDoubles(y, output);
}

AxisWindows WholeWindow(const OpCall& call) {
  AxisWindows axes;
  const Shape& shape = call.input(0).shape;
  for (int i = 0; i < shape.rank() - 2; ++i) {
    const int64_t extent = shape[SpatialAxis(call.node->layout, i)];
    axes.push_back({.input = extent, .kernel = extent, .output = 1});
  }
  return axes;
}

double Average(const WindowSum& window) { return window.sum / static_cast<double>(window.inside); }
double Maximum(const WindowSum& window) { return window.maximum; }

}  // namespace

absl::Status MaxPoolReference(const OpCall& call, absl::Span<const ConstTensorView> inputs,
                              absl::Span<const TensorView> outputs) {
  BERTH_ASSIGN_OR_RETURN(const AxisWindows axes, ResolvePoolWindow(call));
  Pool(call, axes, inputs[0], outputs[0], Maximum);
  return absl::OkStatus();
}

absl::Status AveragePoolReference(const OpCall& call, absl::Span<const ConstTensorView> inputs,
                                  absl::Span<const TensorView> outputs) {
  BERTH_ASSIGN_OR_RETURN(const AxisWindows axes, ResolvePoolWindow(call));
  const bool include_pad = call.node->attributes.Int("count_include_pad", 0) != 0;
  Pool(call, axes, inputs[0], outputs[0], [&](const WindowSum& window) {
    return include_pad ? window.sum / static_cast<double>(window.inside_padded) : Average(window);
  });
  return absl::OkStatus();
}

absl::Status GlobalAveragePoolReference(const OpCall& call,
                                        absl::Span<const ConstTensorView> inputs,
                                        absl::Span<const TensorView> outputs) {
  Pool(call, WholeWindow(call), inputs[0], outputs[0], Average);
  return absl::OkStatus();
}

absl::Status GlobalMaxPoolReference(const OpCall& call, absl::Span<const ConstTensorView> inputs,
                                    absl::Span<const TensorView> outputs) {
  Pool(call, WholeWindow(call), inputs[0], outputs[0], Maximum);
  return absl::OkStatus();
}

absl::Status LRNReference(const OpCall& call, absl::Span<const ConstTensorView> inputs,
                          absl::Span<const TensorView> outputs) {
  const Attributes& attributes = call.node->attributes;
  const Shape& shape = call.input(0).shape;
  const int axis = ChannelAxis(call.node->layout, shape.rank());
  const int64_t channels = shape[axis], inner = shape.Product(axis + 1, shape.rank());
  const int64_t window = attributes.Int("size", 1);
  const double alpha = attributes.Float("alpha", 1e-4f), beta = attributes.Float("beta", 0.75f);
  const double bias = attributes.Float("bias", 1.0f);
  const std::vector<double> x = ToDoubles(inputs[0]);
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t channel = static_cast<int64_t>(i) / inner % channels;
    double sum = 0;
    for (int64_t d = -((window - 1) / 2); d <= window / 2; ++d) {
      if (channel + d < 0 || channel + d >= channels) continue;
      const double value = x[static_cast<size_t>(static_cast<int64_t>(i) + d * inner)];
      sum += value * value;
    }
    y[i] = x[i] / std::pow(bias + alpha / static_cast<double>(window) * sum, beta);
  }
  FromDoubles(y, outputs[0]);
  return absl::OkStatus();
}

}  // namespace berth
