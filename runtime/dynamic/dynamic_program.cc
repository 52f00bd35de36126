#include "runtime/dynamic/dynamic_program.h"

#include <fmt/ranges.h>

#include <utility>

#include "base/no_memory.h"

namespace berth {
namespace {

std::string TypesOf(absl::Span<const SpecializationInput> inputs) {
  std::vector<std::string> types;
  for (const SpecializationInput& input : inputs) types.push_back(input.type.ToString());
  return fmt::format("{}", fmt::join(types, ", "));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DynamicProgram>> DynamicProgram::Create(
    const Bundle& bundle, std::shared_ptr<const Program> maximum, DynamicOptions options,
    const Logger& logger) {
  if (!options.lower) {
    return FailedPrecondition(
        "a dynamic bundle needs a lowering of graphs to run (DynamicOptions::lower)");
  }
  std::unique_ptr<DynamicProgram> program(new DynamicProgram());
  const DynamicModel& model = *bundle.info().dynamic;
  program->graph_ = model.graph;
  program->request_.config = bundle.info().config;
  program->request_.float_storage = model.float_storage;
  if (maximum != nullptr) {
    std::vector<SpecializationInput> inputs;
    for (const TensorInfo& input : maximum->bundle().info().inputs) inputs.push_back({input.type});
    program->maximum_key_ = SpecializationKey(model.graph.get(), inputs);
    program->maximum_ = std::move(maximum);
  }
  program->cache_ = std::make_unique<SpecializationCache>(options.cache_bytes);
  DynamicPoolOptions pool;
  pool.limit_bytes = options.pool_limit_bytes;
  BERTH_ASSIGN_OR_RETURN(program->pool_, DynamicPool::Create(pool));
  program->options_ = std::move(options);
  program->logger_ = logger;
  return program;
}

DynamicProgram::~DynamicProgram() {
  {
    const std::lock_guard<std::mutex> lock(jobs_mutex_);
    ends_ = true;
    jobs_.clear();
  }
  jobs_changed_.notify_all();
  if (planner_.joinable()) planner_.join();
}

DynamicStatistics DynamicProgram::statistics() const {
  DynamicStatistics statistics;
  cache_->Describe(statistics);
  const DynamicPoolStatistics pool = pool_->statistics();
  statistics.pool_peak_bytes = pool.peak_live_bytes;
  statistics.pool_reserved_bytes = pool.reserved_bytes;
  statistics.planned = planned_.load();
  return statistics;
}

absl::StatusOr<std::shared_ptr<Specialization>> DynamicProgram::Specialize(
    const std::shared_ptr<const Graph>& graph, absl::Span<const SpecializationInput> inputs,
    const StopConditions& stop) {
  const std::string key = SpecializationKey(graph.get(), inputs);
  BERTH_ASSIGN_OR_RETURN(std::shared_ptr<Specialization> found, cache_->GetOrMake(key, stop, [&] {
    return Make(key, graph, inputs, stop);
  }));
  if (options_.plan && key != maximum_key_ && found->CountRun() == options_.hot_runs &&
      found->program() != nullptr) {
    Enqueue({key, found});
  }
  return found;
}

absl::StatusOr<std::shared_ptr<Specialization>> DynamicProgram::Make(
    const std::string& key, const std::shared_ptr<const Graph>& graph,
    absl::Span<const SpecializationInput> inputs, const StopConditions& stop) const {
  if (key == maximum_key_) return Specialization::OfProgram(graph, maximum_);
  LoweringRequest request = request_;
  request.stop = stop;
  SpecializationCache::Result made = Specialization::Make(graph, inputs, options_.lower, request);
  if (logger_.Wants(LogLevel::kInfo)) {
    Log(logger_, LogLevel::kInfo, "'{}': {} for inputs {}", graph->name,
        made.ok() ? "made a program" : "no program", TypesOf(inputs));
  }
  return made;
}

void DynamicProgram::Enqueue(Job job) {
  {
    const std::lock_guard<std::mutex> lock(jobs_mutex_);
    if (!planner_.joinable()) planner_ = std::thread([this] { PlanJobs(); });
    jobs_.push_back(std::move(job));
  }
  jobs_changed_.notify_all();
}

void DynamicProgram::PlanJobs() {
  std::unique_lock<std::mutex> lock(jobs_mutex_);
  while (true) {
    jobs_changed_.wait(lock, [&] { return ends_ || !jobs_.empty(); });
    if (ends_) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    is_planning_ = true;
    lock.unlock();
    (void)CatchNoMemory([&] {
      Plan(job);
      return absl::OkStatus();
    });
    lock.lock();
    is_planning_ = false;
    jobs_changed_.notify_all();
  }
}

// Where the plan fails the program at hand is good enough.
void DynamicProgram::Plan(const Job& job) {
  LoweringRequest request = request_;
  request.stop.cancel = &ends_;
  absl::StatusOr<BundleContents> contents =
      options_.plan(job.specialization->split().part, request);
  if (IsStopped(contents.status())) return;
  if (!contents.ok()) {
    Log(logger_, LogLevel::kWarning, "no plan: {}", ToStd(contents.status().message()));
    return;
  }
  auto program = Program::FromContents(*std::move(contents), LoadLevel::kTrusted);
  if (!program.ok()) {
    Log(logger_, LogLevel::kWarning, "a plan was refused: {}", ToStd(program.status().message()));
    return;
  }
  const int64_t before_bytes = ProgramBytes(*job.specialization->program());
  const int64_t after_bytes = ProgramBytes(**program);
  job.specialization->Replace(*std::move(program));
  cache_->Grow(job.key, after_bytes - before_bytes);
  planned_.fetch_add(1);
}

void DynamicProgram::WaitForPlans() {
  std::unique_lock<std::mutex> lock(jobs_mutex_);
  jobs_changed_.wait(lock, [&] { return jobs_.empty() && !is_planning_; });
}

}  // namespace berth
