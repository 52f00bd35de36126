// ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1 and ReduceSumSquare over any
// axes. A reduction longer than a tile continues in the output tile from one input tile to the
// next.
#include <cstring>
#include <limits>

#include "kernels/ops/dtype_check.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/reduce_views.h"
#include "kernels/tail.h"
#include "kernels/tile_loop.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

constexpr int64_t kFillTileElements = 1024;  // of a result that has no operand

ReduceFunction FunctionOf(OpKind kind) {
  switch (kind) {
    case OpKind::kReduceMax:
      return ReduceFunction::kMax;
    case OpKind::kReduceMin:
      return ReduceFunction::kMin;
    case OpKind::kReduceProd:
      return ReduceFunction::kProd;
    case OpKind::kReduceL1:
      return ReduceFunction::kSumAbs;
    case OpKind::kReduceSumSquare:
      return ReduceFunction::kSumSquares;
    default:
      return ReduceFunction::kSum;
  }
}

// Partial sums of 16-bit floats stand in float32 while they wait for the next tile.
bool SumsWide(const OpCall& call, const ReducedAxes& axes, const TileShape& tile) {
  if (!IsHalf(call.input(0).dtype)) return false;
  const ReduceFunction function = FunctionOf(call.node->kind);
  if (function == ReduceFunction::kMax || function == ReduceFunction::kMin) return false;
  for (size_t axis = 0; axis < tile.size(); ++axis) {
    if (axes.reduced[axis] && tile[axis] < call.input(0).shape[static_cast<int>(axis)]) return true;
  }
  return false;
}

uint64_t CountPattern(DType dtype, int64_t count) {
  uint64_t pattern = 0;
  VisitDType(dtype, [&]<typename T>() {
    T element;
    if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>) {
      element = T(static_cast<float>(count));
    } else {
      element = static_cast<T>(count);
    }
    std::memcpy(&pattern, &element, sizeof(T));
  });
  return pattern;
}

// The result over no elements.
uint64_t EmptyPattern(OpKind kind, DType dtype) {
  uint64_t pattern = 0;
  VisitDType(dtype, [&]<typename T>() {
    T element = kind == OpKind::kReduceProd ? T(1.0f) : T{};
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      if (kind == OpKind::kReduceMax) element = Limits::lowest();
      if (kind == OpKind::kReduceMin) element = Limits::max();
    } else {
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      if (kind == OpKind::kReduceMax) element = T(-kInfinity);
      if (kind == OpKind::kReduceMin) element = T(kInfinity);
      if (kind == OpKind::kReduceMean) element = T(std::numeric_limits<float>::quiet_NaN());
    }
    std::memcpy(&pattern, &element, sizeof(T));
  });
  return pattern;
}

class ReduceLowering {
 public:
  ReduceLowering(const OpCall& call, const ReducedAxes& axes, const TileShape& tile,
                 TileBuilder& builder)
      : call_(call),
        axes_(axes),
        tile_(tile),
        builder_(builder),
        extents_(call.input(0).shape.extents()),
        wide_(SumsWide(call, axes, tile)) {
    for (size_t axis = 0; axis < extents_.size(); ++axis) {
      if (axes.reduced[axis]) count_ *= extents_[axis];
    }
  }

  void Run() {
    ForEachTile(KeptExtents(axes_, extents_), KeptExtents(axes_, tile_),
                [&](const Box& kept) { EmitOutputTile(kept); });
  }

 private:
  DType dtype() const { return call_.input(0).dtype; }
  bool IsMean() const { return call_.node->kind == OpKind::kReduceMean; }
  // float32 and narrower are scaled by the unit; others are divided exactly.
  bool ScalesAtEnd() const { return IsMean() && IsFloat(dtype()) && dtype() != DType::kFloat64; }

  void EmitOutputTile(const Box& kept) {
    const ValueId result = call_.node->outputs[0];
    const Box box = ReducedBox(axes_, kept);
    const TileView out = builder_.OutputTile(result, dtype(), box, "output");
    const TileView sum = wide_ ? builder_.NewTile(DType::kFloat32, box.extent, "sum") : out;
    Accumulate(kept, WithReducedAxes(axes_, sum));
    if (wide_) builder_.Cast(out, sum);
    if (IsMean() && !ScalesAtEnd()) DivideByCount(out);
    builder_.Store(result, box, EmitTail(*call_.node, 0, box, out, builder_));
  }

