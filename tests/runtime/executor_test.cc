// What workers leave behind beside one worker alone, and when a run that is to stop looks at the
// clock.
#include "runtime/executor/executor.h"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>

#include "tests/npu_sim/example_program.h"

namespace berth {
namespace {

constexpr int kFills = 200;
constexpr int kMostAfterTheDeadline = 16;  // brief commands, of each worker

absl::Status Sleep(const HostCall&) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return absl::OkStatus();
}

// A host call that sleeps, then, after it, fills of a byte each.
std::vector<Command> SleepThenFills() {
  std::vector<Command> commands(1 + kFills);
  commands[0].opcode = Opcode::kHostCall;
  for (int i = 0; i < kFills; ++i) {
    Command& fill = commands[static_cast<size_t>(i) + 1];
    fill.opcode = Opcode::kDmaFill;
    fill.params.dma.pattern = 1;
    fill.out.space = MemorySpace::kScratchpad;
    fill.out.dtype = DType::kUInt8;
    fill.out.offset_bytes = i;
    for (int32_t& stride : fill.out.stride_bytes) stride = 1;
  }
  return commands;
}

ConflictGraph EachAfterTheFirst(size_t count) {
  Hazards hazards;
  hazards.begin = {0, 0};
  for (size_t i = 1; i < count; ++i) {
    hazards.predecessors.push_back(0);
    hazards.begin.push_back(static_cast<uint32_t>(i));
  }
  return BuildConflictGraph(hazards);
}

int64_t BriefCommands(const ExecutionPlan& plan) {
  const int64_t others = std::count(plan.brief_steps.begin(), plan.brief_steps.end(), 0);
  return static_cast<int64_t>(plan.brief_steps.size()) - others;
}

// A run of a plan, with all that it stands in.
struct Workplace {
  Workplace(const ExecutionPlan& plan, size_t scratchpad_bytes, int workers)
      : scratchpad(scratchpad_bytes),
        working(static_cast<size_t>(WorkingBytes(plan, workers)) + 64),
        arena(workers) {
    run.memory.scratchpad = scratchpad.data();
    run.working = working.data() + (64 - reinterpret_cast<uintptr_t>(working.data()) % 64) % 64;
    run.workers = {workers, &arena};
  }
  std::vector<std::byte> scratchpad, working;
  tbb::task_arena arena;
  ExecutorRun run;
};

// Runs with a deadline that passes within the host call; how many fills were done.
int FillsAfterTheDeadline(int workers, int64_t* brief) {
  const std::vector<Command> commands = SleepThenFills();
  const ConflictGraph conflicts = EachAfterTheFirst(commands.size());
  const ExecutionPlan plan = MakeExecutionPlan(commands, conflicts.view());
  *brief = BriefCommands(plan);
  const HostFunction functions[] = {Sleep};
  Workplace place(plan, kFills, workers);
  place.run.host_functions = functions;
  place.run.stop.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
  const absl::Status status = Executor(plan).Run(place.run);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  return static_cast<int>(
      std::count(place.scratchpad.begin(), place.scratchpad.end(), std::byte{1}));
}

TEST(Executor, ReadsTheClockNowAndThenBetweenBriefCommands) {
  for (const int workers : {1, 2}) {
    SCOPED_TRACE(workers);
    int64_t brief = 0;
    EXPECT_LE(FillsAfterTheDeadline(workers, &brief), kMostAfterTheDeadline * workers);
    EXPECT_EQ(brief, kFills);  // a host call may take any time
  }
}

TEST(Executor, ReadsTheClockBeforeEachCommandThatMayTakeLong) {
  std::vector<Command> commands = SleepThenFills();
  commands.resize(2);
  std::copy_n(std::to_array({4, 16, 16, 16}).begin(), 4, commands[1].extent);
  const ConflictGraph conflicts = EachAfterTheFirst(commands.size());
  EXPECT_TRUE(MakeExecutionPlan(commands, conflicts.view()).IsBrief(1));
  commands[1].extent[0] = 5;
  EXPECT_FALSE(MakeExecutionPlan(commands, conflicts.view()).IsBrief(1));
}

// Fills and copies of few bytes and of many, anywhere: some brief, some long, some in parts.
TileProgram RandomProgram(std::mt19937& random, int32_t bytes, int commands) {
  using B = testing_support::ProgramBuilder;
  const auto pick = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  B builder;
  const uint32_t slot = builder.Slot(MemorySpace::kScratchpad, 0, bytes);
  for (int i = 0; i < commands; ++i) {
    const int32_t columns = pick(0, 15) == 0 ? pick(1, bytes / 4) : pick(1, 64);
    const int32_t rows = pick(0, 15) == 0 ? std::min(64, bytes / columns / 2) : 1;
    // What a copy reads and what it writes lie in different halves.
    const int half = pick(0, 1);
    const auto view_in = [&](int which) {
      const int32_t at = which * (bytes / 2) + pick(0, bytes / 2 - rows * columns);
      return builder.InSlot(slot, {0, 0, columns, 1}, at, DType::kInt8);
    };
    Command command = B::Make(pick(0, 1) == 0 ? Opcode::kDmaFill : Opcode::kCopy, B::kVector,
                              {1, 1, rows, columns}, view_in(half), view_in(1 - half));
    if (command.opcode == Opcode::kDmaFill) {
      command.in0 = {};
      command.params.dma.pattern = static_cast<uint32_t>(pick(1, 255));
    }
    builder.Add(command);
  }
  return builder.Take();
}

std::vector<std::byte> Execute(const TileProgram& program, const ExecutionPlan& plan, int workers) {
  Workplace place(plan, static_cast<size_t>(program.scratchpad_bytes), workers);
  const absl::Status status = Executor(plan).Run(place.run);
  EXPECT_TRUE(status.ok()) << status;
  return place.scratchpad;
}

TEST(Executor, LeavesTheSameBytesWhoeverWorks) {
  constexpr int kCommands = 600, kRounds = 12;
  // More threads than there may be cores.
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 16);
  const uint32_t seed = 77;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int64_t brief = 0, in_parts = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    // In a small memory nearly all commands conflict, in a large one few do.
    const int32_t bytes = round % 2 == 0 ? 1 << 20 : 1 << 14;
    const TileProgram program = RandomProgram(random, bytes, kCommands);
    const ConflictGraph conflicts = BuildConflictGraph(ComputeHazards(program.view()));
    const ExecutionPlan plan = MakeExecutionPlan(program.commands, conflicts.view());
    brief += BriefCommands(plan);
    in_parts += std::count_if(plan.part_counts.begin(), plan.part_counts.end(),
                              [](uint16_t parts) { return parts > 1; });
    const std::vector<std::byte> alone = Execute(program, plan, 1);
    for (const int workers : {2, 3, 16}) {
      SCOPED_TRACE(workers);
      ASSERT_EQ(Execute(program, plan, workers), alone);
    }
  }
  EXPECT_GT(brief, kRounds * kCommands / 2);
  EXPECT_LT(brief, kRounds * kCommands);
  EXPECT_GT(in_parts, 0);
}

}  // namespace
}  // namespace berth
