// Slice: attributes before opset 10, inputs starts, ends, axes, steps from then on.
#include <algorithm>

#include "base/checked_math.h"
#include "kernels/ops/axis_map.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/shape_operands.h"

namespace berth {
namespace {

struct SliceLists {
  std::vector<int64_t> starts, ends, axes, steps;
};

absl::StatusOr<SliceLists> ReadLists(const OpCall& call) {
  BERTH_ASSIGN_OR_RETURN(OptionalInts starts, AttributeOrOperand(call, "starts", 1, 10));
  BERTH_ASSIGN_OR_RETURN(OptionalInts ends, AttributeOrOperand(call, "ends", 2, 10));
  BERTH_ASSIGN_OR_RETURN(OptionalInts axes, AttributeOrOperand(call, "axes", 3, 10));
  BERTH_ASSIGN_OR_RETURN(OptionalInts steps, AttributeOrOperand(call, "steps", 4, 10));
  if (!starts.found || !ends.found) return InvalidArgument("starts or ends are missing");
  const size_t count = starts.values.size();
  if (!axes.found) {
    for (size_t i = 0; i < count; ++i) axes.values.push_back(static_cast<int64_t>(i));
  }
  if (!steps.found) steps.values.assign(count, 1);
  if (ends.values.size() != count || axes.values.size() != count || steps.values.size() != count) {
    return InvalidArgument("{} starts, {} ends, {} axes, {} steps", count, ends.values.size(),
                           axes.values.size(), steps.values.size());
  }
  return SliceLists{std::move(starts.values), std::move(ends.values), std::move(axes.values),
                    std::move(steps.values)};
}

// The picked positions of an axis; begin and end as the operator clamps them.
absl::StatusOr<AxisSegment> PickedRange(int64_t extent, int64_t start, int64_t end, int64_t step) {
  if (step == 0) return InvalidArgument("step is 0");
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  // A step beyond the extent takes one element however large it is.
  const int64_t longest = std::max<int64_t>(extent, 1);
  step = std::clamp(step, -longest, longest);
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    return AxisSegment{0, end > start ? CeilDiv(end - start, step) : 0, start, step};
  }
  start = std::clamp<int64_t>(start, -1, extent - 1);
  end = std::clamp<int64_t>(end, -1, extent - 1);
  return AxisSegment{0, start > end ? CeilDiv(start - end, -step) : 0, start, step};
}

absl::StatusOr<std::vector<AxisSegment>> PickedRanges(const OpCall& call) {
  const Shape& input = call.input(0).shape;
  BERTH_ASSIGN_OR_RETURN(const SliceLists lists, ReadLists(call));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int> axes, NormalizeAxes(lists.axes, input.rank()));
  std::vector<AxisSegment> ranges;
  for (const int64_t extent : input) ranges.push_back({0, extent, 0, 1});
  for (size_t i = 0; i < axes.size(); ++i) {
    auto range = PickedRange(input[axes[i]], lists.starts[i], lists.ends[i], lists.steps[i]);
    if (!range.ok()) return Annotate(range.status(), fmt::format("axis {}", axes[i]));
    ranges[static_cast<size_t>(axes[i])] = *range;
  }
  return ranges;
}

absl::StatusOr<std::vector<TensorType>> SliceTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, call.node->opset < 10 ? 1 : 5));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_ASSIGN_OR_RETURN(const std::vector<AxisSegment> ranges, PickedRanges(call));
  std::vector<int64_t> extents;
  for (const AxisSegment& range : ranges) extents.push_back(range.count);
  return std::vector<TensorType>{{call.input(0).dtype, Shape(std::move(extents))}};
}

TileCost SliceCost(const OpCall& call, const TileShape& tile) {
  const auto map = SliceMap(call);
  return map.ok() ? AxisMapCost(call, tile, *map) : TileCost{};
}

absl::Status LowerSlice(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  BERTH_ASSIGN_OR_RETURN(const AxisMap map, SliceMap(call));
  return LowerAxisMap(call, tile, map, builder);
}

}  // namespace

absl::StatusOr<AxisMap> SliceMap(const OpCall& call) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<AxisSegment> ranges, PickedRanges(call));
  AxisMap map;
  for (const AxisSegment& range : ranges) map.axes.push_back({range});
  return map;
}

const OpDef& SliceOp() {
  static const OpDef def{.kind = OpKind::kSlice,
                         .infer_types = SliceTypes,
                         .iteration_space = AxisMapSpace,
                         .tile_cost = SliceCost,
                         .lower = LowerSlice,
                         .view = ViewKind::kSlice};
  return def;
}

}  // namespace berth
