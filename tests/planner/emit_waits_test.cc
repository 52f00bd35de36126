// The waits of random programs against those that all conflicts give: the newest conflicting
// command of each engine, unless it is known to have finished.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "npu_sim/access.h"
#include "planner/emit/waits.h"
#include "tests/npu_sim/example_program.h"

namespace berth {
namespace {

using B = testing_support::ProgramBuilder;
using Waits = std::vector<std::pair<uint8_t, uint32_t>>;

bool CommandsConflict(const Command& a, const Command& b) {
  for (const Access& x : CollectAccesses(a)) {
    for (const Access& y : CollectAccesses(b)) {
      if (Conflicts(x, y)) return true;
    }
  }
  return false;
}

std::vector<Waits> WaitsOf(const TileProgram& program) {
  std::vector<Waits> waits(program.commands.size());
  for (size_t i = 0; i < waits.size(); ++i) {
    const Command& command = program.commands[i];
    for (uint32_t w = 0; w < command.wait_count; ++w) {
      const Wait& wait = program.waits[command.wait_begin + w];
      waits[i].push_back({wait.engine, wait.count});
    }
  }
  return waits;
}

std::vector<Waits> NaiveWaits(const TileProgram& program) {
  const size_t count = program.commands.size();
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
  std::vector<uint32_t> ordinal(count);
  std::vector<Waits> waits(count);
  const auto follow = [&](size_t i, size_t p) {
    before[i][p] = true;
    for (size_t e = 0; e < p; ++e) before[i][e] = before[i][e] || before[p][e];
  };
  for (size_t i = 0; i < count; ++i) {
    const uint8_t engine = program.commands[i].engine;
    for (size_t p = i; p-- > 0;) {
      if (program.commands[p].engine != engine) continue;
      follow(i, p);
      ordinal[i] = ordinal[p];
      break;
    }
    ++ordinal[i];
    for (size_t p = i; p-- > 0;) {  // newest first
      if (before[i][p] || !CommandsConflict(program.commands[p], program.commands[i])) continue;
      waits[i].push_back({program.commands[p].engine, ordinal[p]});
      follow(i, p);
    }
  }
  return waits;
}

// Fills, copies and stores over a few granules on all engines, some dense and large.
TileProgram RandomProgram(std::mt19937& random, int bytes) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  B builder;
  const uint16_t region =
      builder.Region(pick(0, 3) == 0 ? RegionKind::kInput : RegionKind::kPool, bytes);
  const uint32_t scratch = builder.Slot(MemorySpace::kScratchpad, 0, bytes);
  const uint32_t pool = builder.Slot(MemorySpace::kDram, 0, bytes, region);
  const int count = pick(2, 70);
  for (int i = 0; i < count; ++i) {
    const testing_support::RandomRows rows(random, bytes);
    if (rows.span_bytes > bytes) continue;
    const auto view = [&](uint32_t slot) { return rows.In(slot, bytes, builder, random); };
    const auto dma = static_cast<uint8_t>(pick(0, 1));
    switch (pick(0, 3)) {
      case 0:
        builder.Add(B::Make(Opcode::kDmaFill, dma, rows.extent, view(scratch), {}));
        break;
      case 1:
        builder.Add(B::Make(Opcode::kDmaLoad, dma, rows.extent, view(scratch), view(pool)));
        break;
      case 2:
        builder.Add(B::Make(Opcode::kDmaStore, dma, rows.extent, view(pool), view(scratch)));
        break;
      default:
        builder.Add(B::Make(Opcode::kCopy, B::kVector, rows.extent, view(scratch), view(scratch)));
    }
  }
  return builder.Take();
}

TEST(DeriveWaits, AreThoseOfAllConflicts) {
  const uint32_t seed = 611;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  size_t waits = 0;
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    TileProgram program = RandomProgram(random, round % 2 == 0 ? 700 : 6000);
    if (program.regions[0].kind == RegionKind::kInput) {  // which nobody writes
      std::erase_if(program.commands,
                    [](const Command& command) { return command.out.space == MemorySpace::kDram; });
    }
    DeriveWaits(program);
    ASSERT_EQ(WaitsOf(program), NaiveWaits(program));
    waits += program.waits.size();
    DeriveWaits(program);  // of a program that has waits already: the same
    ASSERT_EQ(WaitsOf(program), NaiveWaits(program));
  }
  EXPECT_GT(waits, 4000u);
}

TEST(DeriveWaits, FindsThoseOfTheExampleProgram) {
  const TileProgram by_hand = testing_support::ExampleProgram();
  TileProgram program = by_hand;
  DeriveWaits(program);
  EXPECT_EQ(WaitsOf(program), NaiveWaits(by_hand));
  EXPECT_EQ(program.waits.size(), by_hand.waits.size());  // each of which is needed
}

}  // namespace
}  // namespace berth
