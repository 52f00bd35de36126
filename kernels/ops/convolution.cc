#include "kernels/ops/convolution.h"

#include <optional>

#include "base/checked_math.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/quantized_product.h"

namespace berth {
namespace {

// Pixels of fewer bytes are not worth a transfer each: bursts would bring their neighbours anyway.
constexpr int64_t kThinnedPixelBytes = 64;

// Kernel extents out of the weights' shape.
std::vector<int64_t> KernelOf(DataLayout layout, const Shape& weights) {
  const auto first = weights.begin() + (layout == DataLayout::kNchw ? 2 : 0);
  return {first, first + (weights.rank() - 2)};
}
// The weights' extents of input-like and output-like channels, in the order (first, second) of the
// kNchw form.
std::pair<int64_t, int64_t> WeightChannels(DataLayout layout, const Shape& weights,
                                           bool transposed) {
  if (layout == DataLayout::kNchw) return {weights[0], weights[1]};
  const int64_t input_side = weights[weights.rank() - 2];
  const int64_t output_side = weights.back();
  return transposed ? std::pair{input_side, output_side} : std::pair{output_side, input_side};
}

absl::Status CheckOperands(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 3));
  const bool quantized = IsQuantizedProduct(*call.node);
  const DTypeClass dtypes = quantized ? DTypeClass::kNumeric : DTypeClass::kFloat;
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, dtypes));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 1, dtypes));
  const TensorType& x = call.input(0);
  const TensorType& w = call.input(1);
  BERTH_RETURN_IF_ERROR(CheckSpatialRank(x.shape));
  if (w.shape.rank() != x.shape.rank()) {
    return InvalidArgument("weights {} have rank {}, the input {} has rank {}", w.shape.ToString(),
                           w.shape.rank(), x.shape.ToString(), x.shape.rank());
  }
  if (quantized) return CheckQuantizedProduct(call);
  if (x.dtype == DType::kFloat64) return Unimplemented("dtype float64 is not supported");
  if (w.dtype != x.dtype || !BiasFits(call)) {
    return InvalidArgument("weights or bias differ in dtype from the input ({})",
                           DTypeName(x.dtype));
  }
  return absl::OkStatus();
}

absl::Status CheckKernelShape(const Node& node, const std::vector<int64_t>& kernel) {
  const std::vector<int64_t> stated = node.attributes.Ints("kernel_shape");
  if (stated.empty() || stated == kernel) return absl::OkStatus();
  return InvalidArgument("kernel_shape {} contradicts the weights' {}", Shape(stated).ToString(),
                         Shape(kernel).ToString());
}

absl::StatusOr<Convolution> ReadChannels(const OpCall& call, bool transposed) {
  const Node& node = *call.node;
  const Shape& x = call.input(0).shape;
  const Shape& w = call.input(1).shape;
  Convolution conv;
  conv.transposed = transposed;
  conv.batch = x[0];
  conv.input_channels = x[ChannelAxis(node.layout, x.rank())];
  conv.groups = node.attributes.Int("group", 1);
  if (conv.groups < 1) return InvalidArgument("group is {}", conv.groups);
  const auto [first, second] = WeightChannels(node.layout, w, transposed);
  const std::optional<int64_t> of_all_groups = CheckedMul(second, conv.groups);
  if (!of_all_groups) {
    return InvalidArgument("group is {}, each of {} channels", conv.groups, second);
  }
  conv.output_channels = transposed ? *of_all_groups : first;
  const int64_t expected_inputs = transposed ? first : *of_all_groups;
  if (expected_inputs != conv.input_channels || conv.input_channels % conv.groups != 0) {
    return InvalidArgument("the input has {} channels; weights {} with group {} take {}",
                           conv.input_channels, w.ToString(), conv.groups, expected_inputs);
  }
  if (conv.output_channels < 1 || conv.input_channels < 1 ||
      conv.output_channels % conv.groups != 0) {
    return InvalidArgument("{} input and {} output channels do not split into {} groups",
                           conv.input_channels, conv.output_channels, conv.groups);
  }
  if (call.HasInput(2) && call.input(2).shape != Shape{conv.output_channels}) {
    return InvalidArgument("the bias has shape {}; {} output channels",
                           call.input(2).shape.ToString(), conv.output_channels);
  }
  return conv;
}

using Resolver = absl::StatusOr<AxisWindows> (*)(const Node&, const Shape&,
                                                 absl::Span<const int64_t>);

absl::StatusOr<Convolution> Resolve(const OpCall& call, bool transposed, Resolver resolver) {
  BERTH_RETURN_IF_ERROR(CheckOperands(call));
  const std::vector<int64_t> kernel = KernelOf(call.node->layout, call.input(1).shape);
  BERTH_RETURN_IF_ERROR(CheckKernelShape(*call.node, kernel));
  BERTH_ASSIGN_OR_RETURN(Convolution conv, ReadChannels(call, transposed));
  BERTH_ASSIGN_OR_RETURN(conv.axes, resolver(*call.node, call.input(0).shape, kernel));
  return conv;
}

}  // namespace

absl::StatusOr<Convolution> ResolveConv(const OpCall& call) {
  return Resolve(call, false, ResolveWindow);
}
absl::StatusOr<Convolution> ResolveConvTranspose(const OpCall& call) {
  return Resolve(call, true, ResolveTransposedWindow);
}

Convolution ResolveConvolution(const OpCall& call) {
  auto conv =
      call.node->kind == OpKind::kConvTranspose ? ResolveConvTranspose(call) : ResolveConv(call);
  TakePart(call.part, conv->transposed, conv->axes);
  return *std::move(conv);
}

Convolution ResolveThinned(const OpCall& call) {
  Convolution conv = ResolveConvolution(call);
  const int64_t pixel_bytes = conv.input_channels * DTypeBytes(call.input(0).dtype);
  if (conv.transposed || pixel_bytes < kThinnedPixelBytes) return conv;
  const size_t missing = 3 - conv.axes.size();
  for (size_t i = 0; i < conv.axes.size(); ++i) {
    AxisWindow& axis = conv.axes[i];
    const int64_t last = (axis.output - 1) * axis.stride - axis.pad_begin;
    if (axis.kernel > 1 || axis.stride == 1 || axis.pad_begin > 0 || last >= axis.input) continue;
    conv.thinning[missing + i] = {-axis.pad_begin, axis.stride};
    axis = {.input = axis.output, .output = axis.output};
  }
  return conv;
}

std::optional<PartRead> ConvolutionPart(const OpCall& call, int input, int axis,
                                        IndexRange outputs) {
  const Convolution conv = ResolveConvolution(call);
  const int spatial = axis - SpatialAxis(DataLayout::kNhwc, 0);
  if (call.node->layout != DataLayout::kNhwc || spatial < 0 ||
      spatial >= static_cast<int>(conv.axes.size())) {
    return std::nullopt;
  }
  if (input > 0) return WholeRead(call.input(input).shape, axis);  // weights, bias
  return PartRead{axis,
                  SamplesOf(conv.axes[static_cast<size_t>(spatial)], conv.transposed, outputs)};
}

std::vector<TensorType> ConvolutionType(const OpCall& call, const Convolution& conv) {
  absl::InlinedVector<int64_t, 3> spatial;
  for (const AxisWindow& axis : conv.axes) spatial.push_back(axis.output);
  return {{ProductDType(call),
           ActivationShape(call.node->layout, conv.batch, spatial, conv.output_channels)}};
}

}  // namespace berth
