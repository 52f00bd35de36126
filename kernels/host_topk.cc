#include "kernels/host_topk.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "kernels/comparable.h"

namespace berth {
namespace {

struct Problem {
  int64_t outer = 0, axis = 0, inner = 0, k = 0;
  bool largest = true;
};

// Parameters come with the program: they must not reach beyond the operands.
bool Fits(const Operand& operand, const std::byte* data, int64_t elements) {
  return data == nullptr ||
         CheckedMul(elements, DTypeBytes(operand.dtype)) == operand.stride_bytes[0];
}

absl::StatusOr<Problem> ReadProblem(const HostCall& call) {
  const Command& c = *call.command;
  const int64_t* values = c.params.host.values;
  const Problem p{values[0], values[1], values[2], values[3], values[4] != 0};
  const auto lines = CheckedMul(p.outer, p.inner);
  const auto in = lines ? CheckedMul(*lines, p.axis) : std::nullopt;
  if (p.outer < 1 || p.inner < 1 || p.k < 1 || p.axis < p.k || !in || call.operands[1] == nullptr ||
      !Fits(c.in0, call.operands[1], *in) || !Fits(c.out, call.operands[0], *lines * p.k) ||
      !Fits(c.in1, call.operands[2], *lines * p.k) ||
      (call.operands[0] != nullptr && c.out.dtype != c.in0.dtype) ||
      (call.operands[2] != nullptr && c.in1.dtype != DType::kInt64)) {
    return InvalidArgument("top_k of [{}, {}, {}], k {}: operands have other sizes", p.outer,
                           p.axis, p.inner, p.k);
  }
  return p;
}

// A strict order over positions of a line, total even with NaN.
template <typename T>
struct Before {
  const T* line;
  int64_t stride;
  bool largest;

  bool operator()(int64_t a, int64_t b) const {
    const auto x = Comparable(line[a * stride]), y = Comparable(line[b * stride]);
    const bool x_is_nan = x != x, y_is_nan = y != y;
    if (x_is_nan != y_is_nan) return x_is_nan == largest;
    if (x_is_nan || x == y) return a < b;
    return largest ? x > y : x < y;
  }
};

template <typename T>
void SortLines(const Problem& p, const T* in, T* values, int64_t* positions) {
  std::vector<int64_t> order(static_cast<size_t>(p.axis));
  for (int64_t o = 0; o < p.outer; ++o) {
    for (int64_t i = 0; i < p.inner; ++i) {
      const T* line = in + o * p.axis * p.inner + i;
      std::iota(order.begin(), order.end(), int64_t{0});
      std::partial_sort(order.begin(), order.begin() + p.k, order.end(),
                        Before<T>{line, p.inner, p.largest});
      for (int64_t rank = 0; rank < p.k; ++rank) {
        const int64_t position = order[static_cast<size_t>(rank)];
        const int64_t target = (o * p.k + rank) * p.inner + i;
        if (values != nullptr) values[target] = line[position * p.inner];
        if (positions != nullptr) positions[target] = position;
      }
    }
  }
}

}  // namespace

absl::Status HostTopK(const HostCall& call) {
  BERTH_ASSIGN_OR_RETURN(const Problem problem, ReadProblem(call));
  VisitDType(call.command->in0.dtype, [&]<typename T>() {
    SortLines(problem, reinterpret_cast<const T*>(call.operands[1]),
              reinterpret_cast<T*>(call.operands[0]), reinterpret_cast<int64_t*>(call.operands[2]));
  });
  return absl::OkStatus();
}

}  // namespace berth
