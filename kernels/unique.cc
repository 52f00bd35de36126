#include "kernels/unique.h"

#include <algorithm>
#include <numeric>

#include "kernels/comparable.h"

namespace berth {
namespace {

// -1, 0 or 1; total even with NaN.
template <typename T>
int Compare(T a, T b) {
  const auto x = Comparable(a), y = Comparable(b);
  const bool x_is_nan = x != x, y_is_nan = y != y;
  if (x_is_nan || y_is_nan) return static_cast<int>(x_is_nan) - static_cast<int>(y_is_nan);
  return x < y ? -1 : x > y ? 1 : 0;
}

template <typename T>
int CompareSlices(const UniqueProblem& p, const T* data, int64_t a, int64_t b) {
  for (int64_t o = 0; o < p.outer; ++o) {
    for (int64_t i = 0; i < p.inner; ++i) {
      const int order =
          Compare(data[(o * p.axis + a) * p.inner + i], data[(o * p.axis + b) * p.inner + i]);
      if (order != 0) return order;
    }
  }
  return 0;
}

// Groups of equal slices in sorted order, each by position.
template <typename T>
std::vector<std::vector<int64_t>> Groups(const UniqueProblem& p, const T* data) {
  std::vector<int64_t> order(static_cast<size_t>(p.axis));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return CompareSlices(p, data, a, b) < 0; });
  std::vector<std::vector<int64_t>> groups;
  for (const int64_t position : order) {
    if (groups.empty() || CompareSlices(p, data, groups.back()[0], position) != 0) {
      groups.emplace_back();
    }
    groups.back().push_back(position);
  }
  return groups;
}

}  // namespace

UniqueResult FindUnique(const UniqueProblem& problem, const std::byte* data) {
  std::vector<std::vector<int64_t>> groups;
  VisitDType(problem.dtype,
             [&]<typename T>() { groups = Groups(problem, reinterpret_cast<const T*>(data)); });
  if (!problem.sorted) {
    std::sort(groups.begin(), groups.end(),
              [](const auto& a, const auto& b) { return a[0] < b[0]; });
  }
  UniqueResult result;
  result.inverse.resize(static_cast<size_t>(problem.axis));
  for (const std::vector<int64_t>& group : groups) {
    for (const int64_t position : group) {
      result.inverse[static_cast<size_t>(position)] = static_cast<int64_t>(result.first.size());
    }
    result.first.push_back(group[0]);
    result.counts.push_back(static_cast<int64_t>(group.size()));
  }
  return result;
}

}  // namespace berth
