// How many commands a second the timing model handles, on synthetic streams of a million: tiles
// that are loaded over several channels, multiplied, put through the vector unit and stored, with
// the waits that double buffering makes.
#include <benchmark/benchmark.h>

#include <vector>

#include "npu_sim/timing.h"

namespace berth {
namespace {

constexpr int64_t kBufferBytes = 16384;
constexpr int kBuffers = 8;

Operand At(MemorySpace space, int64_t offset_bytes, uint32_t slot, uint16_t region) {
  Operand operand;
  operand.space = space;
  operand.dtype = DType::kInt8;
  operand.offset_bytes = offset_bytes;
  operand.slot = slot;
  operand.region = region;
  operand.stride_bytes[2] = 64;
  operand.stride_bytes[3] = 1;
  return operand;
}

class StreamBuilder {
 public:
  explicit StreamBuilder(const NpuConfig& config) : channels_(config.dma.channels) {
    program_.engines = CoreEngines(static_cast<int>(channels_));
    program_.regions.resize(2);
    counts_.resize(program_.engines.size());
  }

  TileProgram Build(int64_t commands) {
    for (int64_t tile = 0; static_cast<int64_t>(program_.commands.size()) < commands; ++tile) {
      AddTile(tile);
    }
    program_.commands.resize(static_cast<size_t>(commands));
    return std::move(program_);
  }

 private:
  uint8_t Matrix() const { return static_cast<uint8_t>(channels_); }
  uint8_t Vector() const { return static_cast<uint8_t>(channels_ + 1); }
  Operand Buffer(int64_t tile, int which) const {
    const int64_t number = (tile * 4 + which) % kBuffers;
    return At(MemorySpace::kScratchpad, number * kBufferBytes, static_cast<uint32_t>(number), 0);
  }
  Operand Dram(int64_t tile, uint16_t region) const {
    return At(MemorySpace::kDram, tile % 4096 * kBufferBytes, kNoSlot, region);
  }

  void AddTile(int64_t tile) {
    const auto channel = [&](int64_t i) { return static_cast<uint8_t>((tile + i) % channels_); };
    const auto behind = [&](uint8_t engine) {  // of the tile before the last
      return static_cast<uint32_t>(std::max<int64_t>(0, int64_t{counts_[engine]} - 1));
    };
    Add(Opcode::kDmaLoad, channel(0), {1, 1, 64, 64}, Buffer(tile, 0), Dram(tile, 0),
        {{Matrix(), behind(Matrix())}});
    Add(Opcode::kDmaLoad, channel(1), {1, 1, 64, 64}, Buffer(tile, 1), Dram(tile + 7, 0),
        {{Matrix(), behind(Matrix())}});
    Add(Opcode::kGemm, Matrix(), {1, 64, 64, 64}, Buffer(tile, 2), Buffer(tile, 0),
        {{channel(0), counts_[channel(0)]},
         {channel(1), counts_[channel(1)]},
         {Vector(), behind(Vector())}});
    Add(Opcode::kUnary, Vector(), {1, 1, 64, 64}, Buffer(tile, 3), Buffer(tile, 2),
        {{Matrix(), counts_[Matrix()]}, {channel(2), behind(channel(2))}});
    Add(Opcode::kDmaStore, channel(2), {1, 1, 64, 64}, Dram(tile, 1), Buffer(tile, 3),
        {{Vector(), counts_[Vector()]}});
  }

  void Add(Opcode opcode, uint8_t engine, std::array<int32_t, 4> extent, const Operand& out,
           const Operand& in0, std::initializer_list<Wait> waits) {
    Command command;
    command.opcode = opcode;
    command.engine = engine;
    std::copy(extent.begin(), extent.end(), command.extent);
    command.out = out;
    command.in0 = in0;
    if (opcode == Opcode::kGemm) {
      command.in1 = Buffer(static_cast<int64_t>(counts_[engine]), 1);
      command.flags = kFlagWriteOut;
    }
    command.wait_begin = static_cast<uint32_t>(program_.waits.size());
    for (const Wait& wait : waits) {
      if (wait.count == 0) continue;
      program_.waits.push_back(wait);
      ++command.wait_count;
    }
    program_.commands.push_back(command);
    ++counts_[engine];
  }

  int64_t channels_;
  TileProgram program_;
  std::vector<uint32_t> counts_;
};

void BM_Simulate(benchmark::State& state, const char* target) {
  const NpuConfig config = *LoadTarget(target);
  const TileProgram program = StreamBuilder(config).Build(state.range(0));
  for (auto _ : state) {
    const auto report = SimulateTiming(program.view(), config);
    if (!report.ok()) return state.SkipWithError("does not simulate");
    benchmark::DoNotOptimize(report->makespan_cycles);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(BM_Simulate, edge, "edge")->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Simulate, mobile, "mobile")->Arg(1000000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Simulate, server, "server")->Arg(1000000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth
