#include "npu_sim/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <random>

#include "npu_sim/timing.h"
#include "tests/npu_sim/example_program.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_support::ExampleProgram;
using testing_support::ProgramBuilder;
using B = ProgramBuilder;

NpuConfig Edge() { return *LoadTarget("edge"); }

std::string Verdict(const TileProgram& program) {
  static const NpuConfig config = Edge();
  return std::string(VerifyProgram(program.view(), config).message());
}

std::array<Operand*, 5> Operands(Command& c) { return {&c.out, &c.in0, &c.in1, &c.in2, &c.acc}; }

// Applies `mutate` to each command of the example (false: nothing to change there); every program
// that results must be refused.
void ExpectEachRefused(const std::string& what,
                       const std::function<bool(TileProgram&, Command&)>& mutate) {
  const TileProgram good = ExampleProgram();
  int mutants = 0;
  for (size_t i = 0; i < good.commands.size(); ++i) {
    TileProgram mutant = good;
    if (!mutate(mutant, mutant.commands[i])) continue;
    ++mutants;
    EXPECT_NE(Verdict(mutant), "") << what << ": " << DumpCommand(good.view(), i);
  }
  EXPECT_GT(mutants, 0) << what;
}

bool IsBoundByCaller(const TileProgram& program, const Operand& operand) {
  if (operand.space != MemorySpace::kDram) return false;
  const RegionKind kind = program.regions[operand.region].kind;
  return kind == RegionKind::kInput || kind == RegionKind::kConstants;
}

TEST(VerifyProgram, AcceptsTheExample) { EXPECT_EQ(Verdict(ExampleProgram()), ""); }

TEST(VerifyProgram, EveryWaitIsNeeded) {
  for (size_t w = 0; w < 2; ++w) {
    ExpectEachRefused("drop a wait", [w](TileProgram& program, Command& command) {
      if (w >= command.wait_count) return false;
      const uint32_t begin = command.wait_begin;
      if (w == 0) std::swap(program.waits[begin], program.waits[begin + command.wait_count - 1]);
      --command.wait_count;
      return true;
    });
    ExpectEachRefused("wait for one less", [w](TileProgram& program, Command& command) {
      if (w >= command.wait_count) return false;
      --program.waits[command.wait_begin + w].count;
      return true;
    });
  }
}

TEST(VerifyProgram, PingPongCannotBeSwapped) {
  for (size_t i = 0; i < 5; ++i) {
    const size_t slots = ExampleProgram().slots.size();
    for (uint32_t other = 0; other < slots; ++other) {
      const TileProgram good = ExampleProgram();
      for (size_t c = 0; c < good.commands.size(); ++c) {
        TileProgram mutant = good;
        Operand& o = *Operands(mutant.commands[c])[i];
        if (!o.present() || o.slot == kNoSlot || o.slot == other) continue;
        const Slot &from = good.slots[o.slot], &to = good.slots[other];
        // Resident weights have no partner.
        const auto resident = [](const Slot& slot) { return slot.name == 1 || slot.name == 2; };
        if (from.space != to.space || from.size_bytes != to.size_bytes ||
            from.offset_bytes == to.offset_bytes || resident(from) || resident(to)) {
          continue;
        }
        o.offset_bytes += to.offset_bytes - from.offset_bytes;
        EXPECT_NE(Verdict(mutant), "") << "offset only: " << DumpCommand(mutant.view(), c);
        o.slot = other;
        EXPECT_NE(Verdict(mutant), "") << DumpCommand(mutant.view(), c);
      }
    }
  }
}

TEST(VerifyProgram, OperandsCannotShift) {
  for (size_t i = 0; i < 5; ++i) {
    for (int64_t direction : {-1, 1}) {
      ExpectEachRefused("shift an operand", [&](TileProgram& program, Command& command) {
        Operand& o = *Operands(command)[i];
        // Any address inside a constant or an input holds a value, so only leaving it is wrong.
        const int64_t step = IsBoundByCaller(program, o) ? program.regions[o.region].size_bytes : 4;
        o.offset_bytes += direction * step;
        return o.present();
      });
    }
  }
}

