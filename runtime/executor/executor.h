// Runs the commands of a verified program on the host, as parallel as their true conflicts allow.
//
// Workers loop over one preallocated queue of ready work; a worker that makes a command ready runs
// it itself and leaves the rest to the others. A run allocates nothing. Results do not depend on
// the number of workers: commands that conflict run in program order, and a command's parts are
// fixed. Cost: O(commands + conflicts), a few atomic operations per command.
#pragma once

#include <tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "berth/host_timeline.h"
#include "npu_sim/conflict_graph.h"
#include "npu_sim/units.h"

namespace berth {

// The parts of a program that an executor needs and that do not change: made once, shared.
struct ExecutionPlan {
  absl::Span<const Command> commands;
  ConflictGraphView conflicts;
  std::vector<uint16_t> part_counts;  // per command
  std::vector<uint32_t> roots;        // commands without predecessors
  int64_t part_total = 0;
  int64_t scratch_bytes = 0;  // per worker
};
ExecutionPlan MakeExecutionPlan(absl::Span<const Command> commands,
                                const ConflictGraphView& conflicts);

// What stops a run early.
struct StopConditions {
  const std::atomic<bool>* cancel = nullptr;
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

// Cancelled or DeadlineExceeded where a run is to stop now.
absl::Status CheckStop(const StopConditions& stop);

// Where the workers come from.
struct WorkerSource {
  int workers = 1;                   // 1: the calling thread alone, in program order
  tbb::task_arena* arena = nullptr;  // null with workers > 1: the caller's current arena
};

// The state of one run at a time; reused by the next.
class Executor {
 public:
  Executor(const ExecutionPlan& plan, int max_workers);

  // Cancelled, DeadlineExceeded, or what a command reports (with its number). The executor can be
  // used again afterwards.
  absl::Status Run(const MemoryMap& memory, HostFunctionTable host_functions,
                   const StopConditions& stop, const WorkerSource& source,
                   HostTimeline* timeline = nullptr);

 private:
  struct Work {
    uint32_t command = 0;
    uint32_t part = 0;
  };
  // Each entry is written once a run: 0 while empty, else (command + 1) << 16 | part.
  using QueueEntry = std::atomic<uint64_t>;

  absl::Status RunInline(const MemoryMap& memory, HostFunctionTable host_functions,
                         const StopConditions& stop);
  void Reset();
  void WorkerLoop(int worker, const MemoryMap& memory, HostFunctionTable host_functions,
                  const StopConditions& stop);
  void Push(Work work);
  bool Pop(Work& work);
  // Gives out the parts of a ready command: the first to the caller, the others to the queue.
  Work Begin(uint32_t command);
  // True when a successor became ready: `next` is then the caller's.
  bool Finish(uint32_t command, Work& next);
  void Fail(absl::Status status);
  // Executes, and records when where a timeline is given.
  absl::Status Execute(Work work, int worker, const MemoryMap& memory,
                       absl::Span<std::byte> scratch, HostFunctionTable host_functions);
  absl::Span<std::byte> ScratchOf(int worker);

  const ExecutionPlan& plan_;
  int max_workers_;
  std::unique_ptr<std::atomic<uint32_t>[]> predecessors_left_;  // per command
  std::unique_ptr<std::atomic<uint32_t>[]> parts_left_;         // per command
  std::unique_ptr<QueueEntry[]> queue_;
  alignas(64) std::atomic<int64_t> queue_head_{0};
  alignas(64) std::atomic<int64_t> queue_tail_{0};
  alignas(64) std::atomic<int64_t> commands_left_{0};
  std::atomic<bool> failed_{false};
  absl::Status failure_;
  std::vector<std::byte> scratch_;
  HostTimeline* timeline_ = nullptr;
};

}  // namespace berth
