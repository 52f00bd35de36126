// Hoisted loads keep every order that matters, and stay within their bytes.
#include "planner/schedule/prefetch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "npu_sim/access.h"

namespace berth {
namespace {

constexpr int32_t kTileBytes = 64;
constexpr int kPoolTiles = 6;

Operand OnChip(uint32_t buffer) {
  Operand operand;
  operand.space = MemorySpace::kScratchpad;
  operand.dtype = DType::kInt8;
  operand.slot = buffer;
  operand.stride_bytes[3] = 1;
  return operand;
}

Operand InPool(int tile, int64_t shift_bytes = 0) {
  Operand operand = OnChip(0);
  operand.space = MemorySpace::kDram;
  operand.region = kPoolRegion;
  operand.offset_bytes = tile * kTileBytes + shift_bytes;
  return operand;
}

// `op` counts the commands, so that each is known again in the new order.
void Add(LoweredProgram& program, Opcode opcode, Operand out, Operand in0, Operand in1 = {}) {
  Command command;
  command.opcode = opcode;
  command.op = static_cast<uint32_t>(program.commands.size());
  command.extent[3] = kTileBytes;
  command.out = out;
  command.in0 = in0;
  command.in1 = in1;
  if (EngineOf(opcode) == EngineKind::kVector) command.params.vector = VectorParams{};
  program.commands.push_back(command);
}

uint32_t NewBuffer(LoweredProgram& program) {
  VirtualBuffer buffer;
  buffer.size_bytes = kTileBytes;
  program.buffers.push_back(buffer);
  return static_cast<uint32_t>(program.buffers.size()) - 1;
}

// Load, compute into a fresh buffer, store; now and then a second operand, a fill in place of a
// load and a buffer of an earlier tile that is read again.
LoweredProgram RandomTiles(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  LoweredProgram program;
  uint32_t kept = NewBuffer(program);
  Add(program, Opcode::kDmaLoad, OnChip(kept), InPool(0));
  const int tiles = pick(3, 24);
  for (int tile = 0; tile < tiles; ++tile) {
    const uint32_t in = NewBuffer(program), out = NewBuffer(program);
    const int64_t shift_bytes = pick(0, 1) * kTileBytes / 2;
    if (pick(0, 5) == 0) {
      Add(program, Opcode::kDmaFill, OnChip(in), {});
    } else {
      Add(program, Opcode::kDmaLoad, OnChip(in), InPool(pick(0, kPoolTiles - 2), shift_bytes));
    }
    if (pick(0, 4) == 0)
      Add(program, Opcode::kDmaLoad, OnChip(in), InPool(pick(0, kPoolTiles - 1)));
    if (pick(0, 1) == 0) {
      Add(program, Opcode::kBinary, OnChip(out), OnChip(in), OnChip(kept));
    } else {
      Add(program, Opcode::kUnary, OnChip(out), OnChip(in));
    }
    if (pick(0, 2) == 0) kept = in;
    if (pick(0, 3) != 0)
      Add(program, Opcode::kDmaStore, InPool(pick(0, kPoolTiles - 1)), OnChip(out));
  }
  return program;
}

std::set<uint32_t> BuffersOf(const Command& command) {
  std::set<uint32_t> buffers;
  for (const Operand* operand : {&command.out, &command.in0, &command.in1}) {
    if (operand->space == MemorySpace::kScratchpad) buffers.insert(operand->slot);
  }
  return buffers;
}

bool ShareBuffer(const Command& a, const Command& b) {
  const std::set<uint32_t> of_a = BuffersOf(a), of_b = BuffersOf(b);
  return std::any_of(of_a.begin(), of_a.end(), [&](uint32_t buffer) { return of_b.count(buffer); });
}

bool ConflictInDram(const Command& a, const Command& b) {
  for (const Access& x : CollectAccesses(a)) {
    for (const Access& y : CollectAccesses(b)) {
      if (x.space == MemorySpace::kDram && Conflicts(x, y)) return true;
    }
  }
  return false;
}

void ExpectLegalOrder(const LoweredProgram& before, const LoweredProgram& after) {
  ASSERT_EQ(before.commands.size(), after.commands.size());
  std::vector<size_t> position(before.commands.size(), before.commands.size());
  for (size_t i = 0; i < after.commands.size(); ++i) position[after.commands[i].op] = i;
  for (size_t b = 0; b < position.size(); ++b) {
    ASSERT_LT(position[b], position.size()) << "command " << b << " is lost";
    for (size_t a = 0; a < b; ++a) {
      const Command &first = before.commands[a], &second = before.commands[b];
      if (ShareBuffer(first, second) || ConflictInDram(first, second)) {
        EXPECT_LT(position[a], position[b]) << "commands " << a << " and " << b;
      }
    }
  }
}

// Where a load stands ahead of a command that came before it, all that is live there is within the
// limit. (In the lowered order computation may take more: that is the tiles' size.)
void ExpectWithinLimit(const LoweredProgram& after, int64_t limit_bytes) {
  const std::vector<BufferLife> lives = FindBufferLives(after.commands, after.buffers.size());
  uint32_t first_left = static_cast<uint32_t>(after.commands.size());  // of all behind `now`
  for (size_t now = after.commands.size(); now-- > 0;) {
    const uint32_t command = after.commands[now].op;
    if (command < first_left) {
      first_left = command;
      continue;
    }
    int64_t live_bytes = 0;
    for (size_t b = 0; b < lives.size(); ++b) {
      if (lives[b].begin_command <= now && now < lives[b].end_command) {
        live_bytes += after.buffers[b].size_bytes;
      }
    }
    EXPECT_LE(live_bytes, limit_bytes) << "command " << command;
  }
}

TEST(HoistLoads, KeepsLegalOrdersWithinTheLimit) {
  const uint32_t seed = 4711;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int moved = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const LoweredProgram before = RandomTiles(random);
    LoweredProgram after = before;
    PrefetchOptions options;
    options.scratchpad_limit_bytes = std::uniform_int_distribution<int>(2, 12)(random) * kTileBytes;
    options.window_loads = std::uniform_int_distribution<int>(1, 12)(random);
    HoistLoads(after, options);
    ExpectLegalOrder(before, after);
    ExpectWithinLimit(after, options.scratchpad_limit_bytes);
    for (size_t i = 0; i < after.commands.size(); ++i) moved += after.commands[i].op != i;
  }
  EXPECT_GT(moved, 1000);
}

LoweredProgram IndependentTiles(int count) {
  LoweredProgram program;
  for (int tile = 0; tile < count; ++tile) {
    const uint32_t in = NewBuffer(program), out = NewBuffer(program);
    Add(program, Opcode::kDmaLoad, OnChip(in), InPool(tile));
    Add(program, Opcode::kUnary, OnChip(out), OnChip(in));
    Add(program, Opcode::kDmaStore, InPool(100 + tile), OnChip(out));
  }
  return program;
}

std::vector<uint32_t> Order(const LoweredProgram& program) {
  std::vector<uint32_t> order;
  for (const Command& command : program.commands) order.push_back(command.op);
  return order;
}

TEST(HoistLoads, TheNextTileIsLoadedBeforeThisOneIsComputed) {
  LoweredProgram program = IndependentTiles(3);
  PrefetchOptions options;
  options.scratchpad_limit_bytes = 3 * kTileBytes;  // the next input beside input and result
  HoistLoads(program, options);
  EXPECT_EQ(Order(program)[0], 0u);
  EXPECT_EQ(Order(program)[1], 3u);
  EXPECT_EQ(Order(program)[2], 1u);
}

TEST(HoistLoads, NoRoomOrNoHoistingLeavesTheOrder) {
  const LoweredProgram before = IndependentTiles(4);
  LoweredProgram program = before;
  PrefetchOptions options;
  options.scratchpad_limit_bytes = kTileBytes;
  HoistLoads(program, options);
  EXPECT_EQ(Order(program), Order(before));
  options.scratchpad_limit_bytes = 100 * kTileBytes;
  options.hoist = false;
  HoistLoads(program, options);
  EXPECT_EQ(Order(program), Order(before));
}

TEST(HoistLoads, WaitsForTheStoreOfItsBytes) {
  LoweredProgram program;
  const uint32_t a = NewBuffer(program), b = NewBuffer(program), c = NewBuffer(program);
  Add(program, Opcode::kDmaLoad, OnChip(a), InPool(0));
  Add(program, Opcode::kUnary, OnChip(b), OnChip(a));
  Add(program, Opcode::kDmaStore, InPool(1), OnChip(b));
  Add(program, Opcode::kDmaLoad, OnChip(c), InPool(1, kTileBytes - 1));  // its last byte
  PrefetchOptions options;
  options.scratchpad_limit_bytes = 100 * kTileBytes;
  HoistLoads(program, options);
  EXPECT_EQ(Order(program), (std::vector<uint32_t>{0, 1, 2, 3}));
}

TEST(BufferLives, SpanFirstToLastUse) {
  const LoweredProgram program = IndependentTiles(2);
  const std::vector<BufferLife> lives = FindBufferLives(program.commands, program.buffers.size());
  ASSERT_EQ(lives.size(), 4u);
  EXPECT_EQ(lives[0].begin_command, 0u);
  EXPECT_EQ(lives[0].end_command, 2u);
  EXPECT_EQ(lives[3].begin_command, 4u);
  EXPECT_EQ(lives[3].end_command, 6u);
}

}  // namespace
}  // namespace berth
