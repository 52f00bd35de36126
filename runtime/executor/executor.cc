#include "runtime/executor/executor.h"

#include <algorithm>
#include <new>
#include <thread>

#include "base/checked_math.h"
#include "base/no_memory.h"

namespace berth {
namespace {

constexpr int64_t kCacheLineBytes = 64;
constexpr int kSpinsBeforeYield = 64;
constexpr std::chrono::microseconds kWatchdogStep{100};
// Reading the clock costs as much as a small command. Together the brief parts between two looks
// take less than a millisecond.
constexpr int64_t kBriefSteps = int64_t{1} << 14;
constexpr int kBriefPartsPerLook = 16;
// Of parts that together take no longer than one brief part may. A claim costs its worker some
// cache lines that the others have written.
constexpr int64_t kMostClaimed = 128;

void Pause() { __builtin_ia32_pause(); }

// Where what stands in the working memory of a run. A single worker needs scratch alone.
struct WorkingLayout {
  int64_t predecessors = 0, parts = 0, queue = 0, scratch = 0, size_bytes = 0;
};

WorkingLayout LayOutWorking(const ExecutionPlan& plan, int workers) {
  WorkingLayout layout;
  int64_t next = 0;
  const auto take = [&](int64_t size_bytes) {
    return std::exchange(next, AlignUp(next + size_bytes, kCacheLineBytes));
  };
  if (workers > 1) {
    const auto commands = static_cast<int64_t>(plan.commands.size());
    layout.predecessors = take(commands * int64_t{sizeof(std::atomic<uint32_t>)});
    layout.parts = take(commands * int64_t{sizeof(std::atomic<uint32_t>)});
    layout.queue = take(plan.part_total * int64_t{sizeof(std::atomic<uint64_t>)});
  }
  layout.scratch = take(plan.scratch_bytes * workers);
  layout.size_bytes = next;
  return layout;
}

}  // namespace

ExecutionPlan MakeExecutionPlan(absl::Span<const Command> commands,
                                const ConflictGraphView& conflicts) {
  ExecutionPlan plan;
  plan.commands = commands;
  plan.conflicts = conflicts;
  plan.part_counts.reserve(commands.size());
  plan.brief_steps.reserve(commands.size());
  for (size_t i = 0; i < commands.size(); ++i) {
    const int parts = PartCount(commands[i]);
    plan.part_counts.push_back(static_cast<uint16_t>(parts));
    plan.part_total += parts;
    const int64_t steps = std::max<int64_t>(StepsPerPart(commands[i]), 1);
    const bool is_brief = commands[i].opcode != Opcode::kHostCall && steps <= kBriefSteps;
    plan.brief_steps.push_back(static_cast<uint16_t>(is_brief ? steps : 0));
    plan.scratch_bytes = std::max(plan.scratch_bytes, ScratchBytes(commands[i]));
    if (conflicts.predecessor_count[i] == 0) plan.roots.push_back(static_cast<uint32_t>(i));
  }
  plan.scratch_bytes = AlignUp(plan.scratch_bytes, kCacheLineBytes);
  return plan;
}

int64_t WorkingBytes(const ExecutionPlan& plan, int workers) {
  return LayOutWorking(plan, workers).size_bytes;
}

Executor::Worker Executor::MakeWorker(int number) const {
  return {number,
          {scratch_ + plan_.scratch_bytes * number, static_cast<size_t>(plan_.scratch_bytes)}};
}

absl::Status Executor::Run(const ExecutorRun& run) {
  BERTH_RETURN_IF_ERROR(CheckStop(run.stop));
  if (run.timeline != nullptr) run.timeline->Begin(plan_.part_total);
  if (plan_.commands.empty()) return absl::OkStatus();
  run_ = &run;
  const int workers = run.workers.workers;
  scratch_ = run.working + LayOutWorking(plan_, workers).scratch;
  if (workers <= 1 || run.workers.arena == nullptr) return RunInline();
  Reset();
  const uint64_t number = gate_->Open();
  // Without helpers the run is slower, not wrong.
  (void)CatchNoMemory([&] {
    for (int worker = 1; worker < workers; ++worker) {
      run.workers.arena->enqueue([this, worker, number, gate = gate_] {
        if (!gate->Enter(number)) return;
        WorkerLoop(worker);
        gate->Leave();
      });
    }
    return absl::OkStatus();
  });
  WorkerLoop(0);
  gate_->Close();
  return std::exchange(failure_, absl::OkStatus());
}

absl::Status Executor::RunInline() {
  Worker worker = MakeWorker(0);
  for (size_t i = 0; i < plan_.commands.size(); ++i) {
    for (int part = 0; part < plan_.part_counts[i]; ++part) {
      BERTH_RETURN_IF_ERROR(
          Execute({static_cast<uint32_t>(i), static_cast<uint32_t>(part)}, worker));
    }
  }
  return absl::OkStatus();
}

absl::Status Executor::CheckStopBefore(uint32_t command, Worker& worker) const {
  if (plan_.IsBrief(command) && ++worker.brief_parts < kBriefPartsPerLook) {
    return CheckStop({run_->stop.cancel, std::nullopt});
  }
  worker.brief_parts = 0;
  return CheckStop(run_->stop);
}

absl::Status Executor::Execute(Work work, Worker& worker) {
  BERTH_RETURN_IF_ERROR(CheckStopBefore(work.command, worker));
  const absl::Status status = CatchNoMemory([&] {
    return run_->timeline != nullptr || run_->fault != nullptr
               ? ExecuteObserved(work, worker)
               : ExecuteCommand(plan_.commands[work.command], static_cast<int>(work.part),
                                run_->memory, worker.scratch, run_->host_functions);
  });
  if (status.ok()) return status;
  const Command& command = plan_.commands[work.command];
  return Annotate(status, fmt::format("command {} ({}, op {})", work.command,
                                      OpcodeName(command.opcode), command.op));
}

absl::Status Executor::ExecuteObserved(Work work, const Worker& worker) {
  if (run_->fault != nullptr && run_->fault->command == work.command) return Inject(*run_->fault);
  HostTimeline* const timeline = run_->timeline;
  HostSpan span{work.command, static_cast<uint16_t>(work.part),
                static_cast<uint16_t>(worker.number)};
  if (timeline != nullptr) span.begin_ns = timeline->Now();
  const absl::Status status =
      ExecuteCommand(plan_.commands[work.command], static_cast<int>(work.part), run_->memory,
                     worker.scratch, run_->host_functions);
  if (timeline != nullptr) {
    span.end_ns = timeline->Now();
    timeline->Add(span);
  }
  return status;
}

// A command that hangs is given up by the watchdog, or before it where the run is to stop.
absl::Status Executor::Inject(const FaultInjection& fault) const {
  if (fault.fault == MachineFault::kError) {
    return Error(absl::StatusCode::kUnavailable, "the engine reports an error");
  }
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < fault.watchdog) {
    BERTH_RETURN_IF_ERROR(CheckStop(run_->stop));
    std::this_thread::sleep_for(std::min(kWatchdogStep, fault.watchdog));
  }
  return Error(absl::StatusCode::kUnavailable, "not done within {} us, says the watchdog",
               fault.watchdog.count());
}

