// Ops that move elements as they are stored.
#include <algorithm>

#include "planner/tflite/op_table.h"

namespace berth::tfl_ops {
namespace {

using Ints = std::vector<int64_t>;

absl::StatusOr<int> KnownAxis(TfliteOpImport& op, int i, int rank) {
  BERTH_ASSIGN_OR_RETURN(const Ints axis, op.KnownInts(i, "axis"));
  if (axis.size() != 1) return InvalidArgument("{} axes, one is expected", axis.size());
  return NormalizeAxis(axis[0], rank);
}

absl::StatusOr<ValueId> SliceOfAxis(TfliteOpImport& op, ValueId x, int axis, int64_t begin,
                                    int64_t extent) {
  if (begin == 0 && op.ShapeOf(x)[axis] == extent) return x;
  return op.Apply(OpKind::kSlice,
                  {x, op.Int64s({begin}), op.Int64s({begin + extent}), op.Int64s({axis})});
}

// Consecutive parts of an axis become the results.
absl::Status SplitAxis(TfliteOpImport& op, int data, int axis, const Ints& parts) {
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(data));
  int64_t begin = 0;
  for (int j = 0; j < op.output_count(); ++j) {
    const int64_t extent = parts[static_cast<size_t>(j)];
    BERTH_ASSIGN_OR_RETURN(const ValueId part, SliceOfAxis(op, x, axis, begin, extent));
    BERTH_RETURN_IF_ERROR(op.SetMoved(j, data, part));
    begin += extent;
  }
  return absl::OkStatus();
}

// The wanted shape from operand or option, one -1 in it what remains.
absl::StatusOr<Ints> WantedShape(TfliteOpImport& op) {
  if (op.HasInput(1)) return op.KnownInts(1, "new shape");
  const auto* options = op.op().builtin_options_as<tfl::ReshapeOptions>();
  if (options == nullptr || options->new_shape() == nullptr) {
    return InvalidArgument("it says no new shape");
  }
  return Ints(options->new_shape()->begin(), options->new_shape()->end());
}

absl::Status Joined(TfliteOpImport& op, std::vector<ValueId> operands, int axis) {
  Attributes attributes;
  attributes.Set("axis", int64_t{axis});
  BERTH_ASSIGN_OR_RETURN(const ValueId result,
                         op.Apply(OpKind::kConcat, std::move(operands), std::move(attributes)));
  return op.SetStored(0, result);
}

// Operand i in the scale of the result.
absl::StatusOr<ValueId> InResultScale(TfliteOpImport& op, int i) {
  BERTH_ASSIGN_OR_RETURN(const ValueId stored, op.Stored(i));
  BERTH_ASSIGN_OR_RETURN(const bool same, op.SameScale(i, 0));
  if (same) return stored;
  BERTH_ASSIGN_OR_RETURN(const auto quantization, op.OutputQuantization());
  BERTH_ASSIGN_OR_RETURN(const TensorType declared, op.DeclaredOutput());
  BERTH_ASSIGN_OR_RETURN(const ValueId real, op.Real(i));
  return op.Quantized(real, *quantization, declared.dtype);
}

}  // namespace

absl::Status Reshape(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 2));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(Ints shape, WantedShape(op));
  const auto rest = std::find(shape.begin(), shape.end(), -1);
  if (rest != shape.end()) {
    *rest = 1;
    auto others = Shape::Create(shape);
    if (!others.ok()) return others.status();
    const int64_t count = op.ShapeOf(x).ElementCount();
    if (others->ElementCount() == 0 || count % others->ElementCount() != 0) {
      return InvalidArgument("{} elements do not become shape {} with one extent free", count,
                             others->ToString());
    }
    *rest = count / others->ElementCount();
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Reshaped(x, shape));
  return op.SetMoved(0, 0, result);
}

absl::Status ExpandDims(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 2));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  Ints extents = op.ShapeOf(x).extents();
  BERTH_ASSIGN_OR_RETURN(const int axis, KnownAxis(op, 1, op.ShapeOf(x).rank() + 1));
  extents.insert(extents.begin() + axis, 1);
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Reshaped(x, extents));
  return op.SetMoved(0, 0, result);
}

