#include "npu_sim/program_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <sstream>

#include "npu_sim/timing.h"
#include "npu_sim/verify.h"
#include "tests/npu_sim/example_program.h"
#include "tests/npu_sim/program_text_testing.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using testing_support::DifferenceOf;
using testing_support::RoundTripDifference;
using B = testing_support::ProgramBuilder;

constexpr std::string_view kEngines = "tile_program 1\nengines dma0 matrix vector host\n";

TileProgram Parse(const std::string& text) {
  absl::StatusOr<TileProgram> program = ParseProgramText(text);
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *std::move(program) : TileProgram();
}

// Of one line behind the header and the engines.
Command ParseCommand(const std::string& line) {
  const TileProgram program = Parse(std::string(kEngines) + line);
  EXPECT_EQ(RoundTripDifference(program), "");
  return program.commands.empty() ? Command() : program.commands[0];
}

// examples/gemm.txt made in C++.
TileProgram ExampleGemm() {
  constexpr auto kScratchpad = MemorySpace::kScratchpad, kDram = MemorySpace::kDram;
  B b;
  const uint16_t a_in = b.Region(RegionKind::kInput, 4096),
                 b_in = b.Region(RegionKind::kInput, 4096);
  const uint16_t c_out = b.Region(RegionKind::kOutput, 1024);
  const uint32_t a_tile = b.Slot(kScratchpad, 0, 4096), b_tile = b.Slot(kScratchpad, 4096, 4096);
  const uint32_t c_tile = b.Slot(kScratchpad, 8192, 1024);
  const uint32_t sums = b.Slot(MemorySpace::kAccumulator, 0, 1024);
  b.Add(B::Make(Opcode::kDmaLoad, B::kDma0, {1, 1, 16, 64}, b.InSlot(a_tile, {0, 0, 256, 4}),
                B::View(kDram, a_in, 0, {0, 0, 256, 4})));
  b.Add(B::Make(Opcode::kDmaLoad, B::kDma1, {1, 1, 16, 64}, b.InSlot(b_tile, {0, 0, 256, 4}),
                B::View(kDram, b_in, 0, {0, 0, 256, 4})));
  Command gemm = B::Make(Opcode::kGemm, B::kMatrix, {1, 16, 16, 64},
                         b.InSlot(c_tile, {0, 64, 4, 0}), b.InSlot(a_tile, {0, 256, 0, 4}));
  gemm.in1 = b.InSlot(b_tile, {0, 0, 256, 4});
  gemm.acc = b.InSlot(sums, {});
  gemm.flags = kFlagWriteOut;
  b.Add(gemm, {{B::kDma0, 1}, {B::kDma1, 1}});
  b.Add(B::Make(Opcode::kDmaStore, B::kDma0, {1, 1, 16, 16},
                B::View(kDram, c_out, 0, {0, 0, 64, 4}), b.InSlot(c_tile, {0, 0, 64, 4})),
        {{B::kMatrix, 1}});
  TileProgram program = b.Take();
  program.regions[b_in].index = 1;
  for (Slot& slot : program.slots) slot.name = 0;
  return program;
}

TEST(ProgramText, WrittenByHandIsTheProgramMadeInCpp) {
  std::stringstream text;
  text << std::ifstream(BERTH_SOURCE_FOLDER "/examples/gemm.txt").rdbuf();
  const TileProgram parsed = Parse(text.str()), built = ExampleGemm();
  EXPECT_EQ(DifferenceOf(parsed, built), "");
  const NpuConfig config = *LoadTarget("edge");
  EXPECT_TRUE(VerifyProgram(parsed.view(), config).ok()) << VerifyProgram(parsed.view(), config);
  const auto parsed_report = SimulateTiming(parsed.view(), config);
  const auto built_report = SimulateTiming(built.view(), config);
  ASSERT_TRUE(parsed_report.ok() && built_report.ok());
  EXPECT_EQ(parsed_report->makespan_cycles, built_report->makespan_cycles);
  EXPECT_EQ(parsed_report->macs, 16 * 16 * 64);
}

TEST(ProgramText, ALargerProgramComesBack) {
  EXPECT_EQ(RoundTripDifference(testing_support::ExampleProgram()), "");
  EXPECT_EQ(RoundTripDifference(TileProgram()), "");
}

