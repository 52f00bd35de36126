// berth check MODEL [--refs DIR]
#include <algorithm>
#include <memory>

#include "berth/context.h"
#include "kernels/fold/fold_constants.h"
#include "kernels/reference/reference.h"
#include "planner/import_model.h"
#include "tools/check_cases.h"
#include "tools/compile_flags.h"
#include "tools/dynamic_flags.h"
#include "tools/first_difference.h"
#include "tools/json_output.h"
#include "tools/model_io.h"
#include "tools/progress.h"
#include "tools/quantization_steps.h"
#include "tools/report_text.h"
#include "tools/search_progress.h"

namespace berth {
namespace {

constexpr double kTolerance = 1e-3;  // of max |expected|
// Results that are differences of values near 1 (the tails of a sigmoid, say) carry the rounding of
// those values, however small they are themselves: a few units in the last place of 1.
constexpr double kAbsoluteTolerance = 5e-7;

// Storage at half size rounds by 2^-11 (fp16) or 2^-8 (bf16) at every op.
constexpr double kFp16Tolerance = 1e-2;
constexpr double kBf16Tolerance = 5e-2;

// TFLite's own runtimes differ by so much from each other: a rounding step where they requantize.
constexpr double kTfliteTolerance = 1e-4;
constexpr StepTolerance kTfliteSteps = {
    .steps = 1, .share = 0.999, .most_steps = 2, .needs_same_top = false};

struct Flags {
  std::string model, refs;
  CompileFlags compile;
  int threads = 2;
  uint64_t seed = 1;
  Tolerance tolerance{kTolerance, kAbsoluteTolerance};
  StepTolerance step_tolerance;
  bool says_tolerance = false, says_steps = false;  // else the model's format decides
  bool is_dynamic = false;                          // shapes stay free though all cases agree
  bool json = false;
  DynamicFlags dynamic;
};

struct CaseResult {
  bool passed = true;
  double max_abs_error = 0, max_rel_error = 0;  // over all outputs
  std::vector<Difference> outputs;
  size_t worst_output = 0;  // of those that fail, if any does
  int64_t worst_index = -1;
  int stepped_outputs = 0;  // judged by steps, with the worst of them:
  StepDifference steps;
  SimReport report;
};

void Merge(const StepDifference& difference, StepDifference& worst) {
  worst.max_steps = std::max(worst.max_steps, difference.max_steps);
  worst.share_within = std::min(worst.share_within, difference.share_within);
  worst.same_top = worst.same_top && difference.same_top;
}

// `steps` of the outputs, 0 where they are not judged by steps.
absl::Status CompareOutputs(const std::vector<Tensor>& outputs, const std::vector<Tensor>& expected,
                            const Flags& flags, const std::vector<double>& steps,
                            CaseResult& result) {
  if (expected.size() > outputs.size()) {
    return InvalidArgument("{} expected outputs, the model has {}", expected.size(),
                           outputs.size());
  }
  double worst_rel_error = -1;
  for (size_t i = 0; i < expected.size(); ++i) {
    const absl::StatusOr<Difference> difference = Compare(outputs[i].view(), expected[i].view());
    if (!difference.ok()) return Annotate(difference.status(), fmt::format("output {}", i));
    bool passed = flags.tolerance.Accepts(difference->max_abs_error, difference->max_rel_error);
    if (steps[i] > 0) {
      BERTH_ASSIGN_OR_RETURN(
          const StepDifference stepped,
          CompareSteps(outputs[i].view(), expected[i].view(), steps[i], flags.step_tolerance));
      passed = stepped.Passes(flags.step_tolerance);
      ++result.stepped_outputs;
      Merge(stepped, result.steps);
    }
    result.outputs.push_back(*difference);
    result.max_abs_error = std::max(result.max_abs_error, difference->max_abs_error);
    result.max_rel_error = std::max(result.max_rel_error, difference->max_rel_error);
    const bool is_first_failure = result.passed && !passed;
    result.passed = result.passed && passed;
    if (is_first_failure ||
        (passed == result.passed && difference->max_rel_error > worst_rel_error)) {
      worst_rel_error = difference->max_rel_error;
      result.worst_output = i;
      result.worst_index = difference->worst_index;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CaseResult> RunCase(const std::shared_ptr<const Program>& program, const Case& one,
                                   const Flags& flags, const std::vector<double>& steps) {
  ArenaPool pool;
  ContextOptions context_options;
  context_options.threads = flags.threads;
  context_options.poison_before_run = true;
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Context> context,
                         Context::Create(program, pool, context_options));
  std::vector<Tensor> outputs;
  RunOptions options;
  options.mode = RunMode::kBoth;
  CaseResult result;
  BERTH_RETURN_IF_ERROR(context->Run(Views(one.inputs), outputs, options, &result.report));
  BERTH_RETURN_IF_ERROR(CompareOutputs(outputs, one.expected, flags, steps, result));
  return result;
}

absl::StatusOr<Graph> ImportForCase(const std::string& model, const CompileOptions& options) {
  ImportOptions import;
  import.input_shapes = options.input_shapes;
  import.shapes_by_position = options.shapes_by_position;
  // Every case begins with states as a new context has them.
  import.state_mode =
      options.state_mode == StateMode::kKeep ? StateMode::kFresh : options.state_mode;
  BERTH_ASSIGN_OR_RETURN(Graph graph, ImportModelFile(model, import));
  BERTH_RETURN_IF_ERROR(BindStates(options.states, graph));
  StartFresh(graph);
  // Types follow from values in some models: shapes that the model computes.
  FoldOptions fold;
  fold.keep_quantized = true;  // as the planner sees it
  BERTH_RETURN_IF_ERROR(FoldConstants(graph, EvaluateNode, fold));
  return graph;
}

// Steps of the model's outputs, zeros unless they are asked for.
absl::StatusOr<std::vector<double>> StepsOfOutputs(const Flags& flags,
                                                   const CompileOptions& options,
                                                   size_t output_count) {
  if (flags.step_tolerance.steps <= 0) return std::vector<double>(output_count, 0);
  BERTH_ASSIGN_OR_RETURN(const Graph graph, ImportForCase(flags.model, options));
  return OutputSteps(graph);
}

// Without expected outputs the reference interpreter makes them, from random inputs.
absl::StatusOr<Case> InterpretCase(const Flags& flags, const CompileOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const Graph graph, ImportForCase(flags.model, options));
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
  std::vector<std::string> names;   // of the outputs
  std::vector<Difference> outputs;  // the worst of all cases
  double max_abs_error = 0, max_rel_error = 0;
  std::string first_difference;  // of the first case that fails
};

void PrintCase(const Case& one, const CaseResult& result, const Program& program,
               const Flags& flags) {
  fmt::print("{}: {} (max abs error {:.3g}, {:.3g} of max |expected|", one.name,
             result.passed ? "passed" : "FAILED", result.max_abs_error, result.max_rel_error);
  if (result.worst_index >= 0) {
    fmt::print(", at element {} of output {} '{}'", result.worst_index, result.worst_output,
               program.outputs()[result.worst_output].name);
  }
  if (result.stepped_outputs > 0) {
    fmt::print(
        "; {} outputs in steps of their quantization: max {:.3g}, {:.4g} % within {:.3g}, {}",
        result.stepped_outputs, result.steps.max_steps, 100 * result.steps.share_within,
        flags.step_tolerance.steps, result.steps.same_top ? "same top value" : "another top value");
  } else if (result.passed && result.max_rel_error > flags.tolerance.relative) {
    fmt::print("; that output is within {:.3g}", flags.tolerance.absolute);
  }
  fmt::print(")\n");
  if (program.outputs().size() < 2 || flags.compile.dtype == "fp32") return;
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    fmt::print("  output {} '{}': max abs error {:.3g}, {:.3g} of max |expected|\n", i,
               program.outputs()[i].name, result.outputs[i].max_abs_error,
               result.outputs[i].max_rel_error);
  }
}

void Add(const CaseResult& result, const Program& program, Totals& totals) {
  totals.outputs.resize(std::max(totals.outputs.size(), result.outputs.size()));
  totals.names.resize(totals.outputs.size());
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const Difference& one = result.outputs[i];
    Difference& worst = totals.outputs[i];
    totals.names[i] = program.outputs()[i].name;
    worst.max_abs_error = std::max(worst.max_abs_error, one.max_abs_error);
    worst.max_rel_error = std::max(worst.max_rel_error, one.max_rel_error);
  }
}

nlohmann::ordered_json OutputsJson(const Totals& totals) {
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for (size_t i = 0; i < totals.outputs.size(); ++i) {
    outputs.push_back({{"name", totals.names[i]},
                       {"max_abs_error", totals.outputs[i].max_abs_error},
                       {"max_rel_error", totals.outputs[i].max_rel_error}});
  }
  return outputs;
}

// A best effort: the check has failed already.
std::string FindFirstDifference(const Flags& flags, const CompileOptions& options,
                                const Case& one) {
  const absl::StatusOr<Graph> graph = ImportForCase(flags.model, options);
  if (!graph.ok()) return std::string(ToStd(graph.status().message()));
  const absl::StatusOr<std::string> found =
      DescribeFirstDifference(*graph, one.inputs, options, flags.tolerance, flags.threads);
  if (found.ok()) return *found;
  return fmt::format("no node found: {}", ToStd(found.status().message()));
}

absl::StatusOr<std::shared_ptr<const Program>> CompileFor(const Flags& flags,
                                                          const CompileOptions& options) {
  BERTH_ASSIGN_OR_RETURN(BundleContents contents, CompileModel(flags.model, options));
  return Program::FromContents(std::move(contents), LoadLevel::kFull,
                               ToDynamicOptions(flags.dynamic));
}

// `program`: that of all cases, whose shapes are free; null: one is compiled for the case.
absl::Status CheckCase(const Flags& flags, CompileOptions options, const Case& one,
                       std::shared_ptr<const Program> program, Totals& totals,
                       nlohmann::ordered_json& json, Progress& progress) {
  // The case decides the shapes that the model leaves open, unless the user pinned them.
  for (const Tensor& input : one.inputs) options.shapes_by_position.push_back(input.shape());
  if (program == nullptr) {
    const std::string what = fmt::format("{}: planning '{}'", one.name, flags.model);
    progress.Say(what);
    ShowSearch(what, progress, options);
    BERTH_ASSIGN_OR_RETURN(program, CompileFor(flags, options));
    options.progress = nullptr;
  }
  progress.Say(fmt::format("{}: running '{}'", one.name, flags.model));
  BERTH_ASSIGN_OR_RETURN(const std::vector<double> steps,
                         StepsOfOutputs(flags, options, program->outputs().size()));
  BERTH_ASSIGN_OR_RETURN(const CaseResult result, RunCase(program, one, flags, steps));
  Add(result, *program, totals);
  totals.max_abs_error = std::max(totals.max_abs_error, result.max_abs_error);
  totals.max_rel_error = std::max(totals.max_rel_error, result.max_rel_error);
  if (!result.passed && totals.passed) {
    progress.Say(fmt::format("{}: looking for the first node that differs", one.name));
    totals.first_difference = FindFirstDifference(flags, options, one);
  }
  totals.passed = totals.passed && result.passed;
  if (flags.json) {
    const BundleContents& info = program->bundle().info();
    AddPlanJson(info, json);
    AddReportJson(result.report, info, json);
    if (program->is_dynamic()) AddDynamicJson(program->dynamic_statistics(), json);
    if (result.stepped_outputs > 0) {
      json["max_error_steps"] = result.steps.max_steps;
      json["share_within_steps"] = result.steps.share_within;
      json["same_top_value"] = result.steps.same_top;
    }
  } else {
    progress.Wipe();
    PrintCase(one, result, *program, flags);
  }
  return absl::OkStatus();
}

// The model's format and the storage of floats decide what the user leaves open.
Flags WithTolerances(Flags flags) {
  const bool is_tflite = IsTfliteFile(flags.model);
  if (!flags.says_tolerance) {
    flags.tolerance.relative = flags.compile.dtype == "fp16"   ? kFp16Tolerance
                               : flags.compile.dtype == "bf16" ? kBf16Tolerance
                               : is_tflite                     ? kTfliteTolerance
                                                               : kTolerance;
  }
  if (!is_tflite) return flags;
  if (!flags.says_steps) flags.step_tolerance = kTfliteSteps;
  return flags;
}

absl::Status Run(const Flags& given) {
  const Flags flags = WithTolerances(given);
  BERTH_ASSIGN_OR_RETURN(const CompileOptions options, ToCompileOptions(flags.compile));
  Progress progress(fmt::format("interpreting '{}'", flags.model));
  std::vector<Case> cases;
  if (flags.refs.empty()) {
    BERTH_ASSIGN_OR_RETURN(Case one, InterpretCase(flags, options));
    cases.push_back(std::move(one));
  } else {
    BERTH_ASSIGN_OR_RETURN(cases, ReadCases(flags.refs));
  }
  Totals totals;
  nlohmann::ordered_json json;
  std::shared_ptr<const Program> shared;
  if (flags.is_dynamic || !HaveOneShape(cases)) {
    progress.Say(fmt::format("compiling '{}'", flags.model));
    BERTH_ASSIGN_OR_RETURN(shared, CompileFor(flags, options));
  }
  for (const Case& one : cases) {
    BERTH_RETURN_IF_ERROR(
        Annotate(CheckCase(flags, options, one, shared, totals, json, progress), one.name));
  }
  progress.Stop();
  if (flags.json) {
    json["cases"] = cases.size();
    json["outputs"] = OutputsJson(totals);
    json["max_abs_error"] = totals.max_abs_error;
    json["max_rel_error"] = totals.max_rel_error;
    json["passed"] = totals.passed;
    if (!totals.passed) json["first_difference"] = totals.first_difference;
    PrintJson(json);
  }
  if (totals.passed) return absl::OkStatus();
  return InvalidArgument("check: '{}': error {:.3g} of max |expected|, tolerance {:.3g}; {}",
                         flags.model, totals.max_rel_error, flags.tolerance.relative,
                         totals.first_difference);
}

}  // namespace

