// Programs that Emit makes, each with one thing broken: the proof refuses them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "npu_sim/access.h"
#include "npu_sim/verify.h"
#include "tests/planner/shared_data.h"
#include "tests/runtime/run_testing.h"

namespace berth {
namespace {

std::array<Operand*, 5> OperandsOf(Command& command) {
  return {&command.out, &command.in0, &command.in1, &command.in2, &command.acc};
}

class Mutations {
 public:
  explicit Mutations(BundleContents contents)
      : contents_(std::move(contents)), program_(contents_.program) {}

  bool Verifies() const { return VerifyProgram(program_.view(), contents_.config).ok(); }
  size_t commands() const { return program_.commands.size(); }

  // Returns how many were tried.
  int DropEachWait() {
    int tried = 0;
    for (size_t c = 0; c < program_.commands.size(); ++c) {
      const Command command = program_.commands[c];
      for (uint16_t w = 0; w < command.wait_count; ++w) {
        const size_t last = command.wait_begin + command.wait_count - 1u;
        std::swap(program_.waits[command.wait_begin + w], program_.waits[last]);
        --program_.commands[c].wait_count;
        EXPECT_FALSE(Verifies()) << "wait " << w << " of "
                                 << DumpCommand(contents_.program.view(), c);
        ++tried;
        program_.commands[c] = command;
        std::swap(program_.waits[command.wait_begin + w], program_.waits[last]);
      }
    }
    return tried;
  }

  int ShortenEachInterval() {
    int tried = 0;
    for (size_t s = 0; s < program_.slots.size(); ++s) {
      const Slot slot = program_.slots[s];
      ++program_.slots[s].begin_command;
      EXPECT_FALSE(Verifies()) << "slot " << s << " begins later";
      program_.slots[s] = slot;
      --program_.slots[s].end_command;
      EXPECT_FALSE(Verifies()) << "slot " << s << " ends earlier";
      program_.slots[s] = slot;
      tried += 2;
    }
    return tried;
  }

  // A slot that is larger than what its commands touch may move within free bytes: the proof
  // accepts exactly those, and their values cannot change, for no command has changed.
  int ShiftEachSlot() {
    int tried = 0;
    for (size_t s = 0; s < program_.slots.size(); ++s) {
      const Slot slot = program_.slots[s];
      for (const int64_t shift : {-64, -1, 1, 64}) {
        program_.slots[s].offset_bytes = slot.offset_bytes + shift;
        const bool expected = SlotIsHarmless(s);
        EXPECT_EQ(Verifies(), expected) << "slot " << s << " moved by " << shift;
        ++tried;
      }
      program_.slots[s] = slot;
    }
    return tried;
  }

  // Every on-chip operand in turn uses the next buffer of its role.
  int SwapEachBuffer(std::vector<TileProgram>& accepted) {
    int tried = 0;
    for (size_t c = 0; c < program_.commands.size(); ++c) {
      const Command command = program_.commands[c];
      for (size_t k = 0; k < OperandsOf(program_.commands[c]).size(); ++k) {
        Operand& operand = *OperandsOf(program_.commands[c])[k];
        if (!operand.present() || operand.space == MemorySpace::kDram) continue;
        const uint32_t other = NextOfRole(operand.slot);
        if (other == operand.slot) continue;
        operand.offset_bytes +=
            program_.slots[other].offset_bytes - program_.slots[operand.slot].offset_bytes;
        operand.slot = other;
        if (Verifies()) accepted.push_back(program_);
        ++tried;
        program_.commands[c] = command;
      }
    }
    return tried;
  }

 private:
  const std::string& NameOf(size_t slot) const {
    return contents_.buffer_names[program_.slots[slot].name];
  }

  uint32_t NextOfRole(uint32_t slot) const {
    const size_t count = program_.slots.size();
    for (size_t step = 1; step < count; ++step) {
      const size_t other = (slot + step) % count;
      if (NameOf(other) == NameOf(slot) &&
          program_.slots[other].space == program_.slots[slot].space) {
        return static_cast<uint32_t>(other);
      }
    }
    return slot;
  }

