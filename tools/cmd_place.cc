// berth place FILE.csv: the placement solver on its own.
#include <chrono>
#include <memory>

#include "planner/pool/csv.h"
#include "planner/pool/plan_pool.h"
#include "runtime/bundle/mapping.h"
#include "tools/command.h"
#include "tools/json_output.h"
#include "tools/progress.h"
#include "tools/write_file.h"

namespace berth {
namespace {

constexpr int64_t kUnlimitedWork = int64_t{1} << 60;

struct Flags {
  std::string file, output;
  int64_t capacity_bytes = 0;
  int64_t work_limit_units = 0;
  double time_limit_s = 0;
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

void PrintAsJson(const Flags& flags, const PoolProblem& problem, const PoolPlan& plan,
                 double place_ms) {
  nlohmann::ordered_json json = {{"file", flags.file},
                                 {"items", problem.items.size()},
                                 {"status", PoolStatusName(plan.status)},
                                 {"height_bytes", plan.height_bytes},
                                 {"lower_bound_bytes", plan.lower_bound_bytes},
                                 {"lower_bound_step", plan.lower_bound_step},
                                 {"live_peak_bytes", plan.live_peak_bytes},
                                 {"fragmentation", FragmentationRatio(plan)},
                                 {"method", plan.method},
                                 {"reproducible", plan.is_reproducible},
                                 {"place_ms", place_ms}};
  if (problem.capacity_bytes) json["capacity_bytes"] = *problem.capacity_bytes;
  if (plan.conflict) {
    const PoolConflict& conflict = *plan.conflict;
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const int64_t item : conflict.items) {
      names.push_back(problem.items[static_cast<size_t>(item)].name);
    }
    json["conflict"] = {{"step", conflict.step},
                        {"required_bytes", conflict.required_bytes},
                        {"available_bytes", conflict.available_bytes},
                        {"excess_bytes", conflict.excess_bytes},
                        {"items", std::move(names)}};
  }
  PrintJson(json);
}

void PrintAsText(const PoolProblem& problem, const PoolPlan& plan, double place_ms) {
  const double ratio = plan.lower_bound_bytes > 0 ? static_cast<double>(plan.height_bytes) /
                                                        static_cast<double>(plan.lower_bound_bytes)
                                                  : 1.0;
  fmt::print("{}: {} items in {} bytes, lower bound {} at step {} ({:.4f} x), by {}, {:.0f} ms\n",
             PoolStatusName(plan.status), problem.items.size(), plan.height_bytes,
             plan.lower_bound_bytes, plan.lower_bound_step, ratio, plan.method, place_ms);
  if (!plan.is_reproducible) {
    fmt::print("The time limit cut the search short: this plan is not reproducible\n");
  }
}

absl::Status Run(const Flags& flags) {
  BERTH_ASSIGN_OR_RETURN(const PoolProblem problem, ReadProblem(flags));
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed_s = [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  PoolOptions options;
  if (flags.work_limit_units > 0) options.work_limit_units = flags.work_limit_units;
  if (flags.time_limit_s > 0) {
    // Time alone ends the search, unless the user also limits its work.
    if (flags.work_limit_units == 0) options.work_limit_units = kUnlimitedWork;
    options.should_stop = [&] { return elapsed_s() >= flags.time_limit_s; };
  }
  Progress progress(fmt::format("placing {} items", problem.items.size()));
  const absl::StatusOr<PoolPlan> plan = PlanPool(problem, options);
  progress.Stop();
  if (!plan.ok()) return Annotate(plan.status(), fmt::format("'{}'", flags.file));
  const double place_ms = elapsed_s() * 1000;
  if (!flags.output.empty() && !plan->conflict) {
    BERTH_RETURN_IF_ERROR(WriteFile(flags.output, FormatPoolCsv(problem, *plan)));
  }
  if (flags.json) {
    PrintAsJson(flags, problem, *plan, place_ms);
  } else {
    PrintAsText(problem, *plan, place_ms);
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
      ->add_option("--work-limit", flags->work_limit_units,
                   "Search for so many units of work (about 3 ns each): reproducible")
      ->check(CLI::PositiveNumber);
  command->add_option("-o,--output", flags->output, "Write the items with their offsets there");
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
