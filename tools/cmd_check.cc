// berth check MODEL [--refs DIR]
#include <algorithm>
#include <filesystem>
#include <memory>

#include "berth/context.h"
#include "kernels/reference/reference.h"
#include "planner/onnx/import.h"
#include "tools/compile_flags.h"
#include "tools/model_io.h"
#include "tools/npy.h"
#include "tools/report_text.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 1e-3;  // of max |expected|
// Results that are differences of values near 1 (the tails of a sigmoid, say) carry the rounding of
// those values, however small they are themselves: a few units in the last place of 1.
constexpr double kAbsoluteTolerance = 5e-7;

struct Flags {
  std::string model, refs;
  CompileFlags compile;
  int threads = 2;
  uint64_t seed = 1;
  double tolerance = kTolerance;
  double absolute_tolerance = kAbsoluteTolerance;
  bool json = false;
};

struct Case {
  std::string name;
  std::vector<Tensor> inputs, expected;  // in the model's order
};

absl::StatusOr<std::vector<Tensor>> ReadSeries(const fs::path& folder, std::string_view stem) {
  std::vector<Tensor> tensors;
  for (size_t i = 0;; ++i) {
    const fs::path file = folder / fmt::format("{}_{}.npy", stem, i);
    if (!fs::exists(file)) return tensors;
    BERTH_ASSIGN_OR_RETURN(Tensor tensor, ReadNpy(file.string()));
    tensors.push_back(std::move(tensor));
  }
}

// `refs` is one case (it holds output_0.npy) or a folder of such folders.
absl::StatusOr<std::vector<Case>> ReadCases(const std::string& refs) {
  std::error_code error;
  if (!fs::is_directory(refs, error)) return NotFound("--refs '{}' is not a directory", refs);
  std::vector<fs::path> folders;
  if (fs::exists(fs::path(refs) / "output_0.npy")) {
    folders.push_back(refs);
  } else {
    for (const fs::directory_entry& entry : fs::directory_iterator(refs)) {
      if (fs::exists(entry.path() / "output_0.npy")) folders.push_back(entry.path());
    }
    std::sort(folders.begin(), folders.end());
  }
  if (folders.empty()) return NotFound("--refs '{}' holds no output_0.npy", refs);
  std::vector<Case> cases;
  for (const fs::path& folder : folders) {
    Case one;
    one.name = folder.filename().string();
    BERTH_ASSIGN_OR_RETURN(one.inputs, ReadSeries(folder, "input"));
    BERTH_ASSIGN_OR_RETURN(one.expected, ReadSeries(folder, "output"));
    cases.push_back(std::move(one));
  }
  return cases;
}

struct CaseResult {
  Difference difference;
  size_t worst_output = 0;
  SimReport report;
};

absl::StatusOr<CaseResult> RunCase(const std::shared_ptr<const Program>& program, const Case& one,
                                   const Flags& flags) {
  ArenaPool pool;
  ContextOptions context_options;
  context_options.threads = flags.threads;
  context_options.poison_before_run = true;
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Context> context,
                         Context::Create(program, pool, context_options));
  std::vector<Tensor> outputs = MakeOutputs(program->outputs());
  RunOptions options;
  options.mode = RunMode::kBoth;
  CaseResult result;
  BERTH_RETURN_IF_ERROR(
      context->Run(Views(one.inputs), MutableViews(outputs), options, &result.report));
  if (one.expected.size() > outputs.size()) {
    return InvalidArgument("{} expected outputs, the model has {}", one.expected.size(),
                           outputs.size());
  }
  for (size_t i = 0; i < one.expected.size(); ++i) {
    absl::StatusOr<Difference> difference = Compare(outputs[i].view(), one.expected[i].view());
    if (!difference.ok()) return Annotate(difference.status(), fmt::format("output {}", i));
    if (difference->max_rel_error >= result.difference.max_rel_error) {
      result.difference = *difference;
      result.worst_output = i;
    }
  }
  return result;
}

