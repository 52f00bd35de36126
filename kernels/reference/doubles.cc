#include "kernels/reference/doubles.h"

#include "kernels/spatial.h"

namespace berth {

std::vector<double> ToDoubles(const ConstTensorView& tensor) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(tensor.type.shape.ElementCount()));
  VisitDType(tensor.type.dtype, [&]<typename T>() {
    for (const T& element : tensor.Values<T>()) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
        values.push_back(static_cast<float>(element));
      } else {
        values.push_back(static_cast<double>(element));
      }
    }
  });
  return values;
}

void FromDoubles(const std::vector<double>& values, const TensorView& tensor) {
  VisitDType(tensor.type.dtype, [&]<typename T>() {
    const absl::Span<T> elements = tensor.Values<T>();
    for (size_t i = 0; i < elements.size(); ++i) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
        elements[i] = T(static_cast<float>(values[i]));
      } else {
        elements[i] = static_cast<T>(values[i]);
      }
    }
  });
}

ImageIndex::ImageIndex(DataLayout layout, const Shape& shape) {
  const std::vector<int64_t> strides = shape.DenseStrides();
  const auto stride = [&](int axis) { return strides[static_cast<size_t>(axis)]; };
  batch_stride = stride(0);
  channel_stride = stride(ChannelAxis(layout, shape.rank()));
  const int missing = 3 - (shape.rank() - 2);
  for (int i = 0; i < shape.rank() - 2; ++i) {
    space_stride[missing + i] = stride(SpatialAxis(layout, i));
    space_extent[missing + i] = shape[SpatialAxis(layout, i)];
  }
}

}  // namespace berth
