#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "npu_sim/program.h"
#include "npu_sim/sim_report.h"

namespace berth {
namespace {

SimReport SmallReport() {
  SimReport report;
  report.makespan_cycles = 100;
  for (const EngineId& engine : CoreEngines(2)) {
    report.engines.emplace_back();
    report.engines.back().engine = engine;
    report.engines.back().idle_cycles = 100;
  }
  EngineReport& matrix = report.engines[2];
  matrix.busy_cycles = 60;
  matrix.idle_cycles = 10;
  matrix.stall_cycles[static_cast<size_t>(StallCause::kDependencyDma)] = 30;
  report.dram_read_bytes = 640;
  report.dram_write_bytes = 64;
  report.macs = 1600;
  report.weighted_macs = 6400;
  return report;
}

TEST(ReportToJson, KeysAreStable) {
  const nlohmann::json json = nlohmann::json::parse(ReportToJson(SmallReport(), 256));
  EXPECT_EQ(json["makespan_cycles"], 100);
  EXPECT_EQ(json["engines"].size(), 5u);
  EXPECT_EQ(json["engines"]["matrix"]["busy_cycles"], 60);
  EXPECT_EQ(json["engines"]["matrix"]["idle_cycles"], 10);
  EXPECT_EQ(json["engines"]["matrix"]["stall"]["dependency_dma_cycles"], 30);
  EXPECT_EQ(json["engines"]["dma1"]["stall"]["bandwidth_cycles"], 0);
  EXPECT_EQ(json["dram_read_bytes"], 640);
  EXPECT_EQ(json["dram_write_bytes"], 64);
  EXPECT_EQ(json["macs"], 1600);
  EXPECT_DOUBLE_EQ(json["matrix_utilization"], 0.25);
}

TEST(ReportToJson, EachEngineSumsToTheMakespan) {
  const nlohmann::json json = nlohmann::json::parse(ReportToJson(SmallReport(), 256));
  for (const auto& engine : json["engines"]) {
    int64_t sum = engine["busy_cycles"].get<int64_t>() + engine["idle_cycles"].get<int64_t>();
    EXPECT_EQ(engine["stall"].size(), static_cast<size_t>(kStallCauseCount - 1));
    for (const auto& cycles : engine["stall"]) sum += cycles.get<int64_t>();
    EXPECT_EQ(sum, 100);
  }
}

TEST(MatrixUtilization, OfAnEmptyReportIsZero) { EXPECT_EQ(MatrixUtilization({}, 256), 0); }

TEST(StallCauseName, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (int cause = 0; cause < kStallCauseCount; ++cause) {
    names.insert(StallCauseName(static_cast<StallCause>(cause)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kStallCauseCount));
}

}  // namespace
}  // namespace berth
