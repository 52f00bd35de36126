#include "planner/onnx/tensors.h"

#include <array>
#include <limits>
#include <string_view>
#include <type_traits>

#include "planner/onnx/external_data.h"
#include "planner/onnx/text.h"

namespace berth {
namespace {

using onnx::TensorProto;

absl::Status CountMismatch(int64_t given, const TensorType& type, std::string_view unit) {
  return InvalidArgument("it has {} {} where {} takes {}", given, unit, type.ToString(),
                         unit == "bytes" ? type.ByteCount() : type.shape.ElementCount());
}

// Copies a typed field whose wire type is wider than (or equal to) the element type.
template <typename Element, typename Field>
absl::Status CopyField(const Field& field, Tensor& tensor) {
  absl::Span<Element> out = tensor.Values<Element>();
  for (int i = 0; i < field.size(); ++i) {
    const auto value = field.Get(i);
    if constexpr (std::is_integral_v<Element> && !std::is_same_v<Element, bool>) {
      if (value < static_cast<decltype(value)>(std::numeric_limits<Element>::lowest()) ||
          value > static_cast<decltype(value)>(std::numeric_limits<Element>::max())) {
        return InvalidArgument("element {} = {} is outside {}", i, value,
                               DTypeName(tensor.dtype()));
      }
    }
    out[static_cast<size_t>(i)] = static_cast<Element>(value);
  }
  return absl::OkStatus();
}

template <typename Element, typename Field>
absl::StatusOr<Tensor> FromField(const Field& field, TensorType type) {
  if (field.size() != type.shape.ElementCount()) {
    return CountMismatch(field.size(), type, "elements");
  }
  Tensor tensor(std::move(type));
  BERTH_RETURN_IF_ERROR((CopyField<Element>(field, tensor)));
  return tensor;
}

absl::StatusOr<Tensor> FromTypedField(const TensorProto& proto, TensorType type) {
  switch (type.dtype) {
    case DType::kFloat32:
      return FromField<float>(proto.float_data(), std::move(type));
    case DType::kFloat64:
      return FromField<double>(proto.double_data(), std::move(type));
    case DType::kInt64:
      return FromField<int64_t>(proto.int64_data(), std::move(type));
    case DType::kUInt64:
      return FromField<uint64_t>(proto.uint64_data(), std::move(type));
    case DType::kUInt32:
      return FromField<uint32_t>(proto.uint64_data(), std::move(type));
    case DType::kInt32:
      return FromField<int32_t>(proto.int32_data(), std::move(type));
    case DType::kInt16:
      return FromField<int16_t>(proto.int32_data(), std::move(type));
    case DType::kInt8:
      return FromField<int8_t>(proto.int32_data(), std::move(type));
    case DType::kUInt8:
      return FromField<uint8_t>(proto.int32_data(), std::move(type));
    case DType::kBool:
      return FromField<bool>(proto.int32_data(), std::move(type));
    // 16-bit floats stand as their bits.
    case DType::kUInt16:
    case DType::kFloat16:
    case DType::kBFloat16:
      return FromField<uint16_t>(proto.int32_data(), std::move(type));
    case DType::kUndefined:
      break;
  }
  return InvalidArgument("its type is undefined");
}

absl::StatusOr<Tensor> FromRaw(const std::string& raw, TensorType type) {
  if (static_cast<int64_t>(raw.size()) != type.ByteCount()) {
    return CountMismatch(static_cast<int64_t>(raw.size()), type, "bytes");
  }
  Tensor tensor(std::move(type));
  if (!raw.empty()) std::memcpy(tensor.bytes().data(), raw.data(), raw.size());
  return tensor;
}

// A bool byte other than 0 and 1 would be undefined behaviour when read as bool.
void NormalizeBools(Tensor& tensor) {
  if (tensor.dtype() != DType::kBool) return;
  for (std::byte& byte : tensor.bytes()) byte = byte != std::byte{0} ? std::byte{1} : std::byte{0};
}

absl::StatusOr<Tensor> Convert(const TensorProto& proto, const std::filesystem::path& folder) {
  if (proto.has_segment()) return Unimplemented("a tensor in segments");
  BERTH_ASSIGN_OR_RETURN(const DType dtype, ElementType(proto.data_type()));
  BERTH_ASSIGN_OR_RETURN(Shape shape, Shape::Create({proto.dims().begin(), proto.dims().end()}));
  TensorType type{dtype, std::move(shape)};
  if (proto.data_location() == TensorProto::EXTERNAL) {
    BERTH_RETURN_IF_ERROR(LocateExternalData(proto, folder, type.ByteCount()).status());
    Tensor tensor(std::move(type));
    BERTH_RETURN_IF_ERROR(ReadExternalData(proto, folder, tensor));
    return tensor;
  }
  return proto.has_raw_data() ? FromRaw(proto.raw_data(), std::move(type))
                              : FromTypedField(proto, std::move(type));
}

}  // namespace

absl::StatusOr<DType> ElementType(int data_type) {
  switch (data_type) {
    case TensorProto::FLOAT:
      return DType::kFloat32;
    case TensorProto::UINT8:
      return DType::kUInt8;
    case TensorProto::INT8:
      return DType::kInt8;
    case TensorProto::UINT16:
      return DType::kUInt16;
    case TensorProto::INT16:
      return DType::kInt16;
    case TensorProto::INT32:
      return DType::kInt32;
    case TensorProto::INT64:
      return DType::kInt64;
    case TensorProto::BOOL:
      return DType::kBool;
    case TensorProto::FLOAT16:
      return DType::kFloat16;
    case TensorProto::DOUBLE:
      return DType::kFloat64;
    case TensorProto::UINT32:
      return DType::kUInt32;
    case TensorProto::UINT64:
      return DType::kUInt64;
    case TensorProto::BFLOAT16:
      return DType::kBFloat16;
    case TensorProto::UNDEFINED:
      return InvalidArgument("element type is undefined");
    default:
      break;
  }
  if (TensorProto::DataType_IsValid(data_type)) {
    return Unimplemented("element type {}",
                         TensorProto::DataType_Name(static_cast<TensorProto::DataType>(data_type)));
  }
  // Newer than the packaged onnx library.
  constexpr std::array<std::string_view, 7> kNewer = {
      "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
      "UINT4",        "INT4",           "FLOAT4E2M1"};
  constexpr int kFirstNewer = 17;
  const int64_t newer = int64_t{data_type} - kFirstNewer;
  if (newer >= 0 && newer < static_cast<int64_t>(kNewer.size())) {
    return Unimplemented("element type {}", kNewer[static_cast<size_t>(newer)]);
  }
  return Unimplemented("element type number {}", data_type);
}

absl::StatusOr<Tensor> TensorFromProto(const TensorProto& proto,
                                       const std::filesystem::path& model_folder) {
  auto tensor = Convert(proto, model_folder);
  if (!tensor.ok()) {
    return Annotate(tensor.status(), fmt::format("tensor '{}'", OneLine(proto.name(), 100)));
  }
  NormalizeBools(*tensor);
  return tensor;
}

}  // namespace berth
