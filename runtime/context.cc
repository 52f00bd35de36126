#include "berth/context.h"

#include <cstring>
#include <utility>

#include "base/checked_math.h"
#include "base/no_memory.h"
#include "kernels/host_functions.h"
#include "runtime/caller_buffers.h"
#include "runtime/dynamic/dynamic_states.h"
#include "runtime/executor/sanitized.h"
#include "runtime/own_arena.h"
#include "runtime/run_gate.h"

namespace berth {
namespace {

constexpr int64_t kBlockAlignment = 64;
constexpr int kPoisonByte = 0xff;

}  // namespace

absl::StatusOr<std::unique_ptr<Context>> Context::Create(std::shared_ptr<const Program> program,
                                                         ArenaPool& pool,
                                                         const ContextOptions& options) {
  if (program == nullptr) return InvalidArgument("no program");
  if (options.threads < 1 || options.threads > 1024) {
    return InvalidArgument("threads: {} is outside [1, 1024]", options.threads);
  }
  return CatchNoMemory([&]() -> absl::StatusOr<std::unique_ptr<Context>> {
    std::unique_ptr<Context> context(new Context(std::move(program), pool, options));
    BERTH_RETURN_IF_ERROR(context->LeaseForLife());
    return context;
  });
}

Context::Context(std::shared_ptr<const Program> program, ArenaPool& pool,
                 const ContextOptions& options)
    : program_(std::move(program)),
      pool_(pool),
      options_(options),
      gate_(std::make_shared<RunGate>()) {
  if (program_->is_dynamic()) {
    dynamic_states_ = std::make_unique<DynamicStates>(*program_);
  } else {
    executor_.emplace(program_->execution_plan());
  }
  if (options.threads > 1 && options.arena == nullptr) {
    own_arena_ = MakeOwnArena(options.threads);
  }
  const MemoryRequirements& memory = program_->memory();
  working_bytes_ = memory.arena_bytes - memory.state_bytes;
  arena_bytes_ = program_->ArenaBytes(options.threads) - memory.state_bytes;
  regions_.resize(program_->bundle().program().regions.size());
  run_.host_functions = KernelHostFunctions();
  run_.workers = Workers();
}

// One lease only where the arena is held: who holds one and waits for another could wait for ever.
absl::Status Context::LeaseForLife() {
  const StopConditions stop{nullptr, options_.create_deadline};
  const int64_t state_bytes = program_->memory().state_bytes;
  const bool is_held = options_.arena_use == ArenaUse::kHeld;
  std::byte* states = nullptr;
  if (is_held) {
    BERTH_ASSIGN_OR_RETURN(arena_, pool_.Lease(arena_bytes_ + state_bytes, stop));
    states = arena_.data() + arena_bytes_;
    Place(arena_.data());
  } else if (state_bytes > 0) {
    BERTH_ASSIGN_OR_RETURN(state_arena_, pool_.Lease(state_bytes, stop));
    states = state_arena_.data();
  }
  for (size_t s = 0; dynamic_states_ == nullptr && s < program_->states().size(); ++s) {
    const int64_t bytes = AlignUp(program_->state_type(s).ByteCount(), kStateAlignmentBytes);
    states_.push_back({states, states + bytes});
    states += 2 * bytes;
  }
  ResetState();
  return absl::OkStatus();
}

WorkerSource Context::Workers() const {
  return {options_.threads, options_.arena != nullptr ? options_.arena : own_arena_.get()};
}

// Pool, scratchpad, accumulators, and what the workers need.
void Context::Place(std::byte* arena) {
  const MemoryRequirements& memory = program_->memory();
  std::byte* next = arena;
  const auto take = [&](int64_t size_bytes) {
    return std::exchange(next, next + AlignUp(size_bytes, kBlockAlignment));
  };
  std::byte* const pool = take(memory.pool_bytes);
  run_.memory.scratchpad = take(memory.scratchpad_bytes);
  run_.memory.accumulator = take(memory.accumulator_bytes);
  run_.working = next;
  const absl::Span<const DramRegion> regions = program_->bundle().program().regions;
  for (size_t r = 0; r < regions.size(); ++r) {
    // Constants are only ever read: a verified program writes to the pool and outputs alone.
    if (regions[r].kind == RegionKind::kConstants) {
      regions_[r] = const_cast<std::byte*>(program_->bundle().constants().data());
    } else if (regions[r].kind == RegionKind::kPool) {
      regions_[r] = pool;
    }
  }
  run_.memory.regions = regions_;
}

absl::Status Context::CheckBuffers(absl::Span<const ConstTensorView> inputs,
                                   absl::Span<const TensorView> outputs) const {
  const Program& program = *program_;
  BERTH_RETURN_IF_ERROR(CheckCounts(inputs.size(), outputs.size(), program.inputs().size(),
                                    program.outputs().size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    BERTH_RETURN_IF_ERROR(
        CheckBuffer("input", i, program.inputs()[i], inputs[i].type, inputs[i].data));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    BERTH_RETURN_IF_ERROR(
        CheckBuffer("output", i, program.outputs()[i], outputs[i].type, outputs[i].data));
  }
  return CheckOverlap(inputs, outputs);
}

void Context::BindRegions(absl::Span<const ConstTensorView> inputs,
                          absl::Span<const TensorView> outputs) {
  const CallersInterface& interface = program_->interface();
  const absl::Span<const DramRegion> regions = program_->bundle().program().regions;
  for (size_t r = 0; r < regions.size(); ++r) {
    if (regions[r].kind == RegionKind::kInput) {
      const TensorBinding& binding = interface.input_bindings[regions[r].index];
      regions_[r] = binding.is_state
                        ? states_[binding.position].current
                        : const_cast<std::byte*>(inputs[binding.position].data);  // never written
    } else if (regions[r].kind == RegionKind::kOutput) {
      const TensorBinding& binding = interface.output_bindings[regions[r].index];
      regions_[r] =
          binding.is_state ? states_[binding.position].next : outputs[binding.position].data;
    }
  }
}

void Context::ResetState() {
  if (dynamic_states_ != nullptr) dynamic_states_->Reset();
  for (size_t s = 0; s < states_.size(); ++s) {
    FillInitial(program_->states()[s], {program_->state_type(s), states_[s].current});
  }
}

ConstTensorView Context::state(size_t position) const {
  if (dynamic_states_ != nullptr) return dynamic_states_->value(position);
  return {program_->state_type(position), states_[position].current};
}

absl::Status Context::SetState(size_t position, const ConstTensorView& value) {
  if (dynamic_states_ != nullptr) return dynamic_states_->Set(position, value);
  if (position >= states_.size()) {
    return InvalidArgument("state {} of {}", position, states_.size());
  }
  const TensorType& type = program_->state_type(position);
  BERTH_RETURN_IF_ERROR(CheckBuffer("state", position, {program_->states()[position].name, type},
                                    value.type, value.data));
  const auto size_bytes = static_cast<size_t>(type.ByteCount());
  if (size_bytes > 0) std::memcpy(states_[position].current, value.data, size_bytes);
  return absl::OkStatus();
}

absl::Status Context::CheckRun(const RunOptions& options, const SimReport* report) const {
  if (options.mode != RunMode::kValues && report == nullptr) {
    return InvalidArgument("a run for cycles needs a report to fill");
  }
  const size_t commands = program_->bundle().program().commands.size();
  if (options.fault && !program_->is_dynamic() && options.fault->command >= commands) {
    return InvalidArgument("fault: command {} of {}", options.fault->command, commands);
  }
  return absl::OkStatus();
}

absl::Status Context::ArenaOfRun(ArenaLease& lease, const RunOptions& options) {
  std::byte* arena = arena_.data();
  if (options_.arena_use == ArenaUse::kWhileRunning) {
    BERTH_ASSIGN_OR_RETURN(lease, pool_.Lease(arena_bytes_, StopOf(options)));
    arena = lease.data();
    Place(arena);
  }
  if (options_.poison_before_run) {
    std::memset(arena, kPoisonByte, static_cast<size_t>(working_bytes_));
  }
  return absl::OkStatus();
}

absl::Status Context::RunInto(absl::Span<const ConstTensorView> inputs,
                              absl::Span<const TensorView> outputs, const RunOptions& options,
                              SimReport* report) {
  BERTH_RETURN_IF_ERROR(CheckRun(options, report));
  if (program_->is_dynamic()) return RunDynamicInto(inputs, outputs, options, report);
  if (options.mode != RunMode::kValues) {
    BERTH_ASSIGN_OR_RETURN(*report, program_->Simulate(options.record_commands));
    if (options.mode == RunMode::kCycles) return absl::OkStatus();
  }
  BERTH_RETURN_IF_ERROR(CheckBuffers(inputs, outputs));
  return RunStatic(inputs, outputs, options);
}

absl::Status Context::RunStatic(absl::Span<const ConstTensorView> inputs,
                                absl::Span<const TensorView> outputs, const RunOptions& options) {
  ArenaLease lease;
  absl::Status status = ArenaOfRun(lease, options);
  if (status.ok()) {
    BindRegions(inputs, outputs);
    run_.stop = StopOf(options);
    run_.fault = options.fault ? &*options.fault : nullptr;
    run_.timeline = options.timeline;
    status = options.sanitizer != nullptr
                 ? RunSanitized(program_->bundle(), run_.memory, run_.stop, *options.sanitizer)
                 : executor_->Run(run_);
  }
  cancel_.store(false, std::memory_order_relaxed);
  if (status.ok()) {
    for (StateBuffers& state : states_) std::swap(state.current, state.next);
  }
  return status;
}

absl::Status Context::RunMaking(absl::Span<const ConstTensorView> inputs,
                                std::vector<Tensor>& outputs, const RunOptions& options,
                                SimReport* report) {
  BERTH_RETURN_IF_ERROR(CheckRun(options, report));
  if (program_->is_dynamic()) return RunDynamic(inputs, outputs, options, report);
  outputs.clear();
  std::vector<TensorView> views;
  outputs.reserve(program_->outputs().size());
  for (const TensorInfo& info : program_->outputs()) {
    outputs.emplace_back(info.type);
    views.push_back(outputs.back().view());
  }
  return RunInto(inputs, views, options, report);
}

}  // namespace berth
