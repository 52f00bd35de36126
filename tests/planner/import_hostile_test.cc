// Models that lie: each kind is refused with its node and numbers, in no time and no memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "kernels/reference/reference.h"
#include "planner/frontend.h"
#include "planner/import_model.h"
#include "tests/planner/model_builder.h"
#include "tests/planner/tflite_testing.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

absl::Status PrepareFile(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(Graph graph, ImportModelFile(path, {}));
  PrepareOptions options;
  options.evaluator = EvaluateNode;
  return PrepareGraph(std::move(graph), options).status();
}

// What is said of the file; clean and at once.
std::string RefusalOf(const std::string& path) {
  const auto begin = std::chrono::steady_clock::now();
  const absl::Status status = PrepareFile(path);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(absl::IsInternal(status)) << status;
  const std::string message(ToStd(status.message()));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  return message;
}

std::string RefusalOf(ModelBuilder& builder) {
  const ScratchFolder folder;
  return RefusalOf(folder.Write("hostile.onnx", builder.model));
}

// A convolution of x [1, 4, 8, 8] by w [4, 4, 3, 3] with one attribute as given.
std::string RefusalOfConv(const char* op, const char* attribute, const std::vector<int64_t>& ints) {
  ModelBuilder b(21);  // beyond the checker of the library: own checks only
  b.Input("x", {1, 4, 8, 8}).Output("y", {});
  b.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  b.Floats("w", {4, 4, 3, 3}, std::vector<float>(144, 1.0f));
  onnx::NodeProto& node = b.Node(op, {"x", "w"}, {"y"}, "lie");
  if (std::string_view(attribute) == "group") {
    SetInt(node, attribute, ints[0]);
  } else {
    SetInts(node, attribute, ints);
  }
  return RefusalOf(b);
}

TEST(HostileModels, DivisorsThatAreZero) {
  for (const char* op : {"Conv", "ConvTranspose"}) {
    for (const char* attribute : {"strides", "dilations"}) {
      for (const std::vector<int64_t>& ints : std::vector<std::vector<int64_t>>{
               {0, 1}, {1, 0}, {-1, 1}, {INT64_MAX, 1}, {INT64_MIN, 1}, {1}, {1, 1, 1}}) {
        EXPECT_THAT(RefusalOfConv(op, attribute, ints), HasSubstr("lie")) << op << attribute;
      }
    }
    for (const int64_t group : {int64_t{0}, int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN}) {
      EXPECT_THAT(RefusalOfConv(op, "group", {group}), HasSubstr("lie")) << op << group;
    }
    for (const std::vector<int64_t>& pads :
         std::vector<std::vector<int64_t>>{{INT64_MAX, 0, 0, 0}, {0, 0, 0, INT64_MIN}, {1, 1}}) {
      EXPECT_THAT(RefusalOfConv(op, "pads", pads), HasSubstr("lie")) << op;
    }
  }
}

TEST(HostileModels, PoolsThatMoveNowhere) {
  const auto refusal = [](const char* attribute, const std::vector<int64_t>& ints) {
    ModelBuilder b(21);
    b.Input("x", {1, 4, 8, 8}).Output("y", {});
    b.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    onnx::NodeProto& node = b.Node("MaxPool", {"x"}, {"y"}, "lie");
    if (std::string_view(attribute) != "kernel_shape") SetInts(node, "kernel_shape", {2, 2});
    SetInts(node, attribute, ints);
    return RefusalOf(b);
  };
  EXPECT_THAT(refusal("strides", {0, 1}), HasSubstr("lie"));
  EXPECT_THAT(refusal("dilations", {1, 0}), HasSubstr("lie"));
  EXPECT_THAT(refusal("kernel_shape", {0, 2}), HasSubstr("lie"));
  EXPECT_THAT(refusal("kernel_shape", {INT64_MAX, INT64_MAX}), HasSubstr("lie"));
}

