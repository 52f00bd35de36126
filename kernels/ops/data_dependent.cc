// Ops whose result's shape hangs on values: NonZero, Unique, NonMaxSuppression and Compress. Their
// type rules need those values (FailedPrecondition otherwise); the first three run on the host
// engine, Compress is a Gather.
//
// Formulas: ONNX operators of these names.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/box_selection.h"
#include "kernels/comparable.h"
#include "kernels/host_data_dependent.h"
#include "kernels/host_functions.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/tile_builder.h"
#include "kernels/unique.h"

namespace berth {
namespace {

absl::StatusOr<const Tensor*> KnownInput(const OpCall& call, int i, const char* name) {
  if (const Tensor* known = call.Constant(i)) return known;
  return FailedPrecondition("input {} ({}) decides a shape but is not known at compile time", i,
                            name);
}

// One command for the whole tensor: there is nothing to tile.
IterationSpace NoSpace(const OpCall&) { return {}; }
TileCost NoCost(const OpCall&, const TileShape&) { return {}; }

OpDef HostOp(OpKind kind, TypeRule infer_types, LowerRule lower) {
  OpDef def;
  def.kind = kind;
  def.infer_types = infer_types;
  def.iteration_space = NoSpace;
  def.tile_cost = NoCost;
  def.lower = lower;
  def.needs_dense = true;
  return def;
}

Command HostCommand(HostFunctionId function) {
  Command command;
  command.opcode = Opcode::kHostCall;
  command.params.host = {};
  command.params.host.function = static_cast<uint32_t>(function);
  return command;
}

absl::StatusOr<std::vector<TensorType>> NonZeroTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_ASSIGN_OR_RETURN(const Tensor* x, KnownInput(call, 0, "X"));
  int64_t count = 0;
  VisitDType(x->dtype(), [&]<typename T>() {
    for (const T& value : x->Values<T>()) count += Comparable(value) != 0 ? 1 : 0;
  });
  return std::vector<TensorType>{{DType::kInt64, Shape{x->shape().rank(), count}}};
}

absl::Status LowerNonZero(const OpCall& call, const TileShape&, TileBuilder& builder) {
  if (call.output().shape.ElementCount() == 0) return absl::OkStatus();
  Command command = HostCommand(HostFunctionId::kNonZero);
  command.params.host.output_mask = 1;
  PackExtents(call.input(0).shape.extents(), command.params.host.values);
  command.params.host.values[4] = call.input(0).shape.rank();
  command.out = builder.HostOperand(call.node->outputs[0]);
  command.in0 = builder.HostOperand(call.node->inputs[0]);
  builder.Emit(command);
  return builder.status();
}

// Without an axis the elements of the whole tensor are the slices.
absl::StatusOr<UniqueProblem> ResolveUnique(const OpCall& call) {
  const Attributes& attributes = call.node->attributes;
  const Shape& x = call.input(0).shape;
  UniqueProblem problem;
  problem.dtype = call.input(0).dtype;
  problem.sorted = attributes.Int("sorted", 1) != 0;
  problem.axis = x.ElementCount();
  if (!attributes.Has("axis")) return problem;
  BERTH_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(attributes.Int("axis", 0), x.rank()));
  problem.outer = x.Product(0, axis);
  problem.axis = x[axis];
  problem.inner = x.Product(axis + 1, x.rank());
  return problem;
}

absl::StatusOr<std::vector<TensorType>> UniqueTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_ASSIGN_OR_RETURN(const UniqueProblem problem, ResolveUnique(call));
  BERTH_ASSIGN_OR_RETURN(const Tensor* x, KnownInput(call, 0, "X"));
  if (x->shape().ElementCount() == 0) {
    return InvalidArgument("input 0 has shape {}: nothing to compare", x->shape().ToString());
  }
  const auto count = static_cast<int64_t>(FindUnique(problem, x->bytes().data()).first.size());
  Shape values{count};
  if (call.node->attributes.Has("axis")) {
    values = x->shape();
    values[*NormalizeAxis(call.node->attributes.Int("axis", 0), values.rank())] = count;
  }
  std::vector<TensorType> types = {{x->dtype(), values},
                                   {DType::kInt64, Shape{count}},
                                   {DType::kInt64, Shape{problem.axis}},
                                   {DType::kInt64, Shape{count}}};
  types.resize(std::min(types.size(), call.node->outputs.size()));
  return types;
}

