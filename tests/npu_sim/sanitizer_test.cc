// The sanitizer on programs made by hand: what it finds, how it says so, and that what it takes a
// command to touch lies within what the proof takes it to touch.
#include "npu_sim/sanitizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "npu_sim/access.h"
#include "npu_sim/sanitizer/footprint.h"
#include "npu_sim/verify.h"
#include "tests/npu_sim/access_bytes.h"
#include "tests/npu_sim/example_program.h"
#include "tests/npu_sim/sanitizer_testing.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_support::ExampleProgram;
using testing_support::HasFinding;
using testing_support::ProgramBuilder;
using testing_support::ProgramMemories;
using testing_support::Sanitize;
using testing_support::TextOf;
using B = ProgramBuilder;

NpuConfig Edge() { return *LoadTarget("edge"); }

TEST(Sanitizer, LeavesTheExampleAlone) {
  const TileProgram program = ExampleProgram();
  const SanitizerReport report = Sanitize(program, Edge());
  EXPECT_EQ(report.finding_count, 0) << TextOf(report);
  EXPECT_EQ(report.command_count, static_cast<int64_t>(program.commands.size()));
}

TEST(Sanitizer, NamesCommandsBuffersAndBytes) {
  TileProgram program = ExampleProgram();
  for (Command& command : program.commands) {
    if (command.opcode != Opcode::kGemm) continue;
    command.wait_count = 0;
    break;
  }
  SanitizerOptions options;
  options.names.op = [](uint32_t op) { return fmt::format("op-{}", op); };
  options.names.buffer = [](uint32_t name) { return fmt::format("buffer-{}", name); };
  const SanitizerReport report = Sanitize(program, Edge(), options);
  ASSERT_GT(report.finding_count, 0);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kRace);
  EXPECT_EQ(report.findings[0].command, 5u);
  EXPECT_EQ(report.findings[0].other_command, 3u);
  EXPECT_EQ(report.findings[0].first_byte, 4096);
  EXPECT_EQ(report.findings[0].byte_count, 1024);
  EXPECT_THAT(report.findings[0].text,
              AllOf(HasSubstr("race: command 5 (matrix gemm, op 0 'op-0'): in0 reads scratchpad, "
                              "1024 bytes from byte 4096 on of slot 4 'buffer-4'"),
                    HasSubstr("not ordered with command 3 (dma0 dma_load, op 0 'op-0')")));
}

TEST(Sanitizer, FindsOfALongListAreCountedAndTheFirstKept) {
  TileProgram program = ExampleProgram();
  for (Command& command : program.commands) command.wait_count = 0;
  ProgramMemories memories(program.view());
  const MemoryMap map = memories.map();
  SanitizerReport report;
  for (int run = 0; run < 10; ++run) {
    const absl::Status status = RunSanitized(program.view(), Edge(), map, {}, {}, report);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  }
  EXPECT_EQ(report.findings.size(), SanitizerReport::kMostFindings);
  EXPECT_GT(report.finding_count, static_cast<int64_t>(SanitizerReport::kMostFindings));
}

TEST(Sanitizer, StopsWhenItIsAskedTo) {
  const TileProgram program = ExampleProgram();
  ProgramMemories memories(program.view());
  const MemoryMap map = memories.map();
  SanitizerOptions options;
  int left = 3;
  options.check_stop = [&] { return left-- > 0 ? absl::OkStatus() : Cancelled("stop"); };
  SanitizerReport report;
  const absl::Status status = RunSanitized(program.view(), Edge(), map, {}, options, report);
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_EQ(report.command_count, 3);
}

