// The machine against what it was calibrated on: every row of the anchors, through the code behind
// `berth layer` and `berth dram`. Prints a table of errors for each source; the bars below hold for
// all rows and, where some were kept from the fitting, for those by themselves.
//
// What was fitted, and on which rows:
//   arrays     nothing: closed forms
//   ONNXim     latency, tile size and load port, on 64^3 and 256^3; 1024^3 is for testing only
//   small NPU  output rate, stripe, pipeline depths, on the rows not named in kHeldOutLayers
//   DRAM       what the configuration does not say (two ranks, tRTRS, tPPD), on the single streams
//              of the plain address map; the maps with the bank group in the lowest bits and all
//              pairs of streams are for testing only
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "fmt/format.h"
#include "npu_sim/timing.h"
#include "tests/planner/shared_data.h"
#include "tools/dram_stream.h"
#include "tools/native_layer.h"

namespace berth {
namespace {

using Row = std::map<std::string, std::string>;

// Comma-separated rows under the latest header, a line that begins with `header_key`.
std::vector<Row> ReadTable(const std::string& file, const std::string& header_key) {
  std::vector<Row> rows;
  std::ifstream in(SharedFolder() / "anchors" / file);
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells;
    std::istringstream split(line);
    for (std::string cell; std::getline(split, cell, ',');) cells.push_back(cell);
    if (cells.empty()) continue;
    if (cells[0] == header_key) {
      names = cells;
      continue;
    }
    Row row;
    for (size_t i = 0; i < cells.size() && i < names.size(); ++i) row[names[i]] = cells[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

bool HaveAnchors() { return std::filesystem::exists(SharedFolder() / "anchors"); }
#define SKIP_WITHOUT_ANCHORS() \
  if (!HaveAnchors()) GTEST_SKIP() << "no anchors beside the project (BERTH_SHARED)"

// Relative errors of one set of rows.
class Errors {
 public:
  explicit Errors(std::string name) : name_(std::move(name)) {}
  void Add(const std::string& row, double expected, double found, bool held_out = false) {
    const double error = expected == 0 ? 0 : found / expected - 1;
    fmt::print("  {:<52} {:>14.6g} {:>14.6g} {:>8.2f} %{}\n", row, expected, found, 100 * error,
               held_out ? "  held out" : "");
    all_.push_back(std::abs(error));
    if (held_out) held_out_.push_back(std::abs(error));
  }
  void Check(double mean_bar, double max_bar) const {
    CheckSet("all rows", all_, mean_bar, max_bar);
    CheckSet("rows held out", held_out_, mean_bar, max_bar);
  }
  size_t count() const { return all_.size(); }

 private:
  void CheckSet(const char* set, const std::vector<double>& errors, double mean_bar,
                double max_bar) const {
    if (errors.empty()) return;
    double sum = 0;
    for (const double error : errors) sum += error;
    const double mean = sum / static_cast<double>(errors.size());
    const double max = *std::max_element(errors.begin(), errors.end());
    fmt::print("{}, {} {}: mean {:.2f} %, max {:.2f} %\n", name_, errors.size(), set, 100 * mean,
               100 * max);
    EXPECT_LE(mean, mean_bar) << name_ << ", " << set;
    EXPECT_LE(max, max_bar) << name_ << ", " << set;
  }

  std::string name_;
  std::vector<double> all_, held_out_;
};

NpuConfig Target(const std::string& name) {
  absl::StatusOr<NpuConfig> config = LoadTarget(name);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : NpuConfig{};
}

Layer Gemm(int64_t m, int64_t n, int64_t k, int64_t batch = 1) {
  Layer layer;
  layer.m = m;
  layer.n = n;
  layer.k = k;
  layer.batch = batch;
  return layer;
}

int64_t ArrayCycles(const Layer& layer, const NpuConfig& config) {
  return ComputeCycles(WholeLayerCommand(layer), config);
}

struct Measured {
  SimReport report;
  BundleContents plan;
};
Measured Measure(const Layer& layer, const NpuConfig& config) {
  Measured measured;
  EXPECT_TRUE(HasNativeOrder(layer, config));
  absl::StatusOr<BundleContents> plan = NativeLayer(layer, config);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return measured;
  measured.plan = *std::move(plan);
  absl::StatusOr<SimReport> report = SimulateTiming(measured.plan.program.view(), config);
  EXPECT_TRUE(report.ok()) << report.status();
  if (report.ok()) measured.report = *std::move(report);
  EXPECT_GE(measured.report.makespan_cycles, measured.plan.cycles_lower_bound);
  return measured;
}

TEST(Calibration, OutputStationaryRtl) {
  SKIP_WITHOUT_ANCHORS();
  const std::vector<Row> rows = ReadTable("systolic_os_rtl.csv", "N");
  ASSERT_GE(rows.size(), 30u);
  for (const Row& row : rows) {
    const int64_t n = std::stoll(row.at("N"));
    const NpuConfig config = Target("rtl_os_" + row.at("N"));
    const Layer layer = Gemm(n, n, std::stoll(row.at("K")), std::stoll(row.at("tiles")));
    EXPECT_EQ(ArrayCycles(layer, config), std::stoll(row.at("total_cycles")))
        << row.at("N") << " K " << row.at("K") << " tiles " << row.at("tiles");
  }
}

TEST(Calibration, ScaleSim) {
  SKIP_WITHOUT_ANCHORS();
  for (const std::string dataflow : {"ws", "os"}) {
    const std::vector<Row> rows =
        ReadTable("scalesim_resnet50_32x32_" + dataflow + ".csv", "layer");
    ASSERT_GE(rows.size(), 50u);
    const NpuConfig config = Target("scalesim_" + dataflow + "_32");
    for (const Row& row : rows) {
      const Layer layer = Gemm(std::stoll(row.at("M_ofmap_px")), std::stoll(row.at("N_filters")),
                               std::stoll(row.at("K_window")));
      EXPECT_EQ(ArrayCycles(layer, config), std::stoll(row.at("cyc_total"))) << row.at("name");
    }
  }
}

TEST(Calibration, OnnxSimGemms) {
  SKIP_WITHOUT_ANCHORS();
  const NpuConfig config = Target("onnxim_ws_32");
  Errors errors("ONNXim, makespan cycles");
  for (const auto& [edge, cycles] :
       std::map<int64_t, double>{{64, 499.0}, {256, 16816.0}, {1024, 1049259.0}}) {
    const Measured measured = Measure(Gemm(edge, edge, edge), config);
    errors.Add(fmt::format("{}^3", edge), cycles,
               static_cast<double>(measured.report.makespan_cycles), edge == 1024);
  }
  errors.Check(0.05, 0.05);
}

const char* const kHeldOutLayers[] = {
    "gen_28x28x128_3x3x128x128_s1p1", "gen_7x7x2048_1x1x2048x512_s1p0",
    "gen_14x14x256_3x3x256x256_s2p1", "gen_16x16x64_1x1x64x512_s1p0",
    "gen_32x32x64_1x1x64x8_s1p0",     "gen_14x14x512_1x1x512x512_s1p0"};

std::optional<Layer> ParseLayerName(const std::string& name) {
  Layer layer;
  layer.kind = LayerKind::kConv;
  long h, w, c, r, s, c2, k, stride, pad;
  if (std::sscanf(name.c_str(), "gen_%ldx%ldx%ld_%ldx%ldx%ldx%ld_s%ldp%ld", &h, &w, &c, &r, &s, &c2,
                  &k, &stride, &pad) != 9) {
    return std::nullopt;
  }
  layer.input_height = h;
  layer.input_width = w;
  layer.input_channels = c;
  layer.filter_height = r;
  layer.filter_width = s;
  layer.filters = k;
  layer.stride = stride;
  layer.pad = pad;
  return layer;
}

TEST(Calibration, SmallNpuRtl) {
  SKIP_WITHOUT_ANCHORS();
  const NpuConfig config = Target("nvdla_small");
  const std::vector<Row> rows = ReadTable("nvdla_small_conv_rtl.csv", "name");
  ASSERT_GE(rows.size(), 18u);
  Errors errors("small NPU, makespan cycles");
  for (const Row& row : rows) {
    const std::string& name = row.at("name");
    const std::optional<Layer> layer = ParseLayerName(name);
    ASSERT_TRUE(layer.has_value()) << name;
    const SimReport report = Measure(*layer, config).report;
    const bool held_out = std::find(std::begin(kHeldOutLayers), std::end(kHeldOutLayers), name) !=
                          std::end(kHeldOutLayers);
    errors.Add(name, std::stod(row.at("cycles")), static_cast<double>(report.makespan_cycles),
               held_out);
    EXPECT_EQ(report.dram_read_bytes, 8 * std::stoll(row.at("rbeats8B"))) << name;
    EXPECT_EQ(report.dram_write_bytes, 8 * std::stoll(row.at("wbeats8B"))) << name;
  }
  errors.Check(0.02, 0.08);
}

// What the name of a pattern says; nothing for the rows to be ignored (posted writes of one
// stream).
std::optional<DramStream> ParsePattern(const std::string& name, int64_t burst_bytes,
                                       int64_t& window) {
  DramStream stream;
  long a, b;
  int end = 0;
  char unit;
  if (name == "idle_single_rd") {
    stream.bytes = burst_bytes;
  } else if (name == "dep_chain_seq_rd(win1)") {
    stream.bytes = 64 * burst_bytes;
    window = 1;
  } else if (std::sscanf(name.c_str(), "seq_rd_%ld%ciB%n", &a, &unit, &end) == 2) {
    stream.bytes = a << (unit == 'M' ? 20 : 10);
    if (std::sscanf(name.c_str() + end, "_win%ld", &b) == 1) window = b;
  } else if (std::sscanf(name.c_str(), "tile_rd_row%ld_pitch%ld", &a, &b) == 2) {
    stream.pattern = DramPattern::kRows;
    stream.bytes = std::min<int64_t>(int64_t{1} << 20, 4096 * a);
    stream.row_bytes = a;
    stream.pitch_bytes = b;
  } else if (std::sscanf(name.c_str(), "2stream_rd+wr_chunk%ld", &a) == 1) {
    stream.pattern = DramPattern::kStreams;
    stream.chunk_bytes = a;
    stream.write_share = 0.5;
  } else {
    return std::nullopt;
  }
  return stream;
}

void CheckDram(const std::string& target, const std::string& file) {
  const std::vector<Row> rows = ReadTable(file, "config");
  ASSERT_GE(rows.size(), 50u);
  Errors single(target + ", bus fraction, single stream"), multi(target + ", two streams");
  for (const Row& row : rows) {
    NpuConfig config = Target(target);
    int64_t window = config.dma.channels * config.dma.max_outstanding_bursts_per_channel;
    EXPECT_EQ(window, 256) << "what the calibration runs had";
    const std::optional<DramStream> stream =
        ParsePattern(row.at("pattern"), config.dram.burst_bytes, window);
    if (!stream) continue;
    config.dma.channels = 1;
    config.dma.max_outstanding_bursts_per_channel = window;
    const bool low_groups = row.at("config").find("_bgLSB") != std::string::npos;
    if (low_groups) config.dram.timing.address_map = AddressMap::kRowColumnBankGroup;
    const absl::StatusOr<DramFigures> figures = MeasureDram(*stream, config);
    ASSERT_TRUE(figures.ok()) << figures.status();
    const bool pair = stream->pattern == DramPattern::kStreams;
    (pair ? multi : single)
        .Add(row.at("pattern") + (low_groups ? " bgLSB" : ""), std::stod(row.at("bus_frac")),
             figures->bus_fraction, low_groups || pair);
  }
  single.Check(0.05, 0.05);
  multi.Check(0.15, 0.15);
}

TEST(Calibration, Ddr4) {
  SKIP_WITHOUT_ANCHORS();
  CheckDram("ddr4_3200", "dramsim3_ddr4.csv");
}

TEST(Calibration, Lpddr4) {
  SKIP_WITHOUT_ANCHORS();
  CheckDram("lpddr4_2400", "dramsim3_lpddr4.csv");
}

}  // namespace
}  // namespace berth
