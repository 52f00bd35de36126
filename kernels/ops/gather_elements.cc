// GatherElements, GatherND and ReverseSequence: a Gather of rows whose numbers are computed from
// the given indices. An index outside its axis fails the run.
//
// Formulas: ONNX operators of these names.
#include <algorithm>

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/flat_indices.h"

namespace berth {
namespace {

absl::Status CheckIndices(const OpCall& call, int i) {
  BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kInteger));
  const DType dtype = call.input(i).dtype;
  if (dtype == DType::kInt64 || dtype == DType::kInt32) return absl::OkStatus();
  return InvalidArgument("indices are {}, expected int32 or int64", DTypeName(dtype));
}

absl::StatusOr<std::vector<TensorType>> GatherElementsTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_RETURN_IF_ERROR(CheckIndices(call, 1));
  const Shape& data = call.input(0).shape;
  const Shape& indices = call.input(1).shape;
  if (data.rank() == 0 || data.rank() != indices.rank()) {
    return InvalidArgument("data has shape {}, indices {}", data.ToString(), indices.ToString());
  }
  BERTH_ASSIGN_OR_RETURN(const int axis,
                         NormalizeAxis(call.node->attributes.Int("axis", 0), data.rank()));
  BERTH_RETURN_IF_ERROR(CheckIndexed(data, indices, axis));
  if (data.ElementCount() == 0 && indices.ElementCount() > 0) {
    return InvalidArgument("data of shape {} has nothing to gather", data.ToString());
  }
  return std::vector<TensorType>{{call.input(0).dtype, indices}};
}

absl::Status ExpandGatherElements(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  const Shape& data = call.input(0).shape;
  BERTH_ASSIGN_OR_RETURN(const int axis,
                         NormalizeAxis(node.attributes.Int("axis", 0), data.rank()));
  const std::vector<int64_t> strides = data.DenseStrides();
  const ValueId index = ApplyCast(rewrite, node.inputs[1], DType::kInt64);
  const int64_t count = data.ElementCount();
  const ValueId flat =
      ApplyFlatIndices(rewrite, {{index, data[axis], strides[static_cast<size_t>(axis)]}},
                       PlaceOffsets(rewrite, call.input(1).shape, strides, axis), count);
  const ValueId line = ApplyReshape(rewrite, node.inputs[0], Shape{count});
  rewrite.Apply(OpKind::kGather, {line, flat}, {}, node.outputs[0]);
  return rewrite.status();
}

// data [batch axes..., indexed axes..., slice axes...], indices [batch axes..., more..., tuple].
struct TupleForm {
  int batch_axes = 0;
  int tuple = 0;
};

absl::StatusOr<TupleForm> ResolveTuples(const OpCall& call) {
  const Shape& data = call.input(0).shape;
  const Shape& indices = call.input(1).shape;
  const int64_t batch_axes = call.node->attributes.Int("batch_dims", 0);
  if (data.rank() == 0 || indices.rank() == 0 || batch_axes < 0 ||
      batch_axes >= std::min(data.rank(), indices.rank())) {
    return InvalidArgument("data has shape {}, indices {}, batch_dims is {}", data.ToString(),
                           indices.ToString(), batch_axes);
  }
  if (indices.back() < 1 || indices.back() > data.rank() - batch_axes) {
    return InvalidArgument("indices {} name {} axes of data {}", indices.ToString(), indices.back(),
                           data.ToString());
  }
  for (int i = 0; i < batch_axes; ++i) {
    if (data[i] == indices[i]) continue;
    return InvalidArgument("data {} and indices {} differ along batch axis {}", data.ToString(),
                           indices.ToString(), i);
  }
  return TupleForm{static_cast<int>(batch_axes), static_cast<int>(indices.back())};
}

absl::StatusOr<std::vector<TensorType>> GatherNDTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_RETURN_IF_ERROR(CheckIndices(call, 1));
  BERTH_ASSIGN_OR_RETURN(const TupleForm form, ResolveTuples(call));
  const Shape& data = call.input(0).shape;
  const Shape& indices = call.input(1).shape;
  std::vector<int64_t> extents(indices.begin(), indices.end() - 1);
  extents.insert(extents.end(), data.begin() + form.batch_axes + form.tuple, data.end());
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create(std::move(extents)));
  if (data.Product(0, form.batch_axes + form.tuple) == 0 && shape.ElementCount() > 0) {
    return InvalidArgument("data of shape {} has nothing to gather", data.ToString());
  }
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

