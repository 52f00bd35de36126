// berth run BUNDLE
#include <algorithm>
#include <memory>

#include "base/write_file.h"
#include "berth/context.h"
#include "npu_sim/sanitizer.h"
#include "tools/command.h"
#include "tools/dynamic_flags.h"
#include "tools/json_output.h"
#include "tools/model_io.h"
#include "tools/progress.h"
#include "tools/report_text.h"
#include "tools/run_trace.h"
#include "tools/stopwatch.h"

namespace berth {
namespace {

struct Flags {
  std::string bundle, output_directory, trace, mode = "both";
  std::vector<std::string> inputs;
  int threads = 2;
  int runs = 0, repeat = 1;
  uint64_t seed = 1;
  bool reset_state = false, sanitize = false;
  bool json = false, trusted = false;
  DynamicFlags dynamic;
};

// Of runs whose times are told one by one.
constexpr size_t kMostTimesShown = 20;

RunMode ModeOf(const std::string& name) {
  if (name == "values") return RunMode::kValues;
  return name == "cycles" ? RunMode::kCycles : RunMode::kBoth;
}

// What the runs gave.
struct Results {
  SimReport report;
  std::vector<double> run_ms;  // in their order
  HostTimeline timeline;       // of the last run, where a trace is asked for
  SanitizerReport sanitizer;   // of all runs
  int runs = 1;                // in a sequence
};

std::string DirectoryOfRun(const Flags& flags, int run, int runs) {
  return runs == 1 ? flags.output_directory : fmt::format("{}/run_{}", flags.output_directory, run);
}

// The sequence of runs, `--repeat` times, each time from the states of a new context.
absl::Status RunSequences(const Flags& flags, const Program& program, Context& context,
                          Progress& progress, Results& results) {
  BERTH_ASSIGN_OR_RETURN(const InputSequence sequence,
                         ParseInputs(program.inputs(), flags.inputs, flags.runs));
  results.runs = sequence.runs;
  RunOptions options;
  options.mode = ModeOf(flags.mode);
  if (!flags.trace.empty()) {
    options.record_commands = true;
    options.timeline = &results.timeline;
  }
  if (flags.sanitize) options.sanitizer = &results.sanitizer;
  const bool writes = !flags.output_directory.empty() && options.mode != RunMode::kCycles;
  std::vector<Tensor> inputs, outputs = MakeOutputs(program.outputs());
  const std::vector<TensorView> output_views = MutableViews(outputs);
  for (int i = 0; i < flags.repeat; ++i) {
    for (int run = 0; run < sequence.runs; ++run) {
      if (run == 0 || flags.reset_state) context.ResetState();
      if (sequence.runs > 1 || i == 0) {
        BERTH_ASSIGN_OR_RETURN(inputs, InputsOfRun(program.inputs(), sequence, run, flags.seed));
      }
      progress.Say(fmt::format("running '{}', {} of {}", flags.bundle,
                               int64_t{i} * sequence.runs + run + 1,
                               int64_t{flags.repeat} * sequence.runs));
      const Stopwatch watch;
      BERTH_RETURN_IF_ERROR(
          program.is_dynamic()
              ? context.Run(Views(inputs), outputs, options, &results.report)
              : context.Run(Views(inputs), output_views, options, &results.report));
      results.run_ms.push_back(watch.Milliseconds());
      if (flags.dynamic.wait_for_plans) program.WaitForPlans();
      if (!writes || i > 0) continue;
      BERTH_RETURN_IF_ERROR(WriteOutputs(DirectoryOfRun(flags, run, sequence.runs), outputs));
    }
  }
  return absl::OkStatus();
}

double MedianOf(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// What the sanitizer found beyond the first, which the error tells.
void PrintFindings(const SanitizerReport& sanitizer) {
  for (size_t i = 1; i < sanitizer.findings.size(); ++i) {
    fmt::print(stderr, "berth: sanitizer: {}\n", sanitizer.findings[i].text);
  }
}

void AddSanitizerJson(const SanitizerReport& sanitizer, nlohmann::ordered_json& json) {
  json["sanitizer"] = {{"commands", sanitizer.command_count},
                       {"read_bytes", sanitizer.read_bytes},
                       {"written_bytes", sanitizer.written_bytes},
                       {"findings", sanitizer.finding_count}};
}

void Print(const Flags& flags, const Program& program, double load_ms, const Results& results) {
  const BundleContents& info = program.bundle().info();
  const RunMode mode = ModeOf(flags.mode);
  const double median_ms = MedianOf(results.run_ms);
  if (flags.json) {
    nlohmann::ordered_json json;
    AddPlanJson(info, json);
    if (mode != RunMode::kValues) AddReportJson(results.report, info, json);
    if (program.is_dynamic()) AddDynamicJson(program.dynamic_statistics(), json);
    json["load_ms"] = load_ms;
    json["run_ms"] = median_ms;
    json["each_run_ms"] = results.run_ms;
    json["runs"] = results.runs;
    json["state_count"] = info.states.size();
    if (flags.sanitize) AddSanitizerJson(results.sanitizer, json);
    PrintJson(json);
    return;
  }
  if (mode != RunMode::kValues) fmt::print("{}", ReportText(results.report, info));
  fmt::print("Host time {:.2f} ms (median of {}), {} thread(s)\n", median_ms, results.run_ms.size(),
             flags.threads);
  if (program.is_dynamic()) {
    if (results.run_ms.size() <= kMostTimesShown) {
      fmt::print("In turn {:.2f} ms\n", fmt::join(results.run_ms, ", "));
    }
    fmt::print("{}", DynamicText(program.dynamic_statistics()));
  }
  if (flags.sanitize) {
    fmt::print("Sanitizer: nothing found in {} commands, {} bytes read and {} written\n",
               results.sanitizer.command_count, results.sanitizer.read_bytes,
               results.sanitizer.written_bytes);
  }
  if (results.runs == 1 || info.states.empty()) return;
  fmt::print("{} states, {}\n", info.states.size(),
             flags.reset_state ? "reset before every run" : "kept from run to run");
}

absl::Status Run(const Flags& flags) {
  Progress progress(fmt::format("verifying '{}'", flags.bundle));
  if (flags.sanitize && ModeOf(flags.mode) == RunMode::kCycles) {
    return InvalidArgument("--sanitize: a run for cycles touches no bytes");
  }
  const Stopwatch load_watch;
  BERTH_ASSIGN_OR_RETURN(
      const std::shared_ptr<const Program> program,
      Program::Load(flags.bundle, flags.trusted ? LoadLevel::kTrusted : LoadLevel::kFull,
                    ToDynamicOptions(flags.dynamic)));
  const double load_ms = load_watch.Milliseconds();
  if (program->is_dynamic() && !flags.trace.empty()) {
    return Unimplemented("--trace: '{}' is a dynamic bundle; compile it with its shapes pinned",
                         flags.bundle);
  }
  ArenaPool pool;
  ContextOptions context_options;
  context_options.threads = flags.threads;
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Context> context,
                         Context::Create(program, pool, context_options));
  Results results;
  const absl::Status ran = RunSequences(flags, *program, *context, progress, results);
  if (!ran.ok()) {
    progress.Stop();
    PrintFindings(results.sanitizer);
    return ran;
  }
  if (!flags.trace.empty()) {
    progress.Say(fmt::format("writing '{}'", flags.trace));
    BERTH_RETURN_IF_ERROR(
        WriteFile(flags.trace, TraceJson(program->bundle().program(), program->bundle().info(),
                                         results.report, results.timeline.Finish())));
  }
  progress.Stop();
  Print(flags, *program, load_ms, results);
  return absl::OkStatus();
}

}  // namespace

void AddRunCommand(CLI::App& app, CommandAction& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("run", "Run a bundle on the simulated machine");
  command->add_option("bundle", flags->bundle, "Bundle file")->required();
  command->add_option(
      "--input", flags->inputs,
      "name=file.npy or position=file.npy, or name=1x3x224x224 for random values of "
      "that shape; random values where not given; an input given several times "
      "makes as many runs in sequence");
  command->add_option("--output-dir", flags->output_directory,
                      "Write output_0.npy, output_1.npy, ... there; of several runs in sequence "
                      "into run_0, run_1, ...");
  command->add_option("--trace", flags->trace,
                      "Write the (last) run as a trace for Perfetto or chrome://tracing");
  command->add_option("--mode", flags->mode, "values, cycles or both")
      ->check(CLI::IsMember({"values", "cycles", "both"}))
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "Workers on the host")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--runs", flags->runs,
                   "Runs in sequence, with states kept from one to the next; as many as the "
                   "input that is given most often where it is not said")
      ->check(CLI::Range(1, 1000000));
  command->add_flag("--reset-state", flags->reset_state,
                    "Every run of a sequence begins with the states of a new context");
  command
      ->add_option("--repeat", flags->repeat,
                   "All of it so many times, from the same states; the median time is reported")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Of random inputs")->capture_default_str();
  command->add_flag("--trusted", flags->trusted, "Skip the proof: the file was verified before");
  command->add_flag("--sanitize", flags->sanitize,
                    "Watch every byte on chip and in the pool while it runs, one command at a "
                    "time: bytes read before they are written or after another buffer took their "
                    "place, accesses that no semaphore orders, waits without end");
  AddDynamicFlags(*command, flags->dynamic);
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
