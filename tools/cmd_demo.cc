// berth demo [MODEL]: the whole path at once, for the embedded network or the user's model.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <thread>

#include "base/write_file.h"
#include "berth/context.h"
#include "runtime/bundle/bundle.h"
#include "tools/compile_flags.h"
#include "tools/demo_network.h"
#include "tools/json_output.h"
#include "tools/model_io.h"
#include "tools/progress.h"
#include "tools/report_text.h"
#include "tools/stopwatch.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr size_t kTop = 5;
constexpr size_t kOutputsShown = 4;
constexpr uint64_t kInputSeed = 1;

struct Flags {
  std::string model, output_directory = "build/demo";
  DemoNetworkOptions network;
  CompileFlags compile;
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  bool json = false;
};

struct Demo {
  std::string model, bundle;
  std::shared_ptr<const Program> program;
  double load_ms = 0, run_ms = 0;
  std::vector<Tensor> outputs;
  SimReport report;

  const BundleContents& info() const { return program->bundle().info(); }
};

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return FailedPrecondition("cannot create '{}': {}", path, error.message());
  return absl::OkStatus();
}

absl::Status WriteNetwork(const Flags& flags, const std::string& path) {
  BERTH_RETURN_IF_ERROR(WriteFile(path, MakeDemoNetwork(flags.network)));
  if (!flags.json) {
    fmt::print("Wrote '{}': MobileNetV2 for {}x{} images, width {}, weights of seed {}\n", path,
               flags.network.resolution, flags.network.resolution, flags.network.width,
               flags.network.seed);
  }
  return absl::OkStatus();
}

absl::Status RunOnce(const Flags& flags, Demo& demo) {
  ArenaPool pool;
  ContextOptions context_options;
  context_options.threads = flags.threads;
  context_options.poison_before_run = true;
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Context> context,
                         Context::Create(demo.program, pool, context_options));
  BERTH_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                         MakeInputs(demo.program->inputs(), {}, kInputSeed));
  demo.outputs = MakeOutputs(demo.program->outputs());
  RunOptions options;
  options.mode = RunMode::kBoth;
  const Stopwatch watch;
  BERTH_RETURN_IF_ERROR(
      context->Run(Views(inputs), MutableViews(demo.outputs), options, &demo.report));
  demo.run_ms = watch.Milliseconds();
  return absl::OkStatus();
}

absl::StatusOr<Demo> MakeDemo(const Flags& flags) {
  BERTH_ASSIGN_OR_RETURN(CompileOptions options, ToCompileOptions(flags.compile));
  options.dynamic = false;  // random inputs need shapes
  BERTH_RETURN_IF_ERROR(MakeFolder(flags.output_directory));
  const fs::path folder = flags.output_directory;
  Demo demo;
  demo.model = flags.model;
  if (demo.model.empty()) {
    demo.model = (folder / "mobilenet_v2.onnx").string();
    BERTH_RETURN_IF_ERROR(WriteNetwork(flags, demo.model));
  }
  demo.bundle = (folder / fs::path(demo.model).stem()).string() + ".berth";
  Progress progress(fmt::format("planning '{}'", demo.model));
  BERTH_ASSIGN_OR_RETURN(const BundleContents contents, CompileModel(demo.model, options));
  BERTH_RETURN_IF_ERROR(WriteBundle(demo.bundle, contents));
  progress.Say(fmt::format("verifying '{}'", demo.bundle));
  const Stopwatch watch;
  BERTH_ASSIGN_OR_RETURN(demo.program, Program::Load(demo.bundle, LoadLevel::kFull));
  demo.load_ms = watch.Milliseconds();
  progress.Say(fmt::format("running '{}'", demo.bundle));
  BERTH_RETURN_IF_ERROR(RunOnce(flags, demo));
  return demo;
}

// Positions of the greatest values.
std::vector<size_t> TopOf(const std::vector<float>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t count = std::min(kTop, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                    [&](size_t a, size_t b) {
                      return values[a] > values[b] || (values[a] == values[b] && a < b);
                    });
  order.resize(count);
  return order;
}

absl::Status PrintOutputs(const Demo& demo) {
  for (size_t i = 0; i < std::min(demo.outputs.size(), kOutputsShown); ++i) {
    BERTH_ASSIGN_OR_RETURN(const std::vector<float> values, ToFloatValues(demo.outputs[i].view()));
    fmt::print("Output {} '{}' {}, greatest values:", i, demo.program->outputs()[i].name,
               demo.outputs[i].type().ToString());
    for (const size_t at : TopOf(values)) fmt::print("  [{}] {:.6g}", at, values[at]);
    fmt::print("\n");
  }
  if (demo.outputs.size() > kOutputsShown) {
    fmt::print("and {} more outputs\n", demo.outputs.size() - kOutputsShown);
  }
  return absl::OkStatus();
}

absl::Status PrintText(const Flags& flags, const Demo& demo) {
  const MemoryRequirements& memory = demo.program->memory();
  fmt::print(
      "{}Wrote '{}', read it back and proved its {} commands safe in {:.0f} ms\n"
      "A request needs {} bytes ({} pool, {} scratchpad, {} accumulators) beside {} bytes of "
      "shared constants\n\n",
      PlanText(demo.info()), demo.bundle, demo.program->bundle().program().commands.size(),
      demo.load_ms, memory.arena_bytes, memory.pool_bytes, memory.scratchpad_bytes,
      memory.accumulator_bytes, memory.constants_bytes);
  fmt::print("{}\n", ReportText(demo.report, demo.info()));
  fmt::print("Values computed on the host in {:.1f} ms with {} thread(s), inputs of seed {}\n",
             demo.run_ms, flags.threads, kInputSeed);
  return PrintOutputs(demo);
}

absl::Status Run(const Flags& flags) {
  BERTH_ASSIGN_OR_RETURN(const Demo demo, MakeDemo(flags));
  if (!flags.json) return PrintText(flags, demo);
  nlohmann::ordered_json json;
  json["model_file"] = demo.model;
  json["bundle"] = demo.bundle;
  AddPlanJson(demo.info(), json);
  AddReportJson(demo.report, demo.info(), json);
  json["load_ms"] = demo.load_ms;
  json["run_ms"] = demo.run_ms;
  PrintJson(json);
  return absl::OkStatus();
}

}  // namespace

void AddDemoCommand(CLI::App& app, CommandAction& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "demo", "Plan, prove, simulate and run: a MobileNetV2 that Berth writes, or MODEL");
  command->add_option("model", flags->model, "ONNX file; without it the embedded network");
  command->add_option("--output-dir", flags->output_directory, "Where model and bundle are written")
      ->take_last()
      ->capture_default_str();
  command
      ->add_option("--resolution", flags->network.resolution,
                   "Of the embedded network's images, a multiple of 32")
      ->check(CLI::Range(32, 1024))
      ->capture_default_str();
  command->add_option("--width", flags->network.width, "Multiplies the embedded network's channels")
      ->check(CLI::Range(0.1, 4.0))
      ->capture_default_str();
  AddCompileFlags(*command, flags->compile);
  command->add_option("--threads", flags->threads, "Workers on the host")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
