#include "kernels/ops/flat_copy.h"

#include <algorithm>
#include <numeric>

#include "base/checked_math.h"
#include "kernels/ops/flat_range.h"
#include "kernels/tail.h"
#include "kernels/tile_loop.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

constexpr int64_t kMostGranuleBytes = 1024;

// Tiles that are multiples of a row of both shapes need fewest boxes: the largest common multiple
// of two trailing products that is still a small tile.
int64_t Granule(const TensorType& input, const TensorType& output) {
  const auto products = [](const Shape& shape) {
    std::vector<int64_t> result;
    for (int axis = shape.rank(); axis > 0; --axis) {
      result.push_back(shape.Product(axis, shape.rank()));
    }
    return result;
  };
  int64_t best = 1;
  for (const int64_t a : products(input.shape)) {
    for (const int64_t b : products(output.shape)) {
      const auto common = CheckedMul(a / std::max<int64_t>(std::gcd(a, b), 1), b);
      if (!common || *common > kMostGranuleBytes / DTypeBytes(input.dtype)) continue;
      best = std::max(best, *common);
    }
  }
  return best;
}

IterationSpace FlatSpace(const OpCall& call) {
  return {
      {"element", call.output().shape.ElementCount(), Granule(call.input(0), call.output()), 0}};
}

TileCost FlatCost(const OpCall& call, const TileShape& tile) {
  TileCost cost;
  cost.scratchpad_bytes = TileBytes(call.output().dtype, {tile[0]}) +
                          TailBytes(call, LargestFlatBox(call.output().shape, tile[0]));
  return cost;
}

// The view of `box`, whose elements stand one after another in the flat tile.
TileView Piece(const TileView& flat, int64_t first, const Box& box) {
  return flat.Sub({first}, {box.ElementCount()}).Reshaped(box.extent);
}

// Of the output, before a part was taken.
Shape WholeOutput(const OpCall& call) {
  return call.part.is_whole() ? call.output().shape : call.input(0).shape;
}

// Where the part begins in the flat order of the whole.
int64_t FirstElement(const OpCall& call) {
  if (call.part.is_whole()) return 0;
  const Shape& shape = call.input(0).shape;
  return call.part.range.begin * shape.Product(call.part.axis + 1, shape.rank());
}

// Of a copy without a change of shape, parts along the outermost axis that is one at all.
std::optional<PartRead> FlatPart(const OpCall& call, int input, int axis, IndexRange outputs) {
  const Shape& shape = call.input(0).shape;
  if (shape != call.output().shape || shape.Product(0, axis) != 1) return std::nullopt;
  return input > 0 ? WholeRead(call.input(input).shape, axis) : PartRead{axis, outputs};
}

absl::Status LowerFlatCopy(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  const ValueId value = call.node->inputs[0], result = call.node->outputs[0];
  const int64_t count = call.output().shape.ElementCount();
  const int64_t first = FirstElement(call);
  ForEachTile({count}, tile, [&](const Box& run) {
    const int64_t begin = first + run.begin[0], end = begin + run.extent[0];
    const TileView flat = builder.NewTile(call.input(0).dtype, run.extent, "input");
    int64_t done = 0;
    for (const Box& box : BoxesOfFlatRange(call.input(0).shape, begin, end)) {
      builder.LoadInto(value, box, Piece(flat, done, box));
      done += box.ElementCount();
    }
    done = 0;
    for (const Box& box : BoxesOfFlatRange(WholeOutput(call), begin, end)) {
      const TileView piece = Piece(flat, done, box);
      done += box.ElementCount();
      builder.Store(result, box, EmitTail(*call.node, 0, box, piece, builder));
    }
  });
  return builder.status();
}

std::vector<int> FlatInPlace(const OpCall&) { return {0}; }

}  // namespace

OpDef FlatCopyOp(OpKind kind, TypeRule infer_types) {
  OpDef def;
  def.kind = kind;
  def.infer_types = infer_types;
  def.in_place = FlatInPlace;
  def.part = FlatPart;
  def.iteration_space = FlatSpace;
  def.tile_cost = FlatCost;
  def.lower = LowerFlatCopy;
  def.view = ViewKind::kReshape;
  return def;
}

}  // namespace berth
