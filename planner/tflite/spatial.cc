// Convolutions and pools.
#include "planner/tflite/hybrid.h"
#include "planner/tflite/op_table.h"
#include "planner/tflite/twice_rounded.h"
#include "planner/tflite/windows.h"

namespace berth::tfl_ops {
namespace {

// OHWI and, of depthwise ones, 1HWO; both to the OIHW of ONNX.
const Permutation kFromOhwi = {0, 3, 1, 2};
const Permutation kFrom1hwo = {3, 0, 1, 2};

// The input without the zeros that a PAD put around it, which become pads of the window.
struct WindowInput {
  ValueId value = ValueId::kNone;
  std::vector<int64_t> extents;  // height and width that SAME speaks of
  std::vector<int64_t> before = {0, 0}, after = {0, 0};
};

absl::StatusOr<WindowInput> ReadInput(TfliteOpImport& op, int i, bool zeros_do_nothing) {
  WindowInput input;
  BERTH_ASSIGN_OR_RETURN(input.value, op.Stored(i));
  const Shape& shape = op.ShapeOf(input.value);
  if (shape.rank() != 4) return InvalidArgument("an input of shape {}", shape.ToString());
  input.extents = {shape[1], shape[2]};
  const auto padded = op.state().padded.find(input.value);
  if (padded == op.state().padded.end() || !zeros_do_nothing) return input;
  input.value = padded->second.source;
  input.before = padded->second.before;
  input.after = padded->second.after;
  return input;
}

absl::Status PlaceWindows(tfl::Padding padding, const WindowInput& input,
                          std::vector<TfliteWindow>& windows) {
  for (size_t i = 0; i < windows.size(); ++i) {
    BERTH_RETURN_IF_ERROR(PadWindow(padding, input.extents[i], windows[i]));
    windows[i].pad_begin += input.before[i];
    windows[i].pad_end += input.after[i];
  }
  return absl::OkStatus();
}

absl::StatusOr<ValueId> Product(TfliteOpImport& op, ValueId first, ValueId weights,
                                Attributes attributes) {
  ValueId bias = ValueId::kNone;
  if (op.HasInput(2)) {
    BERTH_ASSIGN_OR_RETURN(bias, op.RealBias(2, 0, 1));
  }
  BERTH_ASSIGN_OR_RETURN(const bool is_hybrid, IsHybrid(op));
  if (is_hybrid) {
    return HybridProduct(op, OpKind::kConv, {first, weights, bias}, std::move(attributes), false);
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId real, op.RealOf(0, first));
  std::vector<ValueId> operands = {real, weights};
  if (bias != ValueId::kNone) operands.push_back(bias);
  return op.Apply(OpKind::kConv, std::move(operands), std::move(attributes));
}

template <typename Options>
absl::Status Convolve(TfliteOpImport& op, const Permutation& weight_order, bool depthwise) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 3));
  BERTH_ASSIGN_OR_RETURN(const Options* options, op.GetOptions<Options>());
  BERTH_ASSIGN_OR_RETURN(const WindowInput input, ReadInput(op, 0, true));
  BERTH_ASSIGN_OR_RETURN(const ValueId weights, op.RealWeights(1, weight_order));
  const Shape kernel = op.ShapeOf(weights);
  std::vector<TfliteWindow> windows = {
      {.kernel = kernel[2], .stride = options->stride_h(), .dilation = options->dilation_h()},
      {.kernel = kernel[3], .stride = options->stride_w(), .dilation = options->dilation_w()}};
  BERTH_RETURN_IF_ERROR(PlaceWindows(options->padding(), input, windows));
  Attributes attributes = WindowAttributes(windows, true);
  const int64_t channels = op.ShapeOf(input.value)[3];
  if (!depthwise && (kernel[1] < 1 || channels % kernel[1] != 0)) {
    return InvalidArgument("{} input channels, weights for {}", channels, kernel[1]);
  }
  attributes.Set("group", depthwise ? channels : channels / kernel[1]);
  LimitFactors(op.TypeOf(input.value).dtype, attributes);
  BERTH_ASSIGN_OR_RETURN(const ValueId first, op.ChannelsFirst(input.value));
  BERTH_ASSIGN_OR_RETURN(ValueId result, Product(op, first, weights, std::move(attributes)));
  if (depthwise && op.state().own_kernels) {
    BERTH_ASSIGN_OR_RETURN(result, TwiceRounded(op, result, options->fused_activation()));
  }
  return op.SetRealChannelsFirst(0, result, options->fused_activation());
}