TEST(ProgramText, WhatIsLeftOutHasItsUsualValue) {
  const Command copy = ParseCommand("vector copy");
  for (int32_t extent : copy.extent) EXPECT_EQ(extent, 1);
  EXPECT_FALSE(copy.in0.present());
  EXPECT_EQ(copy.params.vector.window, Window());
  const Command gemm = ParseCommand("matrix gemm 2x3 in0=scratchpad:int8");
  EXPECT_EQ(gemm.extent[0], 1);
  EXPECT_EQ(gemm.extent[1], 1);
  EXPECT_EQ(gemm.extent[2], 2);
  EXPECT_EQ(gemm.extent[3], 3);
  EXPECT_EQ(gemm.in0.offset_bytes, 0);
  EXPECT_EQ(gemm.in0.stride_bytes[3], 0);
  EXPECT_EQ(gemm.in0.slot, kNoSlot);
  EXPECT_EQ(gemm.params.matrix.out_scale, 1);
  EXPECT_EQ(ParseCommand("vector unary").params.vector.function, 0);
}

TEST(ProgramText, FloatsAreExact) {
  const auto alpha = [](const std::string& text) {
    return std::bit_cast<uint32_t>(ParseCommand("vector unary alpha=" + text).params.vector.alpha);
  };
  EXPECT_EQ(alpha("0.1"), std::bit_cast<uint32_t>(0.1f));
  EXPECT_EQ(alpha("-0"), 0x80000000u);
  EXPECT_EQ(alpha("1e-45"), 1u);
  EXPECT_EQ(alpha("3.4028235e+38"), 0x7f7fffffu);
  EXPECT_EQ(alpha("0xff800000"), 0xff800000u);
  EXPECT_EQ(alpha("0x7fc01234"), 0x7fc01234u);
}

TEST(ProgramText, LeasesAndBytesFollowFromUse) {
  const TileProgram program = Parse(std::string(kEngines) +
                                    "slot scratchpad+64 bytes=32\n"
                                    "slot accumulator bytes=16 commands=[1,9)\n"
                                    "slot scratchpad+0 bytes=8  # never used\n"
                                    "vector copy\n"
                                    "vector copy in0=#0+8:int8\n"
                                    "vector copy out=scratchpad+70:int8#0\n");
  EXPECT_EQ(program.slots[0].begin_command, 1u);
  EXPECT_EQ(program.slots[0].end_command, 3u);
  EXPECT_EQ(program.slots[1].end_command, 9u);
  EXPECT_EQ(program.slots[2].end_command, 0u);
  EXPECT_EQ(program.commands[1].in0.offset_bytes, 72);
  EXPECT_EQ(program.scratchpad_bytes, 96);
  EXPECT_EQ(program.accumulator_bytes, 16);
  EXPECT_EQ(Parse(std::string(kEngines) + "scratchpad bytes=5").scratchpad_bytes, 5);
}

TEST(ProgramText, WaitsByCommand) {
  const TileProgram program = Parse(std::string(kEngines) +
                                    "vector copy\nmatrix gemm\nvector copy\n"
                                    "dma0 dma_fill waits=@2,matrix>=1\n");
  ASSERT_EQ(program.waits.size(), 2u);
  EXPECT_EQ(program.waits[0], (Wait{2, 2}));
  EXPECT_EQ(program.waits[1], (Wait{1, 1}));
}

TEST(ProgramText, BlanksCommentsAndLineEnds) {
  const TileProgram program = Parse(
      "\r\n# x\n\ttile_program  1 # y\r\nengines\tvector\r\n\n0  vector  copy\t3 #z\r\nvector "
      "copy");
  ASSERT_EQ(program.commands.size(), 2u);
  EXPECT_EQ(program.commands[0].extent[3], 3);
}

struct BadText {
  std::string line;  // behind the header, the engines, region 0 (pool) and slot 0
  int column;
  std::string what;
};

