#include "tools/report_text.h"

#include <algorithm>
#include <numeric>

namespace berth {
namespace {

constexpr int kOpsShown = 12;

const MemoryPlan* FindMemory(const BundleContents& info, std::string_view name) {
  for (const MemoryPlan& plan : info.memories) {
    if (plan.memory == name) return &plan;
  }
  return nullptr;
}

double Ratio(int64_t value, int64_t bound) {
  return bound > 0 ? static_cast<double>(value) / static_cast<double>(bound) : 0.0;
}

// The pool is packed; on-chip memories are filled so that bytes rest as long as possible before
// they are reused, where all that counts is that it fits.
std::string MemoryLine(const MemoryPlan& plan) {
  std::string line = fmt::format("  {:<12} {:>12} bytes  lower bound {:>12}  ", plan.memory,
                                 plan.height_bytes, plan.lower_bound_bytes);
  if (plan.memory == "pool" || plan.status != PlanStatus::kFeasible) {
    line += fmt::format(
        "({:.3f} x, {})",
        plan.lower_bound_bytes == 0 ? 1.0 : Ratio(plan.height_bytes, plan.lower_bound_bytes),
        PlanStatusName(plan.status));
  } else {
    line += "(fits, spread to delay reuse)";
  }
  if (plan.capacity_bytes > 0) line += fmt::format(" of {}", plan.capacity_bytes);
  return line + fmt::format(", {} buffers\n", plan.buffer_count);
}

std::string OrderLine(const OrderSummary& order) {
  return fmt::format("  order: peak {} of {} in the model's order, bound {}, {}\n",
                     order.peak_bytes, order.model_peak_bytes, order.lower_bound_bytes,
                     order.peak_bytes == order.lower_bound_bytes ? "EXACT" : "heuristic");
}

constexpr size_t kKeptShown = 5;

std::string FloatLines(const FloatStorage& floats) {
  std::string text =
      fmt::format("  {}: {} constants and {} values at half size", DTypeName(floats.dtype),
                  floats.narrowed_constants, floats.narrowed_values);
  const size_t kept = floats.kept_in_float32.size();
  text += kept == 0 ? "\n" : fmt::format(", {} ops in float32:\n", kept);
  for (size_t i = 0; i < std::min(kept, kKeptShown); ++i) {
    text += fmt::format("    {}\n", floats.kept_in_float32[i]);
  }
  if (kept > kKeptShown) text += fmt::format("    and {} more\n", kept - kKeptShown);
  return text;
}

std::string EngineLine(const EngineReport& engine, int64_t makespan_cycles) {
  const auto percent = [&](int64_t cycles) { return 100.0 * Ratio(cycles, makespan_cycles); };
  std::string line =
      fmt::format("  {:<8} busy {:5.1f} %  idle {:5.1f} %", EngineName(engine.engine),
                  percent(engine.busy_cycles), percent(engine.idle_cycles));
  for (int cause = 1; cause < kStallCauseCount; ++cause) {
    const int64_t cycles = engine.stall_cycles[static_cast<size_t>(cause)];
    if (cycles == 0) continue;
    line += fmt::format("  {} {:.1f} %", StallCauseName(static_cast<StallCause>(cause)),
                        percent(cycles));
  }
  return line + "\n";
}

std::string OpTable(const SimReport& report, const BundleContents& info) {
  std::vector<size_t> order(std::min(report.ops.size(), info.ops.size()));
  std::iota(order.begin(), order.end(), size_t{0});
  const auto busy = [&](size_t op) {
    const OpReport& r = report.ops[op];
    return r.matrix_busy_cycles + r.vector_busy_cycles + r.host_busy_cycles;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return busy(a) > busy(b); });
  std::string text = fmt::format("  {:<32} {:<24} {:>12} {:>12} {:>12} {:>12}\n", "op", "kind",
                                 "matrix cyc", "vector cyc", "DRAM bytes", "at least");
  for (size_t i = 0; i < order.size() && i < kOpsShown; ++i) {
    const OpInfo& op = info.ops[order[i]];
    const OpReport& r = report.ops[order[i]];
    text += fmt::format("  {:<32.32} {:<24.24} {:>12} {:>12} {:>12} {:>12}\n", op.name, op.kind,
                        r.matrix_busy_cycles, r.vector_busy_cycles,
                        r.dram_read_bytes + r.dram_write_bytes, op.min_dram_bytes);
  }
  return text;
}

}  // namespace

std::string_view PlanStatusName(PlanStatus status) {
  switch (status) {
    case PlanStatus::kFeasible:
      return "feasible";
    case PlanStatus::kOptimal:
      return "optimal";
    case PlanStatus::kInfeasible:
      return "infeasible";
    case PlanStatus::kTimeout:
      return "timeout";
  }
  return "unknown";
}

