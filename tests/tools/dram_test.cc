// Streams of DMA descriptors: what they move, and what the DRAM model makes of them.
#include <gtest/gtest.h>

#include "tools/dram_stream.h"

namespace berth {
namespace {

NpuConfig Target(const std::string& name) {
  const absl::StatusOr<NpuConfig> config = LoadTarget(name);
  EXPECT_TRUE(config.ok()) << config.status();
  return *config;
}

DramFigures Measure(const DramStream& stream, const std::string& target) {
  const absl::StatusOr<DramFigures> figures = MeasureDram(stream, Target(target));
  EXPECT_TRUE(figures.ok()) << figures.status();
  return figures.ok() ? *figures : DramFigures{};
}

TEST(DramStream, MovesWhatWasAskedFor) {
  for (const char* target : {"edge", "mobile", "server", "ddr4_3200"}) {
    for (const DramPattern pattern : {DramPattern::kSequential, DramPattern::kRows,
                                      DramPattern::kStreams, DramPattern::kRandom}) {
      DramStream stream;
      stream.pattern = pattern;
      stream.bytes = 1 << 18;
      const int64_t streams = pattern == DramPattern::kStreams ? stream.streams : 1;
      const DramFigures figures = Measure(stream, target);
      EXPECT_EQ(figures.bytes, streams * stream.bytes) << target;
      EXPECT_EQ(figures.write_bytes, 0);
      EXPECT_GT(figures.bus_fraction, 0) << target;
      EXPECT_LE(figures.bus_fraction, 1.0001) << target;
      EXPECT_GT(figures.latency_cycles, 0);
    }
  }
}

TEST(DramStream, WriteShareDividesTheBytes) {
  DramStream stream;
  stream.bytes = 1 << 16;
  stream.write_share = 0.5;
  for (const DramPattern pattern :
       {DramPattern::kStreams, DramPattern::kRows, DramPattern::kRandom}) {
    stream.pattern = pattern;
    const DramFigures figures = Measure(stream, "mobile");
    EXPECT_EQ(figures.read_bytes, figures.write_bytes);
  }
  stream.pattern = DramPattern::kSequential;
  stream.write_share = 1;
  EXPECT_EQ(Measure(stream, "mobile").read_bytes, 0);
}

// A long flat stream fills the bus but for the first latency.
TEST(DramStream, FlatSequentialByFormula) {
  const NpuConfig edge = Target("edge");
  DramStream stream;
  stream.bytes = 3'750'000;
  const DramFigures figures = Measure(stream, "edge");
  const int64_t data_cycles =
      (figures.bursts * edge.dram.burst_bytes * 1000 + edge.dram.peak_millibytes_per_cycle - 1) /
      edge.dram.peak_millibytes_per_cycle;
  EXPECT_EQ(figures.makespan_cycles,
            edge.dma.setup_cycles + edge.dram.read_latency_cycles + data_cycles);
}

TEST(DramStream, PatternsRankAsTheyShould) {
  DramStream sequential, rows, random;
  rows.pattern = DramPattern::kRows;
  rows.row_bytes = 64;  // one burst of DDR4
  rows.pitch_bytes = 65536;
  random.pattern = DramPattern::kRandom;
  NpuConfig ddr4 = Target("ddr4_3200");
  const auto rate = [&](const DramStream& stream) {
    const absl::StatusOr<DramFigures> figures = MeasureDram(stream, ddr4);
    return figures.ok() ? figures->bytes_per_cycle : 0;
  };
  // Bank group above the column: one row of one group at a time, worse than rows of all of them.
  EXPECT_GT(rate(sequential), 1.3 * rate(rows));
  EXPECT_LT(rate(sequential), rate(random));
  ddr4.dram.timing.address_map = AddressMap::kRowColumnBankGroup;
  EXPECT_GT(rate(sequential), 1.1 * rate(random));
  EXPECT_GT(rate(random), 1.3 * rate(rows));
}

TEST(DramStream, RefusesWhatIsOutOfRange) {
  const NpuConfig mobile = Target("mobile");
  DramStream stream;
  stream.bytes = 0;
  EXPECT_FALSE(CheckDramStream(stream, mobile).ok());
  stream = {};
  stream.pitch_bytes = 1;
  EXPECT_FALSE(CheckDramStream(stream, mobile).ok());
  stream = {};
  stream.write_share = 1.5;
  EXPECT_FALSE(CheckDramStream(stream, mobile).ok());
  stream = {};
  stream.bytes = int64_t{1} << 33;
  stream.chunk_bytes = 1;  // more descriptors than one would wait for
  EXPECT_FALSE(CheckDramStream(stream, mobile).ok());
}

}  // namespace
}  // namespace berth
