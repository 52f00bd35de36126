// GridSample of images: at every point of the grid a weighted sum of the samples around it. Rows of
// channels are gathered for each of these taps (1, 4 or 16), weights and places are computed on the
// vector unit.
//
// Formulas: ONNX GridSample; the cubic weights are those of a = -0.75.
#include <string>

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"
#include "kernels/spatial.h"

namespace berth {
namespace {

enum class GridMode { kNearest, kLinear, kCubic };
enum class GridPadding { kZeros, kBorder, kReflection };

struct GridForm {
  GridMode mode = GridMode::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;
};

absl::StatusOr<GridForm> ResolveGrid(const Node& node) {
  GridForm form;
  form.align_corners = node.attributes.Int("align_corners", 0) != 0;
  const std::string mode = node.attributes.String("mode", "linear");
  if (mode == "nearest") {
    form.mode = GridMode::kNearest;
  } else if (mode == "bicubic" || mode == "cubic") {
    form.mode = GridMode::kCubic;
  } else if (mode != "bilinear" && mode != "linear") {
    return InvalidArgument("attribute mode is '{}'", mode);
  }
  const std::string padding = node.attributes.String("padding_mode", "zeros");
  if (padding == "border") {
    form.padding = GridPadding::kBorder;
  } else if (padding == "reflection") {
    form.padding = GridPadding::kReflection;
  } else if (padding != "zeros") {
    return InvalidArgument("attribute padding_mode is '{}'", padding);
  }
  return form;
}

absl::StatusOr<std::vector<TensorType>> GridSampleTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 2, 2));
  for (int i = 0; i < 2; ++i) BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kFloat));
  BERTH_RETURN_IF_ERROR(ResolveGrid(*call.node).status());
  const Shape& x = call.input(0).shape;
  const Shape& grid = call.input(1).shape;
  if (x.rank() != 4)
    return Unimplemented("X has shape {}, only images are supported", x.ToString());
  if (grid.rank() != 4 || grid[0] != x[0] || grid[3] != 2) {
    return InvalidArgument("the grid has shape {} for X {}", grid.ToString(), x.ToString());
  }
  if (x.ElementCount() == 0) return InvalidArgument("X has shape {}", x.ToString());
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create({x[0], x[1], grid[1], grid[2]}));
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

class GridSampler {
 public:
  GridSampler(const OpCall& call, const GridForm& form, GraphRewriter& rewrite)
      : call_(call),
        form_(form),
        rewrite_(rewrite),
        computed_(call.input(0).dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32) {}

  absl::Status Run() {
    const Shape& x = call_.input(0).shape;
    const ValueId own = ApplyCast(rewrite_, call_.node->inputs[0], computed_);
    const ValueId last = ApplyTranspose(rewrite_, own, {0, 2, 3, 1});
    image_ = ApplyReshape(rewrite_, last, Shape{x[0] * x[2] * x[3], x[1]});
    const ValueId grid = ApplyCast(rewrite_, call_.node->inputs[1], computed_);
    const std::vector<Tap> columns = Taps(ApplySlice(rewrite_, grid, {3, 0, 1}), x[3]);
    const std::vector<Tap> rows = Taps(ApplySlice(rewrite_, grid, {3, 1, 1}), x[2]);
    ValueId sum = ValueId::kNone;
    for (const Tap& row : rows) {
      for (const Tap& column : columns) {
        const ValueId term = Term(row, column);
        sum = sum == ValueId::kNone ? term : Apply(OpKind::kAdd, sum, term);
      }
    }
    const ValueId result = ApplyTranspose(rewrite_, sum, {0, 3, 1, 2});
    ApplyCast(rewrite_, result, call_.input(0).dtype, call_.node->outputs[0]);
    return rewrite_.status();
  }

 private:
  // Of every point, [batch, rows, columns, 1].
  struct Tap {
    ValueId place = ValueId::kNone;      // int64, within the axis
    ValueId weight = ValueId::kNone;     // kNone: 1
    ValueId is_inside = ValueId::kNone;  // kNone: always
  };

  ValueId Number(double value) { return rewrite_.Constant(ScalarTensor(computed_, value)); }
  ValueId Apply(OpKind kind, ValueId a, ValueId b) { return rewrite_.Apply(kind, {a, b}); }
  ValueId Linear(ValueId x, double factor, double addend) {
    return Apply(OpKind::kAdd, Apply(OpKind::kMul, x, Number(factor)), Number(addend));
  }
  ValueId Clipped(ValueId x, double most) {
    return rewrite_.Apply(OpKind::kClip, {x, Number(0), Number(most)});
  }

