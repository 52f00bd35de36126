#include "planner/order/segment.h"

#include <algorithm>
#include <numeric>

#include "planner/order/beam.h"
#include "planner/order/windows.h"

namespace berth {
namespace {

constexpr int64_t kFirstDecisionUnits = 30'000;
constexpr int kFirstWidth = 4;
constexpr int kLargestWidth = 4096;
constexpr double kNoise = 0.1;

std::vector<int> Identity(int count) {
  std::vector<int> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

int64_t SimpleBound(const OrderProblem& problem) {
  const OrderInstance instance(problem);
  const OrderInstance backward(Reversed(problem));
  int64_t bound_bytes =
      std::max(OrderState(instance).live_bytes, OrderState(backward).live_bytes);
  for (int node = 0; node < problem.node_count(); ++node) {
    int64_t used_bytes = instance.base_bytes + instance.workspace_bytes[static_cast<size_t>(node)];
    for (const int buffer : instance.node_buffers[node]) {
      used_bytes += instance.buffer_bytes[static_cast<size_t>(buffer)];
    }
    int64_t saved_bytes = 0;
    const std::span<const int> reuses = instance.node_reuses[node];
    for (size_t i = 0; i < reuses.size(); i += 2) {
      saved_bytes = std::max(
          saved_bytes, std::min(instance.buffer_bytes[static_cast<size_t>(reuses[i])],
                                instance.buffer_bytes[static_cast<size_t>(reuses[i + 1])]));
    }
    bound_bytes = std::max(bound_bytes, used_bytes - saved_bytes);
  }
  return bound_bytes;
}

OrderSegment::OrderSegment(OrderProblem problem, size_t max_sets)
    : problem_(std::move(problem)),
      order_(Identity(problem_.node_count())),
      peak_bytes_(PeakOfOrder(problem_, order_)),
      lower_bound_bytes_(SimpleBound(problem_)),
      max_sets_(max_sets),
      forward_(problem_, max_sets),
      backward_(Reversed(problem_), max_sets) {}

bool OrderSegment::Offer(const char* method, std::vector<int> order, bool is_reversed) {
  if (is_reversed) std::reverse(order.begin(), order.end());
  const int64_t peak_bytes = PeakOfOrder(problem_, order);
  if (peak_bytes >= peak_bytes_) return false;
  peak_bytes_ = peak_bytes;
  order_ = std::move(order);
  method_ = method;
  return true;
}

bool OrderSegment::OneBeam(int64_t limit_bytes, int width, uint64_t seed, WorkBudget& budget) {
  for (const bool is_reversed : {false, true}) {
    OrderBeamOptions options;
    options.width = width;
    options.limit_bytes = limit_bytes;
    options.seed = seed;
    options.noise = seed == 0 ? 0 : kNoise;
    auto order = BeamOrder((is_reversed ? backward_ : forward_).instance, options, budget);
    if (order && Offer("beam", *std::move(order), is_reversed)) return true;
  }
  return false;
}

// Limits far below the peak are tried first, closer ones as they fail.
void OrderSegment::Beams(int64_t goal_bytes, int width, uint64_t seed, WorkBudget& budget) {
  int64_t divisor = 4;
  while (!IsDone(goal_bytes) && !budget.IsExhausted()) {
    const int64_t floor_bytes = std::max(goal_bytes, lower_bound_bytes_);
    const int64_t cut_bytes = std::max<int64_t>(1, (peak_bytes_ - floor_bytes) / divisor);
    if (OneBeam(peak_bytes_ - cut_bytes, width, seed, budget)) continue;
    if (cut_bytes == 1 || divisor > 256) return;
    divisor = divisor == 256 ? peak_bytes_ : divisor * 8;
  }
}

void OrderSegment::Decide(int64_t goal_bytes, int64_t units, WorkBudget& budget) {
  for (Direction* direction : {&forward_, &backward_}) {
    WorkBudget share{std::min(units, budget.LeftUnits()), budget.should_stop, 0, false};
    OrderVerdict verdict = OrderVerdict::kFound;
    while (verdict == OrderVerdict::kFound && !IsDone(goal_bytes)) {
      std::vector<int> order;
      verdict = direction->decision.Within(peak_bytes_ - 1, share, &order);
      if (verdict == OrderVerdict::kFound) {
        Offer("exact", std::move(order), direction == &backward_);
      } else if (verdict == OrderVerdict::kImpossible) {
        lower_bound_bytes_ = peak_bytes_;
      }
    }
    budget.Spend(share.spent_units);
    budget.was_stopped = budget.was_stopped || share.was_stopped;
  }
}

// Decides limits between bound and peak, halfway at first: those that are refused soon are bounds.
void OrderSegment::RaiseBound(int64_t goal_bytes, int64_t units, WorkBudget& budget) {
  for (int64_t divisor = 2; divisor <= 16 && !IsDone(goal_bytes) && !budget.IsExhausted();) {
    const int64_t limit_bytes =
        lower_bound_bytes_ + (peak_bytes_ - lower_bound_bytes_) / divisor - 1;
    if (limit_bytes < lower_bound_bytes_) return;
    OrderVerdict verdict = OrderVerdict::kUnknown;
    for (Direction* direction : {&backward_, &forward_}) {
      OrderDecision decision(direction->instance, max_sets_);
      WorkBudget share{std::min(units, budget.LeftUnits()), budget.should_stop, 0, false};
      std::vector<int> order;
      verdict = decision.Within(limit_bytes, share, &order);
      budget.Spend(share.spent_units);
      budget.was_stopped = budget.was_stopped || share.was_stopped;
      if (verdict == OrderVerdict::kFound) {
        Offer("exact", std::move(order), direction == &backward_);
      }
      if (verdict != OrderVerdict::kUnknown) break;
    }
    if (verdict == OrderVerdict::kImpossible) lower_bound_bytes_ = limit_bytes + 1;
    if (verdict == OrderVerdict::kUnknown) divisor *= 2;
  }
}

void OrderSegment::Windows(int64_t goal_bytes, int64_t units, WorkBudget& budget) {
  std::vector<int> order = order_;
  const int64_t floor_bytes = std::max(goal_bytes, lower_bound_bytes_);
  if (ImproveWindows(problem_, order, floor_bytes, units, budget)) {
    Offer("windows", std::move(order), false);
  }
}

void OrderSegment::Improve(int64_t goal_bytes, int round, uint64_t seed, WorkBudget& budget) {
  const int power = std::min(round, 5);
  const int width = std::min(kLargestWidth, kFirstWidth << (2 * power));
  const int64_t units = kFirstDecisionUnits << (3 * power);
  Beams(goal_bytes, width, round < 5 ? 0 : seed + static_cast<uint64_t>(round), budget);
  if (!IsDone(goal_bytes)) Windows(goal_bytes, units / 16, budget);
  if (!IsDone(goal_bytes)) Decide(goal_bytes, units, budget);
  if (!IsDone(goal_bytes)) RaiseBound(goal_bytes, units / 4, budget);
}

}  // namespace berth
