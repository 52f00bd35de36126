#include "planner/tflite/tensors.h"

#include <limits>

namespace berth {
namespace {

using Bytes = absl::Span<const std::byte>;

Bytes DataOf(const TfliteFile& file, const tfl::Tensor& tensor) {
  const tfl::Buffer& buffer = *file.model->buffers()->Get(tensor.buffer());
  if (buffer.offset() > 1) return Bytes(file.bytes).subspan(buffer.offset(), buffer.size());
  if (buffer.data() == nullptr) return {};
  return {reinterpret_cast<const std::byte*>(buffer.data()->data()), buffer.data()->size()};
}

struct IntegerRange {
  int64_t least = 0, most = 0;
};
IntegerRange RangeOf(DType dtype) {
  IntegerRange range;
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 4) {
      range = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    } else if constexpr (std::is_same_v<T, int64_t>) {
      range = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    }
  });
  return range;
}

}  // namespace

absl::StatusOr<DType> TfliteDType(tfl::ElementType type) {
  switch (type) {
    case tfl::ElementType::FLOAT32:
      return DType::kFloat32;
    case tfl::ElementType::FLOAT16:
      return DType::kFloat16;
    case tfl::ElementType::FLOAT64:
      return DType::kFloat64;
    case tfl::ElementType::BFLOAT16:
      return DType::kBFloat16;
    case tfl::ElementType::INT8:
      return DType::kInt8;
    case tfl::ElementType::UINT8:
      return DType::kUInt8;
    case tfl::ElementType::INT16:
      return DType::kInt16;
    case tfl::ElementType::UINT16:
      return DType::kUInt16;
    case tfl::ElementType::INT32:
      return DType::kInt32;
    case tfl::ElementType::UINT32:
      return DType::kUInt32;
    case tfl::ElementType::INT64:
      return DType::kInt64;
    case tfl::ElementType::UINT64:
      return DType::kUInt64;
    case tfl::ElementType::BOOL:
      return DType::kBool;
    default:
      break;
  }
  const std::string name = tfl::EnumNameElementType(type);
  if (name.empty()) return Unimplemented("element type number {}", static_cast<int>(type));
  return Unimplemented("element type {}", name);
}

absl::StatusOr<TensorType> TfliteType(const tfl::Tensor& tensor) {
  TensorType type;
  BERTH_ASSIGN_OR_RETURN(type.dtype, TfliteDType(tensor.type()));
  std::vector<int64_t> extents;
  if (tensor.shape() != nullptr) extents.assign(tensor.shape()->begin(), tensor.shape()->end());
  BERTH_ASSIGN_OR_RETURN(type.shape, Shape::Create(std::move(extents)));
  return type;
}

absl::StatusOr<std::optional<TfliteQuantization>> ReadQuantization(const tfl::Tensor& tensor) {
  const tfl::Quantization* stored = tensor.quantization();
  if (stored == nullptr) return std::nullopt;
  if (stored->details_type() != tfl::QuantizationDetails::NONE) {
    return Unimplemented("quantization by {}",
                         stored->details_type() == tfl::QuantizationDetails::Blockwise
                             ? "blocks"
                             : "other than scales and zero points");
  }
  if (stored->scale() == nullptr || stored->scale()->size() == 0) return std::nullopt;
  BERTH_ASSIGN_OR_RETURN(const DType dtype, TfliteDType(tensor.type()));
  if (!IsInteger(dtype)) return std::nullopt;  // of a float tensor it says nothing
  TfliteQuantization result;
  result.scales.assign(stored->scale()->begin(), stored->scale()->end());
  if (stored->zero_point() != nullptr) {
    result.zero_points.assign(stored->zero_point()->begin(), stored->zero_point()->end());
  }
  const int64_t only = result.zero_points.empty() ? 0 : result.zero_points[0];
  if (result.zero_points.size() != result.scales.size()) {
    result.zero_points.assign(result.scales.size(), only);
  }
  const IntegerRange range = RangeOf(dtype);
  for (size_t i = 0; i < result.scales.size(); ++i) {
    if (result.scales[i] <= 0) return InvalidArgument("scale {}", result.scales[i]);
    if (result.zero_points[i] < range.least || result.zero_points[i] > range.most) {
      return InvalidArgument("zero point {} of {}", result.zero_points[i], DTypeName(dtype));
    }
  }
  if (result.per_axis()) result.axis = stored->quantized_dimension();
  return result;
}

bool HasData(const TfliteFile& file, const tfl::Tensor& tensor) {
  return !DataOf(file, tensor).empty();
}

absl::StatusOr<Tensor> ReadConstant(const TfliteFile& file, const tfl::Tensor& tensor) {
  if (tensor.sparsity() != nullptr) return Unimplemented("a sparse tensor");
  BERTH_ASSIGN_OR_RETURN(TensorType type, TfliteType(tensor));
  const Bytes data = DataOf(file, tensor);
  if (static_cast<int64_t>(data.size()) != type.ByteCount()) {
    return InvalidArgument("its buffer has {} bytes where {} takes {}", data.size(),
                           type.ToString(), type.ByteCount());
  }
  Tensor result(std::move(type));
  if (!data.empty()) std::memcpy(result.bytes().data(), data.data(), data.size());
  if (result.dtype() == DType::kBool) {
    // A bool byte other than 0 and 1 would be undefined behaviour when read as bool.
    for (std::byte& byte : result.bytes()) byte = byte == std::byte{0} ? byte : std::byte{1};
  }
  return result;
}

absl::StatusOr<Tensor> ToRealConstant(const Tensor& stored,
                                      const std::optional<TfliteQuantization>& quantization) {
  Tensor real(TensorType{DType::kFloat32, stored.shape()});
  const absl::Span<float> out = real.Values<float>();
  if (!quantization) {
    BERTH_ASSIGN_OR_RETURN(const std::vector<float> values, ToFloatValues(stored.view()));
    std::copy(values.begin(), values.end(), out.begin());
    return real;
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64Values(stored.view()));
  const Shape& shape = stored.shape();
  const size_t inner =
      quantization->per_axis()
          ? static_cast<size_t>(shape.Product(quantization->axis + 1, shape.rank()))
          : values.size();
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t index = i / inner % quantization->scales.size();
    const double steps =
        static_cast<double>(values[i]) - static_cast<double>(quantization->zero_points[index]);
    out[i] = quantization->scales[index] * static_cast<float>(steps);
  }
  return real;
}

}  // namespace berth
