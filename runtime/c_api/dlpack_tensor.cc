#include "runtime/c_api/dlpack_tensor.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/checked_math.h"

namespace berth::c_api {
namespace {

constexpr int kMaxRank = 64;
constexpr uint8_t kBoolCode = 6;  // kDLBool, which the packaged header is too old to know
constexpr int64_t kMostSpanBytes = int64_t{1} << 48;

struct DlpackType {
  DType dtype;
  uint8_t code, bits;
};
constexpr DlpackType kTypes[] = {
    {DType::kFloat32, kDLFloat, 32},   {DType::kFloat16, kDLFloat, 16},
    {DType::kBFloat16, kDLBfloat, 16}, {DType::kFloat64, kDLFloat, 64},
    {DType::kInt8, kDLInt, 8},         {DType::kUInt8, kDLUInt, 8},
    {DType::kInt16, kDLInt, 16},       {DType::kUInt16, kDLUInt, 16},
    {DType::kInt32, kDLInt, 32},       {DType::kUInt32, kDLUInt, 32},
    {DType::kInt64, kDLInt, 64},       {DType::kUInt64, kDLUInt, 64},
    {DType::kBool, kBoolCode, 8},
};

std::optional<DType> FromDlpack(const DLDataType& type) {
  for (const DlpackType& known : kTypes) {
    if (type.code == known.code && type.bits == known.bits && type.lanes == 1) return known.dtype;
  }
  return std::nullopt;
}

DLDataType ToDlpack(DType dtype) {
  for (const DlpackType& known : kTypes) {
    if (known.dtype == dtype) return {known.code, known.bits, 1};
  }
  return {kDLOpaqueHandle, 0, 0};
}

// In bytes; dense where the tensor gives none. InvalidArgument where an element would lie further
// away than any memory reaches.
absl::StatusOr<std::vector<int64_t>> StrideBytes(const DLTensor& tensor, const TensorType& type) {
  std::vector<int64_t> strides = type.shape.DenseStrides();
  const int64_t element_bytes = DTypeBytes(type.dtype);
  int64_t span_bytes = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    if (tensor.strides != nullptr) strides[axis] = tensor.strides[axis];
    const int64_t steps = std::max<int64_t>(type.shape[static_cast<int>(axis)] - 1, 0);
    const bool is_far = strides[axis] < -kMostSpanBytes || strides[axis] > kMostSpanBytes;
    const std::optional<int64_t> reach =
        is_far ? std::nullopt : CheckedMul(std::abs(strides[axis]) * element_bytes, steps);
    if (!reach || *reach > kMostSpanBytes - span_bytes) {
      return InvalidArgument("stride {} of axis {} ({}) reaches too far", strides[axis], axis,
                             type.ToString());
    }
    span_bytes += *reach;
    strides[axis] *= element_bytes;
  }
  return strides;
}

bool IsDense(const TensorType& type, const std::vector<int64_t>& stride_bytes) {
  int64_t expected = DTypeBytes(type.dtype);
  for (int axis = type.shape.rank() - 1; axis >= 0; --axis) {
    if (type.shape[axis] != 1 && stride_bytes[static_cast<size_t>(axis)] != expected) return false;
    expected *= type.shape[axis];
  }
  return true;
}

// Whether no two elements share a byte, as can be told from one axis after the other.
bool IsInjective(const TensorType& type, const std::vector<int64_t>& stride_bytes) {
  std::vector<std::pair<int64_t, int64_t>> axes;  // distance, extent
  for (int axis = 0; axis < type.shape.rank(); ++axis) {
    if (type.shape[axis] == 0) return true;
    if (type.shape[axis] > 1) {
      axes.emplace_back(std::abs(stride_bytes[static_cast<size_t>(axis)]), type.shape[axis]);
    }
  }
  std::sort(axes.begin(), axes.end());
  int64_t span_bytes = DTypeBytes(type.dtype);
  for (const auto& [distance, extent] : axes) {
    if (distance < span_bytes) return false;
    span_bytes += distance * (extent - 1);
  }
  return true;
}

// Calls visit(pointer to a strided element, offset of the dense one).
template <typename Visit>
void ForEachElement(const TensorType& type, const std::vector<int64_t>& stride_bytes,
                    std::byte* data, Visit&& visit) {
  const int rank = type.shape.rank();
  const auto element_bytes = static_cast<size_t>(DTypeBytes(type.dtype));
  const int64_t count = type.shape.ElementCount();
  std::vector<int64_t> index(static_cast<size_t>(rank), 0);
  std::byte* at = data;
  for (int64_t i = 0; i < count; ++i) {
    visit(at, static_cast<size_t>(i) * element_bytes);
    for (int axis = rank - 1; axis >= 0; --axis) {
      const auto k = static_cast<size_t>(axis);
      at += stride_bytes[k];
      if (++index[k] < type.shape[axis]) break;
      at -= stride_bytes[k] * type.shape[axis];
      index[k] = 0;
    }
  }
}

struct Exported {
  DLManagedTensor managed{};
  std::shared_ptr<void> owner;
  std::vector<int64_t> extents, strides;
};

}  // namespace

