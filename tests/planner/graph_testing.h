// Small graphs for tests of passes, and the property that every pass must keep: the same results.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/op_def.h"
#include "kernels/reference/reference.h"
#include "kernels/rewrite.h"

namespace berth {

// Appends nodes in order; types are inferred at once.
class TestGraph {
 public:
  explicit TestGraph(uint64_t seed = 1) : random_(seed) { graph.name = "test"; }

  ValueId Input(Shape shape, DType dtype = DType::kFloat32) {
    const ValueId id = graph.AddValue("in" + std::to_string(graph.inputs.size()),
                                      TensorType{dtype, std::move(shape)});
    graph.inputs.push_back(id);
    return id;
  }
  // Uniform in [low, high).
  ValueId Weights(Shape shape, float low = -1, float high = 1) {
    Tensor tensor(TensorType{DType::kFloat32, std::move(shape)});
    std::uniform_real_distribution<float> uniform(low, high);
    for (float& value : tensor.Values<float>()) value = uniform(random_);
    return graph.AddConstant("w" + std::to_string(graph.values.size()), std::move(tensor));
  }
  ValueId Filled(Shape shape, float element) {
    Tensor tensor(TensorType{DType::kFloat32, std::move(shape)});
    for (float& value : tensor.Values<float>()) value = element;
    return graph.AddConstant("c" + std::to_string(graph.values.size()), std::move(tensor));
  }
  ValueId Ints(const std::vector<int64_t>& values) {
    return graph.AddConstant(
        "i" + std::to_string(graph.values.size()),
        Tensor::FromValues<int64_t>(DType::kInt64, Shape{static_cast<int64_t>(values.size())},
                                    values));
  }
  ValueId Apply(OpKind kind, std::vector<ValueId> inputs,
                std::vector<std::pair<std::string, AttributeValue>> attributes = {},
                int opset = kRewriteOpset) {
    Node node;
    node.kind = kind;
    node.name = "n" + std::to_string(graph.nodes.size());
    node.opset = opset;
    node.inputs = std::move(inputs);
    for (auto& [name, value] : attributes) node.attributes.Set(name, std::move(value));
    node.outputs = {graph.AddValue("v" + std::to_string(graph.values.size()), TensorType{})};
    const absl::Status status = InferTypesOf(graph, node);
    EXPECT_TRUE(status.ok()) << status;
    graph.nodes.push_back(std::move(node));
    return graph.nodes.back().outputs[0];
  }
  void Output(ValueId id) { graph.outputs.push_back(id); }
  int64_t RandomInt(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  Graph graph;

 private:
  std::mt19937_64 random_;
};

inline std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    Tensor tensor(graph.at(id).type);
    if (tensor.dtype() == DType::kFloat32) {
      for (float& value : tensor.Values<float>()) value = uniform(random);
    } else if (IsInteger(tensor.dtype()) && DTypeBytes(tensor.dtype()) <= 2) {
      for (std::byte& byte : tensor.bytes()) byte = static_cast<std::byte>(random());
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// Largest difference over the largest magnitude expected.
inline double RelativeError(const Tensor& actual, const Tensor& expected) {
  const auto a = ToFloatValues(actual.view());
  const auto e = ToFloatValues(expected.view());
  if (!a.ok() || !e.ok() || actual.shape() != expected.shape()) return INFINITY;
  double largest = 1e-30, difference = 0;
  for (size_t i = 0; i < e->size(); ++i) {
    if (std::isnan((*a)[i]) != std::isnan((*e)[i])) return INFINITY;
    largest = std::max<double>(largest, std::abs((*e)[i]));
    difference = std::max<double>(difference, std::abs(double{(*a)[i]} - (*e)[i]));
  }
  return difference / largest;
}

// Both graphs are valid and give the same for random inputs.
inline void ExpectSameResults(const Graph& before, const Graph& after, uint64_t seed,
                              double tolerance = 1e-5) {
  const absl::Status valid = VerifyGraph(after);
  ASSERT_TRUE(valid.ok()) << valid << "\n" << DumpGraph(after);
  const std::vector<Tensor> inputs = RandomInputs(before, seed);
  const auto expected = Interpret(before, inputs);
  const auto actual = Interpret(after, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status() << "\n" << DumpGraph(before);
  ASSERT_TRUE(actual.ok()) << actual.status() << "\n" << DumpGraph(after);
  ASSERT_EQ(expected->size(), actual->size());
  for (size_t i = 0; i < expected->size(); ++i) {
    EXPECT_EQ((*actual)[i].type(), (*expected)[i].type()) << "output " << i;
    EXPECT_LE(RelativeError((*actual)[i], (*expected)[i]), tolerance)
        << "output " << i << ", seed " << seed << "\nbefore:\n"
        << DumpGraph(before) << "after:\n"
        << DumpGraph(after);
  }
}

inline int CountOf(const Graph& graph, OpKind kind) {
  int count = 0;
  for (const Node& node : graph.nodes) count += node.kind == kind ? 1 : 0;
  return count;
}

}  // namespace berth
