#include "planner/passes/reshape_order.h"

#include <algorithm>

namespace berth {
namespace {

struct AxisGroup {
  std::vector<int> from, to;
  int position = 0;  // where it stands in memory
};

std::vector<AxisGroup> GroupAxes(const Shape& from, const Shape& to) {
  std::vector<AxisGroup> groups;
  int i = 0, j = 0;
  while (i < from.rank() && j < to.rank()) {
    AxisGroup group;
    int64_t from_count = from[i], to_count = to[j];
    group.from.push_back(i++);
    group.to.push_back(j++);
    while (from_count != to_count) {
      if (from_count < to_count) {
        from_count *= from[i];
        group.from.push_back(i++);
      } else {
        to_count *= to[j];
        group.to.push_back(j++);
      }
    }
    groups.push_back(std::move(group));
  }
  // What is left has extent 1.
  if (groups.empty()) return groups;
  while (i < from.rank()) groups.back().from.push_back(i++);
  while (j < to.rank()) groups.back().to.push_back(j++);
  return groups;
}

// The first place in memory of an axis that counts, or of any when none does.
int PositionOf(const AxisGroup& group, const Shape& from, const Permutation& place) {
  int first = static_cast<int>(place.size()), first_of_any = first;
  for (const int axis : group.from) {
    const int at = place[static_cast<size_t>(axis)];
    first_of_any = std::min(first_of_any, at);
    if (from[axis] != 1) first = std::min(first, at);
  }
  return first < static_cast<int>(place.size()) ? first : first_of_any;
}

}  // namespace

std::optional<ReshapeOrder> PassThroughReshape(const Shape& from, const Shape& to,
                                               const Permutation& order) {
  if (from.ElementCount() == 0 || from.rank() == 0 || to.rank() == 0) return std::nullopt;
  std::vector<AxisGroup> groups = GroupAxes(from, to);
  const Permutation place = Inverse(order);
  for (AxisGroup& group : groups) group.position = PositionOf(group, from, place);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const AxisGroup& a, const AxisGroup& b) { return a.position < b.position; });
  ReshapeOrder result;
  for (const AxisGroup& group : groups) {
    result.from_order.insert(result.from_order.end(), group.from.begin(), group.from.end());
    result.to_order.insert(result.to_order.end(), group.to.begin(), group.to.end());
  }
  if (SignificantOrder(result.from_order, from) == SignificantOrder(order, from)) {
    result.from_order = order;
  }
  return result;
}

}  // namespace berth