absl::StatusOr<DlpackTensor> DlpackTensor::Read(const DLManagedTensor* managed, bool is_output) {
  if (managed == nullptr) return InvalidArgument("null");
  const DLTensor& tensor = managed->dl_tensor;
  if (tensor.device.device_type != kDLCPU) {
    return InvalidArgument("device type {}, only the CPU's ({}) is taken",
                           static_cast<int>(tensor.device.device_type), static_cast<int>(kDLCPU));
  }
  const std::optional<DType> dtype = FromDlpack(tensor.dtype);
  if (!dtype) {
    return InvalidArgument("no dtype of code {}, {} bits, {} lanes", tensor.dtype.code,
                           tensor.dtype.bits, tensor.dtype.lanes);
  }
  if (tensor.ndim < 0 || tensor.ndim > kMaxRank || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    return InvalidArgument("rank {}, shape {}", tensor.ndim,
                           tensor.shape == nullptr ? "null" : "given");
  }
  DlpackTensor result;
  result.tensor_ = &tensor;
  result.type_.dtype = *dtype;
  BERTH_ASSIGN_OR_RETURN(result.type_.shape,
                         Shape::Create({tensor.shape, tensor.shape + tensor.ndim}));
  BERTH_ASSIGN_OR_RETURN(result.stride_bytes_, StrideBytes(tensor, result.type_));
  if (tensor.data == nullptr && result.type_.ByteCount() > 0) {
    return InvalidArgument("null data for {}", result.type_.ToString());
  }
  result.data_ = static_cast<std::byte*>(tensor.data);
  if (tensor.data != nullptr) result.data_ += tensor.byte_offset;
  const auto alignment = static_cast<uintptr_t>(DTypeBytes(*dtype));
  result.is_copied_ = !IsDense(result.type_, result.stride_bytes_) ||
                      reinterpret_cast<uintptr_t>(result.data_) % alignment != 0;
  if (is_output && !IsInjective(result.type_, result.stride_bytes_)) {
    return InvalidArgument("elements of an output share bytes (strides in bytes: {})",
                           fmt::join(result.stride_bytes_, ", "));
  }
  if (result.is_copied_) result.copy_ = Tensor(result.type_);
  return result;
}

berth_tensor DlpackTensor::view() const {
  berth_tensor view{};
  view.data = is_copied_ ? const_cast<std::byte*>(copy_.bytes().data()) : data_;
  view.size_bytes = static_cast<size_t>(type_.ByteCount());
  view.extents = tensor_->shape;
  view.rank = tensor_->ndim;
  view.dtype = static_cast<berth_dtype>(type_.dtype);
  return view;
}

void DlpackTensor::CopyIn() {
  if (!is_copied_) return;
  std::byte* const dense = copy_.bytes().data();
  const auto element_bytes = static_cast<size_t>(DTypeBytes(type_.dtype));
  ForEachElement(type_, stride_bytes_, data_, [&](const std::byte* element, size_t offset_bytes) {
    std::memcpy(dense + offset_bytes, element, element_bytes);
  });
}

void DlpackTensor::CopyOut() const {
  if (!is_copied_) return;
  const std::byte* const dense = copy_.bytes().data();
  const auto element_bytes = static_cast<size_t>(DTypeBytes(type_.dtype));
  ForEachElement(type_, stride_bytes_, data_, [&](std::byte* element, size_t offset_bytes) {
    std::memcpy(element, dense + offset_bytes, element_bytes);
  });
}

DLManagedTensor* MakeDlpack(std::shared_ptr<void> owner, const TensorView& view) {
  auto exported = std::make_unique<Exported>();
  exported->owner = std::move(owner);
  exported->extents = view.type.shape.extents();
  exported->strides = view.type.shape.DenseStrides();
  DLTensor& tensor = exported->managed.dl_tensor;
  tensor.data = view.data;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = view.type.shape.rank();
  tensor.dtype = ToDlpack(view.type.dtype);
  tensor.shape = exported->extents.data();
  tensor.strides = exported->strides.data();
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<Exported*>(self->manager_ctx);
  };
  return &exported.release()->managed;
}

}  // namespace berth::c_api
