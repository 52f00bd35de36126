#include "planner/schedule/place.h"

#include <algorithm>
#include <map>

#include "npu_sim/operands.h"
#include "planner/check_stop.h"

namespace berth {
namespace {

constexpr int64_t kPoolAlignment = 64;
constexpr int64_t kQuickPoolUnits = 1'000'000;  // PoolOptions: about 3 ms

// Buffers of one op and role in one alias group, as long as their lives do not overlap.
void AliasRoles(const LoweredProgram& lowered, std::vector<PoolItem>& items) {
  struct Family {
    int64_t group = 0;
    int64_t end_step = 0;
  };
  std::map<std::pair<uint32_t, std::string>, std::vector<Family>> families;
  std::vector<PoolItem*> by_begin;
  for (PoolItem& item : items) by_begin.push_back(&item);
  std::sort(by_begin.begin(), by_begin.end(), [](const PoolItem* a, const PoolItem* b) {
    return std::pair(a->begin_step, a->id) < std::pair(b->begin_step, b->id);
  });
  int64_t next_group = 0;
  for (PoolItem* item : by_begin) {
    const VirtualBuffer& buffer = lowered.buffers[static_cast<size_t>(item->id)];
    std::vector<Family>& members = families[{buffer.op, buffer.role}];
    const auto free = std::find_if(members.begin(), members.end(), [&](const Family& family) {
      return family.end_step <= item->begin_step;
    });
    if (free == members.end()) {
      item->alias_group = next_group;
      members.push_back({next_group++, item->end_step});
    } else {
      item->alias_group = free->group;
      free->end_step = item->end_step;
    }
  }
}

// By buffer: those that commands of the matrix and vector units use together with it.
std::vector<std::vector<uint32_t>> FindUsedWith(const LoweredProgram& lowered) {
  std::vector<std::vector<uint32_t>> used_with(lowered.buffers.size());
  for (const Command& command : lowered.commands) {
    if (EngineOf(command.opcode) == EngineKind::kDma) continue;
    std::vector<uint32_t> buffers;
    for (const Operand* operand : OperandsOf(command)) {
      if (operand->space == MemorySpace::kScratchpad && operand->slot != kNoSlot) {
        buffers.push_back(operand->slot);
      }
    }
    for (const uint32_t a : buffers) {
      for (const uint32_t b : buffers) {
        if (a != b) used_with[a].push_back(b);
      }
    }
  }
  for (std::vector<uint32_t>& others : used_with) {
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
  }
  return used_with;
}

// Tells the scratchpad's items which of them are used together.
void TellUsedWith(const LoweredProgram& lowered, PoolProblem& problem) {
  std::vector<int32_t> item_of(lowered.buffers.size(), -1);
  for (size_t k = 0; k < problem.items.size(); ++k) {
    item_of[static_cast<size_t>(problem.items[k].id)] = static_cast<int32_t>(k);
  }
  const std::vector<std::vector<uint32_t>> used_with = FindUsedWith(lowered);
  for (PoolItem& item : problem.items) {
    for (const uint32_t other : used_with[static_cast<size_t>(item.id)]) {
      if (item_of[other] >= 0) item.used_with.push_back(item_of[other]);
    }
  }
}

// A memory in which buffers are placed.
struct Space {
  MemorySpace space = MemorySpace::kScratchpad;
  int64_t capacity_bytes = 0;
  int64_t bank_bytes = 0;  // PoolProblem::bank_bytes
};

Space ScratchpadSpace(const ScratchpadConfig& config) {
  // Where banks are interleaved every place meets all of them.
  const bool has_banks = config.banks > 1 && config.bank_interleave_bytes == 0;
  return {MemorySpace::kScratchpad, config.size_bytes,
          has_banks ? config.size_bytes / config.banks : 0};
}

struct Placed {
  std::optional<Shortage> shortage;
  PoolPlan plan;
  int64_t buffers = 0;
};

absl::StatusOr<Placed> PlaceSpace(const LoweredProgram& lowered, const Space& memory,
                                  const PlaceOptions& options, const std::vector<BufferLife>& lives,
                                  std::vector<int64_t>& offset_bytes) {
  PoolProblem problem;
  problem.capacity_bytes = memory.capacity_bytes;
  problem.bank_bytes = memory.bank_bytes;
  problem.objective = PoolObjective::kFitThenReuse;
  for (size_t i = 0; i < lowered.buffers.size(); ++i) {
    const VirtualBuffer& buffer = lowered.buffers[i];
    if (buffer.space != memory.space || lives[i].end_command == 0) continue;
    PoolItem item;
    item.id = static_cast<int64_t>(i);
    item.begin_step = lives[i].begin_command;
    item.end_step = lives[i].end_command;
    item.size_bytes = std::max<int64_t>(buffer.size_bytes, 1);
    item.alignment_bytes = buffer.alignment_bytes;
    item.name = fmt::format("{}/{}", lowered.ops[buffer.op].name, buffer.role);
    problem.items.push_back(std::move(item));
  }
  if (options.apart_in_banks && memory.bank_bytes > 0) TellUsedWith(lowered, problem);
  if (!options.double_buffer) AliasRoles(lowered, problem.items);
  BERTH_ASSIGN_OR_RETURN(PoolPlan plan, PlanPool(problem, {.only_rotate = options.only_rotate}));
  if (plan.conflict) {
    const std::string_view name =
        memory.space == MemorySpace::kScratchpad ? "scratchpad" : "accumulator";
    return Placed{Shortage{memory.space, plan.conflict->step, plan.conflict->excess_bytes,
                           fmt::format("{}: {}", name, DescribeConflict(problem, plan))},
                  {},
                  0};
  }
  for (size_t k = 0; k < problem.items.size(); ++k) {
    offset_bytes[static_cast<size_t>(problem.items[k].id)] = plan.offset_bytes[k];
  }
  return Placed{std::nullopt, std::move(plan), static_cast<int64_t>(problem.items.size())};
}

}  // namespace

absl::StatusOr<ScratchpadPlan> PlaceBuffers(const LoweredProgram& lowered, const NpuConfig& config,
                                            const PlaceOptions& options) {
  ScratchpadPlan result;
  result.lives = FindBufferLives(lowered.commands, lowered.buffers.size());
  result.offset_bytes.assign(lowered.buffers.size(), 0);
  BERTH_ASSIGN_OR_RETURN(Placed scratchpad, PlaceSpace(lowered, ScratchpadSpace(config.scratchpad),
                                                       options, result.lives, result.offset_bytes));
  const Space accumulators = {MemorySpace::kAccumulator, config.accumulator.size_bytes, 0};
  BERTH_ASSIGN_OR_RETURN(Placed accumulator, PlaceSpace(lowered, accumulators, options,
                                                        result.lives, result.offset_bytes));
  result.shortage = scratchpad.shortage ? scratchpad.shortage : accumulator.shortage;
  result.scratchpad = std::move(scratchpad.plan);
  result.scratchpad_buffers = scratchpad.buffers;
  result.accumulator = std::move(accumulator.plan);
  result.accumulator_buffers = accumulator.buffers;
  return result;
}

absl::StatusOr<PoolPlan> PlacePool(StoragePlan& storage, const PlacePoolOptions& options) {
  PoolProblem problem;
  if (options.budget_bytes > 0) problem.capacity_bytes = options.budget_bytes;
  for (size_t i = 0; i < storage.buffers.size(); ++i) {
    const StorageBuffer& buffer = storage.buffers[i];
    if (!IsInPool(buffer)) continue;
    PoolItem item;
    item.id = static_cast<int64_t>(i);
    item.begin_step = buffer.begin_step;
    item.end_step = buffer.end_step;
    item.size_bytes = buffer.size_bytes;
    item.alignment_bytes = kPoolAlignment;
    item.name = buffer.name;
    problem.items.push_back(std::move(item));
  }
  PoolOptions search;
  if (!options.search && options.budget_bytes == 0) search.work_limit_units = kQuickPoolUnits;
  search.should_stop = [&] { return ShouldStop(options.stop); };
  BERTH_ASSIGN_OR_RETURN(PoolPlan plan, PlanPool(problem, search));
  BERTH_RETURN_IF_ERROR(CheckCompilation(options.stop));
  if (plan.conflict) {
    return ResourceExhausted("{}", DescribeConflict(problem, plan));
  }
  for (size_t k = 0; k < problem.items.size(); ++k) {
    storage.buffers[static_cast<size_t>(problem.items[k].id)].offset_bytes = plan.offset_bytes[k];
  }
  return plan;
}

}  // namespace berth
