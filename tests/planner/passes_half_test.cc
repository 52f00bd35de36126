// Storing a float model at half size: what becomes 16-bit, what stays float32 and why, and that no
// value of the float model turns infinite.
#include <cmath>
#include <limits>

#include "kernels/fold/graph_edit.h"
#include "planner/frontend.h"
#include "planner/passes/half_rules.h"
#include "tests/planner/graph_testing.h"

namespace berth {
namespace {

constexpr DType kHalves[] = {DType::kFloat16, DType::kBFloat16};

Graph Prepared(const Graph& graph, DType storage, HalfSummary* summary = nullptr) {
  PrepareOptions options;
  options.evaluator = EvaluateNode;
  options.float_storage = storage;
  options.half_summary = summary;
  auto prepared = PrepareGraph(graph, options);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  return prepared.ok() ? *std::move(prepared) : Graph{};
}

double ToleranceOf(DType storage) { return storage == DType::kFloat16 ? 4e-3 : 3e-2; }

// Values between ops, of this dtype.
int CountStored(const Graph& graph, DType dtype) {
  int count = 0;
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      count += id != ValueId::kNone && !IsGraphOutput(graph, id) && graph.at(id).type.dtype == dtype
                   ? 1
                   : 0;
    }
  }
  return count;
}

bool HasNode(const HalfSummary& summary, const std::string& part) {
  for (const KeptInFloat32& kept : summary.kept) {
    if ((kept.node + ": " + kept.reason).find(part) != std::string::npos) return true;
  }
  return false;
}

void ExpectClose(const Graph& before, DType storage, double tolerance, uint64_t seed = 3) {
  SCOPED_TRACE(DTypeName(storage));
  ExpectSameResults(before, Prepared(before, storage), seed, tolerance);
}

TestGraph ConvNet() {
  TestGraph t(7);
  using Ints = std::vector<int64_t>;
  const Ints around = {1, 1, 1, 1};
  const ValueId x = t.Input(Shape{1, 3, 12, 12});
  const ValueId conv = t.Apply(
      OpKind::kConv, {x, t.Weights(Shape{8, 3, 3, 3}), t.Weights(Shape{8})}, {{"pads", around}});
  const ValueId normal =
      t.Apply(OpKind::kBatchNormalization, {conv, t.Weights(Shape{8}, 0.5f, 2), t.Weights(Shape{8}),
                                            t.Weights(Shape{8}), t.Weights(Shape{8}, 0.5f, 2)});
  const ValueId first = t.Apply(OpKind::kRelu, {normal});
  const ValueId second =
      t.Apply(OpKind::kConv, {first, t.Weights(Shape{8, 8, 3, 3})}, {{"pads", around}});
  const ValueId sum = t.Apply(OpKind::kRelu, {t.Apply(OpKind::kAdd, {second, first})});
  const ValueId pooled = t.Apply(OpKind::kGlobalAveragePool, {sum});
  const ValueId flat = t.Apply(OpKind::kFlatten, {pooled});
  t.Output(t.Apply(OpKind::kSoftmax,
                   {t.Apply(OpKind::kGemm, {flat, t.Weights(Shape{8, 10}), t.Weights(Shape{10})})},
                   {{"axis", int64_t{1}}}));
  return t;
}

TEST(StoreAsHalf, ConvolutionsKeepTheirFormAndTheirInterface) {
  const Graph before = ConvNet().graph;
  const Graph whole = Prepared(before, DType::kFloat32);
  for (const DType storage : kHalves) {
    SCOPED_TRACE(DTypeName(storage));
    HalfSummary summary;
    const Graph after = Prepared(before, storage, &summary);
    EXPECT_EQ(summary.kept.size(), 0u);
    // No op more than in float32: Casts are in tails.
    EXPECT_EQ(after.nodes.size(), whole.nodes.size()) << DumpGraph(after);
    EXPECT_EQ(CountStored(after, DType::kFloat32), 0) << DumpGraph(after);
    for (const Node& node : after.nodes) {
      if (node.kind != OpKind::kConv && node.kind != OpKind::kMatMul) continue;
      EXPECT_EQ(after.at(node.inputs[0]).type.dtype, storage);
      EXPECT_EQ(after.at(node.inputs[1]).type.dtype, storage);
      if (node.inputs.size() > 2) {
        EXPECT_EQ(after.at(node.inputs[2]).type.dtype, DType::kFloat32) << "bias";
      }
    }
    for (size_t i = 0; i < before.outputs.size(); ++i) {
      EXPECT_EQ(after.at(after.outputs[i]).type, before.at(before.outputs[i]).type);
      EXPECT_EQ(after.at(after.outputs[i]).name, before.at(before.outputs[i]).name);
    }
    ExpectSameResults(before, after, 5, ToleranceOf(storage));
  }
}

