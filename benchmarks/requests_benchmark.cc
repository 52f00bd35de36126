// What serving costs beside the work, each figure beside its bar (docs/requests.md):
//
//   requests_benchmark [BUNDLE]
//
// BUNDLE: what is loaded and served; without it one of 100 MB of weights and about 20,000 commands
// is planned first. Machines are noisy: the best of many repeats is told beside the median.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "benchmarks/repeat_timing.h"
#include "berth/context.h"
#include "kernels/reference/reference.h"
#include "npu_sim/conflict_graph.h"
#include "planner/compile.h"

namespace berth {
namespace {

using Clock = std::chrono::steady_clock;
using ProgramPointer = std::shared_ptr<const Program>;

constexpr int kTinyCommands = 20000;

void Tell(std::string_view figure, double best, double median, std::string_view unit,
          std::string_view bar) {
  fmt::print("  {:<58} {:>10.3f} {:>10.3f} {:<6} {}\n", figure, best, median, unit, bar);
}

[[noreturn]] void Fail(const absl::Status& status) {
  fmt::print(stderr, "requests_benchmark: {}\n", ToStd(status.message()));
  std::exit(1);
}

// Fills of one byte of the scratchpad each, all independent or all on one byte.
std::vector<Command> TinyCommands(int count, bool chained) {
  std::vector<Command> commands(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    Command& command = commands[static_cast<size_t>(i)];
    command.opcode = Opcode::kDmaFill;
    command.out.space = MemorySpace::kScratchpad;
    command.out.dtype = DType::kUInt8;
    command.out.offset_bytes = chained ? 0 : i;
    for (int32_t& stride : command.out.stride_bytes) stride = 1;
  }
  return commands;
}

// The executor's time a command; that of the commands alone, called one after the other, beside it.
void MeasureExecutor(bool chained) {
  const std::vector<Command> commands = TinyCommands(kTinyCommands, chained);
  ProgramView view;
  view.commands = commands;
  view.scratchpad_bytes = kTinyCommands;
  const ConflictGraph conflicts = BuildConflictGraph(ComputeHazards(view));
  const ExecutionPlan plan = MakeExecutionPlan(commands, conflicts.view());
  std::vector<std::byte> scratchpad(kTinyCommands);
  std::atomic<bool> cancel{false};
  for (const int workers : {1, 2}) {
    std::vector<std::byte> working(static_cast<size_t>(WorkingBytes(plan, workers)) + 64);
    tbb::task_arena arena(workers);
    Executor executor(plan);
    for (const bool deadline : {false, true}) {
      ExecutorRun run;
      run.memory.scratchpad = scratchpad.data();
      run.working = working.data() + (64 - reinterpret_cast<uintptr_t>(working.data()) % 64) % 64;
      run.workers = {workers, &arena};
      run.stop.cancel = &cancel;
      if (deadline) run.stop.deadline = Clock::now() + std::chrono::hours(1);
      const Times times = Measure(100, [&] {
        if (absl::Status status = executor.Run(run); !status.ok()) Fail(status);
      });
      Tell(fmt::format("{}, {} worker{}{}", chained ? "chained" : "independent", workers,
                       workers > 1 ? "s" : "", deadline ? ", with a deadline" : ""),
           times.best_us * 1e3 / kTinyCommands, times.median_us * 1e3 / kTinyCommands, "ns", "50");
    }
  }
  const MemoryMap memory{scratchpad.data(), nullptr, {}};
  const Times alone = Measure(100, [&] {
    for (const Command& command : commands) {
      if (absl::Status status = ExecuteCommand(command, 0, memory, {}, {}); !status.ok()) {
        Fail(status);
      }
    }
  });
  Tell("  of which the commands themselves", alone.best_us * 1e3 / kTinyCommands,
       alone.median_us * 1e3 / kTinyCommands, "ns", "");
}

// A copy of one number: what a run costs that does nothing.
ProgramPointer TinyProgram() {
  CompileOptions options;
  options.config = *LoadTarget("edge");
  Graph graph;
  const ValueId x = graph.AddValue("x", TensorType{DType::kFloat32, Shape{1}});
  const ValueId y = graph.AddValue("y", TensorType{DType::kFloat32, Shape{1}});
  Node node;
  node.kind = OpKind::kRelu;
  node.name = "relu";
  node.opset = 13;
  node.inputs = {x};
  node.outputs = {y};
  graph.nodes.push_back(std::move(node));
  graph.inputs = {x};
  graph.outputs = {y};
  auto contents = CompileGraph(graph, options);
  if (!contents.ok()) Fail(contents.status());
  auto program = Program::FromContents(*std::move(contents));
  if (!program.ok()) Fail(program.status());
  return *program;
}

struct Buffers {
  explicit Buffers(const Program& program) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (const TensorInfo& info : program.inputs()) {
      tensors.push_back(std::make_unique<Tensor>(info.type));
      if (info.type.dtype == DType::kFloat32) {
        for (float& value : tensors.back()->Values<float>()) value = uniform(random);
      }
      inputs.push_back(tensors.back()->view());
    }
    for (const TensorInfo& info : program.outputs()) {
      tensors.push_back(std::make_unique<Tensor>(info.type));
      outputs.push_back(tensors.back()->view());
    }
  }
  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<ConstTensorView> inputs;
  std::vector<TensorView> outputs;
};

std::unique_ptr<Context> NewContext(const ProgramPointer& program, ArenaPool& pool,
                                    const ContextOptions& options = {}) {
  auto context = Context::Create(program, pool, options);
  if (!context.ok()) Fail(context.status());
  return *std::move(context);
}

void MeasureFixed() {
  constexpr int kRuns = 1000;
  const ProgramPointer program = TinyProgram();
  fmt::print("A run of {} commands\n", program->bundle().program().commands.size());
  for (const bool leased : {false, true}) {
    ArenaPool pool;
    ContextOptions options;
    options.arena_use = leased ? ArenaUse::kWhileRunning : ArenaUse::kHeld;
    const std::unique_ptr<Context> context = NewContext(program, pool, options);
    Buffers buffers(*program);
    const Times times = Measure(100, [&] {
      for (int i = 0; i < kRuns; ++i) {
        if (absl::Status status = context->Run(buffers.inputs, buffers.outputs); !status.ok()) {
          Fail(status);
        }
      }
    });
    Tell(leased ? "in all, its arena leased for each run" : "in all, its arena held",
         times.best_us / kRuns, times.median_us / kRuns, "us", "1 fixed");
  }
}

// Layers of x [64, 1280] by 1280 x 1280 until the weights are 100 MB.
BundleContents LargeContents() {
  constexpr int64_t kWidth = 1280, kLayers = 16;
  CompileOptions options;
  options.config = *LoadTarget("edge");
  options.config.scratchpad.size_bytes = 192 << 10;
  options.evaluator = EvaluateNode;
  options.resident = options.stripes = options.reorder = options.search = false;
  Graph graph;
  ValueId x = graph.AddValue("x", TensorType{DType::kFloat32, Shape{64, kWidth}});
  graph.inputs = {x};
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-0.05f, 0.05f);
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    Tensor weights(TensorType{DType::kFloat32, Shape{kWidth, kWidth}});
    for (float& value : weights.Values<float>()) value = uniform(random);
    Node node;
    node.kind = OpKind::kMatMul;
    node.name = fmt::format("layer{}", layer);
    node.opset = 13;
    node.inputs = {x, graph.AddConstant(fmt::format("w{}", layer), std::move(weights))};
    x = graph.AddValue(fmt::format("y{}", layer), TensorType{DType::kFloat32, Shape{64, kWidth}});
    node.outputs = {x};
    graph.nodes.push_back(std::move(node));
  }
  graph.outputs = {x};
  auto contents = CompileGraph(graph, options);
  if (!contents.ok()) Fail(contents.status());
  return *std::move(contents);
}