struct Pooling {
  std::vector<TfliteWindow> windows;
  tfl::Activation activation = tfl::Activation::NONE;
};

absl::StatusOr<Pooling> ReadPool(const TfliteOpImport& op, const WindowInput& input) {
  BERTH_ASSIGN_OR_RETURN(const tfl::Pool2DOptions* options, op.GetOptions<tfl::Pool2DOptions>());
  Pooling pooling{{{.kernel = options->filter_h(), .stride = options->stride_h()},
                   {.kernel = options->filter_w(), .stride = options->stride_w()}},
                  options->fused_activation()};
  BERTH_RETURN_IF_ERROR(PlaceWindows(options->padding(), input, pooling.windows));
  return pooling;
}

// One window over the whole image: a reduction, of any size.
bool CoversAll(const std::vector<TfliteWindow>& windows, const WindowInput& input) {
  for (size_t i = 0; i < windows.size(); ++i) {
    const TfliteWindow& window = windows[i];
    if (window.kernel != input.extents[i] || window.pad_begin + window.pad_end != 0) return false;
  }
  return true;
}

}  // namespace

absl::Status Conv2D(TfliteOpImport& op) {
  return Convolve<tfl::Conv2DOptions>(op, kFromOhwi, false);
}

absl::Status DepthwiseConv2D(TfliteOpImport& op) {
  return Convolve<tfl::DepthwiseConv2DOptions>(op, kFrom1hwo, true);
}

absl::Status AveragePool2D(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const WindowInput input, ReadInput(op, 0, false));
  BERTH_ASSIGN_OR_RETURN(const Pooling pooling, ReadPool(op, input));
  BERTH_ASSIGN_OR_RETURN(const ValueId first, op.ChannelsFirst(input.value));
  BERTH_ASSIGN_OR_RETURN(const ValueId real, op.RealOf(0, first));
  const bool is_global = CoversAll(pooling.windows, input);
  BERTH_ASSIGN_OR_RETURN(
      const ValueId result,
      op.Apply(is_global ? OpKind::kGlobalAveragePool : OpKind::kAveragePool, {real},
               is_global ? Attributes{} : WindowAttributes(pooling.windows, false)));
  return op.SetRealChannelsFirst(0, result, pooling.activation);
}

// The largest stored number is the largest real one: where nothing else is to be done, no scale is
// needed. The machine compares bytes and floats.
absl::Status MaxPool2D(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const WindowInput input, ReadInput(op, 0, false));
  BERTH_ASSIGN_OR_RETURN(const Pooling pooling, ReadPool(op, input));
  BERTH_ASSIGN_OR_RETURN(const ValueId first, op.ChannelsFirst(input.value));
  BERTH_ASSIGN_OR_RETURN(const bool same_scale, op.SameScale(0, 0));
  const bool as_stored = same_scale && pooling.activation == tfl::Activation::NONE &&
                         op.TypeOf(first).dtype != DType::kInt16;
  ValueId operand = first;
  if (!as_stored) {
    BERTH_ASSIGN_OR_RETURN(operand, op.RealOf(0, first));
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Apply(OpKind::kMaxPool, {operand},
                                                        WindowAttributes(pooling.windows, false)));
  if (as_stored) return op.SetStoredChannelsFirst(0, result);
  return op.SetRealChannelsFirst(0, result, pooling.activation);
}

}  // namespace berth::tfl_ops
