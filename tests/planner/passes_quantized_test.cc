// The passes over quantized graphs: what becomes a product of integers, what moves on the stored
// integers, what reads them in place; and that results stay.
#include <gtest/gtest.h>

#include "kernels/ops/quantization.h"
#include "kernels/ops/quantized_product.h"
#include "planner/frontend.h"
#include "tests/planner/graph_testing.h"

namespace berth {
namespace {

using Ints = std::vector<int64_t>;

// Quantized graphs in the form that exporters give them.
class QuantizedTestGraph : public TestGraph {
 public:
  using TestGraph::TestGraph;

  ValueId Scalar(DType dtype, int64_t value) {
    Tensor tensor(TensorType{dtype, Shape{}});
    VisitDType(dtype, [&]<typename T>() {
      if constexpr (std::is_integral_v<T>) tensor.Values<T>()[0] = static_cast<T>(value);
    });
    return graph.AddConstant("z" + std::to_string(graph.values.size()), std::move(tensor));
  }
  ValueId Quantize(ValueId x, float scale, int64_t zero_point, DType dtype = DType::kUInt8) {
    return Apply(OpKind::kQuantizeLinear, {x, Filled({}, scale), Scalar(dtype, zero_point)});
  }
  ValueId Dequantize(ValueId q, float scale, int64_t zero_point) {
    const DType dtype = graph.at(q).type.dtype;
    return Apply(OpKind::kDequantizeLinear, {q, Filled({}, scale), Scalar(dtype, zero_point)});
  }
  ValueId Requantized(ValueId x, float scale, int64_t zero_point, DType dtype = DType::kUInt8) {
    return Dequantize(Quantize(x, scale, zero_point, dtype), scale, zero_point);
  }
  // int8 weights with a scale for each index of `axis`.
  ValueId QuantizedWeights(Shape shape, int64_t axis) {
    Tensor tensor(TensorType{DType::kInt8, shape});
    for (int8_t& value : tensor.Values<int8_t>()) value = static_cast<int8_t>(RandomInt(-127, 127));
    const ValueId stored =
        graph.AddConstant("q" + std::to_string(graph.values.size()), std::move(tensor));
    const int64_t count = shape[static_cast<int>(axis)];
    last_scales_ = Weights({count}, 0.002f, 0.01f);
    return Apply(OpKind::kDequantizeLinear, {stored, last_scales_}, {{"axis", axis}});
  }
  // An int32 bias in steps of `x_scale` times the scales of the last weights.
  ValueId QuantizedBias(float x_scale) {
    const auto scales = *ToFloatValues(graph.at(last_scales_).constant->view());
    const auto count = static_cast<int64_t>(scales.size());
    Tensor stored(TensorType{DType::kInt32, Shape{count}});
    for (int32_t& value : stored.Values<int32_t>())
      value = static_cast<int32_t>(RandomInt(-900, 900));
    Tensor steps(TensorType{DType::kFloat32, Shape{count}});
    for (size_t i = 0; i < scales.size(); ++i) steps.Values<float>()[i] = x_scale * scales[i];
    const ValueId bias =
        graph.AddConstant("b" + std::to_string(graph.values.size()), std::move(stored));
    const ValueId scale =
        graph.AddConstant("s" + std::to_string(graph.values.size()), std::move(steps));
    return Apply(OpKind::kDequantizeLinear, {bias, scale}, {{"axis", int64_t{0}}});
  }

 private:
  ValueId last_scales_ = ValueId::kNone;
};

Graph Prepared(const Graph& graph) {
  PrepareOptions options;
  options.evaluator = EvaluateNode;
  auto prepared = PrepareGraph(graph, options);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  return prepared.ok() ? *std::move(prepared) : Graph{};
}

// Outputs are dequantized with `step`: all within one step, all but few in the same one. (The float
// graph rounds its sums, the integer one does not.)
void ExpectSameSteps(const Graph& before, const Graph& after, double step, uint64_t seed) {
  const std::vector<Tensor> inputs = RandomInputs(before, seed);
  const auto expected = Interpret(before, inputs);
  const auto actual = Interpret(after, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status() << "\n" << DumpGraph(after);
  for (size_t i = 0; i < expected->size(); ++i) {
    const auto e = *ToFloatValues((*expected)[i].view());
    const auto a = *ToFloatValues((*actual)[i].view());
    ASSERT_EQ(e.size(), a.size());
    size_t others = 0;
    for (size_t k = 0; k < e.size(); ++k) {
      const double distance = std::abs(double{a[k]} - double{e[k]}) / step;
      ASSERT_LE(distance, 1.01) << k << "\n" << DumpGraph(after);
      others += distance > 0.01 ? 1 : 0;
    }
    EXPECT_LE(others, 1 + e.size() / 500) << DumpGraph(after);
  }
}

int CountOfProducts(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes) count += IsQuantizedProduct(node) ? 1 : 0;
  return count;
}
// Q and DQ that are nodes of their own.
int CountOfConversions(const Graph& graph) {
  return CountOf(graph, OpKind::kQuantizeLinear) + CountOf(graph, OpKind::kDequantizeLinear);
}

TEST(FoldQuantizedProducts, ConvolutionWithBiasAndRelu) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    QuantizedTestGraph t(seed);
    const ValueId x = t.Dequantize(t.Input({1, 6, 9, 9}, DType::kUInt8), 0.02f, 120);
    const ValueId w = t.QuantizedWeights({8, 6, 3, 3}, 0);
    const ValueId y =
        t.Apply(OpKind::kConv, {x, w, t.QuantizedBias(0.02f)}, {{"pads", Ints{1, 1, 1, 1}}});
    t.Output(t.Quantize(t.Apply(OpKind::kRelu, {y}), 0.03f, 10));
    const Graph after = Prepared(t.graph);
    EXPECT_EQ(CountOfProducts(after), 1);
    EXPECT_EQ(CountOfConversions(after), 0);
    EXPECT_EQ(CountOf(after, OpKind::kRelu), 0);
    for (const Node& node : after.nodes) EXPECT_TRUE(node.tail.empty());
    ExpectSameSteps(t.graph, after, 1, seed);
  }
}

