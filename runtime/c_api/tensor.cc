// Tensors of the caller, and tensors that a run made.
#include <algorithm>

#include "runtime/c_api/api.h"

namespace berth::c_api {
namespace {

// A rank beyond this is a struct that was never filled.
constexpr int32_t kMaxRank = 64;

bool IsDType(berth_dtype dtype) { return dtype > 0 && dtype < kDTypeCount; }

absl::Status ReadShape(const berth_tensor& tensor, const berth_described_tensor& declared,
                       Shape& shape) {
  if (tensor.rank < 0 || tensor.rank > kMaxRank) {
    return InvalidArgument("rank {} is outside [0, {}]", tensor.rank, kMaxRank);
  }
  if (tensor.extents == nullptr && tensor.rank > 0) {
    return InvalidArgument("null extents for rank {}", tensor.rank);
  }
  if (tensor.extents == nullptr && declared.has_free_shape) {
    return InvalidArgument("no extents given, which are free ({})", declared.description);
  }
  const std::vector<int64_t>& wanted = declared.type.shape.extents();
  if (tensor.extents == nullptr ||
      (!declared.has_free_shape &&
       std::equal(wanted.begin(), wanted.end(), tensor.extents, tensor.extents + tensor.rank))) {
    shape = declared.type.shape;
    return absl::OkStatus();
  }
  BERTH_ASSIGN_OR_RETURN(shape, Shape::Create({tensor.extents, tensor.extents + tensor.rank}));
  return absl::OkStatus();
}

absl::Status ReadUnnamed(const berth_tensor& tensor, const berth_described_tensor& declared,
                         TensorView& view) {
  if (tensor.dtype != BERTH_DTYPE_UNDEFINED && !IsDType(tensor.dtype)) {
    return InvalidArgument("{} is no dtype", tensor.dtype);
  }
  view.type.dtype = tensor.dtype == BERTH_DTYPE_UNDEFINED ? declared.type.dtype
                                                          : static_cast<DType>(tensor.dtype);
  BERTH_RETURN_IF_ERROR(ReadShape(tensor, declared, view.type.shape));
  const auto needed = static_cast<size_t>(view.type.ByteCount());
  if (tensor.size_bytes != needed) {
    return InvalidArgument("{} bytes given, {} has {}", tensor.size_bytes, view.type.ToString(),
                           needed);
  }
  if (tensor.data == nullptr && needed > 0) {
    return InvalidArgument("null data for {} bytes", needed);
  }
  view.data = static_cast<std::byte*>(tensor.data);
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadTensor(const berth_tensor& tensor, const berth_described_tensor& declared,
                        const char* role, size_t position, TensorView& view) {
  const absl::Status status = ReadUnnamed(tensor, declared, view);
  if (status.ok()) return status;
  return Annotate(status, fmt::format("{} {} ('{}')", role, position, declared.name));
}

berth_tensor ToTensor(const ConstTensorView& view, const std::vector<int64_t>& extents) {
  berth_tensor tensor{};
  tensor.data = const_cast<std::byte*>(view.data);  // the header says who may write
  tensor.size_bytes = static_cast<size_t>(view.type.ByteCount());
  tensor.extents = extents.data();
  tensor.rank = view.type.shape.rank();
  tensor.dtype = static_cast<berth_dtype>(view.type.dtype);
  return tensor;
}

}  // namespace berth::c_api

extern "C" {

size_t berth_dtype_bytes(berth_dtype dtype) {
  if (!berth::c_api::IsDType(dtype)) return 0;
  return static_cast<size_t>(berth::DTypeBytes(static_cast<berth::DType>(dtype)));
}

const char* berth_dtype_name(berth_dtype dtype) {
  const bool known = berth::c_api::IsDType(dtype);
  // Names are literals, which end with a zero.
  return berth::DTypeName(known ? static_cast<berth::DType>(dtype) : berth::DType::kUndefined)
      .data();
}

size_t berth_tensor_list_count(const berth_tensor_list* list) {
  return list == nullptr ? 0 : list->tensors->size();
}

berth_status berth_tensor_list_get(const berth_tensor_list* list, size_t position,
                                   berth_tensor* tensor) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(list);
    BERTH_REQUIRE(tensor);
    if (position >= list->tensors->size()) {
      return berth::InvalidArgument("tensor {} of {}", position, list->tensors->size());
    }
    const berth::Tensor& found = (*list->tensors)[position];
    *tensor = berth::c_api::ToTensor(found.view(), found.shape().extents());
    return absl::OkStatus();
  });
}

void berth_tensor_list_release(berth_tensor_list* list) { delete list; }

}  // extern "C"