TEST(ProgramText, SaysWhereAndWhat) {
  const std::string before =
      std::string(kEngines) + "region pool bytes=64\n" + "slot scratchpad bytes=64\n";
  const std::vector<BadText> cases = {
      {"bogus", 1, "'bogus' is no declared engine, there are: dma0, matrix, vector, host"},
      {"vector", 7, "unknown opcode the end of the line, there are: dma_load, "},
      {"vector cpy", 8, "unknown opcode 'cpy', there are: dma_load, "},
      {"vector copy;", 8, "unknown opcode 'copy;'"},
      {"7 vector copy", 1, "command 7 stands in place 0"},
      {"vector copy 1x2x3x4x5", 21, "'5', there are at most 4 loops"},
      {"vector copy 1x", 15, "the end of the line, expected an integer in [-2147483648"},
      {"vector copy 2147483648", 13, "'2147483648' is outside [-2147483648, 2147483647]"},
      {"vector copy 3y", 14, "'y', expected a blank"},
      {"vector copy strid=3", 13, "unknown field 'strid' of copy, there are: out, in0, "},
      {"vector copy beta=1 alpha=2 beta=3", 28, "'beta' is given twice"},
      {"vector copy finish finish", 20, "'finish' is given twice"},
      {"vector copy =3", 13, "'=3', expected a field"},
      {"vector copy op", 15, "the end of the line, expected '='"},
      {"vector copy op=4294967296", 16, "is outside [0, 4294967295]"},
      {"vector copy op=-1", 16, "expected an integer in [0, 4294967295]"},
      {"vector copy op=0x-1", 16, "expected an integer"},
      {"vector unary function=rilu", 23, "unknown function 'rilu', there are: identity, relu"},
      {"vector pool function=min", 22, "there are: max, average_valid, average_all"},
      {"vector unary alpha=1e99", 20, "'1e99' is no float32"},
      {"vector unary alpha=nan", 20, "'nan', expected a number"},
      {"vector unary alpha=-inf", 20, "'-inf', expected a number"},
      {"vector unary alpha=x", 20, "'x', expected a number"},
      {"matrix conv kernel=3", 21, "expected 'x'"},
      {"matrix conv kernel=3x40000", 22, "'40000' is outside [-32768, 32767]"},
      {"matrix conv pattern=3", 13, "unknown field 'pattern' of conv"},
      {"matrix conv activation=tanh", 24, "there are: none, relu, clip, leaky_relu"},
      {"dma0 dma_fill pattern=0x10000000000000000", 23, "is outside [0, 18446744073709551615]"},
      {"host host_call values=1,2,3,4,5,6,7", 35, "more than 6 values"},
      {"vector copy in0=sram:int8", 17, "unknown memory 'sram:int8', there are: constants, pool"},
      {"vector copy in0=pool:int8", 21, "':int8', expected '['"},
      {"vector copy in0=pool[1]:int8", 22, "region 1 is not declared, there are 1 so far"},
      {"vector copy in0=input[0]:int8", 23, "region 0 is 'pool', not 'input'"},
      {"vector copy in0=dram[65536]:int8", 22, "is outside [0, 65535]"},
      {"vector copy in0=#1:int8", 17, "slot 1 is not declared, there are 1 so far"},
      {"vector copy in0=scratchpad+-1:int8", 28, "expected an offset in bytes"},
      {"vector copy in0=scratchpad+9223372036854775808:int8", 28, "is outside [-9223372036854"},
      {"vector copy in0=scratchpad+8", 29, "the end of the line, expected ':'"},
      {"vector copy in0=scratchpad:int7", 28, "unknown dtype 'int7', there are: undefined, floa"},
      {"vector copy in0=scratchpad:int8(1,2,3)", 38, "')', expected ','"},
      {"vector copy in0=scratchpad:int8(1,2,3,4)x", 41, "'x', expected a blank"},
      {"vector copy in0=scratchpad:int8#4294967296", 33, "is outside [0, 4294967295]"},
      {"vector copy in0=#0:int8#0", 24, "'#0', expected a blank"},
      {"vector copy waits=dma0", 23, "expected '>='"},
      {"vector copy waits=dma1>=1", 19, "'dma1>=1' is no declared engine"},
      {"vector copy waits=@0", 20, "command 0 does not stand before this one, command 0"},
      {"vector copy waits=dma0>=1,", 27, "the end of the line is no declared engine"},
      {"vector copy waits=dma0>=1,host>=1,host>=1,host>=1,dma0>=1", 51,
       "more waits than the 4 engines"},
      {"engines dma", 9, "'dma' is no engine, expected dma0"},
      {"engines dma00", 9, "'dma00' is no engine"},
      {"engines dma256", 9, "'dma256' is no engine"},
      {"engines 0.dma1", 9, "'0.dma1' is no engine"},
      {"engines 1.dma3 vector", 16, "engine 'vector' is declared twice"},
      {"engines", 8, "expected names of engines"},
      {"region", 7, "unknown kind of region: the end of the line, there are: constants, pool"},
      {"region rom bytes=1", 8, "unknown kind of region: 'rom'"},
      {"region 0 input bytes=1", 8, "region 0 stands in place 1"},
      {"region input", 13, "expected 'bytes=' of the region"},
      {"region input bytes=1 bytes=2", 22, "'bytes' is given twice"},
      {"region input size=1", 14, "unknown field 'size' of a region, there are: bytes, index"},
      {"slot 1 scratchpad", 18, "expected 'bytes=' of the slot"},
      {"slot 2 scratchpad", 6, "slot 2 stands in place 1"},
      {"slot scratchpad bytes=1 commands=3", 33, "'=3', expected '=['"},
      {"slot scratchpad bytes=1 commands=[3,4]", 38, "']', expected ')'"},
      {"slot scratchpad bytes=1 begin=3", 25, "unknown field 'begin' of a slot, there are: byt"},
      {"scratchpad", 11, "expected 'bytes=' of the memory"},
      {"accumulator bytes=1 words=2", 21, "unknown field 'words' of a memory"},
      {"vector ?200", 8, "unknown opcode '?200'"},
  };
  for (const BadText& bad : cases) {
    const absl::Status status = ParseProgramText(before + bad.line + "\n").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.line;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(fmt::format("line 5, column {}: ", bad.column)))
        << bad.line;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.what)) << bad.line;
  }
}

