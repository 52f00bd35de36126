// Exact search: do all blocks fit under a height? Branch and bound over canonical placements.
//
// A plan is canonical when no block can be lowered; every plan can be made so. The search builds
// canonical plans from the bottom up. For each waiting block it keeps the lowest offset that is
// left to it; a section's floor is the least such offset of the blocks waiting there, so that
//     floor + bytes waiting <= height
// must hold, and more strongly, as on one machine with release times, the blocks taken by rising
// offset must end in time. It branches on a section: either one of the blocks that can lie at its
// floor lies there, or none does, which raises all of them to where the next waiting block could
// end. A section may be chosen when no other block can end below those: nothing is lost to what
// would have gone underneath. Any such section will do, so the search takes the one with the
// fewest choices where it failed most often (dom/wdeg), wherever it lies.
//
// Where no waiting block crosses a cut, the sides are solved apart, and the failure of one refutes
// the placement that separated them. States that failed are remembered by hash (128 bits).
// Of blocks that can be swapped (alike, or stacked over the same sections) one order is tried: the
// order that makes sum(offset x size x index) the largest.
//
// The search can be left at any unit of work and taken up again. It allocates nothing while it
// runs, but for the growth of its stacks.
// Ideas: MiniMalloc (Moffitt, ASPLOS'23) for canonical offsets, sections and dominance; TelaMalloc
// (Maas et al., ASPLOS'23) for split problems; dom/wdeg: Boussemart et al., ECAI 2004.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "planner/pool/exact/failed_states.h"
#include "planner/pool/exact/model.h"

namespace berth {

enum class ExactOutcome : uint8_t { kFound, kRefuted, kUndecided };

enum class SectionChoice : uint8_t {
  kFewestPerFailure,  // choices over failures
  kLowest,            // the lowest floor
  kTightest,          // the least slack
  kEarliest,          // the first in time
};

struct ExactStrategy {
  SectionChoice section_choice = SectionChoice::kFewestPerFailure;
  std::vector<double> priorities;   // by block of the model: larger is tried first
  double noise = 0;                 // relative, of the priorities after a restart
  int64_t restart_units = 300'000;  // of the first run
  double restart_growth = 1.15;
  uint64_t seed = 1;
};

class ExactSearch {
 public:
  // `model` must outlive the search.
  ExactSearch(const ExactModel& model, ExactStrategy strategy);

  // Starts afresh at another height; what was learnt of difficult sections stays.
  void SetHeight(int64_t height);
  int64_t height() const { return height_; }
  // Goes on for about so many units of work.
  ExactOutcome Run(int64_t units);
  int64_t spent_units() const { return spent_units_; }
  int64_t nodes() const { return nodes_; }
  // After kFound: offset by block of the model.
  const std::vector<int64_t>& offsets() const { return position_; }
  // How often each section was where the search failed.
  absl::Span<const double> failures() const { return weight_; }

 private:
  struct Frame {
    bool is_split = false;
    int32_t begin_section = 0, end_section = 0;
    int32_t section = 0;      // branched on
    size_t first_choice = 0;  // in choices_, up to the next frame's
    size_t next_choice = 0;
    size_t trail_size = 0;
    StateHash outside;  // of what waits outside this frame's sections
    StateHash state;    // of what waits inside
  };
  struct Choice {
    int32_t block;        // or kNone: no block lies at the floor
    int32_t end_section;  // of a split: the part [block, end_section)
    StateHash inside;     // of a split: of what waits in the part
  };
  enum class SavedKind : uint8_t { kOffset, kPlaced, kSection };
  struct Saved {  // what to restore: a block's offset or a section
    int32_t index;
    SavedKind kind;
    int64_t values[5];  // in order of the fields of Section, or the offset alone
  };
  struct Section {
    int64_t floor;      // least offset of a waiting block; kNeverFits without one
    int64_t least_end;  // least end of a waiting block
    int64_t rest;       // bytes waiting
    int32_t at_floor;   // how many blocks have their least offset at the floor
    int32_t waiting;    // how many wait
  };
  enum class Step : uint8_t { kEnter, kSolved, kFailed };

  static constexpr int32_t kNone = -1;

  void Restart();
  void Shuffle();
  double Score(int32_t section, double choices) const;
  Step Enter();
  Step Solved();
  Step Failed();
  bool Split();
  bool ChooseSection(int32_t* section);
  bool IsReady(int32_t section);
  void ListChoices(int32_t section);
  bool Try(const Choice& choice, int32_t section);
  bool Place(int32_t block);
  bool SkipFloor(int32_t section);
  int64_t NextEnd(int32_t block, int32_t section, int64_t least);
  void ListStackable(int32_t placed, int64_t offset);
  bool Raise(int32_t block, int64_t offset);
  bool UpdateSections();
  bool UpdateSection(int32_t section);
  bool FitsBetweenFixed(int32_t section);
  // What waits there, and maybe what was placed since the section was last updated.
  absl::Span<const ExactModel::SectionEntry> Live(int32_t section) const {
    return {live_.data() + model_.section_first[section],
            static_cast<size_t>(sections_[section].waiting)};
  }
  void Undo(size_t trail_size);
  bool IsWaiting(int32_t block) const { return offset_[block] < kNeverFits; }

  const ExactModel& model_;
  ExactStrategy strategy_;
  int64_t height_ = 0;
  std::mt19937_64 random_;
  std::vector<double> rank_;     // priorities of this run
  std::vector<double> weight_;   // failures by section
  std::vector<int64_t> offset_;  // least offset of waiting blocks; kNeverFits: placed
  std::vector<int64_t> position_;
  std::vector<Section> sections_;
  // As in the model, reordered within sections: the first sections_[s].waiting of them wait.
  // Placing only reorders what waits, so that after undoing the same blocks are at the front.
  std::vector<ExactModel::SectionEntry> live_;
  std::vector<int64_t> sorted_offsets_;
  std::vector<uint8_t> is_dirty_;
  std::vector<int32_t> dirty_;
  std::vector<Frame> frames_;
  std::vector<Choice> choices_;
  std::vector<Saved> trail_;
  std::vector<std::pair<int64_t, int64_t>> jobs_;
  std::vector<int32_t> stackable_;
  std::vector<int32_t> lives_in_;  // by block: the section asked for last where it lives
  FailedStates failed_states_;
  StateHash hash_;
  // Where Enter goes next.
  int32_t enter_begin_ = 0, enter_end_ = 0;
  StateHash enter_outside_;
  Step step_ = Step::kEnter;
  int64_t spent_units_ = 0;
  int64_t nodes_ = 0;
  int64_t restart_at_units_ = 0;
  double run_units_ = 0;
};

}  // namespace berth
