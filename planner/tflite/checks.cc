#include "planner/tflite/checks.h"

#include <cmath>
#include <map>
#include <set>

#include "base/shape.h"
#include "base/utf8.h"
#include "planner/onnx/text.h"
#include "planner/tflite/op_table.h"
#include "planner/tflite/tensors.h"

namespace berth {
namespace {

constexpr uint32_t kFormatVersion = 3;

using IntVector = flatbuffers::Vector<int32_t>;
int64_t SizeOf(const auto* vector) { return vector == nullptr ? 0 : vector->size(); }

std::string NameOf(const tfl::Tensor& tensor, int64_t index) {
  const std::string name = tensor.name() == nullptr ? "" : tensor.name()->str();
  return fmt::format("tensor {} ('{}')", index, OneLine(name, 100));
}

absl::Status CheckShape(const tfl::Tensor& tensor) {
  std::vector<int64_t> extents;
  for (int64_t i = 0; i < SizeOf(tensor.shape()); ++i) {
    extents.push_back(tensor.shape()->Get(static_cast<uint32_t>(i)));
  }
  BERTH_RETURN_IF_ERROR(Shape::Create(std::move(extents)).status());
  if (SizeOf(tensor.shape_signature()) == 0) return absl::OkStatus();
  if (SizeOf(tensor.shape_signature()) != SizeOf(tensor.shape())) {
    return InvalidArgument("shape_signature has rank {}, shape {}",
                           SizeOf(tensor.shape_signature()), SizeOf(tensor.shape()));
  }
  for (const int32_t extent : *tensor.shape_signature()) {
    if (extent < -1) return InvalidArgument("shape_signature holds {}", extent);
  }
  return absl::OkStatus();
}

absl::Status CheckQuantization(const tfl::Tensor& tensor) {
  const tfl::Quantization* quantization = tensor.quantization();
  if (quantization == nullptr || SizeOf(quantization->scale()) == 0) return absl::OkStatus();
  const int64_t scales = SizeOf(quantization->scale());
  const int64_t zero_points = SizeOf(quantization->zero_point());
  if (zero_points > 1 && zero_points != scales) {
    return InvalidArgument("{} scales, {} zero points", scales, zero_points);
  }
  for (const float scale : *quantization->scale()) {
    if (!std::isfinite(scale) || scale < 0) return InvalidArgument("scale {}", scale);
  }
  if (scales == 1) return absl::OkStatus();
  const int64_t axis = quantization->quantized_dimension();
  if (axis < 0 || axis >= SizeOf(tensor.shape())) {
    return InvalidArgument("quantized dimension {} of rank {}", axis, SizeOf(tensor.shape()));
  }
  const int64_t extent = tensor.shape()->Get(static_cast<uint32_t>(axis));
  if (extent == scales) return absl::OkStatus();
  return InvalidArgument("{} scales for extent {} of dimension {}", scales, extent, axis);
}

// Walks the first subgraph in order and keeps which tensors have a value so far.
class SubGraphCheck {
 public:
  SubGraphCheck(const TfliteFile& file, const tfl::SubGraph& graph)
      : file_(file), graph_(graph), defined_(static_cast<size_t>(SizeOf(graph.tensors()))) {}

  absl::Status Run() {
    BERTH_RETURN_IF_ERROR(Tensors());
    BERTH_RETURN_IF_ERROR(Inputs());
    for (int64_t i = 0; i < SizeOf(graph_.operators()); ++i) {
      const tfl::Operator* op = graph_.operators()->Get(static_cast<uint32_t>(i));
      if (absl::Status status = Visit(*op); !status.ok()) {
        return Annotate(status, fmt::format("operator {}", i));
      }
    }
    return Outputs();
  }

 private:
  absl::Status Tensors() {
    for (int64_t i = 0; i < SizeOf(graph_.tensors()); ++i) {
      const tfl::Tensor& tensor = *graph_.tensors()->Get(static_cast<uint32_t>(i));
      if (tensor.name() != nullptr &&
          !IsUtf8(ToStd({tensor.name()->data(), tensor.name()->size()}))) {
        return InvalidArgument("tensor {}: its name is not UTF-8", i);
      }
      absl::Status status = CheckBuffer(tensor, static_cast<size_t>(i));
      if (status.ok()) status = CheckShape(tensor);
      if (status.ok()) status = CheckQuantization(tensor);
      if (!status.ok()) return Annotate(status, NameOf(tensor, i));
    }
    return absl::OkStatus();
  }

