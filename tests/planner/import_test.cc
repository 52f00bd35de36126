#include "planner/onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/planner/model_builder.h"

namespace berth {
namespace {

using onnx::TensorProto;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string MessageOf(const absl::StatusOr<Graph>& graph) {
  return graph.ok() ? "" : std::string(graph.status().message());
}

ModelBuilder ReluModel(std::vector<int64_t> dims = {2, 3}) {
  ModelBuilder builder;
  builder.Input("x", dims).Output("y", dims).Node("Relu", {"x"}, {"y"});
  return builder;
}

class ImportTest : public ::testing::Test {
 protected:
  absl::StatusOr<Graph> Import(const ModelBuilder& builder, const ImportOptions& options = {}) {
    return ImportOnnx(folder_.Write("model.onnx", builder.model), options);
  }
  // The one initializer "c" of a model that gives it back.
  absl::StatusOr<Tensor> Constant(const TensorProto& tensor) {
    ModelBuilder builder;
    builder.Output("y", {}).Node("Identity", {"c"}, {"y"});
    builder.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    *builder.graph().add_initializer() = tensor;
    auto graph = Import(builder);
    if (!graph.ok()) return graph.status();
    return *graph->at(graph->nodes[0].inputs[0]).constant;
  }
  ScratchFolder folder_;
};

TEST_F(ImportTest, GraphOfAModel) {
  const auto graph = Import(ReluModel());
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->nodes[0].kind, OpKind::kRelu);
  EXPECT_EQ(graph->nodes[0].name, "Relu_0");
  EXPECT_EQ(graph->nodes[0].opset, 13);
  const Value& input = graph->at(graph->inputs[0]);
  EXPECT_EQ(input.name, "x");
  EXPECT_TRUE(input.shape_known);
  EXPECT_EQ(input.type, (TensorType{DType::kFloat32, Shape{2, 3}}));
  EXPECT_EQ(graph->at(graph->outputs[0]).name, "y");
}

TEST_F(ImportTest, FilesThatAreNoModels) {
  EXPECT_TRUE(absl::IsNotFound(ImportOnnx((folder_.path() / "absent.onnx").string(), {}).status()));
  EXPECT_THAT(MessageOf(ImportOnnx(folder_.path().string(), {})), HasSubstr("is a directory"));
  EXPECT_THAT(MessageOf(ImportOnnx(folder_.Write("empty.onnx", ""), {})), HasSubstr("0 bytes"));
  EXPECT_THAT(MessageOf(ImportOnnx(folder_.Write("noise.onnx", "\x08\xff\xff nonsense"), {})),
              HasSubstr("not an ONNX model"));
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
  EXPECT_THAT(MessageOf(ImportOnnx(folder_.Write("lfs.onnx", pointer), {})), HasSubstr("Git LFS"));
  const auto fifo = folder_.path() / "pipe.onnx";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(MessageOf(ImportOnnx(fifo.string(), {})), HasSubstr("not a regular file"));
}

TEST_F(ImportTest, TruncatedAtEveryLength) {
  const std::string bytes = ReluModel().model.SerializeAsString();
  for (size_t count = 0; count < bytes.size(); ++count) {
    const auto graph = ImportOnnx(folder_.Write("cut.onnx", bytes.substr(0, count)), {});
    EXPECT_FALSE(graph.ok()) << count << " of " << bytes.size();
  }
}

TEST_F(ImportTest, NamesAllUnsupportedOpsAtOnce) {
  ModelBuilder builder(17);
  builder.Input("x", {2}).Output("y", {2});
  builder.Node("Det", {"x"}, {"a"}, "first");
  builder.Node("TfIdfVectorizer", {"a"}, {"b"});
  builder.Node("Det", {"b"}, {"y"});
  const auto graph = Import(builder);
  EXPECT_TRUE(absl::IsUnimplemented(graph.status())) << graph.status();
  EXPECT_THAT(MessageOf(graph), AllOf(HasSubstr("TfIdfVectorizer x1 (first node 1)"),
                                      HasSubstr("Det x2 (first 'first')")));
}

TEST_F(ImportTest, FreeDimensionsAreListedAndPinned) {
  ModelBuilder builder = ReluModel({-1, 3, -1});
  const auto open = Import(builder);
  EXPECT_TRUE(absl::IsInvalidArgument(open.status()));
  EXPECT_THAT(MessageOf(open), AllOf(HasSubstr("0 (d0), 2 (d2)"),
                                     HasSubstr("--shape x=<d0>x3x<d2>"), Not(HasSubstr("\n"))));
  ImportOptions options;
  options.input_shapes["x"] = Shape{1, 3, 5};
  const auto pinned = Import(builder, options);
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  EXPECT_EQ(pinned->at(pinned->inputs[0]).type.shape, (Shape{1, 3, 5}));
  options.input_shapes["x"] = Shape{1, 4, 5};
  EXPECT_THAT(MessageOf(Import(builder, options)), HasSubstr("dimension 1 = 3"));
  options.input_shapes["x"] = Shape{1, 3};
  EXPECT_THAT(MessageOf(Import(builder, options)), HasSubstr("rank 2"));
  options.input_shapes = {{"z", Shape{1}}};
  EXPECT_THAT(MessageOf(Import(builder, options)), HasSubstr("no input 'z'; its inputs: 'x'"));
}

TEST_F(ImportTest, InputsFollowASharedSymbol) {
  ModelBuilder builder;
  builder.Input("a", {-1, 4}).Input("b", {-1, 4}).Output("y", {-1, 4});
  builder.Node("Add", {"a", "b"}, {"y"});
  ImportOptions options;
  options.input_shapes["a"] = Shape{7, 4};
  const auto graph = Import(builder, options);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->at(graph->inputs[1]).type.shape, (Shape{7, 4}));
}

