#include "planner/onnx/model_builder.h"

namespace berth {
namespace {

constexpr int kIrVersion = 8;

}  // namespace

void SetType(onnx::ValueInfoProto& info, const std::string& name, int elem_type,
             const std::vector<int64_t>& dims) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(elem_type);
  type.mutable_shape();
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (dims[axis] >= 0) {
      dim.set_dim_value(dims[axis]);
    } else {
      dim.set_dim_param("d" + std::to_string(axis));
    }
  }
}

ModelBuilder::ModelBuilder(int opset, const std::string& graph_name) {
  model.set_ir_version(kIrVersion);
  auto& import = *model.add_opset_import();
  import.set_domain("");
  import.set_version(opset);
  model.mutable_graph()->set_name(graph_name);
}

ModelBuilder& ModelBuilder::Input(const std::string& name, const std::vector<int64_t>& dims,
                                  int elem_type) {
  SetType(*graph().add_input(), name, elem_type, dims);
  return *this;
}

ModelBuilder& ModelBuilder::Output(const std::string& name, const std::vector<int64_t>& dims,
                                   int elem_type) {
  SetType(*graph().add_output(), name, elem_type, dims);
  return *this;
}

onnx::NodeProto& ModelBuilder::Node(const std::string& op, const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs,
                                    const std::string& name) {
  auto& node = *graph().add_node();
  node.set_op_type(op);
  node.set_name(name);
  for (const auto& input : inputs) node.add_input(input);
  for (const auto& output : outputs) node.add_output(output);
  return node;
}

onnx::TensorProto& ModelBuilder::Initializer(const std::string& name, int data_type,
                                             const std::vector<int64_t>& dims) {
  auto& tensor = *graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(data_type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

onnx::TensorProto& ModelBuilder::Floats(const std::string& name, const std::vector<int64_t>& dims,
                                        const std::vector<float>& values) {
  onnx::TensorProto& tensor = Initializer(name, onnx::TensorProto::FLOAT, dims);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

void SetInts(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
}

void SetInt(onnx::NodeProto& node, const std::string& name, int64_t value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

}  // namespace berth