TEST(StoreAsHalf, AWeightThatWouldBecomeInfiniteKeepsItsOpInFloat32) {
  TestGraph t(3);
  const ValueId x = t.Input(Shape{2, 4});
  Tensor large(TensorType{DType::kFloat32, Shape{4, 5}});
  for (float& value : large.Values<float>()) value = 0.25f;
  large.Values<float>()[7] = -7e4f;
  const ValueId w = t.graph.AddConstant("large", std::move(large));
  const ValueId product = t.Apply(OpKind::kMatMul, {x, w});
  const ValueId rooted = t.Apply(OpKind::kSqrt, {t.Apply(OpKind::kAbs, {product})});
  t.Output(t.Apply(OpKind::kMatMul, {rooted, t.Weights(Shape{5, 3})}));
  HalfSummary summary;
  const Graph after = Prepared(t.graph, DType::kFloat16, &summary);
  ASSERT_EQ(summary.kept.size(), 1u);
  EXPECT_TRUE(HasNode(summary, "MatMul 'n0'")) << summary.kept[0].node;
  EXPECT_TRUE(HasNode(summary, "'large': it holds 70000, float16 ends at 65504"))
      << summary.kept[0].reason;
  ExpectSameResults(t.graph, after, 1, 2e-3);
  HalfSummary wider;
  Prepared(t.graph, DType::kBFloat16, &wider);
  EXPECT_EQ(wider.kept.size(), 0u);
}

TEST(StoreAsHalf, SmallWeightsKeepTheirOpInFloat32) {
  TestGraph t(3);
  const ValueId x = t.Input(Shape{2, 4});
  const ValueId small = t.Apply(OpKind::kMatMul, {x, t.Weights(Shape{4, 5}, 1e-7f, 3e-6f)});
  t.Output(t.Apply(OpKind::kSqrt, {t.Apply(OpKind::kAbs, {small})}));
  HalfSummary summary;
  const Graph after = Prepared(t.graph, DType::kFloat16, &summary);
  ASSERT_EQ(summary.kept.size(), 1u);
  EXPECT_TRUE(HasNode(summary, "float16 loses digits below 6.1e-05")) << summary.kept[0].reason;
  ExpectSameResults(t.graph, after, 1, 1e-3);
}

TEST(StoreAsHalf, TinyAddendsKeepTheirDigits) {
  TestGraph t(3);
  const ValueId x = t.Input(Shape{4, 8});
  const ValueId positive = t.Apply(OpKind::kAbs, {x});
  const ValueId zero = t.Apply(OpKind::kMul, {positive, t.Filled(Shape{}, 0.0f)});
  const ValueId eps = t.Apply(OpKind::kAdd, {zero, t.Filled(Shape{}, 1e-12f)});
  t.Output(t.Apply(OpKind::kSqrt, {eps}));
  HalfSummary summary;
  const Graph after = Prepared(t.graph, DType::kFloat16, &summary);
  EXPECT_EQ(summary.kept.size(), 0u);
  ExpectSameResults(t.graph, after, 1, 1e-3);
}

TEST(StoreAsHalf, BoundsBeyondItsRangeBoundNothing) {
  TestGraph t(3);
  const ValueId x = t.Input(Shape{1, 4, 6, 6});
  const ValueId conv = t.Apply(OpKind::kConv, {x, t.Weights(Shape{4, 4, 1, 1})});
  const ValueId clipped = t.Apply(
      OpKind::kClip,
      {conv, t.Filled(Shape{}, 0.0f), t.Filled(Shape{}, std::numeric_limits<float>::max())});
  t.Output(t.Apply(OpKind::kConv, {clipped, t.Weights(Shape{4, 4, 1, 1})}));
  HalfSummary summary;
  const Graph after = Prepared(t.graph, DType::kFloat16, &summary);
  EXPECT_EQ(summary.kept.size(), 0u);
  EXPECT_EQ(CountStored(after, DType::kFloat32), 0) << DumpGraph(after);
  ExpectSameResults(t.graph, after, 1, 2e-3);
}