// Rows of a table in the pool by number; `filled` rows are stored there before.
TileProgram GatherProgram(int32_t first_number, int filled, int64_t row_limit) {
  constexpr int kRows = 4, kRowBytes = 16;
  B b;
  const uint16_t output = b.Region(RegionKind::kOutput, 2 * kRowBytes);
  const uint16_t pool = b.Region(RegionKind::kPool, kRows * kRowBytes);
  const uint32_t table = b.Slot(MemorySpace::kDram, 0, kRows * kRowBytes, pool);
  const uint32_t numbers = b.Slot(MemorySpace::kScratchpad, 0, 8);
  const uint32_t rows = b.Slot(MemorySpace::kScratchpad, 64, 2 * kRowBytes);
  b.Add(B::Make(Opcode::kDmaFill, B::kDma0, {1, 1, filled, 4}, b.InSlot(table, {0, 0, 16, 4}), {}));
  Command fill = B::Make(Opcode::kDmaFill, B::kDma0, {1, 1, 1, 2},
                         b.InSlot(numbers, {0, 0, 0, 4}, 0, DType::kInt32), {});
  fill.params.dma.pattern = static_cast<uint32_t>(first_number);
  b.Add(fill);
  Command gather = B::Make(Opcode::kDmaGather, B::kDma0, {2, 1, 1, 4},
                           b.InSlot(rows, {16, 0, 0, 4}), b.InSlot(table, {16, 0, 0, 4}));
  gather.in1 = b.InSlot(numbers, {4, 0, 0, 0}, 0, DType::kInt32);
  gather.params.dma.row_limit = row_limit;
  b.Add(gather);
  b.Add(B::Make(Opcode::kDmaStore, B::kDma0, {1, 1, 2, 4},
                B::View(MemorySpace::kDram, output, 0, {0, 0, 16, 4}),
                b.InSlot(rows, {0, 0, 16, 4})));
  return b.Take();
}

TEST(Sanitizer, OfAGatherTheRowsThatAreReadCount) {
  EXPECT_EQ(Sanitize(GatherProgram(2, 4, 4), Edge()).finding_count, 0);
  EXPECT_EQ(Sanitize(GatherProgram(-1, 4, 4), Edge()).finding_count, 0);
  EXPECT_EQ(Sanitize(GatherProgram(2, 3, 4), Edge()).finding_count, 0);
  EXPECT_FALSE(VerifyProgram(GatherProgram(2, 3, 4).view(), Edge()).ok());  // for any numbers
  for (const int32_t number : {3, -1}) {
    const SanitizerReport report = Sanitize(GatherProgram(number, 3, 4), Edge());
    ASSERT_EQ(report.finding_count, 1) << TextOf(report);
    EXPECT_EQ(report.findings[0].kind, FindingKind::kUninitializedRead);
    EXPECT_EQ(report.findings[0].first_byte, 48);
  }
}

TEST(Sanitizer, TablesLieInTheirMemoryWhole) {
  const TileProgram program = GatherProgram(2, 4, 5);
  EXPECT_TRUE(HasFinding(Sanitize(program, Edge()), FindingKind::kOutOfBounds));
  EXPECT_FALSE(VerifyProgram(program.view(), Edge()).ok());
}

TEST(Sanitizer, NumbersOutOfRangeFailTheRun) {
  const TileProgram program = GatherProgram(4, 4, 4);
  ProgramMemories memories(program.view());
  const MemoryMap map = memories.map();
  SanitizerReport report;
  const absl::Status status = RunSanitized(program.view(), Edge(), map, {}, {}, report);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("command 2 (dma0 dma_gather"), HasSubstr("row index 4")));
}

std::set<int64_t> BytesOf(const sanitizer::Footprint& footprint) {
  std::set<int64_t> bytes;
  sanitizer::ForEachRun(footprint, [&](int64_t begin, int64_t end) {
    for (int64_t byte = begin; byte < end; ++byte) bytes.insert(byte);
  });
  return bytes;
}

class RandomCommands {
 public:
  explicit RandomCommands(uint32_t seed) : random_(seed) {}

