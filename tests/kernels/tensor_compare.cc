#include <cmath>

#include "tests/kernels/op_harness.h"

namespace berth::testing {
namespace {

double DefaultTolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 1e-6;  // parameters of commands are float32
    case DType::kFloat32:
      return 2e-6;
    case DType::kFloat16:
      return 2e-3;
    case DType::kBFloat16:
      return 2e-2;
    default:
      return 0;
  }
}

std::vector<double> AsDoubles(const Tensor& tensor) {
  std::vector<double> result;
  VisitDType(tensor.dtype(), [&]<typename T>() {
    for (const T value : tensor.Values<T>()) {
      if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>) {
        result.push_back(static_cast<float>(value));
      } else {
        result.push_back(static_cast<double>(value));
      }
    }
  });
  return result;
}

bool Agree(double actual, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected) || tolerance == 0) return actual == expected;
  return std::abs(actual - expected) <= tolerance;
}

}  // namespace

::testing::AssertionResult TensorsAgree(const Tensor& actual, const Tensor& expected,
                                        const HarnessOptions& options) {
  if (actual.type() != expected.type()) {
    return ::testing::AssertionFailure()
           << "type " << actual.type().ToString() << ", expected " << expected.type().ToString();
  }
  if (actual.dtype() == DType::kInt64 || actual.dtype() == DType::kUInt64) {
    const auto a = actual.Values<int64_t>(), e = expected.Values<int64_t>();
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] != e[i]) {
        return ::testing::AssertionFailure()
               << "element " << i << " is " << a[i] << ", expected " << e[i];
      }
    }
    return ::testing::AssertionSuccess();
  }
  const std::vector<double> a = AsDoubles(actual), e = AsDoubles(expected);
  double largest = 0;
  for (const double value : e) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  const bool is_float = IsFloat(actual.dtype());
  const double relative = options.relative_tolerance >= 0 ? options.relative_tolerance
                                                          : DefaultTolerance(actual.dtype());
  const double absolute = options.absolute_tolerance >= 0 ? options.absolute_tolerance
                          : is_float                      ? DefaultTolerance(actual.dtype()) * 0.1
                                                          : 0;
  const double tolerance = is_float ? absolute + relative * largest : 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!Agree(a[i], e[i], tolerance)) {
      return ::testing::AssertionFailure()
             << "element " << i << " of " << a.size() << " is " << a[i] << ", expected " << e[i]
             << ", tolerance " << tolerance;
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace berth::testing
