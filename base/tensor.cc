#include "base/tensor.h"

namespace berth {
namespace {

template <typename To>
std::vector<To> Convert(const ConstTensorView& tensor) {
  std::vector<To> result;
  VisitDType(tensor.type.dtype, [&]<typename From>() {
    const absl::Span<const From> values = tensor.Values<From>();
    result.reserve(values.size());
    for (const From value : values) {
      if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat>) {
        result.push_back(static_cast<To>(static_cast<float>(value)));
      } else {
        result.push_back(static_cast<To>(value));
      }
    }
  });
  return result;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ToInt64Values(const ConstTensorView& tensor) {
  if (!IsInteger(tensor.type.dtype) && tensor.type.dtype != DType::kBool) {
    return InvalidArgument("expected integers, got {}", tensor.type.ToString());
  }
  return Convert<int64_t>(tensor);
}

absl::StatusOr<std::vector<float>> ToFloatValues(const ConstTensorView& tensor) {
  if (tensor.type.dtype == DType::kUndefined) return InvalidArgument("tensor without a dtype");
  return Convert<float>(tensor);
}

}  // namespace berth
