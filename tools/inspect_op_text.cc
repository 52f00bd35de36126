// What `--why` says of an op, for people and for scripts.
#include <algorithm>

#include "planner/onnx/text.h"
#include "tools/inspect_op.h"

namespace berth {
namespace {

constexpr EngineKind kKinds[] = {EngineKind::kMatrix, EngineKind::kVector, EngineKind::kHost,
                                 EngineKind::kDma};

std::string_view LimitName(OpLimit limit) {
  switch (limit) {
    case OpLimit::kNothing:
      return "nothing";
    case OpLimit::kCompute:
      return "compute";
    case OpLimit::kConflicts:
      return "conflicts";
    case OpLimit::kBandwidth:
      return "bandwidth";
    case OpLimit::kLatency:
      return "latency";
    case OpLimit::kOtherUnit:
      return "other_unit";
  }
  return "unknown";
}

std::string LimitText(const OpExplanation& why) {
  const std::string_view unit = EngineKindName(why.main);
  switch (why.limit) {
    case OpLimit::kNothing:
      return "nothing: it has no commands";
    case OpLimit::kCompute:
      return fmt::format("compute: the {} unit works most of the time that the op takes of it",
                         unit);
    case OpLimit::kConflicts:
      return fmt::format("conflicts: operands of the {} unit stand in one bank", unit);
    case OpLimit::kBandwidth:
      return why.main == EngineKind::kDma
                 ? std::string("bandwidth: there is nothing to do but to move bytes")
                 : fmt::format(
                       "bandwidth: the {} unit waits longest for transfers, those for their bytes",
                       unit);
    case OpLimit::kLatency:
      return fmt::format("latency: {} set-up and round trips of transfers",
                         why.main == EngineKind::kDma ? std::string("the transfers are small,")
                                                      : fmt::format("the {} unit waits for", unit));
    case OpLimit::kOtherUnit:
      return fmt::format("another unit: the {} unit waits for what it makes", unit);
  }
  return "";
}

std::string OpRangeText(const InspectedPlan& plan, uint32_t begin, uint32_t end) {
  if (end - begin == 1) return fmt::format("op {} {}", begin, Shown(plan.OpName(begin)));
  return fmt::format("ops {} {} to {} {}", begin, Shown(plan.OpName(begin)), end - 1,
                     Shown(plan.OpName(end - 1)));
}

// "ops 3 'a' to 7 'b' in 8 parts, rows of 3 more parts fit, skewed; 4096 bytes stay on chip".
std::string WayText(const InspectedPlan& plan, const SegmentWay& way) {
  std::string text = OpRangeText(plan, way.begin_op, way.end_op);
  if (way.parts > 1) {
    text += fmt::format(" in {} parts by rows", way.parts);
    if (way.spare_parts > 0) text += fmt::format(", with room for {} more", way.spare_parts);
    if (way.is_skewed) text += ", the matrix unit a part behind the vector unit";
    if (way.moves_in_place) text += ", rows kept in their own buffer";
  } else {
    text += " whole";
  }
  return text + (way.resident_bytes > 0
                     ? fmt::format("; {} bytes stay on chip behind it", way.resident_bytes)
                     : "; nothing stays on chip behind it");
}

std::string SegmentText(const InspectedPlan& plan, const SegmentInfo& segment) {
  std::string text = fmt::format("  residency: {}\n", WayText(plan, segment.chosen));
  text += fmt::format(
      "  tried to end with op {}: {} way{} costed, {} too large, {} ruled out by their bound\n",
      segment.chosen.end_op - 1, segment.costed, segment.costed == 1 ? "" : "s", segment.too_large,
      segment.ruled_out);
  for (const SegmentWay& other : segment.others) {
    text += fmt::format("    {:+} cycles so far: {}\n",
                        other.cost_cycles - segment.chosen.cost_cycles, WayText(plan, other));
  }
  return text;
}

std::string BuffersText(const OpExplanation& why) {
  std::string text;
  for (const OpBuffers& buffers : why.buffers) {
    text += fmt::format("    {} {}: {} buffer{} of {}{} bytes\n", SpaceMemoryName(buffers.space),
                        Shown(buffers.name), buffers.count, buffers.count == 1 ? "" : "s",
                        buffers.count == 1 ? "" : "up to ", buffers.largest_bytes);
  }
  return text.empty() ? "" : "  buffers that it touches:\n" + text;
}

std::string TimeText(const OpTime& time, EngineKind kind) {
  std::string text = fmt::format("    {}: {} cycles in {} command{}, busy {}", EngineKindName(kind),
                                 time.total_cycles(), time.command_count,
                                 time.command_count == 1 ? "" : "s", time.busy_cycles);
  if (time.set_up_cycles > 0) text += fmt::format(" (set-up {})", time.set_up_cycles);
  for (int cause = 1; cause < kStallCauseCount; ++cause) {
    const int64_t cycles = time.stall_cycles[static_cast<size_t>(cause)];
    if (cycles == 0) continue;
    text += fmt::format(", {} {}", StallCauseName(static_cast<StallCause>(cause)), cycles);
  }
  return text + "\n";
}

std::string TimesText(const InspectedPlan& plan, const OpExplanation& why) {
  const OpInfo& info = plan.info().ops[why.op];
  if (!why.proved.ok()) {
    return fmt::format("  the program does not verify, so that it cannot be timed: {}\n",
                       OneLine(ToStd(why.proved.message()), 1000));
  }
  std::string text =
      fmt::format("  under way in cycles [{}, {}) of {}; what it takes of each:\n",
                  why.report.first_cycle, why.report.last_cycle, why.makespan_cycles);
  for (const EngineKind kind : kKinds) {
    if (why.time(kind).command_count > 0) text += TimeText(why.time(kind), kind);
  }
  text += fmt::format("  DRAM: {} bytes read, {} written; all its operands once are {}\n",
                      why.report.dram_read_bytes, why.report.dram_write_bytes, info.min_dram_bytes);
  text += fmt::format("  bound by {}\n", LimitText(why));
  return text + fmt::format("  {} cycles: {} {}, DRAM bus {}; bound {}: array {}, bytes {}\n",
                            why.cycles, EngineKindName(why.main), why.time(why.main).total_cycles(),
                            why.bus_cycles, why.bound_cycles, info.mapped_cycles,
                            why.bound_dram_cycles);
}

std::string TrialText(const ScheduleTrial& trial) {
  std::string text = fmt::format(
      "    {} {}, {}, tiles up to {} %, {}: ", trial.is_chosen ? "*" : "-",
      trial.is_reordered ? "order of near readers" : "order of lowest peak",
      !trial.has_resident  ? "nothing on chip"
      : trial.bands_spread ? "no waits for rows expected"
                           : "waits for rows expected",
      trial.tile_percent,
      trial.hoist_percent > 0 ? fmt::format("loads ahead up to {} %", trial.hoist_percent)
                              : std::string("no loads ahead"));
  if (trial.makespan_cycles == 0) return text + "no places\n";
  return text + fmt::format("{} cycles + {} of DRAM\n", trial.makespan_cycles, trial.dram_cycles);
}

std::string TrialsText(const BundleContents& info) {
  if (info.trials.empty()) return "";
  std::string text =
      fmt::format("  whole plans that were placed and timed (* the chosen one; bound {} cycles):\n",
                  info.cycles_lower_bound);
  for (const ScheduleTrial& trial : info.trials) text += TrialText(trial);
  return text;
}

nlohmann::ordered_json WayJson(const SegmentWay& way) {
  return {{"begin_op", way.begin_op},
          {"end_op", way.end_op},
          {"parts", way.parts},
          {"spare_parts", way.spare_parts},
          {"is_skewed", way.is_skewed},
          {"moves_in_place", way.moves_in_place},
          {"resident_bytes", way.resident_bytes},
          {"cost_cycles", way.cost_cycles}};
}

nlohmann::ordered_json SegmentJson(const SegmentInfo& segment) {
  nlohmann::ordered_json json = {{"chosen", WayJson(segment.chosen)},
                                 {"costed", segment.costed},
                                 {"too_large", segment.too_large},
                                 {"ruled_out", segment.ruled_out}};
  nlohmann::ordered_json& others = json["others"] = nlohmann::ordered_json::array();
  for (const SegmentWay& other : segment.others) others.push_back(WayJson(other));
  return json;
}

nlohmann::ordered_json TimeJson(const OpTime& time) {
  nlohmann::ordered_json json = {{"command_count", time.command_count},
                                 {"total_cycles", time.total_cycles()},
                                 {"busy_cycles", time.busy_cycles},
                                 {"set_up_cycles", time.set_up_cycles}};
  for (int cause = 1; cause < kStallCauseCount; ++cause) {
    const std::string key(StallCauseName(static_cast<StallCause>(cause)));
    json["stall"][key + "_cycles"] = time.stall_cycles[static_cast<size_t>(cause)];
  }
  return json;
}

nlohmann::ordered_json TrialsJson(const std::vector<ScheduleTrial>& trials) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ScheduleTrial& trial : trials) {
    list.push_back({{"is_chosen", trial.is_chosen},
                    {"is_reordered", trial.is_reordered},
                    {"bands_spread", trial.bands_spread},
                    {"has_resident", trial.has_resident},
                    {"tile_percent", trial.tile_percent},
                    {"hoist_percent", trial.hoist_percent},
                    {"has_places", trial.makespan_cycles > 0},
                    {"makespan_cycles", trial.makespan_cycles},
                    {"dram_cycles", trial.dram_cycles}});
  }
  return list;
}

