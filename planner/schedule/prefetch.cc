#include "planner/schedule/prefetch.h"

#include <algorithm>
#include <numeric>

#include "base/checked_math.h"
#include "npu_sim/access.h"
#include "npu_sim/operands.h"
#include "planner/schedule/live_profile.h"

namespace berth {
namespace {

template <typename Visit>
void ForEachBuffer(const Command& command, Visit&& visit) {
  for (const Operand* operand : OperandsOf(command)) {
    const bool on_chip =
        operand->space == MemorySpace::kScratchpad || operand->space == MemorySpace::kAccumulator;
    if (on_chip) visit(operand->slot);
  }
}

// Moves data onto the chip and depends on nothing but memory.
bool IsLoad(const Command& command) {
  return command.opcode == Opcode::kDmaLoad || command.opcode == Opcode::kDmaGather ||
         (command.opcode == Opcode::kDmaFill && command.out.space == MemorySpace::kScratchpad);
}

bool IsStore(const Command& command) {
  return command.opcode == Opcode::kDmaStore || command.opcode == Opcode::kDmaScatter ||
         (command.opcode == Opcode::kDmaFill && command.out.space == MemorySpace::kDram) ||
         command.opcode == Opcode::kHostCall;
}

bool SharesDramBytes(const Command& store, const Command& load) {
  for (const Access& written : CollectAccesses(store)) {
    if (!written.is_write || written.space != MemorySpace::kDram) continue;
    for (const Access& read : CollectAccesses(load)) {
      if (read.space == MemorySpace::kDram && MayOverlap(written, read)) return true;
    }
  }
  return false;
}

std::vector<int64_t> Reserved(std::vector<int64_t> live, const std::vector<int64_t>& reserved) {
  for (size_t i = 0; i < reserved.size(); ++i) live[i] += reserved[i];
  return live;
}

// List scheduling in the lowered order, with loads drawn forward through a window.
class Hoister {
 public:
  Hoister(LoweredProgram& lowered, const PrefetchOptions& options)
      : lowered_(lowered),
        options_(options),
        live_(Reserved(LiveBytes(lowered.commands, lowered.buffers), options.reserved_bytes)),
        placed_(lowered.commands.size(), false) {
    std::vector<uint32_t> touches(lowered.buffers.size(), 0);
    started_.assign(lowered.buffers.size(), false);
    touches_placed_.assign(lowered.buffers.size(), 0);
    touch_rank_.resize(lowered.commands.size());
    blocked_until_.assign(lowered.commands.size(), 0);
    for (size_t i = 0; i < lowered.commands.size(); ++i) {
      ForEachBuffer(lowered.commands[i], [&](uint32_t buffer) {
        touch_rank_[i].push_back({buffer, touches[buffer]++});
      });
      if (IsLoad(lowered.commands[i])) loads_.push_back(static_cast<uint32_t>(i));
      if (IsStore(lowered.commands[i])) stores_.push_back(static_cast<uint32_t>(i));
    }
  }

  // The new list, as positions of the lowered one.
  std::vector<uint32_t> Run() {
    for (uint32_t i = 0; i < lowered_.commands.size(); ++i) {
      if (placed_[i]) continue;
      if (!IsLoad(lowered_.commands[i])) DrawLoads(i);
      Place(i);
    }
    return std::move(result_);
  }

 private:
  struct Touch {
    uint32_t buffer;
    uint32_t rank;  // how many touches of the buffer come before this one in the lowered order
  };

  // Places loads that stand behind position `now` in the lowered order, while they are legal and
  // fit.
  void DrawLoads(uint32_t now) {
    while (next_load_ < loads_.size() &&
           (placed_[loads_[next_load_]] || loads_[next_load_] < now)) {
      ++next_load_;
    }
    const size_t end =
        std::min(loads_.size(), next_load_ + static_cast<size_t>(options_.window_loads));
    for (size_t k = next_load_; k < end; ++k) {
      const uint32_t load = loads_[k];
      if (placed_[load]) continue;
      const int64_t bytes = NewBytes(load);
      if (bytes > 0 && live_.Max(now, load) + bytes > options_.scratchpad_limit_bytes) return;
      if (!TouchesInOrder(load) || WaitsForStore(now, load)) continue;
      live_.Add(now, load, bytes);
      Place(load);
    }
  }

