// Programs with anything in any field come back from their text.
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>

#include "npu_sim/text/params.h"
#include "tests/npu_sim/program_text_testing.h"

namespace berth {
namespace {

// Puts something into every field that it is shown.
class RandomParams {
 public:
  explicit RandomParams(std::mt19937_64& random) : random_(random) {}

  template <typename T>
  void Number(std::string_view, T& value) {
    Some(value);
  }
  template <typename T>
  void Hex(std::string_view, T& value) {
    Some(value);
  }
  void Float(std::string_view, float& value) {
    auto bits = std::bit_cast<uint32_t>(value);
    Some(bits);
    value = std::bit_cast<float>(bits);
  }
  template <typename T>
  void Pair(std::string_view, T& first, T& second) {
    Some(first);
    Some(second);
  }
  template <typename T>
  void Name(std::string_view, T& value, program_text::NameOf name_of) {
    do {
      value = static_cast<T>(random_() % 64);
    } while (name_of(static_cast<uint8_t>(value)).empty());
  }
  template <size_t N>
  void List(std::string_view, int64_t (&values)[N]) {
    for (int64_t& value : values) Some(value);
  }
  // Often the ends of its range, often nothing.
  template <typename T>
  void Some(T& value) {
    switch (random_() % 6) {
      case 0:
        return;
      case 1:
        value = std::numeric_limits<T>::min();
        return;
      case 2:
        value = std::numeric_limits<T>::max();
        return;
      default:
        value = static_cast<T>(random_() >> random_() % 64);
    }
  }

 private:
  std::mt19937_64& random_;
};

Slot RandomSlot(std::mt19937_64& random, RandomParams& fill) {
  Slot slot;
  fill.Some(slot.offset_bytes);
  fill.Some(slot.size_bytes);
  fill.Some(slot.begin_command);
  fill.Some(slot.end_command);
  fill.Some(slot.name);
  fill.Some(slot.region);
  slot.space = static_cast<MemorySpace>(random() % 4);
  return slot;
}

DramRegion RandomRegion(std::mt19937_64& random, RandomParams& fill) {
  DramRegion region;
  fill.Some(region.size_bytes);
  fill.Some(region.index);
  region.kind = static_cast<RegionKind>(random() % 4);
  return region;
}

void RandomOperand(std::mt19937_64& random, RandomParams& fill, Operand& operand) {
  fill.Some(operand.offset_bytes);
  for (int32_t& stride : operand.stride_bytes) fill.Some(stride);
  fill.Some(operand.slot);
  fill.Some(operand.region);
  operand.space = static_cast<MemorySpace>(random() % 4);
  operand.dtype = static_cast<DType>(random() % kDTypeCount);
}

void AddRandomCommand(Opcode opcode, std::mt19937_64& random, RandomParams& fill,
                      TileProgram& program) {
  Command command;
  command.opcode = opcode;
  command.engine = static_cast<uint8_t>(random() % program.engines.size());
  command.flags = static_cast<uint16_t>(random() % 16);
  fill.Some(command.op);
  for (int32_t& extent : command.extent) fill.Some(extent);
  for (Operand* operand : {&command.out, &command.in0, &command.in1, &command.in2, &command.acc}) {
    RandomOperand(random, fill, *operand);
  }
  command.params = program_text::DefaultParams(opcode);
  program_text::VisitParams(opcode, command.params, fill);
  command.wait_begin = static_cast<uint32_t>(program.waits.size());
  command.wait_count = static_cast<uint16_t>(random() % (program.engines.size() + 1));
  for (int i = 0; i < command.wait_count; ++i) {
    Wait wait;
    wait.engine = static_cast<uint32_t>(random() % program.engines.size());
    fill.Some(wait.count);
    program.waits.push_back(wait);
  }
  program.commands.push_back(command);
}

TEST(ProgramTextRandom, EveryFieldOfEveryOpcodeComesBack) {
  constexpr uint64_t kSeed = 20261130;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  RandomParams fill(random);
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    TileProgram program;
    program.engines = CoreEngines(3, round);
    for (int i = 0; i < 5; ++i) {
      program.regions.push_back(RandomRegion(random, fill));
      program.slots.push_back(RandomSlot(random, fill));
    }
    fill.Some(program.scratchpad_bytes);
    fill.Some(program.accumulator_bytes);
    for (int value = 1; value < 256; ++value) {
      const auto opcode = static_cast<Opcode>(value);
      if (OpcodeName(opcode) != "invalid") AddRandomCommand(opcode, random, fill, program);
    }
    ASSERT_EQ(testing_support::RoundTripDifference(program), "") << "round " << round;
  }
}

}  // namespace
}  // namespace berth
