// berth place FILE.csv: the placement solver on its own.
//
// The time limit counts from the start of the command, the reading of the file included.
#include <memory>
#include <thread>

#include "base/write_file.h"
#include "planner/pool/csv.h"
#include "planner/pool/plan_pool.h"
#include "planner/pool/verify.h"
#include "runtime/bundle/mapping.h"
#include "tools/command.h"
#include "tools/json_output.h"
#include "tools/progress.h"
#include "tools/stopwatch.h"

namespace berth {
namespace {

constexpr int64_t kDefaultWorkUnits = 4'000'000'000;
constexpr int64_t kUnlimitedWork = int64_t{1} << 60;

struct Flags {
  std::string file, output;
  int64_t capacity_bytes = 0;
  int64_t work_limit_units = 0;
  double time_limit_s = 0;
  int threads = 0;  // 0: as many as the machine has
  uint64_t seed = 1;
  bool json = false;
};

absl::StatusOr<PoolProblem> ReadProblem(const Flags& flags) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<FileMapping> file, FileMapping::Open(flags.file));
  absl::StatusOr<PoolProblem> problem =
      ParsePoolCsv({reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()});
  if (!problem.ok()) return Annotate(problem.status(), fmt::format("'{}'", flags.file));
  if (flags.capacity_bytes > 0) {
    problem->capacity_bytes = flags.capacity_bytes;
    problem->objective = PoolObjective::kFit;
  }
  return problem;
}

// Seconds from the start of the command.
struct Times {
  double first_plan_s = 0;
  double best_plan_s = 0;
  double total_s = 0;
};

double GapPercent(const PoolPlan& plan) {
  if (plan.lower_bound_bytes == 0) return 0;
  return 100.0 * static_cast<double>(plan.height_bytes - plan.lower_bound_bytes) /
         static_cast<double>(plan.lower_bound_bytes);
}

nlohmann::ordered_json ConflictAsJson(const PoolProblem& problem, const PoolConflict& conflict) {
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const int64_t item : conflict.items) {
    names.push_back(problem.items[static_cast<size_t>(item)].name);
  }
  return {{"step", conflict.step},
          {"proved_by", PoolConflictProofName(conflict.proof)},
          {"required_bytes", conflict.required_bytes},
          {"available_bytes", conflict.available_bytes},
          {"excess_bytes", conflict.excess_bytes},
          {"items", std::move(names)}};
}

void PrintAsJson(const Flags& flags, const PoolProblem& problem, const PoolPlan& plan,
                 const Times& times) {
  nlohmann::ordered_json json = {{"file", flags.file},
                                 {"items", problem.items.size()},
                                 {"status", PoolStatusName(plan.status)},
                                 {"height_bytes", plan.height_bytes},
                                 {"lower_bound_bytes", plan.lower_bound_bytes},
                                 {"lower_bound_step", plan.lower_bound_step},
                                 {"proved_by", PoolBoundProofName(plan.lower_bound_proof)},
                                 {"gap_percent", GapPercent(plan)},
                                 {"live_peak_bytes", plan.live_peak_bytes},
                                 {"fragmentation", FragmentationRatio(plan)},
                                 {"fragmentation_bytes", plan.height_bytes - plan.live_peak_bytes},
                                 {"method", plan.method},
                                 {"work_units", plan.work_units},
                                 {"reproducible", plan.is_reproducible},
                                 {"first_plan_ms", times.first_plan_s * 1000},
                                 {"best_plan_ms", times.best_plan_s * 1000},
                                 {"place_ms", times.total_s * 1000}};
  if (problem.capacity_bytes) json["capacity_bytes"] = *problem.capacity_bytes;
  if (plan.conflict) json["conflict"] = ConflictAsJson(problem, *plan.conflict);
  PrintJson(json);
}

