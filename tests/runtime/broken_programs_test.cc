// Programs broken in many ways: the proof and the sanitizer, each on its own, catch every one of
// them, and neither complains of the whole ones.
#include <gmock/gmock.h>

#include "npu_sim/verify.h"
#include "tests/npu_sim/sanitizer_testing.h"
#include "tests/runtime/program_editor.h"
#include "tests/runtime/run_testing.h"

namespace berth {
namespace {

using testing_support::HasFinding;
using testing_support::ProgramEditor;
using testing_support::Sanitize;
using testing_support::TextOf;
using enum FindingKind;

bool IsLoad(const Command& c) { return c.opcode == Opcode::kDmaLoad; }
bool IsStore(const Command& c) { return c.opcode == Opcode::kDmaStore; }

struct Break {
  const char* name;
  std::function<void(ProgramEditor&)> apply;
  const char* proof;               // part of what the proof says
  std::vector<FindingKind> kinds;  // one of which the sanitizer finds
};

void DropFirstWait(ProgramEditor& e, EngineKind who, EngineKind whom) {
  const size_t at = e.Find(
      [&](size_t, const Command& c) { return e.KindOf(c) == who && e.WaitOn(c, whom) >= 0; });
  e.DropWait(e.At(at), e.WaitOn(e.At(at), whom));
}

// Of two neighbours in the list the second reads what the first, on another engine, writes: they
// change places and nobody waits.
void ReadBeforeWrite(ProgramEditor& e, bool (*is_writer)(const Command&)) {
  const size_t at = e.Find([&](size_t i, const Command& c) {
    return is_writer(c) && i + 1 < e.program.commands.size() && c.out.slot != kNoSlot &&
           e.At(i + 1).engine != c.engine && ProgramEditor::Reads(e.At(i + 1), c.out.slot) &&
           e.SlotOf(c.out).begin_command == i;
  });
  e.At(at + 1).wait_count = 0;
  e.SwapWithNext(at);
}

void OverwriteRegion(ProgramEditor& e, RegionKind kind) {
  const size_t at = e.Find([](size_t, const Command& c) { return IsStore(c); });
  uint16_t region = 0;
  while (e.program.regions[region].kind != kind) ++region;
  Command store = e.At(at);
  store.out.region = region;
  store.out.slot = kNoSlot;
  store.out.offset_bytes = 0;
  store.wait_count = 0;
  e.Insert(at + 1, store);
  e.program.slots[store.in0.slot].end_command = static_cast<uint32_t>(at + 2);
}

size_t FirstLoadFrom(ProgramEditor& e, RegionKind kind) {
  return e.Find([&](size_t, const Command& c) {
    return IsLoad(c) && e.program.regions[c.in0.region].kind == kind;
  });
}

// Two loads of one channel, one behind the other, of which a reader waits for the first alone.
void SwapSignals(ProgramEditor& e) {
  const size_t at = e.Find([&](size_t i, const Command& c) {
    if (!IsLoad(c) || i + 1 >= e.program.commands.size()) return false;
    const Command& next = e.At(i + 1);
    if (!IsLoad(next) || next.engine != c.engine || next.wait_count > 0) return false;
    return std::ranges::any_of(e.program.commands, [&](const Command& reader) {
      const int wait = e.WaitOn(reader, EngineKind::kDma);
      return wait >= 0 && ProgramEditor::Reads(reader, c.out.slot) &&
             e.program.waits[static_cast<size_t>(wait)] == Wait{c.engine, e.NumberOf(i)};
    });
  });
  e.SwapWithNext(at);
}

void UseAfterReuse(ProgramEditor& e) {
  uint32_t dead = 0;
  const size_t at = e.Find([&](size_t, const Command& c) {
    if (!IsStore(c)) return false;
    const Slot& now = e.SlotOf(c.in0);
    for (dead = 0; dead < e.program.slots.size(); ++dead) {
      const Slot& slot = e.program.slots[dead];
      if (slot.space == now.space && slot.offset_bytes == now.offset_bytes &&
          slot.size_bytes >= now.size_bytes && slot.end_command <= now.begin_command) {
        return true;
      }
    }
    return false;
  });
  e.At(at).in0.slot = dead;
}

// A tile's load goes to the buffer of the tile before, which is still to be read.
void FillOtherHalf(ProgramEditor& e) {
  const auto is_alike = [&](const Command& a, const Command& b) {
    return IsLoad(a) && IsLoad(b) && a.op == b.op && std::ranges::equal(a.extent, b.extent) &&
           e.SlotOf(a.out).size_bytes == e.SlotOf(b.out).size_bytes && a.out.slot != b.out.slot;
  };
  size_t before = 0;
  const size_t at = e.Find([&](size_t i, const Command& c) {
    for (before = 0; before < i; ++before) {
      const Command& other = e.At(before);
      if (is_alike(other, c) && i + 1 < e.SlotOf(other.out).end_command) return true;
    }
    return false;
  });
  e.At(at).out = e.At(before).out;
}

void WriteTwice(ProgramEditor& e) {
  const size_t at = e.Find([](size_t, const Command& c) { return IsLoad(c); });
  Command fill = e.At(at);
  fill.opcode = Opcode::kDmaFill;
  fill.in0 = {};
  fill.params = {};
  fill.wait_count = 0;
  fill.engine = 1;  // the other channel
  e.Insert(at + 1, fill);
}

void CyclicWaits(ProgramEditor& e) {
  const size_t at = e.Find([&](size_t, const Command& c) {
    return e.KindOf(c) == EngineKind::kMatrix && e.WaitOn(c, EngineKind::kDma) >= 0;
  });
  const Wait wait = e.program.waits[static_cast<size_t>(e.WaitOn(e.At(at), EngineKind::kDma))];
  const size_t load = e.Find([&](size_t i, const Command& c) {
    return c.engine == wait.engine && e.NumberOf(i) == wait.count;
  });
  e.SetWaits(e.At(load), {{e.At(at).engine, e.NumberOf(at)}});
}

size_t FirstWith(ProgramEditor& e, EngineKind kind, bool (*is_it)(const Command&)) {
  return e.Find([&](size_t, const Command& c) { return e.KindOf(c) == kind && is_it(c); });
}

bool HasRows(const Command& c) { return IsLoad(c) && c.extent[2] > 1 && c.in0.slot != kNoSlot; }
bool Waits(const Command& c) { return c.wait_count > 0; }
bool Any(const Command&) { return true; }

const std::vector<Break>& Breaks() {
  static const std::vector<Break> breaks = {
      {"the matrix unit does not wait for its load",
       [](auto& e) { DropFirstWait(e, EngineKind::kMatrix, EngineKind::kDma); },
       "races with",
       {kRace}},
      {"the vector unit does not wait for the matrix unit",
       [](auto& e) { DropFirstWait(e, EngineKind::kVector, EngineKind::kMatrix); },
       "races with",
       {kRace}},
      {"a prefetch does not wait until its buffer is free",
       [](auto& e) { DropFirstWait(e, EngineKind::kDma, EngineKind::kMatrix); },
       "races with",
       {kRace}},
      {"a store does not wait for the vector unit",
       [](auto& e) { DropFirstWait(e, EngineKind::kDma, EngineKind::kVector); },
       "races with",
       {kRace}},
      {"a wait for one command less",
       [](auto& e) {
         const size_t at = FirstWith(e, EngineKind::kMatrix, Waits);
         --e.program.waits[e.At(at).wait_begin].count;
       },
       "races with",
       {kRace}},
      {"a signal that comes for another load", SwapSignals, "races with", {kRace}},
      {"buffers on chip that share bytes while both live",
       [](auto& e) { e.OverlapLiveSlots(MemorySpace::kScratchpad); },
       "share bytes of scratchpad at the same time",
       {kStaleRead, kRace}},
      {"values of the pool that share bytes while both live",
       [](auto& e) {
         // The value that the last op reads, over the one that is being made from it.
         const size_t load = FirstLoadFrom(e, RegionKind::kPool);
         const uint32_t slot = e.At(load).in0.slot;
         const size_t store = e.Find([&](size_t i, const Command& c) {
           return IsStore(c) && c.out.slot != slot && i < e.program.slots[slot].end_command;
         });
         e.MoveSlot(e.At(store).out.slot, e.program.slots[slot].offset_bytes);
       },
       "share bytes of pool",
       {kStaleRead, kRace}},
      {"a load from beyond the constants",
       [](auto& e) {
         Command& load = e.At(FirstLoadFrom(e, RegionKind::kConstants));
         load.in0.offset_bytes = e.program.regions[load.in0.region].size_bytes - 4;
       },
       "outside the region",
       {kOutOfBounds}},
      {"a load of more than its buffer holds",
       [](auto& e) { ++e.At(FirstWith(e, EngineKind::kDma, HasRows)).extent[2]; },
       "outside the slot's bytes",
       {kOutOfBounds}},
      {"a load into an odd address",
       [](auto& e) { ++e.At(FirstWith(e, EngineKind::kDma, IsLoad)).out.offset_bytes; },
       "is not a multiple of the element",
       {kMisaligned}},
      {"a load from an odd address",
       [](auto& e) { e.At(FirstWith(e, EngineKind::kDma, IsLoad)).in0.offset_bytes += 2; },
       "is not a multiple of the element",
       {kMisaligned}},
      {"a load before the store that it reads",
       [](auto& e) { ReadBeforeWrite(e, IsStore); },
       "has not been written",
       {kUninitializedRead}},
      {"a store before what it stores is computed",
       [](auto& e) {
         ReadBeforeWrite(e, [](const Command& c) { return c.opcode == Opcode::kCopy; });
       },
       "has not been written",
       {kUninitializedRead}},
      {"a load that is missing",
       [](auto& e) {
         e.Erase(e.Find([](size_t i, const Command& c) { return i > 0 && IsLoad(c); }));
       },
       "has not been written",
       {kUninitializedRead, kStaleRead}},
      {"a load of one row too few",
       [](auto& e) { --e.At(FirstWith(e, EngineKind::kDma, HasRows)).extent[2]; },
       "has not been written",
       {kUninitializedRead, kStaleRead}},
      {"rows of a load too far apart",
       [](auto& e) { e.At(FirstWith(e, EngineKind::kDma, HasRows)).out.stride_bytes[2] *= 2; },
       "outside the slot's bytes",
       {kOutOfBounds}},
      {"a buffer that is read after another has taken its place",
       UseAfterReuse,
       "the slot lives in commands",
       {kStaleRead}},
      {"two channels that write the same buffer", WriteTwice, "races with", {kRace}},
      {"a load into the other half of a pair", FillOtherHalf, "races with", {kRace}},
      {"a constant that is written",
       [](auto& e) { OverwriteRegion(e, RegionKind::kConstants); },
       "read only",
       {kReadOnlyWritten}},
      {"an input that is written",
       [](auto& e) { OverwriteRegion(e, RegionKind::kInput); },
       "read only",
       {kReadOnlyWritten}},
      {"an output of which a part is not written",
       [](auto& e) {
         const size_t last = e.program.commands.size() - 1;
         --e.At(e.Find([](size_t, const Command& c) { return IsStore(c); }, last)).extent[3];
       },
       "are never written",
       {kOutputUnwritten}},
      {"engines that wait for one another", CyclicWaits, "stand earlier", {kDeadlock}},
      {"an engine that waits for itself",
       [](auto& e) {
         const size_t at = FirstWith(e, EngineKind::kVector, Any);
         e.SetWaits(e.At(at), {{e.At(at).engine, 1}});
       },
       "stand earlier",
       {kDeadlock}},
      {"a wait for more commands than there are",
       [](auto& e) {
         e.program.waits[e.At(FirstWith(e, EngineKind::kMatrix, Waits)).wait_begin].count += 1000;
       },
       "stand earlier",
       {kNeverSignalled}},
      {"a slot that does not exist",
       [](auto& e) {
         e.At(FirstWith(e, EngineKind::kVector, Any)).in0.slot =
             static_cast<uint32_t>(e.program.slots.size());
       },
       "no such slot",
       {kNoSuchMemory}},
      {"a region that does not exist",
       [](auto& e) {
         e.At(FirstWith(e, EngineKind::kDma, IsLoad)).in0.region =
             static_cast<uint16_t>(e.program.regions.size());
       },
       "region 4 of 4",
       {kNoSuchMemory}},
      {"accumulators that are added to before they are set",
       [](auto& e) { e.At(FirstWith(e, EngineKind::kMatrix, Any)).flags |= kFlagAccumulate; },
       "has not been written",
       {kUninitializedRead}},
      {"accumulators that hold another tile's sums",
       [](auto& e) {
         const size_t at = e.Find([&](size_t, const Command& c) {
           return e.KindOf(c) == EngineKind::kMatrix && c.acc.offset_bytes == 0;
         });
         const size_t again = e.Find(
             [&](size_t, const Command& c) {
               return e.KindOf(c) == EngineKind::kMatrix && c.acc.offset_bytes == 0;
             },
             at + 1);
         e.At(again).flags |= kFlagAccumulate;
       },
       "has not been written",
       {kStaleRead}},
      {"a command without an engine",
       [](auto& e) { e.At(FirstWith(e, EngineKind::kVector, Any)).engine = 9; },
       "engine 9 of",
       {kMalformedCommand}},
      {"a kernel of no rows",
       [](auto& e) {
         e.At(e.Find([](size_t, const Command& c) {
            return c.opcode == Opcode::kConv;
          })).params.matrix.window.stride_height = 0;
       },
       "stride, dilation or upsampling below 1",
       {kMalformedCommand}},
  };
  return breaks;
}

class BrokenProgram : public testing::TestWithParam<size_t> {};

TEST_P(BrokenProgram, IsCaughtByProofAndBySanitizer) {
  const Break& broken = Breaks()[GetParam()];
  SCOPED_TRACE(broken.name);
  BundleContents contents = CompileSmallNetwork();
  ProgramEditor editor(contents.program);
  broken.apply(editor);
  const absl::Status proof = VerifyProgram(contents.program.view(), contents.config);
  EXPECT_TRUE(absl::IsDataLoss(proof)) << proof;
  EXPECT_THAT(std::string(proof.message()), testing::HasSubstr(broken.proof));
  const SanitizerReport report = Sanitize(contents.program, contents.config);
  EXPECT_TRUE(std::ranges::any_of(broken.kinds, [&](FindingKind kind) {
    return HasFinding(report, kind);
  })) << TextOf(report);
}

INSTANTIATE_TEST_SUITE_P(Each, BrokenProgram, testing::Range(size_t{0}, Breaks().size()));

TEST(BrokenPrograms, AreAtLeastTwenty) { EXPECT_GE(Breaks().size(), 20u); }

// What the planner makes is whole in the eyes of both.
TEST(BrokenPrograms, WholeOnesAreLeftAlone) {
  for (const bool on_chip : {false, true}) {
    CompileOptions options = SmallMachineOptions();
    options.resident = options.stripes = on_chip;
    const auto contents = CompileGraph(SmallNetwork(), options);
    ASSERT_TRUE(contents.ok()) << contents.status();
    EXPECT_TRUE(VerifyProgram(contents->program.view(), contents->config).ok());
    const SanitizerReport report = Sanitize(contents->program, contents->config);
    EXPECT_EQ(report.finding_count, 0) << TextOf(report);
    EXPECT_EQ(report.command_count, static_cast<int64_t>(contents->program.commands.size()));
    EXPECT_GT(report.read_bytes, 10000);
  }
}

// The proof says that no wait can go; so does the sanitizer, of every single one.
TEST(BrokenPrograms, EveryWaitIsMissed) {
  const BundleContents contents = CompileSmallNetwork();
  int dropped = 0;
  for (size_t c = 0; c < contents.program.commands.size(); ++c) {
    for (int w = 0; w < contents.program.commands[c].wait_count; ++w) {
      TileProgram program = contents.program;
      ProgramEditor editor(program);
      const auto begin = static_cast<int>(program.commands[c].wait_begin);
      editor.DropWait(program.commands[c], begin + w);
      const SanitizerReport report = Sanitize(program, contents.config);
      EXPECT_TRUE(HasFinding(report, kRace)) << DumpCommand(contents.program.view(), c);
      ++dropped;
    }
  }
  EXPECT_GT(dropped, 100);
}

}  // namespace
}  // namespace berth
