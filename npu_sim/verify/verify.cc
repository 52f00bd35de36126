// The proof: tables, then each command alone, then all of them together in list order.
#include "npu_sim/verify.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "npu_sim/verify/command_rules.h"
#include "npu_sim/verify/message.h"
#include "npu_sim/verify/order.h"
#include "npu_sim/verify/races.h"
#include "npu_sim/verify/slots.h"
#include "npu_sim/verify/written.h"

namespace berth {
namespace verify {
namespace {

constexpr size_t kRefreshCommands =
    64;  // how often the records that all know are brought up to date
// Programs of models take about 170 steps a command; a step is a few nanoseconds.
constexpr int64_t kFreeSteps = int64_t{1} << 28;
constexpr int64_t kStepsPerCommand = int64_t{1} << 14;
constexpr int64_t kWordBytes = 64;  // of memory whose bits are looked at together

// Where accesses may stand.
class Places {
 public:
  explicit Places(const ProgramView& program) : program_(program) {}

  RegionKind KindOf(const Access& access) const { return program_.regions[access.region].kind; }
  bool InSlot(const Access& access) const {
    return access.space != MemorySpace::kDram || KindOf(access) == RegionKind::kPool;
  }

  template <typename... Args>
  absl::Status Refuse(uint32_t index, const Access& access, fmt::format_string<Args...> format,
                      Args&&... args) const {
    return DataLoss("{}: {}: {}", DescribeCommand(program_, index),
                    DescribeAccess(program_, access),
                    fmt::format(format, std::forward<Args>(args)...));
  }

  // Rule 2, and the second half of rule 3.
  absl::Status Check(uint32_t index, const Access& access) const {
    if (!InSlot(access)) {
      if (access.slot != kNoSlot) return Refuse(index, access, "constants and I/O have no slot");
      if (access.is_write && KindOf(access) != RegionKind::kOutput) {
        return Refuse(index, access, "read only");
      }
      const int64_t size_bytes = program_.regions[access.region].size_bytes;
      if (access.offset_bytes >= 0 && access.end_bytes() <= size_bytes) return absl::OkStatus();
      return Refuse(index, access, "outside the region of {} bytes", size_bytes);
    }
    if (access.slot >= program_.slots.size()) return Refuse(index, access, "no such slot");
    const Slot& slot = program_.slots[access.slot];
    const bool region_agrees = access.space != MemorySpace::kDram || slot.region == access.region;
    if (slot.space != access.space || !region_agrees) {
      return Refuse(index, access, "the slot stands in {}",
                    DescribeSpace(program_, slot.space, slot.region));
    }
    if (access.offset_bytes < slot.offset_bytes ||
        access.end_bytes() > slot.offset_bytes + slot.size_bytes) {
      return Refuse(index, access, "outside the slot's bytes [{}, {})", slot.offset_bytes,
                    slot.offset_bytes + slot.size_bytes);
    }
    if (index < slot.begin_command || index >= slot.end_command) {
      return Refuse(index, access, "the slot lives in commands [{}, {})", slot.begin_command,
                    slot.end_command);
    }
    return absl::OkStatus();
  }

 private:
  const ProgramView& program_;
};

class Prover {
 public:
  Prover(const ProgramView& program, const HappensBefore& order)
      : program_(program), places_(program), order_(order), slot_ends_(program.slots.size()) {
    written_slots_.reserve(program.slots.size());
    for (const Slot& slot : program.slots) {
      written_slots_.emplace_back(slot.offset_bytes, slot.size_bytes);
    }
    written_regions_.reserve(program.regions.size());
    for (const DramRegion& region : program.regions) {
      written_regions_.emplace_back(0, region.size_bytes);
    }
    region_races_.resize(program.regions.size());
    std::iota(slot_ends_.begin(), slot_ends_.end(), 0u);
    std::stable_sort(slot_ends_.begin(), slot_ends_.end(), [&](uint32_t a, uint32_t b) {
      return program.slots[a].end_command < program.slots[b].end_command;
    });
  }

  absl::Status Command(uint32_t index) {
    if (index % kRefreshCommands == 0) known_ = order_.KnownToAllFrom(index);
    ReleaseSlotsThatEnd(index);
    for (const Access& access : CollectAccesses(program_.commands[index])) {
      BERTH_RETURN_IF_ERROR(CheckSteps(index, access));
      BERTH_RETURN_IF_ERROR(CheckRace(index, access));
      BERTH_RETURN_IF_ERROR(CheckWritten(index, access));
    }
    return absl::OkStatus();
  }

  absl::Status OutputsAreWhole() const {
    for (size_t i = 0; i < program_.regions.size(); ++i) {
      if (program_.regions[i].kind != RegionKind::kOutput || written_regions_[i].full()) continue;
      return DataLoss("output {} (region {}): {} of {} bytes are never written",
                      program_.regions[i].index, i, written_regions_[i].unwritten_bytes(),
                      program_.regions[i].size_bytes);
    }
    return absl::OkStatus();
  }