TEST(ProgramText, SaysWhatIsWrongAtTheBeginning) {
  const auto message = [](std::string_view text) {
    return std::string(ParseProgramText(text).status().message());
  };
  EXPECT_EQ(message(""), "line 1, column 1: expected 'tile_program 1'");
  EXPECT_EQ(message("# only\n"), "line 1, column 1: expected 'tile_program 1'");
  EXPECT_EQ(message("\nengines dma0"), "line 2, column 1: 'engines', expected 'tile_program'");
  EXPECT_EQ(message("tile_program"), "line 1, column 13: expected the version, 1");
  EXPECT_EQ(message("tile_program 2"), "line 1, column 14: version 2, this reader knows 1");
  EXPECT_THAT(message("tile_program 1 1"), HasSubstr("column 16: '1', expected the end"));
  EXPECT_THAT(message("tile_program 1\ndma0 dma_fill"),
              HasSubstr("line 2, column 1: 'dma0', expected engines, region, slot"));
  EXPECT_THAT(message("tile_program 1\nscratchpad bytes=1\nscratchpad bytes=1"),
              HasSubstr("line 3, column 1: the bytes of this memory are given twice"));
}

TEST(ProgramText, ManyEngines) {
  std::string text = "tile_program 1\nengines";
  for (int i = 0; i < 256; ++i) text += fmt::format(" dma{}", i);
  EXPECT_EQ(Parse(text).engines.size(), 256u);
  EXPECT_THAT(std::string(ParseProgramText(text + " vector").status().message()),
              HasSubstr("more than 256 engines"));
}

// What no name stands for is shown, and refused; what is named again and again is not.
TEST(ProgramText, BrokenProgramsAreWrittenButNotRead) {
  const TileProgram good = testing_support::ExampleProgram();
  const auto refused = [&](const std::string& shown, auto&& change) {
    TileProgram program = good;
    change(program);
    const std::string text = DumpProgram(program.view());
    EXPECT_THAT(text, HasSubstr(shown));
    EXPECT_LT(text.size(), 2 * DumpProgram(good.view()).size());
    EXPECT_FALSE(ParseProgramText(text).ok()) << shown;
  };
  refused(" ?200 ", [](auto& p) { p.commands[3].opcode = static_cast<Opcode>(200); });
  refused(" ?9 ", [](auto& p) { p.commands[3].engine = 9; });
  refused("=?77", [](auto& p) { p.commands[3].out.space = static_cast<MemorySpace>(77); });
  refused(":?78", [](auto& p) { p.commands[3].out.dtype = static_cast<DType>(78); });
  refused(" ?12", [](auto& p) { p.commands[3].flags = 1 << 12; });
  refused(" ?7 ", [](auto& p) { p.regions[0].kind = static_cast<RegionKind>(7); });
  refused("waits=?65535", [](auto& p) { p.commands[3].wait_count = 65535; });
  refused("waits=?1", [](auto& p) { p.commands[6].wait_begin = 1u << 31; });
  refused(">=", [](auto& p) { p.waits[0].engine = 50; });
  refused("engines matrix", [](auto& p) { p.engines[0] = p.engines[2]; });
}

}  // namespace
}  // namespace berth
