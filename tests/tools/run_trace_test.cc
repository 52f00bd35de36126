// Traces of runs: valid JSON, lanes without overlap, counters that come back to zero, the same
// bytes every time.
#include "tools/run_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "npu_sim/timing.h"
#include "tests/npu_sim/example_program.h"

namespace berth {
namespace {

using Json = nlohmann::json;

struct Traced {
  TileProgram program;
  BundleContents info;
  SimReport report;
};

Traced Trace() {
  Traced traced;
  traced.program = testing_support::ExampleProgram();
  traced.info.config = *LoadTarget("edge");
  traced.info.model_name = "a \"quoted\"\n\xff name";
  traced.info.ops.push_back({"first \\ op", "MatMul", "", 0, 0});
  TimingOptions options;
  options.record_commands = true;
  absl::StatusOr<SimReport> report =
      SimulateTiming(traced.program.view(), traced.info.config, options);
  EXPECT_TRUE(report.ok()) << report.status();
  if (report.ok()) traced.report = *std::move(report);
  return traced;
}

std::string Text(const Traced& t, absl::Span<const HostSpan> spans = {}) {
  return TraceJson(t.program.view(), t.info, t.report, spans);
}

bool IsCommand(const Json& event) {
  return event["cat"] != "stall" && event["cat"] != "set-up" && event["cat"] != "drain";
}

TEST(RunTrace, ShowsEveryCommandOnItsLane) {
  const Traced traced = Trace();
  const Json json = Json::parse(Text(traced));
  EXPECT_EQ(json["otherData"]["makespan_cycles"], traced.report.makespan_cycles);
  std::set<int> shown;
  std::map<int, std::vector<std::pair<int64_t, int64_t>>> lanes;
  std::map<int, std::string> names;
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "thread_name") {
      names[event["tid"]] = event["args"]["name"];
    }
    if (event["ph"] != "X") continue;
    EXPECT_EQ(event["pid"], 1);
    lanes[event["tid"]].push_back(
        {event["ts"], event["ts"].get<int64_t>() + event["dur"].get<int64_t>()});
    if (event["cat"] == "stall") {
      EXPECT_TRUE(event.contains("cname"));
    }
    if (!IsCommand(event)) continue;
    const int number = event["args"]["command"];
    EXPECT_TRUE(shown.insert(number).second);
    const Command& command = traced.program.commands[static_cast<size_t>(number)];
    EXPECT_EQ(event["tid"], command.engine + 1);
    EXPECT_NE(event["name"].get<std::string>().find(OpcodeName(command.opcode)), std::string::npos);
  }
  EXPECT_EQ(shown.size(), traced.program.commands.size());
  EXPECT_EQ(names.size(), traced.program.engines.size());
  EXPECT_EQ(names[1], "dma0");
  for (auto& [lane, spans] : lanes) {
    std::sort(spans.begin(), spans.end());
    for (size_t i = 1; i < spans.size(); ++i) {
      EXPECT_LE(spans[i - 1].second, spans[i].first) << "lane " << lane;
    }
    EXPECT_LE(spans.back().second, traced.report.makespan_cycles);
  }
}