  Command Next() {
    static constexpr Opcode kOpcodes[] = {Opcode::kGemm, Opcode::kConv,   Opcode::kDepthwise,
                                          Opcode::kPool, Opcode::kReduce, Opcode::kBinary};
    Command c;
    c.opcode = kOpcodes[Pick(0, 5)];
    for (int32_t& extent : c.extent) extent = Pick(1, 5);
    const bool is_flat = c.opcode == Opcode::kDepthwise || c.opcode == Opcode::kPool;
    if (is_flat) c.extent[3] = 1;
    const bool is_matrix = EngineOf(c.opcode) == EngineKind::kMatrix;
    if (is_matrix) {
      c.params.matrix = MatrixParams{};
      c.params.matrix.window = RandomWindow();
      c.flags = static_cast<uint16_t>(Pick(0, 3));
      c.acc = RandomOperand(MemorySpace::kAccumulator, 0);
    } else {
      c.params.vector = VectorParams{};
      c.params.vector.window = RandomWindow();
      c.flags = c.opcode == Opcode::kReduce ? static_cast<uint16_t>(Pick(0, 1)) : uint16_t{0};
    }
    const bool is_gemm = c.opcode == Opcode::kGemm, is_conv = c.opcode == Opcode::kConv;
    c.out = RandomOperand(MemorySpace::kScratchpad, is_matrix ? 8 : 0);
    c.in0 = RandomOperand(MemorySpace::kScratchpad, is_gemm || is_conv ? 4 : is_flat ? 8 : 0);
    c.in1 = RandomOperand(MemorySpace::kScratchpad, is_gemm ? 2 : is_flat ? 8 : 0);
    if (c.opcode == Opcode::kPool || c.opcode == Opcode::kReduce) c.in1 = {};
    if (is_matrix && Pick(0, 1)) c.in2 = RandomOperand(MemorySpace::kScratchpad, 11);
    return c;
  }

 private:
  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  // Without strides along the loops in `absent` (bit per loop).
  Operand RandomOperand(MemorySpace space, int absent) {
    Operand o = B::View(space, 0, Pick(0, 50) * 4, {});
    for (int d = 0; d < 4; ++d) {
      o.stride_bytes[d] = absent >> d & 1 ? 0 : 4 * Pick(-12, 40) * Pick(0, 1);
    }
    return o;
  }
  Window RandomWindow() {
    const auto small = [&](int high) { return static_cast<int16_t>(Pick(1, high)); };
    Window w;
    w.kernel_height = small(3), w.kernel_width = small(3);
    w.stride_height = small(3), w.stride_width = small(3);
    w.dilation_height = small(2), w.dilation_width = small(2);
    w.upsample_height = small(2), w.upsample_width = small(2);
    w.pad_top = static_cast<int16_t>(Pick(-1, 4)), w.pad_left = static_cast<int16_t>(Pick(-1, 4));
    w.input_height = Pick(1, 7), w.input_width = Pick(1, 7);
    return w;
  }

  std::mt19937 random_;
};

// The proof must not miss a byte that a command touches, nor take for written one that it leaves.
TEST(Sanitizer, AndProofAgreeOnWhatCommandsTouch) {
  const uint32_t seed = 2718;
  SCOPED_TRACE(seed);
  RandomCommands commands(seed);
  for (int round = 0; round < 3000; ++round) {
    const Command c = commands.Next();
    std::map<std::pair<int, bool>, std::set<int64_t>> listed, derived;
    for (const sanitizer::Footprint& footprint : sanitizer::PossibleFootprints(c)) {
      listed[{footprint.operand, footprint.is_write}] = BytesOf(footprint);
    }
    for (const Access& access : CollectAccesses(c)) {
      derived[{access.operand, access.is_write}] = BytesOf(access);
    }
    for (const auto& [access, bytes] : listed) {
      const std::set<int64_t>& more = derived[access];
      EXPECT_TRUE(std::ranges::includes(more, bytes))
          << round << ": operand " << access.first << " of " << OpcodeName(c.opcode);
      if (access.second) EXPECT_EQ(bytes, more) << round << ": " << OpcodeName(c.opcode);
    }
  }
}

}  // namespace
}  // namespace berth
