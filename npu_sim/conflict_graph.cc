#include "npu_sim/conflict_graph.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/checked_math.h"
#include "npu_sim/access.h"
#include "npu_sim/ancestors.h"

namespace berth {
namespace {

// Programs of models take 40 to 1,600 steps a command; a step is about a nanosecond.
constexpr int64_t kFreeSteps = int64_t{1} << 24;
constexpr int64_t kStepsPerCommand = int64_t{1} << 13;

// What most comparisons need of an access; the whole of it is looked at only where these meet.
struct Extent {
  int64_t begin_bytes = 0, end_bytes = 0;
  uint32_t command = 0;
  uint32_t last_visit = UINT32_MAX;  // the access that has looked at this one already
};

// The accesses seen so far in one address space, by granule of its bytes.
class Granules {
 public:
  explicit Granules(int64_t size_bytes)
      : granule_bytes_(
            std::max(kLeastGranuleBytes, AlignUp(CeilDiv(size_bytes, kGranules), int64_t{64}))),
        lists_(static_cast<size_t>(CeilDiv(size_bytes, granule_bytes_))) {}

  // Reports the earlier accesses that conflict with `access` and are not known to come before it,
  // then adds it. Returns how many records it looked at.
  int64_t Visit(uint32_t command, const Access& access, Ancestors& ancestors,
                std::vector<uint32_t>& found) {
    const auto id = static_cast<uint32_t>(extents_.size());
    extents_.push_back({access.offset_bytes, access.end_bytes(), command});
    accesses_.push_back(access);
    int64_t steps = 0;
    const int64_t last = (extents_[id].end_bytes - 1) / granule_bytes_;
    for (int64_t g = access.offset_bytes / granule_bytes_; g <= last; ++g) {
      Lists& lists = lists_[static_cast<size_t>(g)];
      steps += 1 + static_cast<int64_t>(lists.writes.size());
      if (access.is_write) steps += static_cast<int64_t>(lists.reads.size());
      if (access.is_write) Look(lists.reads, id, ancestors, found);
      Look(lists.writes, id, ancestors, found);
      if (access.is_write) Supersede(lists, g, id);
      (access.is_write ? lists.writes : lists.reads).push_back(id);
    }
    return steps;
  }

 private:
  static constexpr int64_t kLeastGranuleBytes = 4096, kGranules = 128;

  struct Lists {
    std::vector<uint32_t> reads, writes;  // positions in extents_ and accesses_
  };

  // The latest first: they mostly come after the others, which then need no look. Lists ascend by
  // command.
  void Look(const std::vector<uint32_t>& list, uint32_t id, Ancestors& ancestors,
            std::vector<uint32_t>& found) {
    const Extent now = extents_[id];
    for (auto other = list.rbegin(); other != list.rend(); ++other) {
      Extent& before = extents_[*other];
      if (ancestors.HasAllUpTo(before.command)) return;
      if (before.begin_bytes >= now.end_bytes || before.end_bytes <= now.begin_bytes ||
          before.last_visit == id || before.command == now.command ||
          ancestors.Has(before.command)) {
        continue;
      }
      before.last_visit = id;
      if (!MayOverlap(accesses_[*other], accesses_[id])) continue;
      found.push_back(before.command);
      ancestors.Add(before.command);
    }
  }

  // A write over all bytes of an access in this granule conflicts with it, so that whoever
  // conflicts with the access here later conflicts with the write too: the access need not be kept.
  // Those of the same command stay, since the write is not ordered after them.
  void Supersede(Lists& lists, int64_t granule, uint32_t id) {
    const Extent write = extents_[id];
    const bool is_dense = accesses_[id].run_bytes == write.end_bytes - write.begin_bytes;
    const int64_t begin_bytes = granule * granule_bytes_;
    const int64_t end_bytes = begin_bytes + granule_bytes_;
    const auto covered = [&](uint32_t other) {
      const Extent& before = extents_[other];
      if (before.command == write.command) return false;
      if (is_dense) {
        return write.begin_bytes <= std::max(before.begin_bytes, begin_bytes) &&
               write.end_bytes >= std::min(before.end_bytes, end_bytes);
      }
      return write.begin_bytes == before.begin_bytes && write.end_bytes == before.end_bytes &&
             HasSameBytes(accesses_[id], accesses_[other]);
    };
    std::erase_if(lists.reads, covered);
    std::erase_if(lists.writes, covered);
  }

  int64_t granule_bytes_;
  std::vector<Lists> lists_;
  std::vector<Extent> extents_;
  std::vector<Access> accesses_;
};

// Those before `end` that no other command before `end` follows.
std::vector<uint32_t> LastCommands(const Hazards& hazards, uint32_t end) {
  std::vector<bool> is_followed(end);
  for (uint32_t k = 0; k < hazards.begin[end]; ++k) is_followed[hazards.predecessors[k]] = true;
  std::vector<uint32_t> last;
  for (uint32_t i = 0; i < end; ++i) {
    if (!is_followed[i]) last.push_back(i);
  }
  return last;
}

class HazardFinder {
 public:
  explicit HazardFinder(const ProgramView& program)
      : scratchpad_(program.scratchpad_bytes),
        accumulator_(program.accumulator_bytes),
        most_steps_(kFreeSteps + kStepsPerCommand * static_cast<int64_t>(program.commands.size())) {
    for (const DramRegion& region : program.regions) {
      // Nobody writes constants and inputs.
      const bool writable = region.kind == RegionKind::kPool || region.kind == RegionKind::kOutput;
      regions_.emplace_back(writable ? region.size_bytes : 0);
      writable_.push_back(writable);
    }
  }

