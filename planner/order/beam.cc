#include "planner/order/beam.h"

#include <algorithm>
#include <unordered_set>

namespace berth {
namespace {

// A node to run from a set of the level.
struct Candidate {
  double score;
  uint64_t hash;  // of the set that it leads to
  int parent;     // in the level
  int node;
  bool operator<(const Candidate& other) const {
    return score != other.score ? score < other.score : hash < other.hash;
  }
};

// How a set of a level came to be.
struct Origin {
  int parent;
  int node;
};

class Beam {
 public:
  Beam(const OrderInstance& instance, const OrderBeamOptions& options)
      : instance_(instance), options_(options), level_(1, OrderState(instance)) {}

  std::optional<std::vector<int>> Run(WorkBudget& budget) {
    for (int count = 0; count < instance_.node_count; ++count) {
      if (budget.IsExhausted()) return std::nullopt;
      candidates_.clear();
      for (size_t i = 0; i < level_size_; ++i) Expand(static_cast<int>(i), budget);
      if (candidates_.empty()) return std::nullopt;
      TakeBest(budget);
    }
    return Order();
  }

 private:
  void Expand(int parent, WorkBudget& budget) {
    const OrderState& state = level_[static_cast<size_t>(parent)];
    const size_t begin = candidates_.size();
    ForEachNode(state.ready, [&](int node) {
      budget.Spend(1);
      const OrderStep step = MeasureStep(instance_, state, node);
      if (step.need_bytes > options_.limit_bytes) return true;
      // Such a node loses nothing by running at once (planner/order/exact.h).
      const bool is_forced = step.delta_bytes <= 0;
      if (is_forced) candidates_.resize(begin);
      const uint64_t hash = state.hash ^ instance_.node_hash[static_cast<size_t>(node)];
      candidates_.push_back({Score(state.live_bytes + step.delta_bytes, hash), hash, parent, node});
      return !is_forced;
    });
  }

  double Score(int64_t live_bytes, uint64_t hash) const {
    if (options_.noise == 0) return static_cast<double>(live_bytes);
    uint64_t mixed = (hash ^ options_.seed) * 0xff51afd7ed558ccdu;
    mixed ^= mixed >> 33;
    const double fraction = static_cast<double>(mixed >> 11) * 0x1p-53;
    return static_cast<double>(live_bytes) * (1 + options_.noise * fraction);
  }

  void TakeBest(WorkBudget& budget) {
    const size_t width = static_cast<size_t>(options_.width);
    // Several ways lead to one set: twice the width usually leaves enough distinct ones.
    if (candidates_.size() > 4 * width) {
      const auto end = candidates_.begin() + static_cast<ptrdiff_t>(4 * width);
      std::nth_element(candidates_.begin(), end, candidates_.end());
      candidates_.erase(end, candidates_.end());
    }
    std::sort(candidates_.begin(), candidates_.end());
    seen_.clear();
    std::vector<Origin>& origins = origins_.emplace_back();
    size_t taken = 0;
    for (const Candidate& candidate : candidates_) {
      if (taken == width) break;
      if (!seen_.insert(candidate.hash).second) continue;
      if (taken == next_.size()) next_.push_back(level_[0]);
      next_[taken] = level_[static_cast<size_t>(candidate.parent)];
      RunNode(instance_, next_[taken], candidate.node);
      origins.push_back({candidate.parent, candidate.node});
      ++taken;
    }
    budget.Spend(static_cast<int64_t>(taken) * instance_.node_count / 16);
    level_.swap(next_);
    level_size_ = taken;
  }

  std::vector<int> Order() const {
    std::vector<int> order;
    int at = 0;
    for (size_t count = origins_.size(); count-- > 0;) {
      const Origin& origin = origins_[count][static_cast<size_t>(at)];
      order.push_back(origin.node);
      at = origin.parent;
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  const OrderInstance& instance_;
  const OrderBeamOptions& options_;
  std::vector<OrderState> level_, next_;
  size_t level_size_ = 1;
  std::vector<Candidate> candidates_;
  std::unordered_set<uint64_t> seen_;
  std::vector<std::vector<Origin>> origins_;  // per level
};

}  // namespace

std::optional<std::vector<int>> BeamOrder(const OrderInstance& instance,
                                          const OrderBeamOptions& options, WorkBudget& budget) {
  return Beam(instance, options).Run(budget);
}

}  // namespace berth
