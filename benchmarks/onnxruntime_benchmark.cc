// Berth beside ONNX Runtime, in one run, one thread each:
//
//   onnxruntime_benchmark LIBONNXRUNTIME [MODEL.onnx BUNDLE]
//
// What an op costs beside its work: networks of N and 2 N negations of four numbers; the
// difference of their times, over N. Load: the model in ONNX Runtime, all its passes on and all
// off, beside its bundle, fully verified and trusted. The best of many repeats beside the median.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>

#include "benchmarks/onnxruntime_api.h"
#include "benchmarks/repeat_timing.h"
#include "berth/context.h"
#include "kernels/reference/reference.h"
#include "planner/compile.h"
#include "planner/onnx/model_builder.h"

namespace berth {
namespace {

using neighbour::OnnxRuntime;

constexpr int kOps = 200;
constexpr int64_t kElements = 4;

void Tell(std::string_view figure, const Times& times, double scale, std::string_view unit) {
  fmt::print("  {:<58} {:>10.3f} {:>10.3f} {}\n", figure, times.best_us * scale,
             times.median_us * scale, unit);
}

[[noreturn]] void Fail(const absl::Status& status) {
  fmt::print(stderr, "onnxruntime_benchmark: {}\n", ToStd(status.message()));
  std::exit(1);
}

std::string WriteChain(const std::filesystem::path& folder, int ops) {
  ModelBuilder builder;
  builder.Input("x", {kElements});
  std::string last = "x";
  for (int i = 0; i < ops; ++i) {
    const std::string next = i + 1 < ops ? fmt::format("v{}", i) : "y";
    builder.Node("Neg", {last}, {next});
    last = next;
  }
  builder.Output("y", {kElements});
  const std::string path = (folder / fmt::format("chain{}.onnx", ops)).string();
  std::ofstream(path, std::ios::binary) << builder.model.SerializeAsString();
  return path;
}

Times TimeOfNeighbour(const OnnxRuntime& ort, const std::string& path) {
  void* const session = ort.Load(path, false);
  std::vector<float> x(kElements, 1.0f), y(kElements);
  void* const input = ort.Wrap(x, {kElements});
  void* const output = ort.Wrap(y, {kElements});
  const Times times = Measure(2000, [&] { ort.Run(session, "x", input, "y", output); });
  ort.Unload(session);
  return times;
}

// Each op is a command of its own.
Times TimeOfBerth(const std::string& path, size_t& commands) {
  CompileOptions options;
  options.config = *LoadTarget("edge");
  options.evaluator = EvaluateNode;
  options.fuse = false;
  auto contents = CompileModel(path, options);
  if (!contents.ok()) Fail(contents.status());
  const auto program = Program::FromContents(*std::move(contents));
  if (!program.ok()) Fail(program.status());
  commands = (*program)->bundle().program().commands.size();
  ArenaPool pool;
  const auto context = Context::Create(*program, pool);
  if (!context.ok()) Fail(context.status());
  Tensor x((*program)->inputs()[0].type), y((*program)->outputs()[0].type);
  const ConstTensorView input = x.view();
  const TensorView output = y.view();
  return Measure(2000, [&] {
    if (absl::Status s = (*context)->Run({&input, 1}, {&output, 1}); !s.ok()) Fail(s);
  });
}

void TellSlope(std::string_view who, const Times& once, const Times& twice) {
  Tell(fmt::format("{}: an op", who),
       {(twice.best_us - once.best_us) / kOps, (twice.median_us - once.median_us) / kOps}, 1e3,
       "ns");
  Tell(fmt::format("{}: the rest of a run", who),
       {2 * once.best_us - twice.best_us, 2 * once.median_us - twice.median_us}, 1, "us");
}

void CompareOps(const OnnxRuntime& ort) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const std::string once = WriteChain(folder, kOps), twice = WriteChain(folder, 2 * kOps);
  size_t few = 0, many = 0;
  const Times berth_once = TimeOfBerth(once, few), berth_twice = TimeOfBerth(twice, many);
  TellSlope("ONNX Runtime", TimeOfNeighbour(ort, once), TimeOfNeighbour(ort, twice));
  TellSlope("Berth", berth_once, berth_twice);
  fmt::print("  (Berth: {:.2f} commands an op)\n", static_cast<double>(many - few) / kOps);
  std::filesystem::remove(once);
  std::filesystem::remove(twice);
}

void CompareLoads(const OnnxRuntime& ort, const std::string& model, const std::string& bundle) {
  for (const bool optimize : {true, false}) {
    const Times times = Measure(7, [&] { ort.Unload(ort.Load(model, optimize)); });
    Tell(optimize ? "ONNX Runtime: load, all passes" : "ONNX Runtime: load, no passes", times, 1e-3,
         "ms");
  }
  for (const LoadLevel level : {LoadLevel::kFull, LoadLevel::kTrusted}) {
    const Times times = Measure(15, [&] {
      if (const auto program = Program::Load(bundle, level); !program.ok()) Fail(program.status());
    });
    Tell(level == LoadLevel::kFull ? "Berth: full load" : "Berth: trusted load", times, 1e-3, "ms");
  }
}

int Main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    fmt::print(stderr, "usage: onnxruntime_benchmark LIBONNXRUNTIME [MODEL.onnx BUNDLE]\n");
    return 2;
  }
  const OnnxRuntime ort(argv[1]);
  fmt::print("{:<60} {:>10} {:>10}\n", "ONNX Runtime " + ort.version(), "best", "median");
  CompareOps(ort);
  if (argc == 4) CompareLoads(ort, argv[2], argv[3]);
  return 0;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) { return berth::Main(argc, argv); }