TEST_F(ImportTest, BindsInputsAsConstants) {
  ModelBuilder builder;
  builder.Input("x", {6}).Input("shape", {2}, TensorProto::INT64).Output("y", {2, 3});
  builder.Node("Reshape", {"x", "shape"}, {"y"});
  ImportOptions options;
  options.constant_inputs.emplace("shape",
                                  Tensor::FromValues<int64_t>(DType::kInt64, Shape{2}, {2, 3}));
  const auto graph = Import(builder, options);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->inputs.size(), 1u);
  EXPECT_NE(graph->at(graph->nodes[0].inputs[1]).constant, nullptr);
  options.constant_inputs.clear();
  options.constant_inputs.emplace("shape",
                                  Tensor::FromValues<int32_t>(DType::kInt32, Shape{2}, {2, 3}));
  EXPECT_THAT(MessageOf(Import(builder, options)), HasSubstr("declared int64[2]"));
}

TEST_F(ImportTest, TensorsOfEveryTypeRawAndTyped) {
  TensorProto tensor;
  tensor.set_name("c");
  tensor.add_dims(2);
  tensor.set_data_type(TensorProto::INT8);
  tensor.add_int32_data(-128);
  tensor.add_int32_data(127);
  auto value = Constant(tensor);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_THAT(value->Values<int8_t>(), ElementsAre(-128, 127));
  tensor.set_data_type(TensorProto::UINT8);
  EXPECT_THAT(std::string(Constant(tensor).status().message()),
              HasSubstr("element 0 = -128 is outside uint8"));
  tensor.set_data_type(TensorProto::FLOAT16);
  tensor.clear_int32_data();
  tensor.set_raw_data(std::string("\x00\x3c\x00\xc0", 4));  // 1, -2
  value = Constant(tensor);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_THAT(*ToFloatValues(value->view()), ElementsAre(1.0f, -2.0f));
  tensor.set_data_type(TensorProto::BOOL);
  tensor.set_raw_data(std::string("\x00\x07", 2));
  value = Constant(tensor);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_THAT(value->Values<uint8_t>(), ElementsAre(0, 1));
  tensor.set_data_type(TensorProto::UINT32);
  tensor.clear_raw_data();
  tensor.add_uint64_data(4294967295u);
  tensor.add_uint64_data(1);
  value = Constant(tensor);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_THAT(value->Values<uint32_t>(), ElementsAre(4294967295u, 1u));
}

