// Every op that computes on floats, planned at half size and run on the machine, beside the
// reference in float32.
#include "tests/runtime/run_testing.h"

namespace berth {
namespace {

struct OpAtHalf {
  const char* name;
  std::function<ValueId(TestGraph&, ValueId)> apply;  // of an image 1x8x10x10
};
using Ints = std::vector<int64_t>;

ValueId Scalar(TestGraph& t, float value) { return t.Filled(Shape{}, value); }
// Safely above 0.
ValueId Positive(TestGraph& t, ValueId x) {
  return t.Apply(OpKind::kAdd, {t.Apply(OpKind::kAbs, {x}), Scalar(t, 0.5f)});
}
template <OpKind kind>
ValueId Plain(TestGraph& t, ValueId x) {
  return t.Apply(kind, {x});
}
template <OpKind kind>
ValueId OfPositive(TestGraph& t, ValueId x) {
  return t.Apply(kind, {Positive(t, x)});
}
template <OpKind kind>
ValueId WithWeights(TestGraph& t, ValueId x) {
  return t.Apply(kind, {x, t.Weights(Shape{8, 1, 1}, 0.5f, 2)});
}
template <OpKind kind>
ValueId OverAxes(TestGraph& t, ValueId x) {
  return t.Apply(kind, {x}, {{"axes", Ints{2, 3}}});
}

const std::vector<OpAtHalf>& Ops() {
  static const std::vector<OpAtHalf> ops = {
      {"Conv",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kConv, {x, t.Weights(Shape{20, 8, 3, 3}), t.Weights(Shape{20})});
       }},
      {"Depthwise",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kConv, {x, t.Weights(Shape{8, 1, 3, 3}), t.Weights(Shape{8})},
                        {{"group", int64_t{8}}});
       }},
      {"ConvTranspose",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kConvTranspose, {x, t.Weights(Shape{8, 5, 3, 3})},
                        {{"strides", Ints{2, 2}}});
       }},
      {"MatMul",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kMatMul, {x, t.Weights(Shape{10, 7})});
       }},
      {"MatMulOfActivations",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kMatMul, {x, x});
       }},
      {"Gemm",
       [](TestGraph& t, ValueId x) {
         const ValueId flat = t.Apply(OpKind::kReshape, {x, t.Ints({8, 100})});
         return t.Apply(OpKind::kGemm, {flat, t.Weights(Shape{100, 12}), t.Weights(Shape{12})},
                        {{"alpha", 0.5f}});
       }},
      {"BatchNormalization",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kBatchNormalization,
                        {x, t.Weights(Shape{8}), t.Weights(Shape{8}), t.Weights(Shape{8}),
                         t.Weights(Shape{8}, 0.5f, 2)});
       }},
      {"Add", WithWeights<OpKind::kAdd>},
      {"Sub", WithWeights<OpKind::kSub>},
      {"Mul", WithWeights<OpKind::kMul>},
      {"Div", WithWeights<OpKind::kDiv>},
      {"Max", WithWeights<OpKind::kMax>},
      {"Min", WithWeights<OpKind::kMin>},
      {"PRelu", WithWeights<OpKind::kPRelu>},
      {"Sum", WithWeights<OpKind::kSum>},
      {"Mean", WithWeights<OpKind::kMean>},
      {"Pow",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kPow, {Positive(t, x), Scalar(t, 2.5f)});
       }},
      {"Square",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kMul, {x, x});
       }},
      {"Relu", Plain<OpKind::kRelu>},
      {"LeakyRelu", Plain<OpKind::kLeakyRelu>},
      {"Clip",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kClip, {x, Scalar(t, -0.7f), Scalar(t, 0.9f)});
       }},
      {"Sigmoid", Plain<OpKind::kSigmoid>},
      {"HardSigmoid", Plain<OpKind::kHardSigmoid>},
      {"HardSwish", Plain<OpKind::kHardSwish>},
      {"Tanh", Plain<OpKind::kTanh>},
      {"Exp", Plain<OpKind::kExp>},
      {"Log", OfPositive<OpKind::kLog>},
      {"Sqrt", OfPositive<OpKind::kSqrt>},
      {"Reciprocal", OfPositive<OpKind::kReciprocal>},
      {"Neg", Plain<OpKind::kNeg>},
      {"Abs", Plain<OpKind::kAbs>},
      {"Erf", Plain<OpKind::kErf>},
      {"Gelu", [](TestGraph& t, ValueId x) { return t.Apply(OpKind::kGelu, {x}, {}, 20); }},
      {"Softplus", Plain<OpKind::kSoftplus>},
      {"Elu", Plain<OpKind::kElu>},
      {"Sin", Plain<OpKind::kSin>},
      {"Cos", Plain<OpKind::kCos>},
      {"Where",
       [](TestGraph& t, ValueId x) {
         const ValueId same = t.Apply(OpKind::kEqual, {x, t.Apply(OpKind::kAbs, {x})});
         return t.Apply(OpKind::kWhere, {same, x, Scalar(t, -2.0f)});
       }},
      {"MaxPool",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kMaxPool, {x}, {{"kernel_shape", Ints{3, 3}}});
       }},
      {"AveragePool",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kAveragePool, {x}, {{"kernel_shape", Ints{3, 3}}});
       }},
      {"GlobalAveragePool", Plain<OpKind::kGlobalAveragePool>},
      {"GlobalMaxPool", Plain<OpKind::kGlobalMaxPool>},
      {"Softmax",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kSoftmax, {x}, {{"axis", int64_t{1}}});
       }},
      {"LogSoftmax",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kLogSoftmax, {x}, {{"axis", int64_t{-1}}});
       }},
      {"LRN",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kLRN, {x}, {{"size", int64_t{3}}});
       }},
      {"LayerNormalization",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kLayerNormalization,
                        {x, t.Weights(Shape{10}), t.Weights(Shape{10})});
       }},
      {"ReduceMean", OverAxes<OpKind::kReduceMean>},
      {"ReduceMax", OverAxes<OpKind::kReduceMax>},
      {"ReduceMin", OverAxes<OpKind::kReduceMin>},
      {"ReduceSum",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kReduceSum, {x, t.Ints({1, 2, 3})});
       }},
      {"Concat",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kConcat, {x, t.Apply(OpKind::kRelu, {x})}, {{"axis", int64_t{1}}});
       }},
      {"Slice",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kSlice, {x, t.Ints({1, 2}), t.Ints({7, 9}), t.Ints({1, 3})});
       }},
      {"Pad",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kPad, {x, t.Ints({0, 0, 1, 2, 0, 0, 2, 1}), Scalar(t, 0.3f)});
       }},
      {"Transpose",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kTranspose, {x}, {{"perm", Ints{0, 3, 1, 2}}});
       }},
      {"Expand",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kExpand, {x, t.Ints({3, 8, 10, 10})});
       }},
      {"Gather",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kGather, {x, t.Ints({3, 0, 7})}, {{"axis", int64_t{1}}});
       }},
      {"Resize",
       [](TestGraph& t, ValueId x) {
         Tensor scales = Tensor::FromValues<float>(DType::kFloat32, Shape{4}, {1, 1, 1.7f, 2});
         return t.Apply(OpKind::kResize,
                        {x, ValueId::kNone, t.graph.AddConstant("scales", std::move(scales))},
                        {{"mode", std::string("linear")}});
       }},
      {"DepthToSpace",
       [](TestGraph& t, ValueId x) {
         return t.Apply(OpKind::kDepthToSpace, {x}, {{"blocksize", int64_t{2}}});
       }},
  };
  return ops;
}

