#include "npu_sim/timing/cost_cache.h"

#include <bit>
#include <cstring>

#include "npu_sim/operands.h"

namespace berth::timing {
namespace {

constexpr int kEntryBits = 8;  // with their keys they fit a core's own cache

static_assert(sizeof(Command) % sizeof(uint64_t) == 0);

uint64_t WordAt(const Command& command, size_t byte) {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const char*>(&command) + byte, sizeof(word));
  return word;
}

// The bits of a command on which its cost may depend, as one command: ones there, else zeros.
Command CostBits() {
  Command bits;
  std::memset(static_cast<void*>(&bits), 0xff, sizeof(bits));
  bits.engine = 0;
  bits.op = bits.wait_begin = 0;
  bits.wait_count = 0;
  for (Operand* operand : OperandsOf(bits)) {
    operand->offset_bytes = 0;
    operand->slot = 0;
    operand->region = 0;
  }
  return bits;
}

// Sums of products with odd constants (the fractional digits of a few square roots): they do not
// wait for each other, and the top bits depend on every word.
size_t PlaceOf(const Command& command, const std::array<int64_t, 5>& phases) {
  const auto word = [](int64_t value) { return static_cast<uint64_t>(value); };
  uint64_t sum =
      (uint64_t{command.flags} << 8 | static_cast<uint64_t>(command.opcode)) * 0x6a09e667f3bcc909;
  sum += WordAt(command, offsetof(Command, extent)) * 0xbb67ae8584caa73b;
  sum += WordAt(command, offsetof(Command, extent) + sizeof(uint64_t)) * 0x3c6ef372fe94f82b;
  sum += WordAt(command, offsetof(Command, params)) * 0xa54ff53a5f1d36f1;
  sum += word(phases[0]) * 0x510e527fade682d1;
  sum += word(phases[1]) * 0x9b05688c2b3e6c1f;
  sum += word(phases[2]) * 0x1f83d9abfb41bd6b;
  sum += word(phases[3] + phases[4]) * 0x5be0cd19137e2179;
  return ((sum ^ sum >> 32) * 0x9e3779b97f4a7c15) >> (64 - kEntryBits);
}

}  // namespace

CostCache::CostCache(const CostModel& model)
    : model_(model),
      dram_period_bytes_(model.dram().period_bytes()),
      period_is_power_(std::has_single_bit(static_cast<uint64_t>(dram_period_bytes_))),
      entries_(size_t{1} << kEntryBits) {
  const Command bits = CostBits();
  std::memcpy(mask_.data(), &bits, sizeof(bits));
}

inline int64_t CostCache::Phase(const Operand& operand) const {
  if (operand.space != MemorySpace::kDram) return operand.offset_bytes;
  return period_is_power_ ? operand.offset_bytes & (dram_period_bytes_ - 1)
                          : operand.offset_bytes % dram_period_bytes_;
}

inline bool CostCache::Matches(const Entry& entry, const Command& command,
                               const Phases& phases) const {
  uint64_t difference = 0;
  for (size_t i = 0; i < kWords; ++i) {
    difference |= (WordAt(command, i * sizeof(uint64_t)) ^ entry.words[i]) & mask_[i];
  }
  for (size_t i = 0; i < kOperands; ++i) {
    difference |= static_cast<uint64_t>(phases[i] ^ entry.phases[i]);
  }
  return difference == 0;
}

const CommandCost& CostCache::Cost(const Command& command) {
  const Phases phases = {Phase(command.out), Phase(command.in0), Phase(command.in1),
                         Phase(command.in2), Phase(command.acc)};
  Entry& entry = entries_[PlaceOf(command, phases)];
  if (!entry.known || !Matches(entry, command, phases)) {
    std::memcpy(entry.words.data(), &command, sizeof(command));
    entry.phases = phases;
    entry.cost = model_.Cost(command);
    entry.known = true;
  }
  return entry.cost;
}

}  // namespace berth::timing