TEST_F(ImportTest, ShortTensorsTakeNoMemory) {
  TensorProto tensor;
  tensor.set_name("c");
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(int64_t{1} << 40);
  tensor.set_raw_data("1234");
  EXPECT_THAT(std::string(Constant(tensor).status().message()),
              AllOf(HasSubstr("tensor 'c'"), HasSubstr("4 bytes")));
  tensor.add_dims(int64_t{1} << 40);
  EXPECT_FALSE(Constant(tensor).ok());  // the product overflows
  tensor.clear_dims();
  tensor.add_dims(-1);
  EXPECT_FALSE(Constant(tensor).ok());
  tensor.clear_dims();
  tensor.add_dims(2);
  tensor.set_data_type(TensorProto::STRING);
  tensor.clear_raw_data();
  tensor.add_string_data("a");
  tensor.add_string_data("b");
  EXPECT_TRUE(absl::IsUnimplemented(Constant(tensor).status())) << Constant(tensor).status();
}

TEST_F(ImportTest, ExternalDataStaysInTheFolder) {
  const auto model_folder = folder_.path() / "inside";
  std::filesystem::create_directory(model_folder);
  folder_.Write("outside.bin", std::string(8, '\0'));
  folder_.Write("inside/weights.bin", std::string("\0\0\0\0\0\0\x80\x3f\0\0\0\x40", 12));
  std::filesystem::create_symlink("../outside.bin", model_folder / "link.bin");
  const auto import = [&](const std::string& location, const std::string& offset,
                          const std::string& length) {
    ModelBuilder builder;
    builder.Output("y", {2}).Node("Relu", {"w"}, {"y"});
    auto& tensor = builder.Initializer("w", TensorProto::FLOAT, {2});
    tensor.set_data_location(TensorProto::EXTERNAL);
    const auto add = [&](const char* key, const std::string& value) {
      if (value.empty()) return;
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    add("location", location);
    add("offset", offset);
    add("length", length);
    return ImportOnnx(folder_.Write("inside/model.onnx", builder.model), {});
  };
  const auto good = import("weights.bin", "4", "8");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_THAT(good->at(good->nodes[0].inputs[0]).constant->Values<float>(),
              ElementsAre(1.0f, 2.0f));
  EXPECT_THAT(MessageOf(import("../outside.bin", "", "")), HasSubstr("leaves the model's folder"));
  EXPECT_THAT(MessageOf(import((folder_.path() / "outside.bin").string(), "", "")),
              HasSubstr("leaves the model's folder"));
  EXPECT_THAT(MessageOf(import("link.bin", "", "")), HasSubstr("leaves the model's folder"));
  EXPECT_THAT(MessageOf(import("weights.bin", "8", "8")), HasSubstr("which has 12"));
  EXPECT_THAT(MessageOf(import("weights.bin", "0", "4")), HasSubstr("length 4"));
  EXPECT_THAT(MessageOf(import("weights.bin", "-1", "")), HasSubstr("no byte count"));
  EXPECT_THAT(MessageOf(import("missing.bin", "", "")), HasSubstr("is not there"));
  EXPECT_FALSE(import("", "", "").ok());
}

TEST_F(ImportTest, StructureIsChecked) {
  const auto broken = [&](auto&& change) {
    ModelBuilder builder(21);  // beyond the library's checker: own checks only
    builder.Input("x", {2}).Output("y", {2});
    builder.Node("Relu", {"x"}, {"m"}, "a");
    builder.Node("Relu", {"m"}, {"y"}, "b");
    change(builder.graph());
    return MessageOf(Import(builder));
  };
  EXPECT_EQ(broken([](onnx::GraphProto&) {}), "");
  EXPECT_THAT(broken([](onnx::GraphProto& g) { g.mutable_node(0)->set_input(0, "z"); }),
              HasSubstr("node 0 (Relu 'a'): input 'z' is not defined"));
  EXPECT_THAT(broken([](onnx::GraphProto& g) { g.mutable_node(1)->set_output(0, "m"); }),
              HasSubstr("output 'm' is defined already"));
  EXPECT_THAT(broken([](onnx::GraphProto& g) { g.mutable_node(1)->set_name("a"); }),
              HasSubstr("node 'a' is declared twice"));
  EXPECT_EQ(broken([](onnx::GraphProto& g) {
              for (const char* output : {"k", "l"}) {
                onnx::NodeProto& node = *g.add_node();
                node.set_op_type("Constant");
                node.set_name("a");
                node.add_output(output);
                onnx::AttributeProto& value = *node.add_attribute();
                value.set_name("value_int");
                value.set_type(onnx::AttributeProto::INT);
                value.set_i(1);
              }
            }),
            "");
  EXPECT_THAT(broken([](onnx::GraphProto& g) { g.mutable_output(0)->set_name("q"); }),
              HasSubstr("graph output 'q' is produced by nothing"));
  EXPECT_THAT(broken([](onnx::GraphProto& g) { g.mutable_node(0)->set_input(0, "y"); }),
              HasSubstr("not defined by anything before it"));
  // Nodes in another order are sorted.
  EXPECT_EQ(broken([](onnx::GraphProto& g) { g.mutable_node(0)->Swap(g.mutable_node(1)); }), "");
  EXPECT_THAT(broken([](onnx::GraphProto& g) { g.clear_output(); }), HasSubstr("no outputs"));
  EXPECT_THAT(broken([](onnx::GraphProto& g) {
                g.mutable_input(0)->mutable_type()->mutable_sequence_type();
              }),
              HasSubstr("graph input 'x' is a sequence"));
  EXPECT_THAT(broken([](onnx::GraphProto& g) {
                g.add_sparse_initializer()->mutable_values()->set_name("s");
              }),
              HasSubstr("initializer 's' is a sparse tensor"));
}

TEST_F(ImportTest, AttributesHaveTheOperatorsTypes) {
  ModelBuilder builder(21);
  builder.Input("x", {2, 3}).Output("y", {3, 2});
  auto& attribute = *builder.Node("Transpose", {"x"}, {"y"}, "t").add_attribute();
  attribute.set_name("perm");
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(1);
  EXPECT_THAT(MessageOf(Import(builder)),
              AllOf(HasSubstr("Transpose 't': attribute 'perm'"), HasSubstr("expected INTS")));
}

TEST_F(ImportTest, UnknownAttributesOfNewOperatorsAreRefused) {
  ModelBuilder builder(21);
  builder.Input("a", {2, 3}).Input("b", {2, 3}).Output("y", {2, 2});
  auto& attribute = *builder.Node("MatMul", {"a", "b"}, {"y"}, "m").add_attribute();
  attribute.set_name("transB");
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(1);
  const auto graph = Import(builder);
  EXPECT_TRUE(absl::IsUnimplemented(graph.status()));
  EXPECT_THAT(MessageOf(graph), HasSubstr("MatMul 'm': attribute 'transB'"));
}

TEST_F(ImportTest, CheckerErrorsAreOneLine) {
  ModelBuilder builder;
  builder.Input("x", {2}).Output("y", {2}).Node("Relu", {"x", "x"}, {"y"});
  const std::string message = MessageOf(Import(builder));
  EXPECT_THAT(message, AllOf(HasSubstr("onnx checker"), Not(HasSubstr("\n"))));
}

TEST_F(ImportTest, InitializerIsNoInput) {
  ModelBuilder builder;
  builder.Input("x", {2}).Input("w", {2}).Output("y", {2}).Node("Add", {"x", "w"}, {"y"});
  auto& tensor = builder.Initializer("w", TensorProto::FLOAT, {2});
  tensor.add_float_data(1);
  tensor.add_float_data(2);
  const auto graph = Import(builder);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->inputs.size(), 1u);
  builder.graph().mutable_input(1)->Clear();
  SetType(*builder.graph().mutable_input(1), "w", TensorProto::FLOAT, {3});
  EXPECT_THAT(MessageOf(Import(builder)), HasSubstr("declared float32[3]"));
}

}  // namespace
}  // namespace berth