void AddTimesJson(const OpExplanation& why, nlohmann::ordered_json& json) {
  json["makespan_cycles"] = why.makespan_cycles;
  json["first_cycle"] = why.report.first_cycle;
  json["last_cycle"] = why.report.last_cycle;
  json["dram_read_bytes"] = why.report.dram_read_bytes;
  json["dram_write_bytes"] = why.report.dram_write_bytes;
  for (const EngineKind kind : kKinds) {
    json["engines"][std::string(EngineKindName(kind))] = TimeJson(why.time(kind));
  }
  json["bound_by"] = LimitName(why.limit);
  json["because"] = LimitText(why);
  json["main_engine"] = EngineKindName(why.main);
  json["cycles"] = why.cycles;
  json["dram_bus_cycles"] = why.bus_cycles;
  json["cycles_lower_bound"] = why.bound_cycles;
  json["dram_cycles_lower_bound"] = why.bound_dram_cycles;
}

}  // namespace

std::string OpExplanationText(const InspectedPlan& plan, const OpExplanation& why) {
  const OpInfo& info = plan.info().ops[why.op];
  std::string text = fmt::format("op {} {} ({}): {} MACs\n", why.op, Shown(info.name),
                                 OneLine(info.kind, 1000), info.macs);
  text += fmt::format("  decision: {}\n", OneLine(info.decision, 1000));
  if (why.segment != nullptr) text += SegmentText(plan, *why.segment);
  text += BuffersText(why);
  text += TimesText(plan, why);
  text += TrialsText(plan.info());
  if (why.segment == nullptr && plan.info().trials.empty()) {
    text += "  what was tried is not in this bundle\n";
  }
  return text;
}

nlohmann::ordered_json OpExplanationJson(const InspectedPlan& plan, const OpExplanation& why) {
  const OpInfo& info = plan.info().ops[why.op];
  nlohmann::ordered_json json = {{"op", why.op},
                                 {"name", info.name},
                                 {"kind", info.kind},
                                 {"decision", info.decision},
                                 {"macs", info.macs}};
  if (why.segment != nullptr) json["segment"] = SegmentJson(*why.segment);
  nlohmann::ordered_json& buffers = json["buffers"] = nlohmann::ordered_json::array();
  for (const OpBuffers& entry : why.buffers) {
    buffers.push_back({{"memory", SpaceMemoryName(entry.space)},
                       {"name", entry.name},
                       {"count", entry.count},
                       {"largest_bytes", entry.largest_bytes}});
  }
  json["verified"] = why.proved.ok();
  if (!why.proved.ok()) json["not_verified_because"] = ToStd(why.proved.message());
  if (why.proved.ok()) AddTimesJson(why, json);
  json["mapped_cycles"] = info.mapped_cycles;
  json["min_dram_bytes"] = info.min_dram_bytes;
  json["trials"] = TrialsJson(plan.info().trials);
  return json;
}

}  // namespace berth
