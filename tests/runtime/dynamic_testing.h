// Dynamic models for tests: written, imported and compiled with their shapes left free.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "berth/context.h"
#include "kernels/fold/fold_constants.h"
#include "kernels/reference/reference.h"
#include "planner/compile.h"
#include "planner/lower_shape.h"
#include "planner/onnx/import.h"
#include "tests/planner/model_builder.h"

namespace berth {

inline CompileOptions DynamicCompileOptions() {
  CompileOptions options;
  options.config = *LoadTarget("edge");
  options.evaluator = EvaluateNode;
  return options;
}

inline DynamicOptions TestDynamicOptions() {
  DynamicOptions options;
  options.lower = MakeFastLowering(EvaluateNode);
  return options;
}

// N x 3 x H x W -> Conv, ReLU, a pool; flattened by a shape that the model computes -> product with
// a batch that is free -> Softmax. H and W are free only where `free_image`.
inline ModelBuilder DynamicNetwork(bool free_image) {
  ModelBuilder b;
  const int64_t side = free_image ? -1 : 8;
  b.Input("image", {-1, 3, side, side});
  b.Output("scores", {});
  b.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  std::vector<float> filter(4 * 3 * 3 * 3), matrix(4 * 5);
  for (size_t i = 0; i < filter.size(); ++i) filter[i] = 0.1f * static_cast<float>(i % 7) - 0.3f;
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = 0.2f * static_cast<float>(i % 5) - 0.4f;
  b.Floats("filter", {4, 3, 3, 3}, filter);
  b.Floats("matrix", {4, 5}, matrix);
  SetInts(b.Node("Conv", {"image", "filter"}, {"c"}), "pads", {1, 1, 1, 1});
  b.Node("Relu", {"c"}, {"r"});
  b.Node("GlobalAveragePool", {"r"}, {"pooled"});
  // [batch, -1], as exporters write it.
  b.Node("Shape", {"pooled"}, {"shape"});
  auto& zero = b.Initializer("zero", onnx::TensorProto::INT64, {1});
  zero.add_int64_data(0);
  auto& minus = b.Initializer("minus", onnx::TensorProto::INT64, {1});
  minus.add_int64_data(-1);
  b.Node("Gather", {"shape", "zero"}, {"batch"});
  SetInt(b.Node("Concat", {"batch", "minus"}, {"target"}), "axis", 0);
  b.Node("Reshape", {"pooled", "target"}, {"flat"});
  b.Node("MatMul", {"flat", "matrix"}, {"product"});
  SetInt(b.Node("Softmax", {"product"}, {"scores"}), "axis", 1);
  return b;
}

inline std::shared_ptr<const Program> MakeDynamicProgram(
    const ModelBuilder& model, const DynamicOptions& options = TestDynamicOptions()) {
  const ScratchFolder folder;
  auto contents = CompileModel(folder.Write("m.onnx", model.model), DynamicCompileOptions());
  EXPECT_TRUE(contents.ok()) << contents.status();
  if (!contents.ok()) return nullptr;
  auto program = Program::FromContents(*std::move(contents), LoadLevel::kFull, options);
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *program : nullptr;
}

// What the reference makes of the model with these inputs.
inline std::vector<Tensor> ReferenceOf(const ModelBuilder& model,
                                       const std::vector<Tensor>& inputs) {
  const ScratchFolder folder;
  ImportOptions import;
  for (const Tensor& input : inputs) import.shapes_by_position.push_back(input.shape());
  auto graph = ImportOnnx(folder.Write("m.onnx", model.model), import);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  const absl::Status folded = FoldConstants(*graph, EvaluateNode);
  EXPECT_TRUE(folded.ok()) << folded;
  auto outputs = Interpret(*graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>();
}

inline Tensor UniformTensor(Shape shape, uint64_t seed) {
  Tensor tensor(TensorType{DType::kFloat32, std::move(shape)});
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : tensor.Values<float>()) value = uniform(random);
  return tensor;
}

inline Tensor Int64s(const std::vector<int64_t>& values) {
  return Tensor::FromValues<int64_t>(DType::kInt64, Shape{static_cast<int64_t>(values.size())},
                                     values);
}

// Runs the program in `context` and compares with the reference.
inline void RunAndCompare(Context& context, const ModelBuilder& model,
                          const std::vector<Tensor>& inputs) {
  std::vector<ConstTensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  std::vector<Tensor> outputs;
  const absl::Status status = context.Run(views, outputs);
  ASSERT_TRUE(status.ok()) << status;
  const std::vector<Tensor> expected = ReferenceOf(model, inputs);
  ASSERT_EQ(outputs.size(), expected.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    ASSERT_EQ(outputs[i].type(), expected[i].type()) << "output " << i;
    const auto actual = ToFloatValues(outputs[i].view());
    const auto wanted = ToFloatValues(expected[i].view());
    ASSERT_TRUE(actual.ok() && wanted.ok());
    for (size_t k = 0; k < wanted->size(); ++k) {
      ASSERT_NEAR((*actual)[k], (*wanted)[k], 1e-4) << "output " << i << ", element " << k;
    }
  }
}

inline std::unique_ptr<Context> ContextOf(std::shared_ptr<const Program> program, ArenaPool& pool) {
  ContextOptions options;
  options.poison_before_run = true;
  auto context = Context::Create(std::move(program), pool, options);
  EXPECT_TRUE(context.ok()) << context.status();
  return context.ok() ? *std::move(context) : nullptr;
}

inline absl::Status RunOnly(Context& context, const std::vector<Tensor>& inputs) {
  std::vector<ConstTensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  std::vector<Tensor> outputs;
  return context.Run(views, outputs);
}

}  // namespace berth
