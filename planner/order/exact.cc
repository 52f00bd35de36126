#include "planner/order/exact.h"

#include <algorithm>

#include "planner/order/node_set_table.h"

namespace berth {
namespace {

// A branch from a set of nodes: what to try next.
struct Choice {
  int64_t after_bytes;  // live after it
  int node;
  bool operator<(const Choice& other) const {
    return after_bytes != other.after_bytes ? after_bytes < other.after_bytes : node < other.node;
  }
};

// One set on the path from the start to where the search is.
struct Frame {
  int64_t live_bytes;
  size_t next_choice, end_choice;  // in choices_
  bool is_branching;
};

}  // namespace

class OrderDecision::Search {
 public:
  Search(const OrderInstance& instance, size_t max_sets)
      : instance_(instance),
        max_sets_(max_sets),
        state_(instance),
        failed_(static_cast<size_t>(instance.word_count)) {}

  OrderVerdict Within(int64_t limit_bytes, WorkBudget& budget, std::vector<int>* order) {
    limit_bytes_ = limit_bytes;
    if (state_.live_bytes > limit_bytes) return OrderVerdict::kImpossible;
    const OrderVerdict verdict = Run(budget);
    if (verdict == OrderVerdict::kFound) *order = path_;
    while (!path_.empty()) StepBack();
    frames_.clear();
    choices_.clear();
    return verdict;
  }

 private:
  OrderVerdict Run(WorkBudget& budget) {
    if (!Enter(budget)) return OrderVerdict::kImpossible;
    while (true) {
      if (static_cast<int>(path_.size()) == instance_.node_count) return OrderVerdict::kFound;
      Frame& frame = frames_.back();
      if (frame.next_choice < frame.end_choice) {
        const int node = choices_[frame.next_choice++].node;
        RunNode(instance_, state_, node);
        path_.push_back(node);
        if (Enter(budget)) continue;
        StepBack();
        if (budget.LeftUnits() <= 0 || failed_.size() >= max_sets_) return OrderVerdict::kUnknown;
        continue;
      }
      if (frame.is_branching) failed_.Insert(state_.done, state_.hash);
      choices_.resize(frames_.size() > 1 ? frames_[frames_.size() - 2].end_choice : 0);
      frames_.pop_back();
      if (frames_.empty()) return OrderVerdict::kImpossible;
      StepBack();
      if (budget.IsExhausted()) return OrderVerdict::kUnknown;
    }
  }

  void StepBack() {
    UndoNode(instance_, state_, path_.back());
    path_.pop_back();
  }

  // Pushes the frame of the set that was reached, unless it is known to fail.
  bool Enter(WorkBudget& budget) {
    DropAlternatives(budget);
    const size_t begin = choices_.size();
    bool is_forced = false;
    ForEachNode(state_.ready, [&](int node) {
      budget.Spend(1);
      const OrderStep step = MeasureStep(instance_, state_, node);
      if (step.need_bytes > limit_bytes_) return true;
      if (step.delta_bytes <= 0) {
        choices_.resize(begin);
        is_forced = true;
      }
      choices_.push_back({state_.live_bytes + step.delta_bytes, node});
      return !is_forced;
    });
    const bool is_complete = static_cast<int>(path_.size()) == instance_.node_count;
    const bool is_branching = choices_.size() - begin > 1;
    if (is_branching && failed_.Contains(state_.done, state_.hash)) choices_.resize(begin);
    if (choices_.size() == begin && !is_complete) return false;
    std::sort(choices_.begin() + static_cast<ptrdiff_t>(begin), choices_.end());
    frames_.push_back({state_.live_bytes, begin, choices_.size(), is_branching});
    return true;
  }

  // Where the set just reached is a valley for a set on the path, nothing else is tried from there.
  void DropAlternatives(WorkBudget& budget) {
    size_t nearest = frames_.size(), furthest = frames_.size();
    for (size_t i = frames_.size(); i-- > 0 && frames_.size() - i <= kLongestValley;) {
      if (frames_[i].live_bytes < state_.live_bytes) break;
      if (frames_[i].next_choice == frames_[i].end_choice) continue;
      if (nearest == frames_.size()) nearest = i;
      furthest = i;
    }
    if (nearest == frames_.size()) return;
    if (furthest != nearest && !IsValleyFrom(furthest, budget)) furthest = nearest;
    if (furthest == nearest && !IsValleyFrom(nearest, budget)) return;
    for (size_t i = furthest; i < frames_.size(); ++i) {
      frames_[i].next_choice = frames_[i].end_choice;
    }
  }

  // No set between that of the frame and the one reached has fewer bytes live. Takes nodes out of
  // the one reached in every way, up to a number of sets.
  bool IsValleyFrom(size_t frame, WorkBudget& budget) {
    const std::span<const int> added(path_.data() + frame, path_.size() - frame);
    valley_bytes_ = state_.live_bytes;
    valley_sets_.clear();
    const bool is_valley = NoneIsLower(added, 0);
    budget.Spend(static_cast<int64_t>(valley_sets_.size()));
    return is_valley;
  }

  bool NoneIsLower(std::span<const int> added, uint32_t taken_out) {
    for (size_t i = added.size(); i-- > 0;) {
      const uint32_t without = taken_out | (uint32_t{1} << i);
      if (without == taken_out || !IsLast(added[i])) continue;
      if (std::find(valley_sets_.begin(), valley_sets_.end(), without) != valley_sets_.end()) {
        continue;
      }
      if (valley_sets_.size() == kMostValleySets) return false;
      valley_sets_.push_back(without);
      UndoNode(instance_, state_, added[i]);
      const bool holds = state_.live_bytes >= valley_bytes_ && NoneIsLower(added, without);
      RunNode(instance_, state_, added[i]);
      if (!holds) return false;
    }
    return true;
  }

  // No successor of the node ran.
  bool IsLast(int node) const {
    const std::span<const int> after = instance_.successors[node];
    return std::none_of(after.begin(), after.end(), [&](int next) {
      return (state_.done[static_cast<size_t>(next / 64)] >> (next % 64) & 1) != 0;
    });
  }

  static constexpr size_t kLongestValley = 16;
  static constexpr size_t kMostValleySets = 100;

  const OrderInstance& instance_;
  const size_t max_sets_;
  OrderState state_;
  NodeSetTable failed_;
  int64_t limit_bytes_ = 0;
  std::vector<int> path_;
  std::vector<Frame> frames_;
  std::vector<Choice> choices_;  // of all frames, one after the other
  int64_t valley_bytes_ = 0;
  std::vector<uint32_t> valley_sets_;
};

OrderDecision::OrderDecision(const OrderInstance& instance, size_t max_sets)
    : search_(std::make_unique<Search>(instance, max_sets)) {}
OrderDecision::~OrderDecision() = default;

OrderVerdict OrderDecision::Within(int64_t limit_bytes, WorkBudget& budget,
                                   std::vector<int>* order) {
  return search_->Within(limit_bytes, budget, order);
}

}  // namespace berth
