// The ways into a context: one run at a time, in the foreground or in the background.
//
// A run in the background is one task. Its gate outlives the context, which the callback may
// destroy: after the callback the task touches the gate alone.
#include <new>
#include <utility>

#include "base/no_memory.h"
#include "berth/context.h"
#include "runtime/caller_buffers.h"
#include "runtime/dynamic/dynamic_states.h"
#include "runtime/own_arena.h"
#include "runtime/run_gate.h"

namespace berth {
namespace {

absl::Status IsBusy() { return FailedPrecondition("a run of this context is in progress"); }

// Runs `run` between Enter and Leave.
template <typename Function>
absl::Status Gated(RunGate& gate, const Function& run) {
  if (!gate.Enter()) return IsBusy();
  const absl::Status status = CatchNoMemory(run);
  gate.Leave();
  return status;
}

}  // namespace

Context::~Context() {
  gate_->Close();
  Cancel();
  gate_->AwaitEnd();
}

void Context::Cancel() {
  cancel_.store(true, std::memory_order_relaxed);
  pool_.WakeWaiters();
}

absl::Status Context::Run(absl::Span<const ConstTensorView> inputs,
                          absl::Span<const TensorView> outputs, const RunOptions& options,
                          SimReport* report) {
  return Gated(*gate_, [&] { return RunInto(inputs, outputs, options, report); });
}

absl::Status Context::Run(absl::Span<const ConstTensorView> inputs, std::vector<Tensor>& outputs,
                          const RunOptions& options, SimReport* report) {
  return Gated(*gate_, [&] { return RunMaking(inputs, outputs, options, report); });
}

absl::Status Context::RunAsync(absl::Span<const ConstTensorView> inputs,
                               absl::Span<const TensorView> outputs, RunCallback done,
                               const RunOptions& options, SimReport* report) {
  if (done == nullptr) return InvalidArgument("a run in the background needs a callback");
  BERTH_RETURN_IF_ERROR(CheckRun(options, report));
  if (!program_->is_dynamic() && options.mode != RunMode::kCycles) {
    BERTH_RETURN_IF_ERROR(CheckBuffers(inputs, outputs));
  }
  if (!gate_->Enter()) return IsBusy();
  return Start(inputs, outputs, nullptr, options, report, std::move(done));
}

absl::Status Context::RunAsync(absl::Span<const ConstTensorView> inputs,
                               std::vector<Tensor>& outputs, RunCallback done,
                               const RunOptions& options, SimReport* report) {
  if (done == nullptr) return InvalidArgument("a run in the background needs a callback");
  BERTH_RETURN_IF_ERROR(CheckRun(options, report));
  if (!gate_->Enter()) return IsBusy();
  return Start(inputs, {}, &outputs, options, report, std::move(done));
}

tbb::task_arena& Context::BackgroundArena() {
  if (options_.arena != nullptr) return *options_.arena;
  if (own_arena_ == nullptr) own_arena_ = MakeOwnArena(options_.threads);
  return *own_arena_;
}

absl::Status Context::Start(absl::Span<const ConstTensorView> inputs,
                            absl::Span<const TensorView> outputs, std::vector<Tensor>* made,
                            const RunOptions& options, SimReport* report, RunCallback done) {
  const absl::Status status = CatchNoMemory([&] {
    request_.inputs.assign(inputs.begin(), inputs.end());
    request_.outputs.assign(outputs.begin(), outputs.end());
    request_.made = made;
    request_.options = options;
    request_.report = report;
    request_.done = std::move(done);
    BackgroundArena().enqueue([this, gate = gate_] { RunRequest(gate); });
    return absl::OkStatus();
  });
  if (!status.ok()) {  // nothing was begun
    request_.done = nullptr;
    gate_->Leave();
  }
  return status;
}

void Context::RunRequest(const std::shared_ptr<RunGate>& gate) {
  absl::Status status = CatchNoMemory([&] {
    return request_.made != nullptr
               ? RunMaking(request_.inputs, *request_.made, request_.options, request_.report)
               : RunInto(request_.inputs, request_.outputs, request_.options, request_.report);
  });
  const RunCallback done = std::exchange(request_.done, nullptr);
  RunGate::Callback callback;
  gate->LeaveInto(callback);
  done(std::move(status));
  gate->End(callback);
}

}  // namespace berth
