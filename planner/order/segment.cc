#include "planner/order/segment.h"

#include <algorithm>
#include <numeric>

#include "planner/order/beam.h"
#include "planner/order/windows.h"

namespace berth {
namespace {

// A round has four times the work of the one before, and beams of twice the width.
constexpr int64_t kFirstUnits = 30'000;
constexpr int kFirstWidth = 4;
constexpr int kLargestPower = 10;
constexpr int kFirstNoisyRound = 6;
constexpr double kNoise = 0.1;

// Runs with at most `units` of the budget.
template <typename Search>
void RunWithin(int64_t units, WorkBudget& budget, Search&& search) {
  WorkBudget share{std::min(units, budget.LeftUnits()), budget.should_stop, 0, false};
  search(share);
  budget.Spend(share.spent_units);
  budget.was_stopped = budget.was_stopped || share.was_stopped;
}

std::vector<int> Identity(int count) {
  std::vector<int> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

int64_t SimpleBound(const OrderProblem& problem) {
  const OrderInstance instance(problem);
  const OrderInstance backward(Reversed(problem));
  int64_t bound_bytes = std::max(OrderState(instance).live_bytes, OrderState(backward).live_bytes);
  for (int node = 0; node < problem.node_count(); ++node) {
    int64_t used_bytes = instance.base_bytes + instance.workspace_bytes[static_cast<size_t>(node)];
    for (const int buffer : instance.node_buffers[node]) {
      used_bytes += instance.buffer_bytes[static_cast<size_t>(buffer)];
    }
    int64_t saved_bytes = 0;
    const std::span<const int> reuses = instance.node_reuses[node];
    for (size_t i = 0; i < reuses.size(); i += 2) {
      saved_bytes = std::max(saved_bytes,
                             std::min(instance.buffer_bytes[static_cast<size_t>(reuses[i])],
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
  for (const bool is_reversed : {true, false}) {
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
  for (Direction* direction : {&backward_, &forward_}) {
    RunWithin(units, budget, [&](WorkBudget& share) {
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
    });
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
      std::vector<int> order;
      RunWithin(units, budget,
                [&](WorkBudget& share) { verdict = decision.Within(limit_bytes, share, &order); });
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
  const int power = std::min(round, kLargestPower);
  const int64_t units = kFirstUnits << (2 * power);
  const uint64_t noise_seed = round < kFirstNoisyRound ? 0 : seed + static_cast<uint64_t>(round);
  RunWithin(units, budget,
            [&](WorkBudget& share) { Beams(goal_bytes, kFirstWidth << power, noise_seed, share); });
  if (IsDone(goal_bytes)) return;
  RunWithin(units / 2, budget, [&](WorkBudget& share) { Windows(goal_bytes, units / 64, share); });
  if (!IsDone(goal_bytes)) Decide(goal_bytes, units, budget);
  if (IsDone(goal_bytes)) return;
  RunWithin(units / 4, budget,
            [&](WorkBudget& share) { RaiseBound(goal_bytes, units / 16, share); });
}

}  // namespace berth
