// Ops of the host engine read and write whole tensors: their values are never strided parts of
// others.
#include <gtest/gtest.h>

#include "planner/storage/storage.h"
#include "planner/storage/views.h"

namespace berth {
namespace {

Node MakeNode(OpKind kind, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  Node node;
  node.kind = kind;
  node.name = std::string(OpName(kind));
  node.opset = 13;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

ValueId AddInts(Graph& graph, const std::vector<int64_t>& values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  return graph.AddConstant("ints", Tensor::FromValues<int64_t>(DType::kInt64, shape, values));
}

// The first four columns of x, their two largest, and those beside another tensor.
struct Example {
  Graph graph;
  ValueId x, other, slice, largest, positions, joined;

  explicit Example(OpKind kind) {
    const auto floats = [&](const char* name, Shape shape) {
      return graph.AddValue(name, {DType::kFloat32, std::move(shape)});
    };
    x = floats("x", {4, 8});
    other = floats("other", {4, 3});
    slice = floats("slice", {4, 4});
    largest = floats("largest", {4, kind == OpKind::kTopK ? 2 : 4});
    positions = graph.AddValue("positions", {DType::kInt64, {4, 2}});
    joined = floats("joined", {4, kind == OpKind::kTopK ? 5 : 7});
    graph.inputs = {x, other};
    graph.outputs = {joined};
    graph.nodes.push_back(
        MakeNode(OpKind::kSlice, {x, AddInts(graph, {0}), AddInts(graph, {4}), AddInts(graph, {1})},
                 {slice}));
    if (kind == OpKind::kTopK) {
      graph.nodes.push_back(MakeNode(kind, {slice, AddInts(graph, {2})}, {largest, positions}));
    } else {
      graph.nodes.push_back(MakeNode(kind, {slice}, {largest}));
    }
    graph.nodes.push_back(MakeNode(OpKind::kConcat, {largest, other}, {joined}));
    graph.nodes.back().attributes.Set("axis", int64_t{1});
    SeparateConcatOperands(graph);
  }

  bool IsDense(const StoragePlan& plan, ValueId value) const {
    return IsDenseLayout(graph.at(value).type, plan.places[Index(value)].stride_bytes);
  }
};

TEST(StorageDense, ValuesOfHostCallsStandAlone) {
  const Example example(OpKind::kTopK);
  const StoragePlan plan = AssignStorage(example.graph);
  EXPECT_TRUE(example.IsDense(plan, example.slice));
  EXPECT_TRUE(example.IsDense(plan, example.largest));
  EXPECT_TRUE(example.IsDense(plan, example.positions));
}

TEST(StorageDense, OthersMayBePartsOfLargerTensors) {
  const Example example(OpKind::kRelu);
  const StoragePlan plan = AssignStorage(example.graph);
  EXPECT_FALSE(example.IsDense(plan, example.slice));
  EXPECT_FALSE(example.IsDense(plan, example.largest));
}

}  // namespace
}  // namespace berth
