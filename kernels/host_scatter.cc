#include "kernels/host_scatter.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include "base/checked_math.h"
#include "base/dtype.h"

namespace berth {
namespace {

struct Problem {
  int64_t rows = 0, row_elements = 0, updates = 0;
  ScatterReduction reduction = ScatterReduction::kReplace;
};

// Parameters come with the program: they must not reach beyond the operands.
absl::StatusOr<Problem> ReadProblem(const HostCall& call) {
  const Command& c = *call.command;
  const int64_t* values = c.params.host.values;
  const Problem p{values[0], values[1], values[2], static_cast<ScatterReduction>(values[3])};
  const auto fits = [](const Operand& operand, const std::byte* data,
                       std::optional<int64_t> count) {
    return data != nullptr && count &&
           CheckedMul(*count, DTypeBytes(operand.dtype)) == operand.stride_bytes[0];
  };
  const auto elements = CheckedMul(p.rows, p.row_elements);
  const bool updates_fit =
      p.updates == 0 || (fits(c.in1, call.operands[2], p.updates) &&
                         fits(c.in2, call.operands[3], CheckedMul(p.updates, p.row_elements)) &&
                         c.in1.dtype == DType::kInt64 && c.in2.dtype == c.out.dtype);
  if (p.rows < 1 || p.row_elements < 1 || p.updates < 0 || values[3] < 0 ||
      p.reduction > ScatterReduction::kMin || c.out.dtype != c.in0.dtype ||
      !fits(c.out, call.operands[0], elements) || !fits(c.in0, call.operands[1], elements) ||
      !updates_fit) {
    return InvalidArgument("scatter of {} rows into [{}, {}]: operands have other sizes", p.updates,
                           p.rows, p.row_elements);
  }
  return p;
}

// Floats of 16 bits are combined in float32, integers wrap.
template <typename T>
T Combine(ScatterReduction reduction, T a, T b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
    return T(Combine(reduction, static_cast<float>(a), static_cast<float>(b)));
  } else {
    switch (reduction) {
      case ScatterReduction::kMax:
        return std::max(a, b);
      case ScatterReduction::kMin:
        return std::min(a, b);
      case ScatterReduction::kAdd:
      case ScatterReduction::kMultiply:
        break;
      case ScatterReduction::kReplace:
        return b;
    }
    const bool adds = reduction == ScatterReduction::kAdd;
    if constexpr (std::is_integral_v<T>) {
      const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
      return static_cast<T>(adds ? x + y : x * y);
    } else {
      return adds ? a + b : a * b;
    }
  }
}

template <typename T>
void WriteRow(const Problem& p, const T* source, T* target) {
  if (p.reduction == ScatterReduction::kReplace) {
    std::memcpy(target, source, static_cast<size_t>(p.row_elements) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < p.row_elements; ++i) {
    target[i] = Combine(p.reduction, target[i], source[i]);
  }
}

}  // namespace

absl::Status HostScatterRows(const HostCall& call) {
  BERTH_ASSIGN_OR_RETURN(const Problem p, ReadProblem(call));
  const Command& c = *call.command;
  std::memcpy(call.operands[0], call.operands[1], static_cast<size_t>(c.out.stride_bytes[0]));
  const auto* numbers = reinterpret_cast<const int64_t*>(call.operands[2]);
  for (int64_t i = 0; i < p.updates; ++i) {
    if (numbers[i] < -p.rows || numbers[i] >= p.rows) {
      return InvalidArgument("scatter: row {} is outside [-{}, {})", numbers[i], p.rows, p.rows);
    }
  }
  VisitDType(c.out.dtype, [&]<typename T>() {
    T* target = reinterpret_cast<T*>(call.operands[0]);
    const T* source = reinterpret_cast<const T*>(call.operands[3]);
    for (int64_t i = 0; i < p.updates; ++i) {
      const int64_t row = numbers[i] + (numbers[i] < 0 ? p.rows : 0);
      WriteRow(p, source + i * p.row_elements, target + row * p.row_elements);
    }
  });
  return absl::OkStatus();
}

}  // namespace berth
