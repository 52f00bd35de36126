// CollectAccesses and MayOverlap against sets of bytes written out one by one.
#include "npu_sim/access.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

#include "tests/npu_sim/access_bytes.h"

namespace berth {
namespace {

using Bytes = std::set<int64_t>;

bool Disjoint(const Bytes& a, const Bytes& b) {
  for (int64_t byte : a) {
    if (b.count(byte)) return false;
  }
  return true;
}

Operand Scratchpad(int64_t offset_bytes, std::array<int32_t, 4> strides, DType dtype) {
  Operand operand;
  operand.offset_bytes = offset_bytes;
  for (size_t d = 0; d < 4; ++d) operand.stride_bytes[d] = strides[d];
  operand.space = MemorySpace::kScratchpad;
  operand.dtype = dtype;
  operand.slot = 0;
  return operand;
}

Command CopyCommand(std::array<int32_t, 4> extent, const Operand& out, const Operand& in0) {
  Command command;
  command.opcode = Opcode::kCopy;
  for (size_t d = 0; d < 4; ++d) command.extent[d] = extent[d];
  command.out = out;
  command.in0 = in0;
  return command;
}

Access ReadOf(const Command& command, uint8_t operand) {
  for (const Access& access : CollectAccesses(command)) {
    if (access.operand == operand && !access.is_write) return access;
  }
  ADD_FAILURE() << "no read of operand " << int{operand};
  return {};
}

void ExpectNormalForm(const Access& a) {
  bool seen = false;
  for (int d = 0; d < 4; ++d) {
    EXPECT_EQ(a.extent[d] == 1, a.stride_bytes[d] == 0);
    EXPECT_FALSE(seen && a.extent[d] == 1) << "absent loops stand in front";
    EXPECT_FALSE(seen && a.stride_bytes[d - 1] <= a.stride_bytes[d]);
    seen = seen || a.extent[d] > 1;
  }
  EXPECT_FALSE(a.extent[3] > 1 && a.stride_bytes[3] <= a.run_bytes);
}

TEST(CollectAccesses, MergesDenseLoopsIntoOneRun) {
  const Command command = CopyCommand({2, 3, 4, 5}, Scratchpad(64, {120, 40, 10, 2}, DType::kInt16),
                                      Scratchpad(4096, {6400, 640, 64, 2}, DType::kInt16));
  const AccessList list = CollectAccesses(command);
  ASSERT_EQ(list.count, 2);
  EXPECT_FALSE(list.items[0].is_write);  // reads come first
  EXPECT_EQ(list.items[1].run_bytes, 240);
  EXPECT_EQ(list.items[1].total_bytes(), 240);
  EXPECT_EQ(list.items[1].end_bytes(), 304);
  EXPECT_EQ(list.items[0].run_bytes, 10);
  EXPECT_EQ(list.items[0].total_bytes(), 240);
}

TEST(CollectAccesses, RandomGridsKeepTheirBytes) {
  const uint32_t seed = 20240611;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 3000; ++round) {
    std::array<int32_t, 4> extent, stride;
    Bytes expected;
    for (size_t d = 0; d < 4; ++d) {
      extent[d] = pick(1, 4);
      stride[d] = 2 * pick(-12, 12);
    }
    for (int i = 0; i < extent[0]; ++i)
      for (int j = 0; j < extent[1]; ++j)
        for (int k = 0; k < extent[2]; ++k)
          for (int l = 0; l < extent[3]; ++l)
            for (int u = 0; u < 2; ++u)
              expected.insert(1000 + i * stride[0] + j * stride[1] + k * stride[2] + l * stride[3] +
                              u);
    const Command command = CopyCommand(extent, Scratchpad(0, {}, DType::kInt16),
                                        Scratchpad(1000, stride, DType::kInt16));
    const Access access = ReadOf(command, 1);
    ExpectNormalForm(access);
    ASSERT_EQ(BytesOf(access), expected) << "round " << round;
    EXPECT_GE(access.total_bytes(), static_cast<int64_t>(expected.size()));
    EXPECT_EQ(access.end_bytes(), *expected.rbegin() + 1);
  }
}

TEST(CollectAccesses, WindowReadsExactlyWhatItReaches) {
  const uint32_t seed = 7;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  auto pick = [&](int low, int high) {
    return static_cast<int16_t>(std::uniform_int_distribution<int>(low, high)(random));
  };
  for (int round = 0; round < 4000; ++round) {
    Command command;
    command.opcode = Opcode::kDepthwise;
    command.params.matrix = MatrixParams{};
    Window& w = command.params.matrix.window;
    w.kernel_height = pick(1, 3);
    w.stride_height = pick(1, 3);
    w.dilation_height = pick(1, 2);
    w.upsample_height = pick(0, 3) == 0 ? pick(2, 3) : int16_t{1};
    w.pad_top = pick(-2, 3);
    w.input_height = pick(1, 8);
    w.input_width = 1;
    command.extent[0] = pick(1, 5);
    command.in0 = Scratchpad(0, {4, 4, 4, 0}, DType::kFloat32);
    command.in1 = Scratchpad(0, {}, DType::kFloat32);
    command.acc = Scratchpad(0, {}, DType::kFloat32);
    std::set<int64_t> rows;
    for (int o = 0; o < command.extent[0]; ++o) {
      for (int k = 0; k < w.kernel_height; ++k) {
        const int position = o * w.stride_height + k * w.dilation_height - w.pad_top;
        if (position < 0 || position % w.upsample_height != 0) continue;
        if (position / w.upsample_height < w.input_height)
          rows.insert(position / w.upsample_height);
      }
    }
    Bytes read;
    for (const Access& access : CollectAccesses(command)) {
      if (access.operand == 1) read = BytesOf(access);
    }
    for (int64_t row : rows) EXPECT_TRUE(read.count(row * 4)) << "round " << round;
    for (int64_t byte : read) {
      EXPECT_GE(byte, 0);
      EXPECT_LT(byte, w.input_height * 4);
    }
    const bool one_step = w.kernel_height == 1 || w.stride_height <= w.dilation_height;
    if (one_step && w.upsample_height == 1 && (w.kernel_height == 1 || w.dilation_height == 1)) {
      EXPECT_EQ(read.size(), rows.size() * 4) << "round " << round;
    }
  }
}

TEST(CollectAccesses, MatrixReadsAndWritesItsAccumulator) {
  Command command;
  command.opcode = Opcode::kGemm;
  command.extent[1] = 4;
  command.extent[2] = 8;
  command.extent[3] = 16;
  command.in0 = Scratchpad(0, {0, 64, 0, 4}, DType::kFloat32);
  command.in1 = Scratchpad(1024, {0, 0, 64, 4}, DType::kFloat32);
  command.in2 = Scratchpad(2048, {0, 0, 4, 0}, DType::kFloat32);
  command.out = Scratchpad(4096, {0, 32, 4, 0}, DType::kFloat32);
  command.acc = Scratchpad(0, {}, DType::kFloat32);
  command.acc.space = MemorySpace::kAccumulator;
  AccessList list = CollectAccesses(command);
  ASSERT_EQ(list.count, 4);  // in0, in1, in2, acc written; out untouched without kFlagWriteOut
  EXPECT_EQ(list.items[0].run_bytes, 4 * 64);
  EXPECT_EQ(list.items[1].run_bytes, 8 * 64);
  EXPECT_EQ(list.items[2].run_bytes, 32);
  EXPECT_EQ(list.items[3].space, MemorySpace::kAccumulator);
  EXPECT_EQ(list.items[3].run_bytes, 4 * 8 * 4);
  command.flags = kFlagAccumulate | kFlagWriteOut;
  list = CollectAccesses(command);
  EXPECT_EQ(list.count, 6);
}

TEST(CollectAccesses, GatherTableCountsWhole) {
  Command command;
  command.opcode = Opcode::kDmaGather;
  command.extent[0] = 3;
  command.extent[3] = 4;
  command.in0 = Scratchpad(0, {32, 0, 0, 4}, DType::kFloat32);
  command.in0.space = MemorySpace::kDram;
  command.in1 = Scratchpad(512, {8, 0, 0, 0}, DType::kInt64);
  command.out = Scratchpad(0, {16, 0, 0, 4}, DType::kFloat32);
  command.params.dma.row_limit = 100;
  const Access table = ReadOf(command, 1);
  EXPECT_EQ(table.extent[3], 100);
  EXPECT_EQ(table.end_bytes(), 99 * 32 + 16);
  EXPECT_EQ(ReadOf(command, 2).total_bytes(), 24);
}

Access Grid(int64_t offset, std::array<int64_t, 4> extent, std::array<int64_t, 4> stride,
            int64_t run) {
  Access access;
  access.space = MemorySpace::kScratchpad;
  access.offset_bytes = offset;
  for (size_t d = 0; d < 4; ++d) {
    access.extent[d] = extent[d];
    access.stride_bytes[d] = stride[d];
  }
  access.run_bytes = run;
  return access;
}

TEST(MayOverlap, ChannelSlicesOfOneTensorAreApart) {
  // Two slices of 16 channels of a 28x28x48 int8 tensor.
  const Access first = Grid(0, {1, 1, 28, 28}, {0, 0, 28 * 48, 48}, 16);
  const Access second = Grid(16, {1, 1, 28, 28}, {0, 0, 28 * 48, 48}, 16);
  const Access wide = Grid(15, {1, 1, 28, 28}, {0, 0, 28 * 48, 48}, 2);
  EXPECT_FALSE(MayOverlap(first, second));
  EXPECT_TRUE(MayOverlap(first, first));
  EXPECT_TRUE(MayOverlap(first, wide));
  EXPECT_TRUE(MayOverlap(wide, second));
  // The same slice written row by row, with the loops merged on one side only.
  EXPECT_FALSE(MayOverlap(Grid(0, {1, 1, 1, 28 * 28}, {0, 0, 0, 48}, 16), second));
}

TEST(MayOverlap, OtherSpaceOrRegionNeverOverlaps) {
  const Access a = Grid(0, {1, 1, 1, 1}, {}, 64);
  Access b = a;
  b.space = MemorySpace::kAccumulator;
  EXPECT_FALSE(MayOverlap(a, b));
  b = a;
  b.region = 1;
  EXPECT_FALSE(MayOverlap(a, b));
}

TEST(MayOverlap, AgreesWithByteSets) {
  const uint32_t seed = 99;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int apart = 0;
  for (int round = 0; round < 20000; ++round) {
    auto grid = [&] {
      std::array<int32_t, 4> extent, stride;
      for (size_t d = 0; d < 4; ++d) {
        extent[d] = pick(1, 3);
        stride[d] = pick(0, 3) == 0 ? 0 : pick(1, 40);
      }
      const Command command = CopyCommand(extent, Scratchpad(0, {}, DType::kInt8),
                                          Scratchpad(pick(0, 60), stride, DType::kInt8));
      return ReadOf(command, 1);
    };
    const Access a = grid(), b = grid();
    const bool disjoint = Disjoint(BytesOf(a), BytesOf(b));
    ASSERT_EQ(MayOverlap(a, b), !disjoint) << "round " << round;
    ASSERT_EQ(MayOverlap(b, a), !disjoint) << "round " << round;
    apart += disjoint;
  }
  EXPECT_GT(apart, 2000);
}

TEST(MayOverlap, ExactOnTilesOfOneTensor) {
  const uint32_t seed = 5;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  constexpr int kHeight = 5, kWidth = 6, kChannels = 8;
  for (int round = 0; round < 4000; ++round) {
    auto tile = [&] {
      const int y = pick(0, kHeight - 1), x = pick(0, kWidth - 1), c = pick(0, kChannels - 1);
      const Command command =
          CopyCommand({1, pick(1, kHeight - y), pick(1, kWidth - x), pick(1, kChannels - c)},
                      Scratchpad(0, {}, DType::kInt16),
                      Scratchpad(2 * ((y * kWidth + x) * kChannels + c),
                                 {0, 2 * kWidth * kChannels, 2 * kChannels, 2}, DType::kInt16));
      return ReadOf(command, 1);
    };
    const Access a = tile(), b = tile();
    ASSERT_EQ(MayOverlap(a, b), !Disjoint(BytesOf(a), BytesOf(b))) << "round " << round;
  }
}

}  // namespace
}  // namespace berth
