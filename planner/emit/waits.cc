#include "planner/emit/waits.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/checked_math.h"
#include "npu_sim/access.h"

namespace berth {
namespace {

constexpr int64_t kLeastGranuleBytes = 2048;
constexpr int64_t kGranules = 128;

// A command in flight, to whoever looks for it.
struct Position {
  uint32_t command = 0;
  uint8_t engine = 0;
  uint32_t ordinal = 0;  // on its engine, from 1
};

// Per engine what a command must have seen finished.
struct Needs {
  const uint32_t* known = nullptr;  // ordinals that are finished anyway
  std::vector<int64_t> newest;      // conflicting command that is not; -1: none
};

// The accesses so far in one address space, by granule of its bytes and by engine: the ordinals of
// a list ascend, so that a search from the back ends where everything is known to have finished.
class AccessHistory {
 public:
  AccessHistory(int64_t size_bytes, size_t engines)
      : engines_(engines),
        granule_bytes_(
            std::max(kLeastGranuleBytes, AlignUp(CeilDiv(size_bytes, kGranules), int64_t{64}))),
        lists_(static_cast<size_t>(CeilDiv(size_bytes, granule_bytes_)) * engines) {}

  void Find(const Access& access, Needs& needs) {
    ++search_;
    const int64_t end_bytes = access.end_bytes();
    ForEachGranule(access.offset_bytes, end_bytes, [&](int64_t granule) {
      for (size_t engine = 0; engine < engines_; ++engine) {
        const Lists& lists = At(granule, engine);
        Look(lists.writes, engine, access, end_bytes, needs);
        if (access.is_write) Look(lists.reads, engine, access, end_bytes, needs);
      }
    });
  }

  void Add(const Position& position, const Access& access) {
    const auto id = static_cast<uint32_t>(records_.size());
    const int64_t end_bytes = access.end_bytes();
    records_.push_back({position, access, end_bytes, 0});
    const bool dense_write = access.is_write && access.run_bytes == end_bytes - access.offset_bytes;
    ForEachGranule(access.offset_bytes, end_bytes, [&](int64_t granule) {
      if (dense_write && access.offset_bytes <= granule * granule_bytes_ &&
          end_bytes >= (granule + 1) * granule_bytes_) {
        Supersede(granule, position.command);
      }
      Lists& lists = At(granule, position.engine);
      (access.is_write ? lists.writes : lists.reads).push_back(id);
    });
  }

 private:
  struct Record {
    Position position;
    Access access;
    int64_t end_bytes = 0;
    uint64_t last_search = 0;  // that has compared this record
  };
  struct Lists {
    std::vector<uint32_t> reads, writes;  // positions in records_
  };

  Lists& At(int64_t granule, size_t engine) {
    return lists_[static_cast<size_t>(granule) * engines_ + engine];
  }

  template <typename Visit>
  void ForEachGranule(int64_t begin_bytes, int64_t end_bytes, Visit&& visit) const {
    const int64_t last = (end_bytes - 1) / granule_bytes_;
    for (int64_t granule = begin_bytes / granule_bytes_; granule <= last; ++granule) visit(granule);
  }

  void Look(const std::vector<uint32_t>& list, size_t engine, const Access& access,
            int64_t end_bytes, Needs& needs) {
    for (size_t i = list.size(); i-- > 0;) {
      Record& record = records_[list[i]];
      if (record.position.ordinal <= needs.known[engine] ||
          record.position.command <= needs.newest[engine]) {
        return;
      }
      if (record.last_search == search_) continue;
      record.last_search = search_;
      if (record.access.offset_bytes >= end_bytes || access.offset_bytes >= record.end_bytes ||
          !MayOverlap(record.access, access)) {
        continue;
      }
      needs.newest[engine] = record.position.command;
      return;
    }
  }

  // Whoever conflicts here with what was before conflicts with the dense write of all the granule,
  // too, and that has waited. Accesses of the writing command itself stay.
  void Supersede(int64_t granule, uint32_t command) {
    for (size_t engine = 0; engine < engines_; ++engine) {
      Lists& lists = At(granule, engine);
      for (std::vector<uint32_t>* list : {&lists.reads, &lists.writes}) {
        size_t own = list->size();
        while (own > 0 && records_[(*list)[own - 1]].position.command == command) --own;
        list->erase(list->begin(), list->begin() + static_cast<ptrdiff_t>(own));
      }
    }
  }

