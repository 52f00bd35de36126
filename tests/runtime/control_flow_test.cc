// If, Loop and Scan: their bodies run as often as the values say, nested, within a limit.
#include <gmock/gmock.h>

#include "tests/runtime/dynamic_testing.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

onnx::NodeProto& AddNode(onnx::GraphProto& graph, const std::string& op,
                         const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

onnx::GraphProto& Body(onnx::NodeProto& node, const std::string& attribute) {
  onnx::AttributeProto& added = *node.add_attribute();
  added.set_name(attribute);
  added.set_type(onnx::AttributeProto::GRAPH);
  added.mutable_g()->set_name(attribute);
  return *added.mutable_g();
}

Tensor Bool(bool value) {
  Tensor tensor(TensorType{DType::kBool, Shape{}});
  tensor.Values<bool>()[0] = value;
  return tensor;
}

Tensor Int64(int64_t value) {
  return Tensor::FromValues<int64_t>(DType::kInt64, Shape{}, std::vector<int64_t>{value});
}

Tensor Floats(const std::vector<float>& values) {
  return Tensor::FromValues<float>(DType::kFloat32, Shape{static_cast<int64_t>(values.size())},
                                   values);
}

std::vector<float> ValuesOf(const Tensor& tensor) {
  const auto values = ToFloatValues(tensor.view());
  return values.ok() ? *values : std::vector<float>();
}

absl::StatusOr<std::vector<Tensor>> RunOnce(Context& context, const std::vector<Tensor>& inputs) {
  std::vector<ConstTensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  std::vector<Tensor> outputs;
  BERTH_RETURN_IF_ERROR(context.Run(views, outputs));
  return outputs;
}

// condition ? x * 2 + bias : relu(x), where x and bias belong to the graph around the branches.
ModelBuilder IfModel() {
  ModelBuilder b;
  b.Input("condition", {}, onnx::TensorProto::BOOL);
  b.Input("x", {-1});
  b.Output("y", {-1});
  b.Floats("bias", {1}, {0.5f});
  b.Node("Neg", {"x"}, {"minus"});
  b.Node("Neg", {"minus"}, {"same"});
  auto& node = b.Node("If", {"condition"}, {"r"}, "choice");
  onnx::GraphProto& then_branch = Body(node, "then_branch");
  AddNode(then_branch, "Add", {"same", "same"}, {"twice"});
  AddNode(then_branch, "Add", {"twice", "bias"}, {"t"});
  SetType(*then_branch.add_output(), "t", onnx::TensorProto::FLOAT, {-1});
  onnx::GraphProto& else_branch = Body(node, "else_branch");
  AddNode(else_branch, "Relu", {"x"}, {"e"});
  SetType(*else_branch.add_output(), "e", onnx::TensorProto::FLOAT, {-1});
  b.Node("Neg", {"r"}, {"y"});
  return b;
}

TEST(ControlFlow, IfTakesOneBranch) {
  const auto program = MakeDynamicProgram(IfModel());
  ASSERT_NE(program, nullptr);
  ArenaPool pool;
  const auto context = ContextOf(program, pool);
  for (int i = 0; i < 2; ++i) {
    auto taken = RunOnce(*context, {Bool(true), Floats({1, -2, 3})});
    ASSERT_TRUE(taken.ok()) << taken.status();
    EXPECT_THAT(ValuesOf((*taken)[0]), ElementsAre(-2.5f, 3.5f, -6.5f));
    taken = RunOnce(*context, {Bool(false), Floats({1, -2})});
    ASSERT_TRUE(taken.ok()) << taken.status();
    EXPECT_THAT(ValuesOf((*taken)[0]), ElementsAre(-1, 0));
  }
}

// Doubles x while its first element is below 100, at most `trips` times; every value on the way
// comes out, too. `inner`: each doubling is an If within the body.
ModelBuilder LoopModel(bool inner) {
  ModelBuilder b;
  b.Input("trips", {}, onnx::TensorProto::INT64);
  b.Input("go", {}, onnx::TensorProto::BOOL);
  b.Input("x", {-1});
  b.Output("last", {-1});
  b.Output("all", {-1, -1});
  b.Floats("limit", {1}, {100});
  auto& first = b.Initializer("first", onnx::TensorProto::INT64, {1});
  first.add_int64_data(0);
  auto& node = b.Node("Loop", {"trips", "go", "x"}, {"last", "all"}, "loop");
  onnx::GraphProto& body = Body(node, "body");
  SetType(*body.add_input(), "i", onnx::TensorProto::INT64, {});
  SetType(*body.add_input(), "c", onnx::TensorProto::BOOL, {});
  SetType(*body.add_input(), "v", onnx::TensorProto::FLOAT, {-1});
  if (inner) {
    auto& choice = AddNode(body, "If", {"c"}, {"w"});
    onnx::GraphProto& then_branch = Body(choice, "then_branch");
    AddNode(then_branch, "Add", {"v", "v"}, {"t"});
    SetType(*then_branch.add_output(), "t", onnx::TensorProto::FLOAT, {-1});
    onnx::GraphProto& else_branch = Body(choice, "else_branch");
    AddNode(else_branch, "Add", {"v", "limit"}, {"e"});
    SetType(*else_branch.add_output(), "e", onnx::TensorProto::FLOAT, {-1});
  } else {
    AddNode(body, "Add", {"v", "v"}, {"w"});
  }
  AddNode(body, "Gather", {"w", "first"}, {"head"});
  AddNode(body, "Sub", {"limit", "head"}, {"left"});
  AddNode(body, "Relu", {"left"}, {"positive"});
  auto& cast = AddNode(body, "Cast", {"positive"}, {"next"});
  SetInt(cast, "to", onnx::TensorProto::BOOL);
  AddNode(body, "Identity", {"w"}, {"scanned"});
  SetType(*body.add_output(), "next", onnx::TensorProto::BOOL, {1});
  SetType(*body.add_output(), "w", onnx::TensorProto::FLOAT, {-1});
  SetType(*body.add_output(), "scanned", onnx::TensorProto::FLOAT, {-1});
  return b;
}

TEST(ControlFlow, LoopsEndByCountAndByCondition) {
  for (const bool inner : {false, true}) {
    SCOPED_TRACE(inner);
    const auto program = MakeDynamicProgram(LoopModel(inner));
    ASSERT_NE(program, nullptr);
    ArenaPool pool;
    const auto context = ContextOf(program, pool);
    auto results = RunOnce(*context, {Int64(3), Bool(true), Floats({1, 2})});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_THAT(ValuesOf((*results)[0]), ElementsAre(8, 16));
    EXPECT_EQ((*results)[1].shape(), (Shape{3, 2}));
    EXPECT_THAT(ValuesOf((*results)[1]), ElementsAre(2, 4, 4, 8, 8, 16));
    results = RunOnce(*context, {Int64(50), Bool(true), Floats({30})});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_THAT(ValuesOf((*results)[0]), ElementsAre(120));
    EXPECT_EQ((*results)[1].shape(), (Shape{2, 1}));
    for (const auto& none : {std::vector<Tensor>{Int64(0), Bool(true), Floats({30})},
                             std::vector<Tensor>{Int64(9), Bool(false), Floats({30})}}) {
      results = RunOnce(*context, none);
      ASSERT_TRUE(results.ok()) << results.status();
      EXPECT_THAT(ValuesOf((*results)[0]), ElementsAre(30));
      EXPECT_EQ((*results)[1].shape()[0], 0);
    }
  }
}

TEST(ControlFlow, LoopWithoutEndIsStopped) {
  ModelBuilder b;
  b.Input("x", {-1});
  b.Output("last", {-1});
  auto& go = b.Initializer("go", onnx::TensorProto::BOOL, {});
  go.add_int32_data(1);
  auto& node = b.Node("Loop", {"", "go", "x"}, {"last"}, "forever");
  onnx::GraphProto& body = Body(node, "body");
  SetType(*body.add_input(), "i", onnx::TensorProto::INT64, {});
  SetType(*body.add_input(), "c", onnx::TensorProto::BOOL, {});
  SetType(*body.add_input(), "v", onnx::TensorProto::FLOAT, {-1});
  AddNode(body, "Identity", {"c"}, {"next"});
  AddNode(body, "Neg", {"v"}, {"w"});
  SetType(*body.add_output(), "next", onnx::TensorProto::BOOL, {});
  SetType(*body.add_output(), "w", onnx::TensorProto::FLOAT, {-1});
  DynamicOptions options = TestDynamicOptions();
  options.step_limit = 500;
  const auto program = MakeDynamicProgram(b, options);
  ASSERT_NE(program, nullptr);
  ArenaPool pool;
  const auto context = ContextOf(program, pool);
  for (int i = 0; i < 2; ++i) {
    const auto results = RunOnce(*context, {Floats({1})});
    EXPECT_TRUE(absl::IsResourceExhausted(results.status())) << results.status();
    EXPECT_THAT(std::string(ToStd(results.status().message())), HasSubstr("'forever'"));
  }
  EXPECT_LE(program->dynamic_statistics().pool_reserved_bytes, 4 << 20);
}

// Running sums of the columns of x, from the right.
TEST(ControlFlow, ScanWalksAnAxisBackwards) {
  ModelBuilder b;
  b.Input("start", {-1});
  b.Input("x", {-1, -1});
  b.Output("sum", {-1});
  b.Output("sums", {-1, -1});
  auto& node = b.Node("Scan", {"start", "x"}, {"sum", "sums"}, "scan");
  SetInt(node, "num_scan_inputs", 1);
  SetInts(node, "scan_input_axes", {1});
  SetInts(node, "scan_input_directions", {1});
  SetInts(node, "scan_output_axes", {1});
  SetInts(node, "scan_output_directions", {1});
  onnx::GraphProto& body = Body(node, "body");
  SetType(*body.add_input(), "s", onnx::TensorProto::FLOAT, {-1});
  SetType(*body.add_input(), "column", onnx::TensorProto::FLOAT, {-1});
  AddNode(body, "Add", {"s", "column"}, {"next"});
  AddNode(body, "Identity", {"next"}, {"out"});
  SetType(*body.add_output(), "next", onnx::TensorProto::FLOAT, {-1});
  SetType(*body.add_output(), "out", onnx::TensorProto::FLOAT, {-1});
  const auto program = MakeDynamicProgram(b);
  ASSERT_NE(program, nullptr);
  ArenaPool pool;
  const auto context = ContextOf(program, pool);
  const Tensor x = Tensor::FromValues<float>(DType::kFloat32, Shape{2, 3},
                                             std::vector<float>{1, 2, 3, 10, 20, 30});
  const auto results = RunOnce(*context, {Floats({0, 100}), x});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(ValuesOf((*results)[0]), ElementsAre(6, 160));
  EXPECT_THAT(ValuesOf((*results)[1]), ElementsAre(6, 5, 3, 160, 150, 130));
}

}  // namespace
}  // namespace berth