// The extents say how many slices are distinct, whichever outputs are there.
int64_t CountOf(const OpCall& call) {
  const Attributes& attributes = call.node->attributes;
  const Shape& values = call.output().shape;
  if (!attributes.Has("axis")) return values[0];
  return values[*NormalizeAxis(attributes.Int("axis", 0), values.rank())];
}

absl::Status LowerUnique(const OpCall& call, const TileShape&, TileBuilder& builder) {
  BERTH_ASSIGN_OR_RETURN(const UniqueProblem problem, ResolveUnique(call));
  const std::vector<ValueId>& outputs = call.node->outputs;
  Command command = HostCommand(HostFunctionId::kUnique);
  HostParams& host = command.params.host;
  host.values[0] = problem.outer;
  host.values[1] = problem.axis;
  host.values[2] = problem.inner;
  host.values[3] = problem.sorted ? 1 : 0;
  host.values[4] = CountOf(call);
  command.in0 = builder.HostOperand(call.node->inputs[0]);
  Operand* const results[] = {&command.out, &command.in1, &command.in2, &command.acc};
  const uint32_t masks[] = {1u << 0, 1u << 2, 1u << 3, 1u << 4};
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == ValueId::kNone) continue;
    *results[i] = builder.HostOperand(outputs[i]);
    host.output_mask |= masks[i];
  }
  builder.Emit(command);
  return builder.status();
}

absl::StatusOr<double> KnownScalar(const OpCall& call, int i, const char* name, double otherwise) {
  if (!call.HasInput(i)) return otherwise;
  BERTH_ASSIGN_OR_RETURN(const Tensor* known, KnownInput(call, i, name));
  if (known->shape().ElementCount() != 1) {
    return InvalidArgument("input {} ({}) has shape {}", i, name, known->shape().ToString());
  }
  if (IsInteger(known->dtype())) {
    BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> value, ToInt64Values(known->view()));
    return static_cast<double>(value[0]);
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<float> value, ToFloatValues(known->view()));
  return double{value[0]};
}

absl::StatusOr<BoxSelection> ResolveSelection(const OpCall& call) {
  const Shape& boxes = call.input(0).shape;
  const Shape& scores = call.input(1).shape;
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes[2] != 4 || boxes[0] != scores[0] ||
      boxes[1] != scores[2]) {
    return InvalidArgument("boxes have shape {}, scores {}", boxes.ToString(), scores.ToString());
  }
  BoxSelection selection;
  selection.batches = scores[0];
  selection.classes = scores[1];
  selection.boxes = scores[2];
  BERTH_ASSIGN_OR_RETURN(const double most, KnownScalar(call, 2, "max_output_boxes_per_class", 0));
  selection.most_per_class = most >= 0x1p31 ? int64_t{1} << 31 : static_cast<int64_t>(most);
  BERTH_ASSIGN_OR_RETURN(const double iou, KnownScalar(call, 3, "iou_threshold", 0));
  BERTH_ASSIGN_OR_RETURN(const double score, KnownScalar(call, 4, "score_threshold", 0));
  selection.iou_threshold = static_cast<float>(iou);
  selection.score_threshold = static_cast<float>(score);
  selection.has_score_threshold = call.HasInput(4);
  selection.is_centered = call.node->attributes.Int("center_point_box", 0) != 0;
  return selection;
}

absl::StatusOr<std::vector<TensorType>> NonMaxSuppressionTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 5));
  for (int i = 0; i < 2; ++i) {
    BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kFloat));
    if (call.input(i).dtype == DType::kFloat32) continue;
    return InvalidArgument("input {} is {}, expected float32", i, DTypeName(call.input(i).dtype));
  }
  BERTH_ASSIGN_OR_RETURN(const BoxSelection selection, ResolveSelection(call));
  int64_t count = 0;
  if (selection.most_per_class > 0) {
    BERTH_ASSIGN_OR_RETURN(const Tensor* boxes, KnownInput(call, 0, "boxes"));
    BERTH_ASSIGN_OR_RETURN(const Tensor* scores, KnownInput(call, 1, "scores"));
    count = static_cast<int64_t>(
        SelectBoxes(selection, boxes->Values<float>(), scores->Values<float>()).size());
  }
  return std::vector<TensorType>{{DType::kInt64, Shape{count, 3}}};
}