// exp(x) of 20 is 5e8; its logarithm is 20 again.
TEST(StoreAsHalf, LargeIntermediateValuesStayFinite) {
  for (const DType storage : kHalves) {
    TestGraph t(3);
    const ValueId x = t.Input(Shape{4, 16});
    const ValueId high = t.Apply(OpKind::kMul, {x, t.Filled(Shape{}, 10.0f)});
    const ValueId sum = t.Apply(OpKind::kReduceSum, {t.Apply(OpKind::kExp, {high}), t.Ints({1})},
                                {{"keepdims", int64_t{1}}});
    t.Output(t.Apply(OpKind::kLog, {sum}));
    ExpectClose(t.graph, storage, ToleranceOf(storage));
  }
}

// The variance of values about 1000 is beyond float16.
TEST(StoreAsHalf, NormalizesLargeValues) {
  for (const DType storage : kHalves) {
    TestGraph t(3);
    const ValueId x = t.Input(Shape{2, 5, 32});
    const ValueId high = t.Apply(OpKind::kMul, {x, t.Filled(Shape{}, 1000.0f)});
    const ValueId normal =
        t.Apply(OpKind::kLayerNormalization, {high, t.Weights(Shape{32}), t.Weights(Shape{32})});
    t.Output(t.Apply(OpKind::kMatMul, {normal, t.Weights(Shape{32, 8})}));
    ExpectClose(t.graph, storage, ToleranceOf(storage));
  }
}

// The addend of a mask is far beyond float16: bounded there, and its softmax is no NaN.
TEST(StoreAsHalf, MasksAreBounded) {
  TestGraph t(3);
  const ValueId a = t.Input(Shape{4, 8, 16});
  const ValueId mask = t.Input(Shape{4, 1, 8});
  const ValueId scores =
      t.Apply(OpKind::kMatMul,
              {a, t.Apply(OpKind::kTranspose, {a}, {{"perm", std::vector<int64_t>{0, 2, 1}}})});
  const ValueId hidden =
      t.Apply(OpKind::kMul, {t.Apply(OpKind::kRelu, {mask}), t.Filled(Shape{}, -1e9f)});
  const ValueId masked = t.Apply(OpKind::kAdd, {scores, hidden});
  t.Output(t.Apply(OpKind::kSoftmax, {masked}, {{"axis", int64_t{-1}}}));
  HalfSummary summary;
  const Graph after = Prepared(t.graph, DType::kFloat16, &summary);
  EXPECT_TRUE(HasNode(summary, "it holds 1e+09"));
  // All -1 and below: every score of a row may be hidden.
  std::vector<Tensor> inputs = RandomInputs(t.graph, 4);
  for (float& value : inputs[1].Values<float>()) value = 1.0f;
  const auto results = Interpret(after, inputs);
  ASSERT_TRUE(results.ok()) << results.status();
  for (const float value : (*results)[0].Values<float>()) ASSERT_TRUE(std::isfinite(value));
  ExpectSameResults(t.graph, after, 4, 5e-3);
}

TEST(StoreAsHalf, WholeNumbersBeyondItsDigitsStayExact) {
  for (const DType storage : kHalves) {
    TestGraph t(3);
    const ValueId x = t.Input(Shape{2, 3}, DType::kInt16);
    const ValueId wide = t.Apply(OpKind::kCast, {x}, {{"to", int64_t{1}}});
    const ValueId shifted = t.Apply(OpKind::kAdd, {wide, t.Filled(Shape{}, 1.0f)});
    t.Output(t.Apply(OpKind::kCast, {shifted}, {{"to", int64_t{6}}}));
    ExpectClose(t.graph, storage, 0);
  }
}

TEST(StoreAsHalf, AnglesStayExact) {
  for (const DType storage : kHalves) {
    TestGraph t(3);
    const ValueId x = t.Input(Shape{2, 64});
    const ValueId angle = t.Apply(OpKind::kMul, {x, t.Filled(Shape{}, 500.0f)});
    t.Output(t.Apply(OpKind::kSin, {angle}));
    ExpectClose(t.graph, storage, ToleranceOf(storage));
  }
}

TEST(StoreAsHalf, ScalesOfAResizeAreNoData) {
  for (const DType storage : kHalves) {
    TestGraph t(3);
    const ValueId x = t.Input(Shape{1, 4, 6, 6});
    const ValueId conv = t.Apply(OpKind::kConv, {x, t.Weights(Shape{4, 4, 1, 1})});
    Tensor scales = Tensor::FromValues<float>(DType::kFloat32, Shape{4}, {1, 1, 2, 2});
    const ValueId large = t.Apply(
        OpKind::kResize, {conv, ValueId::kNone, t.graph.AddConstant("scales", std::move(scales))},
        {{"mode", std::string("linear")}});
    t.Output(t.Apply(OpKind::kConv, {large, t.Weights(Shape{2, 4, 3, 3})}));
    ExpectClose(t.graph, storage, ToleranceOf(storage));
  }
}

