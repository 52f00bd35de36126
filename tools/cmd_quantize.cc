// berth quantize MODEL
#include <memory>

#include "base/write_file.h"
#include "kernels/reference/reference.h"
#include "planner/import_model.h"
#include "planner/onnx/export.h"
#include "tools/compile_flags.h"
#include "tools/json_output.h"
#include "tools/machine_runner.h"
#include "tools/progress.h"
#include "tools/quantize_report.h"
#include "tools/samples.h"
#include "tools/stopwatch.h"

namespace berth {
namespace {

// The largest machine: the fewest tiles, so that values come fastest. They do not depend on it.
constexpr const char* kCalibrationTarget = "server";
constexpr int kRandomSamples = 8;

struct Flags {
  std::string model, output, calibrate;
  std::vector<std::string> shapes;
  std::vector<float> range = {-1, 1};
  std::string method = "minmax", activations = "int8";
  double percentile = 99.99;
  int samples = 0;  // 0: all files, or kRandomSamples
  int threads = 2;
  uint64_t seed = 1;
  bool random = false, json = false;
};

struct Samples {
  std::vector<Sample> calibration, evaluation;
  size_t skipped = 0;  // files of other shapes than the first
};

struct Imported {
  Graph graph;
  bool takes_shapes_of_sample = false;
};

// Dimensions that the model leaves open and no flag pins are those of the first sample.
absl::StatusOr<Imported> Import(const Flags& flags, const CompileOptions& compile,
                                const std::vector<Sample>& samples) {
  ImportOptions options;
  options.input_shapes = compile.input_shapes;
  absl::StatusOr<Graph> graph = ImportModelFile(flags.model, options);
  if (graph.ok()) return Imported{*std::move(graph), false};
  if (samples.empty()) return graph.status();
  for (const Tensor& input : samples[0].inputs) {
    options.shapes_by_position.push_back(input.shape());
  }
  BERTH_ASSIGN_OR_RETURN(Graph shaped, ImportModelFile(flags.model, options));
  return Imported{std::move(shaped), true};
}

// Files measure the accuracy themselves; drawn samples are drawn anew for it.
absl::StatusOr<Samples> MakeSamples(const Flags& flags, const Imported& imported,
                                    const std::vector<Sample>& read) {
  const Graph& graph = imported.graph;
  Samples samples;
  if (flags.random) {
    const int count = flags.samples > 0 ? flags.samples : kRandomSamples;
    std::vector<Sample> drawn =
        DrawSamples(graph, 2 * count, flags.seed, flags.range[0], flags.range[1]);
    samples.evaluation.assign(drawn.begin() + count, drawn.end());
    drawn.resize(static_cast<size_t>(count));
    samples.calibration = std::move(drawn);
    return samples;
  }
  const bool skips = imported.takes_shapes_of_sample;
  BERTH_ASSIGN_OR_RETURN(samples.calibration, FitSamples(graph, read, flags.samples, skips));
  if (skips) samples.skipped = read.size() - samples.calibration.size();
  samples.evaluation = samples.calibration;
  return samples;
}

QuantizeOptions MakeOptions(const Flags& flags, CompileOptions compile, Progress& progress) {
  QuantizeOptions options;
  options.calibration.method = *RangeMethodFromName(flags.method);
  options.calibration.percentile = flags.percentile;
  options.activations = *DTypeFromName(flags.activations);
  options.evaluator = EvaluateNode;
  options.runner = MachineRunner(std::move(compile), flags.threads);
  options.on_stage = [&flags, &progress](std::string_view stage) {
    progress.Say(fmt::format("{} '{}'", stage, flags.model));
  };
  return options;
}

absl::Status Run(const Flags& flags) {
  if (!(flags.range[0] < flags.range[1])) {
    return InvalidArgument("--range {} {}: the first must be less", flags.range[0], flags.range[1]);
  }
  Progress progress(fmt::format("reading '{}'", flags.model));
  const Stopwatch watch;
  CompileFlags compile_flags;
  compile_flags.target = kCalibrationTarget;
  compile_flags.shapes = flags.shapes;
  BERTH_ASSIGN_OR_RETURN(CompileOptions compile, ToCompileOptions(compile_flags));
  std::vector<Sample> read;
  if (!flags.random) {
    BERTH_ASSIGN_OR_RETURN(read, ReadSamples(flags.calibrate, flags.samples));
  }
  BERTH_ASSIGN_OR_RETURN(Imported imported, Import(flags, compile, read));
  BERTH_ASSIGN_OR_RETURN(const Samples samples, MakeSamples(flags, imported, read));
  const QuantizeOptions options = MakeOptions(flags, std::move(compile), progress);
  absl::StatusOr<QuantizedModel> model =
      QuantizeModel(std::move(imported.graph), samples.calibration, samples.evaluation, options);
  if (!model.ok()) return Annotate(model.status(), fmt::format("model '{}'", flags.model));
  BERTH_ASSIGN_OR_RETURN(const onnx::ModelProto proto, ExportOnnx(model->quantized.graph));
  BERTH_ASSIGN_OR_RETURN(const std::string bytes, SerializeModel(proto));
  BERTH_RETURN_IF_ERROR(WriteFile(flags.output, bytes));
  progress.Stop();
  if (!flags.json) {
    if (samples.skipped > 0) {
      fmt::print("{} samples of other shapes than the first are left out\n", samples.skipped);
    }
    fmt::print("{}Wrote '{}', {} bytes, in {:.1f} s\n", QuantizeText(*model), flags.output,
               bytes.size(), watch.Milliseconds() / 1000);
    return absl::OkStatus();
  }
  nlohmann::ordered_json json{{"method", flags.method},
                              {"activations", flags.activations},
                              {"calibration_samples", samples.calibration.size()},
                              {"skipped_samples", samples.skipped}};
  AddQuantizeJson(*model, json);
  json["output_bytes"] = bytes.size();
  json["quantize_ms"] = watch.Milliseconds();
  PrintJson(json);
  return absl::OkStatus();
}

void AddSampleFlags(CLI::App& command, Flags& flags) {
  CLI::Option_group* source = command.add_option_group("Samples", "What to calibrate with");
  source->add_option("--calibrate", flags.calibrate,
                     "Folder of inputs: cases (input_0.npy, ...), folders of cases, or .npy files");
  source->add_flag("--random", flags.random, "Random inputs");
  source->require_option(1);
  command
      .add_option("--samples", flags.samples,
                  "How many: of files at most (default all), of random inputs (default 8)")
      ->check(CLI::Range(1, 100000));
  command.add_option("--seed", flags.seed, "Of random inputs")->capture_default_str();
  command.add_option("--range", flags.range, "Random floats are uniform between these")
      ->expected(2)
      ->capture_default_str();
  command.add_option("--shape", flags.shapes, "Shape of an input: name=1x3x224x224 (repeatable)");
}

}  // namespace

void AddQuantizeCommand(CLI::App& app, CommandAction& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("quantize", "Quantize a float model to 8-bit integers");
  command->add_option("model", flags->model, "Model file (float32)")->required();
  command->add_option("-o,--output", flags->output, "ONNX file to write, in QDQ form")->required();
  AddSampleFlags(*command, *flags);
  command->add_option("--method", flags->method, "Ranges: minmax, percentile or entropy")
      ->check(CLI::IsMember({"minmax", "percentile", "entropy"}))
      ->capture_default_str();
  command
      ->add_option("--percentile", flags->percentile,
                   "Share of the values to cover with --method percentile")
      ->check(CLI::Range(50.0, 100.0))
      ->capture_default_str();
  command->add_option("--activations", flags->activations, "int8 or uint8")
      ->check(CLI::IsMember({"int8", "uint8"}))
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "Workers on the host")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "One JSON object on stdout");
  command->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
