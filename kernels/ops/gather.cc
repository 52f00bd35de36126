// Gather: elements of one axis at the places that an index tensor names; negative ones count from
// the end. Known indices are checked when the model is compiled, others when it runs.
// Known indices that step evenly are a Slice.
#include "kernels/ops/gather.h"

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"

namespace berth {
namespace {

absl::Status CheckConstantIndices(const OpCall& call, int64_t extent) {
  if (call.Constant(1) == nullptr) return absl::OkStatus();
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> indices,
                         ToInt64Values(call.Constant(1)->view()));
  for (const int64_t index : indices) {
    if (index < -extent || index >= extent) {
      return InvalidArgument("index {} is outside [{}, {})", index, -extent, extent);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TensorType>> GatherTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 1, DTypeClass::kNumeric));
  const DType index_dtype = call.input(1).dtype;
  if (index_dtype != DType::kInt32 && index_dtype != DType::kInt64) {
    return InvalidArgument("indices are {}, expected int32 or int64", DTypeName(index_dtype));
  }
  const Shape& data = call.input(0).shape;
  const Shape& indices = call.input(1).shape;
  BERTH_ASSIGN_OR_RETURN(const int axis,
                         NormalizeAxis(call.node->attributes.Int("axis", 0), data.rank()));
  BERTH_RETURN_IF_ERROR(CheckConstantIndices(call, data[axis]));
  if (data[axis] == 0 && indices.ElementCount() > 0) {
    return InvalidArgument("axis {} has no elements to gather", axis);
  }
  std::vector<int64_t> extents(data.begin(), data.begin() + axis);
  extents.insert(extents.end(), indices.begin(), indices.end());
  extents.insert(extents.end(), data.begin() + axis + 1, data.end());
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create(std::move(extents)));
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

// Whether the indices are begin, begin + step, ...
bool IsSlice(const OpCall& call) {
  const std::vector<int64_t> indices = KnownIndices(call);
  if (indices.empty()) return false;
  const int64_t step = indices.size() > 1 ? indices[1] - indices[0] : 1;
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] - indices[i - 1] != step) return false;
  }
  return step != 0;
}

absl::Status ExpandGather(const OpCall& call, GraphRewriter& rewrite) {
  const std::vector<int64_t> indices = KnownIndices(call);
  const auto count = static_cast<int64_t>(indices.size());
  const int64_t step = count > 1 ? indices[1] - indices[0] : 1;
  const AxisRange range{ResolveGather(call).axis, indices[0], count, step};
  if (call.input(1).shape.rank() == 1) {
    ApplySlice(rewrite, call.node->inputs[0], range, call.node->outputs[0]);
  } else {
    const ValueId slice = ApplySlice(rewrite, call.node->inputs[0], range);
    ApplyReshape(rewrite, slice, call.output().shape, call.node->outputs[0]);
  }
  return rewrite.status();
}

}  // namespace

GatherAxes ResolveGather(const OpCall& call) {
  const Shape& data = call.input(0).shape;
  GatherAxes axes;
  axes.axis = *NormalizeAxis(call.node->attributes.Int("axis", 0), data.rank());
  axes.index_rank = call.input(1).shape.rank();
  axes.extent = data[axes.axis];
  axes.inner_bytes = data.Product(axes.axis + 1, data.rank()) * DTypeBytes(call.input(0).dtype);
  return axes;
}

std::vector<int64_t> KnownIndices(const OpCall& call) {
  if (call.Constant(1) == nullptr) return {};
  std::vector<int64_t> indices = *ToInt64Values(call.Constant(1)->view());
  const int64_t extent = ResolveGather(call).extent;
  for (int64_t& index : indices) index += index < 0 ? extent : 0;
  return indices;
}

const OpDef& GatherOp() {
  static const OpDef def{.kind = OpKind::kGather,
                         .infer_types = GatherTypes,
                         .expand = ExpandGather,
                         .iteration_space = GatherSpace,
                         .tile_cost = GatherCost,
                         .lower = LowerGather,
                         .expands = IsSlice};
  return def;
}

}  // namespace berth