// Without expected outputs the reference interpreter makes them, from random inputs.
absl::StatusOr<Case> InterpretCase(const Flags& flags, const CompileOptions& options) {
  ImportOptions import;
  import.input_shapes = options.input_shapes;
  BERTH_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(flags.model, import));
  BERTH_RETURN_IF_ERROR(InferTypes(graph));
  Case one;
  one.name = "reference interpreter";
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    one.inputs.push_back(RandomTensor(graph.at(graph.inputs[i]).type, flags.seed + i));
  }
  BERTH_ASSIGN_OR_RETURN(one.expected, Interpret(graph, one.inputs));
  return one;
}

struct Totals {
  bool passed = true;
  double max_abs_error = 0, max_rel_error = 0;
};

absl::Status CheckCase(const Flags& flags, CompileOptions options, const Case& one, Totals& totals,
                       nlohmann::ordered_json& json) {
  // The case decides the shapes that the model leaves open, unless the user pinned them.
  for (const Tensor& input : one.inputs) options.shapes_by_position.push_back(input.shape());
  BERTH_ASSIGN_OR_RETURN(BundleContents contents, CompileModel(flags.model, options));
  BERTH_ASSIGN_OR_RETURN(const std::shared_ptr<const Program> program,
                         Program::FromContents(std::move(contents)));
  BERTH_ASSIGN_OR_RETURN(const CaseResult result, RunCase(program, one, flags));
  const bool passed = result.difference.max_rel_error <= flags.tolerance ||
                      result.difference.max_abs_error <= flags.absolute_tolerance;
  totals.passed = totals.passed && passed;
  totals.max_abs_error = std::max(totals.max_abs_error, result.difference.max_abs_error);
  totals.max_rel_error = std::max(totals.max_rel_error, result.difference.max_rel_error);
  const BundleContents& info = program->bundle().info();
  if (flags.json) {
    AddPlanJson(info, json);
    AddReportJson(result.report, info, json);
    return absl::OkStatus();
  }
  fmt::print("{}: {} (max abs error {:.3g}, {:.3g} of max |expected|", one.name,
             passed ? "passed" : "FAILED", result.difference.max_abs_error,
             result.difference.max_rel_error);
  if (result.difference.worst_index >= 0) {
    fmt::print(", at element {} of output {} '{}'", result.difference.worst_index,
               result.worst_output, program->outputs()[result.worst_output].name);
  }
  fmt::print(")\n");
  return absl::OkStatus();
}

absl::Status Run(const Flags& flags) {
  BERTH_ASSIGN_OR_RETURN(const CompileOptions options, ToCompileOptions(flags.compile));
  std::vector<Case> cases;
  if (flags.refs.empty()) {
    BERTH_ASSIGN_OR_RETURN(Case one, InterpretCase(flags, options));
    cases.push_back(std::move(one));
  } else {
    BERTH_ASSIGN_OR_RETURN(cases, ReadCases(flags.refs));
  }
  Totals totals;
  nlohmann::ordered_json json;
  for (const Case& one : cases) {
    BERTH_RETURN_IF_ERROR(
        Annotate(CheckCase(flags, options, one, totals, json), fmt::format("{}", one.name)));
  }
  if (flags.json) {
    json["cases"] = cases.size();
    json["max_abs_error"] = totals.max_abs_error;
    json["max_rel_error"] = totals.max_rel_error;
    json["passed"] = totals.passed;
    fmt::print("{}\n", json.dump());
  }
  if (totals.passed) return absl::OkStatus();
  return InvalidArgument("check: '{}': error {:.3g} of max |expected|, tolerance {:.3g}",
                         flags.model, totals.max_rel_error, flags.tolerance);
}

}  // namespace

void AddCheckCommand(CLI::App& app, CommandAction& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("check", "Compile, run and compare with expected outputs");
  command->add_option("model", flags->model, "ONNX file")->required();
  command->add_option("--refs", flags->refs,
                      "Folder with input_i.npy and output_i.npy, or a folder of such cases; "
                      "without it the reference interpreter is compared with");
  AddCompileFlags(*command, flags->compile);
  command->add_option("--threads", flags->threads, "Workers on the host")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--tolerance", flags->tolerance, "Largest error as a share of max |expected|")
      ->capture_default_str();
  command->add_option("--absolute-tolerance", flags->absolute_tolerance,
                      "An error that passes however small the expected values are")
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Of random inputs")->capture_default_str();
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
