// PAD, PADV2 and MIRROR_PAD.
#include <algorithm>

#include "planner/tflite/op_table.h"

namespace berth::tfl_ops {
namespace {

struct Margins {
  std::vector<int64_t> before, after;  // of each axis

  std::vector<int64_t> ForOnnx() const {
    std::vector<int64_t> pads = before;
    pads.insert(pads.end(), after.begin(), after.end());
    return pads;
  }
};

absl::StatusOr<Margins> ReadMargins(TfliteOpImport& op, const Shape& shape) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> pairs, op.KnownInts(1, "paddings"));
  const auto rank = static_cast<size_t>(shape.rank());
  if (pairs.size() != 2 * rank) {
    return InvalidArgument("{} paddings for rank {}", pairs.size(), rank);
  }
  Margins margins;
  for (size_t i = 0; i < rank; ++i) {
    if (pairs[2 * i] < 0 || pairs[2 * i + 1] < 0) {
      return InvalidArgument("axis {} is padded by {} and {}", i, pairs[2 * i], pairs[2 * i + 1]);
    }
    margins.before.push_back(pairs[2 * i]);
    margins.after.push_back(pairs[2 * i + 1]);
  }
  return margins;
}

// What stands for zero in the result.
absl::StatusOr<Tensor> StoredZero(const TfliteOpImport& op, DType dtype) {
  Tensor zero(TensorType{dtype, Shape{}});
  BERTH_ASSIGN_OR_RETURN(const auto quantization, op.OutputQuantization());
  if (!quantization) return zero;
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      zero.Values<T>()[0] = static_cast<T>(quantization->zero_points[0]);
    }
  });
  return zero;
}

bool IsSpatial(const Margins& margins) {
  return margins.before.size() == 4 && margins.before[0] == 0 && margins.after[0] == 0 &&
         margins.before[3] == 0 && margins.after[3] == 0;
}

}  // namespace

absl::Status Pad(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 3));
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(const Margins margins, ReadMargins(op, op.ShapeOf(x)));
  BERTH_ASSIGN_OR_RETURN(const bool same, op.SameScale(0, 0));
  if (!same) return Unimplemented("a result in another scale than the input");
  BERTH_ASSIGN_OR_RETURN(const Tensor zero, StoredZero(op, op.TypeOf(x).dtype));
  ValueId fill = ValueId::kNone;
  if (op.HasInput(2)) {
    BERTH_ASSIGN_OR_RETURN(fill, op.Stored(2));
  } else {
    fill = op.AddConstant(zero);
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId result,
                         op.Apply(OpKind::kPad, {x, op.Int64s(margins.ForOnnx()), fill}));
  const Tensor* constant = op.Constant(fill);
  const bool is_zero = constant != nullptr && constant->bytes() == zero.bytes();
  if (is_zero && IsSpatial(margins)) {
    op.state().padded[result] = {
        x, {margins.before[1], margins.before[2]}, {margins.after[1], margins.after[2]}};
  }
  return op.SetStored(0, result);
}

absl::Status MirrorPad(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 2));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::MirrorPadOptions>());
  if (options->mode() != tfl::MirrorMode::REFLECT) {
    return Unimplemented("mode {} ({}), only REFLECT is supported",
                         static_cast<int>(options->mode()),
                         tfl::EnumNameMirrorMode(options->mode()));
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId x, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(const Margins margins, ReadMargins(op, op.ShapeOf(x)));
  Attributes attributes;
  attributes.Set("mode", std::string("reflect"));
  BERTH_ASSIGN_OR_RETURN(
      const ValueId result,
      op.Apply(OpKind::kPad, {x, op.Int64s(margins.ForOnnx())}, std::move(attributes)));
  return op.SetMoved(0, 0, result);
}

}  // namespace berth::tfl_ops
