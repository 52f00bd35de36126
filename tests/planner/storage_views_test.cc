// Views, in-place and order on small graphs made by hand.
#include <gtest/gtest.h>

#include "planner/order/order.h"
#include "planner/storage/storage.h"
#include "planner/storage/views.h"

namespace berth {
namespace {

const TensorType kPlane{DType::kFloat32, Shape{1, 4, 4, 8}};

ValueId Add(Graph& graph, OpKind kind, std::vector<ValueId> inputs, TensorType type,
            Attributes attributes = {}) {
  Node node;
  node.kind = kind;
  node.name = fmt::format("n{}", graph.nodes.size());
  node.opset = 13;
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  node.outputs = {graph.AddValue(node.name, std::move(type))};
  graph.at(node.outputs[0]).shape_known = true;
  graph.nodes.push_back(node);
  return node.outputs[0];
}

// Whose bytes output 0 of a node was written over; none: nobody's.
ValueId OverwrittenBy(const Graph& graph, const StoragePlan& plan, size_t node) {
  const StorageOrigin& origin = plan.origins[Index(graph.nodes[node].outputs[0])];
  return origin.how == ValueStorage::kInPlace ? origin.source : ValueId::kNone;
}

ValueId Input(Graph& graph) {
  graph.inputs.push_back(graph.AddValue("x", kPlane));
  graph.at(graph.inputs.back()).shape_known = true;
  return graph.inputs.back();
}

TEST(ReshapeStrides, MergeOnlyContiguousAxes) {
  // 14x14 pixels of 64 channels inside pixels of 128: rows are contiguous with one another.
  const Shape from{1, 14, 14, 64};
  const Extents strides = {14 * 14 * 512, 14 * 512, 512, 4};
  const auto merged = ReshapeStrides(from, strides, Shape{1, 196, 64});
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ((*merged)[1], 512);
  EXPECT_EQ((*merged)[2], 4);
  EXPECT_FALSE(ReshapeStrides(from, strides, Shape{1, 14, 14 * 64}).has_value());
}

TEST(AssignStorage, ConcatOperandsStandInTheResult) {
  Graph graph;
  const ValueId x = Input(graph);
  const ValueId a = Add(graph, OpKind::kExp, {x}, kPlane);
  const ValueId b = Add(graph, OpKind::kTanh, {x}, kPlane);
  Attributes axis;
  axis.Set("axis", int64_t{3});
  const ValueId joined =
      Add(graph, OpKind::kConcat, {a, b}, {DType::kFloat32, Shape{1, 4, 4, 16}}, axis);
  graph.outputs = {Add(graph, OpKind::kNeg, {joined}, {DType::kFloat32, Shape{1, 4, 4, 16}})};
  const StoragePlan plan = AssignStorage(graph);
  EXPECT_EQ(plan.nodes[2], NodeStorage::kView);
  EXPECT_EQ(plan.places[Index(a)].buffer, plan.places[Index(joined)].buffer);
  EXPECT_EQ(plan.places[Index(b)].offset_bytes, 8 * 4);
  EXPECT_EQ(plan.places[Index(b)].stride_bytes[2], 16 * 4);
  StorageOptions no_views;
  no_views.views = false;
  EXPECT_EQ(AssignStorage(graph, no_views).nodes[2], NodeStorage::kComputed);
}

TEST(AssignStorage, InPlaceOnlyWhereTheInputDies) {
  Graph graph;
  const ValueId x = Input(graph);
  const ValueId a = Add(graph, OpKind::kExp, {x}, kPlane);
  const ValueId b = Add(graph, OpKind::kTanh, {a}, kPlane);  // `a` is read again below
  const ValueId c = Add(graph, OpKind::kNeg, {b}, kPlane);   // `b` dies here
  graph.outputs = {Add(graph, OpKind::kAdd, {c, a}, kPlane)};
  const StoragePlan plan = AssignStorage(graph);
  EXPECT_EQ(OverwrittenBy(graph, plan, 0), ValueId::kNone);  // never over a caller's input
  EXPECT_EQ(OverwrittenBy(graph, plan, 1), ValueId::kNone);
  EXPECT_EQ(OverwrittenBy(graph, plan, 2), b);
  EXPECT_EQ(OverwrittenBy(graph, plan, 3), ValueId::kNone);  // an output has its own bytes
  EXPECT_EQ(PeakLiveBytes(plan), 2 * kPlane.ByteCount());
}

// A value that a node reads beyond the element (a pooling window) is not overwritten by that node,
// though its fused tail reads the same value element by element.
TEST(AssignStorage, NotOverWhatTheNodeReadsItself) {
  Graph graph;
  const ValueId x = Input(graph);
  const ValueId a = Add(graph, OpKind::kExp, {x}, kPlane);
  const ValueId pooled = Add(graph, OpKind::kMaxPool, {a}, kPlane);
  FusedOp tail;
  tail.kind = OpKind::kMul;
  tail.operands = {ValueId::kNone, a};
  tail.dtype = DType::kFloat32;
  graph.nodes.back().tail = {tail};
  graph.nodes.back().layout = DataLayout::kNhwc;
  graph.nodes.back().attributes.Set("kernel_shape", std::vector<int64_t>{3, 3});
  graph.nodes.back().attributes.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
  graph.outputs = {Add(graph, OpKind::kNeg, {pooled}, kPlane)};
  EXPECT_EQ(OverwrittenBy(graph, AssignStorage(graph), 1), ValueId::kNone);
}

// The halves of a split die one after the other: each may be overwritten while the other lives.
TEST(AssignStorage, InPlaceOverOneHalfOfASplit) {
  Graph graph;
  const ValueId x = Input(graph);
  const ValueId both = Add(graph, OpKind::kExp, {x}, kPlane);
  const TensorType half{DType::kFloat32, Shape{1, 4, 4, 4}};
  const auto slice = [&](int64_t begin) {
    std::vector<ValueId> inputs = {both};
    for (const int64_t bound : {begin, begin + 4, int64_t{3}}) {
      inputs.push_back(graph.AddConstant(
          "bound", Tensor::FromValues<int64_t>(DType::kInt64, Shape{1}, {bound})));
    }
    return Add(graph, OpKind::kSlice, inputs, half);
  };
  const ValueId low = slice(0), high = slice(4);
  const ValueId low_neg = Add(graph, OpKind::kNeg, {low}, half);
  const ValueId high_tanh = Add(graph, OpKind::kTanh, {high}, half);
  graph.outputs = {Add(graph, OpKind::kMul, {low_neg, high_tanh}, half)};
  StorageOptions explain;
  explain.explain = true;
  const StoragePlan plan = AssignStorage(graph, explain);
  EXPECT_EQ(plan.nodes[1], NodeStorage::kView);
  EXPECT_EQ(OverwrittenBy(graph, plan, 3), low);
  EXPECT_EQ(OverwrittenBy(graph, plan, 4), high);
  EXPECT_EQ(PeakLiveBytes(plan), kPlane.ByteCount());
  // With the low half read once more at the end, only the high one may go.
  graph.nodes.back().inputs[1] = low;
  const StoragePlan kept = AssignStorage(graph, explain);
  EXPECT_EQ(OverwrittenBy(graph, kept, 3), ValueId::kNone);
  EXPECT_NE(kept.origins[Index(low_neg)].note.find("read later, last by Mul"), std::string::npos)
      << kept.origins[Index(low_neg)].note;
}

// Of two operands that die together the one in the smaller buffer is taken over.
TEST(AssignStorage, GivesTheLargerBufferBack) {
  Graph graph;
  const ValueId x = Input(graph);
  const TensorType large{DType::kFloat32, Shape{4, 4, 4, 8}};
  const ValueId stack = Add(graph, OpKind::kExpand, {x}, large);
  std::vector<ValueId> inputs = {stack};
  for (const int64_t bound : {0, 1, 0}) {
    inputs.push_back(
        graph.AddConstant("bound", Tensor::FromValues<int64_t>(DType::kInt64, Shape{1}, {bound})));
  }
  const ValueId first = Add(graph, OpKind::kSlice, inputs, kPlane);
  const ValueId alone = Add(graph, OpKind::kExp, {x}, kPlane);
  const ValueId sum = Add(graph, OpKind::kAdd, {first, alone}, kPlane);
  graph.outputs = {Add(graph, OpKind::kMaxPool, {sum}, kPlane)};
  EXPECT_EQ(OverwrittenBy(graph, AssignStorage(graph), 3), alone);
}

TEST(SeparateOutputs, InputsAndRepeatsGetCopies) {
  Graph graph;
  const ValueId x = Input(graph);
  const ValueId a = Add(graph, OpKind::kExp, {x}, kPlane);
  graph.outputs = {a, x, a};
  SeparateOutputs(graph);
  EXPECT_EQ(graph.outputs[0], a);
  EXPECT_NE(graph.outputs[1], x);
  EXPECT_NE(graph.outputs[2], a);
  EXPECT_TRUE(VerifyGraph(graph).ok());
}

// Two long branches: finishing one before starting the other holds fewer bytes.
TEST(OrderNodes, NeverWorseThanTheModelsOrder) {
  Graph graph;
  const ValueId x = Input(graph);
  const TensorType big{DType::kFloat32, Shape{1, 64, 4, 8}},
      small{DType::kFloat32, Shape{1, 1, 4, 8}};
  std::vector<ValueId> wide, narrow;
  for (int i = 0; i < 4; ++i) wide.push_back(Add(graph, OpKind::kExpand, {x}, big));
  for (int i = 0; i < 4; ++i)
    narrow.push_back(Add(graph, OpKind::kReduceMax, {wide[static_cast<size_t>(i)]}, small));
  graph.outputs = {Add(graph, OpKind::kSum, narrow, small)};
  const OrderResult order = OrderNodes(graph, {});
  EXPECT_LT(order.peak_bytes, order.model_peak_bytes);
  EXPECT_TRUE(VerifyGraph(graph).ok());
  EXPECT_EQ(PeakLiveBytes(AssignStorage(graph)), order.peak_bytes);
}

}  // namespace
}  // namespace berth