void PrintAsText(const PoolProblem& problem, const PoolPlan& plan, const Times& times) {
  fmt::print("{}: {} items in {} bytes\n", PoolStatusName(plan.status), problem.items.size(),
             plan.height_bytes);
  fmt::print("  lower bound    {} bytes, proved by {}, gap {:.3f}%\n", plan.lower_bound_bytes,
             plan.lower_bound_proof == PoolBoundProof::kLoad
                 ? fmt::format("load at step {}", plan.lower_bound_step)
                 : "search",
             GapPercent(plan));
  fmt::print("  fragmentation  {:.4f} x the {} bytes live at most: holes cost {} bytes\n",
             FragmentationRatio(plan), plan.live_peak_bytes,
             plan.height_bytes - plan.live_peak_bytes);
  fmt::print("  method         {}\n", plan.method);
  fmt::print("  time           first plan {:.1f} ms, best plan {:.1f} ms, all {:.1f} ms\n",
             times.first_plan_s * 1000, times.best_plan_s * 1000, times.total_s * 1000);
  if (!plan.is_reproducible) {
    fmt::print("The time limit cut the search short: this plan is not reproducible\n");
  }
}

PoolOptions MakeOptions(const Flags& flags) {
  PoolOptions options = {.seed = flags.seed, .threads = flags.threads};
  if (options.threads <= 0) {
    options.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  options.work_limit_units =
      flags.work_limit_units > 0 ? flags.work_limit_units : kDefaultWorkUnits;
  // Time alone ends the search, unless the user also limits its work.
  if (flags.time_limit_s > 0 && flags.work_limit_units == 0) {
    options.work_limit_units = kUnlimitedWork;
  }
  return options;
}

absl::Status Run(const Flags& flags) {
  const Stopwatch watch;
  BERTH_ASSIGN_OR_RETURN(const PoolProblem problem, ReadProblem(flags));
  PoolOptions options = MakeOptions(flags);
  if (flags.time_limit_s > 0) {
    options.should_stop = [&] { return watch.Seconds() >= flags.time_limit_s; };
  }
  Times times;
  options.on_better_plan = [&](int64_t) {
    times.best_plan_s = watch.Seconds();
    if (times.first_plan_s == 0) times.first_plan_s = times.best_plan_s;
  };
  Progress progress(fmt::format("placing {} items", problem.items.size()));
  const absl::StatusOr<PoolPlan> plan = PlanPool(problem, options);
  progress.Stop();
  if (!plan.ok()) return Annotate(plan.status(), fmt::format("'{}'", flags.file));
  times.total_s = watch.Seconds();
  BERTH_RETURN_IF_ERROR(VerifyPoolPlan(problem, *plan));
  if (!flags.output.empty() && !plan->conflict) {
    BERTH_RETURN_IF_ERROR(WriteFile(flags.output, FormatPoolCsv(problem, *plan)));
  }
  if (flags.json) {
    PrintAsJson(flags, problem, *plan, times);
  } else {
    PrintAsText(problem, *plan, times);
  }
  if (!plan->conflict) return absl::OkStatus();
  return ResourceExhausted("{}: '{}': {}", PoolStatusName(plan->status), flags.file,
                           DescribeConflict(problem, *plan));
}

}  // namespace

void AddPlaceCommand(CLI::App& app, CommandAction& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("place", "Place items of a CSV file in one memory: the solver on its own");
  command
      ->add_option("file", flags->file,
                   "CSV whose first line names the columns: id,lower,upper,size, optionally "
                   "alignment,offset,hint; `end` instead of `upper` is inclusive")
      ->required();
  command
      ->add_option("--capacity", flags->capacity_bytes,
                   "Any plan within so many bytes; without it the lowest plan")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--time-limit", flags->time_limit_s,
                   "Search for so many seconds; a plan that is cut short is not reproducible")
      ->check(CLI::PositiveNumber);
  command
      ->add_option(
          "--work-limit", flags->work_limit_units,
          "Search for so many units of work (about 3 ns each): reproducible; the default is "
          "some 10 s on two threads")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--threads", flags->threads,
                   "Search on so many threads; the default is all. The plan is the same")
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", flags->seed, "Of the search; another seed, another search");
  command->add_option("-o,--output", flags->output, "Write the items with their offsets there");
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
