// ScatterND, ScatterElements (Scatter before 11) and MaxUnpool. All become a scatter of rows. Where
// the row numbers are known it moves data only; otherwise it runs on the host engine, since rows
// may be named several times and the last or their combination counts. An index outside its axis
// fails the run.
//
// Formulas: ONNX operators of these names.
#include <algorithm>

#include "kernels/host_functions.h"
#include "kernels/host_scatter.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/flat_indices.h"
#include "kernels/ops/scatter_known.h"
#include "kernels/ops/shape_operands.h"
#include "kernels/spatial.h"
#include "kernels/tile_builder.h"

namespace berth {
namespace {

absl::StatusOr<ScatterReduction> ReductionOf(const Node& node) {
  const std::string name = node.attributes.String("reduction", "none");
  if (name == "none") return ScatterReduction::kReplace;
  if (name == "add") return ScatterReduction::kAdd;
  if (name == "mul") return ScatterReduction::kMultiply;
  if (name == "max") return ScatterReduction::kMax;
  if (name == "min") return ScatterReduction::kMin;
  return InvalidArgument("attribute reduction is '{}'", name);
}

absl::Status CheckOperands(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 3, 3));
  BERTH_ASSIGN_OR_RETURN(const ScatterReduction reduction, ReductionOf(*call.node));
  const bool computes = reduction != ScatterReduction::kReplace;
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, computes ? DTypeClass::kNumeric : DTypeClass::kAny));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 1, DTypeClass::kInteger));
  if (call.HasInput(2) && call.input(2).dtype == call.input(0).dtype) return absl::OkStatus();
  return InvalidArgument("updates are {}, data {}", DTypeName(call.input(2).dtype),
                         DTypeName(call.input(0).dtype));
}

absl::StatusOr<std::vector<TensorType>> ScatterNDTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckOperands(call));
  const Shape& data = call.input(0).shape;
  const Shape& indices = call.input(1).shape;
  if (indices.rank() == 0 || indices.back() < 1 || indices.back() > data.rank()) {
    return InvalidArgument("data has shape {}, indices {}", data.ToString(), indices.ToString());
  }
  std::vector<int64_t> extents(indices.begin(), indices.end() - 1);
  extents.insert(extents.end(), data.begin() + indices.back(), data.end());
  if (call.input(2).shape != Shape(extents)) {
    return InvalidArgument("updates have shape {}, expected {}", call.input(2).shape.ToString(),
                           Shape(extents).ToString());
  }
  return std::vector<TensorType>{call.input(0)};
}

// data [rows, row], indices [count, 1], updates [count, row]: what the host engine does.
bool IsOfRows(const OpCall& call) {
  return call.input(0).shape.rank() == 2 && call.input(1).shape.rank() == 2 &&
         call.input(1).shape[1] == 1 && call.input(1).dtype == DType::kInt64;
}

// Rows that are written over at known places.
bool IsKnown(const OpCall& call) {
  return call.Constant(1) != nullptr && call.output().shape.ElementCount() > 0 &&
         call.node->attributes.String("reduction", "none") == "none";
}

bool ScatterNDExpands(const OpCall& call) { return !IsOfRows(call) || IsKnown(call); }

struct Rows {
  ValueId numbers = ValueId::kNone;  // int64, any shape
  int64_t row_count = 0;
  int64_t row_elements = 1;
  int64_t update_count = 0;
};

// The node as a scatter of rows of `data` as it stands.
void ApplyScatterRows(const OpCall& call, const Rows& rows, ValueId data, ValueId updates,
                      GraphRewriter& rewrite) {
  Attributes attributes;
  attributes.Set("reduction", call.node->attributes.String("reduction", "none"));
  const ValueId table = ApplyReshape(rewrite, data, Shape{rows.row_count, rows.row_elements});
  if (!rewrite.status().ok()) return;
  ValueId numbers = rows.numbers;
  const Shape list{rows.update_count, 1};
  if (rewrite.TypeOf(numbers).shape != list) numbers = ApplyReshape(rewrite, numbers, list);
  const ValueId sources =
      ApplyReshape(rewrite, updates, Shape{rows.update_count, rows.row_elements});
  const ValueId result =
      rewrite.Apply(OpKind::kScatterND, {table, numbers, sources}, std::move(attributes));
  ApplyReshape(rewrite, result, call.output().shape, call.node->outputs[0]);
}

// The row numbers of tuples that are known.
absl::StatusOr<ValueId> KnownNumbers(const OpCall& call, GraphRewriter& rewrite) {
  const Shape& data = call.input(0).shape;
  const int64_t tuple = call.input(1).shape.back();
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> indices,
                         ToInt64Values(call.Constant(1)->view()));
  std::vector<int64_t> numbers(indices.size() / static_cast<size_t>(tuple), 0);
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t extent = data[static_cast<int>(static_cast<int64_t>(i) % tuple)];
    if (indices[i] < -extent || indices[i] >= extent) {
      return InvalidArgument("index {} is outside [{}, {})", indices[i], -extent, extent);
    }
    int64_t& number = numbers[i / static_cast<size_t>(tuple)];
    number = number * extent + indices[i] + (indices[i] < 0 ? extent : 0);
  }
  const Shape list{static_cast<int64_t>(numbers.size()), 1};
  return rewrite.Constant(Tensor::FromValues<int64_t>(DType::kInt64, list, numbers));
}

