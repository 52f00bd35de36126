// What all contexts of a dynamic program share: its graph, the specializations made so far, the
// pool that their buffers come from and the thread that plans in the background.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/log.h"
#include "berth/dynamic.h"
#include "runtime/dynamic/specialization_cache.h"
#include "runtime/pool/dynamic_pool.h"

namespace berth {

class DynamicProgram {
 public:
  // Of the bundle of a dynamic model; `maximum` is the program of its largest shape, or null.
  // FailedPrecondition without a lowering.
  static absl::StatusOr<std::unique_ptr<DynamicProgram>> Create(
      const Bundle& bundle, std::shared_ptr<const Program> maximum, DynamicOptions options,
      const Logger& logger = {});
  ~DynamicProgram();

  const std::shared_ptr<const Graph>& graph() const { return graph_; }
  const NpuConfig& config() const { return request_.config; }
  const DynamicOptions& options() const { return options_; }
  DynamicPool& pool() { return *pool_; }
  DynamicStatistics statistics() const;

  // Cached, or made now; Cancelled or DeadlineExceeded where `stop` says so.
  absl::StatusOr<std::shared_ptr<Specialization>> Specialize(
      const std::shared_ptr<const Graph>& graph, absl::Span<const SpecializationInput> inputs,
      const StopConditions& stop);
  // Until nothing is left to plan.
  void WaitForPlans();

 private:
  struct Job {
    std::string key;
    std::shared_ptr<Specialization> specialization;
  };

  DynamicProgram() = default;
  absl::StatusOr<std::shared_ptr<Specialization>> Make(const std::string& key,
                                                       const std::shared_ptr<const Graph>& graph,
                                                       absl::Span<const SpecializationInput> inputs,
                                                       const StopConditions& stop) const;
  void Enqueue(Job job);
  void PlanJobs();
  void Plan(const Job& job);

  std::shared_ptr<const Graph> graph_;
  LoweringRequest request_;
  DynamicOptions options_;
  std::shared_ptr<const Program> maximum_;
  std::string maximum_key_;  // of the specialization that is that program
  Logger logger_;
  std::unique_ptr<DynamicPool> pool_;
  std::unique_ptr<SpecializationCache> cache_;
  std::atomic<int64_t> planned_{0};

  std::mutex jobs_mutex_;
  std::condition_variable jobs_changed_;
  std::deque<Job> jobs_;
  bool is_planning_ = false;  // the thread works on a job
  std::atomic<bool> ends_{false};
  std::thread planner_;  // once there is something to plan
};

}  // namespace berth
