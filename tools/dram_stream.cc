#include "tools/dram_stream.h"

#include <algorithm>
#include <cmath>

#include "base/checked_math.h"
#include "npu_sim/timing.h"
#include "npu_sim/timing/cost.h"
#include "npu_sim/timing/dram_controller.h"
#include "tools/dram_bursts.h"

namespace berth {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 34;
constexpr int64_t kMostDescriptors = int64_t{1} << 22;
constexpr int64_t kStreamChunkBytes = 2048;
constexpr int64_t kMostSimulatedBursts = int64_t{1} << 22;
constexpr int64_t kWidePortBytesPerCycle = 4096;
constexpr int64_t kStreamDistanceBytes = int64_t{1} << 40;  // to another row of every bank

// What is read and what is written lies apart, so that nothing waits for anything.
constexpr uint16_t kReadRegion = 0, kWriteRegion = 1;
constexpr uint32_t kLoadedSlot = 0, kStoredSlot = 1, kIndexSlot = 2;

class Builder {
 public:
  explicit Builder(const NpuConfig& config) : config_(config) {
    program_.engines = CoreEngines(static_cast<int>(config.dma.channels));
    program_.regions.resize(2);
  }

  // `rows` runs of `row_bytes`, `pitch_bytes` apart.
  void Transfer(int64_t channel, bool is_write, int64_t offset_bytes, int64_t rows,
                int64_t row_bytes, int64_t pitch_bytes) {
    Command command =
        Descriptor(channel, is_write, is_write ? Opcode::kDmaStore : Opcode::kDmaLoad);
    command.extent[2] = static_cast<int32_t>(rows);
    command.extent[3] = static_cast<int32_t>(row_bytes);
    Operand& far = is_write ? command.out : command.in0;
    Operand& near = is_write ? command.in0 : command.out;
    far.offset_bytes = offset_bytes;
    far.stride_bytes[2] = static_cast<int32_t>(pitch_bytes);
    near.stride_bytes[2] = static_cast<int32_t>(row_bytes);
    program_.commands.push_back(command);
  }

  // `count` chunks, each at an unrelated address.
  void Scattered(int64_t channel, bool is_write, int64_t count, int64_t chunk_bytes) {
    Command command =
        Descriptor(channel, is_write, is_write ? Opcode::kDmaScatter : Opcode::kDmaGather);
    command.extent[0] = static_cast<int32_t>(count);
    command.extent[3] = static_cast<int32_t>(chunk_bytes);
    Operand& far = is_write ? command.out : command.in0;
    Operand& near = is_write ? command.in0 : command.out;
    far.stride_bytes[0] = near.stride_bytes[0] = static_cast<int32_t>(chunk_bytes);
    command.in1.space = MemorySpace::kScratchpad;
    command.in1.dtype = DType::kInt32;
    command.in1.slot = kIndexSlot;
    command.in1.stride_bytes[0] = 4;
    program_.commands.push_back(command);
  }

  // One run, in as few descriptors as its length allows.
  void Run(int64_t channel, bool is_write, int64_t offset_bytes, int64_t run_bytes) {
    while (run_bytes > 0) {
      const int64_t part_bytes = std::min(run_bytes, config_.dma.max_extent);
      Transfer(channel, is_write, offset_bytes, 1, part_bytes, 0);
      offset_bytes += part_bytes;
      run_bytes -= part_bytes;
    }
  }

  TileProgram Take() { return std::move(program_); }

 private:
  Command Descriptor(int64_t channel, bool is_write, Opcode opcode) const {
    Command command;
    command.opcode = opcode;
    command.engine = static_cast<uint8_t>(channel % config_.dma.channels);
    Operand& far = is_write ? command.out : command.in0;
    Operand& near = is_write ? command.in0 : command.out;
    far.space = MemorySpace::kDram;
    far.region = is_write ? kWriteRegion : kReadRegion;
    near.space = MemorySpace::kScratchpad;
    near.slot = is_write ? kStoredSlot : kLoadedSlot;
    far.dtype = near.dtype = DType::kInt8;
    far.stride_bytes[3] = near.stride_bytes[3] = 1;
    return command;
  }

