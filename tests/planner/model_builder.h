// Writes small ONNX files for tests of the importer.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "planner/onnx/onnx_headers.h"

namespace berth {

// A folder of its own for one test, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }
  std::string Write(const std::string& name, const onnx::ModelProto& model) const {
    return Write(name, model.SerializeAsString());
  }

 private:
  std::filesystem::path path_;
};

// Negative dimensions are named unknowns ("d<axis>").
inline void SetType(onnx::ValueInfoProto& info, const std::string& name, int elem_type,
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

struct ModelBuilder {
  onnx::ModelProto model;

  explicit ModelBuilder(int opset = 13) {
    model.set_ir_version(8);
    auto& import = *model.add_opset_import();
    import.set_domain("");
    import.set_version(opset);
    model.mutable_graph()->set_name("test");
  }
  onnx::GraphProto& graph() { return *model.mutable_graph(); }
  ModelBuilder& Input(const std::string& name, const std::vector<int64_t>& dims,
                      int elem_type = onnx::TensorProto::FLOAT) {
    SetType(*graph().add_input(), name, elem_type, dims);
    return *this;
  }
  ModelBuilder& Output(const std::string& name, const std::vector<int64_t>& dims,
                       int elem_type = onnx::TensorProto::FLOAT) {
    SetType(*graph().add_output(), name, elem_type, dims);
    return *this;
  }
  onnx::NodeProto& Node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& name = "") {
    auto& node = *graph().add_node();
    node.set_op_type(op);
    node.set_name(name);
    for (const auto& input : inputs) node.add_input(input);
    for (const auto& output : outputs) node.add_output(output);
    return node;
  }
  onnx::TensorProto& Initializer(const std::string& name, int data_type,
                                 const std::vector<int64_t>& dims) {
    auto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(data_type);
    for (const int64_t dim : dims) tensor.add_dims(dim);
    return tensor;
  }
};

}  // namespace berth
