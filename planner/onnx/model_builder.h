// Writes small ONNX models node by node: the embedded demonstration network, and models of tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "planner/onnx/onnx_headers.h"

namespace berth {

// Negative dimensions are named unknowns ("d<axis>").
void SetType(onnx::ValueInfoProto& info, const std::string& name, int elem_type,
             const std::vector<int64_t>& dims);

struct ModelBuilder {
  onnx::ModelProto model;

  explicit ModelBuilder(int opset = 13, const std::string& graph_name = "test");
  onnx::GraphProto& graph() { return *model.mutable_graph(); }
  ModelBuilder& Input(const std::string& name, const std::vector<int64_t>& dims,
                      int elem_type = onnx::TensorProto::FLOAT);
  ModelBuilder& Output(const std::string& name, const std::vector<int64_t>& dims,
                       int elem_type = onnx::TensorProto::FLOAT);
  onnx::NodeProto& Node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& name = "");
  // Without values: the caller fills it.
  onnx::TensorProto& Initializer(const std::string& name, int data_type,
                                 const std::vector<int64_t>& dims);
  onnx::TensorProto& Floats(const std::string& name, const std::vector<int64_t>& dims,
                            const std::vector<float>& values);
};

// Attributes of a node.
void SetInts(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values);
void SetInt(onnx::NodeProto& node, const std::string& name, int64_t value);

}  // namespace berth
