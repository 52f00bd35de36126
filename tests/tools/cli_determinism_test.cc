// What a run reports and traces of the simulated machine does not depend on host threads or luck.
#include <gtest/gtest.h>

#include "tests/planner/model_builder.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

using Json = nlohmann::json;

constexpr int kMachineProcess = 1;

Json MachineEvents(const std::string& trace_file) {
  const Json trace = Json::parse(ReadBytes(trace_file));
  Json events = Json::array();
  for (const Json& event : trace["traceEvents"]) {
    if (event["pid"] == kMachineProcess) events.push_back(event);
  }
  return events;
}

TEST(CliDeterminism, ReportAndTraceAreTheSameAtAnyNumberOfThreads) {
  constexpr int kRepeats = 3;
  const ScratchFolder folder;
  const std::string bundle = (folder.path() / "small.berth").string();
  const std::string trace_file = (folder.path() / "trace.json").string();
  const std::string model = WriteSmallModel(folder.path());
  ASSERT_EQ(RunBerth({"compile", model, "-o", bundle, "--target", "edge"}).exit_code, 0);
  Json first_report, first_events;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    for (const char* threads : {"1", "2", "8", "16"}) {
      SCOPED_TRACE(testing::Message() << threads << " threads, repeat " << repeat);
      const CliResult result =
          RunBerth({"run", bundle, "--threads", threads, "--trace", trace_file, "--json"});
      ASSERT_EQ(result.exit_code, 0) << result.err;
      Json report = result.Json();
      for (const char* of_host : {"load_ms", "run_ms", "each_run_ms"}) report.erase(of_host);
      const Json events = MachineEvents(trace_file);
      ASSERT_GT(events.size(), 20u);
      if (first_report.is_null()) {
        first_report = report;
        first_events = events;
      }
      EXPECT_EQ(report, first_report);
      EXPECT_EQ(events, first_events);
    }
  }
}

}  // namespace
}  // namespace berth
