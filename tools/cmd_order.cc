// berth order GRAPH.json: the ordering solver on its own.
#include <memory>
#include <numeric>
#include <optional>

#include "planner/order/solve.h"
#include "runtime/bundle/mapping.h"
#include "tools/command.h"
#include "tools/json_output.h"
#include "tools/order_graph.h"
#include "tools/progress.h"
#include "tools/stopwatch.h"

namespace berth {
namespace {

constexpr int64_t kUnlimitedWork = int64_t{1} << 60;

struct Flags {
  std::string file;
  int64_t work_limit_units = 0;
  double time_limit_s = 0;
  uint64_t seed = OrderSearchOptions{}.seed;
  bool json = false;
};

// The result beside the orders that cost nothing to find.
struct Comparison {
  OrderSolution solution;
  std::optional<int64_t> file_peak_bytes;  // absent: the file's order is not topological
  int64_t depth_first_peak_bytes = 0;
  double order_ms = 0;
};

double ReductionPercent(int64_t from_bytes, int64_t to_bytes) {
  if (from_bytes == 0) return 0;
  return 100.0 * static_cast<double>(from_bytes - to_bytes) / static_cast<double>(from_bytes);
}

absl::StatusOr<NamedGraph> ReadGraph(const Flags& flags) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<FileMapping> file, FileMapping::Open(flags.file));
  return ParseOrderGraph(
      {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()});
}

Comparison Solve(const Flags& flags, const OrderProblem& problem) {
  const Stopwatch watch;
  OrderSearchOptions options;
  options.seed = flags.seed;
  if (flags.work_limit_units > 0) options.work_limit_units = flags.work_limit_units;
  if (flags.time_limit_s > 0) {
    // Time alone ends the search, unless the user also limits its work.
    if (flags.work_limit_units == 0) options.work_limit_units = kUnlimitedWork;
    options.should_stop = [&] { return watch.Seconds() >= flags.time_limit_s; };
  }
  Comparison result;
  std::vector<int> given(static_cast<size_t>(problem.node_count()));
  std::iota(given.begin(), given.end(), 0);
  const std::vector<int> depth_first = DepthFirstOrder(problem);
  result.depth_first_peak_bytes = PeakOfOrder(problem, depth_first);
  if (IsTopologicalOrder(problem, given)) {
    result.file_peak_bytes = PeakOfOrder(problem, given);
  } else {
    given = depth_first;
  }
  result.solution = SolveOrder(problem, given, options);
  result.order_ms = watch.Milliseconds();
  return result;
}

void PrintAsJson(const Flags& flags, const NamedGraph& named, const Comparison& result) {
  const OrderSolution& solution = result.solution;
  nlohmann::ordered_json json = {
      {"file", flags.file},
      {"nodes", named.ids.size()},
      {"edges", named.graph.edges.size()},
      {"peak_bytes", solution.peak_bytes},
      {"lower_bound_bytes", solution.lower_bound_bytes},
      {"exact", solution.is_exact},
      {"method", solution.method},
      {"depth_first_peak_bytes", result.depth_first_peak_bytes},
      {"reduction_from_depth_first_percent",
       ReductionPercent(result.depth_first_peak_bytes, solution.peak_bytes)}};
  if (result.file_peak_bytes) {
    json["file_peak_bytes"] = *result.file_peak_bytes;
    json["reduction_percent"] = ReductionPercent(*result.file_peak_bytes, solution.peak_bytes);
  }
  json["reproducible"] = solution.is_reproducible;
  json["order_ms"] = result.order_ms;
  nlohmann::ordered_json order = nlohmann::ordered_json::array();
  for (const int node : solution.order) {
    const nlohmann::json& id = named.ids[static_cast<size_t>(node)];
    if (id.is_string()) {
      order.push_back(id.get<std::string>());
    } else {
      order.push_back(id.get<int64_t>());
    }
  }
  json["order"] = std::move(order);
  PrintJson(json);
}

void PrintAsText(const NamedGraph& named, const Comparison& result) {
  const OrderSolution& solution = result.solution;
  fmt::print("{}: {} nodes at a peak of {} bytes, bound {}, by {}, {:.0f} ms\n",
             solution.is_exact ? "EXACT" : "heuristic", named.ids.size(), solution.peak_bytes,
             solution.lower_bound_bytes, solution.method, result.order_ms);
  if (result.file_peak_bytes) {
    fmt::print("  the file's order {} bytes: {:.1f}% less\n", *result.file_peak_bytes,
               ReductionPercent(*result.file_peak_bytes, solution.peak_bytes));
  } else {
    fmt::print("  the file's order does not respect its edges\n");
  }
  fmt::print("  depth-first {} bytes: {:.1f}% less\n", result.depth_first_peak_bytes,
             ReductionPercent(result.depth_first_peak_bytes, solution.peak_bytes));
  if (!solution.is_reproducible) {
    fmt::print("The time limit cut the search short: this order is not reproducible\n");
  }
  fmt::print("order:");
  for (const int node : solution.order) {
    const nlohmann::json& id = named.ids[static_cast<size_t>(node)];
    fmt::print(" {}", id.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  fmt::print("\n");
}

absl::Status Run(const Flags& flags) {
  const absl::StatusOr<NamedGraph> named = ReadGraph(flags);
  if (!named.ok()) return Annotate(named.status(), fmt::format("'{}'", flags.file));
  const absl::StatusOr<OrderProblem> problem = ToOrderProblem(*named);
  if (!problem.ok()) return Annotate(problem.status(), fmt::format("'{}'", flags.file));
  Progress progress(fmt::format("ordering {} nodes", named->ids.size()));
  const Comparison result = Solve(flags, *problem);
  progress.Stop();
  if (flags.json) {
    PrintAsJson(flags, *named, result);
  } else {
    PrintAsText(*named, result);
  }
  return absl::OkStatus();
}

}  // namespace

void AddOrderCommand(CLI::App& app, CommandAction& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "order", "Order a plain graph for the least peak of live bytes: the solver on its own");
  command
      ->add_option("file", flags->file,
                   R"({"nodes": [{"id": 0, "bytes": 100}, ...], "edges": [[0, 1], ...]})")
      ->required();
  command
      ->add_option("--time-limit", flags->time_limit_s,
                   "Search for so many seconds; an order that is cut short is not reproducible")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--work-limit", flags->work_limit_units,
                   "Search for so many units of work (steps measured): reproducible")
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", flags->seed, "Of the random choices");
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
