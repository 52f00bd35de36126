// The conflict graph against a naive one: every pair of commands, every pair of accesses.
#include "npu_sim/conflict_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "npu_sim/access.h"
#include "tests/npu_sim/example_program.h"

namespace berth {
namespace {

using testing::ElementsAre;
using B = testing_support::ProgramBuilder;

bool CommandsConflict(const TileProgram& program, size_t a, size_t b) {
  for (const Access& x : CollectAccesses(program.commands[a])) {
    for (const Access& y : CollectAccesses(program.commands[b])) {
      if (Conflicts(x, y)) return true;
    }
  }
  return false;
}

// Which commands come before which, given the direct predecessors.
std::vector<std::vector<bool>> Closure(const std::vector<std::vector<uint32_t>>& predecessors) {
  const size_t n = predecessors.size();
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n));
  for (size_t i = 0; i < n; ++i) {
    for (const uint32_t p : predecessors[i]) {
      before[i][p] = true;
      for (size_t e = 0; e < p; ++e) before[i][e] = before[i][e] || before[p][e];
    }
  }
  return before;
}

// Fills and copies over a few granules, some of them dense and large enough to supersede.
TileProgram RandomProgram(std::mt19937& random, int bytes) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  B builder;
  const uint32_t slot = builder.Slot(MemorySpace::kScratchpad, 0, bytes);
  const int count = pick(2, 60);
  for (int i = 0; i < count; ++i) {
    const testing_support::RandomRows rows(random, bytes);
    if (rows.span_bytes > bytes) continue;
    const auto view = [&] { return rows.In(slot, bytes, builder, random); };
    builder.Add(pick(0, 1) == 0 ? B::Make(Opcode::kDmaFill, static_cast<uint8_t>(pick(0, 1)),
                                          rows.extent, view(), {})
                                : B::Make(Opcode::kCopy, B::kVector, rows.extent, view(), view()));
  }
  return builder.Take();
}

TEST(ConflictGraph, OrdersExactlyWhatANaiveOneOrders) {
  const uint32_t seed = 2027;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int64_t conflicts = 0, edges = 0;
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    const TileProgram program = RandomProgram(random, round % 2 == 0 ? 700 : 6000);
    const Hazards hazards = ComputeHazards(program.view());
    const size_t n = program.commands.size();
    ASSERT_EQ(hazards.begin.size(), n + 1);
    std::vector<std::vector<uint32_t>> naive(n), found(n);
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t p = 0; p < i; ++p) {
        if (CommandsConflict(program, p, i)) naive[i].push_back(p);
      }
      found[i].assign(hazards.Of(i).begin(), hazards.Of(i).end());
      // Ascending without repeats, and nothing but true conflicts.
      ASSERT_TRUE(
          std::includes(naive[i].begin(), naive[i].end(), found[i].begin(), found[i].end()));
      conflicts += static_cast<int64_t>(naive[i].size());
      edges += static_cast<int64_t>(found[i].size());
    }
    ASSERT_EQ(Closure(found), Closure(naive));
  }
  EXPECT_GT(conflicts, 10000);
  EXPECT_LT(edges, conflicts);  // something was implied and left out
}

std::optional<Unordered> FindUnorderedBy(const Hazards& hazards, const TileProgram& program) {
  return FindUnordered(program.view(), BuildConflictGraph(hazards).view());
}

// `hazards` but for one edge.
Hazards Without(Hazards hazards, uint32_t edge) {
  hazards.predecessors.erase(hazards.predecessors.begin() + edge);
  for (uint32_t& begin : hazards.begin) begin -= begin > edge;
  return hazards;
}

// `hazards` and edges at random.
Hazards WithMore(const Hazards& hazards, std::mt19937& random) {
  Hazards more;
  more.begin.push_back(0);
  for (uint32_t i = 0; i + 1 < hazards.begin.size(); ++i) {
    std::set<uint32_t> predecessors(hazards.Of(i).begin(), hazards.Of(i).end());
    if (i > 0) predecessors.insert(std::uniform_int_distribution<uint32_t>(0, i - 1)(random));
    more.predecessors.insert(more.predecessors.end(), predecessors.begin(), predecessors.end());
    more.begin.push_back(static_cast<uint32_t>(more.predecessors.size()));
  }
  return more;
}

// No edge can be spared: the first conflict that is no longer ordered is one of its later command.
TEST(ConflictGraph, TellsWhichConflictHasNoOrder) {
  const uint32_t seed = 11;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int edges = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const TileProgram program = RandomProgram(random, round % 2 == 0 ? 700 : 6000);
    const Hazards hazards = ComputeHazards(program.view());
    EXPECT_EQ(FindUnorderedBy(hazards, program), std::nullopt);
    EXPECT_EQ(FindUnorderedBy(WithMore(hazards, random), program), std::nullopt);
    for (uint32_t later = 0; later < program.commands.size(); ++later) {
      for (uint32_t edge = hazards.begin[later]; edge < hazards.begin[later + 1]; ++edge) {
        const auto pair = FindUnorderedBy(Without(hazards, edge), program);
        ASSERT_TRUE(pair) << hazards.predecessors[edge] << " before " << later;
        EXPECT_EQ(pair->later, later);
        EXPECT_LE(pair->earlier, hazards.predecessors[edge]);
        EXPECT_TRUE(CommandsConflict(program, pair->earlier, pair->later));
        ++edges;
      }
    }
  }
  EXPECT_GT(edges, 1000);
}

