#include "npu_sim/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CoreEngines, OrderOfEveryReport) {
  std::vector<std::string> names;
  for (const EngineId& engine : CoreEngines(2)) names.push_back(EngineName(engine));
  EXPECT_THAT(names, ElementsAre("dma0", "dma1", "matrix", "vector", "host"));
  EXPECT_EQ(EngineName(CoreEngines(1, 1)[0]), "1.dma0");
  EXPECT_EQ(EngineName(CoreEngines(1, 1)[1]), "1.matrix");
}

TEST(Names, OpcodesHaveDistinctNamesAndEngines) {
  std::set<std::string_view> names;
  int known = 0;
  for (int value = 1; value < 256; ++value) {
    const auto opcode = static_cast<Opcode>(value);
    if (OpcodeName(opcode) == "invalid") continue;
    ++known;
    names.insert(OpcodeName(opcode));
  }
  EXPECT_EQ(known, 21);
  EXPECT_EQ(names.size(), 21u);
  EXPECT_EQ(EngineOf(Opcode::kDmaScatter), EngineKind::kDma);
  EXPECT_EQ(EngineOf(Opcode::kDepthwise), EngineKind::kMatrix);
  EXPECT_EQ(EngineOf(Opcode::kRequantize), EngineKind::kVector);
  EXPECT_EQ(EngineOf(Opcode::kHostCall), EngineKind::kHost);
}

TEST(DumpProgram, OneLinePerCommand) {
  TileProgram program;
  program.engines = CoreEngines(1);
  program.regions.push_back({4096, RegionKind::kInput, {}, 0});
  program.waits.push_back({0, 1});
  program.slots.push_back({64, 64, 0, 2, 5, 0, MemorySpace::kScratchpad});
  program.scratchpad_bytes = 128;
  Command load;
  load.opcode = Opcode::kDmaLoad;
  load.extent[3] = 16;
  load.in0.space = MemorySpace::kDram;
  load.in0.dtype = DType::kFloat32;
  load.in0.stride_bytes[3] = 4;
  load.out = load.in0;
  load.out.space = MemorySpace::kScratchpad;
  load.out.offset_bytes = 64;
  load.out.slot = 0;
  Command relu;
  relu.opcode = Opcode::kUnary;
  relu.engine = 2;
  relu.params.vector = VectorParams{};
  relu.params.vector.function = static_cast<uint8_t>(UnaryFunction::kRelu);
  relu.in0 = relu.out = load.out;
  relu.wait_count = 1;
  program.commands = {load, relu};
  EXPECT_EQ(DumpProgram(program.view()),
            "tile_program 1\n"
            "engines dma0 matrix vector host\n"
            "region 0 input bytes=4096\n"
            "scratchpad bytes=128\n"
            "accumulator bytes=0\n"
            "slot 0 scratchpad+64 bytes=64 commands=[0,2) name=5\n"
            "     0 dma0    dma_load    1x1x1x16 op=0 out=scratchpad+64:float32(0,0,0,4)#0"
            " in0=input[0]+0:float32(0,0,0,4)\n"
            "     1 vector  unary       1x1x1x1 op=0 out=scratchpad+64:float32(0,0,0,4)#0"
            " in0=scratchpad+64:float32(0,0,0,4)#0 function=relu waits=dma0>=1\n");
}

TEST(DumpProgram, SurvivesIndicesOutOfRange) {
  TileProgram program;
  Command command;
  command.engine = 9;
  command.wait_count = 2;
  command.in0.space = MemorySpace::kDram;
  command.in0.region = 7;
  program.commands = {command};
  EXPECT_THAT(DumpProgram(program.view()), HasSubstr("0 ?9 "));
}

}  // namespace
}  // namespace berth