  const NpuConfig& config_;
  TileProgram program_;
};

void AddSequential(const DramStream& s, int64_t chunk_bytes, Builder& builder) {
  for (int64_t begin = 0, i = 0; begin < s.bytes; begin += chunk_bytes, ++i) {
    builder.Run(i, IsDramWrite(i, s.write_share), begin, std::min(chunk_bytes, s.bytes - begin));
  }
}

void AddRows(const DramStream& s, int64_t chunk_bytes, const NpuConfig& config, Builder& builder) {
  const int64_t rows = CeilDiv(s.bytes, s.row_bytes);
  // Reads and writes need descriptors of their own.
  const bool mixed = s.write_share > 0 && s.write_share < 1;
  const int64_t rows_a_chunk = mixed ? 1
                                     : std::clamp<int64_t>(chunk_bytes / s.row_bytes, 1,
                                                           std::min(rows, config.dma.max_extent));
  for (int64_t row = 0, i = 0; row < rows; row += rows_a_chunk, ++i) {
    builder.Transfer(i, IsDramWrite(i, s.write_share), row * s.pitch_bytes,
                     std::min(rows_a_chunk, rows - row), s.row_bytes, s.pitch_bytes);
  }
}

void AddStreams(const DramStream& s, int64_t chunk_bytes, Builder& builder) {
  for (int64_t begin = 0; begin < s.bytes; begin += chunk_bytes) {
    for (int64_t stream = 0; stream < s.streams; ++stream) {
      builder.Run(stream, IsDramWrite(stream, s.write_share), stream * kStreamDistanceBytes + begin,
                  std::min(chunk_bytes, s.bytes - begin));
    }
  }
}

void AddRandom(const DramStream& s, int64_t chunk_bytes, const NpuConfig& config,
               Builder& builder) {
  const int64_t chunks = CeilDiv(s.bytes, chunk_bytes);
  const auto writes = static_cast<int64_t>(static_cast<double>(chunks) * s.write_share);
  for (const bool is_write : {false, true}) {
    int64_t left = is_write ? writes : chunks - writes;
    for (int64_t i = 0; left > 0; ++i) {
      const int64_t count = std::min(left, config.dma.max_extent);
      builder.Scattered(i, is_write, count, chunk_bytes);
      left -= count;
    }
  }
}

absl::Status CheckRange(std::string_view flag, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return InvalidArgument("{} is {}, allowed: {}..{}", flag, value, least, most);
}

}  // namespace

bool IsDramWrite(int64_t index, double share) {
  const auto writes_before = [share](int64_t i) {
    return std::floor(static_cast<double>(i) * share);
  };
  return writes_before(index + 1) > writes_before(index);
}

int64_t DramChunkBytes(const DramStream& s, int64_t burst_bytes) {
  if (s.chunk_bytes > 0) return s.chunk_bytes;
  if (s.pattern == DramPattern::kStreams) return kStreamChunkBytes;
  if (s.pattern == DramPattern::kRandom) return burst_bytes;
  return s.bytes;
}

absl::Status CheckDramStream(const DramStream& s, const NpuConfig& config) {
  const int64_t most_row_bytes = std::min<int64_t>(config.dma.max_extent, int64_t{1} << 30);
  BERTH_RETURN_IF_ERROR(CheckRange("--bytes", s.bytes, 1, kMostBytes));
  BERTH_RETURN_IF_ERROR(CheckRange("--row-bytes", s.row_bytes, 1, most_row_bytes));
  BERTH_RETURN_IF_ERROR(CheckRange("--pitch-bytes", s.pitch_bytes, s.row_bytes, int64_t{1} << 30));
  BERTH_RETURN_IF_ERROR(CheckRange("--streams", s.streams, 1, 64));
  BERTH_RETURN_IF_ERROR(CheckRange("--chunk-bytes", s.chunk_bytes, 0, most_row_bytes));
  if (!(s.write_share >= 0 && s.write_share <= 1)) {
    return InvalidArgument("--write-share is {}, allowed: 0..1", s.write_share);
  }
  const bool by_rows = s.pattern == DramPattern::kRows && s.write_share > 0 && s.write_share < 1;
  const int64_t unit_bytes = by_rows ? s.row_bytes : DramChunkBytes(s, config.dram.burst_bytes);
  const int64_t turns = s.pattern == DramPattern::kRandom ? 1 : CeilDiv(s.bytes, unit_bytes);
  const int64_t descriptors = turns * (s.pattern == DramPattern::kStreams ? s.streams : 1);
  return CheckRange("number of descriptors", descriptors, 1, kMostDescriptors);
}

TileProgram MakeDramProgram(const DramStream& stream, const NpuConfig& config) {
  Builder builder(config);
  const int64_t chunk_bytes = DramChunkBytes(stream, config.dram.burst_bytes);
  switch (stream.pattern) {
    case DramPattern::kSequential:
      AddSequential(stream, chunk_bytes, builder);
      break;
    case DramPattern::kRows:
      AddRows(stream, chunk_bytes, config, builder);
      break;
    case DramPattern::kStreams:
      AddStreams(stream, chunk_bytes, builder);
      break;
    case DramPattern::kRandom:
      AddRandom(stream, chunk_bytes, config, builder);
      break;
  }
  return builder.Take();
}

