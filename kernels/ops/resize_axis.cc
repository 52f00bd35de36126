#include "kernels/ops/resize_axis.h"

#include <algorithm>
#include <cmath>

#include "kernels/spatial.h"

namespace berth {
namespace {

constexpr int kFirstModernOpset = 11;  // coordinate modes, roi and sizes

bool IsUpsample(const Node& node) { return node.kind == OpKind::kUpsample; }
// Upsample and Resize 10 know one way of mapping coordinates.
bool IsLegacy(const Node& node) { return IsUpsample(node) || node.opset < kFirstModernOpset; }

template <typename Enum>
struct Choice {
  const char* name;
  Enum value;
};
constexpr Choice<ResizeMode> kModes[] = {{"nearest", ResizeMode::kNearest},
                                         {"linear", ResizeMode::kLinear},
                                         {"bilinear", ResizeMode::kLinear},
                                         {"cubic", ResizeMode::kCubic}};
constexpr Choice<ResizeCoordinates> kCoordinates[] = {
    {"half_pixel", ResizeCoordinates::kHalfPixel},
    {"pytorch_half_pixel", ResizeCoordinates::kPytorchHalfPixel},
    {"align_corners", ResizeCoordinates::kAlignCorners},
    {"asymmetric", ResizeCoordinates::kAsymmetric},
    {"tf_half_pixel_for_nn", ResizeCoordinates::kTfHalfPixelForNn},
    {"half_pixel_symmetric", ResizeCoordinates::kHalfPixelSymmetric}};
constexpr Choice<ResizeNearest> kNearest[] = {
    {"round_prefer_floor", ResizeNearest::kRoundPreferFloor},
    {"round_prefer_ceil", ResizeNearest::kRoundPreferCeil},
    {"floor", ResizeNearest::kFloor},
    {"ceil", ResizeNearest::kCeil}};

template <typename Enum, size_t kCount>
absl::Status ReadChoice(const Node& node, std::string_view name,
                        const Choice<Enum> (&choices)[kCount], Enum& value) {
  const std::string text = node.attributes.String(name, choices[0].name);
  for (const Choice<Enum>& choice : choices) {
    if (text != choice.name) continue;
    value = choice.value;
    return absl::OkStatus();
  }
  return InvalidArgument("{} '{}' is unknown", name, text);
}

absl::Status ReadModes(const Node& node, ResizePlan& plan) {
  BERTH_RETURN_IF_ERROR(ReadChoice(node, "mode", kModes, plan.mode));
  if (IsLegacy(node)) {
    plan.coordinates = ResizeCoordinates::kAsymmetric;
    plan.nearest = ResizeNearest::kLegacy;
    return absl::OkStatus();
  }
  const std::string coordinates = node.attributes.String("coordinate_transformation_mode", "");
  if (coordinates == "tf_crop_and_resize") {
    return Unimplemented("coordinate_transformation_mode tf_crop_and_resize is not supported");
  }
  BERTH_RETURN_IF_ERROR(
      ReadChoice(node, "coordinate_transformation_mode", kCoordinates, plan.coordinates));
  BERTH_RETURN_IF_ERROR(ReadChoice(node, "nearest_mode", kNearest, plan.nearest));
  if (node.attributes.Int("antialias", 0) != 0) {
    return Unimplemented("antialias 1 is not supported");
  }
  if (node.attributes.String("keep_aspect_ratio_policy", "stretch") != "stretch") {
    return Unimplemented("keep_aspect_ratio_policy other than stretch is not supported");
  }
  plan.cubic_coefficient = node.attributes.Float("cubic_coeff_a", -0.75f);
  plan.exclude_outside = node.attributes.Int("exclude_outside", 0) != 0;
  return absl::OkStatus();
}

// The axis of the data for ONNX's axis i.
int DataAxis(DataLayout layout, int i, int rank) {
  if (rank < 3 || i == 0) return i;
  return i == 1 ? ChannelAxis(layout, rank) : SpatialAxis(layout, i - 2);
}

// The constant value of an input; empty where it is absent or has no elements.
absl::StatusOr<const Tensor*> KnownInput(const OpCall& call, int i, std::string_view what) {
  if (!call.HasInput(i) || call.input(i).shape.ElementCount() == 0) return nullptr;
  if (call.Constant(i) == nullptr) {
    return FailedPrecondition("{} are not known at compile time", what);
  }
  return call.Constant(i);
}

struct Request {
  std::vector<float> scales;  // one of the two is filled
  std::vector<int64_t> sizes;
};

absl::StatusOr<Request> ReadRequest(const OpCall& call) {
  const Node& node = *call.node;
  Request request;
  if (IsUpsample(node) && call.inputs.size() == 1) {
    request.scales = node.attributes.Floats("scales");
    if (request.scales.empty()) {  // Upsample 1
      request.scales = {1, 1, node.attributes.Float("height_scale", 0),
                        node.attributes.Float("width_scale", 0)};
    }
    return request;
  }
  const int scales_at = IsLegacy(node) ? 1 : 2;
  BERTH_ASSIGN_OR_RETURN(const Tensor* scales, KnownInput(call, scales_at, "scales"));
  BERTH_ASSIGN_OR_RETURN(const Tensor* sizes, KnownInput(call, IsLegacy(node) ? 99 : 3, "sizes"));
  if ((scales == nullptr) == (sizes == nullptr)) {
    return InvalidArgument("{} of scales and sizes are given", scales == nullptr ? "none" : "both");
  }
  if (scales != nullptr) {
    BERTH_ASSIGN_OR_RETURN(request.scales, ToFloatValues(scales->view()));
  } else {
    BERTH_ASSIGN_OR_RETURN(request.sizes, ToInt64Values(sizes->view()));
  }
  return request;
}

// Resize 18 may name the axes that its scales or sizes belong to.
absl::StatusOr<std::vector<int>> RequestedAxes(const Node& node, int rank, size_t count) {
  std::vector<int> axes;
  const std::vector<int64_t> named =
      node.opset >= 18 ? node.attributes.Ints("axes") : std::vector<int64_t>{};
  for (int64_t axis : named) {
    BERTH_ASSIGN_OR_RETURN(const int normal, NormalizeAxis(axis, rank));
    axes.push_back(normal);
  }
  if (named.empty()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  if (axes.size() != count) {
    return InvalidArgument("{} scales or sizes for {} axes", count, axes.size());
  }
  return axes;
}

absl::StatusOr<ResizeAxis> ResolveAxis(int64_t input, const Request& request, size_t i) {
  ResizeAxis axis{.input = input};
  if (request.sizes.empty()) {
    axis.scale = request.scales[i];
    const double extent = std::floor(static_cast<double>(static_cast<float>(input) * axis.scale));
    if (!(axis.scale > 0) || extent > 1e9) {
      return InvalidArgument("scale {} of an axis of {} is not usable", axis.scale, input);
    }
    axis.output = static_cast<int64_t>(extent);
  } else {
    axis.output = request.sizes[i];
    if (axis.output < 0 || axis.output > 1000000000) {
      return InvalidArgument("size {} of axis {} is not usable", axis.output, i);
    }
    axis.scale = input == 0 ? 1.0f : static_cast<float>(axis.output) / static_cast<float>(input);
  }
  if (input == 0 && axis.output != 0) {
    return InvalidArgument("an axis of 0 cannot become {}", axis.output);
  }
  return axis;
}

// Where output sample `position` stands among the input samples.
float SourceCoordinate(ResizeCoordinates coordinates, const ResizeAxis& axis, int64_t position) {
  const float x = static_cast<float>(position);
  // With scales the resized length keeps its fraction, as the operator's formula has it.
  const float length = axis.scale * static_cast<float>(axis.input);
  const float half_pixel = (x + 0.5f) / axis.scale - 0.5f;
  switch (coordinates) {
    case ResizeCoordinates::kHalfPixel:
      return half_pixel;
    case ResizeCoordinates::kPytorchHalfPixel:
      return axis.output > 1 ? half_pixel : 0;
    case ResizeCoordinates::kAlignCorners:
      return length == 1 ? 0 : x * static_cast<float>(axis.input - 1) / (length - 1);
    case ResizeCoordinates::kAsymmetric:
      return x / axis.scale;
    case ResizeCoordinates::kTfHalfPixelForNn:
      return (x + 0.5f) / axis.scale;
    case ResizeCoordinates::kHalfPixelSymmetric: {
      const float center = static_cast<float>(axis.input) / 2;
      return center * (1 - static_cast<float>(axis.output) / length) + half_pixel;
    }
  }
  return 0;
}

int64_t NearestSample(ResizeNearest nearest, const ResizeAxis& axis, float coordinate) {
  float sample = 0;
  switch (nearest) {
    case ResizeNearest::kRoundPreferFloor:
      sample = std::ceil(coordinate - 0.5f);
      break;
    case ResizeNearest::kRoundPreferCeil:
      sample = std::floor(coordinate + 0.5f);
      break;
    case ResizeNearest::kFloor:
      sample = std::floor(coordinate);
      break;
    case ResizeNearest::kCeil:
      sample = std::ceil(coordinate);
      break;
    case ResizeNearest::kLegacy:
      sample = axis.scale < 1 ? std::ceil(coordinate) : std::floor(coordinate);
      break;
  }
  return std::clamp<int64_t>(static_cast<int64_t>(sample), 0, axis.input - 1);
}

// Weights of the four samples around a coordinate with fraction r (Keys' cubic convolution).
std::array<float, 4> CubicWeights(float a, float r) {
  const auto near = [&](float d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [&](float d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + r), near(r), near(1 - r), far(2 - r)};
}

void AppendLinear(const ResizeAxis& axis, float coordinate, AxisTaps& taps) {
  const float last = static_cast<float>(axis.input - 1);
  const float inside = std::clamp(coordinate, 0.0f, last);
  const float below = std::floor(inside);
  taps.indices.push_back(static_cast<int32_t>(below));
  taps.indices.push_back(static_cast<int32_t>(std::min(below + 1, last)));
  taps.weights.push_back(1 - (inside - below));
  taps.weights.push_back(inside - below);
}

void AppendCubic(const ResizePlan& plan, const ResizeAxis& axis, float coordinate, AxisTaps& taps) {
  const float below = std::floor(coordinate);
  auto weights = CubicWeights(plan.cubic_coefficient, coordinate - below);
  const auto sample = [&](int t) { return static_cast<int64_t>(below) - 1 + t; };
  if (plan.exclude_outside) {
    float total = 0;
    for (int t = 0; t < 4; ++t) {
      float& weight = weights[static_cast<size_t>(t)];
      if (sample(t) < 0 || sample(t) >= axis.input) weight = 0;
      total += weight;
    }
    for (float& weight : weights) weight /= total;
  }
  for (int t = 0; t < 4; ++t) {
    taps.indices.push_back(static_cast<int32_t>(std::clamp<int64_t>(sample(t), 0, axis.input - 1)));
    taps.weights.push_back(weights[static_cast<size_t>(t)]);
  }
}

}  // namespace

absl::StatusOr<ResizePlan> ResolveResize(const OpCall& call) {
  const Node& node = *call.node;
  const Shape& x = call.input(0).shape;
  ResizePlan plan;
  BERTH_RETURN_IF_ERROR(ReadModes(node, plan));
  BERTH_ASSIGN_OR_RETURN(const Request request, ReadRequest(call));
  const size_t count = std::max(request.scales.size(), request.sizes.size());
  BERTH_ASSIGN_OR_RETURN(const std::vector<int> axes, RequestedAxes(node, x.rank(), count));
  plan.output_extents = x.extents();
  for (size_t i = 0; i < axes.size(); ++i) {
    const int data_axis = DataAxis(node.layout, axes[i], x.rank());
    BERTH_ASSIGN_OR_RETURN(ResizeAxis axis, ResolveAxis(x[data_axis], request, i));
    axis.axis = data_axis;
    plan.output_extents[static_cast<size_t>(data_axis)] = axis.output;
    const bool unchanged = axis.output == axis.input && axis.scale == 1.0f;
    if (!unchanged) plan.axes.push_back(axis);
  }
  std::sort(plan.axes.begin(), plan.axes.end(),
            [](const ResizeAxis& a, const ResizeAxis& b) { return a.axis < b.axis; });
  return plan;
}

AxisTaps MakeAxisTaps(const ResizePlan& plan, const ResizeAxis& axis) {
  AxisTaps taps;
  taps.taps = plan.mode == ResizeMode::kNearest ? 1 : plan.mode == ResizeMode::kLinear ? 2 : 4;
  for (int64_t position = 0; position < axis.output; ++position) {
    const float coordinate = SourceCoordinate(plan.coordinates, axis, position);
    if (plan.mode == ResizeMode::kLinear) {
      AppendLinear(axis, coordinate, taps);
    } else if (plan.mode == ResizeMode::kCubic) {
      AppendCubic(plan, axis, coordinate, taps);
    } else {
      taps.indices.push_back(static_cast<int32_t>(NearestSample(plan.nearest, axis, coordinate)));
      taps.weights.push_back(1);
    }
  }
  return taps;
}

}  // namespace berth