  void Accumulate(const Box& kept, const TileView& sum) {
    const ReduceFunction function = FunctionOf(call_.node->kind);
    int64_t done = 0;
    ForEachTile(
        ReducedExtents(axes_, extents_), ReducedExtents(axes_, tile_), [&](const Box& reduced) {
          const TileView in = LoadTile(CombineBoxes(axes_, kept, reduced));
          const bool is_first = done == 0;
          done += reduced.ElementCount();
          const bool is_last = done == count_;
          const float scale = ScalesAtEnd() && is_last ? 1.0f / static_cast<float>(count_) : 1.0f;
          builder_.Reduce(function, sum, in, !is_first, scale);
        });
  }

  TileView LoadTile(const Box& box) {
    const TileView loaded = builder_.Load(call_.node->inputs[0], box, "input");
    if (!wide_) return loaded;
    const TileView wide = builder_.NewTile(DType::kFloat32, box.extent, "wide input");
    builder_.Cast(wide, loaded);
    return wide;
  }

  void DivideByCount(const TileView& out) {
    const TileView count = builder_.NewTile(dtype(), Extents(out.extent.size(), 1), "count");
    builder_.Fill(count, CountPattern(dtype(), count_));
    builder_.Binary(BinaryFunction::kDiv, out, out, count.BroadcastTo(out.extent));
  }

  const OpCall& call_;
  const ReducedAxes& axes_;
  const TileShape& tile_;
  TileBuilder& builder_;
  const std::vector<int64_t>& extents_;
  const bool wide_;
  int64_t count_ = 1;
};

// The result of a reduction over nothing, in tiles of a few rows.
void LowerEmpty(const OpCall& call, TileBuilder& builder) {
  const std::vector<int64_t>& extents = call.output().shape.extents();
  std::vector<int64_t> tile(extents.size(), 1);
  if (!tile.empty()) tile.back() = std::min(extents.back(), kFillTileElements);
  ForEachTile(extents, tile, [&](const Box& box) {
    const TileView out = builder.NewTile(call.output().dtype, box.extent, "output");
    builder.Fill(out, EmptyPattern(call.node->kind, call.output().dtype));
    builder.Store(call.node->outputs[0], box, EmitTail(*call.node, 0, box, out, builder));
  });
}

absl::Status LowerReduce(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  const ReducedAxes axes = KnownReducedAxes(call);
  if (call.input(0).shape.ElementCount() == 0) {
    LowerEmpty(call, builder);
  } else {
    ReduceLowering(call, axes, tile, builder).Run();
  }
  return builder.status();
}

IterationSpace ReduceSpace(const OpCall& call) { return AxisLoops(call.input(0).shape); }

TileCost ReduceCost(const OpCall& call, const TileShape& tile) {
  const ReducedAxes axes = KnownReducedAxes(call);
  const Extents in(tile.begin(), tile.end());
  const Box box = ReducedBox(axes, {Extents(in.size(), 0), in});
  TileCost cost;
  cost.scratchpad_bytes = TileBytes(call.input(0).dtype, in) +
                          TileBytes(call.input(0).dtype, box.extent) + TailBytes(call, box.extent);
  if (call.node->kind == OpKind::kReduceMean)
    cost.scratchpad_bytes += TileBytes(DType::kInt64, {1});
  if (SumsWide(call, axes, tile)) {
    cost.scratchpad_bytes +=
        TileBytes(DType::kFloat32, in) + TileBytes(DType::kFloat32, box.extent);
  }
  return cost;
}

OpDef Define(OpKind kind) {
  OpDef def;
  def.kind = kind;
  def.infer_types = ReductionTypes;
  def.iteration_space = ReduceSpace;
  def.tile_cost = ReduceCost;
  def.lower = LowerReduce;
  return def;
}

}  // namespace

#define BERTH_REDUCE_OP(NAME)                         \
  const OpDef& NAME##Op() {                           \
    static const OpDef def = Define(OpKind::k##NAME); \
    return def;                                       \
  }
BERTH_REDUCE_OP(ReduceSum)
BERTH_REDUCE_OP(ReduceMean)
BERTH_REDUCE_OP(ReduceMax)
BERTH_REDUCE_OP(ReduceMin)
BERTH_REDUCE_OP(ReduceProd)
BERTH_REDUCE_OP(ReduceL1)
BERTH_REDUCE_OP(ReduceSumSquare)
#undef BERTH_REDUCE_OP

}  // namespace berth
