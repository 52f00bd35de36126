// Pad. Pads are attribute "paddings" (opset 1) or "pads" (2), input 1 from opset 11; the value is
// an attribute or input 2; axes are input 3 from opset 18. Negative pads crop.
#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "kernels/ops/axis_map.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/shape_operands.h"

namespace berth {
namespace {

struct PadAxis {
  int64_t input = 0;
  int64_t before = 0;
  int64_t after = 0;
  int64_t output() const { return input + before + after; }
};
enum class PadMode { kConstant, kEdge, kReflect, kWrap };

absl::StatusOr<PadMode> ReadMode(const Node& node) {
  const std::string mode = node.attributes.String("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "wrap" && node.opset >= 19) return PadMode::kWrap;
  return InvalidArgument("mode '{}'", mode);
}

absl::StatusOr<PadAxis> MakeAxis(int64_t input, int64_t before, int64_t after, PadMode mode) {
  const auto grown = CheckedAdd(before, after);
  const auto output = grown ? CheckedAdd(*grown, input) : std::nullopt;
  if (!output || *output < 0 || before < -input || after < -input) {
    return InvalidArgument("pads {} and {} of extent {}", before, after, input);
  }
  const bool grows = before > 0 || after > 0;
  if (grows && mode != PadMode::kConstant) {
    // What is left after a crop is what the other side repeats.
    const int64_t kept = input + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    const int64_t most = mode == PadMode::kReflect ? kept - 1 : *output;
    if (kept <= 0 || std::max(before, after) > most) {
      return InvalidArgument("pads {} and {} reach beyond extent {}", before, after, input);
    }
  }
  return PadAxis{input, before, after};
}

absl::StatusOr<std::vector<PadAxis>> PadAxes(const OpCall& call) {
  const Shape& input = call.input(0).shape;
  BERTH_ASSIGN_OR_RETURN(const PadMode mode, ReadMode(*call.node));
  BERTH_ASSIGN_OR_RETURN(
      const OptionalInts pads,
      AttributeOrOperand(call, call.node->opset < 2 ? "paddings" : "pads", 1, 11));
  BERTH_ASSIGN_OR_RETURN(OptionalInts given_axes, AttributeOrOperand(call, "axes", 3, 18));
  if (call.node->opset < 18) given_axes = {};
  if (!given_axes.found) {
    for (int axis = 0; axis < input.rank(); ++axis) given_axes.values.push_back(axis);
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<int> axes,
                         NormalizeAxes(given_axes.values, input.rank()));
  if (pads.values.size() != 2 * axes.size()) {
    return InvalidArgument("{} pads for {} axes", pads.values.size(), axes.size());
  }
  std::vector<PadAxis> result;
  for (const int64_t extent : input) result.push_back({extent, 0, 0});
  for (size_t i = 0; i < axes.size(); ++i) {
    auto axis = MakeAxis(input[axes[i]], pads.values[i], pads.values[i + axes.size()], mode);
    if (!axis.ok()) return Annotate(axis.status(), fmt::format("axis {}", axes[i]));
    result[static_cast<size_t>(axes[i])] = *axis;
  }
  return result;
}

absl::StatusOr<std::vector<TensorType>> PadTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 4));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  if (call.node->opset >= 11 && call.HasInput(2)) {
    if (call.input(2).dtype != call.input(0).dtype || call.input(2).shape.ElementCount() != 1) {
      return InvalidArgument("the pad value is {}, expected one element of {}",
                             call.input(2).ToString(), DTypeName(call.input(0).dtype));
    }
    if (call.Constant(2) == nullptr) {
      return FailedPrecondition("the pad value is not known at compile time");
    }
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<PadAxis> axes, PadAxes(call));
  std::vector<int64_t> extents;
  for (const PadAxis& axis : axes) extents.push_back(axis.output());
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create(std::move(extents)));
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

// Output positions [begin, end) become one segment, without what lies outside the output.
void AddSegment(AxisSegments& segments, int64_t begin, int64_t end, int64_t source, int64_t step,
                int64_t output) {
  const int64_t first = std::max<int64_t>(begin, 0);
  const int64_t last = std::min(end, output);
  if (first < last) {
    segments.push_back({first, last - first, source + (first - begin) * step, step});
  }
}

AxisSegments SegmentsOf(const PadAxis& axis, PadMode mode) {
  AxisSegments segments;
  const int64_t output = axis.output();
  // The kept elements and where they stand in the output.
  const int64_t low = std::max<int64_t>(-axis.before, 0);
  const int64_t high = axis.input - std::max<int64_t>(-axis.after, 0);
  const int64_t begin = std::max<int64_t>(axis.before, 0);
  const int64_t end = begin + (high - low);
  const auto add = [&](int64_t first, int64_t last, int64_t source, int64_t step) {
    AddSegment(segments, first, last, source, step, output);
  };
  switch (mode) {
    case PadMode::kConstant:
      add(begin, end, low, 1);
      break;
    case PadMode::kEdge:
      add(0, begin, low, 0);
      add(begin, end, low, 1);
      add(end, output, high - 1, 0);
      break;
    case PadMode::kReflect:
      add(0, begin, low + begin, -1);
      add(begin, end, low, 1);
      add(end, output, high - 2, -1);
      break;
    case PadMode::kWrap: {
      const int64_t period = high - low;
      if (period <= 0) break;
      for (int64_t first = begin - CeilDiv(begin, period) * period; first < output;
           first += period) {
        add(first, first + period, low, 1);
      }
      break;
    }
  }
  return segments;
}

absl::StatusOr<uint64_t> FillPattern(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  uint64_t pattern = 0;
  if (call.node->opset >= 11) {
    if (!call.HasInput(2)) return pattern;
    const Tensor* value = call.Constant(2);
    if (value == nullptr) return FailedPrecondition("the pad value is not known at compile time");
    std::memcpy(&pattern, value->bytes().data(), value->bytes().size());
    return pattern;
  }
  const float value = call.node->attributes.Float("value", 0.0f);
  VisitDType(dtype, [&]<typename T>() {
    const T element = static_cast<T>(value);
    std::memcpy(&pattern, &element, sizeof(element));
  });
  return pattern;
}

TileCost PadCost(const OpCall& call, const TileShape& tile) {
  const auto map = PadMap(call);
  return map.ok() ? AxisMapCost(call, tile, *map) : TileCost{};
}

absl::Status LowerPad(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  BERTH_ASSIGN_OR_RETURN(const AxisMap map, PadMap(call));
  return LowerAxisMap(call, tile, map, builder);
}

}  // namespace

absl::StatusOr<AxisMap> PadMap(const OpCall& call) {
  BERTH_ASSIGN_OR_RETURN(const PadMode mode, ReadMode(*call.node));
  BERTH_ASSIGN_OR_RETURN(const std::vector<PadAxis> axes, PadAxes(call));
  AxisMap map;
  for (const PadAxis& axis : axes) map.axes.push_back(SegmentsOf(axis, mode));
  BERTH_ASSIGN_OR_RETURN(map.fill_pattern, FillPattern(call));
  return map;
}

const OpDef& PadOp() {
  static const OpDef def{.kind = OpKind::kPad,
                         .infer_types = PadTypes,
                         .iteration_space = AxisMapSpace,
                         .tile_cost = PadCost,
                         .lower = LowerPad};
  return def;
}

}  // namespace berth
