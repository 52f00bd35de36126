// Runs the commands of a verified program on the host, as parallel as their true conflicts allow.
//
// Workers loop over one preallocated queue of ready work, of which they take brief commands several
// at a time; a worker that has none left and makes one ready runs it itself, the rest is for
// whoever comes. The calling thread is a worker; the others are helpers from an arena, who come
// when they can and without whom it gets on as well. An executor owns no memory and a run allocates
// nothing: counters, queue and the workers' scratch stand in bytes of the caller's. Results do not
// depend on the number of workers: commands that conflict run in program order, and a command's
// parts are fixed. A run that is cancelled stops before the next part of a command; the clock is
// read before each part that may take long, and now and then between brief ones. Cost: O(commands +
// conflicts), a few atomic operations per command.
#pragma once

#include <tbb/task_arena.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/stop.h"
#include "berth/fault_injection.h"
#include "berth/host_timeline.h"
#include "npu_sim/conflict_graph.h"
#include "npu_sim/units.h"
#include "runtime/executor/helper_gate.h"

namespace berth {

// The parts of a program that an executor needs and that do not change: made once, shared.
struct ExecutionPlan {
  absl::Span<const Command> commands;
  ConflictGraphView conflicts;
  std::vector<uint16_t> part_counts;  // per command
  std::vector<uint16_t> brief_steps;  // per command: StepsPerPart, at least 1; 0: may take long
  std::vector<uint32_t> roots;        // commands without predecessors
  int64_t part_total = 0;
  int64_t scratch_bytes = 0;  // per worker

  // Each of its parts is over in tens of microseconds.
  bool IsBrief(size_t command) const { return brief_steps[command] != 0; }
};
ExecutionPlan MakeExecutionPlan(absl::Span<const Command> commands,
                                const ConflictGraphView& conflicts);

// Where the workers come from.
struct WorkerSource {
  int workers = 1;  // 1: the calling thread alone, in program order
  // Where helpers of the calling thread come from; null: there are none.
  tbb::task_arena* arena = nullptr;
};

// Everything of one run but the program.
struct ExecutorRun {
  MemoryMap memory;
  std::byte* working = nullptr;  // WorkingBytes(plan, workers.workers) of them, 64-byte aligned
  HostFunctionTable host_functions;
  StopConditions stop;
  WorkerSource workers;
  const FaultInjection* fault = nullptr;
  HostTimeline* timeline = nullptr;
};

// Bytes that a run with so many workers needs beside the machine's memories.
int64_t WorkingBytes(const ExecutionPlan& plan, int workers);

// One run at a time; used again for the next.
class Executor {
 public:
  explicit Executor(const ExecutionPlan& plan)
      : plan_(plan), gate_(std::make_shared<HelperGate>()) {}

  // Cancelled, DeadlineExceeded, or what a command reports (with its number); Unavailable for a
  // fault that was injected. The executor can be used again afterwards.
  absl::Status Run(const ExecutorRun& run);

 private:
  struct Work {
    uint32_t command = 0;
    uint32_t part = 0;
  };
  struct Worker {
    int number = 0;
    absl::Span<std::byte> scratch;
    int brief_parts = 0;                        // since it looked at the clock
    int64_t next_claimed = 0, end_claimed = 0;  // of the queue: taken and not begun
    int64_t commands_done = 0;                  // since it told the others

    bool has_claimed() const { return next_claimed < end_claimed; }
  };
  // Each entry is written once a run: 0 while empty, else (command + 1) << 16 | part.
  using QueueEntry = std::atomic<uint64_t>;
  static uint64_t ToEntry(Work work) { return (uint64_t{work.command} + 1) << 16 | work.part; }
  static Work FromEntry(uint64_t entry) {
    return {static_cast<uint32_t>((entry >> 16) - 1), static_cast<uint32_t>(entry & 0xffff)};
  }

  absl::Status RunInline();
  void Reset();
  void WorkerLoop(int number);
  void Push(Work work);
  // Takes what is ready: a part that may take long, or its share of the brief ones that wait.
  bool Claim(Worker& worker);
  // What was claimed before comes first.
  bool Take(Worker& worker, Work& work);
  // Gives out the parts of a ready command: the first to the caller, the others to the queue.
  Work Begin(uint32_t command);
  // After one of its parts: whether all are.
  bool IsCommandDone(uint32_t command);
  // True when a successor became ready: `next` is then the caller's.
  bool Finish(uint32_t command, Worker& worker, Work& next);
  // Tells the others how many commands it has done; whether none are left.
  bool AreAllDone(Worker& worker);
  void Fail(absl::Status status);
  // Looks whether it is to stop, executes, and records when where a timeline is given.
  absl::Status Execute(Work work, Worker& worker);
  // What is not every run's: faults, timelines.
  absl::Status ExecuteObserved(Work work, const Worker& worker);
  absl::Status CheckStopBefore(uint32_t command, Worker& worker) const;
  absl::Status Inject(const FaultInjection& fault) const;
  Worker MakeWorker(int number) const;

  const ExecutionPlan& plan_;
  const std::shared_ptr<HelperGate> gate_;  // kept by helpers, who may come when all is over
  const ExecutorRun* run_ = nullptr;        // the one in progress
  std::atomic<uint32_t>* predecessors_left_ = nullptr;  // per command
  std::atomic<uint32_t>* parts_left_ = nullptr;         // per command
  QueueEntry* queue_ = nullptr;
  std::byte* scratch_ = nullptr;
  alignas(64) std::atomic<int64_t> queue_head_{0};
  alignas(64) std::atomic<int64_t> queue_tail_{0};
  alignas(64) std::atomic<int64_t> commands_left_{0};
  std::atomic<bool> failed_{false};
  absl::Status failure_;
};

}  // namespace berth
