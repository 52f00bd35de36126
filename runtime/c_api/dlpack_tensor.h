// DLPack tensors as the caller's tensors of the C API: in place where they are dense and aligned,
// through a copy otherwise.
#pragma once

#include <dlpack/dlpack.h>

#include "runtime/c_api/api.h"

namespace berth::c_api {

class DlpackTensor {
 public:
  // InvalidArgument for other devices than the CPU, dtypes that Berth does not have and strides
  // that do not fit 48 bits; for `is_output` also for elements that share bytes.
  static absl::StatusOr<DlpackTensor> Read(const DLManagedTensor* tensor, bool is_output);

  // Valid while this and the DLPack tensor live, also when this is moved.
  berth_tensor view() const;
  // Of an input, before the run; of an output, after it. Nothing where there is no copy.
  void CopyIn();
  void CopyOut() const;

 private:
  DlpackTensor() = default;

  const DLTensor* tensor_ = nullptr;
  TensorType type_;
  std::vector<int64_t> stride_bytes_;
  std::byte* data_ = nullptr;
  Tensor copy_;
  bool is_copied_ = false;
};

// Owns `owner` until the deleter of the result is called.
DLManagedTensor* MakeDlpack(std::shared_ptr<void> owner, const TensorView& view);

}  // namespace berth::c_api