void Executor::Reset() {
  const WorkingLayout layout = LayOutWorking(plan_, run_->workers.workers);
  const size_t commands = plan_.commands.size();
  predecessors_left_ = new (run_->working + layout.predecessors) std::atomic<uint32_t>[commands];
  parts_left_ = new (run_->working + layout.parts) std::atomic<uint32_t>[commands];
  queue_ = new (run_->working + layout.queue) QueueEntry[static_cast<size_t>(plan_.part_total)];
  for (size_t i = 0; i < commands; ++i) {
    predecessors_left_[i].store(plan_.conflicts.predecessor_count[i], std::memory_order_relaxed);
    parts_left_[i].store(plan_.part_counts[i], std::memory_order_relaxed);
  }
  queue_head_.store(0, std::memory_order_relaxed);
  commands_left_.store(static_cast<int64_t>(commands), std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  failure_ = absl::OkStatus();
  size_t tail = 0;  // nobody else is there yet
  for (const uint32_t root : plan_.roots) {
    for (uint32_t part = 0; part < plan_.part_counts[root]; ++part) {
      queue_[tail++].store(ToEntry({root, part}), std::memory_order_relaxed);
    }
  }
  queue_tail_.store(static_cast<int64_t>(tail), std::memory_order_relaxed);
}

void Executor::Push(Work work) {
  const int64_t at = queue_tail_.fetch_add(1, std::memory_order_relaxed);
  queue_[static_cast<size_t>(at)].store(ToEntry(work), std::memory_order_release);
}

bool Executor::Claim(Worker& worker) {
  int64_t head = queue_head_.load(std::memory_order_relaxed);
  while (head < plan_.part_total) {
    const int64_t waiting = queue_tail_.load(std::memory_order_relaxed) - head;
    const int64_t share = std::clamp(waiting / run_->workers.workers, int64_t{1}, kMostClaimed);
    int64_t end = head;
    for (int64_t steps_left = kBriefSteps; end < head + share; ++end) {
      // An entry is final once written, so seeing it is enough to claim it.
      const uint64_t entry = queue_[static_cast<size_t>(end)].load(std::memory_order_acquire);
      if (entry == 0) break;
      const uint32_t command = FromEntry(entry).command;
      // What may take long is claimed alone.
      const int64_t steps = plan_.IsBrief(command) ? plan_.brief_steps[command] : kBriefSteps;
      if (end > head && steps > steps_left) break;
      steps_left -= steps;
    }
    if (end == head) return false;
    if (queue_head_.compare_exchange_weak(head, end, std::memory_order_relaxed)) {
      worker.next_claimed = head;
      worker.end_claimed = end;
      return true;
    }
  }
  return false;
}

bool Executor::Take(Worker& worker, Work& work) {
  if (!worker.has_claimed() && !Claim(worker)) return false;
  const auto at = static_cast<size_t>(worker.next_claimed++);
  work = FromEntry(queue_[at].load(std::memory_order_relaxed));
  return true;
}

Executor::Work Executor::Begin(uint32_t command) {
  for (uint32_t part = 1; part < plan_.part_counts[command]; ++part) Push({command, part});
  return {command, 0};
}

bool Executor::IsCommandDone(uint32_t command) {
  return plan_.part_counts[command] == 1 ||
         parts_left_[command].fetch_sub(1, std::memory_order_acq_rel) == 1;
}

bool Executor::Finish(uint32_t command, Worker& worker, Work& next) {
  ++worker.commands_done;
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
  return found;
}

bool Executor::AreAllDone(Worker& worker) {
  const int64_t done = std::exchange(worker.commands_done, 0);
  if (done > 0) return commands_left_.fetch_sub(done, std::memory_order_acq_rel) == done;
  return commands_left_.load(std::memory_order_acquire) == 0;
}

void Executor::Fail(absl::Status status) {
  bool expected = false;
  if (failed_.compare_exchange_strong(expected, true)) failure_ = std::move(status);
}

void Executor::WorkerLoop(int number) {
  Worker worker = MakeWorker(number);
  Work work;
  bool has_work = false;
  int idle_spins = 0;
  while (!failed_.load(std::memory_order_relaxed)) {
    if (!has_work && !Take(worker, work)) {
      if (AreAllDone(worker)) return;
      if (++idle_spins < kSpinsBeforeYield) {
        Pause();
      } else {
        std::this_thread::yield();
      }
      continue;
    }
    idle_spins = 0;
    absl::Status status = Execute(work, worker);
    if (!status.ok()) return Fail(std::move(status));
    has_work = IsCommandDone(work.command) && Finish(work.command, worker, work);
    // What was claimed does not wait for what follows.
    if (has_work && worker.has_claimed()) {
      Push(work);
      has_work = false;
    }
  }
}

}  // namespace berth
