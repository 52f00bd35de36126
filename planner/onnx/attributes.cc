#include "planner/onnx/attributes.h"

#include "planner/onnx/onnx_headers.h"
#include "onnx/defs/schema.h"
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

// The schema knows the attributes of every version up to the library's; one that it does not know
// is left to the type rules.
absl::Status CheckType(const onnx::NodeProto& node, const AttributeProto& proto,
                       AttributeProto::AttributeType type) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), node.domain());
  if (schema == nullptr) return absl::OkStatus();
  const auto known = schema->attributes().find(proto.name());
  if (known == schema->attributes().end() || known->second.type == type) return absl::OkStatus();
  return InvalidArgument("it is of type {}, expected {}", TypeName(type),
                         TypeName(known->second.type));
}

absl::StatusOr<AttributeValue> Convert(const AttributeProto& proto,
                                       AttributeProto::AttributeType type,
                                       const std::filesystem::path& folder) {
  switch (type) {
    case AttributeProto::FLOAT: return AttributeValue(proto.f());
    case AttributeProto::INT: return AttributeValue(int64_t{proto.i()});
    case AttributeProto::STRING: return AttributeValue(proto.s());
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
    case AttributeProto::UNDEFINED: return InvalidArgument("it has neither a type nor a value");
    default: break;
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
    auto value = Checked(node, proto, model_folder);
    if (!value.ok()) {
      return Annotate(value.status(), fmt::format("attribute '{}'", OneLine(proto.name(), 60)));
    }
    attributes.Set(proto.name(), *std::move(value));
  }
  return attributes;
}

}  // namespace berth