absl::Status Squeeze(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::SqueezeOptions>());
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  const Shape shape = op.ShapeOf(x);
  std::vector<bool> named(static_cast<size_t>(shape.rank()));
  const auto* dims = options->squeeze_dims();
  const bool names_axes = dims != nullptr && dims->size() > 0;
  for (uint32_t i = 0; names_axes && i < dims->size(); ++i) {
    BERTH_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(dims->Get(i), shape.rank()));
    if (shape[axis] != 1) return InvalidArgument("axis {} has extent {}", axis, shape[axis]);
    named[static_cast<size_t>(axis)] = true;
  }
  Ints extents;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool drop = names_axes ? named[static_cast<size_t>(axis)] : shape[axis] == 1;
    if (!drop) extents.push_back(shape[axis]);
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Reshaped(x, extents));
  return op.SetMoved(0, 0, result);
}

absl::Status Transpose(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 2));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(const Ints perm, op.KnownInts(1, "permutation"));
  const int rank = op.ShapeOf(x).rank();
  Permutation order;
  std::vector<bool> seen(static_cast<size_t>(rank));
  for (const int64_t given : perm) {
    BERTH_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, rank));
    if (seen[static_cast<size_t>(axis)]) return InvalidArgument("axis {} comes twice", axis);
    seen[static_cast<size_t>(axis)] = true;
    order.push_back(axis);
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Transposed(x, order));
  return op.SetMoved(0, 0, result);
}

absl::Status Concatenation(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1 << 16));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::ConcatenationOptions>());
  if (options->fused_activation() != tfl::Activation::NONE) {
    return Unimplemented("an activation fused into a concatenation");
  }
  std::vector<ValueId> operands;
  for (int i = 0; i < op.input_count(); ++i) {
    BERTH_ASSIGN_OR_RETURN(const ValueId operand, InResultScale(op, i));
    operands.push_back(operand);
  }
  BERTH_ASSIGN_OR_RETURN(const int axis,
                         NormalizeAxis(options->axis(), op.ShapeOf(operands[0]).rank()));
  return Joined(op, std::move(operands), axis);
}

absl::Status Pack(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1 << 16));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::PackOptions>());
  std::vector<ValueId> operands;
  int axis = 0;
  for (int i = 0; i < op.input_count(); ++i) {
    BERTH_ASSIGN_OR_RETURN(const ValueId operand, InResultScale(op, i));
    Ints extents = op.ShapeOf(operand).extents();
    BERTH_ASSIGN_OR_RETURN(axis,
                           NormalizeAxis(options->axis(), static_cast<int>(extents.size()) + 1));
    extents.insert(extents.begin() + axis, 1);
    BERTH_ASSIGN_OR_RETURN(const ValueId layer, op.Reshaped(operand, extents));
    operands.push_back(layer);
  }
  return Joined(op, std::move(operands), axis);
}

absl::Status Unpack(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1, op.output_count()));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::UnpackOptions>());
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  const Shape shape = op.ShapeOf(x);
  BERTH_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(options->axis(), shape.rank()));
  if (shape[axis] != op.output_count()) {
    return InvalidArgument("{} results from extent {}", op.output_count(), shape[axis]);
  }
  Ints extents = shape.extents();
  extents.erase(extents.begin() + axis);
  for (int j = 0; j < op.output_count(); ++j) {
    BERTH_ASSIGN_OR_RETURN(const ValueId layer, SliceOfAxis(op, x, axis, j, 1));
    BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Reshaped(layer, extents));
    BERTH_RETURN_IF_ERROR(op.SetMoved(j, 0, result));
  }
  return absl::OkStatus();
}

absl::Status Split(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 2, op.output_count()));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(1));
  BERTH_ASSIGN_OR_RETURN(const int axis, KnownAxis(op, 0, op.ShapeOf(x).rank()));
  const int64_t extent = op.ShapeOf(x)[axis], count = op.output_count();
  if (count == 0 || extent % count != 0) {
    return InvalidArgument("extent {} does not split into {}", extent, count);
  }
  return SplitAxis(op, 1, axis, Ints(static_cast<size_t>(count), extent / count));
}

