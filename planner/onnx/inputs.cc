#include "planner/onnx/inputs.h"

#include <map>

#include "planner/onnx/tensors.h"
#include "planner/onnx/text.h"

namespace berth {
namespace {

// -1 is a common way to write "unknown".
absl::StatusOr<Dim> DimFromProto(const onnx::TensorShapeProto::Dimension& proto) {
  Dim dim;
  if (proto.has_dim_value()) {
    if (proto.dim_value() < -1) return InvalidArgument("dimension {}", proto.dim_value());
    dim.extent = proto.dim_value();
  }
  dim.symbol = OneLine(proto.dim_param(), 60);
  return dim;
}

using Symbols = std::map<std::string, int64_t>;

// The declared dimensions with `pinned` put in; records what named dimensions became.
absl::Status Pin(const Shape& pinned, Value& value, Symbols& symbols) {
  if (!value.rank_declared) {
    value.declared.resize(static_cast<size_t>(pinned.rank()));
    value.rank_declared = true;
  }
  if (pinned.rank() != static_cast<int>(value.declared.size())) {
    return InvalidArgument("input '{}': shape {} has rank {}, the model declares rank {}",
                           value.name, pinned.ToString(), pinned.rank(), value.declared.size());
  }
  for (int axis = 0; axis < pinned.rank(); ++axis) {
    Dim& dim = value.declared[static_cast<size_t>(axis)];
    if (dim.extent >= 0 && dim.extent != pinned[axis]) {
      return InvalidArgument("input '{}': shape {} where the model declares dimension {} = {}",
                             value.name, pinned.ToString(), axis, dim.extent);
    }
    dim.extent = pinned[axis];
    if (!dim.symbol.empty()) symbols.emplace(dim.symbol, pinned[axis]);
  }
  return absl::OkStatus();
}

void FollowSymbols(const Symbols& symbols, Value& value) {
  for (Dim& dim : value.declared) {
    const auto found = symbols.find(dim.symbol);
    if (dim.extent < 0 && found != symbols.end()) dim.extent = found->second;
  }
}

// "--shape x=<batch>x3x<height>x<width>", or empty when nothing is free.
std::string FreeDimensions(const Value& value) {
  if (!value.rank_declared) {
    return fmt::format("the rank of input '{}' (pin with --shape {}=<d0>x<d1>x...)", value.name,
                       value.name);
  }
  std::string free, suggestion;
  for (size_t axis = 0; axis < value.declared.size(); ++axis) {
    const Dim& dim = value.declared[axis];
    const std::string name = dim.symbol.empty() ? fmt::format("d{}", axis) : dim.symbol;
    suggestion += axis == 0 ? "" : "x";
    suggestion += dim.extent < 0 ? "<" + name + ">" : std::to_string(dim.extent);
    if (dim.extent >= 0) continue;
    free += fmt::format("{}{} ({})", free.empty() ? "" : ", ", axis, name);
  }
  if (free.empty()) return "";
  return fmt::format("dimensions {} of input '{}' (pin with --shape {}={})", free, value.name,
                     value.name, suggestion);
}

absl::Status Settle(Value& value) {
  std::vector<int64_t> extents;
  for (const Dim& dim : value.declared) extents.push_back(dim.extent);
  auto shape = Shape::Create(std::move(extents));
  if (!shape.ok()) return Annotate(shape.status(), fmt::format("input '{}'", value.name));
  value.type.shape = *std::move(shape);
  value.shape_known = true;
  return absl::OkStatus();
}

}  // namespace

absl::Status Declare(const onnx::ValueInfoProto& info, Value& value) {
  if (!info.has_type() || !info.type().has_tensor_type()) return absl::OkStatus();
  const auto& type = info.type().tensor_type();
  if (type.elem_type() != onnx::TensorProto::UNDEFINED) {
    auto dtype = ElementType(type.elem_type());
    if (!dtype.ok()) return Annotate(dtype.status(), fmt::format("value '{}'", value.name));
    value.type.dtype = *dtype;
  }
  if (!type.has_shape()) return absl::OkStatus();
  value.rank_declared = true;
  for (const auto& proto : type.shape().dim()) {
    auto dim = DimFromProto(proto);
    if (!dim.ok()) return Annotate(dim.status(), fmt::format("value '{}'", value.name));
    value.declared.push_back(*std::move(dim));
  }
  return absl::OkStatus();
}

absl::Status CheckAgainstDeclared(const Value& value, const TensorType& type) {
  bool agrees = value.type.dtype == DType::kUndefined || value.type.dtype == type.dtype;
  if (value.rank_declared) {
    agrees &= static_cast<int>(value.declared.size()) == type.shape.rank();
    for (int axis = 0; agrees && axis < type.shape.rank(); ++axis) {
      const int64_t declared = value.declared[static_cast<size_t>(axis)].extent;
      agrees = declared < 0 || declared == type.shape[axis];
    }
  }
  if (agrees) return absl::OkStatus();
  std::string dims;
  for (const Dim& dim : value.declared) {
    dims += fmt::format("{}{}", dims.empty() ? "" : "x",
                        dim.extent < 0 ? "?" : std::to_string(dim.extent));
  }
  return InvalidArgument("input '{}' is declared {}[{}] but its value is {}", value.name,
                         DTypeName(value.type.dtype), dims, type.ToString());
}

absl::Status ResolveInputs(const ImportOptions& options, Graph& graph) {
  Symbols symbols;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    Value& value = graph.at(graph.inputs[i]);
    const auto pinned = options.input_shapes.find(value.name);
    if (pinned != options.input_shapes.end()) {
      BERTH_RETURN_IF_ERROR(Pin(pinned->second, value, symbols));
    } else if (i < options.shapes_by_position.size()) {
      BERTH_RETURN_IF_ERROR(Pin(options.shapes_by_position[i], value, symbols));
    }
  }
  std::string free;
  for (const ValueId id : graph.inputs) {
    Value& value = graph.at(id);
    if (value.type.dtype == DType::kUndefined) {
      return InvalidArgument("input '{}' has no element type", value.name);
    }
    FollowSymbols(symbols, value);
    const std::string dimensions = FreeDimensions(value);
    if (dimensions.empty()) BERTH_RETURN_IF_ERROR(Settle(value));
    if (!dimensions.empty()) free += (free.empty() ? "" : "; ") + dimensions;
  }
  if (free.empty() || options.free_shapes) return absl::OkStatus();
  return InvalidArgument("shapes are not known: {}", free);
}

}  // namespace berth
