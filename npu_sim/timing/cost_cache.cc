#include "npu_sim/timing/cost_cache.h"

#include <xxhash.h>

#include <cstring>

namespace berth::timing {
namespace {

constexpr size_t kEntries = 256;  // a power of two; with their keys they fit a core's own cache

}  // namespace

CostCache::CostCache(const CostModel& model)
    : model_(model), dram_period_bytes_(model.dram().period_bytes()), entries_(kEntries) {}

Command CostCache::KeyOf(const Command& command) const {
  Command key = command;
  key.engine = 0;
  key.op = key.wait_begin = 0;
  key.wait_count = 0;
  for (Operand* operand : {&key.out, &key.in0, &key.in1, &key.in2, &key.acc}) {
    operand->slot = kNoSlot;
    operand->region = 0;
    if (operand->space == MemorySpace::kDram) operand->offset_bytes %= dram_period_bytes_;
  }
  return key;
}

const CommandCost& CostCache::Cost(const Command& command) {
  const Command key = KeyOf(command);
  Entry& entry = entries_[XXH3_64bits(&key, sizeof(key)) % kEntries];
  if (!entry.known || std::memcmp(&entry.key, &key, sizeof(key)) != 0) {
    entry.key = key;
    entry.cost = model_.Cost(command);
    entry.known = true;
  }
  return entry.cost;
}

}  // namespace berth::timing
