// The burst-by-burst DRAM controller: closed forms of single accesses, limits, and the analytic
// service times against it.
#include "npu_sim/timing/dram_controller.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "npu_sim/timing/dram.h"

namespace berth::timing {
namespace {

DramConfig Dram(const std::string& target) {
  const absl::StatusOr<NpuConfig> config = LoadTarget(target);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? config->dram : DramConfig{};
}

DramRun Serve(const DramConfig& config, const std::vector<DramBurst>& bursts,
              int64_t window = 256) {
  size_t at = 0;
  return DramController(config).Run(
      [&](DramBurst& burst) {
        if (at == bursts.size()) return false;
        burst = bursts[at++];
        return true;
      },
      window);
}

std::vector<DramBurst> Sequence(int64_t count, int64_t step = 1, bool is_write = false) {
  std::vector<DramBurst> bursts;
  for (int64_t i = 0; i < count; ++i) bursts.push_back({i * step, is_write});
  return bursts;
}

int64_t RowBursts(const DramConfig& c) { return c.page_bytes / c.burst_bytes; }

// Offered at clock 0, in its bank's queue at 1, then activate, read, data.
TEST(DramController, OneReadTakesItsLatency) {
  for (const char* target : {"ddr4_3200", "lpddr4_2400", "hbm2"}) {
    const DramConfig config = Dram(target);
    const DramTiming& t = config.timing;
    const DramRun run = Serve(config, Sequence(1));
    EXPECT_EQ(run.clocks, 1 + t.trcd + t.cl + t.burst_beats / 2 + 1) << target;
    EXPECT_EQ(run.read_latency_sum, run.clocks - 1);
    EXPECT_EQ(run.bursts, 1);
  }
}

TEST(DramController, DependentReadsOfOneRowPayOnlyTheColumn) {
  const DramConfig config = Dram("ddr4_3200");
  const DramTiming& t = config.timing;
  const int64_t one = Serve(config, Sequence(1), 1).clocks;
  const int64_t ten = Serve(config, Sequence(10), 1).clocks;
  EXPECT_EQ(ten - one, 9 * (t.cl + t.burst_beats / 2 + 2));
}

// Rows of one bank, one after the other: tRAS + tRP each.
TEST(DramController, RowsOfOneBankFollowItsRowCycle) {
  const DramConfig config = Dram("ddr4_3200");
  const DramTiming& t = config.timing;
  const int64_t rotation = RowBursts(config) * t.ranks * t.bank_groups * t.banks_per_group;
  const int64_t few = Serve(config, Sequence(10, rotation)).clocks;
  const int64_t more = Serve(config, Sequence(50, rotation)).clocks;
  EXPECT_EQ(more - few, 40 * (t.tras + t.trp));
}

TEST(DramController, NeverBeatsTheBus) {
  const uint32_t seed = 77;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const char* target : {"ddr4_3200", "lpddr4_2400", "hbm2"}) {
    const DramConfig config = Dram(target);
    for (int round = 0; round < 20; ++round) {
      std::vector<DramBurst> bursts;
      int64_t reads = 0;
      for (int i = 0; i < 500; ++i) {
        const bool is_write = random() % 3 == 0;
        reads += is_write ? 0 : 1;
        bursts.push_back({static_cast<int64_t>(random() % 4096), is_write});
      }
      const int64_t window = 1 + static_cast<int64_t>(random() % 300);
      const DramRun run = Serve(config, bursts, window);
      EXPECT_EQ(run.bursts, 500);
      EXPECT_EQ(run.reads, reads);
      EXPECT_GE(run.clocks, reads * config.timing.burst_beats / 2);
      EXPECT_EQ(run.clocks, Serve(config, bursts, window).clocks);
    }
  }
}

TEST(DramController, RefreshTakesItsShare) {
  DramConfig config = Dram("lpddr4_2400");
  const std::vector<DramBurst> bursts = Sequence(100000);
  const int64_t with = Serve(config, bursts).clocks;
  config.timing.trefi = 1'000'000;
  const int64_t without = Serve(config, bursts).clocks;
  EXPECT_GT(with, without);
  // A stream in one rank at a time cannot lose more than every refresh of that rank.
  const DramTiming t = Dram("lpddr4_2400").timing;
  EXPECT_LT(static_cast<double>(with) / static_cast<double>(without),
            1.0 + 2.0 * static_cast<double>(t.trfc) / static_cast<double>(t.trefi));
}

// What the timing model charges a descriptor against the controller: the patterns of tiles.
TEST(DramCost, AgreesWithTheControllerOnTiles) {
  for (const auto& [target, bar] : {std::pair{"lpddr4_2400", 0.10}, {"ddr4_3200", 0.25}}) {
    const NpuConfig config = *LoadTarget(target);
    const DramCost cost(config);
    double sum = 0;
    int count = 0;
    for (const int64_t run_bytes : {256, 512, 1024, 4096}) {
      for (const int64_t pitch : {int64_t{6272}, int64_t{12544}, int64_t{50176}, int64_t{65536}}) {
        Access access;
        access.space = MemorySpace::kDram;
        access.run_bytes = run_bytes;
        access.extent[3] = 256;
        access.stride_bytes[3] = pitch;
        const DramTransfer transfer = cost.Transfer(access, 1);
        std::vector<DramBurst> bursts;
        for (int64_t row = 0; row < 256; ++row) {
          const int64_t first = row * pitch / config.dram.burst_bytes;
          const int64_t last = (row * pitch + run_bytes - 1) / config.dram.burst_bytes;
          for (int64_t b = first; b <= last; ++b) bursts.push_back({b, false});
        }
        const double clocks = static_cast<double>(Serve(config.dram, bursts).clocks);
        const double cycles = clocks * static_cast<double>(config.dram.timing.clock_ps) / 1000;
        const double error = std::abs(static_cast<double>(transfer.service_cycles) / cycles - 1);
        EXPECT_LT(error, 0.5) << target << " rows of " << run_bytes << ", " << pitch << " apart";
        sum += error;
        ++count;
      }
    }
    EXPECT_LT(sum / count, bar) << target;
  }
}

}  // namespace
}  // namespace berth::timing
