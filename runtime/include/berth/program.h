// Program: a loaded model. Immutable, shared by all threads and contexts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/tensor.h"
#include "npu_sim/sim_report.h"
#include "runtime/bundle/bundle.h"
#include "runtime/executor/executor.h"

namespace berth {

// What one context needs before it exists.
struct MemoryRequirements {
  int64_t constants_bytes = 0;    // once per program, mapped from the bundle
  int64_t pool_bytes = 0;         // per arena: the DRAM pool
  int64_t scratchpad_bytes = 0;   // per arena: the simulated scratchpad
  int64_t accumulator_bytes = 0;  // per arena
  int64_t arena_bytes = 0;        // per arena in all, alignment included
};

MemoryRequirements RequirementsOf(const Bundle& bundle);

class Program {
 public:
  static absl::StatusOr<std::shared_ptr<const Program>> Load(const std::string& path,
                                                             LoadLevel level = LoadLevel::kFull);
  static absl::StatusOr<std::shared_ptr<const Program>> FromContents(
      BundleContents contents, LoadLevel level = LoadLevel::kFull);

  const std::vector<TensorInfo>& inputs() const { return bundle_->info().inputs; }
  const std::vector<TensorInfo>& outputs() const { return bundle_->info().outputs; }
  const MemoryRequirements& memory() const { return memory_; }
  const Bundle& bundle() const { return *bundle_; }
  const ExecutionPlan& execution_plan() const { return plan_; }

  // Cycles only: needs no context and touches no values.
  absl::StatusOr<SimReport> Simulate(bool record_commands = false) const;

 private:
  Program() = default;
  static absl::StatusOr<std::shared_ptr<const Program>> FromBundle(
      std::shared_ptr<const Bundle> bundle);

  std::shared_ptr<const Bundle> bundle_;
  ExecutionPlan plan_;
  MemoryRequirements memory_;
};

}  // namespace berth