  size_t engines_;
  int64_t granule_bytes_;
  std::vector<Lists> lists_;  // by granule, then engine
  std::vector<Record> records_;
  uint64_t search_ = 0;
};

// The histories of all memories in which anything is written.
class Histories {
 public:
  explicit Histories(const TileProgram& program)
      : scratchpad_(program.scratchpad_bytes, program.engines.size()),
        accumulator_(program.accumulator_bytes, program.engines.size()) {
    for (const DramRegion& region : program.regions) {
      // Nobody writes constants and inputs.
      const bool writable = region.kind == RegionKind::kPool || region.kind == RegionKind::kOutput;
      regions_.emplace_back(writable ? region.size_bytes : 0, program.engines.size());
      writable_.push_back(writable);
    }
  }

  // Null where no access can conflict.
  AccessHistory* Of(const Access& access) {
    if (access.run_bytes <= 0) return nullptr;
    if (access.space == MemorySpace::kScratchpad) return &scratchpad_;
    if (access.space == MemorySpace::kAccumulator) return &accumulator_;
    if (access.space == MemorySpace::kDram && writable_[access.region]) {
      return &regions_[access.region];
    }
    return nullptr;
  }

 private:
  AccessHistory scratchpad_, accumulator_;
  std::vector<AccessHistory> regions_;
  std::vector<bool> writable_;
};

// What each command may take for granted when it starts: for every engine, how many of its commands
// have finished. Waits are what conflicts need beyond that.
class WaitDeriver {
 public:
  explicit WaitDeriver(TileProgram& program)
      : program_(program),
        histories_(program),
        engines_(program.engines.size()),
        clocks_(program.commands.size() * engines_, 0),
        ordinal_(program.commands.size()),
        issued_(engines_, 0),
        last_(engines_, -1) {}

  void Run() {
    for (size_t i = 0; i < program_.commands.size(); ++i) Derive(i);
  }

 private:
  uint32_t* Clock(size_t command) { return &clocks_[command * engines_]; }

  void Derive(size_t index) {
    Command& command = program_.commands[index];
    uint32_t* clock = Clock(index);
    // The command before in the same queue has finished, with all it knew.
    if (last_[command.engine] >= 0) {
      const uint32_t* before = Clock(static_cast<size_t>(last_[command.engine]));
      std::copy(before, before + engines_, clock);
      clock[command.engine] = issued_[command.engine];
    }
    const AccessList accesses = CollectAccesses(command);
    needs_.known = clock;
    needs_.newest.assign(engines_, -1);
    for (const Access& access : accesses) {
      if (AccessHistory* history = histories_.Of(access)) history->Find(access, needs_);
    }
    AddWaits(command, clock);
    ordinal_[index] = ++issued_[command.engine];
    last_[command.engine] = static_cast<int64_t>(index);
    const Position position{static_cast<uint32_t>(index), command.engine, ordinal_[index]};
    for (const Access& access : accesses) {
      if (AccessHistory* history = histories_.Of(access)) history->Add(position, access);
    }
  }

  // Newest first: what a newer command knows needs no wait of its own.
  void AddWaits(Command& command, uint32_t* clock) {
    std::sort(needs_.newest.begin(), needs_.newest.end(), std::greater<>());
    command.wait_begin = static_cast<uint32_t>(program_.waits.size());
    for (const int64_t predecessor : needs_.newest) {
      if (predecessor < 0) break;
      const auto p = static_cast<size_t>(predecessor);
      const uint8_t engine = program_.commands[p].engine;
      if (clock[engine] >= ordinal_[p]) continue;
      program_.waits.push_back({engine, ordinal_[p]});
      const uint32_t* known = Clock(p);
      for (size_t e = 0; e < engines_; ++e) clock[e] = std::max(clock[e], known[e]);
      clock[engine] = std::max(clock[engine], ordinal_[p]);
    }
    command.wait_count =
        static_cast<uint16_t>(program_.waits.size() - static_cast<size_t>(command.wait_begin));
  }

  TileProgram& program_;
  Histories histories_;
  size_t engines_;
  std::vector<uint32_t> clocks_;   // per command and engine
  std::vector<uint32_t> ordinal_;  // of a command on its engine, from 1
  std::vector<uint32_t> issued_;   // per engine
  std::vector<int64_t> last_;      // per engine: its newest command
  Needs needs_;                    // of the command that is looked at
};

}  // namespace

void DeriveWaits(TileProgram& program) {
  program.waits.clear();
  WaitDeriver(program).Run();
}

}  // namespace berth
