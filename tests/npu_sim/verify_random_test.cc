// The proof against a naive one (byte sets, a transitive closure, all pairs), and the sanitizer
// against both.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "npu_sim/access.h"
#include "npu_sim/verify.h"
#include "tests/npu_sim/access_bytes.h"
#include "tests/npu_sim/example_program.h"
#include "tests/npu_sim/program_text_testing.h"
#include "tests/npu_sim/sanitizer_testing.h"

namespace berth {
namespace {

using B = testing_support::ProgramBuilder;
constexpr int kBytes = 96;

struct Touched {
  std::set<int64_t> read, written;
};

bool Meet(const std::set<int64_t>& a, const std::set<int64_t>& b) {
  for (int64_t byte : a) {
    if (b.count(byte)) return true;
  }
  return false;
}

bool NaivelySafe(const TileProgram& program) {
  const size_t n = program.commands.size();
  std::vector<Touched> touched(n);
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n));
  std::set<int64_t> written;
  for (size_t c = 0; c < n; ++c) {
    const Command& command = program.commands[c];
    for (const Access& access : CollectAccesses(command)) {
      (access.is_write ? touched[c].written : touched[c].read).merge(BytesOf(access));
    }
    for (int64_t byte : touched[c].read) {
      if (!written.count(byte)) return false;
    }
    written.insert(touched[c].written.begin(), touched[c].written.end());
    const auto follow = [&](size_t d) {
      before[d][c] = true;
      for (size_t e = 0; e < d; ++e) before[e][c] = before[e][c] || before[e][d];
    };
    for (size_t d = 0; d < c; ++d) {
      if (program.commands[d].engine == command.engine) follow(d);
      for (uint32_t w = 0; w < command.wait_count; ++w) {
        const Wait& wait = program.waits[command.wait_begin + w];
        uint32_t position = 0;
        for (size_t e = 0; e <= d; ++e) position += program.commands[e].engine == wait.engine;
        if (program.commands[d].engine == wait.engine && position <= wait.count) follow(d);
      }
    }
  }
  for (size_t c = 0; c < n; ++c) {
    for (size_t d = 0; d < c; ++d) {
      const bool conflict = Meet(touched[c].written, touched[d].written) ||
                            Meet(touched[c].written, touched[d].read) ||
                            Meet(touched[c].read, touched[d].written);
      if (conflict && !before[d][c]) return false;
    }
  }
  return true;
}

TEST(VerifyProgram, AgreesWithANaiveProof) {
  const uint32_t seed = 31337;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const NpuConfig config = *LoadTarget("edge");
  int safe = 0, unsafe = 0, long_safe = 0;
  for (int round = 0; round < 4000; ++round) {
    B b;
    const uint32_t slot = b.Slot(MemorySpace::kScratchpad, 0, kBytes);
    std::vector<uint32_t> issued(5);
    const bool is_long = round % 40 == 0;  // long enough for what all engines know to matter
    const int count = is_long ? 200 : pick(2, 7);
    const int density = is_long ? 100 : pick(40, 100);
    const auto add = [&](const Command& command, int density) {
      Command c = command;
      std::vector<Wait> waits;
      for (uint32_t engine = 0; engine < 4; ++engine) {
        if (engine == c.engine || issued[engine] == 0 || pick(0, 99) >= density) continue;
        const bool too_early = issued[engine] > 1 && pick(0, count) == 0;
        waits.push_back({engine, issued[engine] - (too_early ? 1u : 0u)});
      }
      ++issued[c.engine];
      switch (waits.size()) {
        case 0:
          return b.Add(c);
        case 1:
          return b.Add(c, {waits[0]});
        case 2:
          return b.Add(c, {waits[0], waits[1]});
        default:
          return b.Add(c, {waits[0], waits[1], waits[2]});
      }
    };
    // Inside the slot and not over its own input.
    const auto fits = [](const Command& command) {
      const AccessList list = CollectAccesses(command);
      for (const Access& access : list) {
        if (access.end_bytes() > kBytes) return false;
      }
      return list.count < 2 || !MayOverlap(list.items[0], list.items[1]);
    };
    const auto view = [&] {  // nested: the outer stride spans the inner loop of up to 4
      const int inner_stride = pick(1, 3);
      const int stride = 4 * inner_stride + pick(0, 8);
      return b.InSlot(slot, {0, 0, stride, inner_stride}, pick(0, 60), DType::kInt8);
    };
    if (is_long || pick(0, 9) != 0) {
      add(B::Make(Opcode::kDmaFill, B::kDma0, {1, 1, 1, kBytes},
                  b.InSlot(slot, {0, 0, 0, 1}, 0, DType::kInt8), {}),
          0);
    }
    for (int i = 0; i < count; ++i) {
      Command command;
      do {
        const std::array<int32_t, 4> extent = {1, 1, pick(1, 3), pick(1, 4)};
        command = pick(0, 1) == 0 ? B::Make(Opcode::kDmaFill, static_cast<uint8_t>(pick(0, 1)),
                                            extent, view(), {})
                                  : B::Make(Opcode::kCopy, B::kVector, extent, view(), view());
      } while (!fits(command));
      add(command, density);
    }
    const TileProgram program = b.Take();
    bool well_formed = true;
    for (size_t c = 0; c < program.commands.size(); ++c) {
      well_formed = well_formed && VerifyCommand(program.view(), config, c).ok();
    }
    if (!well_formed) continue;  // an output that overlaps itself
    if (round % 10 == 0) ASSERT_EQ(testing_support::RoundTripDifference(program), "");
    const bool expected = NaivelySafe(program);
    const absl::Status status = VerifyProgram(program.view(), config);
    ASSERT_EQ(status.ok(), expected) << "round " << round << ": " << status << "\n"
                                     << DumpProgram(program.view());
    const SanitizerReport report = testing_support::Sanitize(program, config);
    ASSERT_EQ(report.finding_count == 0, expected)
        << "round " << round << ": " << status << "\n"
        << testing_support::TextOf(report) << DumpProgram(program.view());
    ++(expected ? safe : unsafe);
    long_safe += is_long && expected;
  }
  EXPECT_GT(safe, 500);
  EXPECT_GT(unsafe, 500);
  EXPECT_GT(long_safe, 5);
}

}  // namespace
}  // namespace berth
