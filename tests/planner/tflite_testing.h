// TFLite models written for tests, imported and interpreted.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/fold/fold_constants.h"
#include "kernels/reference/reference.h"
#include "planner/tflite/import.h"
#include "schema_generated.h"

namespace berth {

struct TestTensor {
  std::string name;
  std::vector<int32_t> shape;
  tfl::ElementType type = tfl::ElementType::FLOAT32;
  std::vector<float> scale;
  std::vector<int64_t> zero_point;
  int axis = 0;
  std::vector<int32_t> signature;
  bool is_variable = false;
};

// Appends tensors and operators in order; indices are those of the file.
class TfliteWriter {
 public:
  TfliteWriter() { AddBuffer({}); }

  flatbuffers::FlatBufferBuilder& fbb() { return fbb_; }

  int Value(const TestTensor& tensor) { return AddTensor(tensor, 0); }
  template <typename T>
  int Constant(const TestTensor& tensor, const std::vector<T>& values) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    return AddTensor(tensor, AddBuffer({bytes, bytes + values.size() * sizeof(T)}));
  }
  int Floats(std::vector<int32_t> shape, const std::vector<float>& values) {
    return Constant<float>({"w" + std::to_string(tensors_.size()), std::move(shape)}, values);
  }
  int Ints(const std::vector<int32_t>& values) {
    return Constant<int32_t>({"i" + std::to_string(tensors_.size()),
                              {static_cast<int32_t>(values.size())},
                              tfl::ElementType::INT32},
                             values);
  }

  template <typename Options>
  void Op(tfl::BuiltinOperator code, const std::vector<int32_t>& inputs,
          const std::vector<int32_t>& outputs, flatbuffers::Offset<Options> options) {
    AddOp(code, inputs, outputs, tfl::BuiltinOptionsTraits<Options>::enum_value, options.Union());
  }
  void Op(tfl::BuiltinOperator code, const std::vector<int32_t>& inputs,
          const std::vector<int32_t>& outputs) {
    AddOp(code, inputs, outputs, tfl::BuiltinOptions::NONE, 0);
  }
  void Custom(const std::string& name, const std::vector<int32_t>& inputs,
              const std::vector<int32_t>& outputs, const std::vector<uint8_t>& options) {
    const auto code = static_cast<uint32_t>(codes_.size());
    codes_.push_back(
        tfl::CreateOperatorCodeDirect(fbb_, static_cast<int8_t>(tfl::BuiltinOperator::CUSTOM),
                                      name.c_str(), 1, tfl::BuiltinOperator::CUSTOM));
    operators_.push_back(tfl::CreateOperatorDirect(fbb_, code, &inputs, &outputs,
                                                   tfl::BuiltinOptions::NONE, 0, &options));
  }

  std::string Finish(const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs) {
    const auto graph =
        tfl::CreateSubGraphDirect(fbb_, &tensors_, &inputs, &outputs, &operators_, "main");
    const std::vector<flatbuffers::Offset<tfl::SubGraph>> graphs = {graph};
    tfl::FinishModelBuffer(fbb_,
                           tfl::CreateModelDirect(fbb_, 3, &codes_, &graphs, "test", &buffers_));
    return {reinterpret_cast<const char*>(fbb_.GetBufferPointer()), fbb_.GetSize()};
  }

 private:
  uint32_t AddBuffer(const std::vector<uint8_t>& bytes) {
    fbb_.ForceVectorAlignment(bytes.size(), 1, 16);
    buffers_.push_back(tfl::CreateBufferDirect(fbb_, bytes.empty() ? nullptr : &bytes));
    return static_cast<uint32_t>(buffers_.size() - 1);
  }
  int AddTensor(const TestTensor& tensor, uint32_t buffer) {
    flatbuffers::Offset<tfl::Quantization> quantization = 0;
    if (!tensor.scale.empty()) {
      quantization =
          tfl::CreateQuantizationDirect(fbb_, nullptr, nullptr, &tensor.scale, &tensor.zero_point,
                                        tfl::QuantizationDetails::NONE, 0, tensor.axis);
    }
    tensors_.push_back(tfl::CreateTensorDirect(
        fbb_, &tensor.shape, tensor.type, buffer, tensor.name.c_str(), quantization,
        tensor.is_variable, 0, tensor.signature.empty() ? nullptr : &tensor.signature));
    return static_cast<int>(tensors_.size() - 1);
  }
  void AddOp(tfl::BuiltinOperator code, const std::vector<int32_t>& inputs,
             const std::vector<int32_t>& outputs, tfl::BuiltinOptions type,
             flatbuffers::Offset<void> options) {
    const auto index = static_cast<uint32_t>(codes_.size());
    const int32_t number = static_cast<int32_t>(code);
    codes_.push_back(tfl::CreateOperatorCode(
        fbb_, static_cast<int8_t>(std::min<int32_t>(number, 127)), 0, 1, code));
    operators_.push_back(tfl::CreateOperatorDirect(fbb_, index, &inputs, &outputs, type, options));
  }

  flatbuffers::FlatBufferBuilder fbb_;
  std::vector<flatbuffers::Offset<tfl::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<tfl::Tensor>> tensors_;
  std::vector<flatbuffers::Offset<tfl::Operator>> operators_;
  std::vector<flatbuffers::Offset<tfl::Buffer>> buffers_;
};

// A file of its own that goes with the object.
class TestFile {
 public:
  explicit TestFile(const std::string& bytes, const std::string& ending = ".tflite") {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("berth_test_" + std::to_string(getpid()) + "_" + std::to_string(count++) + ending);
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
  }
  ~TestFile() { std::filesystem::remove(path_); }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline absl::StatusOr<Graph> ImportBytes(const std::string& bytes,
                                         const ImportOptions& options = {}) {
  const TestFile file(bytes);
  return ImportTflite(file.path(), options);
}

// Imports and interprets; empty and a failure where either does not work.
inline std::vector<Tensor> RunBytes(const std::string& bytes, const std::vector<Tensor>& inputs,
                                    const ImportOptions& options = {}) {
  absl::StatusOr<Graph> graph = ImportBytes(bytes, options);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  const absl::Status typed = FoldConstants(*graph, EvaluateNode);
  EXPECT_TRUE(typed.ok()) << typed;
  auto outputs = Interpret(*graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status() << "\n" << DumpGraph(*graph);
  return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>{};
}

inline Tensor FloatTensor(Shape shape, const std::vector<float>& values) {
  return Tensor::FromValues<float>(DType::kFloat32, std::move(shape), values);
}

// Uniform in [-1, 1), in steps of 1/64 so that sums in any order agree closely.
inline std::vector<float> RandomFloats(size_t count, std::mt19937_64& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() % 128) / 64.0f - 1.0f;
  return values;
}

inline void ExpectNear(const Tensor& actual, const Shape& shape, const std::vector<float>& expected,
                       float tolerance = 1e-5f) {
  ASSERT_EQ(actual.shape(), shape);
  ASSERT_EQ(actual.dtype(), DType::kFloat32);
  const absl::Span<const float> values = actual.Values<float>();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], tolerance) << "element " << i;
  }
}

template <typename T>
std::vector<T> RandomIntegers(size_t count, int64_t least, int64_t most, std::mt19937_64& random) {
  std::uniform_int_distribution<int64_t> any(least, most);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(any(random));
  return values;
}

}  // namespace berth
