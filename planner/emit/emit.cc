#include "planner/emit/emit.h"

#include <algorithm>

#include "npu_sim/operands.h"
#include "planner/emit/waits.h"

namespace berth {
namespace {

// Numbers the slots: used pool buffers first, then used virtual buffers.
struct SlotTable {
  std::vector<Slot> slots;
  std::vector<std::string> names;
  std::vector<uint32_t> of_storage;  // per storage buffer
  std::vector<uint32_t> of_buffer;   // per virtual buffer
};

SlotTable MakeSlots(const StoragePlan& storage, const LoweredProgram& lowered,
                    const ScratchpadPlan& scratchpad) {
  std::vector<BufferLife> pool_lives(storage.buffers.size());
  for (size_t i = 0; i < lowered.commands.size(); ++i) {
    const Command& command = lowered.commands[i];
    for (const Operand* operand : OperandsOf(command)) {
      if (operand->space != MemorySpace::kDram || operand->slot == kNoSlot) continue;
      BufferLife& life = pool_lives[operand->slot];
      if (life.end_command == 0) life.begin_command = static_cast<uint32_t>(i);
      life.end_command = static_cast<uint32_t>(i) + 1;
    }
  }
  SlotTable table;
  const auto add = [&](Slot slot, std::string name) {
    slot.name = static_cast<uint32_t>(table.names.size());
    table.names.push_back(std::move(name));
    table.slots.push_back(slot);
    return static_cast<uint32_t>(table.slots.size()) - 1;
  };
  for (size_t i = 0; i < storage.buffers.size(); ++i) {
    const StorageBuffer& buffer = storage.buffers[i];
    const BufferLife& life = pool_lives[i];
    table.of_storage.push_back(kNoSlot);
    if (buffer.kind != RegionKind::kPool || life.end_command == 0) continue;
    table.of_storage.back() = add({buffer.offset_bytes, buffer.size_bytes, life.begin_command,
                                   life.end_command, 0, kPoolRegion, MemorySpace::kDram},
                                  buffer.name);
  }
  for (size_t i = 0; i < lowered.buffers.size(); ++i) {
    const VirtualBuffer& buffer = lowered.buffers[i];
    const BufferLife& life = scratchpad.lives[i];
    table.of_buffer.push_back(kNoSlot);
    if (life.end_command == 0) continue;
    table.of_buffer.back() = add({scratchpad.offset_bytes[i], buffer.size_bytes, life.begin_command,
                                  life.end_command, 0, 0, buffer.space},
                                 fmt::format("{}/{}", lowered.ops[buffer.op].name, buffer.role));
  }
  return table;
}

std::vector<DramRegion> MakeRegions(const Graph& graph, const StoragePlan& storage,
                                    const LoweredProgram& lowered) {
  int64_t pool_bytes = 0;
  for (const StorageBuffer& buffer : storage.buffers) {
    if (!IsInPool(buffer)) continue;
    pool_bytes = std::max(pool_bytes, buffer.offset_bytes + buffer.size_bytes);
  }
  std::vector<DramRegion> regions;
  regions.push_back(
      {static_cast<int64_t>(lowered.constants->size()), RegionKind::kConstants, {}, 0});
  regions.push_back({pool_bytes, RegionKind::kPool, {}, 0});
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    regions.push_back({graph.at(graph.inputs[i]).type.ByteCount(),
                       RegionKind::kInput,
                       {},
                       static_cast<uint32_t>(i)});
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    regions.push_back({graph.at(graph.outputs[i]).type.ByteCount(),
                       RegionKind::kOutput,
                       {},
                       static_cast<uint32_t>(i)});
  }
  return regions;
}

// Loads take the channels in turn but for the last, which stores; with one channel all share it.
class EngineChooser {
 public:
  explicit EngineChooser(int channels) : channels_(channels) {}

  uint8_t Choose(const Command& command) {
    switch (EngineOf(command.opcode)) {
      case EngineKind::kMatrix:
        return static_cast<uint8_t>(channels_);
      case EngineKind::kVector:
        return static_cast<uint8_t>(channels_ + 1);
      case EngineKind::kHost:
        return static_cast<uint8_t>(channels_ + 2);
      case EngineKind::kDma:
        break;
    }
    const bool store = command.out.space == MemorySpace::kDram;
    if (channels_ == 1) return 0;
    if (store) return static_cast<uint8_t>(channels_ - 1);
    return static_cast<uint8_t>(next_load_++ % (channels_ - 1));
  }

 private:
  int channels_;
  int next_load_ = 0;
};

void Resolve(Operand& operand, const SlotTable& table, const ScratchpadPlan& scratchpad) {
  if (operand.slot == kNoSlot || !operand.present()) return;
  if (operand.space == MemorySpace::kDram) {
    operand.slot = table.of_storage[operand.slot];
    return;
  }
  operand.offset_bytes += scratchpad.offset_bytes[operand.slot];
  operand.slot = table.of_buffer[operand.slot];
}

}  // namespace

EmittedProgram EmitProgram(const Graph& graph, const StoragePlan& storage,
                           const LoweredProgram& lowered, const ScratchpadPlan& scratchpad,
                           const NpuConfig& config) {
  EmittedProgram emitted;
  SlotTable table = MakeSlots(storage, lowered, scratchpad);
  TileProgram& program = emitted.program;
  program.engines = CoreEngines(static_cast<int>(config.dma.channels));
  program.regions = MakeRegions(graph, storage, lowered);
  program.commands = lowered.commands;
  EngineChooser chooser(static_cast<int>(config.dma.channels));
  for (Command& command : program.commands) {
    for (Operand* operand : OperandsOf(command)) {
      Resolve(*operand, table, scratchpad);
    }
    command.engine = chooser.Choose(command);
  }
  program.slots = std::move(table.slots);
  program.scratchpad_bytes = scratchpad.scratchpad.height_bytes;
  program.accumulator_bytes = scratchpad.accumulator.height_bytes;
  DeriveWaits(program);
  emitted.buffer_names = std::move(table.names);
  emitted.pool_slots = std::move(table.of_storage);
  return emitted;
}

}  // namespace berth