  // Holds what touches it, stays in its space, and is alone there while it lives.
  bool SlotIsHarmless(size_t index) const {
    const Slot& slot = program_.slots[index];
    const int64_t end_bytes = slot.offset_bytes + slot.size_bytes;
    const int64_t space_bytes = slot.space == MemorySpace::kScratchpad ? program_.scratchpad_bytes
                                : slot.space == MemorySpace::kAccumulator
                                    ? program_.accumulator_bytes
                                    : program_.regions[slot.region].size_bytes;
    if (slot.offset_bytes < 0 || end_bytes > space_bytes) return false;
    for (const Command& command : program_.commands) {
      for (const Access& access : CollectAccesses(command)) {
        if (access.slot != index) continue;
        if (access.offset_bytes < slot.offset_bytes || access.end_bytes() > end_bytes) return false;
      }
    }
    for (size_t other = 0; other < program_.slots.size(); ++other) {
      const Slot& o = program_.slots[other];
      const bool same_space = o.space == slot.space && o.region == slot.region;
      if (other != index && same_space && o.offset_bytes < end_bytes &&
          slot.offset_bytes < o.offset_bytes + o.size_bytes && o.begin_command < slot.end_command &&
          slot.begin_command < o.end_command) {
        return false;
      }
    }
    return true;
  }

  const BundleContents contents_;
  TileProgram program_;  // equal to that of contents_ between mutations
};

// What the proof promises of a program that it accepts: for these inputs the same bits in any
// execution that the conflicts leave open.
void ExpectDeterministic(const BundleContents& original, const TileProgram& program) {
  BundleContents contents = original;
  contents.program = program;
  contents.conflicts = BuildConflictGraph(ComputeHazards(program.view()));
  const auto loaded = Program::FromContents(std::move(contents));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ContextOptions options;
  options.poison_before_run = true;
  const std::vector<std::byte> expected = RunOnce(*loaded, options);
  options.threads = 4;
  for (int run = 0; run < 5; ++run) EXPECT_EQ(RunOnce(*loaded, options), expected);
}

// A few swaps of buffers are accepted: the proof is of safety, not of meaning, so a read of another
// tile's buffer stands where that one is complete already and known to be.
void ExpectRefused(const BundleContents& contents) {
  Mutations mutations(contents);
  EXPECT_TRUE(mutations.Verifies());
  EXPECT_EQ(mutations.DropEachWait(), static_cast<int>(contents.program.waits.size()));
  EXPECT_EQ(mutations.ShortenEachInterval(), static_cast<int>(2 * contents.program.slots.size()));
  EXPECT_EQ(mutations.ShiftEachSlot(), static_cast<int>(4 * contents.program.slots.size()));
  std::vector<TileProgram> accepted;
  const int swaps = mutations.SwapEachBuffer(accepted);
  EXPECT_GT(swaps, 100);
  EXPECT_LT(accepted.size() * 20, static_cast<size_t>(swaps));
  for (const TileProgram& program : accepted) {
    for (size_t c = 0; c < program.commands.size(); ++c) {
      // Writing into another's buffer is never accepted.
      EXPECT_EQ(program.commands[c].out, contents.program.commands[c].out);
      EXPECT_EQ(program.commands[c].acc, contents.program.commands[c].acc);
    }
    ExpectDeterministic(contents, program);
  }
  EXPECT_TRUE(mutations.Verifies());  // every mutation was taken back
}

TEST(EmitMutation, SmallNetwork) {
  const BundleContents contents = CompileSmallNetwork();
  ASSERT_GT(contents.program.commands.size(), 100u);
  ExpectRefused(contents);
}

TEST(EmitMutation, SmallNetworkOnChip) {
  CompileOptions options = SmallMachineOptions();
  options.resident = options.stripes = true;
  const absl::StatusOr<BundleContents> contents = CompileGraph(SmallNetwork(), options);
  ASSERT_TRUE(contents.ok()) << contents.status();
  // Of swapped buffers more are safe than elsewhere: bands of rows follow one another and are
  // complete, so that many hold another part of the same value.
  Mutations mutations(*contents);
  EXPECT_TRUE(mutations.Verifies());
  EXPECT_EQ(mutations.DropEachWait(), static_cast<int>(contents->program.waits.size()));
  EXPECT_EQ(mutations.ShortenEachInterval(), static_cast<int>(2 * contents->program.slots.size()));
  EXPECT_EQ(mutations.ShiftEachSlot(), static_cast<int>(4 * contents->program.slots.size()));
}

TEST(EmitMutation, ModelOfTheCorpus) {
  const std::filesystem::path folder = SharedFolder();
  if (folder.empty()) GTEST_SKIP() << "no corpus";
  CompileOptions options = SmallMachineOptions();
  options.config.scratchpad.size_bytes = 24 << 10;
  const auto contents =
      CompileModel((folder / "corpus/models/vision/mnist_cntk.onnx").string(), options);
  ASSERT_TRUE(contents.ok()) << contents.status();
  ExpectRefused(*contents);
}

}  // namespace
}  // namespace berth
