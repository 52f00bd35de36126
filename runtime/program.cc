#include "berth/program.h"

#include "base/checked_math.h"
#include "base/no_memory.h"
#include "npu_sim/timing.h"
#include "runtime/dynamic/dynamic_program.h"

namespace berth {
namespace {

constexpr int64_t kBlockAlignment = 64;

}  // namespace

MemoryRequirements RequirementsOf(const Bundle& bundle) {
  MemoryRequirements memory;
  memory.constants_bytes = static_cast<int64_t>(bundle.constants().size());
  for (const DramRegion& region : bundle.program().regions) {
    if (region.kind == RegionKind::kPool) memory.pool_bytes = region.size_bytes;
  }
  // Programs that are still to be made may take all that the machine has.
  const bool is_dynamic = bundle.info().dynamic.has_value();
  const NpuConfig& config = bundle.info().config;
  memory.scratchpad_bytes =
      is_dynamic ? config.scratchpad.size_bytes : bundle.program().scratchpad_bytes;
  memory.accumulator_bytes =
      is_dynamic ? config.accumulator.size_bytes : bundle.program().accumulator_bytes;
  memory.state_bytes = is_dynamic ? 0 : 2 * StateBytes(bundle.info());  // else in the pool
  memory.arena_bytes = AlignUp(memory.pool_bytes, kBlockAlignment) +
                       AlignUp(memory.scratchpad_bytes, kBlockAlignment) +
                       AlignUp(memory.accumulator_bytes, kBlockAlignment) + memory.state_bytes;
  return memory;
}

Program::~Program() = default;

absl::StatusOr<std::shared_ptr<const Program>> Program::FromBundle(
    std::shared_ptr<const Bundle> bundle, DynamicOptions dynamic, const Logger& logger) {
  std::shared_ptr<Program> program(new Program());
  if (bundle->info().dynamic) {
    std::shared_ptr<const Program> maximum;
    if (bundle->maximum() != nullptr) {
      BERTH_ASSIGN_OR_RETURN(maximum, FromBundle(bundle->maximum(), {}, {}));
    }
    BERTH_ASSIGN_OR_RETURN(program->dynamic_, DynamicProgram::Create(*bundle, std::move(maximum),
                                                                     std::move(dynamic), logger));
  }
  program->interface_ = InterfaceOf(bundle->info());
  program->memory_ = RequirementsOf(*bundle);
  program->bundle_ = std::move(bundle);
  Log(logger, LogLevel::kInfo,
      "model '{}' loaded: {}, {} commands, {} bytes of constants, {} of an arena",
      program->bundle().info().model_name, program->is_dynamic() ? "dynamic" : "static",
      program->bundle().program().commands.size(), program->memory().constants_bytes,
      program->memory().arena_bytes);
  return program;
}

absl::StatusOr<std::shared_ptr<const Program>> Program::Load(const std::string& path,
                                                             LoadLevel level,
                                                             DynamicOptions dynamic,
                                                             const Logger& logger) {
  return CatchNoMemory([&]() -> absl::StatusOr<std::shared_ptr<const Program>> {
    BERTH_ASSIGN_OR_RETURN(std::shared_ptr<const Bundle> bundle, Bundle::Open(path, level));
    return FromBundle(std::move(bundle), std::move(dynamic), logger);
  });
}

absl::StatusOr<std::shared_ptr<const Program>> Program::FromMemory(
    absl::Span<const std::byte> bytes, std::shared_ptr<const void> owner, LoadLevel level,
    DynamicOptions dynamic, const Logger& logger) {
  return CatchNoMemory([&]() -> absl::StatusOr<std::shared_ptr<const Program>> {
    BERTH_ASSIGN_OR_RETURN(std::shared_ptr<const Bundle> bundle,
                           Bundle::FromMemory(bytes, std::move(owner), "in memory", level));
    return FromBundle(std::move(bundle), std::move(dynamic), logger);
  });
}

absl::StatusOr<std::shared_ptr<const Program>> Program::FromContents(BundleContents contents,
                                                                     LoadLevel level,
                                                                     DynamicOptions dynamic,
                                                                     const Logger& logger) {
  return CatchNoMemory([&]() -> absl::StatusOr<std::shared_ptr<const Program>> {
    BERTH_ASSIGN_OR_RETURN(std::shared_ptr<const Bundle> bundle,
                           Bundle::FromContents(std::move(contents), level));
    return FromBundle(std::move(bundle), std::move(dynamic), logger);
  });
}

const ExecutionPlan& Program::execution_plan() const {
  std::call_once(planned_, [this] {
    plan_ = MakeExecutionPlan(bundle_->program().commands, bundle_->conflicts());
  });
  return plan_;
}

int64_t Program::ArenaBytes(int threads) const {
  if (is_dynamic()) return memory_.arena_bytes;
  return memory_.arena_bytes + AlignUp(WorkingBytes(execution_plan(), threads), kBlockAlignment);
}

DynamicStatistics Program::dynamic_statistics() const {
  return is_dynamic() ? dynamic_->statistics() : DynamicStatistics{};
}

void Program::WaitForPlans() const {
  if (is_dynamic()) dynamic_->WaitForPlans();
}

absl::StatusOr<SimReport> Program::Simulate(bool record_commands) const {
  if (is_dynamic()) return FailedPrecondition("the cycles of a dynamic program hang on its inputs");
  TimingOptions options;
  options.record_commands = record_commands;
  return CatchNoMemory(
      [&] { return SimulateTiming(bundle_->program(), bundle_->info().config, options); });
}

}  // namespace berth
