// Split: expands into one Slice per output. Lengths are attribute "split" before opset 13 (opset 1:
// or input 1), input 1 from then on; without them the parts are equal, from opset 18 with a smaller
// last one.
#include "base/checked_math.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/ops/shape_operands.h"

namespace berth {
namespace {

absl::StatusOr<std::vector<int64_t>> EqualParts(const OpCall& call, int64_t extent) {
  const auto parts = static_cast<int64_t>(call.node->outputs.size());
  const int64_t declared = call.node->attributes.Int("num_outputs", parts);
  if (declared != parts) {
    return InvalidArgument("num_outputs is {}, the node has {} outputs", declared, parts);
  }
  const int64_t part = CeilDiv(extent, parts);
  const int64_t last = extent - part * (parts - 1);
  if (last != part && (call.node->opset < 18 || last < 0)) {
    return InvalidArgument("extent {} does not divide into {} parts", extent, parts);
  }
  std::vector<int64_t> lengths(static_cast<size_t>(parts), part);
  lengths.back() = last;
  return lengths;
}

absl::StatusOr<std::vector<int64_t>> PartLengths(const OpCall& call, int64_t extent) {
  const bool old_input = call.node->opset < 2 && call.HasInput(1);
  BERTH_ASSIGN_OR_RETURN(const OptionalInts given,
                         AttributeOrOperand(call, "split", 1, old_input ? 1 : 13));
  if (!given.found) return EqualParts(call, extent);
  int64_t sum = 0;
  for (const int64_t length : given.values) {
    const auto next = CheckedAdd(sum, length);
    if (length < 0 || !next) return InvalidArgument("split length {}", length);
    sum = *next;
  }
  if (sum != extent || given.values.size() != call.node->outputs.size()) {
    return InvalidArgument("{} split lengths sum to {}, {} outputs and extent {} are expected",
                           given.values.size(), sum, call.node->outputs.size(), extent);
  }
  return given.values;
}

absl::StatusOr<std::vector<TensorType>> SplitTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 2));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  if (call.node->outputs.empty()) return InvalidArgument("no outputs");
  const TensorType& input = call.input(0);
  BERTH_ASSIGN_OR_RETURN(const int axis,
                         NormalizeAxis(call.node->attributes.Int("axis", 0), input.shape.rank()));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, PartLengths(call, input.shape[axis]));
  std::vector<TensorType> types(lengths.size(), input);
  for (size_t i = 0; i < lengths.size(); ++i) types[i].shape[axis] = lengths[i];
  return types;
}

absl::Status ExpandSplit(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(call.node->attributes.Int("axis", 0),
                                                       call.input(0).shape.rank()));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths,
                         PartLengths(call, call.input(0).shape[axis]));
  int64_t begin = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (call.node->outputs[i] != ValueId::kNone) {
      ApplySlice(rewrite, call.node->inputs[0], {axis, begin, lengths[i], 1},
                 call.node->outputs[i]);
    }
    begin += lengths[i];
  }
  return rewrite.status();
}

}  // namespace

const OpDef& SplitOp() {
  static const OpDef def{.kind = OpKind::kSplit, .infer_types = SplitTypes, .expand = ExpandSplit};
  return def;
}

}  // namespace berth