void AddCheckCommand(CLI::App& app, CommandAction& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("check", "Compile, run and compare with expected outputs");
  command->add_option("model", flags->model, "ONNX or TFLite file")->required();
  command->add_option("--refs", flags->refs,
                      "Folder with input_i.npy and output_i.npy, or a folder of such cases; "
                      "without it the reference interpreter is compared with");
  AddCompileFlags(*command, flags->compile);
  AddDynamicFlags(*command, flags->dynamic);
  command->add_flag("--dynamic", flags->is_dynamic,
                    "Leave shapes free even where all cases have the same");
  command->add_option("--threads", flags->threads, "Workers on the host")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  const CLI::Option* tolerance = command
                                     ->add_option("--tolerance", flags->tolerance.relative,
                                                  "Largest error as a share of max |expected|; of "
                                                  "TFLite models 1e-4, with --dtype fp16 "
                                                  "1e-2, with bf16 5e-2")
                                     ->capture_default_str();
  command
      ->add_option("--absolute-tolerance", flags->tolerance.absolute,
                   "An error that passes however small the expected values are")
      ->capture_default_str();
  const CLI::Option* steps =
      command
          ->add_option("--tolerance-steps", flags->step_tolerance.steps,
                       "Judge quantized outputs by steps of their quantization: so many are "
                       "allowed; of TFLite models one for 99.9 % of the values and two for all")
          ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--step-share", flags->step_tolerance.share,
                   "Share of the values that must be within --tolerance-steps")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Of random inputs")->capture_default_str();
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, tolerance, steps, &action] {
    flags->says_tolerance = tolerance->count() > 0;
    flags->says_steps = steps->count() > 0;
    action = [flags] { return Run(*flags); };
  });
}

}  // namespace berth
