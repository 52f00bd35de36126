#include "planner/onnx/attributes.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "planner/onnx/onnx_headers.h"
#include "planner/onnx/tensors.h"
#include "planner/onnx/text.h"

namespace berth {
namespace {

using onnx::AttributeProto;

// Old files leave the type out: then the field that is set tells.
AttributeProto::AttributeType TypeOf(const AttributeProto& proto) {
  if (proto.type() != AttributeProto::UNDEFINED) return proto.type();
  if (proto.has_f()) return AttributeProto::FLOAT;
  if (proto.has_i()) return AttributeProto::INT;
  if (proto.has_s()) return AttributeProto::STRING;
  if (proto.has_t()) return AttributeProto::TENSOR;
  if (proto.has_g()) return AttributeProto::GRAPH;
  if (proto.floats_size() > 0) return AttributeProto::FLOATS;
  if (proto.ints_size() > 0) return AttributeProto::INTS;
  if (proto.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

std::string TypeName(AttributeProto::AttributeType type) {
  return AttributeProto::AttributeType_Name(type);
}

// Attributes that an earlier version of the operator has (axes that are an input by now, ...).
bool IsOldAttribute(const onnx::NodeProto& node, const std::string& attribute) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), node.domain());
  while (schema != nullptr && schema->SinceVersion() > 1) {
    schema =
        onnx::OpSchemaRegistry::Schema(node.op_type(), schema->SinceVersion() - 1, node.domain());
    if (schema != nullptr && schema->attributes().count(attribute) != 0) return true;
  }
  return false;
}

// Attributes that operators of ours got after the library's newest version; they are known to the
// type rules, or mean nothing for the element types that there are here.
bool IsLaterAttribute(std::string_view op, std::string_view attribute) {
  struct Later {
    std::string_view op, attribute;
  };
  constexpr Later kLater[] = {
      {"AveragePool", "dilations"},
      {"Cast", "round_mode"},
      {"Cast", "saturate"},
      {"DequantizeLinear", "block_size"},
      {"DequantizeLinear", "output_dtype"},
      {"Gelu", "approximate"},
      {"QuantizeLinear", "block_size"},
      {"QuantizeLinear", "output_dtype"},
      {"QuantizeLinear", "saturate"},
      {"ReduceMax", "noop_with_empty_axes"},
      {"ReduceMean", "noop_with_empty_axes"},
      {"ReduceMin", "noop_with_empty_axes"},
      {"Resize", "antialias"},
      {"Resize", "axes"},
      {"Resize", "keep_aspect_ratio_policy"},
      {"Split", "num_outputs"},
  };
  return std::any_of(std::begin(kLater), std::end(kLater), [&](const Later& later) {
    return later.op == op && later.attribute == attribute;
  });
}

// The schema knows the attributes of the library's newest version.
absl::Status CheckType(const onnx::NodeProto& node, const AttributeProto& proto,
                       AttributeProto::AttributeType type) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), node.domain());
  if (schema != nullptr) {
    const auto known = schema->attributes().find(proto.name());
    if (known != schema->attributes().end() && known->second.type != type) {
      return InvalidArgument("it is of type {}, expected {}", TypeName(type),
                             TypeName(known->second.type));
    }
    if (known != schema->attributes().end()) return absl::OkStatus();
  }
  if (IsOldAttribute(node, proto.name()) || IsLaterAttribute(node.op_type(), proto.name())) {
    return absl::OkStatus();
  }
  return Unimplemented("the operator has no such attribute that is known");
}

absl::StatusOr<AttributeValue> Convert(const AttributeProto& proto,
                                       AttributeProto::AttributeType type,
                                       const std::filesystem::path& folder) {
  switch (type) {
    case AttributeProto::FLOAT:
      return AttributeValue(proto.f());
    case AttributeProto::INT:
      return AttributeValue(int64_t{proto.i()});
    case AttributeProto::STRING:
      return AttributeValue(proto.s());
    case AttributeProto::FLOATS:
      return AttributeValue(std::vector<float>(proto.floats().begin(), proto.floats().end()));
    case AttributeProto::INTS:
      return AttributeValue(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeProto::STRINGS:
      return AttributeValue(
          std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case AttributeProto::TENSOR: {
      BERTH_ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(proto.t(), folder));
      return AttributeValue(std::make_shared<const Tensor>(std::move(tensor)));
    }
    case AttributeProto::UNDEFINED:
      return InvalidArgument("it has neither a type nor a value");
    default:
      break;
  }
  return Unimplemented("it is of type {}", TypeName(type));
}

absl::StatusOr<AttributeValue> Checked(const onnx::NodeProto& node, const AttributeProto& proto,
                                       const std::filesystem::path& folder) {
  if (!proto.ref_attr_name().empty()) {
    return InvalidArgument("it refers to '{}' of a function outside of any function",
                           OneLine(proto.ref_attr_name(), 60));
  }
  const AttributeProto::AttributeType type = TypeOf(proto);
  BERTH_RETURN_IF_ERROR(CheckType(node, proto, type));
  return Convert(proto, type, folder);
}

bool HasBodies(std::string_view op) { return op == "If" || op == "Loop" || op == "Scan"; }

// An empty list carries no element that would tell its type.
bool IsEmptyUntyped(const AttributeProto& proto) {
  return TypeOf(proto) == AttributeProto::UNDEFINED;
}

}  // namespace

absl::StatusOr<Attributes> AttributesFromProto(const onnx::NodeProto& node,
                                               const std::filesystem::path& model_folder) {
  Attributes attributes;
  for (const AttributeProto& proto : node.attribute()) {
    if (attributes.Has(proto.name())) {
      return InvalidArgument("attribute '{}' stands twice", OneLine(proto.name(), 60));
    }
    if (IsEmptyUntyped(proto)) continue;
    if (proto.has_g() && HasBodies(node.op_type())) continue;  // graphs are the importer's
    auto value = Checked(node, proto, model_folder);
    if (!value.ok()) {
      return Annotate(value.status(), fmt::format("attribute '{}'", OneLine(proto.name(), 60)));
    }
    attributes.Set(proto.name(), *std::move(value));
  }
  return attributes;
}

}  // namespace berth