 private:
  // Constants and inputs hold what they hold.
  bool IsTracked(const Access& access) const {
    return places_.InSlot(access) || places_.KindOf(access) == RegionKind::kOutput;
  }
  WrittenBytes& WrittenOf(const Access& access) {
    return places_.InSlot(access) ? written_slots_[access.slot] : written_regions_[access.region];
  }

  // A program may be such that nearly every two accesses have to be compared, or that every byte
  // of a buffer is a run of its own. None that is made to be run is.
  absl::Status CheckSteps(uint32_t index, const Access& access) {
    if (!IsTracked(access)) return absl::OkStatus();
    if (!WrittenOf(access).IsSettled(access)) {
      steps_ += access.extent[0] * access.extent[1] * access.extent[2] * access.extent[3] *
                (1 + access.run_bytes / kWordBytes);
    }
    const int64_t most =
        kFreeSteps + kStepsPerCommand * static_cast<int64_t>(program_.commands.size());
    if (steps_ <= most) return absl::OkStatus();
    return places_.Refuse(index, access, "the proof takes more than {} steps for {} commands", most,
                          program_.commands.size());
  }

  // Rule 5.
  absl::Status CheckRace(uint32_t index, const Access& access) {
    RaceMap* races = MapOf(access);
    if (races == nullptr) return absl::OkStatus();  // inputs and constants are only read
    const RaceMap::Racer racer =
        races->Add(order_, known_, index, program_.commands[index].engine, access);
    if (!racer.found) return absl::OkStatus();
    return places_.Refuse(index, access, "races with {}, whose {}",
                          DescribeCommand(program_, racer.command),
                          DescribeAccess(program_, racer.access));
  }

  // Rules 6 and 7.
  absl::Status CheckWritten(uint32_t index, const Access& access) {
    if (!IsTracked(access)) return absl::OkStatus();
    WrittenBytes& written = WrittenOf(access);
    if (access.is_write) {
      // A scatter may leave any row of its table as it was.
      if (program_.commands[index].opcode == Opcode::kDmaScatter) return absl::OkStatus();
      if (written.Mark(access)) return absl::OkStatus();
      return ResourceExhausted("{}: no memory to follow {}", DescribeCommand(program_, index),
                               DescribeAccess(program_, access));
    }
    const int64_t byte = written.FirstUnwritten(access);
    if (byte < 0) return absl::OkStatus();
    return places_.Refuse(index, access, "byte {} has not been written", byte);
  }

  RaceMap* MapOf(const Access& access) {
    std::unique_ptr<RaceMap>* map = nullptr;
    int64_t size_bytes = 0;
    switch (access.space) {
      case MemorySpace::kScratchpad:
        map = &scratchpad_races_;
        size_bytes = program_.scratchpad_bytes;
        break;
      case MemorySpace::kAccumulator:
        map = &accumulator_races_;
        size_bytes = program_.accumulator_bytes;
        break;
      default:
        if (!IsTracked(access)) return nullptr;
        map = &region_races_[access.region];
        size_bytes = program_.regions[access.region].size_bytes;
        break;
    }
    if (!*map) *map = std::make_unique<RaceMap>(size_bytes, steps_);
    return map->get();
  }

  void ReleaseSlotsThatEnd(uint32_t index) {
    for (; ended_ < slot_ends_.size(); ++ended_) {
      const uint32_t slot = slot_ends_[ended_];
      if (program_.slots[slot].end_command > index) break;
      written_slots_[slot].Release();
    }
  }

  const ProgramView& program_;
  const Places places_;
  const HappensBefore& order_;
  int64_t steps_ = 0;  // of work that the number of commands does not bound
  std::vector<uint32_t> known_;
  std::vector<WrittenBytes> written_slots_, written_regions_;
  std::vector<uint32_t> slot_ends_;  // by end_command
  size_t ended_ = 0;
  std::unique_ptr<RaceMap> scratchpad_races_, accumulator_races_;
  std::vector<std::unique_ptr<RaceMap>> region_races_;
};

}  // namespace
}  // namespace verify

absl::Status VerifyPlaces(const ProgramView& program, const NpuConfig& config) {
  BERTH_RETURN_IF_ERROR(verify::CheckTables(program, config));
  for (size_t i = 0; i < program.commands.size(); ++i) {
    BERTH_RETURN_IF_ERROR(VerifyCommand(program, config, i));
  }
  BERTH_RETURN_IF_ERROR(verify::CheckSlots(program));
  const verify::Places places(program);
  for (uint32_t i = 0; i < program.commands.size(); ++i) {
    for (const Access& access : CollectAccesses(program.commands[i])) {
      BERTH_RETURN_IF_ERROR(places.Check(i, access));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyExecution(const ProgramView& program) {
  BERTH_ASSIGN_OR_RETURN(const verify::HappensBefore order, verify::HappensBefore::Build(program));
  verify::Prover prover(program, order);
  for (uint32_t i = 0; i < program.commands.size(); ++i) {
    BERTH_RETURN_IF_ERROR(prover.Command(i));
  }
  return prover.OutputsAreWhole();
}

absl::Status VerifyProgram(const ProgramView& program, const NpuConfig& config) {
  BERTH_RETURN_IF_ERROR(VerifyPlaces(program, config));
  return VerifyExecution(program);
}

}  // namespace berth
