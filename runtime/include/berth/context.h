// Context: one request at a time over a shared Program, and the states that it keeps from run to
// run.
//
// Each state has two buffers: a run reads the one and writes the other, and they change places when
// it ends well. Nothing is copied, and a run that fails or is stopped leaves every state as it was.
//
// A second run while one is in progress is refused (FailedPrecondition); Cancel may be called at
// any time. docs/requests.md tells how to serve many requests.
#pragma once

#include <tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/stop.h"
#include "berth/arena_pool.h"
#include "berth/fault_injection.h"
#include "berth/program.h"

namespace berth {

struct SanitizerReport;  // npu_sim/sanitizer.h

// For how long a context has its arena.
enum class ArenaUse : uint8_t {
  kHeld = 0,          // from its creation to its end: runs never wait for memory
  kWhileRunning = 1,  // for each run: few arenas serve many contexts. States have a lease of theirs
};

struct ContextOptions {
  // Workers for values; 1 runs inline on the calling thread.
  int threads = 1;
  // The host's arena to run in, which outlives the context; null: an own one of that concurrency,
  // where threads > 1 or for runs in the background.
  tbb::task_arena* arena = nullptr;
  ArenaUse arena_use = ArenaUse::kHeld;
  // Create waits no longer than this for its arena, where the pool lets it wait.
  std::optional<std::chrono::steady_clock::time_point> create_deadline;
  // Fill pool, scratchpad and accumulators with NaN patterns before every run, so that nothing can
  // come from an earlier one.
  bool poison_before_run = false;
};

enum class RunMode : uint8_t { kValues, kCycles, kBoth };

struct RunOptions {
  RunMode mode = RunMode::kValues;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  bool record_commands = false;         // timing of every command in the report
  HostTimeline* timeline = nullptr;     // filled by runs for values
  std::optional<FaultInjection> fault;  // for tests: what goes wrong in runs for values
  // Set: a run for values watches every byte that it touches, and tells here what it finds
  // (npu_sim/sanitizer.h). Commands run one by one then, and much slower.
  SanitizerReport* sanitizer = nullptr;
};

// Told how a run in the background ended. The status is the callback's alone.
using RunCallback = std::function<void(absl::Status status)>;

class DynamicStates;
class RunGate;

class Context {
 public:
  // Leases an arena from `pool`, which outlives the context, or sees that one can be had.
  static absl::StatusOr<std::unique_ptr<Context>> Create(std::shared_ptr<const Program> program,
                                                         ArenaPool& pool,
                                                         const ContextOptions& options = {});
  // Cancels a run in the background and waits for it and its callback to end; from inside that
  // callback it may be destroyed as well.
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

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

  // The same in the background, in the host's arena or an own one. An error: nothing was begun and
  // `done` is never called. OK: `done` is called exactly once, from a thread of that arena, after
  // outputs and report are final; what was cancelled or met its deadline while it waited for a
  // thread or for memory is told so, too. The next run may begin inside `done`, which must not
  // throw. Bytes and report are the caller's and live until then; the list of views is copied.
  absl::Status RunAsync(absl::Span<const ConstTensorView> inputs,
                        absl::Span<const TensorView> outputs, RunCallback done,
                        const RunOptions& options = {}, SimReport* report = nullptr);
  absl::Status RunAsync(absl::Span<const ConstTensorView> inputs, std::vector<Tensor>& outputs,
                        RunCallback done, const RunOptions& options = {},
                        SimReport* report = nullptr);

  // Stops the run in progress before its next part of a command, from any thread, or the next one
  // where none is in progress: a cancel is never lost. Runs after that are not affected.
  void Cancel();

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

  // A run in the background, until it ends.
  struct Request {
    std::vector<ConstTensorView> inputs;
    std::vector<TensorView> outputs;
    std::vector<Tensor>* made = nullptr;  // set: outputs are made
    RunOptions options;
    SimReport* report = nullptr;
    RunCallback done;
  };

  Context(std::shared_ptr<const Program> program, ArenaPool& pool, const ContextOptions& options);
  absl::Status LeaseForLife();
  // The gate is entered in these.
  absl::Status RunInto(absl::Span<const ConstTensorView> inputs,
                       absl::Span<const TensorView> outputs, const RunOptions& options,
                       SimReport* report);
  absl::Status RunMaking(absl::Span<const ConstTensorView> inputs, std::vector<Tensor>& outputs,
                         const RunOptions& options, SimReport* report);
  absl::Status RunStatic(absl::Span<const ConstTensorView> inputs,
                         absl::Span<const TensorView> outputs, const RunOptions& options);
  absl::Status RunDynamic(absl::Span<const ConstTensorView> inputs, std::vector<Tensor>& outputs,
                          const RunOptions& options, SimReport* report);
  // Into the caller's buffers, whose types must be those that come out.
  absl::Status RunDynamicInto(absl::Span<const ConstTensorView> inputs,
                              absl::Span<const TensorView> outputs, const RunOptions& options,
                              SimReport* report);
  absl::Status CheckBuffers(absl::Span<const ConstTensorView> inputs,
                            absl::Span<const TensorView> outputs) const;
  absl::Status CheckRun(const RunOptions& options, const SimReport* report) const;
  // Sees to the arena of one run: the context's, or one of `lease`.
  absl::Status ArenaOfRun(ArenaLease& lease, const RunOptions& options);
  void Place(std::byte* arena);
  void BindRegions(absl::Span<const ConstTensorView> inputs, absl::Span<const TensorView> outputs);
  StopConditions StopOf(const RunOptions& options) const { return {&cancel_, options.deadline}; }
  WorkerSource Workers() const;
  // Makes request_ and hands it over; the gate is entered.
  absl::Status Start(absl::Span<const ConstTensorView> inputs, absl::Span<const TensorView> outputs,
                     std::vector<Tensor>* made, const RunOptions& options, SimReport* report,
                     RunCallback done);
  void RunRequest(const std::shared_ptr<RunGate>& gate);
  tbb::task_arena& BackgroundArena();

  std::shared_ptr<const Program> program_;
  ArenaPool& pool_;
  ContextOptions options_;
  int64_t working_bytes_ = 0;  // of pool, scratchpad and accumulators in an arena
  int64_t arena_bytes_ = 0;    // all that a run needs of one
  ArenaLease arena_;           // kHeld
  ArenaLease state_arena_;
  std::optional<Executor> executor_;  // of a static program
  std::unique_ptr<tbb::task_arena> own_arena_;
  std::vector<StateBuffers> states_;  // of a static program
  std::unique_ptr<DynamicStates> dynamic_states_;
  std::vector<std::byte*> regions_;
  ExecutorRun run_;
  std::shared_ptr<RunGate> gate_;
  Request request_;
  std::atomic<bool> cancel_{false};
};

}  // namespace berth
