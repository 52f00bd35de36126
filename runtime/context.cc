#include "berth/context.h"

#include <cstring>
#include <utility>

#include "base/checked_math.h"
#include "kernels/host_functions.h"
#include "runtime/dynamic/dynamic_states.h"

namespace berth {
namespace {

constexpr int64_t kBlockAlignment = 64;
constexpr int kPoisonByte = 0xff;

absl::Status CheckBuffer(std::string_view role, size_t index, const TensorInfo& info,
                         const TensorType& type, const std::byte* data) {
  if (type != info.type) {
    return InvalidArgument("{} {} ('{}'): {} given, {} expected", role, index, info.name,
                           type.ToString(), info.type.ToString());
  }
  if (data == nullptr && info.type.ByteCount() > 0) {
    return InvalidArgument("{} {} ('{}'): null data for {} bytes", role, index, info.name,
                           info.type.ByteCount());
  }
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(DTypeBytes(type.dtype)) != 0) {
    return InvalidArgument("{} {} ('{}'): data is not aligned for {}", role, index, info.name,
                           DTypeName(type.dtype));
  }
  return absl::OkStatus();
}

bool Overlap(const std::byte* a, int64_t a_bytes, const std::byte* b, int64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

absl::Status CheckOverlap(absl::Span<const ConstTensorView> inputs,
                          absl::Span<const TensorView> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int64_t bytes = outputs[i].type.ByteCount();
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (Overlap(outputs[i].data, bytes, inputs[k].data, inputs[k].type.ByteCount())) {
        return InvalidArgument("output {} overlaps input {}", i, k);
      }
    }
    for (size_t k = 0; k < i; ++k) {
      if (Overlap(outputs[i].data, bytes, outputs[k].data, outputs[k].type.ByteCount())) {
        return InvalidArgument("output {} overlaps output {}", i, k);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Context>> Context::Create(std::shared_ptr<const Program> program,
                                                         ArenaPool& pool,
                                                         const ContextOptions& options) {
  if (options.threads < 1 || options.threads > 1024) {
    return InvalidArgument("threads: {} is outside [1, 1024]", options.threads);
  }
  BERTH_ASSIGN_OR_RETURN(ArenaLease arena, pool.Lease(program->memory().arena_bytes));
  return std::unique_ptr<Context>(new Context(std::move(program), options, std::move(arena)));
}

Context::~Context() = default;

Context::Context(std::shared_ptr<const Program> program, const ContextOptions& options,
                 ArenaLease arena)
    : program_(std::move(program)), options_(options), arena_(std::move(arena)) {
  if (!program_->is_dynamic()) {
    executor_ = std::make_unique<Executor>(program_->execution_plan(), options.threads);
  }
  if (options.threads > 1 && options.arena == nullptr) {
    own_arena_ = std::make_unique<tbb::task_arena>(options.threads);
  }
  const MemoryRequirements& memory = program_->memory();
  std::byte* next = arena_.data();
  std::byte* const pool = next;
  next += AlignUp(memory.pool_bytes, kBlockAlignment);
  memory_.scratchpad = next;
  next += AlignUp(memory.scratchpad_bytes, kBlockAlignment);
  memory_.accumulator = next;
  next += AlignUp(memory.accumulator_bytes, kBlockAlignment);
  working_bytes_ = next - arena_.data();
  if (program_->is_dynamic()) dynamic_states_ = std::make_unique<DynamicStates>(*program_);
  for (size_t s = 0; dynamic_states_ == nullptr && s < program_->states().size(); ++s) {
    const int64_t bytes = AlignUp(program_->state_type(s).ByteCount(), kStateAlignmentBytes);
    states_.push_back({next, next + bytes});
    next += 2 * bytes;
  }
  ResetState();
  for (const DramRegion& region : program_->bundle().program().regions) {
    // Constants are only ever read: a verified program writes to the pool and outputs alone.
    regions_.push_back(region.kind == RegionKind::kConstants
                           ? const_cast<std::byte*>(program_->bundle().constants().data())
                       : region.kind == RegionKind::kPool ? pool
                                                          : nullptr);
  }
  memory_.regions = regions_;
}

absl::Status Context::Bind(absl::Span<const ConstTensorView> inputs,
                           absl::Span<const TensorView> outputs) {
  const Program& program = *program_;
  if (inputs.size() != program.inputs().size() || outputs.size() != program.outputs().size()) {
    return InvalidArgument("{} inputs and {} outputs given, {} and {} expected", inputs.size(),
                           outputs.size(), program.inputs().size(), program.outputs().size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    BERTH_RETURN_IF_ERROR(
        CheckBuffer("input", i, program.inputs()[i], inputs[i].type, inputs[i].data));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    BERTH_RETURN_IF_ERROR(
        CheckBuffer("output", i, program.outputs()[i], outputs[i].type, outputs[i].data));
  }
  BERTH_RETURN_IF_ERROR(CheckOverlap(inputs, outputs));
  BindRegions(inputs, outputs);
  return absl::OkStatus();
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

absl::Status Context::Run(absl::Span<const ConstTensorView> inputs,
                          absl::Span<const TensorView> outputs, const RunOptions& options,
                          SimReport* report) {
  if (program_->is_dynamic()) return RunDynamicInto(inputs, outputs, options, report);
  if (options.mode != RunMode::kValues) {
    if (report == nullptr) return InvalidArgument("a run for cycles needs a report to fill");
    BERTH_ASSIGN_OR_RETURN(*report, program_->Simulate(options.record_commands));
    if (options.mode == RunMode::kCycles) return absl::OkStatus();
  }
  BERTH_RETURN_IF_ERROR(Bind(inputs, outputs));
  if (options_.poison_before_run) {
    std::memset(arena_.data(), kPoisonByte, static_cast<size_t>(working_bytes_));
  }
  StopConditions stop{&cancel_, options.deadline};
  WorkerSource source{options_.threads,
                      options_.arena != nullptr ? options_.arena : own_arena_.get()};
  const absl::Status status =
      executor_->Run(memory_, KernelHostFunctions(), stop, source, options.timeline);
  cancel_.store(false, std::memory_order_relaxed);
  if (status.ok()) {
    for (StateBuffers& state : states_) std::swap(state.current, state.next);
  }
  return status;
}

}  // namespace berth
