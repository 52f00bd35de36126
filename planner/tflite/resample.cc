// Resizing, and moving blocks between channels and space.
#include "planner/tflite/op_table.h"

namespace berth::tfl_ops {
namespace {

absl::Status Resize(TfliteOpImport& op, Attributes attributes, bool interpolates) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> size, op.KnownInts(1, "output size"));
  BERTH_ASSIGN_OR_RETURN(const ValueId stored, op.Stored(0));
  const Shape shape = op.ShapeOf(stored);
  if (shape.rank() != 4 || size.size() != 2) {
    return InvalidArgument("{} extents for an input of shape {}", size.size(), shape.ToString());
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId first, op.ChannelsFirst(stored));
  ValueId operand = first;
  if (interpolates) {
    BERTH_ASSIGN_OR_RETURN(operand, op.RealOf(0, first));
  }
  const ValueId sizes = op.Int64s({shape[0], shape[3], size[0], size[1]});
  BERTH_ASSIGN_OR_RETURN(const ValueId result,
                         op.Apply(OpKind::kResize, {operand, ValueId::kNone, ValueId::kNone, sizes},
                                  std::move(attributes)));
  if (interpolates) return op.SetRealChannelsFirst(0, result);
  return op.SetStoredChannelsFirst(0, result);
}

absl::Status MoveBlocks(TfliteOpImport& op, OpKind kind, int64_t block) {
  BERTH_ASSIGN_OR_RETURN(const ValueId stored, op.Stored(0));
  BERTH_ASSIGN_OR_RETURN(const ValueId first, op.ChannelsFirst(stored));
  Attributes attributes;
  attributes.Set("blocksize", block);
  BERTH_ASSIGN_OR_RETURN(const ValueId result, op.Apply(kind, {first}, std::move(attributes)));
  return op.SetStoredChannelsFirst(0, result);
}

}  // namespace

absl::Status ResizeBilinear(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 2));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::ResizeBilinearOptions>());
  const char* coordinates = options->align_corners()        ? "align_corners"
                            : options->half_pixel_centers() ? "half_pixel"
                                                            : "asymmetric";
  Attributes attributes;
  attributes.Set("mode", std::string("linear"));
  attributes.Set("coordinate_transformation_mode", std::string(coordinates));
  return Resize(op, std::move(attributes), true);
}

absl::Status ResizeNearestNeighbor(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(2, 2));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::ResizeNearestNeighborOptions>());
  const bool corners = options->align_corners();
  const char* coordinates = corners                         ? "align_corners"
                            : options->half_pixel_centers() ? "tf_half_pixel_for_nn"
                                                            : "asymmetric";
  Attributes attributes;
  attributes.Set("mode", std::string("nearest"));
  attributes.Set("coordinate_transformation_mode", std::string(coordinates));
  attributes.Set("nearest_mode", std::string(corners ? "round_prefer_ceil" : "floor"));
  return Resize(op, std::move(attributes), false);
}

absl::Status DepthToSpace(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::DepthToSpaceOptions>());
  return MoveBlocks(op, OpKind::kDepthToSpace, options->block_size());
}

absl::Status SpaceToDepth(TfliteOpImport& op) {
  BERTH_RETURN_IF_ERROR(op.CheckCounts(1, 1));
  BERTH_ASSIGN_OR_RETURN(const auto* options, op.GetOptions<tfl::SpaceToDepthOptions>());
  return MoveBlocks(op, OpKind::kSpaceToDepth, options->block_size());
}

}  // namespace berth::tfl_ops
