// Transposed convolutions: TFLite's, and MediaPipe's custom op with a bias.
#include <cstring>

#include "planner/tflite/op_table.h"
#include "planner/tflite/windows.h"

namespace berth::tfl_ops {
namespace {

// OHWI to the IOHW of ONNX.
const Permutation kFromOhwi = {3, 0, 1, 2};

struct TransposedConvolution {
  int input = 0, weights = 0, bias = 0;  // positions among the inputs
  int64_t stride_h = 1, stride_w = 1;
  tfl::Padding padding = tfl::Padding::SAME;
  tfl::Activation activation = tfl::Activation::NONE;
  std::vector<int64_t> output;  // height and width; empty: what the padding gives
};

// The pads of the forward convolution from `output` to `input`; a shorter reach leaves rows of the
// output to the bias alone.
absl::StatusOr<int64_t> PlaceWindow(const TransposedConvolution& conv, int64_t input,
                                    int64_t output, TfliteWindow& window) {
  BERTH_RETURN_IF_ERROR(CheckWindow(window));
  const int64_t reach = (input - 1) * window.stride + window.kernel;
  if (conv.padding == tfl::Padding::SAME) {
    const int64_t total = std::max<int64_t>(0, reach - output);
    window.pad_begin = total / 2;
    window.pad_end = total - total / 2;
  } else if (reach > output) {
    window.pad_end = reach - output;
  }
  return std::max<int64_t>(0, output - reach);
}

int64_t OutputExtent(const TransposedConvolution& conv, int64_t input, const TfliteWindow& window) {
  if (conv.padding == tfl::Padding::SAME) return input * window.stride;
  return (input - 1) * window.stride + window.kernel;
}

absl::Status Emit(TfliteOpImport& op, const TransposedConvolution& conv) {
  BERTH_ASSIGN_OR_RETURN(const ValueId stored, op.Stored(conv.input));
  const Shape shape = op.ShapeOf(stored);
  if (shape.rank() != 4) return InvalidArgument("an input of shape {}", shape.ToString());
  BERTH_ASSIGN_OR_RETURN(const ValueId weights, op.RealWeights(conv.weights, kFromOhwi));
  const Shape kernel = op.ShapeOf(weights);
  std::vector<TfliteWindow> windows = {{.kernel = kernel[2], .stride = conv.stride_h},
                                       {.kernel = kernel[3], .stride = conv.stride_w}};
  std::vector<int64_t> missing;
  for (size_t i = 0; i < windows.size(); ++i) {
    const int64_t input = shape[1 + static_cast<int>(i)];
    BERTH_RETURN_IF_ERROR(CheckWindow(windows[i]));
    const int64_t output =
        conv.output.empty() ? OutputExtent(conv, input, windows[i]) : conv.output[i];
    BERTH_ASSIGN_OR_RETURN(const int64_t rows, PlaceWindow(conv, input, output, windows[i]));
    missing.push_back(rows);
  }
  Attributes attributes = WindowAttributes(windows, false);
  attributes.Set("output_padding", std::move(missing));
  LimitFactors(op.TypeOf(stored).dtype, attributes);
  BERTH_ASSIGN_OR_RETURN(const ValueId first, op.ChannelsFirst(stored));
  BERTH_ASSIGN_OR_RETURN(const ValueId real, op.RealOf(conv.input, first));
  std::vector<ValueId> operands = {real, weights};
  if (op.HasInput(conv.bias)) {
    BERTH_ASSIGN_OR_RETURN(const ValueId bias, op.RealBias(conv.bias, conv.input, conv.weights));
    operands.push_back(bias);
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Apply(OpKind::kConvTranspose, std::move(operands),
                                                        std::move(attributes)));
  return op.SetRealChannelsFirst(0, result, conv.activation);
}

}  // namespace

absl::Status TransposeConv(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(3, 4));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::TransposeConvOptions>());
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, op.KnownInts(0, "output shape"));
  if (shape.size() != 4) return InvalidArgument("an output shape of {} extents", shape.size());
  return Emit(op, {.input = 2,
                   .weights = 1,
                   .bias = 3,
                   .stride_h = options->stride_h(),
                   .stride_w = options->stride_w(),
                   .padding = options->padding(),
                   .activation = options->fused_activation(),
                   .output = {shape[1], shape[2]}});
}

// Its options are three little-endian int32: padding (1 SAME, 2 VALID), stride in x and in y.
absl::Status Convolution2DTransposeBias(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 3));
  const auto* bytes = op.op().custom_options();
  int32_t fields[3] = {};
  if (bytes == nullptr || bytes->size() < sizeof(fields)) {
    return InvalidArgument("its custom options have {} bytes, {} expected",
                           bytes == nullptr ? 0 : bytes->size(), sizeof(fields));
  }
  std::memcpy(fields, bytes->data(), sizeof(fields));
  if (fields[0] != 1 && fields[0] != 2) return InvalidArgument("padding {} is unknown", fields[0]);
  return Emit(op, {.input = 0,
                   .weights = 1,
                   .bias = 2,
                   .stride_h = fields[2],
                   .stride_w = fields[1],
                   .padding = fields[0] == 1 ? tfl::Padding::SAME : tfl::Padding::VALID});
}

}  // namespace berth::tfl_ops