std::string MakeLargeBundle() {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("requests.{}.berth", getpid()))
          .string();
  if (absl::Status status = WriteBundle(path, LargeContents()); !status.ok()) Fail(status);
  return path;
}

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// In a process of its own, so that nothing is resident yet.
void MeasureResident(const std::string& path, LoadLevel level, std::string_view bar) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    (void)Program::Load("/nowhere", level);  // what the loader itself needs
    const int64_t before = ResidentBytes();
    const auto program = Program::Load(path, level);
    const double megabytes = static_cast<double>(ResidentBytes() - before) / 1e6;
    Tell("resident", megabytes, megabytes, "MB", bar);
    std::fflush(stdout);
    _exit(program.ok() ? 0 : 1);
  }
  int result = 0;
  waitpid(child, &result, 0);
}

void MeasureLoad(const std::string& path, LoadLevel level, std::string_view bar_ms,
                 std::string_view bar_mb) {
  const bool trusted = level == LoadLevel::kTrusted;
  const Times times = Measure(trusted ? 200 : 15, [&] {
    if (const auto program = Program::Load(path, level); !program.ok()) Fail(program.status());
  });
  Tell(trusted ? "trusted load" : "full load", times.best_us / 1e3, times.median_us / 1e3, "ms",
       bar_ms);
  MeasureResident(path, level, bar_mb);
}

struct Rate {
  double per_second = 0;
  double per_processor_second = 0;  // as if nobody else used the cores
};

