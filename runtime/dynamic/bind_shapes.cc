#include "runtime/dynamic/bind_shapes.h"

namespace berth {
namespace {

struct Bound {
  int64_t extent = 0;
  std::string where;  // "dimension 0 of input 'x'"
};

absl::Status CheckRange(absl::Span<const DimRange> ranges, const std::string& symbol,
                        int64_t extent, const std::string& where) {
  for (const DimRange& range : ranges) {
    if (range.name != symbol || (extent >= range.low && extent <= range.high)) continue;
    return InvalidArgument("{} ({}) is {}, compiled for {} to {}", where, symbol, extent, range.low,
                           range.high);
  }
  return absl::OkStatus();
}

absl::Status BindDims(size_t index, const TensorInfo& info, const Shape& shape,
                      absl::Span<const DimRange> ranges, std::map<std::string, Bound>& symbols) {
  if (shape.rank() != static_cast<int>(info.dims.size())) {
    return InvalidArgument("input {} ('{}'): shape {} has rank {}, {} is expected", index,
                           info.name, shape.ToString(), shape.rank(), DescribeTensor(info));
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const Dim& dim = info.dims[static_cast<size_t>(axis)];
    const std::string named = dim.symbol.empty() ? "" : fmt::format(" ({})", dim.symbol);
    if (dim.extent >= 0) {
      if (shape[axis] == dim.extent) continue;
      return InvalidArgument("input {} ('{}'): dimension {} is {}, the model fixes it to {}", index,
                             info.name, axis, shape[axis], dim.extent);
    }
    if (shape[axis] < 1) {
      return InvalidArgument("input {} ('{}'): dimension {}{} is {}, at least 1 is expected", index,
                             info.name, axis, named, shape[axis]);
    }
    if (dim.symbol.empty()) continue;
    const std::string where = fmt::format("dimension {} of input '{}'", axis, info.name);
    BERTH_RETURN_IF_ERROR(CheckRange(ranges, dim.symbol, shape[axis], where));
    const auto [found, is_new] = symbols.try_emplace(dim.symbol, Bound{shape[axis], where});
    if (is_new || found->second.extent == shape[axis]) continue;
    return InvalidArgument("'{}' is {} as {} and {} as {}", dim.symbol, found->second.extent,
                           found->second.where, shape[axis], where);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SymbolExtents> BindShapes(absl::Span<const TensorInfo> infos,
                                         absl::Span<const TensorType> types,
                                         absl::Span<const DimRange> ranges) {
  if (types.size() != infos.size()) {
    return InvalidArgument("{} inputs given, {} expected", types.size(), infos.size());
  }
  std::map<std::string, Bound> symbols;
  for (size_t i = 0; i < infos.size(); ++i) {
    const TensorInfo& info = infos[i];
    const TensorType& type = types[i];
    const bool is_other_type =
        info.has_free_shape ? type.dtype != info.type.dtype : type != info.type;
    if (is_other_type) {
      return InvalidArgument("input {} ('{}'): {} given, {} expected", i, info.name,
                             type.ToString(), DescribeTensor(info));
    }
    if (absl::Status status = Shape::Create(type.shape.extents()).status(); !status.ok()) {
      return Annotate(status, fmt::format("input {} ('{}')", i, info.name));
    }
    if (info.has_free_shape && info.has_declared_rank) {
      BERTH_RETURN_IF_ERROR(BindDims(i, info, type.shape, ranges, symbols));
    }
  }
  SymbolExtents extents;
  for (const auto& [name, bound] : symbols) extents[name] = bound.extent;
  return extents;
}

}  // namespace berth
