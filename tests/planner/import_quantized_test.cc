// Quantization of ONNX's opset 21: 4-bit constants, blocks, 16 bits.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/fold/fold_constants.h"
#include "kernels/reference/reference.h"
#include "planner/frontend.h"
#include "planner/onnx/import.h"
#include "tests/planner/model_builder.h"

namespace berth {
namespace {

using Proto = onnx::TensorProto;
constexpr int kUint4 = 21, kInt4 = 22, kOpset = 21;

absl::StatusOr<Graph> Import(const ModelBuilder& builder) {
  const ScratchFolder folder;
  return ImportOnnx(folder.Write("model.onnx", builder.model), {});
}

// What the imported graph gives, and what it gives after all passes.
std::vector<std::vector<float>> RunBothWays(const ModelBuilder& builder, const Tensor& input) {
  std::vector<std::vector<float>> results;
  for (const bool prepared : {false, true}) {
    auto graph = Import(builder);
    EXPECT_TRUE(graph.ok()) << graph.status();
    if (!graph.ok()) return {};
    if (prepared) {
      PrepareOptions options;
      options.evaluator = EvaluateNode;
      graph = PrepareGraph(*std::move(graph), options);
      EXPECT_TRUE(graph.ok()) << graph.status();
      if (!graph.ok()) return {};
    } else {
      const absl::Status status = FoldConstants(*graph, EvaluateNode);
      EXPECT_TRUE(status.ok()) << status;
    }
    const auto outputs = Interpret(*graph, {input});
    EXPECT_TRUE(outputs.ok()) << outputs.status() << "\n" << DumpGraph(*graph);
    if (!outputs.ok()) return {};
    results.push_back(*ToFloatValues((*outputs)[0].view()));
  }
  EXPECT_EQ(results[0].size(), results[1].size());
  for (size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_NEAR(results[0][i], results[1][i], 1e-5 * (1 + std::abs(results[0][i]))) << i;
  }
  return results;
}

// y = x + DequantizeLinear(w): 2 x 5, packed two to a byte.
ModelBuilder FourBits(int type, bool raw) {
  ModelBuilder b(kOpset);
  b.Input("x", {2, 5}).Output("y", {2, 5});
  const std::vector<unsigned char> packed = {0x10, 0x32, 0x87, 0xf9, 0xed};
  Proto& w = b.Initializer("w", type, {2, 5});
  for (const unsigned char pair : packed) {
    if (!raw) w.add_int32_data(pair);
  }
  if (raw) w.set_raw_data(packed.data(), packed.size());
  b.Floats("scale", {2}, {0.5f, 2});
  Proto& zero = b.Initializer("zero", type, {2});
  zero.add_int32_data(0x31);  // 1 and 3
  SetInt(b.Node("DequantizeLinear", {"w", "scale", "zero"}, {"real"}, "dq"), "axis", 0);
  b.Node("Add", {"x", "real"}, {"y"});
  return b;
}

TEST(ImportQuantized, FourBitConstantsBecomeBytes) {
  const Tensor zeros(TensorType{DType::kFloat32, {2, 5}});
  for (const bool raw : {false, true}) {
    const auto whole = RunBothWays(FourBits(kUint4, raw), zeros);
    ASSERT_EQ(whole.size(), 2u);
    EXPECT_EQ(whole[0], (std::vector<float>{-0.5f, 0, 0.5f, 1, 3, 10, 12, 24, 20, 22}));
    const auto halves = RunBothWays(FourBits(kInt4, raw), zeros);
    ASSERT_EQ(halves.size(), 2u);
    EXPECT_EQ(halves[0], (std::vector<float>{-0.5f, 0, 0.5f, 1, 3, -22, -20, -8, -12, -10}));
  }
}

void ExpectRefused(const ModelBuilder& builder, const std::string& part) {
  const auto graph = Import(builder);
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(std::string(graph.status().message()).find(part), std::string::npos) << graph.status();
}

TEST(ImportQuantized, OtherUsesOfFourBitsAreNamed) {
  ModelBuilder writes(kOpset);
  writes.Input("x", {4}).Output("y", {4}, kInt4);
  writes.Floats("scale", {}, {1});
  writes.Initializer("zero", kInt4, {}).add_int32_data(0);
  writes.Node("QuantizeLinear", {"x", "scale", "zero"}, {"y"}, "quantize");
  ExpectRefused(writes, "QuantizeLinear 'quantize' reads 4-bit integers 'zero'");

  ModelBuilder input(kOpset);
  input.Input("x", {4}, kUint4).Output("y", {4});
  input.Floats("scale", {}, {1});
  input.Node("DequantizeLinear", {"x", "scale"}, {"y"});
  ExpectRefused(input, "UINT4");

  ModelBuilder small = FourBits(kInt4, true);
  small.graph().mutable_initializer(0)->set_raw_data("abcd");
  ExpectRefused(small, "tensor 'w': it has 4 bytes where 10 4-bit integers take 5");

  ModelBuilder wide = FourBits(kInt4, false);
  wide.graph().mutable_initializer(0)->set_int32_data(0, 256);
  ExpectRefused(wide, "two 4-bit integers are 256");

  ModelBuilder outside = FourBits(kInt4, true);
  outside.graph().mutable_initializer(0)->set_data_location(Proto::EXTERNAL);
  ExpectRefused(outside, "tensor 'w'");  // it names no file
}

TEST(ImportQuantized, FourBitsInAFileBesideTheModel) {
  ModelBuilder builder = FourBits(kInt4, true);
  Proto& w = *builder.graph().mutable_initializer(0);
  const ScratchFolder folder;
  folder.Write("weights.bin", w.raw_data());
  w.clear_raw_data();
  w.set_data_location(Proto::EXTERNAL);
  for (const auto& [key, value] : {std::pair{"location", "weights.bin"}, {"length", "5"}}) {
    auto& entry = *w.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  const auto graph = ImportOnnx(folder.Write("model.onnx", builder.model), {});
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto values = ToInt64Values(graph->at(graph->nodes[0].inputs[0]).constant->view());
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(*values, (std::vector<int64_t>{0, 1, 2, 3, 7, -8, -7, -1, -3, -2}));
}

// Blocks of 3 along an axis of 7: the last is shorter. Constants and values of a run.
TEST(ImportQuantized, Blocks) {
  std::mt19937_64 random(4);
  for (const bool has_zero : {false, true}) {
    ModelBuilder b(kOpset);
    b.Input("x", {7, 2}).Output("y", {7, 2});
    const std::vector<float> scales = {0.5f, 1, 2, 0.25f, 4, 0.125f};
    const std::vector<int8_t> zeros = {1, -2, 3, 0, 5, 7};
    b.Floats("scale", {3, 2}, scales);
    b.Initializer("zero", Proto::INT8, {3, 2}).set_raw_data(zeros.data(), zeros.size());
    std::vector<std::string> inputs = {"x", "scale", "zero"};
    if (!has_zero) inputs.pop_back();
    onnx::NodeProto& quantize = b.Node("QuantizeLinear", inputs, {"q"});
    SetInt(quantize, "axis", 0);
    SetInt(quantize, "block_size", 3);
    if (!has_zero) SetInt(quantize, "output_dtype", Proto::INT8);
    inputs[0] = "q";
    onnx::NodeProto& dequantize = b.Node("DequantizeLinear", inputs, {"y"});
    SetInt(dequantize, "axis", 0);
    SetInt(dequantize, "block_size", 3);
    Tensor x(TensorType{DType::kFloat32, {7, 2}});
    for (float& value : x.Values<float>()) {
      value = static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 7.0f;
    }
    const auto y = RunBothWays(b, x);
    ASSERT_EQ(y.size(), 2u);
    for (size_t i = 0; i < 14; ++i) {
      const size_t at = i / 2 / 3 * 2 + i % 2;
      const float zero = has_zero ? zeros[at] : 0;
      const float stored =
          std::clamp(std::nearbyint(x.Values<float>()[i] / scales[at]) + zero, -128.0f, 127.0f);
      EXPECT_EQ(y[0][i], (stored - zero) * scales[at]) << i;
    }
  }
}

TEST(ImportQuantized, BlocksOfWeights) {
  ModelBuilder b(kOpset);
  b.Input("x", {1, 4}).Output("y", {1, 2});
  const std::vector<int8_t> w = {1, 2, 3, 4, 5, 6, 7, 8};
  b.Initializer("w", Proto::INT8, {4, 2}).set_raw_data(w.data(), w.size());
  b.Floats("scale", {2, 2}, {1, 10, 100, 1000});
  onnx::NodeProto& dequantize = b.Node("DequantizeLinear", {"w", "scale"}, {"real"});
  SetInt(dequantize, "axis", 0);
  SetInt(dequantize, "block_size", 2);
  b.Node("MatMul", {"x", "real"}, {"y"});
  Tensor x(TensorType{DType::kFloat32, {1, 4}});
  std::fill(x.Values<float>().begin(), x.Values<float>().end(), 1.0f);
  const auto y = RunBothWays(b, x);
  ASSERT_EQ(y.size(), 2u);
  EXPECT_EQ(y[0], (std::vector<float>{1 + 3 + 500 + 700, 20 + 40 + 6000 + 8000}));

  b.graph().mutable_node(0)->mutable_attribute(1)->set_i(4);  // one block, two scales
  auto graph = Import(b);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::Status status = FoldConstants(*graph, EvaluateNode);
  EXPECT_NE(std::string(status.message()).find("in blocks of 4 along axis 0"), std::string::npos)
      << status;
}

// 16-bit activations around a product of 8-bit weights.
TEST(ImportQuantized, SixteenBits) {
  std::mt19937_64 random(8);
  ModelBuilder b(kOpset);
  b.Input("x", {3, 6}).Output("y", {3, 2});
  std::vector<int8_t> w(12);
  for (int8_t& value : w) value = static_cast<int8_t>(random() % 255 - 127);
  b.Initializer("w", Proto::INT8, {6, 2}).set_raw_data(w.data(), w.size());
  b.Floats("x_scale", {}, {0.001f});
  b.Floats("w_scale", {}, {0.01f});
  b.Floats("y_scale", {}, {0.01f});
  b.Initializer("zero16", Proto::INT16, {}).add_int32_data(-5);
  b.Initializer("zero8", Proto::INT8, {}).add_int32_data(0);
  b.Node("QuantizeLinear", {"x", "x_scale", "zero16"}, {"q"});
  b.Node("DequantizeLinear", {"q", "x_scale", "zero16"}, {"real"});
  b.Node("DequantizeLinear", {"w", "w_scale", "zero8"}, {"weights"});
  b.Node("MatMul", {"real", "weights"}, {"product"});
  b.Node("QuantizeLinear", {"product", "y_scale", "zero16"}, {"stored"});
  b.Node("DequantizeLinear", {"stored", "y_scale", "zero16"}, {"y"});
  Tensor x(TensorType{DType::kFloat32, {3, 6}});
  for (float& value : x.Values<float>()) {
    value = static_cast<float>(static_cast<int>(random() % 60001) - 30000) / 1000.0f;
  }
  const auto y = RunBothWays(b, x);
  ASSERT_EQ(y.size(), 2u);
  for (size_t i = 0; i < 6; ++i) {
    double sum = 0;
    for (size_t k = 0; k < 6; ++k) {
      const float stored = std::nearbyint(x.Values<float>()[i / 2 * 6 + k] / 0.001f);
      sum += stored * 0.001 * w[k * 2 + i % 2] * 0.01;
    }
    EXPECT_NEAR(y[0][i], std::nearbyint(sum / 0.01) * 0.01, 0.011) << i;
  }
}

}  // namespace
}  // namespace berth
