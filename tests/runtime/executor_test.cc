// When a run that is to stop looks at the clock.
#include "runtime/executor/executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>

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

// Runs with a deadline that passes within the host call; how many fills were done.
int FillsAfterTheDeadline(int workers, int64_t* brief) {
  const std::vector<Command> commands = SleepThenFills();
  const ConflictGraph conflicts = EachAfterTheFirst(commands.size());
  const ExecutionPlan plan = MakeExecutionPlan(commands, conflicts.view());
  *brief = std::count(plan.is_brief.begin(), plan.is_brief.end(), 1);
  std::vector<std::byte> scratchpad(kFills);
  std::vector<std::byte> working(static_cast<size_t>(WorkingBytes(plan, workers)) + 64);
  const HostFunction functions[] = {Sleep};
  tbb::task_arena arena(workers);
  ExecutorRun run;
  run.memory.scratchpad = scratchpad.data();
  run.working = working.data() + (64 - reinterpret_cast<uintptr_t>(working.data()) % 64) % 64;
  run.host_functions = functions;
  run.workers = {workers, &arena};
  run.stop.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
  const absl::Status status = Executor(plan).Run(run);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  return static_cast<int>(std::count(scratchpad.begin(), scratchpad.end(), std::byte{1}));
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
  EXPECT_TRUE(MakeExecutionPlan(commands, conflicts.view()).is_brief[1]);
  commands[1].extent[0] = 5;
  EXPECT_FALSE(MakeExecutionPlan(commands, conflicts.view()).is_brief[1]);
}

}  // namespace
}  // namespace berth