TEST(FoldQuantizedProducts, ChainsOfLayersKeepIntegersBetweenThem) {
  QuantizedTestGraph t(5);
  ValueId x = t.Requantized(t.Input({1, 4, 12, 12}), 0.03f, 128);
  x = t.Requantized(t.Apply(OpKind::kConv, {x, t.QuantizedWeights({8, 4, 3, 3}, 0)}), 0.04f, 100);
  x = t.Requantized(
      t.Apply(OpKind::kMaxPool, {x}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}),
      0.04f, 100);
  const ValueId branch =
      t.Requantized(t.Apply(OpKind::kConv, {x, t.QuantizedWeights({8, 1, 3, 3}, 0)},
                            {{"group", int64_t{8}}, {"pads", Ints{1, 1, 1, 1}}}),
                    0.05f, 130);
  x = t.Requantized(t.Apply(OpKind::kAdd, {branch, x}), 0.06f, 128);
  x = t.Requantized(t.Apply(OpKind::kReshape, {x, t.Ints({1, -1})}), 0.06f, 128);
  const ValueId w = t.QuantizedWeights({200, 10}, 1);
  x = t.Apply(OpKind::kGemm, {x, w, t.QuantizedBias(0.06f)});
  t.Output(t.Requantized(x, 0.1f, 128));
  const Graph after = Prepared(t.graph);
  EXPECT_EQ(CountOfProducts(after), 3) << DumpGraph(after);
  // Only the input is quantized by a node of its own; values between nodes are bytes.
  EXPECT_EQ(CountOf(after, OpKind::kDequantizeLinear), 0) << DumpGraph(after);
  for (const Node& node : after.nodes) {
    const ValueId out = node.outputs[0];
    if (out != after.outputs[0]) {
      EXPECT_EQ(after.at(out).type.dtype, DType::kUInt8) << DumpGraph(after);
    }
  }
  ExpectSameSteps(t.graph, after, 0.1, 4);
}

TEST(FoldQuantizedProducts, ABiasBetweenStepsIsAddedInFloat) {
  QuantizedTestGraph t(6);
  const ValueId x = t.Dequantize(t.Input({2, 20}, DType::kUInt8), 0.02f, 128);
  const ValueId y = t.Apply(OpKind::kGemm, {x, t.QuantizedWeights({7, 20}, 0), t.Weights({7})},
                            {{"transB", int64_t{1}}});
  t.Output(t.Quantize(y, 0.02f, 3, DType::kInt8));
  const Graph after = Prepared(t.graph);
  EXPECT_EQ(CountOfProducts(after), 1);
  EXPECT_EQ(after.nodes.size(), 1u) << DumpGraph(after);
  ExpectSameSteps(t.graph, after, 1, 2);
}

TEST(FoldQuantizedProducts, SumsThatMayOverflowStayFloat) {
  QuantizedTestGraph t(7);
  const ValueId x = t.Dequantize(t.Input({1, 4000}, DType::kUInt16), 0.001f, 0);
  t.Output(t.Apply(OpKind::kMatMul, {x, t.QuantizedWeights({4000, 3}, 1)}));
  EXPECT_EQ(CountOfProducts(Prepared(t.graph)), 0);
}

TEST(FoldQuantizedProducts, PadsOfTheZeroPointGoIntoTheWindow) {
  QuantizedTestGraph t(8);
  ValueId x = t.Dequantize(t.Input({1, 3, 8, 8}, DType::kInt8), 0.02f, -7);
  x = t.Requantized(t.Apply(OpKind::kPad, {x, t.Ints({0, 0, 0, 0, 0, 0, 1, 1})}), 0.02f, -7,
                    DType::kInt8);
  t.Output(t.Quantize(
      t.Apply(OpKind::kConv, {x, t.QuantizedWeights({4, 3, 3, 3}, 0)}, {{"strides", Ints{2, 2}}}),
      0.05f, 0, DType::kInt8));
  const Graph after = Prepared(t.graph);
  EXPECT_EQ(CountOf(after, OpKind::kPad), 0) << DumpGraph(after);
  EXPECT_EQ(CountOfProducts(after), 1);
  ExpectSameSteps(t.graph, after, 1, 3);
}

