#include "kernels/read_scale.h"

#include <algorithm>

namespace berth {
namespace {

constexpr std::string_view kScales = "read_scales";
constexpr std::string_view kZeroPoints = "read_zero_points";

}  // namespace

bool HasReadScales(const Attributes& attributes) { return attributes.Has(kScales); }

std::optional<ReadScale> ReadScaleOf(const Attributes& attributes, size_t operand) {
  if (!HasReadScales(attributes)) return std::nullopt;
  const std::vector<float> scales = attributes.Floats(kScales);
  const std::vector<int64_t> zero_points = attributes.Ints(kZeroPoints);
  if (operand >= scales.size() || scales[operand] == 0) return std::nullopt;
  const int64_t zero_point = operand < zero_points.size() ? zero_points[operand] : 0;
  return ReadScale{scales[operand], static_cast<int32_t>(zero_point)};
}

void SetReadScale(Attributes& attributes, size_t operand, const ReadScale& scale) {
  std::vector<float> scales = attributes.Floats(kScales);
  std::vector<int64_t> zero_points = attributes.Ints(kZeroPoints);
  const size_t count = std::max(operand + 1, scales.size());
  scales.resize(count);
  zero_points.resize(count);
  scales[operand] = scale.scale;
  zero_points[operand] = scale.zero_point;
  attributes.Set(kScales, std::move(scales));
  attributes.Set(kZeroPoints, std::move(zero_points));
}

DType ReadDType(const Attributes& attributes, size_t operand, DType stored) {
  return ReadScaleOf(attributes, operand) ? DType::kFloat32 : stored;
}

}  // namespace berth