absl::Status LowerNonMaxSuppression(const OpCall& call, const TileShape&, TileBuilder& builder) {
  if (call.output().shape.ElementCount() == 0) return absl::OkStatus();
  BERTH_ASSIGN_OR_RETURN(const BoxSelection selection, ResolveSelection(call));
  Command command = HostCommand(HostFunctionId::kNonMaxSuppression);
  HostParams& host = command.params.host;
  host.output_mask = 1;
  host.values[0] = selection.batches;
  host.values[1] = selection.classes;
  host.values[2] = selection.boxes;
  host.values[3] = selection.most_per_class;
  const uint64_t thresholds = uint64_t{std::bit_cast<uint32_t>(selection.iou_threshold)} |
                              uint64_t{std::bit_cast<uint32_t>(selection.score_threshold)} << 32;
  host.values[4] = static_cast<int64_t>(thresholds);
  host.values[5] = (selection.has_score_threshold ? 1 : 0) | (selection.is_centered ? 2 : 0);
  command.out = builder.HostOperand(call.node->outputs[0]);
  command.in0 = builder.HostOperand(call.node->inputs[0]);
  command.in1 = builder.HostOperand(call.node->inputs[1]);
  builder.Emit(command);
  return builder.status();
}

struct CompressForm {
  int axis = -1;  // < 0: of the elements one after the other
  int64_t extent = 0;
  std::vector<int64_t> chosen;
};

absl::StatusOr<CompressForm> ResolveCompress(const OpCall& call) {
  const Shape& x = call.input(0).shape;
  CompressForm form;
  form.extent = x.ElementCount();
  if (call.node->attributes.Has("axis")) {
    BERTH_ASSIGN_OR_RETURN(form.axis,
                           NormalizeAxis(call.node->attributes.Int("axis", 0), x.rank()));
    form.extent = x[form.axis];
  }
  BERTH_ASSIGN_OR_RETURN(const Tensor* condition, KnownInput(call, 1, "condition"));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64Values(condition->view()));
  if (condition->shape().rank() != 1 || static_cast<int64_t>(values.size()) > form.extent) {
    return InvalidArgument("the condition has shape {} for {} elements",
                           condition->shape().ToString(), form.extent);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) form.chosen.push_back(static_cast<int64_t>(i));
  }
  return form;
}

absl::StatusOr<std::vector<TensorType>> CompressTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 1, DTypeClass::kBool));
  BERTH_ASSIGN_OR_RETURN(const CompressForm form, ResolveCompress(call));
  const auto count = static_cast<int64_t>(form.chosen.size());
  Shape shape{count};
  if (form.axis >= 0) {
    shape = call.input(0).shape;
    shape[form.axis] = count;
  }
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

absl::Status ExpandCompress(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const CompressForm form, ResolveCompress(call));
  ValueId x = call.node->inputs[0];
  if (form.axis < 0) x = ApplyReshape(rewrite, x, Shape{form.extent});
  Attributes attributes;
  attributes.Set("axis", int64_t{std::max(form.axis, 0)});
  rewrite.Apply(OpKind::kGather, {x, rewrite.Int64s(form.chosen)}, std::move(attributes),
                call.node->outputs[0]);
  return rewrite.status();
}

}  // namespace

const OpDef& NonZeroOp() {
  static const OpDef def = HostOp(OpKind::kNonZero, NonZeroTypes, LowerNonZero);
  return def;
}

const OpDef& UniqueOp() {
  static const OpDef def = HostOp(OpKind::kUnique, UniqueTypes, LowerUnique);
  return def;
}

const OpDef& NonMaxSuppressionOp() {
  static const OpDef def =
      HostOp(OpKind::kNonMaxSuppression, NonMaxSuppressionTypes, LowerNonMaxSuppression);
  return def;
}

const OpDef& CompressOp() {
  static const OpDef def{
      .kind = OpKind::kCompress, .infer_types = CompressTypes, .expand = ExpandCompress};
  return def;
}

}  // namespace berth