absl::Status ExpandGatherND(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  BERTH_ASSIGN_OR_RETURN(const TupleForm form, ResolveTuples(call));
  const Shape& data = call.input(0).shape;
  const int indexed = form.batch_axes + form.tuple;
  const auto rows_of = [&](int axis) { return data.Product(axis + 1, indexed); };
  const Shape places(
      std::vector<int64_t>(call.input(1).shape.begin(), call.input(1).shape.end() - 1));
  const ValueId index = ApplyCast(rewrite, node.inputs[1], DType::kInt64);
  std::vector<IndexedAxis> axes;
  for (int i = 0; i < form.tuple; ++i) {
    const ValueId part = ApplySlice(rewrite, index, {places.rank(), i, 1});
    const int axis = form.batch_axes + i;
    axes.push_back({ApplyReshape(rewrite, part, places), data[axis], rows_of(axis)});
  }
  std::vector<int64_t> strides;
  for (int axis = 0; axis < form.batch_axes; ++axis) strides.push_back(rows_of(axis));
  const int64_t rows = data.Product(0, indexed);
  const ValueId flat =
      ApplyFlatIndices(rewrite, axes, PlaceOffsets(rewrite, places, strides, -1), rows);
  std::vector<int64_t> extents = {rows};
  extents.insert(extents.end(), data.begin() + indexed, data.end());
  const ValueId table = ApplyReshape(rewrite, node.inputs[0], Shape(std::move(extents)));
  rewrite.Apply(OpKind::kGather, {table, flat}, {}, node.outputs[0]);
  return rewrite.status();
}

struct SequenceAxes {
  int batch = 1, time = 0;
};

SequenceAxes ResolveSequence(const OpCall& call) {
  const auto axis = [&](const char* name, int64_t otherwise) {
    return static_cast<int>(call.node->attributes.Int(name, otherwise));
  };
  return {axis("batch_axis", 1), axis("time_axis", 0)};
}

absl::StatusOr<std::vector<TensorType>> ReverseSequenceTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_RETURN_IF_ERROR(CheckIndices(call, 1));
  const Shape& x = call.input(0).shape;
  const SequenceAxes axes = ResolveSequence(call);
  if (x.rank() < 2 || axes.batch < 0 || axes.batch > 1 || axes.time != 1 - axes.batch) {
    return InvalidArgument("shape {} with batch_axis {} and time_axis {}", x.ToString(), axes.batch,
                           axes.time);
  }
  if (call.input(1).shape != Shape{x[axes.batch]}) {
    return InvalidArgument("sequence_lens has shape {}, expected {}",
                           call.input(1).shape.ToString(), x[axes.batch]);
  }
  return std::vector<TensorType>{call.input(0)};
}

// Place t of a sequence of n is taken from n - 1 - t where t < n, else from t.
absl::Status ExpandReverseSequence(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  const Shape& x = call.input(0).shape;
  const SequenceAxes axes = ResolveSequence(call);
  Shape per_sequence{1, 1};
  per_sequence[axes.batch] = x[axes.batch];
  const ValueId count =
      ApplyReshape(rewrite, ApplyCast(rewrite, node.inputs[1], DType::kInt64), per_sequence);
  const ValueId time = Positions(rewrite, x[axes.time], axes.time, 2);
  const ValueId one = rewrite.Constant(IntegerScalar(DType::kInt64, 1));
  const ValueId last = rewrite.Apply(OpKind::kSub, {count, one});
  const ValueId mirrored = rewrite.Apply(OpKind::kSub, {last, time});
  const ValueId is_within = rewrite.Apply(OpKind::kLess, {time, count});
  const ValueId source = rewrite.Apply(OpKind::kWhere, {is_within, mirrored, time});
  const std::vector<int64_t> strides = {x[1], 1};
  const ValueId flat =
      ApplyFlatIndices(rewrite, {{source, x[axes.time], strides[static_cast<size_t>(axes.time)]}},
                       PlaceOffsets(rewrite, Shape{x[0], x[1]}, strides, axes.time), x[0] * x[1]);
  std::vector<int64_t> extents = {x[0] * x[1]};
  extents.insert(extents.end(), x.begin() + 2, x.end());
  const ValueId rows = ApplyReshape(rewrite, node.inputs[0], Shape(std::move(extents)));
  rewrite.Apply(OpKind::kGather, {rows, ApplyReshape(rewrite, flat, Shape{x[0], x[1]})}, {},
                node.outputs[0]);
  return rewrite.status();
}

}  // namespace

#define BERTH_GATHERING_OP(NAME)                                                      \
  const OpDef& NAME##Op() {                                                           \
    static const OpDef def{                                                           \
        .kind = OpKind::k##NAME, .infer_types = NAME##Types, .expand = Expand##NAME}; \
    return def;                                                                       \
  }
BERTH_GATHERING_OP(GatherElements)
BERTH_GATHERING_OP(GatherND)
BERTH_GATHERING_OP(ReverseSequence)
#undef BERTH_GATHERING_OP

}  // namespace berth