TEST(MoveQuantization, MovementWorksOnStoredIntegers) {
  QuantizedTestGraph t(9);
  const ValueId x = t.Dequantize(t.Input({2, 3, 4}, DType::kUInt8), 0.1f, 12);
  ValueId y = t.Apply(OpKind::kTranspose, {x}, {{"perm", Ints{0, 2, 1}}});
  y = t.Apply(OpKind::kReshape, {y, t.Ints({2, 12})});
  y = t.Apply(OpKind::kConcat, {y, y}, {{"axis", int64_t{1}}});
  t.Output(t.Quantize(y, 0.1f, 12));
  const Graph after = Prepared(t.graph);
  EXPECT_EQ(CountOfConversions(after), 0) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 1, 0);
}

TEST(MoveQuantization, PartsOfOtherScalesAreRequantizedOneByOne) {
  QuantizedTestGraph t(10);
  const ValueId a = t.Dequantize(t.Input({1, 6}, DType::kUInt8), 0.1f, 12);
  const ValueId b = t.Dequantize(t.Input({1, 5}, DType::kUInt8), 0.07f, 99);
  t.Output(t.Quantize(t.Apply(OpKind::kConcat, {a, b}, {{"axis", int64_t{1}}}), 0.1f, 12));
  const Graph after = Prepared(t.graph);
  EXPECT_EQ(CountOf(after, OpKind::kQuantizeLinear), 1) << DumpGraph(after);
  EXPECT_EQ(CountOf(after, OpKind::kDequantizeLinear), 0) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 1, 0);
}

TEST(ReadQuantized, FloatOpsReadAndWriteBytes) {
  QuantizedTestGraph t(11);
  const ValueId x = t.Dequantize(t.Input({1, 4, 6, 6}, DType::kUInt8), 0.1f, 128);
  ValueId y = t.Requantized(t.Apply(OpKind::kSigmoid, {x}), 1.0f / 256, 0);
  y = t.Requantized(t.Apply(OpKind::kMul, {x, y}), 0.1f, 128);
  y = t.Requantized(t.Apply(OpKind::kGlobalAveragePool, {y}), 0.02f, 128);
  t.Output(t.Quantize(t.Apply(OpKind::kSoftmax, {y}, {{"axis", int64_t{1}}}), 1.0f / 256, 0));
  const Graph after = Prepared(t.graph);
  EXPECT_EQ(CountOfConversions(after), 0) << DumpGraph(after);
  for (const Node& node : after.nodes) {
    EXPECT_EQ(after.at(node.outputs[0]).type.dtype, DType::kUInt8) << DumpGraph(after);
  }
  ExpectSameSteps(t.graph, after, 1, 5);
}

// A value that a node reads twice.
TEST(ReadQuantized, SquaresReadBytes) {
  QuantizedTestGraph t(13);
  const ValueId x = t.Dequantize(t.Input({2, 40}, DType::kInt8), 0.1f, -3);
  t.Output(t.Quantize(t.Apply(OpKind::kMul, {x, x}), 0.9f, -128, DType::kInt8));
  const Graph after = Prepared(t.graph);
  EXPECT_EQ(CountOf(after, OpKind::kDequantizeLinear), 0) << DumpGraph(after);
  EXPECT_EQ(after.nodes.size(), 1u) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 1, 0);
}

// Means of integers fall half between two results as often as not: they round half to even,
// whatever the scale.
TEST(ReadQuantized, MeansRoundTiesExactly) {
  for (const float scale : {0.1f, 0.0123f, 0.7f}) {
    QuantizedTestGraph t(12);
    const ValueId x = t.Dequantize(t.Input({1, 300, 2, 3}, DType::kInt8), scale, -5);
    const ValueId y = t.Apply(OpKind::kReduceMean, {x}, {{"axes", Ints{2, 3}}});
    t.Output(t.Quantize(y, scale, -5, DType::kInt8));
    const Graph after = Prepared(t.graph);
    const std::vector<Tensor> inputs = RandomInputs(t.graph, 9);
    const auto actual = Interpret(after, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    const absl::Span<const int8_t> in = inputs[0].Values<int8_t>();
    for (size_t c = 0; c < 300; ++c) {
      int sum = 0;
      for (size_t k = 0; k < 6; ++k) sum += in[c * 6 + k] + 5;
      const double expected = std::nearbyint(sum / 6.0) - 5;
      EXPECT_EQ(static_cast<double>((*actual)[0].Values<int8_t>()[c]), expected) << "sum " << sum;
    }
  }
}

}  // namespace
}  // namespace berth