namespace {

std::string MaximumLine(const MaximumPlan& plan, const NpuConfig& config) {
  if (!plan.refusal.empty()) {
    return fmt::format("  largest shape: no static plan: {}\n", plan.refusal);
  }
  const double bound_ratio =
      plan.pool_lower_bound_bytes == 0 ? 1.0 : Ratio(plan.pool_bytes, plan.pool_lower_bound_bytes);
  return fmt::format(
      "  largest shape: pool {} bytes, lower bound {} ({:.3f} x), {} cycles ({:.3f} ms)\n",
      plan.pool_bytes, plan.pool_lower_bound_bytes, bound_ratio, plan.makespan_cycles,
      static_cast<double>(plan.makespan_cycles) / (static_cast<double>(config.clock_mhz) * 1e3));
}

void AddBoundsJson(const DynamicModel& model, nlohmann::ordered_json& json) {
  json["ranges"] = nlohmann::ordered_json::object();
  for (const DimRange& range : model.ranges) json["ranges"][range.name] = {range.low, range.high};
  if (!model.maximum) return;
  const MaximumPlan& plan = *model.maximum;
  if (plan.refusal.empty()) {
    json["largest_shape"] = {{"pool_bytes", plan.pool_bytes},
                             {"pool_lower_bound_bytes", plan.pool_lower_bound_bytes},
                             {"makespan_cycles", plan.makespan_cycles}};
  } else {
    json["largest_shape"] = {{"no_plan", plan.refusal}};
  }
}

}  // namespace

void AddPlanJson(const BundleContents& info, nlohmann::ordered_json& json) {
  json["model"] = info.model_name;
  json["target"] = info.config.name;
  json["is_dynamic"] = info.dynamic.has_value();
  if (info.dynamic) {
    json["compile_ms"] = info.compile_ms;
    AddBoundsJson(*info.dynamic, json);
    return;
  }
  if (const MemoryPlan* pool = FindMemory(info, "pool")) {
    json["pool_bytes"] = pool->height_bytes;
    json["pool_lower_bound_bytes"] = pool->lower_bound_bytes;
    json["pool_status"] = PlanStatusName(pool->status);
  }
  if (info.floats) {
    json["dtype"] = DTypeName(info.floats->dtype);
    json["narrowed_constants"] = info.floats->narrowed_constants;
    json["narrowed_values"] = info.floats->narrowed_values;
    json["kept_in_float32"] = info.floats->kept_in_float32;
  }
  if (info.order) {
    json["order_peak_bytes"] = info.order->peak_bytes;
    json["order_model_peak_bytes"] = info.order->model_peak_bytes;
    json["order_lower_bound_bytes"] = info.order->lower_bound_bytes;
    json["order_exact"] = info.order->peak_bytes == info.order->lower_bound_bytes;
  }
  for (const std::string_view name : {"scratchpad", "accumulator"}) {
    const MemoryPlan* plan = FindMemory(info, name);
    if (plan == nullptr) continue;
    json[fmt::format("{}_peak_bytes", name)] = plan->height_bytes;
    json[fmt::format("{}_lower_bound_bytes", name)] = plan->lower_bound_bytes;
    json[fmt::format("{}_capacity_bytes", name)] = plan->capacity_bytes;
  }
  for (const DramRegion& region : info.program.regions) {
    if (region.kind == RegionKind::kConstants) json["constants_bytes"] = region.size_bytes;
  }
  json["cycles_lower_bound"] = info.cycles_lower_bound;
  json["cycles_lower_bound_mapped"] = info.cycles_lower_bound_mapped;
  json["dram_bytes_lower_bound"] = info.dram_bytes_lower_bound;
  json["compile_ms"] = info.compile_ms;
}

// A dynamic bundle: what is known before shapes are.
std::string DynamicPlanText(const BundleContents& info) {
  std::string text =
      fmt::format("Graph of '{}' for '{}': {} nodes, planned for each shape as it comes\n",
                  info.model_name, info.config.name, info.dynamic->graph->nodes.size());
  for (const TensorInfo& input : info.inputs) {
    text += fmt::format("  input  '{}' {}\n", input.name, DescribeTensor(input));
  }
  for (const TensorInfo& output : info.outputs) {
    text += fmt::format("  output '{}' {}\n", output.name, DescribeTensor(output));
  }
  for (const DimRange& range : info.dynamic->ranges) {
    text += fmt::format("  range  '{}' {} to {}\n", range.name, range.low, range.high);
  }
  if (info.dynamic->maximum) text += MaximumLine(*info.dynamic->maximum, info.config);
  return text;
}