TEST(StoreAsHalf, QuantizedOpsAreLeftAsTheyAre) {
  TestGraph t(3);
  const auto scale = [&](float value) { return t.Filled(Shape{}, value); };
  const ValueId x = t.Input(Shape{1, 3, 8, 8}, DType::kInt8);
  Tensor stored(TensorType{DType::kInt8, Shape{4, 3, 3, 3}});
  for (size_t i = 0; i < stored.bytes().size(); ++i) {
    stored.Values<int8_t>()[i] = static_cast<int8_t>(i * 37 % 255 - 127);
  }
  const ValueId w = t.graph.AddConstant("stored", std::move(stored));
  const ValueId conv =
      t.Apply(OpKind::kConv, {t.Apply(OpKind::kDequantizeLinear, {x, scale(0.02f)}),
                              t.Apply(OpKind::kDequantizeLinear, {w, scale(0.01f)})});
  const ValueId zero = t.graph.AddConstant("zero", Tensor(TensorType{DType::kInt8, Shape{}}));
  const ValueId y = t.Apply(OpKind::kQuantizeLinear, {conv, scale(0.1f), zero});
  const ValueId soft =
      t.Apply(OpKind::kSoftmax, {t.Apply(OpKind::kDequantizeLinear, {y, scale(0.1f), zero})},
              {{"axis", int64_t{1}}});
  t.Output(t.Apply(OpKind::kQuantizeLinear, {soft, scale(1.0f / 256), zero}));
  const Graph whole = Prepared(t.graph, DType::kFloat32);
  const Graph after = Prepared(t.graph, DType::kFloat16);
  EXPECT_EQ(DumpGraph(after), DumpGraph(whole));
}

TEST(StoreAsHalf, RefusesOtherDTypes) {
  Graph graph = ConvNet().graph;
  EXPECT_EQ(StoreAsHalf(graph, DType::kInt8).status().code(), absl::StatusCode::kInvalidArgument);
}

Tensor Floats(const std::vector<float>& values) {
  return Tensor::FromValues<float>(DType::kFloat32, Shape{static_cast<int64_t>(values.size())},
                                   values);
}

TEST(HalfRules, RoundsToNearestEven) {
  const auto round = [](DType dtype, const std::vector<float>& values) {
    return *ToFloatValues(RoundToHalf(Floats(values), dtype).view());
  };
  // float16 holds 11 bits: even numbers above 2048, multiples of 2^-24 at the low end.
  EXPECT_EQ(
      round(DType::kFloat16, {2049, 2051, -2049, 65519, 0x1p-25f, 0x1.8p-24f, 0x1.000002p-25f}),
      (std::vector<float>{2048, 2052, -2048, 65504, 0, 0x1p-23f, 0x1p-24f}));
  // bfloat16 holds 8.
  EXPECT_EQ(round(DType::kBFloat16, {257, 259, -257, 3.0e38f}),
            (std::vector<float>{256, 260, -256, 0x1.c4p127f}));
}

TEST(HalfRules, SaysWhereARangeEnds) {
  EXPECT_EQ(WhyNotHalf(Floats({1, -65519}), DType::kFloat16), "");
  EXPECT_EQ(WhyNotHalf(Floats({1, -65520}), DType::kFloat16),
            "it holds 65520, float16 ends at 65504");
  EXPECT_EQ(WhyNotHalf(Floats({3.38e38f}), DType::kBFloat16), "");
  EXPECT_NE(WhyNotHalf(Floats({3.4e38f}), DType::kBFloat16), "");
  // Infinities and NaN are what they were; zeros have no digits to lose.
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(WhyNotHalf(Floats({-infinity, 0, std::nanf("")}), DType::kFloat16), "");
  // Small elements beside large ones are noise, alone they are all there is.
  EXPECT_EQ(WhyNotHalf(Floats({1e-6f, 1}), DType::kFloat16), "");
  EXPECT_NE(WhyNotHalf(Floats({1e-6f, 1e-7f}), DType::kFloat16), "");
  EXPECT_EQ(WhyNotHalf(Floats({1e-6f, 1e-7f}), DType::kBFloat16), "");
}

}  // namespace
}  // namespace berth
