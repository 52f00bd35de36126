#include "runtime/executor/executor.h"

#include <tbb/task_group.h>

#include <algorithm>
#include <thread>

#include "base/checked_math.h"

namespace berth {
namespace {

constexpr int64_t kCacheLineBytes = 64;
constexpr int kSpinsBeforeYield = 64;

void Pause() { __builtin_ia32_pause(); }

}  // namespace

ExecutionPlan MakeExecutionPlan(absl::Span<const Command> commands,
                                const ConflictGraphView& conflicts) {
  ExecutionPlan plan;
  plan.commands = commands;
  plan.conflicts = conflicts;
  plan.part_counts.reserve(commands.size());
  for (size_t i = 0; i < commands.size(); ++i) {
    const int parts = PartCount(commands[i]);
    plan.part_counts.push_back(static_cast<uint16_t>(parts));
    plan.part_total += parts;
    plan.scratch_bytes = std::max(plan.scratch_bytes, ScratchBytes(commands[i]));
    if (conflicts.predecessor_count[i] == 0) plan.roots.push_back(static_cast<uint32_t>(i));
  }
  plan.scratch_bytes = AlignUp(plan.scratch_bytes, kCacheLineBytes);
  return plan;
}

Executor::Executor(const ExecutionPlan& plan, int max_workers)
    : plan_(plan),
      max_workers_(std::max(max_workers, 1)),
      predecessors_left_(new std::atomic<uint32_t>[plan.commands.size()]),
      parts_left_(new std::atomic<uint32_t>[plan.commands.size()]),
      queue_(new QueueEntry[static_cast<size_t>(plan.part_total)]),
      scratch_(static_cast<size_t>(plan.scratch_bytes * max_workers_ + kCacheLineBytes)) {}

absl::Span<std::byte> Executor::ScratchOf(int worker) {
  const auto base = reinterpret_cast<uintptr_t>(scratch_.data());
  const uintptr_t aligned = (base + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  return {reinterpret_cast<std::byte*>(aligned) + plan_.scratch_bytes * worker,
          static_cast<size_t>(plan_.scratch_bytes)};
}

absl::Status CheckStop(const StopConditions& stop) {
  if (stop.cancel != nullptr && stop.cancel->load(std::memory_order_relaxed)) {
    return Cancelled("the run was cancelled");
  }
  if (stop.deadline && std::chrono::steady_clock::now() >= *stop.deadline) {
    return DeadlineExceeded("the run's deadline has passed");
  }
  return absl::OkStatus();
}

absl::Status Executor::Run(const MemoryMap& memory, HostFunctionTable host_functions,
                           const StopConditions& stop, const WorkerSource& source,
                           HostTimeline* timeline) {
  BERTH_RETURN_IF_ERROR(CheckStop(stop));
  timeline_ = timeline;
  if (timeline_ != nullptr) timeline_->Begin(plan_.part_total);
  if (plan_.commands.empty()) return absl::OkStatus();
  const int workers = std::min(source.workers, max_workers_);
  if (workers <= 1) return RunInline(memory, host_functions, stop);
  Reset();
  const auto run = [&] {
    tbb::task_group group;
    for (int worker = 1; worker < workers; ++worker) {
      group.run([this, worker, &memory, host_functions, &stop] {
        WorkerLoop(worker, memory, host_functions, stop);
      });
    }
    WorkerLoop(0, memory, host_functions, stop);
    group.wait();
  };
  if (source.arena != nullptr) {
    source.arena->execute(run);
  } else {
    run();
  }
  return failure_;
}

absl::Status Executor::RunInline(const MemoryMap& memory, HostFunctionTable host_functions,
                                 const StopConditions& stop) {
  const absl::Span<std::byte> scratch = ScratchOf(0);
  for (size_t i = 0; i < plan_.commands.size(); ++i) {
    BERTH_RETURN_IF_ERROR(CheckStop(stop));
    for (int part = 0; part < plan_.part_counts[i]; ++part) {
      BERTH_RETURN_IF_ERROR(Execute({static_cast<uint32_t>(i), static_cast<uint32_t>(part)}, 0,
                                    memory, scratch, host_functions));
    }
  }
  return absl::OkStatus();
}

absl::Status Executor::Execute(Work work, int worker, const MemoryMap& memory,
                               absl::Span<std::byte> scratch, HostFunctionTable host_functions) {
  HostSpan span{work.command, static_cast<uint16_t>(work.part), static_cast<uint16_t>(worker)};
  if (timeline_ != nullptr) span.begin_ns = timeline_->Now();
  const absl::Status status = ExecuteCommand(
      plan_.commands[work.command], static_cast<int>(work.part), memory, scratch, host_functions);
  if (timeline_ != nullptr) {
    span.end_ns = timeline_->Now();
    timeline_->Add(span);
  }
  return status.ok() ? status : Annotate(status, fmt::format("command {}", work.command));
}

void Executor::Reset() {
  for (size_t i = 0; i < plan_.commands.size(); ++i) {
    predecessors_left_[i].store(plan_.conflicts.predecessor_count[i], std::memory_order_relaxed);
    parts_left_[i].store(plan_.part_counts[i], std::memory_order_relaxed);
  }
  for (int64_t i = 0; i < plan_.part_total; ++i) {
    queue_[static_cast<size_t>(i)].store(0, std::memory_order_relaxed);
  }
  queue_head_.store(0, std::memory_order_relaxed);
  queue_tail_.store(0, std::memory_order_relaxed);
  commands_left_.store(static_cast<int64_t>(plan_.commands.size()), std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  failure_ = absl::OkStatus();
  for (const uint32_t root : plan_.roots) {
    for (uint32_t part = 0; part < plan_.part_counts[root]; ++part) Push({root, part});
  }
}

void Executor::Push(Work work) {
  const int64_t at = queue_tail_.fetch_add(1, std::memory_order_relaxed);
  const uint64_t entry = (uint64_t{work.command} + 1) << 16 | work.part;
  queue_[static_cast<size_t>(at)].store(entry, std::memory_order_release);
}

bool Executor::Pop(Work& work) {
  int64_t head = queue_head_.load(std::memory_order_relaxed);
  while (head < plan_.part_total) {
    // An entry is final once written, so seeing it is enough to claim it.
    const uint64_t entry = queue_[static_cast<size_t>(head)].load(std::memory_order_acquire);
    if (entry == 0) return false;
    if (queue_head_.compare_exchange_weak(head, head + 1, std::memory_order_relaxed)) {
      work = {static_cast<uint32_t>((entry >> 16) - 1), static_cast<uint32_t>(entry & 0xffff)};
      return true;
    }
  }
  return false;
}

Executor::Work Executor::Begin(uint32_t command) {
  for (uint32_t part = 1; part < plan_.part_counts[command]; ++part) Push({command, part});
  return {command, 0};
}

bool Executor::Finish(uint32_t command, Work& next) {
  bool found = false;
  const ConflictGraphView& graph = plan_.conflicts;
  for (uint32_t k = graph.successor_begin[command]; k < graph.successor_begin[command + 1]; ++k) {
    const uint32_t successor = graph.successors[k];
    if (predecessors_left_[successor].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    const Work ready = Begin(successor);
    if (found) {
      Push(ready);
    } else {
      next = ready;
      found = true;
    }
  }
  commands_left_.fetch_sub(1, std::memory_order_release);
  return found;
}

void Executor::Fail(absl::Status status) {
  bool expected = false;
  if (failed_.compare_exchange_strong(expected, true)) failure_ = std::move(status);
}

void Executor::WorkerLoop(int worker, const MemoryMap& memory, HostFunctionTable host_functions,
                          const StopConditions& stop) {
  const absl::Span<std::byte> scratch = ScratchOf(worker);
  Work work;
  bool has_work = false;
  int idle_spins = 0;
  while (!failed_.load(std::memory_order_relaxed)) {
    if (!has_work && !Pop(work)) {
      if (commands_left_.load(std::memory_order_acquire) == 0) return;
      if (++idle_spins < kSpinsBeforeYield) {
        Pause();
      } else {
        std::this_thread::yield();
      }
      continue;
    }
    idle_spins = 0;
    absl::Status status = CheckStop(stop);
    if (status.ok()) status = Execute(work, worker, memory, scratch, host_functions);
    if (!status.ok()) return Fail(std::move(status));
    const bool last_part = parts_left_[work.command].fetch_sub(1, std::memory_order_acq_rel) == 1;
    has_work = last_part && Finish(work.command, work);
  }
}

}  // namespace berth
