// How boxes and views become commands: few loops where bytes lie together, several commands where
// four loops do not suffice.
#include "kernels/tile_builder.h"

#include <gtest/gtest.h>

#include "kernels/collapse.h"

namespace berth {
namespace {

class TileBuilderTest : public ::testing::Test {
 protected:
  // A float value of `shape`, dense in DRAM unless strides are given.
  ValueId AddValue(const Shape& shape, std::vector<int64_t> strides_bytes = {}) {
    const ValueId id = graph_.AddValue("value", {DType::kFloat32, shape});
    ValuePlacement placement;
    placement.space = MemorySpace::kDram;
    placement.region = 1;
    placement.offset_bytes = 128;
    if (strides_bytes.empty()) {
      for (const int64_t stride : shape.DenseStrides()) strides_bytes.push_back(stride * 4);
    }
    placement.stride_bytes.assign(strides_bytes.begin(), strides_bytes.end());
    placements_.push_back(placement);
    return id;
  }

  std::vector<Command> LoadBox(ValueId value, const Box& box) {
    config_.dma.channels = 2;
    TileBuilder builder(config_, graph_, placements_);
    builder.Load(value, box, "input");
    EXPECT_TRUE(builder.status().ok()) << builder.status();
    return builder.commands();
  }

  static int Loops(const Command& command) {
    int loops = 0;
    for (const int32_t extent : command.extent) loops += extent > 1;
    return loops;
  }

  NpuConfig config_;
  Graph graph_;
  std::vector<ValuePlacement> placements_;
};

TEST_F(TileBuilderTest, AContiguousBoxIsOneLoop) {
  const ValueId value = AddValue(Shape{4, 8, 16});
  const auto commands = LoadBox(value, {{1, 0, 0}, {2, 8, 16}});
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(Loops(commands[0]), 1);
  EXPECT_EQ(commands[0].extent[3], 2 * 8 * 16);
  EXPECT_EQ(commands[0].in0.offset_bytes, 128 + 8 * 16 * 4);
  EXPECT_EQ(commands[0].in0.stride_bytes[3], 4);
}

TEST_F(TileBuilderTest, RowsOfABoxAreTwoLoops) {
  const ValueId value = AddValue(Shape{4, 8, 16});
  const auto commands = LoadBox(value, {{0, 2, 0}, {4, 3, 16}});
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(Loops(commands[0]), 2);
  EXPECT_EQ(commands[0].extent[2], 4);
  EXPECT_EQ(commands[0].extent[3], 3 * 16);
  EXPECT_EQ(commands[0].in0.stride_bytes[2], 8 * 16 * 4);
  EXPECT_EQ(commands[0].out.stride_bytes[2], 3 * 16 * 4);
}

TEST_F(TileBuilderTest, MoreThanFourLoopsAreSeveralCommands) {
  const ValueId value = AddValue(Shape{3, 4, 5, 6, 7, 8});
  const auto commands = LoadBox(value, {{0, 0, 0, 0, 0, 0}, {3, 2, 4, 4, 5, 7}});
  EXPECT_EQ(commands.size(), 2u * 3u);  // the two smallest axes are walked
  for (const Command& command : commands) EXPECT_EQ(Loops(command), 4);
}

TEST_F(TileBuilderTest, StridesBeyond32BitsAreWalked) {
  const int64_t far = int64_t{1} << 33;
  const ValueId value = AddValue(Shape{3, 8}, {far, 4});
  const auto commands = LoadBox(value, {{0, 0}, {3, 8}});
  ASSERT_EQ(commands.size(), 3u);
  EXPECT_EQ(commands[2].in0.offset_bytes, 128 + 2 * far);
}

TEST_F(TileBuilderTest, HeldTilesAreNotLoadedAgain) {
  const ValueId value = AddValue(Shape{4, 8});
  TileBuilder builder(config_, graph_, placements_);
  const Box first{{0, 0}, {1, 8}}, second{{1, 0}, {1, 8}};
  const TileView a = builder.LoadHeld(value, first, "weights");
  EXPECT_EQ(builder.LoadHeld(value, first, "weights").buffer, a.buffer);
  EXPECT_NE(builder.LoadHeld(value, second, "weights").buffer, a.buffer);
  EXPECT_EQ(builder.commands().size(), 2u);
  builder.SetOp(1);
  builder.LoadHeld(value, second, "weights");
  EXPECT_EQ(builder.commands().size(), 3u);
}

TEST_F(TileBuilderTest, EqualTablesAreStoredOnce) {
  TileBuilder builder(config_, graph_, placements_);
  builder.SetTableBase(1 << 20);
  const Tensor table = Tensor::FromValues<int32_t>(DType::kInt32, Shape{3}, {1, 2, 3});
  builder.LoadTable(table, "indices");
  builder.LoadTable(table, "indices");
  EXPECT_EQ(builder.table_bytes().size(), 12u);
  EXPECT_EQ(builder.commands()[1].in0.offset_bytes, 1 << 20);
}

TEST_F(TileBuilderTest, ErrorsAreSticky) {
  TileBuilder builder(config_, graph_, placements_);
  builder.Fail(ResourceExhausted("first"));
  builder.Fail(Internal("second"));
  builder.Fill(builder.NewTile(DType::kFloat32, {4}, "tile"), 0);
  EXPECT_EQ(builder.status().message(), "first");
  EXPECT_TRUE(builder.commands().empty());
}

TEST(TileView, SubPermutedReshapedBroadcast) {
  TileView view;
  view.dtype = DType::kFloat32;
  view = view.Reshaped({2, 3, 4});
  EXPECT_TRUE(view.IsDense());
  const TileView sub = view.Sub({1, 1, 0}, {1, 2, 4});
  EXPECT_EQ(sub.offset_bytes, (12 + 4) * 4);
  EXPECT_TRUE(sub.IsDense());
  const TileView permuted = view.Permuted({2, 0, 1});
  EXPECT_EQ(permuted.extent, (Extents{4, 2, 3}));
  EXPECT_EQ(permuted.stride_bytes, (Extents{4, 48, 16}));
  EXPECT_FALSE(permuted.IsDense());
  TileView row;
  row.dtype = DType::kFloat32;
  row = row.Reshaped({3, 1}).BroadcastTo({5, 3, 4});
  EXPECT_EQ(row.stride_bytes, (Extents{0, 4, 0}));
}

}  // namespace
}  // namespace berth
