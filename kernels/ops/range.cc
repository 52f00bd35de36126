#include "kernels/ops/range.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "base/checked_math.h"
#include "kernels/ops/dtype_check.h"
#include "kernels/ops/expansions.h"

namespace berth {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 26;

// Integers exactly, reals in double.
absl::StatusOr<int64_t> CountOfIntegers(const OpCall& call) {
  int64_t bounds[3];
  for (int i = 0; i < 3; ++i) {
    BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> value,
                           ToInt64Values(call.Constant(i)->view()));
    bounds[i] = value[0];
  }
  const auto [start, limit, delta] = bounds;
  if (delta == 0) return InvalidArgument("delta is 0");
  const auto distance = delta > 0 ? CheckedSub(limit, start) : CheckedSub(start, limit);
  if (!distance || delta == std::numeric_limits<int64_t>::min()) {
    return InvalidArgument("from {} to {} by {}", start, limit, delta);
  }
  return *distance <= 0 ? 0 : (*distance - 1) / std::abs(delta) + 1;
}

double RealOf(const Tensor& scalar) {
  if (scalar.dtype() == DType::kFloat64) return scalar.Values<double>()[0];
  return double{(*ToFloatValues(scalar.view()))[0]};
}

absl::StatusOr<int64_t> CountOfReals(const OpCall& call) {
  const double start = RealOf(*call.Constant(0)), limit = RealOf(*call.Constant(1));
  const double delta = RealOf(*call.Constant(2));
  const double count = std::ceil((limit - start) / delta);
  if (!std::isfinite(count)) return InvalidArgument("from {} to {} by {}", start, limit, delta);
  if (count > static_cast<double>(kMostElements)) return kMostElements + 1;
  return count > 0 ? static_cast<int64_t>(count) : 0;
}

absl::StatusOr<std::vector<TensorType>> RangeTypes(const OpCall& call) {
  BERTH_RETURN_IF_ERROR(CheckInputCount(call, 3, 3));
  const char* const names[] = {"start", "limit", "delta"};
  for (int i = 0; i < 3; ++i) {
    BERTH_RETURN_IF_ERROR(CheckInput(call, i, DTypeClass::kNumeric));
    if (call.input(i).dtype != call.input(0).dtype || call.input(i).shape.ElementCount() != 1) {
      return InvalidArgument("input {} ({}) is {}, input 0 {}", i, names[i],
                             call.input(i).ToString(), call.input(0).ToString());
    }
    if (call.Constant(i) == nullptr) {
      return FailedPrecondition("input {} ({}) decides a shape but is not known at compile time", i,
                                names[i]);
    }
  }
  BERTH_ASSIGN_OR_RETURN(const int64_t count,
                         IsFloat(call.input(0).dtype) ? CountOfReals(call) : CountOfIntegers(call));
  if (count > kMostElements) {
    return ResourceExhausted("a range of {} elements, at most {} are supported", count,
                             kMostElements);
  }
  return std::vector<TensorType>{{call.input(0).dtype, Shape{count}}};
}

absl::Status ExpandRange(const OpCall& call, GraphRewriter& rewrite) {
  rewrite.Alias(rewrite.Constant(RangeValues(call, call.output())), call.node->outputs[0]);
  return rewrite.status();
}

}  // namespace

Tensor RangeValues(const OpCall& call, const TensorType& type) {
  Tensor range(type);
  VisitDType(type.dtype, [&]<typename T>() {
    const absl::Span<T> values = range.Values<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        const auto start = static_cast<uint64_t>(call.Constant(0)->Values<T>()[0]);
        const auto delta = static_cast<uint64_t>(call.Constant(2)->Values<T>()[0]);
        values[i] = static_cast<T>(start + uint64_t{i} * delta);
      } else {
        const double start = RealOf(*call.Constant(0)), delta = RealOf(*call.Constant(2));
        const double value = start + static_cast<double>(i) * delta;
        if constexpr (sizeof(T) == sizeof(double)) {
          values[i] = value;
        } else {
          values[i] = T(static_cast<float>(value));
        }
      }
    }
  });
  return range;
}

const OpDef& RangeOp() {
  static const OpDef def{.kind = OpKind::kRange, .infer_types = RangeTypes, .expand = ExpandRange};
  return def;
}

}  // namespace berth