// More commands than the finder keeps track of one by one: copies from cell to cell, some of which
// are left alone for long.
TEST(ConflictGraph, OrdersWhatLiesFarBack) {
  constexpr int kCommands = 3000, kCells = 500;
  constexpr int32_t kCellBytes = 64;
  const uint32_t seed = 41;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  B builder;
  const uint32_t slot = builder.Slot(MemorySpace::kScratchpad, 0, kCells * kCellBytes);
  std::vector<std::array<int, 2>> cells;  // written, read
  std::vector<std::vector<uint32_t>> naive(kCommands);
  for (uint32_t i = 0; i < kCommands; ++i) {
    // Half of the time among a few cells, else anywhere.
    const int range = i % 2 == 0 ? 8 : kCells;
    const auto pick = [&] { return std::uniform_int_distribution<int>(0, range - 1)(random); };
    cells.push_back({pick(), pick()});
    const auto [to, from] = cells.back();
    builder.Add(B::Make(Opcode::kCopy, B::kVector, {1, 1, 1, kCellBytes / 4},
                        builder.InSlot(slot, {0, 0, 0, 4}, to * kCellBytes),
                        builder.InSlot(slot, {0, 0, 0, 4}, from * kCellBytes)));
    for (uint32_t p = 0; p < i; ++p) {
      if (cells[p][0] == to || cells[p][0] == from || cells[p][1] == to) naive[i].push_back(p);
    }
  }
  const TileProgram program = builder.Take();
  const Hazards hazards = ComputeHazards(program.view());
  std::vector<std::vector<uint32_t>> found(kCommands);
  for (size_t i = 0; i < kCommands; ++i) {
    found[i].assign(hazards.Of(i).begin(), hazards.Of(i).end());
    ASSERT_TRUE(std::includes(naive[i].begin(), naive[i].end(), found[i].begin(), found[i].end()));
  }
  // Every conflict follows from the edges: walk them backwards from each command.
  std::vector<bool> before(kCommands);
  for (uint32_t i = 0; i < kCommands; i += 7) {
    std::fill(before.begin(), before.end(), false);
    before[i] = true;
    for (uint32_t c = i + 1; c-- > 0;) {
      if (!before[c]) continue;
      for (const uint32_t p : found[c]) before[p] = true;
    }
    for (const uint32_t p : naive[i]) ASSERT_TRUE(before[p]) << p << " before " << i;
  }
  EXPECT_EQ(FindUnorderedBy(hazards, program), std::nullopt);
}

// Copies out of one granule, which nothing supersedes, before fills in it, each of which would have
// to look at all of them: the finder gives up, and what is left stands in a row.
TEST(ConflictGraph, HasABoundWhereEverythingMustBeCompared) {
  constexpr int32_t kReads = 19000, kWrites = 19000, kFar = 64;
  B builder;
  const uint32_t slot = builder.Slot(MemorySpace::kScratchpad, 0, kFar + 4 * kReads + kWrites);
  for (int32_t i = 0; i < kReads; ++i) {
    builder.Add(B::Make(Opcode::kCopy, B::kVector, {1, 1, 1, 1},
                        builder.InSlot(slot, {0, 0, 0, 4}, kFar + 4 * i),
                        builder.InSlot(slot, {0, 0, 0, 4}, 0)));
  }
  for (int32_t i = 0; i < kWrites; ++i) {
    builder.Add(B::Make(Opcode::kDmaFill, 0, {1, 1, 1, 1},
                        builder.InSlot(slot, {0, 0, 0, 4}, 4 + 4 * (i % 8)), {}));
  }
  const TileProgram program = builder.Take();
  const Hazards hazards = ComputeHazards(program.view());
  // The fills rewrite eight words: one after the other on each, with nothing else to follow.
  EXPECT_THAT(hazards.Of(kReads + 9), ElementsAre(kReads + 1));
  uint32_t first = kReads;
  while (first + 2 < program.commands.size() &&
         hazards.Of(first + 1) != absl::MakeConstSpan({first})) {
    ++first;
  }
  ASSERT_LT(first + 2, program.commands.size()) << "it never gave up";
  // The first of the rest follows each copy and the last fill of each word, the others follow it.
  EXPECT_EQ(hazards.Of(first).size(), kReads + 8u);
  for (uint32_t i = first + 1; i < program.commands.size(); ++i) {
    ASSERT_THAT(hazards.Of(i), ElementsAre(i - 1));
  }

  EXPECT_EQ(FindUnorderedBy(hazards, program), std::nullopt);
  const auto last = static_cast<uint32_t>(program.commands.size() - 1);
  for (const uint32_t edge : {hazards.begin[first] + 5, hazards.begin[last]}) {
    SCOPED_TRACE(edge);
    const Unordered missing{hazards.predecessors[edge], edge == hazards.begin[last] ? last : first};
    EXPECT_EQ(FindUnorderedBy(Without(hazards, edge), program), missing);
  }
}

TEST(ConflictGraph, TurnsTheEdgesRound) {
  std::mt19937 random(5);
  const TileProgram program = RandomProgram(random, 700);
  const Hazards hazards = ComputeHazards(program.view());
  const ConflictGraph graph = BuildConflictGraph(hazards);
  const uint32_t n = static_cast<uint32_t>(program.commands.size());
  ASSERT_EQ(graph.predecessor_count.size(), n);
  ASSERT_EQ(graph.successor_begin.size(), n + 1);
  ASSERT_EQ(graph.successors.size(), hazards.predecessors.size());
  std::vector<std::vector<uint32_t>> predecessors(n);
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t k = graph.successor_begin[i]; k < graph.successor_begin[i + 1]; ++k) {
      predecessors[graph.successors[k]].push_back(i);
    }
  }
  for (uint32_t i = 0; i < n; ++i) {
    EXPECT_EQ(predecessors[i], hazards.Of(i)) << i;
    EXPECT_EQ(graph.predecessor_count[i], hazards.Of(i).size()) << i;
  }
}

}  // namespace
}  // namespace berth
