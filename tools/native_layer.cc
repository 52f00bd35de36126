#include "tools/native_layer.h"

#include <algorithm>

#include "base/checked_math.h"
#include "npu_sim/timing.h"

namespace berth {
namespace {

constexpr uint16_t kReadRegion = 0, kWriteRegion = 1;
constexpr uint32_t kLoadedSlot = 0, kStoredSlot = 1;  // apart: nothing waits for its own loads

int64_t CompulsoryBytes(const Layer& l) {
  if (l.kind == LayerKind::kGemm) return l.batch * (l.m * l.k + l.k * l.n + l.m * l.n);
  return l.input_height * l.input_width * l.input_channels +
         l.filter_height * l.filter_width * (l.input_channels / l.groups) * l.filters +
         l.output_height() * l.output_width() * l.filters;
}

}  // namespace

NativeBuilder::NativeBuilder(const NpuConfig& config, std::string_view name) : config_(config) {
  contents_.model_name = name;
  contents_.config = config;
  contents_.ops.push_back({std::string(name), "layer", "in the machine's own order", 0, 0});
  contents_.program.engines = CoreEngines(static_cast<int>(config.dma.channels));
  contents_.program.regions.resize(2);
  contents_.program.regions[kReadRegion].kind = RegionKind::kInput;
  contents_.program.regions[kWriteRegion].kind = RegionKind::kOutput;
  counts_.resize(contents_.program.engines.size());
}

void NativeBuilder::WaitFor(uint8_t engine, int64_t count) {
  if (count > 0) waits_.push_back({engine, static_cast<uint32_t>(count)});
}

void NativeBuilder::Add(Command command, uint8_t engine) {
  TileProgram& program = contents_.program;
  command.engine = engine;
  command.wait_begin = static_cast<uint32_t>(program.waits.size());
  command.wait_count = static_cast<uint16_t>(waits_.size());
  program.waits.insert(program.waits.end(), waits_.begin(), waits_.end());
  program.commands.push_back(command);
  waits_.clear();
  ++counts_[engine];
}

void NativeBuilder::Load(uint8_t channel, int64_t dram_offset_bytes,
                         int64_t scratchpad_offset_bytes, int64_t bytes) {
  Transfer(channel, /*is_write=*/false, dram_offset_bytes, scratchpad_offset_bytes, bytes);
}

void NativeBuilder::Store(uint8_t channel, int64_t dram_offset_bytes, int64_t bytes) {
  Transfer(channel, /*is_write=*/true, dram_offset_bytes, 0, bytes);
}

void NativeBuilder::Transfer(uint8_t channel, bool is_write, int64_t dram_offset_bytes,
                             int64_t scratchpad_offset_bytes, int64_t bytes) {
  Command command;
  command.opcode = is_write ? Opcode::kDmaStore : Opcode::kDmaLoad;
  Operand& far = is_write ? command.out : command.in0;
  Operand& near = is_write ? command.in0 : command.out;
  far.space = MemorySpace::kDram;
  far.region = is_write ? kWriteRegion : kReadRegion;
  far.offset_bytes = dram_offset_bytes;
  near.space = MemorySpace::kScratchpad;
  near.slot = is_write ? kStoredSlot : kLoadedSlot;
  near.offset_bytes = scratchpad_offset_bytes;
  far.dtype = near.dtype = DType::kInt8;
  far.stride_bytes[3] = near.stride_bytes[3] = 1;
  command.extent[3] = static_cast<int32_t>(bytes);
  Add(command, channel);
}

BundleContents NativeBuilder::Take(int64_t dram_bytes) {
  int64_t macs = 0;
  for (const Command& command : contents_.program.commands) macs += CommandMacs(command);
  contents_.ops[0].macs = macs;
  contents_.ops[0].min_dram_bytes = dram_bytes;
  contents_.dram_bytes_lower_bound = dram_bytes;
  contents_.cycles_lower_bound =
      std::max(CeilDiv(macs, config_.matrix.int8_macs_per_cycle),
               CeilDiv(dram_bytes * 1000, config_.dram.peak_millibytes_per_cycle));
  return std::move(contents_);
}

bool HasNativeOrder(const Layer& layer, const NpuConfig& config) {
  if (layer.dtype != DType::kInt8) return false;
  switch (config.layer_order) {
    case LayerOrder::kPlanned:
      return false;
    case LayerOrder::kKernelGroups:
      return layer.kind == LayerKind::kConv && layer.groups == 1 && config.dma.channels >= 3;
    case LayerOrder::kOperandBlocks:
      return layer.kind == LayerKind::kGemm && config.dma.channels >= 2;
  }
  return false;
}

absl::StatusOr<BundleContents> NativeLayer(const Layer& layer, const NpuConfig& config) {
  NativeBuilder builder(config, "layer");
  BERTH_RETURN_IF_ERROR(config.layer_order == LayerOrder::kKernelGroups
                            ? AddKernelGroups(layer, config, builder)
                            : AddOperandBlocks(layer, config, builder));
  return builder.Take(CompulsoryBytes(layer));
}

}  // namespace berth