  // A buffer with data makes a constant, one without a place for results.
  absl::Status CheckBuffer(const tfl::Tensor& tensor, size_t index) {
    const int64_t buffers = SizeOf(file_.model->buffers());
    if (tensor.buffer() >= buffers) {
      return InvalidArgument("buffer {} of {}", tensor.buffer(), buffers);
    }
    const tfl::Buffer& buffer = *file_.model->buffers()->Get(tensor.buffer());
    // Offsets 0 and 1 mean that the data, if any, stand in the flatbuffer.
    if (buffer.offset() > 1) {
      if (buffer.offset() > file_.bytes.size() ||
          buffer.size() > file_.bytes.size() - buffer.offset()) {
        return InvalidArgument("buffer {} has {} bytes at {}, the file {}", tensor.buffer(),
                               buffer.size(), buffer.offset(), file_.bytes.size());
      }
      defined_[index] = buffer.size() > 0;
    } else {
      defined_[index] = SizeOf(buffer.data()) > 0;
    }
    // State holds zeros before anything writes it.
    defined_[index] = defined_[index] || tensor.is_variable();
    return absl::OkStatus();
  }

  absl::Status CheckIndices(const IntVector* indices, const char* what, int least) const {
    for (int64_t i = 0; i < SizeOf(indices); ++i) {
      const int64_t tensor = indices->Get(static_cast<uint32_t>(i));
      if (tensor >= least && tensor < static_cast<int64_t>(defined_.size())) continue;
      return InvalidArgument("{} {} is tensor {} of {}", what, i, tensor, defined_.size());
    }
    return absl::OkStatus();
  }

  absl::Status Inputs() {
    BERTH_RETURN_IF_ERROR(CheckIndices(graph_.inputs(), "graph input", 0));
    std::vector<bool> seen(defined_.size());
    std::set<std::string> names;
    for (int64_t i = 0; i < SizeOf(graph_.inputs()); ++i) {
      const auto tensor = static_cast<size_t>(graph_.inputs()->Get(static_cast<uint32_t>(i)));
      if (seen[tensor]) return InvalidArgument("tensor {} is a graph input twice", tensor);
      const auto* name = graph_.tensors()->Get(static_cast<uint32_t>(tensor))->name();
      if (name != nullptr && name->size() > 0 && !names.insert(name->str()).second) {
        return InvalidArgument("graph input {}: '{}' is the name of another", i,
                               OneLine(name->str(), 100));
      }
      seen[tensor] = true;
      defined_[tensor] = true;
    }
    return absl::OkStatus();
  }

  absl::Status Visit(const tfl::Operator& op) {
    if (op.opcode_index() >= SizeOf(file_.model->operator_codes())) {
      return InvalidArgument("operator code {} of {}", op.opcode_index(),
                             SizeOf(file_.model->operator_codes()));
    }
    BERTH_RETURN_IF_ERROR(CheckIndices(op.inputs(), "input", -1));
    BERTH_RETURN_IF_ERROR(CheckIndices(op.outputs(), "output", 0));
    BERTH_RETURN_IF_ERROR(CheckIndices(op.intermediates(), "intermediate", 0));
    for (int64_t i = 0; i < SizeOf(op.inputs()); ++i) {
      const int32_t tensor = op.inputs()->Get(static_cast<uint32_t>(i));
      if (tensor < 0 || defined_[static_cast<size_t>(tensor)] || IsEmpty(tensor)) continue;
      return InvalidArgument("input {} (tensor {}) is not defined by anything before it", i,
                             tensor);
    }
    for (int64_t i = 0; i < SizeOf(op.outputs()); ++i) {
      const auto tensor = static_cast<size_t>(op.outputs()->Get(static_cast<uint32_t>(i)));
      if (defined_[tensor]) {
        return InvalidArgument("output {} (tensor {}) is defined already", i, tensor);
      }
      defined_[tensor] = true;
    }
    return absl::OkStatus();
  }

