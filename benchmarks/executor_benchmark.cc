// What the executor costs beside the work: programs of tiny commands, time per command.
//
// The limit is a few atomic operations a command; "chain" has no parallelism, "fan" all of it, and
// of "chains" as many commands as there are chains can run at once.
#include <benchmark/benchmark.h>

#include "npu_sim/conflict_graph.h"
#include "runtime/executor/executor.h"

namespace berth {
namespace {

constexpr int kCommands = 20000;
constexpr int64_t kTileBytes = 64;

// relu over 16 floats of one tile after the other; commands on the same tile conflict.
std::vector<Command> TinyCommands(int tiles) {
  std::vector<Command> commands(kCommands);
  for (int i = 0; i < kCommands; ++i) {
    Command& command = commands[static_cast<size_t>(i)];
    command.opcode = Opcode::kUnary;
    command.params.vector = VectorParams{};
    command.params.vector.function = static_cast<uint8_t>(UnaryFunction::kRelu);
    command.extent[3] = 16;
    command.out.space = MemorySpace::kScratchpad;
    command.out.dtype = DType::kFloat32;
    command.out.offset_bytes = i % tiles * kTileBytes;
    command.out.stride_bytes[3] = 4;
    command.in0 = command.out;
  }
  return commands;
}

void RunTiny(benchmark::State& state, int tiles) {
  const std::vector<Command> commands = TinyCommands(tiles);
  ProgramView program;
  program.commands = commands;
  program.scratchpad_bytes = tiles * kTileBytes;
  const ConflictGraph conflicts = BuildConflictGraph(ComputeHazards(program));
  const ExecutionPlan plan = MakeExecutionPlan(commands, conflicts.view());
  std::vector<std::byte> scratchpad(static_cast<size_t>(program.scratchpad_bytes) + 64);
  const int workers = static_cast<int>(state.range(0));
  tbb::task_arena arena(workers);
  std::vector<std::byte> working(static_cast<size_t>(WorkingBytes(plan, workers)) + 64);
  ExecutorRun run;
  run.memory.scratchpad = scratchpad.data();
  run.working = working.data();
  run.workers = {workers, &arena};
  Executor executor(plan);
  for (auto _ : state) {
    const absl::Status status = executor.Run(run);
    if (!status.ok()) state.SkipWithError("the run failed");
  }
  state.counters["ns_per_command"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kCommands,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void Chain(benchmark::State& state) { RunTiny(state, 1); }
void Chains(benchmark::State& state) { RunTiny(state, 64); }
void Fan(benchmark::State& state) { RunTiny(state, kCommands); }
BENCHMARK(Chain)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Chains)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Fan)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth
