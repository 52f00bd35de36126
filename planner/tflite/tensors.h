// Tensors of a TFLite file: their types, constants and quantization.
#pragma once

#include <optional>
#include <vector>

#include "base/tensor.h"
#include "planner/tflite/model_file.h"

namespace berth {

// real = scale * (stored - zero point), per tensor or per index of one axis.
struct TfliteQuantization {
  std::vector<float> scales;         // one, or one for each index of `axis`
  std::vector<int64_t> zero_points;  // as many
  int axis = 0;

  bool per_axis() const { return scales.size() > 1; }
};

// Unimplemented for strings, complex numbers, 4-bit integers and resources.
absl::StatusOr<DType> TfliteDType(tfl::ElementType type);

// Shape as the file states it; the structure is checked.
absl::StatusOr<TensorType> TfliteType(const tfl::Tensor& tensor);

// Nothing where the stored values are the values. Unimplemented for other than scales and zero
// points.
absl::StatusOr<std::optional<TfliteQuantization>> ReadQuantization(const tfl::Tensor& tensor);

bool HasData(const TfliteFile& file, const tfl::Tensor& tensor);

// The data of a constant, as many bytes as type and shape take.
absl::StatusOr<Tensor> ReadConstant(const TfliteFile& file, const tfl::Tensor& tensor);

// The real values of a quantized or 16-bit-float constant, in fp32.
absl::StatusOr<Tensor> ToRealConstant(const Tensor& stored,
                                      const std::optional<TfliteQuantization>& quantization);

}  // namespace berth