TEST(VerifyProgram, SlotsCannotShiftOrShrink) {
  const TileProgram good = ExampleProgram();
  for (size_t s = 0; s < good.slots.size(); ++s) {
    const auto refused = [&](const char* what, auto&& change) {
      TileProgram mutant = good;
      change(mutant.slots[s]);
      EXPECT_NE(Verdict(mutant), "") << what << " slot " << s;
    };
    refused("later begin", [](Slot& slot) { ++slot.begin_command; });
    refused("earlier end", [](Slot& slot) { --slot.end_command; });
    refused("shift up", [](Slot& slot) { slot.offset_bytes += 4; });
    refused("shift down", [](Slot& slot) { slot.offset_bytes -= 4; });
    refused("shrink", [](Slot& slot) { slot.size_bytes -= 4; });
    refused("other space", [](Slot& slot) {
      slot.space = slot.space == MemorySpace::kScratchpad ? MemorySpace::kAccumulator
                                                          : MemorySpace::kScratchpad;
    });
  }
}

TEST(VerifyProgram, DTypesAndExtentsCannotChange) {
  for (size_t i = 0; i < 5; ++i) {
    if (i != 4 && i != 3) {
      ExpectEachRefused("dtype", [&](TileProgram&, Command& command) {
        Operand& o = *Operands(command)[i];
        if (!o.present()) return false;
        o.dtype = DType::kFloat16;
        return true;
      });
    }
    ExpectEachRefused("unknown dtype", [&](TileProgram&, Command& command) {
      Operand& o = *Operands(command)[i];
      if (!o.present()) return false;
      o.dtype = static_cast<DType>(77);
      return true;
    });
  }
  for (int d = 0; d < 4; ++d) {
    ExpectEachRefused("longer", [&](TileProgram&, Command& command) {
      ++command.extent[d];
      return true;
    });
    ExpectEachRefused("shorter", [&](TileProgram&, Command& command) {
      if (EngineOf(command.opcode) == EngineKind::kMatrix && d == 3) return false;  // only less K
      --command.extent[d];
      return true;
    });
  }
}

TEST(VerifyProgram, DmaCannotTurnRound) {
  const auto reversed = [](Opcode opcode) {
    return opcode == Opcode::kDmaLoad ? Opcode::kDmaStore : Opcode::kDmaLoad;
  };
  for (bool swap_operands : {false, true}) {
    ExpectEachRefused("direction", [&](TileProgram&, Command& command) {
      if (EngineOf(command.opcode) != EngineKind::kDma) return false;
      command.opcode = reversed(command.opcode);
      if (swap_operands) std::swap(command.out, command.in0);
      return true;
    });
  }
}

TEST(VerifyProgram, OnlyDmaNamesDram) {
  for (size_t i = 0; i < 5; ++i) {
    if (i == 3 || i == 4) continue;
    ExpectEachRefused("DRAM", [&](TileProgram&, Command& command) {
      const EngineKind kind = EngineOf(command.opcode);
      Operand& o = *Operands(command)[i];
      if (kind == EngineKind::kDma || !o.present()) return false;
      o.space = MemorySpace::kDram;
      o.region = 3;
      o.slot = 0;
      return true;
    });
  }
}

TEST(VerifyProgram, EnginesCannotChange) {
  for (uint8_t engine = 0; engine < 6; ++engine) {
    ExpectEachRefused("engine", [&](TileProgram& program, Command& command) {
      // Nothing follows the last command, so it may run on any DMA channel.
      if (command.engine == engine || &command == &program.commands.back()) return false;
      command.engine = engine;
      return true;
    });
  }
}

TEST(VerifyProgram, EveryByteOfAnOutputIsWritten) {
  TileProgram program = ExampleProgram();
  program.commands.pop_back();
  EXPECT_THAT(Verdict(program), HasSubstr("slot"));  // the last slot now outlives the list
  program = ExampleProgram();
  program.regions[2].size_bytes += 1;
  EXPECT_THAT(Verdict(program), AllOf(HasSubstr("output 0"), HasSubstr("1 of 4097 bytes")));
}

