// Reference of GridSample: point by point.
#include <cmath>

#include "kernels/reference/doubles.h"
#include "kernels/reference/movement.h"
#include "kernels/reference/reference_list.h"

namespace berth {
namespace {

// Samples of one channel of an image with what surrounds it.
class Plane {
 public:
  Plane(const double* samples, int64_t rows, int64_t columns, const std::string& padding,
        bool align_corners)
      : samples_(samples),
        rows_(rows),
        columns_(columns),
        padding_(padding),
        align_corners_(align_corners) {}

  double At(double row, double column) const {
    if (padding_ == "zeros" && (row < 0 || row >= static_cast<double>(rows_) || column < 0 ||
                                column >= static_cast<double>(columns_))) {
      return 0;
    }
    const auto y = static_cast<int64_t>(Within(row, rows_));
    const auto x = static_cast<int64_t>(Within(column, columns_));
    return samples_[y * columns_ + x];
  }

 private:
  double Within(double place, int64_t extent) const {
    const auto last = static_cast<double>(extent - 1);
    if (padding_ == "reflection") {
      const double least = align_corners_ ? 0 : -0.5, most = align_corners_ ? last : last + 0.5;
      while (most > least && (place < least || place > most)) {
        place = place < least ? 2 * least - place : 2 * most - place;
      }
    }
    return std::fmax(0, std::fmin(last, place));
  }

  const double* samples_;
  int64_t rows_, columns_;
  std::string padding_;
  bool align_corners_;
};

double CubicWeight(double distance) {
  constexpr double kA = -0.75;
  const double d = std::abs(distance);
  if (d < 1) return ((kA + 2) * d - (kA + 3)) * d * d + 1;
  if (d < 2) return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA;
  return 0;
}

double Sample(const Plane& plane, const std::string& mode, double row, double column) {
  if (mode == "nearest") return plane.At(std::nearbyint(row), std::nearbyint(column));
  const bool cubic = mode == "bicubic" || mode == "cubic";
  const auto weight = [cubic](double d) {
    return cubic ? CubicWeight(d) : std::fmax(0, 1 - std::abs(d));
  };
  double sum = 0;
  for (double y = std::floor(row) - 1; y <= std::floor(row) + 2; ++y) {
    for (double x = std::floor(column) - 1; x <= std::floor(column) + 2; ++x) {
      const double w = weight(y - row) * weight(x - column);
      if (w != 0) sum += w * plane.At(y, x);
    }
  }
  return sum;
}

}  // namespace

absl::Status GridSampleReference(const OpCall& call, absl::Span<const ConstTensorView> inputs,
                                 absl::Span<const TensorView> outputs) {
  const Attributes& attributes = call.node->attributes;
  const bool align = attributes.Int("align_corners", 0) != 0;
  const std::string mode = attributes.String("mode", "linear");
  const std::string padding = attributes.String("padding_mode", "zeros");
  const Shape& x = inputs[0].type.shape;
  const Shape& points = inputs[1].type.shape;
  const std::vector<double> image = ToDoubles(inputs[0]), grid = ToDoubles(inputs[1]);
  const auto place = [align](double coordinate, int64_t extent) {
    const auto size = static_cast<double>(extent);
    return align ? (coordinate + 1) / 2 * (size - 1) : ((coordinate + 1) * size - 1) / 2;
  };
  std::vector<double> result;
  ForEachIndex(outputs[0].type.shape, [&](const Coordinates& index) {
    const Plane plane(image.data() + (index[0] * x[1] + index[1]) * x[2] * x[3], x[2], x[3],
                      padding, align);
    const auto at = static_cast<size_t>(FlatIndex(points, {index[0], index[2], index[3], 0}));
    result.push_back(Sample(plane, mode, place(grid[at + 1], x[2]), place(grid[at], x[3])));
  });
  FromDoubles(result, outputs[0]);
  return absl::OkStatus();
}

}  // namespace berth
