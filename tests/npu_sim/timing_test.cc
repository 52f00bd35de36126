// Closed formulas, bounds, conservation and probes.
#include "npu_sim/timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/checked_math.h"
#include "tests/npu_sim/example_program.h"

namespace berth {
namespace {

using testing_support::ExampleProgram;
using B = testing_support::ProgramBuilder;
constexpr auto kSpm = MemorySpace::kScratchpad;

NpuConfig Target(const std::string& name) {
  auto config = LoadTarget(name);
  EXPECT_TRUE(config.ok()) << config.status();
  return *config;
}

SimReport Simulate(const TileProgram& program, const NpuConfig& config) {
  TimingOptions options;
  options.record_commands = true;
  auto report = SimulateTiming(program.view(), config, options);
  EXPECT_TRUE(report.ok()) << report.status();
  return *std::move(report);
}

// Operands far apart, so that no two share a bank.
Command Gemm(int64_t batch, int64_t m, int64_t n, int64_t k, DType dtype = DType::kInt8) {
  const auto element = static_cast<int32_t>(DTypeBytes(dtype));
  const auto depth = static_cast<int32_t>(k) * element;
  const auto far = int64_t{1} << 40;
  const auto rows = static_cast<int32_t>(m), columns = static_cast<int32_t>(n);
  Command c = B::Make(
      Opcode::kGemm, B::kMatrix,
      {static_cast<int32_t>(batch), rows, columns, static_cast<int32_t>(k)},
      B::View(kSpm, 0, 2 * far, {rows * columns * element, columns * element, element, 0}, dtype),
      B::View(kSpm, 0, 0, {rows * depth, depth, 0, element}, dtype));
  c.in1 = B::View(kSpm, 0, far, {columns * depth, 0, depth, element}, dtype);
  c.acc = B::View(MemorySpace::kAccumulator, 0, 0, {},
                  IsFloat(dtype) ? DType::kFloat32 : DType::kInt32);
  c.flags = kFlagWriteOut;
  c.in0.slot = 0;  // timing asks only which are equal
  c.in1.slot = 1;
  c.out.slot = 2;
  return c;
}

std::filesystem::path Anchor(const std::string& name) {
  const char* shared = std::getenv("BERTH_SHARED");
  const std::filesystem::path root =
      shared != nullptr ? shared : std::filesystem::path(BERTH_SOURCE_FOLDER) / "../shared";
  return root / "anchors" / name;
}

std::vector<std::vector<std::string>> ReadCsv(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::stringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

TEST(MatrixCycles, OneTileByFormula) {
  // Output-stationary N x N: K + 3N; weight-stationary without overlap: 2R + C + M - 2 - 1.
  EXPECT_EQ(CommandCycles(Gemm(1, 4, 4, 16), Target("rtl_os_4")), 16 + 12);
  EXPECT_EQ(CommandCycles(Gemm(1, 100, 32, 32), Target("scalesim_ws_32")), 64 + 32 + 100 - 2 - 1);
  EXPECT_EQ(CommandCycles(Gemm(1, 32, 32, 50), Target("scalesim_os_32")), 50 + 32 + 32 - 2 - 1);
}

TEST(MatrixCycles, RateByDType) {
  const NpuConfig edge = Target("edge");
  const int64_t fixed = edge.matrix.preload_cycles + edge.matrix.fill_drain_cycles;
  EXPECT_EQ(ComputeCycles(Gemm(1, 64, 16, 16), edge), fixed + 64);
  EXPECT_EQ(ComputeCycles(Gemm(1, 64, 16, 16, DType::kFloat16), edge), fixed + 2 * 64);
  EXPECT_EQ(ComputeCycles(Gemm(1, 64, 16, 16, DType::kFloat32), edge), fixed + 4 * 64);
  EXPECT_EQ(ComputeCycles(Gemm(1, 64, 17, 33, DType::kFloat32), edge), fixed + 2 * 3 * 4 * 64);
  EXPECT_EQ(CommandMacs(Gemm(3, 64, 17, 33)), 3 * 64 * 17 * 33);
}

TEST(MatrixCycles, OutputPortAndPreloadLimit) {
  NpuConfig edge = Target("edge");
  const int64_t fixed = edge.matrix.preload_cycles + edge.matrix.fill_drain_cycles;
  EXPECT_EQ(ComputeCycles(Gemm(1, 4, 16, 160), edge), fixed + 10 * 16);  // 4 steps, 16 to preload
  edge.matrix.output_port_millibytes_per_cycle = 500;
  EXPECT_EQ(ComputeCycles(Gemm(1, 64, 16, 16), edge), fixed + 2 * 64 * 16);
}

Command Convolution(Opcode opcode, int out, int channels_out, int channels_in, int kernel) {
  Command c = Gemm(1, out, channels_out, channels_in);
  c.opcode = opcode;
  c.extent[0] = c.extent[1] = out;
  c.extent[2] = channels_out;
  c.extent[3] = opcode == Opcode::kDepthwise ? 1 : channels_in;
  Window& w = c.params.matrix.window;
  w.kernel_height = w.kernel_width = static_cast<int16_t>(kernel);
  w.input_height = w.input_width = out + kernel - 1;
  return c;
}

TEST(MatrixCycles, ConvolutionIsAGemmOfItsWindow) {
  const NpuConfig edge = Target("edge");
  EXPECT_EQ(ComputeCycles(Convolution(Opcode::kConv, 10, 40, 12, 3), edge),
            ComputeCycles(Gemm(1, 100, 40, 9 * 12), edge));
  EXPECT_EQ(CommandMacs(Convolution(Opcode::kConv, 10, 40, 12, 3)), 100 * 40 * 9 * 12);
  EXPECT_EQ(ComputeCycles(Convolution(Opcode::kDepthwise, 10, 40, 1, 3), edge),
            edge.matrix.fill_drain_cycles + CeilDiv(100 * 40 * 9, 64));
  EXPECT_EQ(CommandMacs(Convolution(Opcode::kDepthwise, 10, 40, 1, 3)), 100 * 40 * 9);
}

TEST(MatrixCycles, ScaleSimLayersExactly) {
  for (const std::string dataflow : {"ws", "os"}) {
    const auto path = Anchor("scalesim_resnet50_32x32_" + dataflow + ".csv");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
    const NpuConfig config = Target("scalesim_" + dataflow + "_32");
    const auto rows = ReadCsv(path);
    for (size_t r = 1; r < rows.size(); ++r) {
      const auto cell = [&](size_t i) { return std::stoll(rows[r][i]); };
      const Command gemm = Gemm(1, cell(5), cell(6), cell(7));
      EXPECT_EQ(ComputeCycles(gemm, config), cell(10)) << rows[r][1];
      EXPECT_EQ(CommandCycles(gemm, config), cell(10)) << rows[r][1];
    }
    EXPECT_GT(rows.size(), 50u);
  }
}

TEST(MatrixCycles, OutputStationaryRtlExactly) {
  const auto path = Anchor("systolic_os_rtl.csv");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  int checked = 0;
  const auto rows = ReadCsv(path);
  for (size_t r = 1; r < rows.size(); ++r) {
    const int64_t n = std::stoll(rows[r][0]), k = std::stoll(rows[r][1]);
    const int64_t tiles = std::stoll(rows[r][2]);
    auto config = LoadTarget("rtl_os_" + rows[r][0]);
    if (!config.ok()) continue;
    config->scratchpad.port_bytes_per_cycle = 4096;  // the RTL is the array alone
    ++checked;
    EXPECT_EQ(ComputeCycles(Gemm(tiles, n, n, k), *config), std::stoll(rows[r][3]));
    // The same as so many commands in a row: each skew overlaps the next tile.
    B b;
    for (int64_t t = 0; t < tiles; ++t) b.Add(Gemm(1, n, n, k));
    EXPECT_EQ(Simulate(b.Take(), *config).makespan_cycles, std::stoll(rows[r][3]));
  }
  EXPECT_GT(checked, 20);
}

Command Relu(int64_t out_offset, int64_t in_offset, int32_t count) {
  Command c = B::Make(Opcode::kUnary, B::kVector, {1, 1, 1, count},
                      B::View(kSpm, 0, out_offset, {0, 0, 0, 1}, DType::kInt8),
                      B::View(kSpm, 0, in_offset, {0, 0, 0, 1}, DType::kInt8));
  c.params.vector.function = static_cast<uint8_t>(UnaryFunction::kRelu);
  return c;
}

TEST(VectorCycles, LanesClassesAndWidths) {
  const NpuConfig edge = Target("edge");
  const int64_t startup = edge.vector.startup_cycles;
  Command c = Relu(0, 65536, 3200);
  EXPECT_EQ(ComputeCycles(c, edge), startup + 100);
  c.params.vector.function = static_cast<uint8_t>(UnaryFunction::kSigmoid);
  c.in0.dtype = c.out.dtype = DType::kFloat32;
  c.in0.stride_bytes[3] = c.out.stride_bytes[3] = 4;
  EXPECT_EQ(ComputeCycles(c, edge), startup + 400 * edge.vector.exponential_cycles_per_element);
  c.params.vector.function = static_cast<uint8_t>(UnaryFunction::kSqrt);
  EXPECT_EQ(ComputeCycles(c, edge), startup + 400 * edge.vector.divide_cycles_per_element);
}

TEST(Scratchpad, SameBankPairIsSlowerByTheDerivedFigure) {
  const NpuConfig edge = Target("edge");
  const int64_t bank = edge.scratchpad.size_bytes / edge.scratchpad.banks;
  const int64_t rate = edge.scratchpad.port_bytes_per_cycle * edge.scratchpad.ports_per_bank;
  const int32_t count = 9600;
  // Apart: each operand moves 9600 bytes through its own bank. Together: 19200 through one.
  const int64_t apart = CommandCycles(Relu(0, bank, count), edge);
  const int64_t together = CommandCycles(Relu(0, count, count), edge);
  EXPECT_EQ(apart, std::max(edge.vector.startup_cycles + count / 32, count / rate));
  EXPECT_EQ(together, 2 * count / rate);
  EXPECT_GT(together, apart);
  B b;
  b.Add(Relu(0, count, count));
  const SimReport report = Simulate(b.Take(), edge);
  EXPECT_EQ(report.engines[3].stall_cycles[static_cast<size_t>(StallCause::kBankConflict)],
            together - apart);
  EXPECT_EQ(report.engines[3].busy_cycles, apart);
}

TEST(Scratchpad, OperandsAcrossBanksMeetInPart) {
  const NpuConfig edge = Target("edge");
  const int64_t bank = edge.scratchpad.size_bytes / edge.scratchpad.banks;  // 24576
  // in0 [0, 1.5 bank), out [1.5, 3): they meet in bank 1, half a bank each.
  const auto count = static_cast<int32_t>(bank * 3 / 2);
  EXPECT_EQ(CommandCycles(Relu(count, 0, count), edge), edge.vector.startup_cycles + count / 32);
  NpuConfig narrow = edge;
  narrow.scratchpad.port_bytes_per_cycle = 8;  // 16 B a cycle and bank
  narrow.scratchpad.bank_interleave_bytes = 0;
  EXPECT_EQ(CommandCycles(Relu(count, 0, count), narrow), bank / 16);
  narrow.scratchpad.bank_interleave_bytes = 64;  // everything is everywhere
  EXPECT_EQ(CommandCycles(Relu(count, 0, count), narrow),
            std::max<int64_t>(edge.vector.startup_cycles + count / 32, 2 * count / 16 / 16));
}

Command Load(int64_t bytes, int64_t offset = 0, uint8_t engine = 0) {
  return B::Make(Opcode::kDmaLoad, engine, {1, 1, 1, static_cast<int32_t>(bytes)},
                 B::View(kSpm, 0, offset, {0, 0, 0, 1}, DType::kInt8),
                 B::View(MemorySpace::kDram, 0, 0, {0, 0, 0, 1}, DType::kInt8));
}
Command Store(int64_t bytes, uint8_t engine = 0) {
  return B::Make(Opcode::kDmaStore, engine, {1, 1, 1, static_cast<int32_t>(bytes)},
                 B::View(MemorySpace::kDram, 0, 0, {0, 0, 0, 1}, DType::kInt8),
                 B::View(kSpm, 0, 0, {0, 0, 0, 1}, DType::kInt8));
}

int64_t FlatCycles(int64_t bytes, const NpuConfig& config) {
  return CeilDiv(CeilDiv(bytes, config.dram.burst_bytes) * config.dram.burst_bytes * 1000,
                 config.dram.peak_millibytes_per_cycle);
}

TEST(Dma, OneDescriptorByFormula) {
  const NpuConfig edge = Target("edge");
  for (int64_t bytes : {1, 64, 65, 4096}) {
    B b;
    b.Add(Load(bytes));
    EXPECT_EQ(Simulate(b.Take(), edge).makespan_cycles,
              edge.dma.setup_cycles + edge.dram.read_latency_cycles + FlatCycles(bytes, edge));
    B s;
    s.Add(Store(bytes));
    EXPECT_EQ(Simulate(s.Take(), edge).makespan_cycles,
              edge.dma.setup_cycles + FlatCycles(bytes, edge) + edge.dram.write_latency_cycles);
  }
}

TEST(Dma, BackToBackDescriptorsHideLatencyAndSetUp) {
  const NpuConfig edge = Target("edge");
  B b;
  for (int i = 0; i < 10; ++i) b.Add(Load(1920, i * 1920));
  const SimReport report = Simulate(b.Take(), edge);
  EXPECT_EQ(report.makespan_cycles,
            edge.dma.setup_cycles + edge.dram.read_latency_cycles + 10 * FlatCycles(1920, edge));
  EXPECT_EQ(report.engines[0].stall_cycles[static_cast<size_t>(StallCause::kLatency)],
            edge.dram.read_latency_cycles);
}

TEST(Dma, ChannelsShareTheBus) {
  const NpuConfig edge = Target("edge");
  B b;
  b.Add(Load(3840, 0, 0));
  b.Add(Load(3840, 4096, 1));
  const SimReport report = Simulate(b.Take(), edge);
  const int64_t service = FlatCycles(3840, edge);
  EXPECT_EQ(report.makespan_cycles,
            edge.dma.setup_cycles + edge.dram.read_latency_cycles + 2 * service);
  EXPECT_EQ(report.engines[1].stall_cycles[static_cast<size_t>(StallCause::kBandwidth)], service);
}

TEST(Dma, FewOutstandingBurstsLimitTheRate) {
  NpuConfig edge = Target("edge");
  edge.dma.max_outstanding_bursts_per_channel = 2;
  B b;
  b.Add(Load(64 * 102));
  EXPECT_EQ(Simulate(b.Take(), edge).makespan_cycles,
            edge.dma.setup_cycles + edge.dram.read_latency_cycles + 100 * 500 / 2);
}

TEST(Dma, ShortRunsPayForWholeBursts) {
  const NpuConfig edge = Target("edge");
  Command rows = Load(16);
  rows.extent[2] = 100;
  rows.out.stride_bytes[2] = 16;
  rows.in0.stride_bytes[2] = 640;
  B b;
  b.Add(rows);
  const SimReport report = Simulate(b.Take(), edge);
  EXPECT_EQ(report.dram_read_bytes, 1600);
  EXPECT_EQ(report.makespan_cycles,
            edge.dma.setup_cycles + edge.dram.read_latency_cycles + FlatCycles(100 * 64, edge));
}

TEST(Dma, AStoreOfWhatTheSameChannelLoadedWaitsForIt) {
  const NpuConfig edge = Target("edge");
  B b;
  const uint32_t slot = b.Slot(kSpm, 0, 640);
  Command load = Load(640), store = Store(640);
  load.out.slot = store.in0.slot = slot;
  b.Add(load);
  b.Add(store);
  const SimReport report = Simulate(b.Take(), edge);
  EXPECT_GE(report.commands[1].start_cycle, report.commands[0].finish_cycle);
}

TEST(Dram, PatternsOrderAsTheyShould) {
  const NpuConfig mobile = Target("mobile");
  const auto cycles = [&](int32_t rows, int32_t row_bytes, int32_t pitch) {
    Command c = Load(row_bytes);
    c.extent[2] = rows;
    c.out.stride_bytes[2] = row_bytes;
    c.in0.stride_bytes[2] = pitch;
    B b;
    b.Add(c);
    return Simulate(b.Take(), mobile).makespan_cycles;
  };
  const int64_t sequential = cycles(1, 262144, 0);
  const int64_t ideal = CeilDiv(262144 * int64_t{1000}, mobile.dram.peak_millibytes_per_cycle);
  EXPECT_GE(sequential, ideal);
  EXPECT_LE(sequential, ideal * 108 / 100);
  EXPECT_GT(cycles(2048, 128, 65536), 2 * sequential);  // every row of one bank anew
  EXPECT_LT(cycles(256, 1024, 6272), sequential * 11 / 10);
}

TEST(Simulate, ProbeNotReadyACycleEarly) {
  const NpuConfig edge = Target("edge");
  // A vector command waits for the matrix unit while its own engine is freed a cycle earlier, at
  // the same time and a cycle later.
  const int64_t finish = CommandCycles(Gemm(1, 200, 16, 16), edge);
  for (int64_t difference : {-1, 0, 1}) {
    NpuConfig config = edge;
    config.vector.startup_cycles = finish + difference - 1;
    B b;
    b.Add(Gemm(1, 200, 16, 16));
    b.Add(Relu(0, 65536, 32));
    b.Add(Relu(0, 65536, 32), {{B::kMatrix, 1}});
    const SimReport report = Simulate(b.Take(), config);
    EXPECT_EQ(report.commands[0].finish_cycle, finish);
    EXPECT_EQ(report.commands[1].finish_cycle, finish + difference);
    EXPECT_EQ(report.commands[2].start_cycle, std::max(finish, finish + difference));
    EXPECT_EQ(report.commands[2].stall_cycles, difference < 0 ? 1 : 0);
    EXPECT_EQ(report.commands[2].stall_cause,
              difference < 0 ? StallCause::kDependencyMatrix : StallCause::kNone);
  }
}

TEST(Simulate, ExampleProgramAddsUp) {
  const NpuConfig edge = Target("edge");
  const TileProgram program = ExampleProgram();
  const SimReport report = Simulate(program, edge);
  for (const EngineReport& engine : report.engines) {
    int64_t sum = engine.busy_cycles + engine.idle_cycles;
    for (int64_t cycles : engine.stall_cycles) sum += cycles;
    EXPECT_EQ(sum, report.makespan_cycles) << EngineName(engine.engine);
    EXPECT_LE(engine.busy_cycles, report.makespan_cycles);
  }
  // Weights and bias, input, and what was spilled; the spill and the output.
  EXPECT_EQ(report.dram_read_bytes, 2 * 1024 + 64 + 8192 + 4096);
  EXPECT_EQ(report.dram_write_bytes, 4096 + 4096);
  EXPECT_EQ(report.macs, 64 * 16 * 32);
  EXPECT_EQ(report.weighted_macs, 4 * report.macs);
  EXPECT_GE(report.makespan_cycles * edge.dram.peak_millibytes_per_cycle,
            1000 * (report.dram_read_bytes + report.dram_write_bytes));
  EXPECT_EQ(report.engines[4].busy_cycles, 0);
  EXPECT_EQ(report.engines[4].idle_cycles, report.makespan_cycles);
  EXPECT_EQ(report.ops[0].macs, report.macs);
  EXPECT_EQ(report.ops[0].last_cycle, report.makespan_cycles);
  EXPECT_GT(report.energy_picojoules, 0);
  EXPECT_EQ(ReportToJson(Simulate(program, edge), 256), ReportToJson(report, 256));
}

TEST(Simulate, DeadlockIsAnError) {
  B b;
  b.Add(Relu(0, 64, 32), {{B::kMatrix, 1}});
  TileProgram program = b.Take();
  const auto report = SimulateTiming(program.view(), Target("edge"));
  EXPECT_EQ(report.status().code(), absl::StatusCode::kInternal);
}

TEST(Simulate, MillionsOfCommandsASecond) {
  B b;
  const int rounds = 100000;
  for (uint32_t i = 1; i <= rounds; ++i) {
    Command load = Load(1024, 0, i % 2 ? 0 : 1);
    b.Add(load);
    b.Add(Gemm(1, 16, 16, 16), {{i % 2 ? 0u : 1u, (i + 1) / 2}});
    b.Add(Relu(0, 65536, 256), {{B::kMatrix, i}});
    b.Add(Store(256, i % 2 ? 1 : 0), {{B::kVector, i}});
  }
  const TileProgram program = b.Take();
  const NpuConfig edge = Target("edge");
  const std::clock_t begin = std::clock();  // of this process: the machine may be busy
  const auto report = SimulateTiming(program.view(), edge);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  ASSERT_TRUE(report.ok());
  std::printf("%.1f M commands/s\n", static_cast<double>(program.commands.size()) / seconds / 1e6);
  EXPECT_LT(seconds, 20);
}

}  // namespace
}  // namespace berth
