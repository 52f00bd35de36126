#include "planner/onnx/four_bits.h"

#include <set>
#include <string>

#include "base/tensor.h"
#include "planner/onnx/external_data.h"
#include "planner/onnx/text.h"

namespace berth {
namespace {

// Newer than the packaged onnx library.
constexpr int kUint4 = 21, kInt4 = 22;

bool IsFourBits(int data_type) { return data_type == kUint4 || data_type == kInt4; }
int Widened(int data_type) {
  return data_type == kUint4 ? onnx::TensorProto::UINT8 : onnx::TensorProto::INT8;
}

// The packed bytes, wherever the tensor keeps them.
absl::StatusOr<std::string> PackedBytes(const onnx::TensorProto& tensor,
                                        const std::filesystem::path& folder, int64_t size_bytes) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    BERTH_RETURN_IF_ERROR(LocateExternalData(tensor, folder, size_bytes).status());
    Tensor packed(TensorType{DType::kUInt8, Shape{size_bytes}});
    BERTH_RETURN_IF_ERROR(ReadExternalData(tensor, folder, packed));
    const absl::Span<const uint8_t> bytes = packed.Values<uint8_t>();
    return std::string(bytes.begin(), bytes.end());
  }
  if (tensor.has_raw_data()) return tensor.raw_data();
  std::string bytes;
  for (const int32_t pair : tensor.int32_data()) {
    if (pair < -128 || pair > 255) return InvalidArgument("two 4-bit integers are {}", pair);
    bytes.push_back(static_cast<char>(pair));
  }
  return bytes;
}

char Half(char pair, bool high, bool is_signed) {
  const int bits = (static_cast<unsigned char>(pair) >> (high ? 4 : 0)) & 15;
  return static_cast<char>(is_signed && bits > 7 ? bits - 16 : bits);
}

absl::Status Widen(onnx::TensorProto& tensor, const std::filesystem::path& folder) {
  BERTH_ASSIGN_OR_RETURN(const Shape shape,
                         Shape::Create({tensor.dims().begin(), tensor.dims().end()}));
  const int64_t count = shape.ElementCount(), size_bytes = count / 2 + count % 2;
  BERTH_ASSIGN_OR_RETURN(const std::string packed, PackedBytes(tensor, folder, size_bytes));
  if (static_cast<int64_t>(packed.size()) != size_bytes) {
    return InvalidArgument("it has {} bytes where {} 4-bit integers take {}", packed.size(), count,
                           size_bytes);
  }
  const bool is_signed = tensor.data_type() == kInt4;
  std::string wide(static_cast<size_t>(count), '\0');
  for (size_t i = 0; i < wide.size(); ++i) wide[i] = Half(packed[i / 2], i % 2 == 1, is_signed);
  tensor.set_data_type(Widened(tensor.data_type()));
  tensor.clear_int32_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(std::move(wide));
  return absl::OkStatus();
}

absl::Status CheckReaders(const onnx::GraphProto& graph, const std::set<std::string>& widened) {
  for (const auto& node : graph.node()) {
    for (int i = 0; i < node.input_size(); ++i) {
      if (!widened.contains(node.input(i))) continue;
      if (node.op_type() == "DequantizeLinear" && i != 1) continue;
      return Unimplemented(
          "{} '{}' reads 4-bit integers '{}': they are supported as constants that "
          "DequantizeLinear reads",
          OneLine(node.op_type(), 100), OneLine(node.name(), 100), OneLine(node.input(i), 100));
    }
  }
  for (const auto& output : graph.output()) {
    if (widened.contains(output.name())) {
      return Unimplemented("output '{}' has 4-bit integers", OneLine(output.name(), 100));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WidenFourBits(onnx::GraphProto& graph, const std::filesystem::path& model_folder) {
  std::set<std::string> widened;
  for (auto& tensor : *graph.mutable_initializer()) {
    if (!IsFourBits(tensor.data_type())) continue;
    const absl::Status status = Widen(tensor, model_folder);
    if (!status.ok()) {
      return Annotate(status, fmt::format("tensor '{}'", OneLine(tensor.name(), 100)));
    }
    widened.insert(tensor.name());
  }
  if (widened.empty()) return absl::OkStatus();
  for (auto& input : *graph.mutable_input()) {
    if (!widened.contains(input.name()) || !input.type().has_tensor_type()) continue;
    auto& type = *input.mutable_type()->mutable_tensor_type();
    if (IsFourBits(type.elem_type())) type.set_elem_type(Widened(type.elem_type()));
  }
  return CheckReaders(graph, widened);
}

}  // namespace berth
