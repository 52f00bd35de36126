#include "npu_sim/verify/races.h"

#include <algorithm>
#include <bit>

namespace berth::verify {
namespace {

constexpr int64_t kGranules = 128;
constexpr int kMinGranuleShift = 6;

}  // namespace

RaceMap::RaceMap(int64_t size_bytes, int64_t& steps) : steps_(steps), grids_(1) {
  const auto wanted = static_cast<uint64_t>(std::max<int64_t>(size_bytes / kGranules, 1));
  granule_shift_ = std::max(kMinGranuleShift, static_cast<int>(std::bit_width(wanted)));
  granules_.resize(static_cast<size_t>(size_bytes >> granule_shift_) + 1);
}

uint32_t RaceMap::InternGrid(const Access& access) {
  if (access.extent[3] == 1) return 0;
  const auto [entry, added] = grid_of_.try_emplace(GridKey{access}, 0);
  if (added) {
    entry->second = static_cast<uint32_t>(grids_.size());
    grids_.push_back(access);
  }
  return entry->second;
}

Access RaceMap::AccessOf(const Record& record) const {
  Access access = grids_[record.grid];
  if (record.grid == 0) {
    access = Access{};
    access.offset_bytes = record.begin_bytes;
    access.run_bytes = record.end_bytes - record.begin_bytes;
  }
  access.is_write = record.is_write;
  access.operand = record.operand;
  return access;
}

bool RaceMap::Overlap(const Record& a, const Record& b) const {
  if (a.grid == 0 && b.grid == 0) return true;  // their ranges meet
  Access x = AccessOf(a), y = AccessOf(b);
  x.space = y.space = MemorySpace::kNone;
  x.region = y.region = 0;
  return MayOverlap(x, y);
}

int64_t RaceMap::ScanGranule(const HappensBefore& order, const std::vector<uint32_t>& known,
                             const Record& added, size_t granule) {
  std::vector<Record>& records = granules_[granule];
  const int64_t low = static_cast<int64_t>(granule) << granule_shift_;
  const int64_t high = low + (int64_t{1} << granule_shift_);
  steps_ += static_cast<int64_t>(records.size()) + 1;
  size_t kept = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& old = records[i];
    if (old.sequence <= known[old.engine]) continue;
    const bool meets = old.begin_bytes < added.end_bytes && added.begin_bytes < old.end_bytes;
    if (meets) {
      const bool ordered = old.command == added.command ||
                           order.FinishedBefore(old.engine, old.sequence, added.command);
      if (!ordered) {
        if ((added.is_write || old.is_write) && Overlap(added, old)) {
          return static_cast<int64_t>(i);
        }
      } else if (added.is_write || !old.is_write) {
        const bool covers = added.grid == 0 ? added.begin_bytes <= std::max(old.begin_bytes, low) &&
                                                  added.end_bytes >= std::min(old.end_bytes, high)
                                            : added.grid == old.grid;
        if (covers) continue;
      }
    }
    if (kept != i) records[kept] = old;
    ++kept;
  }
  records.resize(kept);
  records.push_back(added);
  return -1;
}

RaceMap::Racer RaceMap::Add(const HappensBefore& order, const std::vector<uint32_t>& known,
                            uint32_t command, uint8_t engine, const Access& access) {
  Record added;
  added.begin_bytes = access.offset_bytes;
  added.end_bytes = access.end_bytes();
  added.command = command;
  added.sequence = order.sequence(command);
  added.grid = InternGrid(access);
  added.engine = engine;
  added.is_write = access.is_write;
  added.operand = access.operand;
  const auto last = static_cast<size_t>((added.end_bytes - 1) >> granule_shift_);
  for (auto g = static_cast<size_t>(added.begin_bytes >> granule_shift_); g <= last; ++g) {
    const int64_t racer = ScanGranule(order, known, added, g);
    if (racer < 0) continue;
    const Record& old = granules_[g][static_cast<size_t>(racer)];
    Access other = AccessOf(old);
    other.space = access.space;
    other.region = access.region;
    return {true, old.command, other};
  }
  return {};
}

}  // namespace berth::verify