absl::Status ExpandScatterND(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  if (IsOfRows(call)) {
    BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers,
                           ToInt64Values(call.Constant(1)->view()));
    return ApplyKnownScatter(rewrite, node.inputs[0], node.inputs[2], numbers, node.outputs[0]);
  }
  const Shape& data = call.input(0).shape;
  const Shape& indices = call.input(1).shape;
  const int indexed = static_cast<int>(indices.back());
  const int64_t row_count = data.Product(0, indexed);
  const Shape places(std::vector<int64_t>(indices.begin(), indices.end() - 1));
  Rows rows;
  rows.row_count = row_count;
  rows.row_elements = data.Product(indexed, data.rank());
  rows.update_count = places.ElementCount();
  if (call.Constant(1) != nullptr) {
    BERTH_ASSIGN_OR_RETURN(rows.numbers, KnownNumbers(call, rewrite));
    ApplyScatterRows(call, rows, node.inputs[0], node.inputs[2], rewrite);
    return rewrite.status();
  }
  const ValueId index = ApplyCast(rewrite, node.inputs[1], DType::kInt64);
  std::vector<IndexedAxis> axes;
  for (int axis = 0; axis < indexed; ++axis) {
    const ValueId part = ApplySlice(rewrite, index, {places.rank(), axis, 1});
    axes.push_back(
        {ApplyReshape(rewrite, part, places), data[axis], data.Product(axis + 1, indexed)});
  }
  rows.numbers = ApplyFlatIndices(rewrite, axes, {}, row_count);
  ApplyScatterRows(call, rows, node.inputs[0], node.inputs[2], rewrite);
  return rewrite.status();
}

absl::StatusOr<std::vector<TensorType>> ScatterElementsTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckOperands(call));
  const Shape& data = call.input(0).shape;
  const Shape& indices = call.input(1).shape;
  if (data.rank() == 0 || data.rank() != indices.rank() || indices != call.input(2).shape) {
    return InvalidArgument("data has shape {}, indices {}, updates {}", data.ToString(),
                           indices.ToString(), call.input(2).shape.ToString());
  }
  BERTH_ASSIGN_OR_RETURN(const int axis,
                         NormalizeAxis(call.node->attributes.Int("axis", 0), data.rank()));
  BERTH_RETURN_IF_ERROR(CheckIndexed(data, indices, axis));
  return std::vector<TensorType>{call.input(0)};
}

absl::Status ExpandScatterElements(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  const Shape& data = call.input(0).shape;
  const Shape& places = call.input(1).shape;
  if (places.ElementCount() == 0 || data.ElementCount() == 0) {
    rewrite.Alias(node.inputs[0], node.outputs[0]);
    return rewrite.status();
  }
  BERTH_ASSIGN_OR_RETURN(const int axis,
                         NormalizeAxis(node.attributes.Int("axis", 0), data.rank()));
  const std::vector<int64_t> strides = data.DenseStrides();
  const ValueId index = ApplyCast(rewrite, node.inputs[1], DType::kInt64);
  Rows rows;
  rows.row_count = data.ElementCount();
  rows.update_count = places.ElementCount();
  rows.numbers =
      ApplyFlatIndices(rewrite, {{index, data[axis], strides[static_cast<size_t>(axis)]}},
                       PlaceOffsets(rewrite, places, strides, axis), rows.row_count);
  ApplyScatterRows(call, rows, node.inputs[0], node.inputs[2], rewrite);
  return rewrite.status();
}

IterationSpace ScatterSpace(const OpCall&) { return {}; }
TileCost ScatterCost(const OpCall&, const TileShape&) { return {}; }

absl::Status LowerScatterND(const OpCall& call, const TileShape&, TileBuilder& builder) {
  const Node& node = *call.node;
  const Shape& data = call.input(0).shape;
  if (data.ElementCount() == 0) return absl::OkStatus();
  BERTH_ASSIGN_OR_RETURN(const ScatterReduction reduction, ReductionOf(node));
  Command command;
  command.opcode = Opcode::kHostCall;
  command.params.host = {};
  HostParams& host = command.params.host;
  host.function = static_cast<uint32_t>(HostFunctionId::kScatterRows);
  host.output_mask = 1;
  host.values[0] = data[0];
  host.values[1] = data[1];
  host.values[2] = call.input(1).shape[0];
  host.values[3] = static_cast<int64_t>(reduction);
  command.out = builder.HostOperand(node.outputs[0]);
  command.in0 = builder.HostOperand(node.inputs[0]);
  if (call.input(1).shape[0] > 0) {
    command.in1 = builder.HostOperand(node.inputs[1]);
    command.in2 = builder.HostOperand(node.inputs[2]);
  }
  builder.Emit(command);
  return builder.status();
}

