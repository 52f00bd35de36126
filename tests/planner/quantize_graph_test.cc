// Quantization of whole graphs: where scales stand, what the importer makes of them, how near the
// results are, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "planner/frontend.h"
#include "planner/onnx/export.h"
#include "planner/onnx/import.h"
#include "planner/quantize/float_form.h"
#include "planner/quantize/quantize.h"
#include "tests/planner/model_builder.h"
#include "tests/planner/small_network.h"

namespace berth {
namespace {

using Ints = std::vector<int64_t>;

absl::StatusOr<GraphRun> RunInReference(const Graph& graph) {
  return GraphRun([graph](absl::Span<const Tensor> inputs) { return Interpret(graph, inputs); });
}

QuantizeOptions Options() {
  QuantizeOptions options;
  options.evaluator = EvaluateNode;
  options.runner = RunInReference;
  return options;
}

std::vector<Sample> Samples(const Graph& graph, int count, uint64_t seed = 3) {
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i) {
    samples.push_back(
        {"sample " + std::to_string(i), RandomInputs(graph, seed + static_cast<uint64_t>(i))});
  }
  return samples;
}

absl::StatusOr<QuantizedModel> Quantize(const Graph& graph,
                                        const QuantizeOptions& options = Options()) {
  return QuantizeModel(graph, Samples(graph, 4), Samples(graph, 2, 77), options);
}

QuantizedModel Quantized(const Graph& graph, const QuantizeOptions& options = Options()) {
  auto model = Quantize(graph, options);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : QuantizedModel{};
}

// What the planner computes: the graph behind all passes.
Graph Prepared(const Graph& graph) {
  PrepareOptions options;
  options.evaluator = EvaluateNode;
  auto prepared = PrepareGraph(graph, options);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  return prepared.ok() ? *std::move(prepared) : Graph{};
}

// Values of float32 that nodes store, outputs of the graph aside.
std::vector<std::string> StoredFloats(const Graph& graph) {
  const std::set<ValueId> outputs(graph.outputs.begin(), graph.outputs.end());
  std::vector<std::string> found;
  for (const Node& node : graph.nodes) {
    const ValueId id = node.outputs[0];
    if (graph.at(id).type.dtype == DType::kFloat32 && !outputs.contains(id)) {
      found.push_back(std::string(OpName(node.kind)) + " " + graph.at(id).name);
    }
  }
  return found;
}

TEST(QuantizeModel, ResidualNetworkComputesOnIntegers) {
  for (const DType dtype : {DType::kInt8, DType::kUInt8}) {
    QuantizeOptions options = Options();
    options.activations = dtype;
    const QuantizedModel model = Quantized(SmallNetwork(), options);
    EXPECT_GT(model.accuracy.outputs[0].errors.SqnrDb(), 30) << DTypeName(dtype);
    EXPECT_EQ(model.accuracy.outputs[0].rows, 2);
    EXPECT_TRUE(model.float_ops.empty());
    EXPECT_LT(model.quantized_weight_bytes, model.float_weight_bytes / 3);
    for (const StoredValue& stored : model.quantized.stored) {
      EXPECT_EQ(model.quantized.graph.at(stored.stored).type.dtype, dtype);
    }
    const Graph prepared = Prepared(model.quantized.graph);
    EXPECT_EQ(StoredFloats(prepared), std::vector<std::string>{}) << DumpGraph(prepared);
    EXPECT_EQ(CountOf(prepared, OpKind::kDequantizeLinear), 0) << DumpGraph(prepared);
    EXPECT_EQ(CountOf(prepared, OpKind::kAdd), 0) << "the sum is not part of the convolution";
  }
}

TEST(QuantizeModel, EveryMethodIsCloseAndDeterministic) {
  for (const RangeMethod method :
       {RangeMethod::kMinMax, RangeMethod::kPercentile, RangeMethod::kEntropy}) {
    QuantizeOptions options = Options();
    options.calibration.method = method;
    const QuantizedModel first = Quantized(SmallNetwork(), options);
    const QuantizedModel second = Quantized(SmallNetwork(), options);
    EXPECT_GT(first.accuracy.outputs[0].errors.SqnrDb(), 18) << RangeMethodName(method);
    EXPECT_EQ(DumpGraph(first.quantized.graph), DumpGraph(second.quantized.graph));
    const auto proto = ExportOnnx(first.quantized.graph);
    ASSERT_TRUE(proto.ok()) << proto.status();
  }
}

TEST(QuantizeModel, MovesShareOneScale) {
  TestGraph g(5);
  const ValueId x = g.Input(Shape{1, 2, 8, 8});
  const ValueId wide = g.Apply(OpKind::kConv, {x, g.Weights(Shape{4, 2, 1, 1}, -9, 9)});
  const ValueId narrow = g.Apply(OpKind::kConv, {x, g.Weights(Shape{4, 2, 1, 1})});
  const ValueId zeros = g.Filled(Shape{1, 1, 8, 8}, 0);
  const ValueId joined = g.Apply(OpKind::kConcat, {wide, narrow, zeros}, {{"axis", int64_t{1}}});
  const ValueId pooled =
      g.Apply(OpKind::kMaxPool, {joined}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  const ValueId result = g.Apply(OpKind::kConv, {pooled, g.Weights(Shape{3, 9, 1, 1})});
  g.Output(result);
  const QuantizedModel model = Quantized(g.graph);
  std::set<float> scales;
  for (const LayerAccuracy& layer : model.accuracy.layers) {
    if (!layer.op.empty()) scales.insert(layer.by.scale);
  }
  EXPECT_EQ(scales.size(), 1u);
  const Graph prepared = Prepared(model.quantized.graph);
  // The result alone, before its channels stand first again.
  const std::vector<std::string> last = {"Conv " + g.graph.at(result).name + "/permuted"};
  EXPECT_EQ(StoredFloats(prepared), last) << DumpGraph(prepared);
  EXPECT_GT(model.accuracy.outputs[0].errors.SqnrDb(), 25);
}

TEST(QuantizeModel, TheEndStaysInFloat) {
  TestGraph g(6);
  const ValueId x = g.Input(Shape{2, 12});
  const ValueId scores = g.Apply(OpKind::kGemm, {x, g.Weights(Shape{12, 5}), g.Weights(Shape{5})});
  g.Output(g.Apply(OpKind::kSoftmax, {scores}, {{"axis", int64_t{1}}}));
  g.Output(scores);
  const QuantizedModel model = Quantized(g.graph);
  ASSERT_EQ(model.accuracy.layers.size(), 1u);  // the input
  ASSERT_EQ(model.float_ops.size(), 1u);
  EXPECT_EQ(model.float_ops[0].op, "Softmax");
  EXPECT_EQ(CountOf(model.quantized.graph, OpKind::kQuantizeLinear), 1);
}

// Swish, squeeze and excite, nearest resize, a padded concat and a pixel shuffle.
TEST(QuantizeModel, GatesAndJoinsComputeOnIntegers) {
  TestGraph g(9);
  const ValueId x = g.Input(Shape{1, 3, 8, 8});
  const ValueId first = g.Apply(OpKind::kConv, {x, g.Weights(Shape{8, 3, 1, 1})});
  const ValueId swish = g.Apply(OpKind::kMul, {first, g.Apply(OpKind::kSigmoid, {first})});
  const ValueId squeezed =
      g.Apply(OpKind::kConv, {g.Apply(OpKind::kGlobalAveragePool, {swish}),
                              g.Weights(Shape{4, 8, 1, 1}), g.Weights(Shape{4})});
  const ValueId excited =
      g.Apply(OpKind::kConv, {g.Apply(OpKind::kRelu, {squeezed}), g.Weights(Shape{8, 4, 1, 1})});
  const ValueId gated = g.Apply(OpKind::kMul, {swish, g.Apply(OpKind::kHardSigmoid, {excited})});
  const ValueId scales = g.graph.AddConstant(
      "scales", Tensor::FromValues<float>(DType::kFloat32, Shape{4}, {1, 1, 2, 2}));
  const ValueId large = g.Apply(OpKind::kResize, {gated, ValueId::kNone, scales},
                                {{"coordinate_transformation_mode", std::string("asymmetric")},
                                 {"nearest_mode", std::string("floor")}});
  const ValueId joined =
      g.Apply(OpKind::kConcat, {large, g.Filled(Shape{1, 1, 16, 16}, 0)}, {{"axis", int64_t{1}}});
  const ValueId mixed =
      g.Apply(OpKind::kLeakyRelu, {g.Apply(OpKind::kConv, {joined, g.Weights(Shape{8, 9, 1, 1})})});
  const ValueId shuffled = g.Apply(OpKind::kDepthToSpace, {mixed}, {{"blocksize", int64_t{2}}});
  const ValueId result = g.Apply(OpKind::kConv, {shuffled, g.Weights(Shape{2, 2, 1, 1})});
  g.Output(result);
  const QuantizedModel model = Quantized(g.graph);
  EXPECT_GT(model.accuracy.outputs[0].errors.SqnrDb(), 25);
  const Graph prepared = Prepared(model.quantized.graph);
  const std::vector<std::string> last = {"Conv " + g.graph.at(result).name + "/permuted"};
  EXPECT_EQ(StoredFloats(prepared), last) << DumpGraph(prepared);
  EXPECT_EQ(CountOf(prepared, OpKind::kDequantizeLinear), 0) << DumpGraph(prepared);
}

TEST(QuantizeModel, OutputsWithin) {
  // A value that is an output and is read by a product as well.
  TestGraph g(8);
  const ValueId x = g.Input(Shape{1, 2, 6, 6});
  const ValueId inner = g.Apply(OpKind::kConv, {x, g.Weights(Shape{4, 2, 1, 1})});
  g.Output(inner);
  g.Output(g.Apply(OpKind::kConv, {inner, g.Weights(Shape{2, 4, 1, 1})}));
  const std::string name = g.graph.at(inner).name;
  const QuantizedModel model = Quantized(g.graph);
  EXPECT_EQ(model.quantized.graph.at(model.quantized.graph.outputs[0]).name, name);
  EXPECT_GT(model.accuracy.outputs[0].errors.SqnrDb(), 30);
  EXPECT_GT(model.accuracy.outputs[1].errors.SqnrDb(), 30);
}

TEST(QuantizeModel, RefusesWithReasons) {
  const auto message = [](const auto& status_or) {
    return std::string(ToStd(status_or.status().message()));
  };
  TestGraph plain(1);
  plain.Output(plain.Apply(OpKind::kSigmoid, {plain.Input(Shape{4})}));
  const auto nothing = Quantize(plain.graph);
  EXPECT_TRUE(absl::IsInvalidArgument(nothing.status())) << nothing.status();
  EXPECT_NE(message(nothing).find("nothing to quantize"), std::string::npos) << nothing.status();

  const QuantizedModel done = Quantized(SmallNetwork());
  const auto again = Quantize(done.quantized.graph);
  EXPECT_TRUE(absl::IsInvalidArgument(again.status())) << again.status();
  EXPECT_NE(message(again).find("quantized already"), std::string::npos) << again.status();

  const Graph network = SmallNetwork();
  std::vector<Sample> samples = Samples(network, 2);
  samples[1].inputs[0].Values<float>()[7] = std::nanf("");
  const auto odd = QuantizeModel(network, samples, Samples(network, 1), Options());
  EXPECT_TRUE(absl::IsInvalidArgument(odd.status())) << odd.status();
  EXPECT_NE(message(odd).find("sample 1: input 0"), std::string::npos) << odd.status();
  EXPECT_NE(message(odd).find("1 of 432 numbers are not finite"), std::string::npos);

  const auto none = QuantizeModel(network, {}, Samples(network, 1), Options());
  EXPECT_TRUE(absl::IsInvalidArgument(none.status())) << none.status();
}

TEST(QuantizeModel, NamesTheValueThatOverflows) {
  TestGraph g(2);
  const ValueId x = g.Input(Shape{1, 1, 4, 4});
  const ValueId big = g.Apply(OpKind::kConv, {x, g.Filled(Shape{1, 1, 1, 1}, 1e30f)});
  const ValueId bigger = g.Apply(OpKind::kConv, {big, g.Filled(Shape{1, 1, 1, 1}, 1e30f)});
  g.Output(g.Apply(OpKind::kConv, {bigger, g.Filled(Shape{1, 1, 1, 1}, 1.0f)}));
  const auto result = Quantize(g.graph);
  EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << result.status();
  EXPECT_NE(ToStd(result.status().message()).find(g.graph.at(bigger).name), std::string::npos)
      << result.status();
}

// Operators of a set that is newer than the packaged onnx library.
TEST(FloatForm, LaterOperatorsStayAsTheyAre) {
  ModelBuilder model(20);
  model.model.set_ir_version(9);
  model.Input("x", {1, 2, 6, 6}).Output("y", {1, 4});
  model.Floats("w", {4, 2, 1, 1}, {1, -2, 3, -4, 5, -6, 7, -8});
  model.Floats("scales", {4}, {1, 1, 2, 2});
  onnx::TensorProto& axes = model.Initializer("axes", onnx::TensorProto::INT64, {2});
  axes.add_int64_data(2);
  axes.add_int64_data(3);
  model.Node("Conv", {"x", "w"}, {"conv"});
  model.Node("Gelu", {"conv"}, {"gelu"});
  SetInt(model.Node("Resize", {"gelu", "", "scales"}, {"large"}), "antialias", 0);
  SetInt(model.Node("ReduceMean", {"large", "axes"}, {"y"}), "keepdims", 0);
  const ScratchFolder folder;
  auto before = ImportOnnx(folder.Write("new.onnx", model.model), {});
  ASSERT_TRUE(before.ok()) << before.status();
  ASSERT_TRUE(FoldConstants(*before, EvaluateNode).ok());
  const auto form = ToFloatForm(*before, EvaluateNode);
  ASSERT_TRUE(form.ok()) << form.status();
  const auto proto = ExportOnnx(*form);
  ASSERT_TRUE(proto.ok()) << proto.status();
  EXPECT_EQ(proto->opset_import(0).version(), 20);
  auto after = ImportOnnx(folder.Write("again.onnx", *proto), {});
  ASSERT_TRUE(after.ok()) << after.status();
  ASSERT_TRUE(FoldConstants(*after, EvaluateNode).ok());
  ExpectSameResults(*before, *after, 13);
}

// A model of opset 9 in the forms of its time, written, read, brought into modern form, written and
// read again.
TEST(FloatForm, OldModelsComeBackTheSame) {
  ModelBuilder model(9);
  model.Input("x", {1, 2, 6, 6}).Output("y", {1, 3}).Output("z", {1, 3, 12, 12});
  TestGraph random(4);
  const auto weights = [&](const std::string& name, const Ints& dims, float low, float high) {
    const ValueId id = random.Weights(Shape(dims), low, high);
    const auto values = *ToFloatValues(random.graph.at(id).constant->view());
    model.Floats(name, dims, values);
  };
  weights("w", {3, 2, 3, 3}, -1, 1);
  for (const char* name : {"scale", "mean", "shift"}) weights(name, {3}, -1, 1);
  weights("variance", {3}, 0.5f, 2);
  weights("m", {3, 3}, -1, 1);
  weights("c", {3}, -1, 1);
  model.Floats("scales", {4}, {1, 1, 2, 2});
  SetInts(model.Node("Conv", {"x", "w"}, {"conv"}), "pads", {1, 1, 1, 1});
  model.Node("BatchNormalization", {"conv", "scale", "shift", "mean", "variance"}, {"norm"});
  onnx::NodeProto& clip = model.Node("Clip", {"norm"}, {"clipped"});
  onnx::AttributeProto& most = *clip.add_attribute();
  most.set_name("max");
  most.set_type(onnx::AttributeProto::FLOAT);
  most.set_f(0.75f);
  model.Node("Upsample", {"clipped", "scales"}, {"z"});
  model.Node("GlobalAveragePool", {"clipped"}, {"pooled"});
  model.Node("Flatten", {"pooled"}, {"flat"});
  model.Node("Dropout", {"flat"}, {"kept"});
  model.Node("Gemm", {"kept", "m", "c"}, {"scores"});
  SetInt(model.Node("Softmax", {"scores"}, {"y"}), "axis", 1);

  const ScratchFolder folder;
  auto before = ImportOnnx(folder.Write("old.onnx", model.model), {});
  ASSERT_TRUE(before.ok()) << before.status();
  ASSERT_TRUE(FoldConstants(*before, EvaluateNode).ok());
  const auto form = ToFloatForm(*before, EvaluateNode);
  ASSERT_TRUE(form.ok()) << form.status();
  EXPECT_EQ(CountOf(*form, OpKind::kBatchNormalization), 0);
  EXPECT_EQ(CountOf(*form, OpKind::kMul) + CountOf(*form, OpKind::kAdd), 0);
  ExpectSameResults(*before, *form, 11);

  const auto proto = ExportOnnx(*form);
  ASSERT_TRUE(proto.ok()) << proto.status();
  EXPECT_EQ(proto->opset_import(0).version(), 17);
  auto after = ImportOnnx(folder.Write("new.onnx", *proto), {});
  ASSERT_TRUE(after.ok()) << after.status();
  ASSERT_TRUE(FoldConstants(*after, EvaluateNode).ok());
  ExpectSameResults(*before, *after, 12);
  EXPECT_EQ(after->at(after->outputs[0]).name, "y");
  EXPECT_EQ(after->at(after->outputs[1]).name, "z");
}

}  // namespace
}  // namespace berth