Rate RunsPerSecond(const ProgramPointer& program, int contexts, double seconds) {
  ArenaPool pool;
  std::atomic<int64_t> runs{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  const Clock::time_point begin = Clock::now();
  const std::clock_t processor_begin = std::clock();
  for (int c = 0; c < contexts; ++c) {
    threads.emplace_back([&] {
      const std::unique_ptr<Context> context = NewContext(program, pool);
      Buffers buffers(*program);
      while (!stop) {
        if (absl::Status s = context->Run(buffers.inputs, buffers.outputs); !s.ok()) Fail(s);
        ++runs;
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const double processor_seconds =
      static_cast<double>(std::clock() - processor_begin) / CLOCKS_PER_SEC;
  const auto count = static_cast<double>(runs);
  return {count / std::chrono::duration<double>(Clock::now() - begin).count(),
          count / processor_seconds};
}

// Where others use the cores too, the gain is theirs as well; what a run costs the processor with a
// second one beside it tells then what two free cores would give.
void MeasureTwo(const ProgramPointer& program) {
  std::vector<double> gains, processor_gains;
  for (int i = 0; i < 7; ++i) {
    const Rate one = RunsPerSecond(program, 1, 0.7), two = RunsPerSecond(program, 2, 0.7);
    gains.push_back(two.per_second / one.per_second);
    processor_gains.push_back(2 * two.per_processor_second / one.per_processor_second);
  }
  std::sort(gains.begin(), gains.end());
  std::sort(processor_gains.begin(), processor_gains.end());
  Tell("two contexts on two cores, x one", gains.back(), gains[gains.size() / 2], "x", "1.9");
  Tell("  by processor time", processor_gains.back(), processor_gains[processor_gains.size() / 2],
       "x", "1.9");
}

// How long a run goes on that is to stop, anywhere within it: median and worst.
void MeasureStop(const ProgramPointer& program) {
  constexpr int kStops = 200;
  ArenaPool pool;
  const std::unique_ptr<Context> context = NewContext(program, pool);
  Buffers buffers(*program);
  const double run_us =
      Measure(5, [&] {
        if (absl::Status s = context->Run(buffers.inputs, buffers.outputs); !s.ok()) {
          Fail(s);
        }
      }).best_us;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> moment_us(0, run_us);
  for (const bool cancel : {true, false}) {
    std::vector<double> late_us;
    for (int i = 0; i < kStops; ++i) {
      const Clock::time_point when =
          Clock::now() + std::chrono::microseconds(static_cast<int64_t>(moment_us(random)));
      RunOptions run;
      if (!cancel) run.deadline = when;
      Clock::time_point begin = when, end;
      std::thread other([&] {
        if (!cancel) return;
        std::this_thread::sleep_until(when);
        begin = Clock::now();
        context->Cancel();
      });
      const absl::Status status = context->Run(buffers.inputs, buffers.outputs, run);
      end = Clock::now();
      other.join();
      if (status.ok()) {
        (void)context->Run(buffers.inputs, buffers.outputs);  // the cancel that came too late
      } else {
        late_us.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
      }
    }
    std::sort(late_us.begin(), late_us.end());
    if (late_us.empty()) continue;
    Tell(fmt::format("{} (median, worst of {})",
                     cancel ? "a cancel takes effect after" : "a deadline is overrun by",
                     late_us.size()),
         late_us[late_us.size() / 2], late_us.back(), "us", "1000");
  }
}

// What contexts take beside the weights, as the process sees it.
void MeasureBytes(const ProgramPointer& program) {
  constexpr int kContexts = 8;
  ArenaPool pool;
  Buffers buffers(*program);
  std::vector<std::unique_ptr<Context>> contexts;
  const auto add = [&] {
    contexts.push_back(NewContext(program, pool));
    if (absl::Status s = contexts.back()->Run(buffers.inputs, buffers.outputs); !s.ok()) Fail(s);
  };
  add();
  malloc_trim(0);
  const int64_t before = ResidentBytes();
  for (int i = 0; i < kContexts; ++i) add();
  const double taken = static_cast<double>(ResidentBytes() - before);
  const double ratio = taken / static_cast<double>(kContexts * program->ArenaBytes());
  fmt::print("  (an arena: {} bytes, of which {} of pool)\n", program->ArenaBytes(),
             program->memory().pool_bytes);
  Tell("bytes of eight more contexts, x eight arenas", ratio, ratio, "x", "1.02");
}

int Main(int argc, char** argv) {
  fmt::print("{:<60} {:>10} {:>10} {:<6} {}\n", "", "best", "median", "", "bar");
  fmt::print("Executor, for each of {} commands of one byte\n", kTinyCommands);
  MeasureExecutor(true);
  MeasureExecutor(false);
  MeasureFixed();
  const std::string path = argc > 1 ? argv[1] : MakeLargeBundle();
  MeasureResident(path, LoadLevel::kTrusted, "3");  // before anything of it is resident
  const auto program = Program::Load(path, LoadLevel::kTrusted);
  if (!program.ok()) Fail(program.status());
  fmt::print("A bundle of {:.1f} MB, {} commands, {} conflicts\n",
             static_cast<double>(std::filesystem::file_size(path)) / 1e6,
             (*program)->bundle().program().commands.size(),
             (*program)->bundle().conflicts().successors.size());
  MeasureLoad(path, LoadLevel::kTrusted, "1", "3");
  MeasureLoad(path, LoadLevel::kFull, "60", "");
  MeasureBytes(*program);
  MeasureStop(*program);
  MeasureTwo(*program);
  if (argc <= 1) std::filesystem::remove(path);
  return 0;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) { return berth::Main(argc, argv); }
