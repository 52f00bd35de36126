// Tensors on the host: an owning Tensor and a non-owning TensorView, both dense and row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "base/dtype.h"
#include "base/shape.h"

namespace berth {

struct TensorType {
  DType dtype = DType::kUndefined;
  Shape shape;

  int64_t ByteCount() const { return shape.ByteCount(dtype); }
  std::string ToString() const { return fmt::format("{}[{}]", DTypeName(dtype), shape.ToString()); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// Does not own its bytes. `data` is aligned for the dtype.
struct TensorView {
  TensorType type;
  std::byte* data = nullptr;

  template <typename T>
  absl::Span<T> Values() const {
    return absl::Span<T>(reinterpret_cast<T*>(data),
                         static_cast<size_t>(type.shape.ElementCount()));
  }
};
struct ConstTensorView {
  TensorType type;
  const std::byte* data = nullptr;

  ConstTensorView() = default;
  ConstTensorView(TensorType t, const std::byte* d) : type(std::move(t)), data(d) {}
  ConstTensorView(const TensorView& view) : type(view.type), data(view.data) {}  // NOLINT

  template <typename T>
  absl::Span<const T> Values() const {
    return absl::Span<const T>(reinterpret_cast<const T*>(data),
                               static_cast<size_t>(type.shape.ElementCount()));
  }
};

class Tensor {
 public:
  Tensor() = default;
  // Zero-filled.
  explicit Tensor(TensorType type)
      : type_(std::move(type)), bytes_(static_cast<size_t>(type_.ByteCount())) {}

  template <typename T>
  static Tensor FromValues(DType dtype, Shape shape, absl::Span<const T> values) {
    Tensor tensor(TensorType{dtype, std::move(shape)});
    if (!tensor.bytes_.empty()) {
      std::memcpy(tensor.bytes_.data(), values.data(), tensor.bytes_.size());
    }
    return tensor;
  }

  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  absl::Span<std::byte> bytes() { return absl::MakeSpan(bytes_); }
  absl::Span<const std::byte> bytes() const { return bytes_; }
  TensorView view() { return {type_, bytes_.data()}; }
  ConstTensorView view() const { return {type_, bytes_.data()}; }
  template <typename T>
  absl::Span<T> Values() {
    return view().Values<T>();
  }
  template <typename T>
  absl::Span<const T> Values() const {
    return view().Values<T>();
  }

 private:
  TensorType type_;
  std::vector<std::byte> bytes_;
};

// Any integer tensor (or bool) as int64 values; InvalidArgument for other dtypes.
absl::StatusOr<std::vector<int64_t>> ToInt64Values(const ConstTensorView& tensor);
// Any real tensor as float values.
absl::StatusOr<std::vector<float>> ToFloatValues(const ConstTensorView& tensor);

}  // namespace berth
