#include "npu_sim/conflict_graph.h"

#include <algorithm>
#include <array>

#include "base/checked_math.h"
#include "npu_sim/access.h"

namespace berth {
namespace {

struct Record {
  uint32_t command;
  Access access;
  int64_t last_visit = -1;  // the access that has looked at this record already
};

// The accesses seen so far in one address space, by granule of its bytes.
class Granules {
 public:
  explicit Granules(int64_t size_bytes)
      : granule_bytes_(std::max<int64_t>(512, AlignUp(CeilDiv(size_bytes, 8192), 64))),
        lists_(static_cast<size_t>(CeilDiv(size_bytes, granule_bytes_))) {}

  // Reports every earlier record that conflicts with `access`, then adds it.
  void Visit(uint32_t command, const Access& access, std::vector<uint32_t>& found) {
    const uint32_t id = static_cast<uint32_t>(records_.size());
    records_.push_back({command, access});
    const int64_t end_bytes = access.end_bytes();
    const bool dense_write = access.is_write && access.run_bytes == end_bytes - access.offset_bytes;
    const int64_t last = (end_bytes - 1) / granule_bytes_;
    for (int64_t g = access.offset_bytes / granule_bytes_; g <= last; ++g) {
      Lists& lists = lists_[static_cast<size_t>(g)];
      Look(lists.writes, id, found);
      if (access.is_write) Look(lists.reads, id, found);
      if (dense_write) Supersede(lists, g, id);
      (access.is_write ? lists.writes : lists.reads).push_back(id);
    }
  }

 private:
  struct Lists {
    std::vector<uint32_t> reads, writes;  // positions in records_
  };

  void Look(const std::vector<uint32_t>& list, uint32_t id, std::vector<uint32_t>& found) {
    const Record& now = records_[id];
    for (const uint32_t other : list) {
      Record& record = records_[other];
      if (record.last_visit == id || record.command == now.command) continue;
      record.last_visit = id;
      if (MayOverlap(record.access, now.access)) found.push_back(record.command);
    }
  }

  // A dense write over all that a record spans in this granule conflicts with the record, so that
  // whoever conflicts with the record here later conflicts with the write too: the record need not
  // be kept. Accesses of the same command stay, since the write is not ordered after them.
  void Supersede(Lists& lists, int64_t granule, uint32_t id) {
    const Record& write = records_[id];
    const int64_t begin_bytes = granule * granule_bytes_;
    const int64_t end_bytes = begin_bytes + granule_bytes_;
    const auto covered = [&](uint32_t other) {
      const Record& record = records_[other];
      return record.command != write.command &&
             write.access.offset_bytes <= std::max(record.access.offset_bytes, begin_bytes) &&
             write.access.end_bytes() >= std::min(record.access.end_bytes(), end_bytes);
    };
    std::erase_if(lists.reads, covered);
    std::erase_if(lists.writes, covered);
  }

  int64_t granule_bytes_;
  std::vector<Lists> lists_;
  std::vector<Record> records_;
};

class HazardFinder {
 public:
  explicit HazardFinder(const ProgramView& program)
      : scratchpad_(program.scratchpad_bytes), accumulator_(program.accumulator_bytes) {
    for (const DramRegion& region : program.regions) {
      // Nobody writes constants and inputs.
      const bool writable = region.kind == RegionKind::kPool || region.kind == RegionKind::kOutput;
      regions_.emplace_back(writable ? region.size_bytes : 0);
      writable_.push_back(writable);
    }
  }

  void Visit(uint32_t index, const Command& command, std::vector<uint32_t>& found) {
    for (const Access& access : CollectAccesses(command)) {
      if (access.run_bytes <= 0) continue;
      if (access.space == MemorySpace::kScratchpad) scratchpad_.Visit(index, access, found);
      if (access.space == MemorySpace::kAccumulator) accumulator_.Visit(index, access, found);
      if (access.space == MemorySpace::kDram && writable_[access.region]) {
        regions_[access.region].Visit(index, access, found);
      }
    }
  }

 private:
  Granules scratchpad_, accumulator_;
  std::vector<Granules> regions_;
  std::vector<bool> writable_;
};

}  // namespace

Hazards ComputeHazards(const ProgramView& program) {
  Hazards hazards;
  hazards.begin.reserve(program.commands.size() + 1);
  hazards.begin.push_back(0);
  HazardFinder finder(program);
  std::vector<uint32_t> found;
  for (size_t i = 0; i < program.commands.size(); ++i) {
    found.clear();
    finder.Visit(static_cast<uint32_t>(i), program.commands[i], found);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    hazards.predecessors.insert(hazards.predecessors.end(), found.begin(), found.end());
    hazards.begin.push_back(static_cast<uint32_t>(hazards.predecessors.size()));
  }
  return hazards;
}

ConflictGraph BuildConflictGraph(const Hazards& hazards) {
  const size_t count = hazards.begin.size() - 1;
  ConflictGraph graph;
  graph.predecessor_count.resize(count);
  graph.successor_begin.assign(count + 1, 0);
  for (size_t i = 0; i < count; ++i)
    graph.predecessor_count[i] = hazards.begin[i + 1] - hazards.begin[i];
  for (const uint32_t predecessor : hazards.predecessors) ++graph.successor_begin[predecessor + 1];
  for (size_t i = 0; i < count; ++i) graph.successor_begin[i + 1] += graph.successor_begin[i];
  graph.successors.resize(hazards.predecessors.size());
  std::vector<uint32_t> next(graph.successor_begin.begin(), graph.successor_begin.end() - 1);
  for (size_t i = 0; i < count; ++i) {
    for (uint32_t k = hazards.begin[i]; k < hazards.begin[i + 1]; ++k) {
      graph.successors[next[hazards.predecessors[k]]++] = static_cast<uint32_t>(i);
    }
  }
  return graph;
}

}  // namespace berth