// The op between two convolutions of one tap, so that what it reads and writes is at half size.
Graph GraphOf(const OpAtHalf& op, bool ends_with_op) {
  TestGraph t(5);
  const ValueId x = t.Input(Shape{1, 8, 10, 10});
  const ValueId y =
      op.apply(t, t.Apply(OpKind::kConv, {x, t.Weights(Shape{8, 8, 1, 1}, -0.5f, 0.5f)}));
  if (ends_with_op) {
    t.Output(y);
  } else {
    const std::vector<int64_t> rows = {-1, t.graph.at(y).type.shape.back()};
    const ValueId flat = t.Apply(OpKind::kReshape, {y, t.Ints(rows)});
    t.Output(t.Apply(OpKind::kMatMul, {flat, t.Weights(Shape{rows[1], 6})}));
  }
  return t.graph;
}

class HalfStorage : public ::testing::TestWithParam<OpAtHalf> {};

TEST_P(HalfStorage, IsCloseToFloat32) {
  for (const bool ends_with_op : {true, false}) {
    const Graph graph = GraphOf(GetParam(), ends_with_op);
    for (const DType storage : {DType::kFloat16, DType::kBFloat16}) {
      SCOPED_TRACE(fmt::format("{}, {}", DTypeName(storage), ends_with_op ? "last" : "in between"));
      CompileOptions options = SmallMachineOptions();
      options.config.scratchpad.size_bytes = 16 << 10;
      options.float_storage = storage;
      auto contents = CompileGraph(graph, options);
      ASSERT_TRUE(contents.ok()) << contents.status();
      EXPECT_EQ(contents->floats->kept_in_float32.size(), 0u);
      const auto program = Program::FromContents(*std::move(contents));
      ASSERT_TRUE(program.ok()) << program.status();
      RunBuffers buffers(**program);
      ArenaPool pool;
      ContextOptions context_options;
      context_options.poison_before_run = true;
      const absl::Status status = MakeContext(*program, pool, context_options)
                                      ->Run(buffers.input_views, buffers.output_views);
      ASSERT_TRUE(status.ok()) << status;
      const auto expected = Interpret(graph, buffers.inputs);
      ASSERT_TRUE(expected.ok()) << expected.status();
      EXPECT_EQ(buffers.outputs[0].type(), (*expected)[0].type());
      EXPECT_LE(RelativeError(buffers.outputs[0], (*expected)[0]),
                storage == DType::kFloat16 ? 4e-3 : 3e-2);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOp, HalfStorage, ::testing::ValuesIn(Ops()),
                         [](const ::testing::TestParamInfo<OpAtHalf>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace berth