TEST(VerifyProgram, MessagesNameCommandOperandAndBytes) {
  TileProgram program = ExampleProgram();
  for (Command& command : program.commands) {
    if (command.opcode != Opcode::kGemm) continue;
    command.wait_count = 0;
    break;
  }
  EXPECT_THAT(
      Verdict(program),
      AllOf(HasSubstr("command 5 (matrix gemm, op 0): in0 reads scratchpad bytes "
                      "[4096, 5120) of slot 4 (name 4): races with command 3 (dma0 dma_load"),
            HasSubstr("whose out writes scratchpad bytes [4096, 5120)")));
}

TEST(VerifyProgram, SlotsShareBytesOnlyOneAfterTheOther) {
  TileProgram program = ExampleProgram();
  Slot extra;
  extra.space = MemorySpace::kScratchpad;
  extra.offset_bytes = 500;
  extra.size_bytes = 4;
  extra.end_command = 1;
  program.slots.push_back(extra);
  EXPECT_THAT(Verdict(program), HasSubstr("share bytes of scratchpad"));
  program.slots.back().begin_command = 0;
  program.slots.back().offset_bytes = 7000;  // free at that time
  EXPECT_EQ(Verdict(program), "");
}

TEST(VerifyProgram, TablesMustFitTheMachine) {
  TileProgram program = ExampleProgram();
  program.scratchpad_bytes = Edge().scratchpad.size_bytes + 1;
  EXPECT_THAT(Verdict(program), HasSubstr("scratchpad of 393217 bytes"));
  program = ExampleProgram();
  program.regions[0].size_bytes = Edge().dram.size_bytes;
  EXPECT_THAT(Verdict(program), HasSubstr("region 1"));
  program = ExampleProgram();
  program.engines = CoreEngines(3);
  EXPECT_THAT(Verdict(program), HasSubstr("engine 2 (dma2)"));
}

TEST(VerifyProgram, ScatterDoesNotCountAsWriting) {
  B b;
  const uint16_t output = b.Region(RegionKind::kOutput, 64);
  const uint32_t data = b.Slot(MemorySpace::kScratchpad, 0, 64);
  const uint32_t rows = b.Slot(MemorySpace::kScratchpad, 64, 16);
  Command fill =
      B::Make(Opcode::kDmaFill, B::kDma0, {1, 1, 1, 16}, b.InSlot(data, {0, 0, 0, 4}), {});
  b.Add(fill);
  fill.extent[3] = 4;
  fill.out = b.InSlot(rows, {0, 0, 0, 4}, 0, DType::kInt32);
  b.Add(fill);
  Command scatter =
      B::Make(Opcode::kDmaScatter, B::kDma0, {4, 1, 1, 4},
              B::View(MemorySpace::kDram, output, 0, {16, 0, 0, 4}), b.InSlot(data, {16, 0, 0, 4}));
  scatter.in1 = b.InSlot(rows, {4, 0, 0, 0}, 0, DType::kInt32);
  scatter.params.dma.row_limit = 4;
  b.Add(scatter);
  TileProgram program = b.Take();
  EXPECT_THAT(Verdict(program), HasSubstr("64 of 64 bytes are never written"));
  program.commands.back().params.dma.row_limit = 5;
  EXPECT_THAT(Verdict(program), HasSubstr("outside the region"));
}

TEST(VerifyProgram, InPlaceOnlyElementByElement) {
  TileProgram program = ExampleProgram();
  Command& sigmoid = program.commands[program.commands.size() - 2];
  sigmoid.out = sigmoid.in0;
  std::swap(sigmoid.out.stride_bytes[2], sigmoid.out.stride_bytes[3]);  // a transpose in place
  EXPECT_THAT(Verdict(program), HasSubstr("out overlaps in0 out of step"));
}