void AddDynamicJson(const DynamicStatistics& statistics, nlohmann::ordered_json& json) {
  json["pool_bytes"] = statistics.pool_peak_bytes;
  json["pool_reserved_bytes"] = statistics.pool_reserved_bytes;
  json["specializations"] = statistics.specializations;
  json["reused_specializations"] = statistics.reused;
  json["evicted_specializations"] = statistics.evicted;
  json["planned_specializations"] = statistics.planned;
  json["cached_bytes"] = statistics.cached_bytes;
}

std::string DynamicText(const DynamicStatistics& statistics) {
  return fmt::format(
      "{} specializations made, {} runs of one that was there, {} planned; {} bytes cached\n"
      "Dynamic pool: at most {} bytes in use, {} reserved\n",
      statistics.specializations, statistics.reused, statistics.planned, statistics.cached_bytes,
      statistics.pool_peak_bytes, statistics.pool_reserved_bytes);
}

std::string PlanText(const BundleContents& info) {
  if (info.dynamic) return DynamicPlanText(info);
  std::string text =
      fmt::format("Plan of '{}' for '{}': {} ops, compiled in {:.0f} ms\n", info.model_name,
                  info.config.name, info.ops.size(), info.compile_ms);
  for (const MemoryPlan& plan : info.memories) text += MemoryLine(plan);
  if (info.order) text += OrderLine(*info.order);
  if (info.floats) text += FloatLines(*info.floats);
  return text;
}

// One object per op, in the order of the plan: what it took beside what it takes at least.
nlohmann::ordered_json OpsJson(const SimReport& report, const BundleContents& info) {
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  for (size_t i = 0; i < info.ops.size() && i < report.ops.size(); ++i) {
    const OpInfo& op = info.ops[i];
    const OpReport& ran = report.ops[i];
    ops.push_back({{"name", op.name},
                   {"kind", op.kind},
                   {"macs", op.macs},
                   {"matrix_busy_cycles", ran.matrix_busy_cycles},
                   {"vector_busy_cycles", ran.vector_busy_cycles},
                   {"host_busy_cycles", ran.host_busy_cycles},
                   {"mapped_cycles", op.mapped_cycles},
                   {"dram_read_bytes", ran.dram_read_bytes},
                   {"dram_write_bytes", ran.dram_write_bytes},
                   {"min_dram_bytes", op.min_dram_bytes},
                   {"first_cycle", ran.first_cycle},
                   {"last_cycle", ran.last_cycle}});
  }
  return ops;
}

void AddReportJson(const SimReport& report, const BundleContents& info,
                   nlohmann::ordered_json& json) {
  json.update(
      nlohmann::ordered_json::parse(ReportToJson(report, info.config.matrix.int8_macs_per_cycle)));
  json["cycles_lower_bound"] = info.cycles_lower_bound;
  json["cycles_lower_bound_mapped"] = info.cycles_lower_bound_mapped;
  json["dram_bytes_lower_bound"] = info.dram_bytes_lower_bound;
  json["ops"] = OpsJson(report, info);
}

std::string ReportText(const SimReport& report, const BundleContents& info) {
  const int64_t dram_bytes = report.dram_read_bytes + report.dram_write_bytes;
  std::string text = fmt::format(
      "Simulated on '{}': {} commands\n"
      "  makespan   {:>12} cycles ({:.3f} ms)  lower bound {:>12} ({:.2f} x), mapped {} ({:.2f} "
      "x)\n"
      "  DRAM       {:>12} bytes              lower bound {:>12} ({:.2f} x)\n"
      "  MACs       {:>12}                    matrix unit used {:.1f} %\n",
      info.config.name, report.command_count, report.makespan_cycles,
      static_cast<double>(report.makespan_cycles) /
          (static_cast<double>(info.config.clock_mhz) * 1000.0),
      info.cycles_lower_bound, Ratio(report.makespan_cycles, info.cycles_lower_bound),
      info.cycles_lower_bound_mapped, Ratio(report.makespan_cycles, info.cycles_lower_bound_mapped),
      dram_bytes, info.dram_bytes_lower_bound, Ratio(dram_bytes, info.dram_bytes_lower_bound),
      report.macs, 100.0 * MatrixUtilization(report, info.config.matrix.int8_macs_per_cycle));
  return text + EnginesText(report) + OpTable(report, info);
}

std::string EnginesText(const SimReport& report) {
  std::string text;
  for (const EngineReport& engine : report.engines) {
    text += EngineLine(engine, report.makespan_cycles);
  }
  return text;
}

}  // namespace berth