  // A constant without elements needs no data.
  bool IsEmpty(int32_t index) const {
    const IntVector* shape = graph_.tensors()->Get(static_cast<uint32_t>(index))->shape();
    for (int64_t i = 0; i < SizeOf(shape); ++i) {
      if (shape->Get(static_cast<uint32_t>(i)) == 0) return true;
    }
    return false;
  }

  absl::Status Outputs() const {
    if (SizeOf(graph_.outputs()) == 0) return InvalidArgument("the graph has no outputs");
    BERTH_RETURN_IF_ERROR(CheckIndices(graph_.outputs(), "graph output", 0));
    for (const int32_t tensor : *graph_.outputs()) {
      if (!defined_[static_cast<size_t>(tensor)]) {
        return InvalidArgument("graph output tensor {} is produced by nothing", tensor);
      }
    }
    return absl::OkStatus();
  }

  const TfliteFile& file_;
  const tfl::SubGraph& graph_;
  std::vector<bool> defined_;
};

// A number of no operator code is left to the check of the structure.
absl::Status CheckSupported(const tfl::Model& model, const tfl::SubGraph& graph) {
  struct Missing {
    int count = 0;
    int64_t first = 0;
  };
  std::map<std::string, Missing> missing;
  for (int64_t i = 0; i < SizeOf(graph.operators()); ++i) {
    const tfl::Operator& op = *graph.operators()->Get(static_cast<uint32_t>(i));
    if (op.opcode_index() >= SizeOf(model.operator_codes())) continue;
    const tfl::OperatorCode& code = *model.operator_codes()->Get(op.opcode_index());
    if (FindTfliteOp(code) != nullptr) continue;
    Missing& entry = missing[OperatorName(code)];
    if (entry.count++ == 0) entry.first = i;
  }
  if (missing.empty()) return absl::OkStatus();
  std::string text;
  for (const auto& [op, entry] : missing) {
    text += fmt::format("{}{} x{} (first operator {})", text.empty() ? "" : ", ", op, entry.count,
                        entry.first);
  }
  return Unimplemented("unsupported ops: {}", OneLine(text, 4000));
}

}  // namespace

tfl::BuiltinOperator OperatorOf(const tfl::OperatorCode& code) {
  return static_cast<tfl::BuiltinOperator>(
      std::max<int32_t>(code.deprecated_builtin_code(), static_cast<int32_t>(code.builtin_code())));
}

std::string OperatorName(const tfl::OperatorCode& code) {
  const tfl::BuiltinOperator op = OperatorOf(code);
  if (op == tfl::BuiltinOperator::CUSTOM) {
    const std::string name = code.custom_code() == nullptr ? "" : code.custom_code()->str();
    return "CUSTOM:" + OneLine(name, 60);
  }
  const std::string name = tfl::EnumNameBuiltinOperator(op);
  return name.empty() ? fmt::format("BUILTIN_{}", static_cast<int32_t>(op)) : name;
}

absl::Status CheckTfliteModel(const TfliteFile& file) {
  const tfl::Model& model = *file.model;
  if (model.version() != kFormatVersion) {
    return Unimplemented("schema version {}, {} is supported", model.version(), kFormatVersion);
  }
  if (SizeOf(model.subgraphs()) == 0) return InvalidArgument("the model has no subgraph");
  const tfl::SubGraph& graph = *model.subgraphs()->Get(0);
  BERTH_RETURN_IF_ERROR(CheckSupported(model, graph));
  return SubGraphCheck(file, graph).Run();
}

bool HasRunTimeShapes(const TfliteFile& file) {
  const tfl::SubGraph& graph = *file.model->subgraphs()->Get(0);
  for (int64_t i = 0; i < SizeOf(graph.operators()); ++i) {
    const tfl::Operator& op = *graph.operators()->Get(static_cast<uint32_t>(i));
    const tfl::OperatorCode& code = *file.model->operator_codes()->Get(op.opcode_index());
    if (OperatorOf(code) != tfl::BuiltinOperator::RESHAPE || SizeOf(op.inputs()) < 2) continue;
    const int32_t shape = op.inputs()->Get(1);
    if (shape >= 0 && !HasData(file, *graph.tensors()->Get(static_cast<uint32_t>(shape)))) {
      return true;
    }
  }
  return false;
}

}  // namespace berth
