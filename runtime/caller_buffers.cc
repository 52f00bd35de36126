#include "runtime/caller_buffers.h"

namespace berth {
namespace {

bool Overlap(const std::byte* a, int64_t a_bytes, const std::byte* b, int64_t b_bytes) {
  const auto a_begin = reinterpret_cast<uintptr_t>(a), b_begin = reinterpret_cast<uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && a_begin < b_begin + static_cast<uintptr_t>(b_bytes) &&
         b_begin < a_begin + static_cast<uintptr_t>(a_bytes);
}

}  // namespace

absl::Status CheckCounts(size_t inputs, size_t outputs, size_t expected_inputs,
                         size_t expected_outputs) {
  if (inputs == expected_inputs && outputs == expected_outputs) return absl::OkStatus();
  return InvalidArgument("{} inputs and {} outputs given, {} and {} expected", inputs, outputs,
                         expected_inputs, expected_outputs);
}

absl::Status CheckBytes(std::string_view role, size_t index, std::string_view name,
                        const TensorType& type, const std::byte* data) {
  if (data == nullptr && type.ByteCount() > 0) {
    return InvalidArgument("{} {} ('{}'): null data for {} bytes", role, index, name,
                           type.ByteCount());
  }
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(DTypeBytes(type.dtype)) != 0) {
    return InvalidArgument("{} {} ('{}'): data is not aligned for {}", role, index, name,
                           DTypeName(type.dtype));
  }
  return absl::OkStatus();
}

absl::Status CheckBuffer(std::string_view role, size_t index, const TensorInfo& info,
                         const TensorType& type, const std::byte* data) {
  if (type != info.type) {
    return InvalidArgument("{} {} ('{}'): {} given, {} expected", role, index, info.name,
                           type.ToString(), info.type.ToString());
  }
  return CheckBytes(role, index, info.name, type, data);
}

absl::Status CheckOpenOutput(size_t index, const TensorInfo& info, const TensorView& view) {
  const std::string where = fmt::format("output {} ('{}')", index, info.name);
  if (view.type.dtype != info.type.dtype) {
    return InvalidArgument("{}: {} given, {} expected", where, DTypeName(view.type.dtype),
                           DTypeName(info.type.dtype));
  }
  BERTH_RETURN_IF_ERROR(Annotate(Shape::Create(view.type.shape.extents()).status(), where));
  return CheckBytes("output", index, info.name, view.type, view.data);
}

absl::Status CheckOverlap(absl::Span<const ConstTensorView> inputs,
                          absl::Span<const TensorView> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int64_t bytes = outputs[i].type.ByteCount();
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (Overlap(outputs[i].data, bytes, inputs[k].data, inputs[k].type.ByteCount())) {
        return InvalidArgument("output {} overlaps input {}", i, k);
      }
    }
    for (size_t k = 0; k < i; ++k) {
      if (Overlap(outputs[i].data, bytes, outputs[k].data, outputs[k].type.ByteCount())) {
        return InvalidArgument("output {} overlaps output {}", i, k);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace berth