// The slices of a lane by what they are booked to, against the report.
TEST(RunTrace, LanesAddUpToTheReport) {
  Traced traced = Trace();
  for (const int64_t setup_cycles : {int64_t{0}, int64_t{40}, int64_t{700}}) {
    SCOPED_TRACE(setup_cycles);
    traced.info.config.dma.setup_cycles = setup_cycles;
    TimingOptions options;
    options.record_commands = true;
    traced.report = *SimulateTiming(traced.program.view(), traced.info.config, options);
    std::map<int, std::map<std::string, int64_t>> lanes;  // by tid - 1: cycles by account
    const Json json = Json::parse(Text(traced));
    for (const Json& event : json["traceEvents"]) {
      if (event["ph"] != "X" || event["pid"] != 1) continue;
      std::map<std::string, int64_t>& lane = lanes[event["tid"].get<int>() - 1];
      const int64_t cycles = event["dur"];
      lane["all"] += cycles;
      if (event["cat"] == "stall") {
        lane[event["name"]] += cycles;
      } else {
        lane["busy"] += cycles;
        if (event["cat"] == "set-up") lane["set-up"] += cycles;
      }
    }
    int64_t set_up_cycles = 0;
    for (size_t e = 0; e < traced.report.engines.size(); ++e) {
      const EngineReport& engine = traced.report.engines[e];
      std::map<std::string, int64_t>& lane = lanes[static_cast<int>(e)];
      set_up_cycles += lane["set-up"];
      const bool is_dma = engine.engine.kind == EngineKind::kDma;
      EXPECT_LE(lane["set-up"], is_dma ? setup_cycles * engine.command_count : 0) << e;
      EXPECT_EQ(lane["busy"], engine.busy_cycles) << e;
      EXPECT_EQ(lane["all"], engine.command_count > 0 ? traced.report.makespan_cycles : 0) << e;
      for (int cause = 1; cause < kStallCauseCount; ++cause) {
        const std::string name(StallCauseName(static_cast<StallCause>(cause)));
        EXPECT_EQ(lane["stall: " + name], engine.stall_cycles[static_cast<size_t>(cause)]) << name;
      }
    }
    EXPECT_GE(set_up_cycles, setup_cycles);  // nothing hides that of the first descriptor
  }
}

TEST(RunTrace, CountersEndAtZeroAndStayInRange) {
  const Traced traced = Trace();
  std::map<std::string, double> last, most;
  const Json counters = Json::parse(Text(traced));
  for (const Json& event : counters["traceEvents"]) {
    if (event["ph"] != "C") continue;
    const double value = event["args"].begin()->get<double>();
    EXPECT_GE(value, 0);
    last[event["name"]] = value;
    most[event["name"]] = std::max(most[event["name"]], value);
  }
  ASSERT_EQ(last.size(), 3u);
  for (const auto& [name, value] : last) EXPECT_EQ(value, 0) << name;
  EXPECT_GT(most["scratchpad bytes"], 0);
  EXPECT_LE(most["scratchpad bytes"], traced.info.config.scratchpad.size_bytes);
  const double peak = traced.info.config.dram.peak_millibytes_per_cycle / 1000.0;
  EXPECT_GT(most["DRAM read bytes/cycle"], 0);
  EXPECT_LE(most["DRAM read bytes/cycle"], peak);
  EXPECT_LE(most["DRAM write bytes/cycle"], peak);
}

TEST(RunTrace, HostTimeIsAProcessOfItsOwn) {
  const Traced traced = Trace();
  const std::vector<HostSpan> spans = {{0, 0, 0, 1500, 2750}, {1, 0, 1, 1600, 9000}};
  int host_events = 0;
  const Json with_spans = Json::parse(Text(traced, spans));
  for (const Json& event : with_spans["traceEvents"]) {
    if (event["pid"] != 2 || event["ph"] != "X") continue;
    if (event["args"]["command"] == 0) {
      EXPECT_DOUBLE_EQ(event["ts"], 1.5);
      EXPECT_DOUBLE_EQ(event["dur"], 1.25);
    }
    ++host_events;
  }
  EXPECT_EQ(host_events, 2);
  // A run for values only has no simulated lanes.
  Traced values = Trace();
  values.report = SimReport{};
  const Json without_report = Json::parse(Text(values, spans));
  for (const Json& event : without_report["traceEvents"]) {
    EXPECT_EQ(event["pid"], 2);
  }
}

TEST(RunTrace, IsTheSameEveryTime) {
  const std::string first = Text(Trace());
  for (int i = 0; i < 100; ++i) ASSERT_EQ(Text(Trace()), first);
}

}  // namespace
}  // namespace berth