  std::vector<Tap> Taps(ValueId coordinate, int64_t extent) {
    const auto size = static_cast<double>(extent);
    const ValueId at =
        Linear(coordinate, (form_.align_corners ? size - 1 : size) / 2, (size - 1) / 2);
    if (form_.mode == GridMode::kNearest) {
      return {TapAt(rewrite_.Apply(OpKind::kRound, {at}), 0, extent, ValueId::kNone)};
    }
    const ValueId floor = rewrite_.Apply(OpKind::kFloor, {at});
    const ValueId beyond = Apply(OpKind::kSub, at, floor);
    const bool cubic = form_.mode == GridMode::kCubic;
    std::vector<Tap> taps;
    for (int offset = cubic ? -1 : 0; offset <= (cubic ? 2 : 1); ++offset) {
      taps.push_back(TapAt(floor, offset, extent, Weight(beyond, offset)));
    }
    return taps;
  }

  // Of the sample `offset` from the one at or below a point that is `beyond` it, in [0, 1).
  ValueId Weight(ValueId beyond, int offset) {
    if (form_.mode == GridMode::kLinear) {
      return offset == 0 ? Linear(beyond, -1, 1) : beyond;
    }
    // In the distance d: (a + 2) d^3 - (a + 3) d^2 + 1 below 1, a (d^3 - 5 d^2 + 8 d - 4) from 1
    // on.
    constexpr double kA = -0.75;
    const double sign = offset > 0 ? -1 : 1;
    const ValueId d = Linear(beyond, sign, -sign * offset);
    const bool near = offset == 0 || offset == 1;
    const double c3 = near ? kA + 2 : kA, c2 = near ? -(kA + 3) : -5 * kA;
    const double c1 = near ? 0 : 8 * kA, c0 = near ? 1 : -4 * kA;
    ValueId value = Linear(d, c3, c2);
    value = Linear(Apply(OpKind::kMul, value, d), 1, c1);
    return Linear(Apply(OpKind::kMul, value, d), 1, c0);
  }

  Tap TapAt(ValueId base, int offset, int64_t extent, ValueId weight) {
    const auto last = static_cast<double>(extent - 1);
    ValueId place = offset == 0 ? base : Apply(OpKind::kAdd, base, Number(offset));
    Tap tap;
    tap.weight = weight;
    if (form_.padding == GridPadding::kZeros) {
      tap.is_inside = Apply(OpKind::kAnd, Apply(OpKind::kGreaterOrEqual, place, Number(0)),
                            Apply(OpKind::kLessOrEqual, place, Number(last)));
    }
    if (form_.padding == GridPadding::kReflection) place = Reflected(place, extent);
    tap.place = ApplyCast(rewrite_, Clipped(place, last), DType::kInt64);
    return tap;
  }

  // At the centres of the first and the last sample, or at their outer edges.
  ValueId Reflected(ValueId place, int64_t extent) {
    const double least = form_.align_corners ? 0 : -0.5;
    const double span = static_cast<double>(form_.align_corners ? extent - 1 : extent);
    if (span == 0) return Clipped(place, 0);
    const ValueId distance = rewrite_.Apply(OpKind::kAbs, {Linear(place, 1, -least)});
    Attributes fmod;
    fmod.Set("fmod", int64_t{1});
    const ValueId phase =
        rewrite_.Apply(OpKind::kMod, {distance, Number(2 * span)}, std::move(fmod));
    const ValueId back = Linear(phase, -1, 2 * span);
    return Linear(Apply(OpKind::kMin, phase, back), 1, least);
  }

  ValueId Term(const Tap& row, const Tap& column) {
    const Shape& x = call_.input(0).shape;
    const Shape& grid = call_.input(1).shape;
    const auto number = [&](int64_t value) {
      return rewrite_.Constant(IntegerScalar(DType::kInt64, value));
    };
    ValueId flat = Apply(OpKind::kAdd, Apply(OpKind::kMul, row.place, number(x[3])), column.place);
    flat = Apply(OpKind::kAdd, flat, Positions(rewrite_, x[0], 0, 4, x[2] * x[3]));
    const ValueId index = ApplyReshape(rewrite_, flat, Shape{grid[0], grid[1], grid[2]});
    ValueId value = Apply(OpKind::kGather, image_, index);
    if (row.weight != ValueId::kNone) {
      value = Apply(OpKind::kMul, value, Apply(OpKind::kMul, row.weight, column.weight));
    }
    if (row.is_inside == ValueId::kNone) return value;
    const ValueId is_inside = Apply(OpKind::kAnd, row.is_inside, column.is_inside);
    return rewrite_.Apply(OpKind::kWhere, {is_inside, value, Number(0)});
  }

  const OpCall& call_;
  const GridForm& form_;
  GraphRewriter& rewrite_;
  const DType computed_;
  ValueId image_ = ValueId::kNone;  // [batch * rows * columns, channels]
};

absl::Status ExpandGridSample(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const GridForm form, ResolveGrid(*call.node));
  return GridSampler(call, form, rewrite).Run();
}

}  // namespace

const OpDef& GridSampleOp() {
  static const OpDef def{
      .kind = OpKind::kGridSample, .infer_types = GridSampleTypes, .expand = ExpandGridSample};
  return def;
}

}  // namespace berth
