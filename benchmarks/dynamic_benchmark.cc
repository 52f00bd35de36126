// A model with free dimensions beside the static bundles of the same shapes, in one run:
//
//   dynamic_benchmark MODEL TARGET THREADS INPUT SHAPE...
//
// For every shape: the static bundle (planned in full); the first run of the shape through the one
// loaded dynamic program, the runs after it, the pool's peak, and the makespan before and after the
// shape was planned in the background. Bars are in benchmarks/README.md.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "berth/context.h"
#include "kernels/reference/reference.h"
#include "planner/compile.h"
#include "planner/lower_shape.h"

namespace berth {
namespace {

constexpr int kRuns = 15;
constexpr int kHotRuns = 3;

struct Task {
  std::string model, input;
  NpuConfig config;
  int threads = 1;
  std::vector<Shape> shapes;
};

using ProgramPointer = std::shared_ptr<const Program>;

double Milliseconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

Tensor RandomFloats(const Shape& shape) {
  Tensor tensor(TensorType{DType::kFloat32, shape});
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  auto* data = reinterpret_cast<float*>(tensor.bytes().data());
  std::generate_n(data, shape.ElementCount(), [&] { return normal(random); });
  return tensor;
}

// One context of a program, run by one input.
class Runner {
 public:
  Runner(ProgramPointer program, const Task& task, const Tensor& input) : input_(input) {
    ContextOptions options;
    options.threads = task.threads;
    context_ = *Context::Create(std::move(program), pool_, options);
  }
  double Run() {
    return Milliseconds([&] { Check(context_->Run({{input_.view()}}, outputs_)); });
  }
  double Median() {
    std::vector<double> times(kRuns);
    std::generate(times.begin(), times.end(), [&] { return Run(); });
    std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
    return times[kRuns / 2];
  }
  int64_t MakespanCycles() {
    SimReport report;
    RunOptions options;
    options.mode = RunMode::kCycles;
    Check(context_->Run({{input_.view()}}, outputs_, options, &report));
    return report.makespan_cycles;
  }

 private:
  static void Check(const absl::Status& status) {
    if (status.ok()) return;
    fmt::print(stderr, "{}\n", ToStd(status.message()));
    std::exit(1);
  }
  const Tensor& input_;
  ArenaPool pool_;
  std::unique_ptr<Context> context_;
  std::vector<Tensor> outputs_;
};

absl::StatusOr<ProgramPointer> LoadStatic(const Task& task, const Shape& shape) {
  CompileOptions options;
  options.config = task.config;
  options.evaluator = EvaluateNode;
  options.input_shapes = {{task.input, shape}};
  BERTH_ASSIGN_OR_RETURN(BundleContents contents, CompileModel(task.model, options));
  return Program::FromContents(std::move(contents));
}

absl::StatusOr<ProgramPointer> LoadDynamic(const Task& task, bool plans) {
  CompileOptions options;
  options.config = task.config;
  options.evaluator = EvaluateNode;
  BERTH_ASSIGN_OR_RETURN(BundleContents contents, CompileModel(task.model, options));
  DynamicOptions dynamic;
  dynamic.lower = MakeFastLowering(EvaluateNode);
  if (plans) dynamic.plan = MakeFullLowering(EvaluateNode);
  dynamic.hot_runs = kHotRuns;
  return Program::FromContents(std::move(contents), LoadLevel::kFull, dynamic);
}

absl::Status Measure(const Task& task) {
  BERTH_ASSIGN_OR_RETURN(const ProgramPointer shared, LoadDynamic(task, false));
  fmt::print(
      "{:>16} | {:>9} | {:>9} {:>6} | {:>9} {:>6} | {:>10} {:>10} {:>6} | {:>12} {:>12} {:>6} "
      "{:>12} {:>6}\n",
      "shape", "static ms", "first ms", "x", "again ms", "x", "pool bytes", "static", "x", "cycles",
      "first", "x", "planned", "x");
  for (const Shape& shape : task.shapes) {
    const Tensor input = RandomFloats(shape);
    BERTH_ASSIGN_OR_RETURN(const ProgramPointer fixed, LoadStatic(task, shape));
    Runner still(fixed, task, input), dynamic(shared, task, input);
    still.Run();
    const double first_ms = dynamic.Run();
    const double static_ms = still.Median(), again_ms = dynamic.Median();
    const int64_t static_cycles = still.MakespanCycles(), first_cycles = dynamic.MakespanCycles();
    // Its own program: the peak is of all shapes that a program ran.
    BERTH_ASSIGN_OR_RETURN(const ProgramPointer planned, LoadDynamic(task, true));
    Runner hot(planned, task, input);
    for (int i = 0; i < kHotRuns; ++i) hot.Run();
    const int64_t pool_bytes = planned->dynamic_statistics().pool_peak_bytes;
    planned->WaitForPlans();
    const int64_t planned_cycles = hot.MakespanCycles();
    const int64_t static_bytes = fixed->memory().pool_bytes;
    const auto ratio = [](auto a, auto b) {
      return static_cast<double>(a) / static_cast<double>(b);
    };
    fmt::print(
        "{:>16} | {:>9.2f} | {:>9.2f} {:>6.2f} | {:>9.2f} {:>6.2f} | {:>10} {:>10} {:>6.2f} | "
        "{:>12} {:>12} {:>6.2f} {:>12} {:>6.2f}\n",
        shape.ToString(), static_ms, first_ms, ratio(first_ms, static_ms), again_ms,
        ratio(again_ms, static_ms), pool_bytes, static_bytes, ratio(pool_bytes, static_bytes),
        static_cycles, first_cycles, ratio(first_cycles, static_cycles), planned_cycles,
        ratio(planned_cycles, static_cycles));
  }
  return absl::OkStatus();
}

absl::StatusOr<Task> ReadTask(int argc, char** argv) {
  if (argc < 6) return InvalidArgument("usage: {} MODEL TARGET THREADS INPUT SHAPE...", argv[0]);
  Task task;
  task.model = argv[1];
  BERTH_ASSIGN_OR_RETURN(task.config, LoadTarget(argv[2]));
  if (!absl::SimpleAtoi(argv[3], &task.threads)) return InvalidArgument("threads: {}", argv[3]);
  task.input = argv[4];
  for (int i = 5; i < argc; ++i) {
    std::vector<int64_t> extents;
    for (const absl::string_view part : absl::StrSplit(argv[i], 'x')) {
      if (!absl::SimpleAtoi(part, &extents.emplace_back())) {
        return InvalidArgument("shape: {}", argv[i]);
      }
    }
    BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create(std::move(extents)));
    task.shapes.push_back(std::move(shape));
  }
  return task;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  const auto task = berth::ReadTask(argc, argv);
  const absl::Status status = task.ok() ? berth::Measure(*task) : task.status();
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", berth::ToStd(status.message()));
  return 1;
}
