// Layers as a machine orders them itself. A fixed-function core and a simulator with a mapping of
// its own do not run our planner's programs: NpuConfig::layer_order says which order is theirs, and
// here that order is written down as a program of our machine (timing only: no values, no slots).
// Derivation: docs/machine.md, "Layers in a machine's own order".
#pragma once

#include "tools/layer_program.h"

namespace berth {

// True if the machine orders this kind of layer itself.
bool HasNativeOrder(const Layer& layer, const NpuConfig& config);

// InvalidArgument for layers that the machine cannot hold or that need too many commands.
absl::StatusOr<BundleContents> NativeLayer(const Layer& layer, const NpuConfig& config);

// What both orders share.
class NativeBuilder {
 public:
  NativeBuilder(const NpuConfig& config, std::string_view name);

  // Engines by position: the channels first, then the matrix unit.
  uint8_t matrix() const { return static_cast<uint8_t>(config_.dma.channels); }
  int64_t count(uint8_t engine) const { return counts_[engine]; }
  // The next command waits until `engine` has finished `count` of its commands (0: does not).
  void WaitFor(uint8_t engine, int64_t count);
  // `bytes` in a row between DRAM and the scratchpad.
  void Load(uint8_t channel, int64_t dram_offset_bytes, int64_t scratchpad_offset_bytes,
            int64_t bytes);
  void Store(uint8_t channel, int64_t dram_offset_bytes, int64_t bytes);
  void Add(Command command, uint8_t engine);

  int64_t command_count() const { return static_cast<int64_t>(contents_.program.commands.size()); }
  // `dram_bytes`: operands and result once. MACs are counted from the commands.
  BundleContents Take(int64_t dram_bytes);

 private:
  void Transfer(uint8_t channel, bool is_write, int64_t dram_offset_bytes,
                int64_t scratchpad_offset_bytes, int64_t bytes);

  const NpuConfig& config_;
  BundleContents contents_;
  std::vector<int64_t> counts_;  // commands so far, by engine
  std::vector<Wait> waits_;      // of the next command
};

// nvdla_small: a convolution of one group, data first, then group after group of kernels.
absl::Status AddKernelGroups(const Layer& layer, const NpuConfig& config, NativeBuilder& builder);
// onnxim_ws_32: a product in square tiles, its operands in square blocks.
absl::Status AddOperandBlocks(const Layer& layer, const NpuConfig& config, NativeBuilder& builder);

}  // namespace berth
