#include "tools/inspect_values.h"

namespace berth {

absl::Status CheckHasValues(const InspectedPlan& plan) {
  if (!plan.info().values.empty() && !plan.info().ops.empty()) return absl::OkStatus();
  return FailedPrecondition("the bundle has no table of values ({} ops); compile the model again",
                            plan.info().ops.size());
}

uint32_t LastOp(const ValueInfo& value) {
  return value.end_op > value.begin_op ? value.end_op - 1 : value.begin_op;
}

std::string StorageText(const InspectedPlan& plan, const ValueInfo& value) {
  const std::vector<ValueInfo>& values = plan.info().values;
  const std::string source =
      value.source < 0 ? ""
                       : fmt::format(" {}", Shown(values[static_cast<size_t>(value.source)].name));
  switch (value.storage) {
    case ValueStorage::kOwn:
      return "own";
    case ValueStorage::kView:
      return "view of" + source;
    case ValueStorage::kPart:
      return "part of" + source;
    case ValueStorage::kInPlace:
      return "in place of" + source;
  }
  return "unknown";
}

std::string PlaceText(const InspectedPlan& plan, const ValueInfo& value) {
  return fmt::format("{} [{}, {})", RegionName(plan.program().regions[value.region]),
                     value.offset_bytes, value.offset_bytes + value.span_bytes);
}

nlohmann::ordered_json ValueJson(const InspectedPlan& plan, const ValueInfo& value) {
  nlohmann::ordered_json json = {
      {"name", value.name},
      {"dtype", DTypeName(value.type.dtype)},
      {"shape", std::vector<int64_t>(value.type.shape.begin(), value.type.shape.end())},
      {"storage", StorageName(value.storage)}};
  json["source"] = nullptr;
  if (value.source >= 0) {
    json["source"] = plan.info().values[static_cast<size_t>(value.source)].name;
  }
  json["region"] = RegionName(plan.program().regions[value.region]);
  json["slot"] =
      value.slot == kNoSlot ? nlohmann::ordered_json() : nlohmann::ordered_json(value.slot);
  json["offset_bytes"] = value.offset_bytes;
  json["end_offset_bytes"] = value.offset_bytes + value.span_bytes;
  json["size_bytes"] = value.span_bytes;
  json["begin_op"] = value.begin_op;
  json["end_op"] = value.end_op;
  json["begin_op_name"] = plan.OpName(value.begin_op);
  json["last_op_name"] = plan.OpName(LastOp(value));
  json["note"] = value.note;
  return json;
}

}  // namespace berth