// Random damage to the tables: any verdict, but no crash and no hang.
TEST(VerifyProgram, SurvivesRandomDamage) {
  const uint32_t seed = 4711;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const NpuConfig config = Edge();
  const TileProgram good = ExampleProgram();
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    TileProgram program = good;
    const auto damage = [&](auto& table) {
      if (table.empty()) return;
      auto* bytes = reinterpret_cast<unsigned char*>(table.data());
      const size_t size = table.size() * sizeof(table[0]);
      const size_t at = random() % size;
      if (random() % 2) {
        bytes[at] ^= static_cast<unsigned char>(1u << random() % 8);
      } else {
        bytes[at] = static_cast<unsigned char>(random());
      }
    };
    for (uint32_t i = 0; i <= random() % 3; ++i) {
      switch (random() % 8) {
        case 0:
          damage(program.engines);
          break;
        case 1:
          damage(program.regions);
          break;
        case 2:
          damage(program.waits);
          break;
        case 3:
          damage(program.slots);
          break;
        default:
          damage(program.commands);
          break;
      }
    }
    const bool accepted = VerifyProgram(program.view(), config).ok();
    EXPECT_TRUE(!accepted || SimulateTiming(program.view(), config).ok());
    refused += !accepted;
    DumpProgram(program.view());
  }
  EXPECT_GT(refused, 2500);
}

// A few bytes of program that would keep the proof busy for minutes, and take memory for a bit of
// each byte.
TEST(VerifyProgram, WorkIsBoundedByTheProgram) {
  constexpr int32_t kSide = 1 << 15;
  B b;
  const uint16_t pool = b.Region(RegionKind::kPool, int64_t{4} * kSide * kSide);
  const uint32_t slot = b.Slot(MemorySpace::kDram, 0, int64_t{4} * kSide * kSide, pool);
  b.Add(B::Make(Opcode::kDmaFill, B::kDma0, {1, kSide, kSide, 1},
                b.InSlot(slot, {0, 4 * kSide, 4, 0}, 0, DType::kInt8), {}));
  const std::clock_t begin = std::clock();
  NpuConfig config = Edge();
  config.dram.size_bytes = int64_t{8} * kSide * kSide;
  config.dma.max_extent = kSide;
  const absl::Status status = VerifyProgram(b.Take().view(), config);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the proof takes more than"));
  EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC / 2);
}

// The example over and over: every lease and wait moved along.
TileProgram Repeated(int times) {
  const TileProgram one = ExampleProgram();
  TileProgram many = one;
  many.commands.clear();
  many.waits.clear();
  many.slots.clear();
  std::vector<uint32_t> per_engine(one.engines.size());
  for (const Command& command : one.commands) ++per_engine[command.engine];
  const auto count = static_cast<uint32_t>(one.commands.size());
  for (uint32_t r = 0; r < static_cast<uint32_t>(times); ++r) {
    const auto slot_base = static_cast<uint32_t>(many.slots.size());
    for (Slot slot : one.slots) {
      slot.begin_command += r * count;
      slot.end_command += r * count;
      many.slots.push_back(slot);
    }
    for (size_t c = 0; c < one.commands.size(); ++c) {
      Command command = one.commands[c];
      const auto waits = absl::MakeSpan(one.waits).subspan(command.wait_begin, command.wait_count);
      command.wait_begin = static_cast<uint32_t>(many.waits.size());
      for (Wait wait : waits) {
        wait.count += r * per_engine[wait.engine];
        many.waits.push_back(wait);
      }
      if (c == 0 && r > 0) {  // everything of the round before is done
        many.waits.push_back({B::kDma1, r * per_engine[B::kDma1]});
        ++command.wait_count;
      }
      for (Operand* o : Operands(command)) {
        if (o->present() && o->slot != kNoSlot) o->slot += slot_base;
      }
      many.commands.push_back(command);
    }
  }
  return many;
}

TEST(VerifyProgram, TwentyThousandCommandsAreQuick) {
  const TileProgram program = Repeated(20000 / static_cast<int>(ExampleProgram().commands.size()));
  const NpuConfig config = Edge();
  const std::clock_t begin = std::clock();  // of this process: the machine may be busy
  const absl::Status status = VerifyProgram(program.view(), config);
  const double ms = 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_TRUE(status.ok()) << status;
  RecordProperty("milliseconds", std::to_string(ms));
  std::printf("%zu commands verified in %.1f ms\n", program.commands.size(), ms);
  EXPECT_LT(ms, 2000);  // wide, for sanitizers and busy machines
}

}  // namespace
}  // namespace berth
