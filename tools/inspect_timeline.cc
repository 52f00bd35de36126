#include "tools/inspect_timeline.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "tools/inspect_values.h"

namespace berth {
namespace {

constexpr uint32_t kBarColumns = 60;
constexpr std::array<std::string_view, 9> kLevels = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// Columns stand for equal shares of the ops; what lives at all gets at least one.
OpRange ColumnsOf(OpRange ops, uint32_t op_count) {
  const auto column = [&](uint64_t op) {
    return static_cast<uint32_t>(op * kBarColumns / op_count);
  };
  const uint32_t begin = std::min(column(ops.begin), kBarColumns - 1);
  return {begin, ops.end > ops.begin ? std::max(column(ops.end), begin + 1) : begin};
}

std::string Bar(const ValueInfo& value, uint32_t op_count) {
  const OpRange columns = ColumnsOf({value.begin_op, value.end_op}, op_count);
  const std::string_view mark = value.storage == ValueStorage::kOwn ? "█" : "▒";
  std::string bar;
  for (uint32_t c = 0; c < kBarColumns; ++c) {
    bar += c >= columns.begin && c < columns.end ? mark : (c % 10 == 0 ? "·" : " ");
  }
  return bar;
}

// The highest load of each column, in eighths of the peak.
std::string LoadLine(const PoolLoad& load) {
  std::array<int64_t, kBarColumns> highest{};
  const auto op_count = static_cast<uint32_t>(load.live_bytes.size());
  for (uint32_t op = 0; op < op_count; ++op) {
    const OpRange columns = ColumnsOf({op, op + 1}, op_count);
    for (uint32_t c = columns.begin; c < columns.end; ++c) {
      highest[c] = std::max(highest[c], load.live_bytes[op]);
    }
  }
  std::string line;
  for (const int64_t bytes : highest) {
    const double share = load.peak_bytes == 0
                             ? 0.0
                             : static_cast<double>(bytes) / static_cast<double>(load.peak_bytes);
    line += kLevels[static_cast<size_t>(share * 8.0 + 0.999)];
  }
  return line;
}

std::string ValueLine(const InspectedPlan& plan, const ValueInfo& value) {
  const auto op_count = static_cast<uint32_t>(plan.info().ops.size());
  return fmt::format("  |{}| {:>11} {:>10}  {:<28}  {} {}, {}; {} to {}\n", Bar(value, op_count),
                     fmt::format("[{}, {})", value.begin_op, value.end_op), value.span_bytes,
                     PlaceText(plan, value), Shown(value.name), value.type.ToString(),
                     StorageText(plan, value), Shown(plan.OpName(value.begin_op)),
                     Shown(plan.OpName(LastOp(value))));
}

// By first op, then by place.
std::vector<uint32_t> DisplayOrder(const std::vector<ValueInfo>& values) {
  std::vector<uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return values[a].begin_op < values[b].begin_op; });
  return order;
}

}  // namespace

PoolLoad MeasurePoolLoad(const InspectedPlan& plan) {
  PoolLoad load;
  load.live_bytes.assign(plan.info().ops.size() + 1, 0);
  for (size_t slot = 0; slot < plan.slot_ops.size(); ++slot) {
    if (plan.program().slots[slot].space != MemorySpace::kDram) continue;
    const OpRange& ops = plan.slot_ops[slot];
    load.live_bytes[ops.begin] += plan.program().slots[slot].size_bytes;
    load.live_bytes[ops.end] -= plan.program().slots[slot].size_bytes;
  }
  std::partial_sum(load.live_bytes.begin(), load.live_bytes.end(), load.live_bytes.begin());
  load.live_bytes.pop_back();
  if (load.live_bytes.empty()) return load;
  const auto peak = std::max_element(load.live_bytes.begin(), load.live_bytes.end());
  load.peak_bytes = *peak;
  load.peak_op = static_cast<uint32_t>(peak - load.live_bytes.begin());
  return load;
}

absl::StatusOr<std::string> TimelineText(const InspectedPlan& plan) {
  BERTH_RETURN_IF_ERROR(CheckHasValues(plan));
  const PoolLoad load = MeasurePoolLoad(plan);
  const size_t op_count = plan.info().ops.size();
  std::string text = fmt::format(
      "Values of '{}' in DRAM over its {} ops (left to right; {} a buffer of its own, {} shared)\n"
      "  |{:<30}{:>30}| {:>11} {:>10}  {:<28}  value, storage; first op to last op\n",
      plan.info().model_name, op_count, "█", "▒", 0, op_count, "ops", "bytes", "place");
  for (const uint32_t v : DisplayOrder(plan.info().values)) {
    text += ValueLine(plan, plan.info().values[v]);
  }
  return text + fmt::format("  |{}| live bytes of the pool: at most {}, at op {} {}\n",
                            LoadLine(load), load.peak_bytes, load.peak_op,
                            Shown(plan.OpName(load.peak_op)));
}

absl::StatusOr<nlohmann::ordered_json> TimelineJson(const InspectedPlan& plan) {
  BERTH_RETURN_IF_ERROR(CheckHasValues(plan));
  const PoolLoad load = MeasurePoolLoad(plan);
  nlohmann::ordered_json values = nlohmann::ordered_json::array();
  for (const ValueInfo& value : plan.info().values) values.push_back(ValueJson(plan, value));
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  for (const OpInfo& op : plan.info().ops) ops.push_back(op.name);
  return nlohmann::ordered_json{{"op_count", plan.info().ops.size()},
                                {"values", std::move(values)},
                                {"ops", std::move(ops)},
                                {"live_bytes", load.live_bytes},
                                {"peak_bytes", load.peak_bytes},
                                {"peak_op", load.peak_op},
                                {"peak_op_name", plan.OpName(load.peak_op)}};
}

}  // namespace berth