namespace {

// The whole stream from the part of it that was measured.
int64_t Scale(int64_t count, int64_t whole, int64_t part) {
  return part == 0 ? 0 : static_cast<int64_t>(static_cast<__int128>(count) * whole / part);
}

// Bytes that the stream asks for.
int64_t TotalBytes(const DramStream& s) {
  if (s.pattern == DramPattern::kStreams) return s.bytes * s.streams;
  const int64_t unit_bytes = s.pattern == DramPattern::kRows     ? s.row_bytes
                             : s.pattern == DramPattern::kRandom ? s.chunk_bytes
                                                                 : 0;
  return unit_bytes == 0 ? s.bytes : CeilDiv(s.bytes, unit_bytes) * unit_bytes;
}

// The bursts of one channel of the interleaved memory.
timing::DramRun RunChannel(const DramStream& stream, const NpuConfig& config, int64_t channel,
                           DramFigures& figures) {
  const DramTiming& t = config.dram.timing;
  const int64_t burst_bytes = config.dram.burst_bytes;
  DramBurstSource source(stream, burst_bytes, config.dram.page_bytes);
  int64_t left = kMostSimulatedBursts;
  const auto next = [&](timing::DramBurst& burst) {
    int64_t address_bytes;
    while (left-- > 0 && source.Next(address_bytes, burst.is_write)) {
      const int64_t block = address_bytes / t.channel_interleave_bytes;
      if (block % t.channels != channel) continue;
      burst.index = (block / t.channels * t.channel_interleave_bytes +
                     address_bytes % t.channel_interleave_bytes) /
                    burst_bytes;
      return true;
    }
    return false;
  };
  const int64_t window = config.dma.channels * config.dma.max_outstanding_bursts_per_channel;
  const timing::DramRun run = timing::DramController(config.dram).Run(next, window);
  figures.read_bytes = source.read_bytes();
  figures.write_bytes = source.write_bytes();
  return run;
}

DramFigures MeasureBanked(const DramStream& stream, const NpuConfig& config) {
  DramFigures figures;
  int64_t clocks = 0;
  for (int64_t channel = 0; channel < config.dram.timing.channels; ++channel) {
    const timing::DramRun run = RunChannel(stream, config, channel, figures);
    figures.bursts += run.bursts;
    clocks = std::max(clocks, run.clocks);
  }
  const int64_t measured_bytes = figures.read_bytes + figures.write_bytes;
  const int64_t whole_bytes = std::max(measured_bytes, TotalBytes(stream));
  const auto scale = [&](int64_t& count) { count = Scale(count, whole_bytes, measured_bytes); };
  scale(figures.bursts);
  scale(figures.read_bytes);
  figures.write_bytes = whole_bytes - figures.read_bytes;
  scale(clocks);
  const __int128 picoseconds = static_cast<__int128>(clocks) * config.dram.timing.clock_ps;
  figures.makespan_cycles =
      static_cast<int64_t>((picoseconds * config.clock_mhz + 999'999) / 1'000'000);
  figures.bus_fraction =
      static_cast<double>(figures.bursts * config.dram.timing.burst_beats / 2) /
      static_cast<double>(std::max<int64_t>(1, clocks) * config.dram.timing.channels);
  return figures;
}

absl::StatusOr<DramFigures> MeasureFlat(const DramStream& stream, NpuConfig config) {
  config.scratchpad.port_bytes_per_cycle = kWidePortBytesPerCycle;
  config.scratchpad.bank_interleave_bytes = 0;
  const TileProgram program = MakeDramProgram(stream, config);
  BERTH_ASSIGN_OR_RETURN(const SimReport report, SimulateTiming(program.view(), config));
  const timing::CostModel costs(config);
  DramFigures figures;
  for (const Command& command : program.commands) {
    figures.bursts += costs.Cost(command).dram.bursts;
  }
  figures.makespan_cycles = report.makespan_cycles;
  figures.read_bytes = report.dram_read_bytes;
  figures.write_bytes = report.dram_write_bytes;
  figures.bus_fraction = static_cast<double>(figures.bursts * config.dram.burst_bytes) * 1000.0 /
                         static_cast<double>(config.dram.peak_millibytes_per_cycle) /
                         static_cast<double>(std::max<int64_t>(1, figures.makespan_cycles));
  return figures;
}

}  // namespace

absl::StatusOr<DramFigures> MeasureDram(const DramStream& stream, const NpuConfig& config) {
  BERTH_RETURN_IF_ERROR(CheckDramStream(stream, config));
  DramFigures figures;
  if (config.dram.model == DramModel::kBanked) {
    figures = MeasureBanked(stream, config);
  } else {
    BERTH_ASSIGN_OR_RETURN(figures, MeasureFlat(stream, config));
  }
  figures.bytes = figures.read_bytes + figures.write_bytes;
  figures.bytes_per_cycle = static_cast<double>(figures.bytes) /
                            static_cast<double>(std::max<int64_t>(1, figures.makespan_cycles));
  figures.latency_cycles =
      figures.read_bytes > 0 ? config.dram.read_latency_cycles : config.dram.write_latency_cycles;
  return figures;
}

}  // namespace berth