  // The commands that `command` must follow, ascending, those left out that others imply. `before`
  // has the edges of the commands before it.
  void Find(uint32_t index, const Command& command, const Hazards& before,
            std::vector<uint32_t>& found) {
    if (GivesUp()) {
      found = InProgramOrder(index, before);
      return;
    }
    found.clear();
    ancestors_.Begin(index);
    Visit(index, command, found);
    KeepNecessary(found);
    ancestors_.End();
  }
  // Of those the ones that neither are among its edges in `hazards` nor follow from them.
  void FindMissing(uint32_t index, const Command& command, const Hazards& hazards,
                   std::vector<uint32_t>& found) {
    const absl::Span<const uint32_t> ordered = hazards.Of(index);
    if (GivesUp()) {
      found = InProgramOrder(index, hazards);
    } else {
      found.clear();
      ancestors_.Begin(index);
      for (auto earlier = ordered.rbegin(); earlier != ordered.rend(); ++earlier) {
        if (!ancestors_.Has(*earlier)) ancestors_.Add(*earlier);
      }
      Visit(index, command, found);
      ancestors_.End();
    }
    std::erase_if(found, [&](uint32_t earlier) {
      return std::binary_search(ordered.begin(), ordered.end(), earlier);
    });
  }

 private:
  // Whether so much had to be compared that what is left is to stand in the program's order.
  bool GivesUp() const { return steps_ > most_steps_; }

  // What a command follows then: the first of them all before it, the others the one before.
  std::vector<uint32_t> InProgramOrder(uint32_t index, const Hazards& before) {
    if (std::exchange(in_program_order_, true)) return {index - 1};
    return LastCommands(before, index);
  }

  void Visit(uint32_t index, const Command& command, std::vector<uint32_t>& found) {
    for (const Access& access : CollectAccesses(command)) {
      if (access.run_bytes <= 0) continue;
      if (Granules* granules = GranulesOf(access)) {
        steps_ += granules->Visit(index, access, ancestors_, found);
      }
    }
  }

  // Null where nobody writes.
  Granules* GranulesOf(const Access& access) {
    if (access.space == MemorySpace::kScratchpad) return &scratchpad_;
    if (access.space == MemorySpace::kAccumulator) return &accumulator_;
    return writable_[access.region] ? &regions_[access.region] : nullptr;
  }

  // An edge that was found early may follow from one that was found late.
  void KeepNecessary(std::vector<uint32_t>& found) {
    std::sort(found.begin(), found.end(), std::greater<>());
    ancestors_.Clear();
    std::erase_if(found, [&](uint32_t earlier) {
      if (ancestors_.Has(earlier)) return true;
      ancestors_.Add(earlier);
      return false;
    });
    std::reverse(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
  }

  Ancestors ancestors_;
  Granules scratchpad_, accumulator_;
  std::vector<Granules> regions_;
  std::vector<bool> writable_;
  int64_t steps_ = 0;
  const int64_t most_steps_;
  bool in_program_order_ = false;
};

// Lists of edges by the command at their other end: entries[begin[i] .. begin[i+1]) of command i,
// ascending in both.
struct Edges {
  std::vector<uint32_t> begin, entries;
};
Edges TurnRound(absl::Span<const uint32_t> begin, absl::Span<const uint32_t> entries) {
  const size_t count = begin.size() - 1;
  Edges turned;
  turned.begin.assign(count + 1, 0);
  for (const uint32_t entry : entries) ++turned.begin[entry + 1];
  for (size_t i = 0; i < count; ++i) turned.begin[i + 1] += turned.begin[i];
  turned.entries.resize(entries.size());
  std::vector<uint32_t> next(turned.begin.begin(), turned.begin.end() - 1);
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t k = begin[i]; k < begin[i + 1]; ++k) turned.entries[next[entries[k]]++] = i;
  }
  return turned;
}

}  // namespace

Hazards ComputeHazards(const ProgramView& program) {
  Hazards hazards;
  hazards.begin.reserve(program.commands.size() + 1);
  hazards.begin.push_back(0);
  HazardFinder finder(program);
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < program.commands.size(); ++i) {
    finder.Find(i, program.commands[i], hazards, found);
    hazards.predecessors.insert(hazards.predecessors.end(), found.begin(), found.end());
    hazards.begin.push_back(static_cast<uint32_t>(hazards.predecessors.size()));
  }
  return hazards;
}

std::optional<Unordered> FindUnordered(const ProgramView& program, const ConflictGraphView& graph) {
  Edges edges = TurnRound(graph.successor_begin, graph.successors);
  const Hazards hazards{std::move(edges.begin), std::move(edges.entries)};
  HazardFinder finder(program);
  std::vector<uint32_t> missing;
  for (uint32_t i = 0; i < program.commands.size(); ++i) {
    finder.FindMissing(i, program.commands[i], hazards, missing);
    if (!missing.empty()) return Unordered{missing.front(), i};
  }
  return std::nullopt;
}

ConflictGraph BuildConflictGraph(const Hazards& hazards) {
  ConflictGraph graph;
  graph.predecessor_count.reserve(hazards.begin.size() - 1);
  for (size_t i = 0; i + 1 < hazards.begin.size(); ++i) {
    graph.predecessor_count.push_back(hazards.begin[i + 1] - hazards.begin[i]);
  }
  Edges edges = TurnRound(hazards.begin, hazards.predecessors);
  graph.successor_begin = std::move(edges.begin);
  graph.successors = std::move(edges.entries);
  return graph;
}

}  // namespace berth
