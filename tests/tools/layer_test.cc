// One layer: the array's closed forms against every calibration row, and the compiled program.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/checked_math.h"
#include "npu_sim/timing.h"
#include "tests/planner/shared_data.h"
#include "tools/layer_program.h"

namespace berth {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows ReadCsv(const std::filesystem::path& path) {
  std::ifstream file(path);
  Rows rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::stringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

NpuConfig Target(const std::string& name) {
  const absl::StatusOr<NpuConfig> config = LoadTarget(name);
  EXPECT_TRUE(config.ok()) << config.status();
  return *config;
}

Layer Gemm(int64_t m, int64_t n, int64_t k, int64_t batch = 1) {
  Layer layer;
  layer.m = m;
  layer.n = n;
  layer.k = k;
  layer.batch = batch;
  return layer;
}

Layer Conv(int64_t size, int64_t channels, int64_t kernel, int64_t filters, int64_t stride = 1,
           int64_t pad = 0, int64_t groups = 1) {
  Layer layer;
  layer.kind = LayerKind::kConv;
  layer.input_height = layer.input_width = size;
  layer.input_channels = channels;
  layer.filter_height = layer.filter_width = kernel;
  layer.filters = filters;
  layer.stride = stride;
  layer.pad = pad;
  layer.groups = groups;
  return layer;
}

int64_t ArrayCycles(const Layer& layer, const NpuConfig& config) {
  EXPECT_TRUE(CheckLayer(layer).ok()) << CheckLayer(layer);
  return ComputeCycles(WholeLayerCommand(layer), config);
}

TEST(ArrayCycles, ScaleSimRowsExactly) {
  const std::filesystem::path shared = SharedFolder();
  if (shared.empty()) GTEST_SKIP() << "no shared data";
  for (const std::string dataflow : {"ws", "os"}) {
    const NpuConfig config = Target("scalesim_" + dataflow + "_32");
    const Rows rows =
        ReadCsv(shared / "anchors" / ("scalesim_resnet50_32x32_" + dataflow + ".csv"));
    ASSERT_GT(rows.size(), 50u);
    for (size_t r = 1; r < rows.size(); ++r) {
      const auto cell = [&](size_t c) { return std::stoll(rows[r][c]); };
      EXPECT_EQ(ArrayCycles(Gemm(cell(5), cell(6), cell(7)), config), cell(10)) << rows[r][1];
    }
  }
}

TEST(ArrayCycles, OutputStationaryRtlRowsExactly) {
  const std::filesystem::path shared = SharedFolder();
  if (shared.empty()) GTEST_SKIP() << "no shared data";
  const Rows rows = ReadCsv(shared / "anchors" / "systolic_os_rtl.csv");
  ASSERT_GT(rows.size(), 30u);
  for (size_t r = 1; r < rows.size(); ++r) {
    const int64_t n = std::stoll(rows[r][0]), k = std::stoll(rows[r][1]);
    const int64_t tiles = std::stoll(rows[r][2]);
    const NpuConfig config = Target("rtl_os_" + rows[r][0]);
    EXPECT_EQ(ArrayCycles(Gemm(n, n, k, tiles), config), std::stoll(rows[r][3])) << "row " << r;
    EXPECT_EQ(ArrayCycles(Gemm(n, n, k, tiles), config), tiles * k + 3 * n);
  }
}

// The closed forms of both dataflows, for shapes that are in no file.
TEST(ArrayCycles, ClosedForms) {
  for (const int64_t size : {16, 32, 128}) {
    const NpuConfig ws = Target("scalesim_ws_" + std::to_string(size));
    const NpuConfig os = Target("scalesim_os_" + std::to_string(size));
    for (const int64_t m : {1, 31, 500}) {
      for (const int64_t n : {1, 33, 300}) {
        for (const int64_t k : {1, 27, 1000}) {
          EXPECT_EQ(ArrayCycles(Gemm(m, n, k), ws),
                    CeilDiv(k, size) * CeilDiv(n, size) * (2 * size + size + m - 2) - 1);
          EXPECT_EQ(ArrayCycles(Gemm(m, n, k), os),
                    CeilDiv(m, size) * CeilDiv(n, size) * (k + size + size - 2) - 1);
        }
      }
    }
  }
  // A tile that the array finishes before its results have left: the array alone counts.
  EXPECT_EQ(ArrayCycles(Gemm(32, 32, 2, 5), Target("rtl_os_32")), 5 * 2 + 3 * 32);
}

TEST(ArrayCycles, AConvolutionIsTheProductOfItsWindow) {
  for (const char* target : {"scalesim_ws_32", "scalesim_os_32", "edge"}) {
    const NpuConfig config = Target(target);
    EXPECT_EQ(ArrayCycles(Conv(224, 3, 7, 64, 2, 3), config),
              ArrayCycles(Gemm(112 * 112, 64, 7 * 7 * 3), config));
    EXPECT_EQ(ArrayCycles(Conv(56, 64, 1, 256), config),
              ArrayCycles(Gemm(56 * 56, 256, 64), config));
    EXPECT_EQ(ArrayCycles(Conv(14, 64, 3, 128, 1, 1, 4), config),
              ArrayCycles(Gemm(14 * 14, 32, 9 * 16, 4), config));
  }
}

TEST(ArrayCycles, DTypesTakeTheirShareOfTheRate) {
  const NpuConfig edge = Target("edge");
  const int64_t fixed = edge.matrix.preload_cycles + edge.matrix.fill_drain_cycles;
  Layer layer = Gemm(64, 16, 16);
  for (const auto& [dtype, cycles] : {std::pair{DType::kInt8, 64},
                                      {DType::kFloat16, 128},
                                      {DType::kBFloat16, 128},
                                      {DType::kFloat32, 256}}) {
    layer.dtype = dtype;
    EXPECT_EQ(ArrayCycles(layer, edge), fixed + cycles);
  }
}

TEST(CheckLayer, RefusesWhatIsNoLayer) {
  EXPECT_FALSE(CheckLayer(Gemm(0, 1, 1)).ok());
  EXPECT_FALSE(CheckLayer(Gemm(1, 1, -1)).ok());
  EXPECT_FALSE(CheckLayer(Gemm(1 << 23, 1 << 23, 1 << 23)).ok());
  EXPECT_FALSE(CheckLayer(Conv(3, 1, 5, 1)).ok());           // larger than the image
  EXPECT_FALSE(CheckLayer(Conv(8, 6, 3, 8, 1, 0, 4)).ok());  // 6 channels in 4 groups
  EXPECT_FALSE(CheckLayer(Conv(8, 8, 3, 8, 0)).ok());        // stride 0
  EXPECT_TRUE(CheckLayer(Conv(8, 8, 3, 8)).ok());
}

void ExpectSoundProgram(const Layer& layer, const std::string& target, int64_t macs) {
  const NpuConfig config = Target(target);
  const absl::StatusOr<BundleContents> plan = CompileLayer(layer, config);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const absl::StatusOr<SimReport> report = SimulateTiming(plan->program.view(), config);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->macs, macs);
  EXPECT_GE(report->makespan_cycles, plan->cycles_lower_bound);
  EXPECT_GE(report->dram_read_bytes + report->dram_write_bytes, plan->dram_bytes_lower_bound);
  int64_t interface_bytes = 0;
  for (const TensorInfo& info : plan->inputs) interface_bytes += info.type.ByteCount();
  for (const TensorInfo& info : plan->outputs) interface_bytes += info.type.ByteCount();
  EXPECT_EQ(plan->dram_bytes_lower_bound, interface_bytes);
  EXPECT_LE(plan->program.scratchpad_bytes, config.scratchpad.size_bytes);
}

TEST(CompileLayer, FromDramToDram) {
  for (const DType dtype : {DType::kInt8, DType::kFloat16, DType::kFloat32}) {
    SCOPED_TRACE(DTypeName(dtype));
    Layer layer = Gemm(100, 70, 33, 3);
    layer.dtype = dtype;
    ExpectSoundProgram(layer, "edge", 3 * 100 * 70 * 33);
    layer = Conv(28, 16, 3, 24, 2, 1);
    layer.dtype = dtype;
    ExpectSoundProgram(layer, "mobile", 14 * 14 * 24 * 9 * 16);
    layer = Conv(28, 32, 3, 32, 1, 1, 32);
    layer.kind = LayerKind::kDepthwise;
    layer.dtype = dtype;
    ExpectSoundProgram(layer, "edge", 28 * 28 * 32 * 9);
  }
}

// A quarter of the bytes at four times the rate.
TEST(CompileLayer, Int8IsLighterThanFloat) {
  Layer layer = Gemm(256, 256, 256);
  const NpuConfig edge = Target("edge");
  int64_t cycles[2], bytes[2];
  for (const int i : {0, 1}) {
    layer.dtype = i == 0 ? DType::kInt8 : DType::kFloat32;
    const absl::StatusOr<BundleContents> plan = CompileLayer(layer, edge);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const absl::StatusOr<SimReport> report = SimulateTiming(plan->program.view(), edge);
    ASSERT_TRUE(report.ok()) << report.status();
    cycles[i] = report->makespan_cycles;
    bytes[i] = report->dram_read_bytes + report->dram_write_bytes;
  }
  EXPECT_LT(cycles[0] * 3, cycles[1]);
  EXPECT_LE(bytes[0] * 4, bytes[1]);
}

}  // namespace
}  // namespace berth
