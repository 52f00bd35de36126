#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/kernels/op_harness.h"

namespace berth::testing {

int64_t RandomInt(Random& random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

bool Chance(Random& random, double probability) {
  return std::uniform_real_distribution<double>(0, 1)(random) < probability;
}

Shape RandomShape(Random& random, int min_rank, int max_rank, int64_t max_extent) {
  std::vector<int64_t> extents(static_cast<size_t>(RandomInt(random, min_rank, max_rank)));
  for (int64_t& extent : extents) extent = RandomInt(random, 1, max_extent);
  return Shape(std::move(extents));
}

Shape RandomBroadcastOf(Random& random, const Shape& target) {
  const int dropped = static_cast<int>(RandomInt(random, 0, target.rank()));
  std::vector<int64_t> extents;
  for (int axis = dropped; axis < target.rank(); ++axis) {
    extents.push_back(Chance(random, 0.4) ? 1 : target[axis]);
  }
  return Shape(std::move(extents));
}

Tensor RandomTensor(Random& random, DType dtype, const Shape& shape, double low, double high) {
  Tensor tensor(TensorType{dtype, shape});
  std::uniform_real_distribution<double> uniform(low, high);
  VisitDType(dtype, [&]<typename T>() {
    for (T& value : tensor.Values<T>()) {
      if constexpr (std::is_same_v<T, bool>) {
        value = Chance(random, 0.5);
      } else if constexpr (std::is_integral_v<T>) {
        const double limit_low = static_cast<double>(std::numeric_limits<T>::lowest());
        const double limit_high = static_cast<double>(std::numeric_limits<T>::max());
        value = static_cast<T>(std::clamp(std::round(uniform(random)), limit_low, limit_high));
      } else if constexpr (sizeof(T) == 2) {
        value = T(static_cast<float>(uniform(random)));
      } else {
        value = static_cast<T>(uniform(random));
      }
    }
  });
  return tensor;
}

Tensor ScalarF32(float value) {
  return Tensor::FromValues<float>(DType::kFloat32, Shape{}, {value});
}

Tensor Int64Tensor(const std::vector<int64_t>& values) {
  return Tensor::FromValues<int64_t>(DType::kInt64, Shape{static_cast<int64_t>(values.size())},
                                     values);
}

}  // namespace berth::testing
