// Context: one request at a time over a shared Program, and the states that it keeps from run to
// run.
//
// Each state has two buffers: a run reads the one and writes the other, and they change places when
// it ends well. Nothing is copied, and a run that fails or is stopped leaves every state as it was.
#pragma once

#include <tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "berth/arena_pool.h"
#include "berth/program.h"

namespace berth {

struct ContextOptions {
  // Workers for values; 1 runs inline on the calling thread.
  int threads = 1;
  // The host's arena to run in; null with threads > 1: an own one of that concurrency.
  tbb::task_arena* arena = nullptr;
  // Fill pool, scratchpad and accumulators with NaN patterns before every run, so that nothing can
  // come from an earlier one.
  bool poison_before_run = false;
};

enum class RunMode : uint8_t { kValues, kCycles, kBoth };

struct RunOptions {
  RunMode mode = RunMode::kValues;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  bool record_commands = false;      // timing of every command in the report
  HostTimeline* timeline = nullptr;  // filled by runs for values
};

class DynamicStates;

class Context {
 public:
  // Leases an arena from `pool`, which outlives the context.
  static absl::StatusOr<std::unique_ptr<Context>> Create(std::shared_ptr<const Program> program,
                                                         ArenaPool& pool,
                                                         const ContextOptions& options = {});
  ~Context();

  // Buffers in the program's order, dense row-major, dtype and shape as the program's. Outputs may
  // overlap neither each other nor an input. The report is filled for kCycles and kBoth. In mode
  // kValues a run makes no heap allocation of its own. Runs for values take the states one step on;
  // one for kCycles leaves them alone.
  absl::Status Run(absl::Span<const ConstTensorView> inputs, absl::Span<const TensorView> outputs,
                   const RunOptions& options = {}, SimReport* report = nullptr);

  // The same into tensors that are made for it, whatever their shapes turn out to be: what a
  // dynamic program needs, and any may use. Runs for cycles alone leave their values open.
  absl::Status Run(absl::Span<const ConstTensorView> inputs, std::vector<Tensor>& outputs,
                   const RunOptions& options = {}, SimReport* report = nullptr);

  // Stops the run in progress, from any thread, or the next one where none is in progress: a cancel
  // is never lost. Runs after that are not affected.
  void Cancel() { cancel_.store(true, std::memory_order_relaxed); }

  // States are what they are in a new context. Not while a run is in progress.
  void ResetState();
  // What a state (by its position in Program::states) holds between two runs; valid until the next
  // run. Of a dynamic program nothing before the first run.
  ConstTensorView state(size_t position) const;
  // Sets it. InvalidArgument for another type; not while a run is in progress.
  absl::Status SetState(size_t position, const ConstTensorView& value);

  const Program& program() const { return *program_; }

 private:
  // The buffers of a state: what the next run reads, and what it writes.
  struct StateBuffers {
    std::byte* current = nullptr;
    std::byte* next = nullptr;
  };

  absl::Status RunDynamic(absl::Span<const ConstTensorView> inputs, std::vector<Tensor>& outputs,
                          const RunOptions& options, SimReport* report);
  // Into the caller's buffers, whose types must be those that come out.
  absl::Status RunDynamicInto(absl::Span<const ConstTensorView> inputs,
                              absl::Span<const TensorView> outputs, const RunOptions& options,
                              SimReport* report);
  Context(std::shared_ptr<const Program> program, const ContextOptions& options, ArenaLease arena);
  absl::Status Bind(absl::Span<const ConstTensorView> inputs, absl::Span<const TensorView> outputs);
  void BindRegions(absl::Span<const ConstTensorView> inputs, absl::Span<const TensorView> outputs);

  std::shared_ptr<const Program> program_;
  ContextOptions options_;
  ArenaLease arena_;
  int64_t working_bytes_ = 0;           // of the arena: all but the states
  std::unique_ptr<Executor> executor_;  // null for a dynamic program
  std::unique_ptr<tbb::task_arena> own_arena_;
  std::vector<StateBuffers> states_;  // of a static program
  std::unique_ptr<DynamicStates> dynamic_states_;
  std::vector<std::byte*> regions_;
  MemoryMap memory_;
  std::atomic<bool> cancel_{false};
};

}  // namespace berth