TEST(HostileModels, ShapesWhoseProductWraps) {
  constexpr int64_t kHalf = int64_t{1} << 32;
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {kHalf, kHalf},      // 2^64: wraps to exactly zero
           {kHalf + 1, kHalf},  // to something small
           {INT64_MAX, INT64_MAX, 2},
           {INT64_MAX},
       }) {
    ModelBuilder input(21);
    input.Input("x", shape).Output("y", shape);
    input.Node("Relu", {"x"}, {"y"}, "r");
    EXPECT_NE(RefusalOf(input), "");
    ModelBuilder constant(21);
    constant.Input("x", {1}).Output("y", {1});
    constant.Initializer("w", onnx::TensorProto::FLOAT, shape);  // without data
    constant.Node("Add", {"x", "w"}, {"y"}, "a");
    EXPECT_NE(RefusalOf(constant), "");
    ModelBuilder filled(21);  // a shape as data: the bomb is made by the model itself
    filled.Input("x", {1}).Output("y", {1});
    auto& extents =
        filled.Initializer("s", onnx::TensorProto::INT64, {static_cast<int64_t>(shape.size())});
    for (const int64_t extent : shape) extents.add_int64_data(extent);
    filled.Node("ConstantOfShape", {"s"}, {"c"}, "c");
    filled.Node("Add", {"x", "c"}, {"y"}, "a");
    EXPECT_NE(RefusalOf(filled), "");
  }
  ModelBuilder negative(21);
  negative.Input("x", {2}).Output("y", {2});
  negative.Initializer("w", onnx::TensorProto::FLOAT, {-2});
  negative.Node("Add", {"x", "w"}, {"y"}, "a");
  EXPECT_NE(RefusalOf(negative), "");
}

TEST(HostileModels, GraphsThatFeedThemselves) {
  const auto refusal = [](std::initializer_list<std::pair<const char*, const char*>> nodes) {
    ModelBuilder b(21);
    b.Input("x", {2}).Output("y", {2});
    for (const auto& [in, out] : nodes) b.Node("Relu", {in}, {out});
    return RefusalOf(b);
  };
  EXPECT_THAT(refusal({{"y", "y"}}), HasSubstr("not defined by anything before it"));
  EXPECT_THAT(refusal({{"b", "a"}, {"a", "b"}, {"a", "y"}}), HasSubstr("not defined"));
  EXPECT_THAT(refusal({{"x", "x"}, {"x", "y"}}), HasSubstr("is defined already"));
}

TEST(HostileModels, NamesThatAreNoText) {
  for (const char* name : {"\xff", "a\xc3", "\xc0\xaf"}) {
    ModelBuilder input(21);
    input.Input(name, {2}).Output("y", {2});
    input.Node("Relu", {name}, {"y"});
    EXPECT_THAT(RefusalOf(input), HasSubstr("graph input 0: its name is not UTF-8"));
    ModelBuilder output(21);
    output.Input("x", {2}).Output(name, {2});
    output.Node("Relu", {"x"}, {name});
    EXPECT_THAT(RefusalOf(output), HasSubstr("not UTF-8"));
    ModelBuilder node(21);
    node.Input("x", {2}).Output("y", {2});
    node.Node("Relu", {"x"}, {"y"}, name);
    EXPECT_THAT(RefusalOf(node), HasSubstr("node 0: its name is not UTF-8"));
  }
}

std::string RefusalOfTflite(const std::function<void(TfliteWriter&, int, int)>& fill,
                            const std::string& second_input = "") {
  TfliteWriter writer;
  const int in = writer.Value({"x", {1, 8, 8, 4}}), out = writer.Value({"y", {1, 8, 8, 4}});
  std::vector<int> inputs = {in};
  if (!second_input.empty()) inputs.push_back(writer.Value({second_input, {1}}));
  fill(writer, in, out);
  const ScratchFolder folder;
  return RefusalOf(folder.Write("hostile.tflite", writer.Finish(inputs, {out})));
}

TEST(HostileModels, TfliteNames) {
  const auto add = [](TfliteWriter& w, int in, int out) {
    w.Op(tfl::BuiltinOperator::ADD, {in, in}, {out});
  };
  EXPECT_THAT(RefusalOfTflite(add, "x"), HasSubstr("graph input 1: 'x' is the name of another"));
  EXPECT_THAT(RefusalOfTflite(add, "\xff"), HasSubstr("tensor 2: its name is not UTF-8"));
}

}  // namespace
}  // namespace berth