  int64_t NewBytes(uint32_t command) const {
    int64_t bytes = 0;
    for (const Touch& touch : touch_rank_[command]) {
      const VirtualBuffer& buffer = lowered_.buffers[touch.buffer];
      if (!started_[touch.buffer] && buffer.space == MemorySpace::kScratchpad) {
        bytes += AlignUp(buffer.size_bytes, buffer.alignment_bytes);
      }
    }
    return bytes;
  }

  // Whatever touches the same buffers earlier in the lowered order is placed already.
  bool TouchesInOrder(uint32_t command) const {
    return std::all_of(
        touch_rank_[command].begin(), touch_rank_[command].end(),
        [&](const Touch& touch) { return touches_placed_[touch.buffer] >= touch.rank; });
  }

  bool WaitsForStore(uint32_t now, uint32_t load) {
    while (next_store_ < stores_.size() && stores_[next_store_] < now) ++next_store_;
    if (lowered_.commands[load].opcode == Opcode::kDmaFill) return false;
    if (lowered_.commands[load].in0.slot == kNoSlot &&
        lowered_.commands[load].in0.region == kConstantsRegion) {
      return false;
    }
    if (blocked_until_[load] > now) return true;
    for (size_t k = next_store_; k < stores_.size() && stores_[k] < load; ++k) {
      if (SharesDramBytes(lowered_.commands[stores_[k]], lowered_.commands[load])) {
        blocked_until_[load] = stores_[k] + 1;
        return true;
      }
    }
    return false;
  }

  void Place(uint32_t index) {
    for (const Touch& touch : touch_rank_[index]) {
      started_[touch.buffer] = true;
      ++touches_placed_[touch.buffer];
    }
    placed_[index] = true;
    result_.push_back(index);
  }

  LoweredProgram& lowered_;
  const PrefetchOptions& options_;
  LiveProfile live_;  // at each position of the lowered order, hoisted loads included
  std::vector<bool> placed_;
  std::vector<uint32_t> result_;
  std::vector<uint32_t> touches_placed_;        // per buffer
  std::vector<bool> started_;                   // per buffer
  std::vector<std::vector<Touch>> touch_rank_;  // per command
  std::vector<uint32_t> loads_, stores_;        // positions in the lowered order
  std::vector<uint32_t> blocked_until_;         // per load: behind this position
  size_t next_load_ = 0, next_store_ = 0;
};

}  // namespace

std::vector<uint32_t> HoistLoads(LoweredProgram& lowered, const PrefetchOptions& options) {
  std::vector<uint32_t> origin(lowered.commands.size());
  std::iota(origin.begin(), origin.end(), 0u);
  if (!options.hoist) return origin;
  origin = Hoister(lowered, options).Run();
  std::vector<Command> commands;
  commands.reserve(origin.size());
  for (const uint32_t index : origin) commands.push_back(lowered.commands[index]);
  lowered.commands = std::move(commands);
  return origin;
}

std::vector<BufferLife> FindBufferLives(const std::vector<Command>& commands, size_t buffer_count) {
  std::vector<BufferLife> lives(buffer_count);
  for (size_t i = 0; i < commands.size(); ++i) {
    ForEachBuffer(commands[i], [&](uint32_t buffer) {
      BufferLife& life = lives[buffer];
      if (life.end_command == 0) life.begin_command = static_cast<uint32_t>(i);
      life.end_command = static_cast<uint32_t>(i) + 1;
    });
  }
  return lives;
}

std::vector<int64_t> LiveBytes(const std::vector<Command>& commands,
                               const std::vector<VirtualBuffer>& buffers, size_t left_out) {
  const std::vector<BufferLife> lives = FindBufferLives(commands, buffers.size());
  std::vector<int64_t> bytes(commands.size() + 1, 0);
  for (size_t i = left_out; i < buffers.size(); ++i) {
    const VirtualBuffer& buffer = buffers[i];
    if (buffer.space != MemorySpace::kScratchpad || lives[i].end_command == 0) continue;
    const int64_t size_bytes = AlignUp(buffer.size_bytes, buffer.alignment_bytes);
    bytes[lives[i].begin_command] += size_bytes;
    bytes[lives[i].end_command] -= size_bytes;
  }
  for (size_t i = 1; i < bytes.size(); ++i) bytes[i] += bytes[i - 1];
  return bytes;
}

}  // namespace berth
