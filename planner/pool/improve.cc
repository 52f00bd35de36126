#include "planner/pool/improve.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>

#include "planner/pool/exact/search.h"
#include "planner/pool/measures.h"
#include "planner/pool/neighbourhood.h"
#include "planner/pool/squeaky_wheel.h"

namespace berth {
namespace {

constexpr int64_t kMostPairs = 1'500'000;
// A turn of the wheel over more blocks takes seconds.
constexpr int64_t kMostBlocksForRounds = 3000;
constexpr int64_t kSliceUnits = 25'000;  // between two looks at the clock: some 100 us
constexpr int64_t kFirstRoundUnits = 50'000;
constexpr int64_t kLastRoundUnits = 5'000'000;
constexpr int64_t kUnitsBeforeThreads = 1'000'000;  // small problems end sooner than threads start

// The more blocks, the more the wheel does for its work, and the less exact searches do.
constexpr int64_t kBlocksPerWheelShare = 100;
constexpr int64_t kLargestWheelShare = 12;

struct MemberKind {
  BlockMeasure measure;
  SectionChoice section_choice;
  double noise;
  double height;  // between the bound (0) and what is just better than the plan (1)
  int64_t restart_units;
  int64_t share;  // of the work of a round
};

constexpr MemberKind kExactMembers[] = {
    {BlockMeasure::kTightLength, SectionChoice::kFewestPerFailure, 0.05, 0.0, 100'000, 3},
    {BlockMeasure::kTightLength, SectionChoice::kLowest, 0.1, 0.0, 100'000, 2},
    {BlockMeasure::kLengthRootSize, SectionChoice::kFewestPerFailure, 0.2, 0.25, 100'000, 1},
    {BlockMeasure::kTightLength, SectionChoice::kFewestPerFailure, 0.05, 0.6, 100'000, 2},
    {BlockMeasure::kLoadThenLength, SectionChoice::kEarliest, 0.2, 0.0, 100'000, 1},
    {BlockMeasure::kTightArea, SectionChoice::kFewestPerFailure, 0.3, 0.75, 300'000, 1},
    {BlockMeasure::kLength, SectionChoice::kLowest, 0.3, 1.0, 150'000, 1},
};

// What all members see of the search when a round begins.
struct Situation {
  int64_t lower_bound_bytes;
  int64_t target_bytes;
  bool only_fit;
  const Incumbent* incumbent;
};

struct Report {
  Incumbent found;             // lower than the incumbent, if any
  int64_t refuted_bytes = -1;  // no plan is as low as this
  int64_t spent_units = 0;
  bool reached_target = false;
};

class ExactMember {
 public:
  ExactMember(const BlockSet& set, const ExactModel& model, const MemberKind& kind, uint64_t seed)
      : set_(set),
        model_(model),
        height_(kind.height),
        search_(model, Strategy(set, model, kind, seed)) {
    name_ = fmt::format("exact search by {}", BlockMeasureName(kind.measure));
  }

  // Keeps its height for as long as it is worth knowing.
  void Aim(const Situation& situation) {
    const int64_t unit_bytes = model_.unit_bytes;
    const int64_t lowest = (situation.lower_bound_bytes + unit_bytes - 1) / unit_bytes;
    int64_t highest = (situation.incumbent->height_bytes - 1) / unit_bytes;
    if (situation.only_fit) highest = std::min(highest, situation.target_bytes / unit_bytes);
    if (has_height_ && search_.height() >= lowest && search_.height() <= highest) return;
    const double share = situation.only_fit ? 1 : height_;
    const auto above = static_cast<int64_t>(share * static_cast<double>(highest - lowest));
    // A double may round `above` up, past the highest.
    search_.SetHeight(std::max(std::min(lowest + above, highest), lowest));
    has_height_ = true;
  }

  // True when there is nothing more to do at this height.
  bool Run(int64_t units, Report* report) {
    const int64_t before_units = search_.spent_units();
    const ExactOutcome outcome = search_.Run(units);
    report->spent_units += search_.spent_units() - before_units;
    if (outcome == ExactOutcome::kRefuted) {
      report->refuted_bytes = search_.height() * model_.unit_bytes + model_.unit_bytes - 1;
    }
    if (outcome == ExactOutcome::kFound) report->found.Offer(FoundPlan(), name_);
    return outcome != ExactOutcome::kUndecided;
  }

 private:
  static ExactStrategy Strategy(const BlockSet& set, const ExactModel& model,
                                const MemberKind& kind, uint64_t seed) {
    const std::vector<double> measured = MeasureBlocks(set, kind.measure);
    std::vector<double> priorities;
    for (const int32_t block : model.set_block) priorities.push_back(measured[block]);
    return {.section_choice = kind.section_choice,
            .priorities = std::move(priorities),
            .noise = kind.noise,
            .restart_units = kind.restart_units,
            .seed = seed};
  }

  Trial FoundPlan() const {
    Trial trial = {.is_complete = true};
    for (const Block& block : set_.blocks) trial.offset_bytes.push_back(block.fixed_offset_bytes);
    for (size_t i = 0; i < model_.set_block.size(); ++i) {
      trial.offset_bytes[model_.set_block[i]] = search_.offsets()[i] * model_.unit_bytes;
    }
    trial.height_bytes = HeightBytes(set_, trial.offset_bytes);
    return trial;
  }

  const BlockSet& set_;
  const ExactModel& model_;
  double height_;
  ExactSearch search_;
  std::string name_;
  bool has_height_ = false;
};

class Rounds {
 public:
  Rounds(const BlockSet& set, int64_t lower_bound_bytes, const ImproveOptions& options,
         WorkBudget* budget, Incumbent* incumbent)
      : set_(set),
        options_(options),
        budget_(budget),
        incumbent_(incumbent),
        bound_bytes_(lower_bound_bytes),
        wheel_(set, options.seed),
        wheel_share_(std::clamp<int64_t>(std::ssize(set.blocks) / kBlocksPerWheelShare, 1,
                                         options.only_fit ? 1 : kLargestWheelShare)),
        model_(MakeExactModel(set, kMostPairs)) {}

  int64_t Run() {
    int64_t round_units = kFirstRoundUnits;
    while (!IsDone() && !budget_->IsExhausted()) {
      AddMembers();
      int64_t shares = 0;
      for (size_t i = 0; i < MemberCount(); ++i) shares += ShareOf(i);
      const int64_t share = budget_->LeftUnits() / shares + 1;
      RunRound(std::min(round_units, share));
      round_units = std::min(round_units + round_units / 2, kLastRoundUnits);
    }
    return bound_bytes_;
  }

 private:
  // Two more for each round: small problems need not the cost of all.
  void AddMembers() {
    for (int k = 0; model_ && k < 2 && members_.size() < std::size(kExactMembers); ++k) {
      members_.push_back(std::make_unique<ExactMember>(
          set_, *model_, kExactMembers[members_.size()], options_.seed * 1000 + members_.size()));
    }
  }

  size_t MemberCount() const { return members_.size() + 1; }
  int64_t ShareOf(size_t member) const {
    return member == 0 ? wheel_share_ : kExactMembers[member - 1].share;
  }
  bool IsDone() const {
    return incumbent_->height_bytes <= std::max(options_.target_bytes, bound_bytes_) ||
           (options_.only_fit && bound_bytes_ > options_.target_bytes);
  }
  bool ReachesTarget(const Incumbent& found) const {
    return found.height_bytes <= std::max(options_.target_bytes, bound_bytes_);
  }

  void RunRound(int64_t units) {
    reports_.assign(MemberCount(), {});
    first_reached_units_ = kUnlimitedBytes;
    const Situation situation = {bound_bytes_, options_.target_bytes, options_.only_fit,
                                 incumbent_};
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t i = next++; i < MemberCount(); i = next++) {
        RunMember(i, situation, units * ShareOf(i));
      }
    };
    std::vector<std::jthread> threads;
    if (budget_->spent_units >= kUnitsBeforeThreads) {
      for (int t = 1; t < std::min<int>(options_.threads, static_cast<int>(MemberCount())); ++t) {
        threads.emplace_back(work);
      }
    }
    work();
    threads.clear();
    Merge();
  }

  void RunMember(size_t index, const Situation& situation, int64_t units) {
    Report& report = reports_[index];
    if (index > 0) members_[index - 1]->Aim(situation);
    report.found.height_bytes = situation.incumbent->height_bytes;
    while (report.spent_units < units && report.spent_units <= first_reached_units_ &&
           !was_stopped_) {
      const bool is_done = index == 0 ? TurnWheel(situation, &report)
                                      : members_[index - 1]->Run(kSliceUnits, &report);
      if (ReachesTarget(report.found)) {
        report.reached_target = true;
        int64_t first = first_reached_units_;
        while (report.spent_units < first &&
               !first_reached_units_.compare_exchange_weak(first, report.spent_units)) {
        }
      }
      if (is_done || report.reached_target) break;
      if (budget_->should_stop && budget_->should_stop()) was_stopped_ = true;
    }
  }

  bool TurnWheel(const Situation& situation, Report* report) {
    WorkBudget spent;
    wheel_.Turn(situation.only_fit ? std::max(situation.lower_bound_bytes, situation.target_bytes)
                                   : situation.lower_bound_bytes,
                &spent, &report->found);
    report->spent_units += std::max<int64_t>(spent.spent_units, 1);
    return ReachesTarget(report->found);
  }

  // Where the target was reached, by the member that did so with the least work.
  void Merge() {
    budget_->was_stopped = budget_->was_stopped || was_stopped_;
    const int64_t first_units = first_reached_units_;
    for (const Report& report : reports_) {
      budget_->Spend(std::min(report.spent_units, first_units));
      if (first_units == kUnlimitedBytes) {
        bound_bytes_ = std::max(bound_bytes_, report.refuted_bytes + 1);
      }
    }
    for (Report& report : reports_) {
      if (first_units != kUnlimitedBytes &&
          (!report.reached_target || report.spent_units != first_units)) {
        continue;
      }
      if (report.found.offset_bytes.empty()) continue;
      incumbent_->Take(std::move(report.found));
    }
  }

  const BlockSet& set_;
  const ImproveOptions options_;
  WorkBudget* budget_;
  Incumbent* incumbent_;
  int64_t bound_bytes_;
  SqueakyWheel wheel_;
  const int64_t wheel_share_;  // of the work, where each exact member has one
  const std::optional<ExactModel> model_;
  std::vector<std::unique_ptr<ExactMember>> members_;
  std::vector<Report> reports_;
  std::atomic<int64_t> first_reached_units_ = 0;
  std::atomic<bool> was_stopped_ = false;
};

}  // namespace

int64_t ImproveInRounds(const BlockSet& set, int64_t lower_bound_bytes,
                        const ImproveOptions& options, WorkBudget* budget, Incumbent* incumbent) {
  const auto block_count = static_cast<int64_t>(set.blocks.size());
  if (block_count * block_count > budget->LeftUnits()) return lower_bound_bytes;
  if (block_count > kMostBlocksForRounds) {
    ImproveByNeighbourhoods(set, lower_bound_bytes, options.target_bytes, options.seed, budget,
                            incumbent);
    return lower_bound_bytes;
  }
  return Rounds(set, lower_bound_bytes, options, budget, incumbent).Run();
}

}  // namespace berth