absl::Status SplitV(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(3, 3, op.output_count()));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(Ints parts, op.KnownInts(1, "sizes"));
  BERTH_ASSIGN_OR_RETURN(const int axis, KnownAxis(op, 2, op.ShapeOf(x).rank()));
  const int64_t extent = op.ShapeOf(x)[axis];
  int64_t sum = 0, free = 0;
  for (const int64_t part : parts) {
    if (part < -1 || part > extent) return InvalidArgument("a part of {} in {}", part, extent);
    free += part == -1 ? 1 : 0;
    sum += std::max<int64_t>(part, 0);
  }
  if (free == 1 && sum <= extent) *std::find(parts.begin(), parts.end(), -1) = extent - sum;
  const bool fits = free == 1 ? sum <= extent : free == 0 && sum == extent;
  if (!fits || static_cast<int>(parts.size()) != op.output_count()) {
    return InvalidArgument("{} parts of {} with {} free for extent {} and {} results", parts.size(),
                           sum, free, extent, op.output_count());
  }
  return SplitAxis(op, 0, axis, parts);
}

absl::Status Slice(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(3, 3));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(const Ints begin, op.KnownInts(1, "begin"));
  BERTH_ASSIGN_OR_RETURN(const Ints size, op.KnownInts(2, "size"));
  const Shape shape = op.ShapeOf(x);
  const auto rank = static_cast<size_t>(shape.rank());
  if (begin.size() != rank || size.size() != rank) {
    return InvalidArgument("{} begins and {} sizes for rank {}", begin.size(), size.size(), rank);
  }
  Ints ends, axes;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extent = shape[static_cast<int>(i)];
    if (begin[i] < 0 || begin[i] > extent || size[i] < -1 || size[i] > extent - begin[i]) {
      return InvalidArgument("{} from {} of axis {} with extent {}", size[i], begin[i], i, extent);
    }
    ends.push_back(size[i] == -1 ? extent : begin[i] + size[i]);
    axes.push_back(static_cast<int64_t>(i));
  }
  BERTH_ASSIGN_OR_RETURN(
      const ValueId result,
      op.Apply(OpKind::kSlice, {x, op.Int64s(begin), op.Int64s(ends), op.Int64s(axes)}));
  return op.SetMoved(0, 0, result);
}

absl::Status Gather(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 2));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::GatherOptions>());
  if (options->batch_dims() != 0) return Unimplemented("{} batch_dims", options->batch_dims());
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(const ValueId indices, op.Stored(1));
  Attributes attributes;
  attributes.Set("axis", int64_t{options->axis()});
  BERTH_ASSIGN_OR_RETURN(const ValueId result,
                         op.Apply(OpKind::kGather, {x, indices}, std::move(attributes)));
  return op.SetMoved(0, 0, result);
}

absl::Status Tile(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 2));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(const Ints repeats, op.KnownInts(1, "multiples"));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Apply(OpKind::kTile, {x, op.Int64s(repeats)}));
  return op.SetMoved(0, 0, result);
}

absl::Status BroadcastTo(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 2));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(const Ints shape, op.KnownInts(1, "shape"));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Apply(OpKind::kExpand, {x, op.Int64s(shape)}));
  return op.SetMoved(0, 0, result);
}

absl::Status ShapeOf(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(const TensorType declared, op.DeclaredOutput());
  const Ints extents = op.ShapeOf(x).extents();
  if (declared.dtype == DType::kInt64) return op.SetStored(0, op.Int64s(extents));
  std::vector<int32_t> narrow;
  for (const int64_t extent : extents) {
    if (extent > INT32_MAX) return InvalidArgument("extent {} is no int32", extent);
    narrow.push_back(static_cast<int32_t>(extent));
  }
  const Shape shape{static_cast<int64_t>(narrow.size())};
  return op.SetStored(0, op.AddConstant(Tensor::FromValues<int32_t>(DType::kInt32, shape, narrow)));
}

}  // namespace berth::tfl_ops
