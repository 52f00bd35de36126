// Slices are gathered by indirect DMA; where they would be shorter than a DMA run and the axis is
// small, the axis is loaded whole and the elements are picked inside the scratchpad.
#include "kernels/ops/gather.h"
#include "kernels/tail.h"
#include "kernels/tile_loop.h"
#include "kernels/vector_steps.h"

namespace berth {
namespace {

constexpr int64_t kShortRunBytes = 64;
constexpr int64_t kMostSlabBytes = 8192;  // of an axis loaded whole, for one slice of the rest

bool IsPickedInScratchpad(const GatherAxes& axes) {
  return axes.inner_bytes < kShortRunBytes && axes.extent * axes.inner_bytes <= kMostSlabBytes;
}

// The part of a tile's box that belongs to the data, with `extent` elements along the axis.
Box DataBox(const GatherAxes& axes, const Box& box, int64_t extent) {
  const auto part = [&axes](const Extents& whole, int64_t along_axis) {
    Extents result(whole.begin(), whole.begin() + axes.axis);
    result.push_back(along_axis);
    result.insert(result.end(), whole.begin() + axes.axis + axes.index_rank, whole.end());
    return result;
  };
  return {part(box.begin, 0), part(box.extent, extent)};
}

Box IndexBox(const GatherAxes& axes, const Box& box) {
  const auto part = [&axes](const Extents& whole) {
    return Extents(whole.begin() + axes.axis, whole.begin() + axes.axis + axes.index_rank);
  };
  return {part(box.begin), part(box.extent)};
}

class GatherTile {
 public:
  GatherTile(const OpCall& call, const GatherAxes& axes, const Box& box, TileBuilder& builder)
      : call_(call), axes_(axes), box_(box), builder_(builder), data_(call.node->inputs[0]) {}

  TileView Emit() {
    if (IsPickedInScratchpad(axes_) || builder_.IsResident(data_)) return PickFromSlab();
    return builder_
        .GatherSlices(data_, axes_.axis, LoadIndices(), DataBox(axes_, box_, 1), "output")
        .Reshaped(box_.extent);
  }

 private:
  TileView PickFromSlab() {
    const TileView slab = builder_.LoadHeld(data_, DataBox(axes_, box_, axes_.extent), "input");
    const TileView indices = call_.Constant(1) != nullptr ? KnownTable() : NormalizedIndices();
    const TileView tile = builder_.NewTile(
        call_.output().dtype, DataBox(axes_, box_, indices.ElementCount()).extent, "output");
    builder_.Pick(tile, slab, indices, axes_.axis);
    return tile.Reshaped(box_.extent);
  }

  // The indices of the tile one after the other.
  TileView LoadIndices() {
    TileView indices = builder_.LoadHeld(call_.node->inputs[1], IndexBox(axes_, box_), "indices");
    if (!indices.IsDense()) {
      const TileView dense = builder_.NewTile(indices.dtype, indices.extent, "dense indices");
      builder_.Copy(dense, indices);
      indices = dense;
    }
    return indices.Reshaped({indices.ElementCount()});
  }

  TileView KnownTable() {
    const std::vector<int64_t> known = KnownIndices(call_);
    const std::vector<int64_t> strides = call_.input(1).shape.DenseStrides();
    const Box box = IndexBox(axes_, box_);
    std::vector<int32_t> picked;
    const std::vector<int64_t> extent(box.extent.begin(), box.extent.end());
    ForEachTile(extent, TileShape(extent.size(), 1), [&](const Box& place) {
      int64_t flat = 0;
      for (size_t axis = 0; axis < strides.size(); ++axis) {
        flat += (box.begin[axis] + place.begin[axis]) * strides[axis];
      }
      picked.push_back(static_cast<int32_t>(known[static_cast<size_t>(flat)]));
    });
    return builder_.LoadTable(
        Tensor::FromValues<int32_t>(DType::kInt32, Shape{static_cast<int64_t>(picked.size())},
                                    picked),
        "indices");
  }

  template <typename T>
  TileView Scalar(DType dtype, int64_t value, const Extents& extent) {
    const T element = static_cast<T>(value);
    return builder_.LoadTable(Tensor::FromValues<T>(dtype, Shape{1}, {element}), "bound")
        .BroadcastTo(extent);
  }

  // As int32 from the beginning of the axis. What is out of range stays so, also where it would not
  // fit 32 bits, and fails the command that picks.
  TileView NormalizedIndices() {
    TileView indices = LoadIndices();
    const Extents extent = indices.extent;
    if (indices.dtype == DType::kInt64) {
      const TileView wide = builder_.NewTile(DType::kInt64, extent, "bounded indices");
      builder_.Binary(BinaryFunction::kMin, wide, indices,
                      Scalar<int64_t>(DType::kInt64, axes_.extent, extent));
      builder_.Binary(BinaryFunction::kMax, wide, wide,
                      Scalar<int64_t>(DType::kInt64, -axes_.extent - 1, extent));
      indices = builder_.NewTile(DType::kInt32, extent, "narrow indices");
      builder_.Cast(indices, wide);
    }
    const TileView from_end = builder_.NewTile(DType::kInt32, extent, "indices from the end");
    builder_.Binary(BinaryFunction::kAdd, from_end, indices,
                    Scalar<int32_t>(DType::kInt32, axes_.extent, extent));
    const TileView is_negative = builder_.NewTile(DType::kBool, extent, "negative indices");
    builder_.Binary(BinaryFunction::kLess, is_negative, indices,
                    Scalar<int32_t>(DType::kInt32, 0, extent));
    builder_.Select(from_end, is_negative, from_end, indices);
    return from_end;
  }

  const OpCall& call_;
  const GatherAxes& axes_;
  const Box& box_;
  TileBuilder& builder_;
  const ValueId data_;
};

}  // namespace

IterationSpace GatherSpace(const OpCall& call) {
  IterationSpace space = AxisLoops(call.output().shape);
  const GatherAxes axes = ResolveGather(call);
  if (!IsPickedInScratchpad(axes)) return space;
  for (size_t i = static_cast<size_t>(axes.axis + axes.index_rank); i < space.size(); ++i) {
    space[i].shrink_order = -1;  // slabs are loaded in whole runs
  }
  return space;
}

TileCost GatherCost(const OpCall& call, const TileShape& tile) {
  const GatherAxes axes = ResolveGather(call);
  const Extents extent(tile.begin(), tile.end());
  const Box box{Extents(extent.size(), 0), extent};
  const int64_t indices = IndexBox(axes, box).ElementCount();
  constexpr int64_t kBounds = 4;  // scalars that indices are compared with
  TileCost cost;
  cost.scratchpad_bytes = TileBytes(call.output().dtype, extent) + TailBytes(call, extent) +
                          3 * TileBytes(call.input(1).dtype, {indices}) +
                          3 * TileBytes(DType::kInt32, {indices}) +
                          kBounds * TileBytes(DType::kInt64, {1});
  if (IsPickedInScratchpad(axes)) {
    cost.scratchpad_bytes += TileBytes(call.input(0).dtype, DataBox(axes, box, axes.extent).extent);
  }
  return cost;
}

absl::Status LowerGather(const OpCall& call, const TileShape& tile, TileBuilder& builder) {
  const GatherAxes axes = ResolveGather(call);
  ForEachTile(call.output().shape.extents(), tile, [&](const Box& box) {
    const TileView made = GatherTile(call, axes, box, builder).Emit();
    builder.Store(call.node->outputs[0], box, EmitTail(*call.node, 0, box, made, builder));
  });
  return builder.status();
}

}  // namespace berth
