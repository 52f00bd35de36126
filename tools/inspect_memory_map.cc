#include "tools/inspect_memory_map.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "npu_sim/timing.h"
#include "npu_sim/verify.h"
#include "tools/inspect_interference.h"
#include "tools/inspect_slot_cycles.h"
#include "tools/report_text.h"

namespace berth {
namespace {

constexpr std::string_view kPlaceholder = "%BERTH_DATA%";

// The many names of slots and values, each once.
class NameTable {
 public:
  size_t Add(std::string_view name) {
    const auto [at, added] = positions_.try_emplace(std::string(name), names_.size());
    if (added) names_.push_back(std::string(name));
    return at->second;
  }
  nlohmann::ordered_json Json() const { return names_; }

 private:
  absl::flat_hash_map<std::string, size_t> positions_;
  std::vector<std::string> names_;
};

absl::StatusOr<SimReport> Simulate(const InspectedPlan& plan) {
  BERTH_RETURN_IF_ERROR(VerifyProgram(plan.program(), plan.info().config));
  TimingOptions options;
  options.record_commands = true;
  return SimulateTiming(plan.program(), plan.info().config, options);
}

// The values in each slot, as positions in the table of names.
std::vector<std::vector<size_t>> ValuesOfSlots(const InspectedPlan& plan, NameTable& names) {
  std::vector<std::vector<size_t>> values(plan.program().slots.size());
  for (const ValueInfo& value : plan.info().values) {
    if (value.slot != kNoSlot) values[value.slot].push_back(names.Add(value.name));
  }
  return values;
}

nlohmann::ordered_json MemoryJson(const InspectedPlan& plan, MemorySpace space, NameTable& names,
                                  const std::vector<CycleRange>& cycles) {
  const Interference graph = FindInterference(plan, space);
  nlohmann::ordered_json json = {{"name", SpaceMemoryName(space)}};
  if (const MemoryPlan* memory = plan.Memory(SpaceMemoryName(space))) {
    json["height_bytes"] = memory->height_bytes;
    json["lower_bound_bytes"] = memory->lower_bound_bytes;
    json["capacity_bytes"] = memory->capacity_bytes;
    json["status"] = PlanStatusName(memory->status);
  }
  json["bound_at"] = StepText(plan, space, graph.clique_step);
  const auto column = [&](const char* name, auto&& of_slot) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const InterferenceNode& node : graph.nodes) {
      list.push_back(of_slot(node.slot, plan.program().slots[node.slot]));
    }
    json[name] = std::move(list);
  };
  column("slot", [](uint32_t s, const Slot&) { return s; });
  column("offset", [](uint32_t, const Slot& slot) { return slot.offset_bytes; });
  column("size", [](uint32_t, const Slot& slot) { return slot.size_bytes; });
  column("begin", [](uint32_t, const Slot& slot) { return slot.begin_command; });
  column("end", [](uint32_t, const Slot& slot) { return slot.end_command; });
  column("op", [&](uint32_t s, const Slot&) { return plan.slot_ops[s].begin; });
  column("last_op", [&](uint32_t s, const Slot&) {
    return std::max(plan.slot_ops[s].end, plan.slot_ops[s].begin + 1) - 1;
  });
  column("label", [&](uint32_t s, const Slot&) { return names.Add(plan.SlotName(s)); });
  if (!cycles.empty()) {
    column("start", [&](uint32_t s, const Slot&) { return cycles[s].begin; });
    column("finish", [&](uint32_t s, const Slot&) { return cycles[s].end; });
  }
  if (space == MemorySpace::kDram) {
    const std::vector<std::vector<size_t>> values = ValuesOfSlots(plan, names);
    column("values", [&](uint32_t s, const Slot&) { return values[s]; });
  }
  return json;
}

}  // namespace

nlohmann::ordered_json MemoryMapData(const InspectedPlan& plan) {
  const absl::StatusOr<SimReport> report = Simulate(plan);
  nlohmann::ordered_json data = {{"model", plan.info().model_name},
                                 {"target", plan.info().config.name},
                                 {"commands", plan.program().commands.size()}};
  data["cycles"] = nullptr;
  std::vector<CycleRange> cycles;
  if (report.ok()) {
    data["cycles"] = report->makespan_cycles;
    cycles = SlotCycles(plan.program(), *report);
  } else {
    data["no_cycles_because"] = ToStd(report.status().message());
  }
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  for (const OpInfo& op : plan.info().ops) ops.push_back({op.name, op.kind, op.decision});
  data["ops"] = std::move(ops);
  NameTable names;
  nlohmann::ordered_json memories = nlohmann::ordered_json::array();
  for (const MemorySpace space : kViewedSpaces) {
    memories.push_back(MemoryJson(plan, space, names, cycles));
  }
  data["memories"] = std::move(memories);
  data["names"] = names.Json();
  return data;
}

std::string EscapeForScript(const nlohmann::ordered_json& json) {
  const std::string text =
      json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    // Only strings hold these, where JSON may spell them so.
    if (c == '<' || c == '>' || c == '&') {
      escaped += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string MemoryMapPage(const nlohmann::ordered_json& data) {
  const std::string_view page = MemoryMapTemplate();
  const size_t at = page.find(kPlaceholder);
  return fmt::format("{}{}{}", page.substr(0, at), EscapeForScript(data),
                     page.substr(at + kPlaceholder.size()));
}

}  // namespace berth
