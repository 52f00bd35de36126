// DepthToSpace and SpaceToDepth: a reshape to the blocks, a transpose, a reshape back.
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"

namespace berth {
namespace {

struct Image {
  int64_t batch = 1, channels = 1, height = 1, width = 1;
  DataLayout layout = DataLayout::kNchw;

  Shape ToShape() const {
    return layout == DataLayout::kNchw ? Shape{batch, channels, height, width}
                                       : Shape{batch, height, width, channels};
  }
};

absl::StatusOr<Image> InputImage(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 1, 1));
  BERTH_RETURN_IF_ERROR(CheckInput(call, 0, DTypeClass::kAny));
  const Shape& shape = call.input(0).shape;
  if (shape.rank() != 4) {
    return InvalidArgument("input has shape {}, expected rank 4", shape.ToString());
  }
  if (call.node->layout == DataLayout::kNchw) {
    return Image{shape[0], shape[1], shape[2], shape[3], DataLayout::kNchw};
  }
  return Image{shape[0], shape[3], shape[1], shape[2], DataLayout::kNhwc};
}

absl::StatusOr<int64_t> BlockSize(const Node& node) {
  const int64_t block = node.attributes.Int("blocksize", 0);
  if (block <= 0 || block >= (int64_t{1} << 20)) {
    return InvalidArgument("blocksize {} is outside [1, 2^20)", block);
  }
  return block;
}

absl::StatusOr<std::vector<TensorType>> DepthToSpaceTypes(const OpCall& call) {
  BERTH_ASSIGN_OR_RETURN(Image image, InputImage(call));
  BERTH_ASSIGN_OR_RETURN(const int64_t block, BlockSize(*call.node));
  const std::string mode = call.node->attributes.String("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return InvalidArgument("mode '{}'", mode);
  if (image.channels % (block * block) != 0) {
    return InvalidArgument("{} channels do not divide by blocksize {} squared", image.channels,
                           block);
  }
  image.channels /= block * block;
  image.height *= block;
  image.width *= block;
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create(image.ToShape().extents()));
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

absl::StatusOr<std::vector<TensorType>> SpaceToDepthTypes(const OpCall& call) {
  BERTH_ASSIGN_OR_RETURN(Image image, InputImage(call));
  BERTH_ASSIGN_OR_RETURN(const int64_t block, BlockSize(*call.node));
  if (image.height % block != 0 || image.width % block != 0) {
    return InvalidArgument("{} x {} does not divide by blocksize {}", image.height, image.width,
                           block);
  }
  image.channels *= block * block;
  image.height /= block;
  image.width /= block;
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create(image.ToShape().extents()));
  return std::vector<TensorType>{{call.input(0).dtype, std::move(shape)}};
}

absl::Status ThreeSteps(const OpCall& call, const Shape& blocks, std::vector<int64_t> perm,
                        GraphRewriter& rewrite) {
  const ValueId split = ApplyReshape(rewrite, call.node->inputs[0], blocks);
  const ValueId moved = ApplyTranspose(rewrite, split, std::move(perm));
  ApplyReshape(rewrite, moved, call.output().shape, call.node->outputs[0]);
  return rewrite.status();
}

absl::Status ExpandDepthToSpace(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const Image image, InputImage(call));
  BERTH_ASSIGN_OR_RETURN(const int64_t b, BlockSize(*call.node));
  const bool column_row_depth = call.node->attributes.String("mode", "DCR") == "CRD";
  const int64_t depth = image.channels / (b * b);
  const int64_t n = image.batch, h = image.height, w = image.width;
  if (image.layout == DataLayout::kNchw) {
    return column_row_depth
               ? ThreeSteps(call, Shape{n, depth, b, b, h, w}, {0, 1, 4, 2, 5, 3}, rewrite)
               : ThreeSteps(call, Shape{n, b, b, depth, h, w}, {0, 3, 4, 1, 5, 2}, rewrite);
  }
  return column_row_depth
             ? ThreeSteps(call, Shape{n, h, w, depth, b, b}, {0, 1, 4, 2, 5, 3}, rewrite)
             : ThreeSteps(call, Shape{n, h, w, b, b, depth}, {0, 1, 3, 2, 4, 5}, rewrite);
}

absl::Status ExpandSpaceToDepth(const OpCall& call, GraphRewriter& rewrite) {
  BERTH_ASSIGN_OR_RETURN(const Image image, InputImage(call));
  BERTH_ASSIGN_OR_RETURN(const int64_t b, BlockSize(*call.node));
  const int64_t n = image.batch, c = image.channels;
  const int64_t h = image.height / b, w = image.width / b;
  return image.layout == DataLayout::kNchw
             ? ThreeSteps(call, Shape{n, c, h, b, w, b}, {0, 3, 5, 1, 2, 4}, rewrite)
             : ThreeSteps(call, Shape{n, h, b, w, b, c}, {0, 1, 3, 2, 4, 5}, rewrite);
}

}  // namespace

const OpDef& DepthToSpaceOp() {
  static const OpDef def{.kind = OpKind::kDepthToSpace,
                         .infer_types = DepthToSpaceTypes,
                         .expand = ExpandDepthToSpace};
  return def;
}

const OpDef& SpaceToDepthOp() {
  static const OpDef def{.kind = OpKind::kSpaceToDepth,
                         .infer_types = SpaceToDepthTypes,
                         .expand = ExpandSpaceToDepth};
  return def;
}

}  // namespace berth