absl::StatusOr<Shape> UnpooledShape(const OpCall& call) {
  const Shape& x = call.input(0).shape;
  BERTH_RETURN_IF_ERROR(CheckSpatialRank(x));
  if (call.HasInput(2)) {
    BERTH_ASSIGN_OR_RETURN(std::vector<int64_t> given, IntOperand(call, 2, "output_shape"));
    if (static_cast<int>(given.size()) != x.rank()) {
      return InvalidArgument("output_shape has {} extents, the input {}", given.size(), x.rank());
    }
    return Shape::Create(std::move(given));
  }
  const int count = x.rank() - 2;
  BERTH_ASSIGN_OR_RETURN(const auto kernel, SpatialInts(*call.node, "kernel_shape", count, 1, 1));
  BERTH_ASSIGN_OR_RETURN(const auto strides, SpatialInts(*call.node, "strides", count, 1, 1));
  BERTH_ASSIGN_OR_RETURN(const auto pads, SpatialInts(*call.node, "pads", 2 * count, 0, 0));
  std::vector<int64_t> extents = {x[0], x[1]};
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const int64_t from = x[static_cast<int>(i) + 2];
    extents.push_back((from - 1) * strides[i] - pads[i] - pads[i + static_cast<size_t>(count)] +
                      kernel[i]);
  }
  return Shape::Create(std::move(extents));
}

absl::StatusOr<std::vector<TensorType>> MaxUnpoolTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 3));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kFloat));
  if (!call.HasInput(1) || call.input(1) != TensorType{DType::kInt64, call.input(0).shape}) {
    return InvalidArgument("the indices must be int64 of the input's shape {}",
                           call.input(0).shape.ToString());
  }
  BERTH_ASSIGN_OR_RETURN(Shape shape, UnpooledShape(call));
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

// An index names the element that was the largest, by its number in the tensor that was pooled. A
// given output shape is a larger tensor around that one.
absl::Status ExpandMaxUnpool(const OpCall& call, GraphRewriter& rewrite) {
  const Node& node = *call.node;
  const Shape& result = call.output().shape;
  std::vector<int64_t> pooled = result.extents();
  if (call.HasInput(2)) {
    Node bare = node;
    bare.inputs.resize(2);
    OpCall without_shape = call;
    without_shape.node = &bare;
    without_shape.inputs = call.inputs.subspan(0, 2);
    BERTH_ASSIGN_OR_RETURN(const Shape natural, UnpooledShape(without_shape));
    pooled = natural.extents();
  }
  const Shape numbered(pooled);
  // A number in the natural tensor as places on its axes, and those in the result.
  std::vector<IndexedAxis> axes;
  const std::vector<int64_t> from = numbered.DenseStrides(), to = result.DenseStrides();
  const auto number = [&](int64_t value) {
    return rewrite.Constant(IntegerScalar(DType::kInt64, value));
  };
  ValueId rest = node.inputs[1];
  Rows rows;
  if (numbered == result) {
    axes.push_back({rest, result.ElementCount(), 1});
  } else {
    for (size_t axis = 0; axis < from.size(); ++axis) {
      const ValueId place = rewrite.Apply(OpKind::kDiv, {rest, number(from[axis])});
      rest = rewrite.Apply(OpKind::kMod, {rest, number(from[axis])});
      axes.push_back({place, result[static_cast<int>(axis)], to[axis]});
    }
  }
  rows.row_count = result.ElementCount();
  rows.update_count = call.input(0).shape.ElementCount();
  rows.numbers = ApplyFlatIndices(rewrite, axes, {}, rows.row_count);
  const ValueId zero = rewrite.Constant(ScalarTensor(call.input(0).dtype, 0));
  const ValueId zeros = rewrite.Apply(OpKind::kExpand, {zero, rewrite.Int64s(result.extents())});
  ApplyScatterRows(call, rows, zeros, node.inputs[0], rewrite);
  return rewrite.status();
}

}  // namespace

const OpDef& ScatterNDOp() {
  static const OpDef def{.kind = OpKind::kScatterND,
                         .infer_types = ScatterNDTypes,
                         .expand = ExpandScatterND,
                         .iteration_space = ScatterSpace,
                         .tile_cost = ScatterCost,
                         .lower = LowerScatterND,
                         .expands = ScatterNDExpands,
                         .needs_dense = true};
  return def;
}

#define BERTH_SCATTERING_OP(NAME, FORM)                                               \
  const OpDef& NAME##Op() {                                                           \
    static const OpDef def{                                                           \
        .kind = OpKind::k##NAME, .infer_types = FORM##Types, .expand = Expand##FORM}; \
    return def;                                                                       \
  }
BERTH_SCATTERING_OP(ScatterElements, ScatterElements)
BERTH_SCATTERING_OP(Scatter, ScatterElements)
BERTH_SCATTERING_OP(MaxUnpool, MaxUnpool)
#undef BERTH_SCATTERING_OP

}  // namespace berth
