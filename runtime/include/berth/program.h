// Program: a loaded model. Immutable, shared by all threads and contexts; of a dynamic one, the
// programs made so far are kept behind it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "base/tensor.h"
#include "berth/dynamic.h"
#include "npu_sim/sim_report.h"
#include "runtime/bundle/bundle.h"
#include "runtime/bundle/states.h"
#include "runtime/executor/executor.h"

namespace berth {

// What one context needs before it exists.
struct MemoryRequirements {
  int64_t constants_bytes = 0;    // once per program, mapped from the bundle
  int64_t pool_bytes = 0;         // per arena: the DRAM pool
  int64_t scratchpad_bytes = 0;   // per arena: the simulated scratchpad
  int64_t accumulator_bytes = 0;  // per arena
  int64_t state_bytes = 0;        // per arena: states, before and after a run
  int64_t arena_bytes = 0;        // per arena, all of these with their alignment
};

MemoryRequirements RequirementsOf(const Bundle& bundle);

class DynamicProgram;

class Program {
 public:
  // `dynamic` is for dynamic bundles alone; those need its lowering.
  // `logger` is told of loads and of the programs that a dynamic one makes.
  static absl::StatusOr<std::shared_ptr<const Program>> Load(const std::string& path,
                                                             LoadLevel level = LoadLevel::kFull,
                                                             DynamicOptions dynamic = {},
                                                             const Logger& logger = {});
  // The bytes of a bundle file, which must be aligned to kBundleAlignmentBytes; `owner` keeps them.
  static absl::StatusOr<std::shared_ptr<const Program>> FromMemory(
      absl::Span<const std::byte> bytes, std::shared_ptr<const void> owner,
      LoadLevel level = LoadLevel::kFull, DynamicOptions dynamic = {}, const Logger& logger = {});
  static absl::StatusOr<std::shared_ptr<const Program>> FromContents(
      BundleContents contents, LoadLevel level = LoadLevel::kFull, DynamicOptions dynamic = {},
      const Logger& logger = {});
  ~Program();

  // Whether shapes are known only when it runs: a context then makes programs as they are needed
  // (docs/dynamic.md), which all contexts share.
  bool is_dynamic() const { return dynamic_ != nullptr; }
  DynamicStatistics dynamic_statistics() const;  // zeros for a static program
  // Until hot shapes have the programs that were planned for them in the background.
  void WaitForPlans() const;

  // The caller's; states, which contexts keep, are not among them.
  const std::vector<TensorInfo>& inputs() const { return interface_.inputs; }
  const std::vector<TensorInfo>& outputs() const { return interface_.outputs; }
  const std::vector<StateInfo>& states() const { return bundle_->info().states; }
  const TensorType& state_type(size_t state) const {
    return StateType(bundle_->info(), states()[state]);
  }
  const CallersInterface& interface() const { return interface_; }
  const MemoryRequirements& memory() const { return memory_; }
  // What a context with so many threads leases: memory().arena_bytes and the working memory of its
  // workers. Of a dynamic program that memory comes from the dynamic pool, as it is needed.
  int64_t ArenaBytes(int threads = 1) const;
  const Bundle& bundle() const { return *bundle_; }
  // Made when it is first asked for: to load a program does not touch its commands.
  const ExecutionPlan& execution_plan() const;

  // Of a dynamic program.
  DynamicProgram& dynamic() const { return *dynamic_; }

  // Cycles only: needs no context and touches no values. FailedPrecondition for a dynamic program.
  absl::StatusOr<SimReport> Simulate(bool record_commands = false) const;

 private:
  Program() = default;
  static absl::StatusOr<std::shared_ptr<const Program>> FromBundle(
      std::shared_ptr<const Bundle> bundle, DynamicOptions dynamic, const Logger& logger);

  std::shared_ptr<const Bundle> bundle_;
  CallersInterface interface_;
  mutable std::once_flag planned_;
  mutable ExecutionPlan plan_;
  MemoryRequirements memory_;
  std::unique_ptr<DynamicProgram> dynamic_;  // what its contexts share
};

}  // namespace berth
