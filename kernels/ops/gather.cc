// Gather: elements of one axis at the places that an index tensor names; negative ones count from
// the end. Known indices are checked when the model is compiled, others when it runs.
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

}  // namespace

const OpDef& GatherOp() {
  static const OpDef def{.kind = OpKind::kGather, .infer_types = GatherTypes};
  return def;
}

}  // namespace berth
