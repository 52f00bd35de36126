// The sanitized run: each command is looked at before it is executed.
#include <algorithm>
#include <array>
#include <optional>

#include "npu_sim/sanitizer.h"
#include "npu_sim/sanitizer/footprint.h"
#include "npu_sim/sanitizer/message.h"
#include "npu_sim/sanitizer/queues.h"
#include "npu_sim/sanitizer/shadow.h"
#include "npu_sim/verify.h"

namespace berth {
namespace sanitizer {
namespace {

constexpr int kOperandCount = 5;
constexpr int64_t kScratchAlignmentBytes = 64;

// Of one access, gathered over its bytes.
struct Trouble {
  int64_t first_byte = 0, byte_count = 0;
  ByteVerdict verdict;  // of the first byte

  void Add(int64_t byte, const ByteVerdict& of_byte) {
    if (byte_count++ == 0 || byte < first_byte) {
      first_byte = byte;
      verdict = of_byte;
    }
  }
};

class Run {
 public:
  Run(const ProgramView& program, const NpuConfig& config, const MemoryMap& memory,
      HostFunctionTable host_functions, const SanitizerOptions& options, SanitizerReport& report)
      : program_(program),
        config_(config),
        memory_(memory),
        host_functions_(host_functions),
        options_(options),
        report_(report),
        describe_(program, options.names),
        queues_(program),
        book_(queues_),
        scratchpad_(program.scratchpad_bytes),
        accumulator_(program.accumulator_bytes) {
    for (const DramRegion& region : program.regions) regions_.emplace_back(region.size_bytes);
  }

  absl::Status All() {
    while (const std::optional<uint32_t> command = queues_.Start()) {
      if (options_.check_stop) BERTH_RETURN_IF_ERROR(options_.check_stop());
      if (!CanExecute(*command)) return absl::OkStatus();
      BERTH_RETURN_IF_ERROR(Watch(*command));
      const absl::Status executed = Execute(program_.commands[*command]);
      if (!executed.ok()) return Annotate(executed, describe_.Command(*command));
      ++report_.command_count;
      queues_.Finish(*command);
    }
    if (!FindBlocked()) FindUnwrittenOutputs();
    return absl::OkStatus();
  }

 private:
  void Add(FindingKind kind, uint32_t command, uint32_t other, int64_t first_byte,
           int64_t byte_count, std::string text) {
    if (report_.findings.size() < SanitizerReport::kMostFindings) {
      report_.findings.push_back({kind, command, other, first_byte, byte_count,
                                  fmt::format("{}: {}", FindingKindName(kind), text)});
    }
    ++report_.finding_count;
  }

  RegionKind KindOf(const Operand& o) const { return program_.regions[o.region].kind; }
  bool HasSlot(const Operand& o) const {
    return o.space != MemorySpace::kDram || KindOf(o) == RegionKind::kPool;
  }
  int64_t MemoryBytes(const Operand& o) const {
    if (o.space == MemorySpace::kScratchpad) return program_.scratchpad_bytes;
    if (o.space == MemorySpace::kAccumulator) return program_.accumulator_bytes;
    return program_.regions[o.region].size_bytes;
  }
  // Null where nothing is to be watched: constants and inputs hold what they hold.
  ShadowMemory* ShadowOf(const Operand& o) {
    if (o.space == MemorySpace::kScratchpad) return &scratchpad_;
    if (o.space == MemorySpace::kAccumulator) return &accumulator_;
    const bool is_written = HasSlot(o) || KindOf(o) == RegionKind::kOutput;
    return is_written ? &regions_[o.region] : nullptr;
  }

  // What has to hold before any byte may be looked at.
  bool CanExecute(uint32_t index) {
    const Command& command = program_.commands[index];
    for (int i = 0; i < kOperandCount; ++i) {
      if (OperandOf(command, i).present() && !Stands(index, i)) return false;
    }
    if (const absl::Status form = VerifyCommand(program_, config_, index); !form.ok()) {
      Add(FindingKind::kMalformedCommand, index, kNoCommand, 0, 0, std::string(form.message()));
      return false;
    }
    for (const Footprint& footprint : PossibleFootprints(command)) {
      if (!IsInside(index, footprint)) return false;
    }
    return true;
  }

  // Its memory exists and its address is one of an element.
  bool Stands(uint32_t index, int position) {
    const Operand& o = OperandOf(program_.commands[index], position);
    const auto refuse = [&](FindingKind kind, std::string_view what) {
      Add(kind, index, kNoCommand, o.offset_bytes, 0,
          fmt::format("{}: operand {} at byte {} of {}: {}", describe_.Command(index), position,
                      o.offset_bytes, describe_.Memory(o.space, o.region), what));
      return false;
    };
    if (o.space > MemorySpace::kAccumulator) return refuse(FindingKind::kNoSuchMemory, "no space");
    if (o.space == MemorySpace::kDram && o.region >= program_.regions.size()) {
      return refuse(FindingKind::kNoSuchMemory, "no such region");
    }
    const bool has_slot = o.slot < program_.slots.size();
    if (HasSlot(o) != has_slot) {
      return refuse(FindingKind::kNoSuchMemory, has_slot ? "has a slot" : "no such slot");
    }
    if (has_slot) {
      const Slot& slot = program_.slots[o.slot];
      if (slot.space != o.space || (o.space == MemorySpace::kDram && slot.region != o.region)) {
        return refuse(FindingKind::kNoSuchMemory, "its slot stands in another memory");
      }
    }
    const int64_t element_bytes = DTypeBytes(o.dtype);
    if (element_bytes > 0 && o.offset_bytes % element_bytes != 0) {
      return refuse(FindingKind::kMisaligned,
                    fmt::format("no multiple of an element of {} bytes", element_bytes));
    }
    return true;
  }

  bool IsInside(uint32_t index, const Footprint& footprint) {
    if (footprint.touches_nothing) return true;
    const Operand& o = OperandOf(program_.commands[index], footprint.operand);
    const Hull hull = HullOf(footprint);
    const auto refuse = [&](FindingKind kind, std::string_view what) {
      const int64_t bytes = hull.end_bytes - hull.begin_bytes;
      Add(kind, index, kNoCommand, hull.begin_bytes, bytes,
          fmt::format(
              "{}: {}: {}", describe_.Command(index),
              describe_.Access(o, footprint.operand, footprint.is_write, hull.begin_bytes, bytes),
              what));
      return false;
    };
    int64_t begin_bytes = 0, end_bytes = MemoryBytes(o);
    if (HasSlot(o)) {
      const Slot& slot = program_.slots[o.slot];
      begin_bytes = std::clamp<int64_t>(slot.offset_bytes, 0, end_bytes);
      end_bytes = begin_bytes + std::clamp<int64_t>(slot.size_bytes, 0, end_bytes - begin_bytes);
    }
    if (hull.begin_bytes < begin_bytes || hull.end_bytes > end_bytes) {
      return refuse(FindingKind::kOutOfBounds,
                    fmt::format("its bytes are [{}, {})", begin_bytes, end_bytes));
    }
    if (footprint.is_write && ShadowOf(o) == nullptr) {
      return refuse(FindingKind::kReadOnlyWritten, "read only");
    }
    return true;
  }

  absl::Status Watch(uint32_t index) {
    for (const Footprint& footprint : ActualFootprints(program_.commands[index], memory_)) {
      BERTH_RETURN_IF_ERROR(WatchAccess(index, footprint));
    }
    return absl::OkStatus();
  }

  absl::Status WatchAccess(uint32_t index, const Footprint& footprint) {
    const Operand& o = OperandOf(program_.commands[index], footprint.operand);
    ShadowMemory* const shadow = ShadowOf(o);
    if (shadow != nullptr && !shadow->Reserve()) {
      return ResourceExhausted("sanitizer: no memory to follow {} bytes of {}", MemoryBytes(o),
                               describe_.Memory(o.space, o.region));
    }
    book_.Begin({index, o.slot, static_cast<uint8_t>(footprint.operand)}, footprint.is_write);
    Trouble unwritten, stale, race;
    ForEachRun(footprint, [&](int64_t begin_bytes, int64_t end_bytes) {
      (footprint.is_write ? report_.written_bytes : report_.read_bytes) += end_bytes - begin_bytes;
      if (shadow == nullptr) return;
      shadow->Visit(book_, begin_bytes, end_bytes, [&](int64_t byte, const ByteVerdict& verdict) {
        if (verdict.is_unwritten) unwritten.Add(byte, verdict);
        if (verdict.is_stale) stale.Add(byte, verdict);
        if (verdict.is_race) race.Add(byte, verdict);
      });
    });
    Tell(index, footprint, unwritten, stale, race);
    return absl::OkStatus();
  }

  void Tell(uint32_t index, const Footprint& footprint, const Trouble& unwritten,
            const Trouble& stale, const Trouble& race) {
    const Operand& o = OperandOf(program_.commands[index], footprint.operand);
    const auto add = [&](FindingKind kind, const Trouble& trouble, uint32_t other,
                         std::string_view what) {
      Add(kind, index, other, trouble.first_byte, trouble.byte_count,
          fmt::format("{}: {}: {}", describe_.Command(index),
                      describe_.Access(o, footprint.operand, footprint.is_write, trouble.first_byte,
                                       trouble.byte_count),
                      what));
    };
    if (race.byte_count > 0) {
      const ShadowAccess& racer = race.verdict.racer;
      add(FindingKind::kRace, race, racer.command,
          fmt::format("not ordered with {}, which {} them", describe_.Command(racer.command),
                      race.verdict.racer_reads ? "reads" : "writes"));
    }
    if (unwritten.byte_count > 0) {
      add(FindingKind::kUninitializedRead, unwritten, kNoCommand, "nothing has written them");
    }
    if (stale.byte_count > 0) {
      const ShadowAccess& write = stale.verdict.stale_write;
      add(FindingKind::kStaleRead, stale, write.command,
          fmt::format("last written by {} for {}", describe_.Command(write.command),
                      describe_.Slot(write.slot)));
    }
  }

  absl::Status Execute(const Command& command) {
    const auto scratch_bytes = static_cast<size_t>(ScratchBytes(command) + kScratchAlignmentBytes);
    if (scratch_.size() < scratch_bytes) scratch_.resize(scratch_bytes);
    void* aligned = scratch_.data();
    size_t space = scratch_.size();
    std::align(kScratchAlignmentBytes, scratch_bytes - kScratchAlignmentBytes, aligned, space);
    const int parts = PartCount(command);
    for (int part = 0; part < parts; ++part) {
      BERTH_RETURN_IF_ERROR(ExecuteCommand(
          command, part, memory_, {static_cast<std::byte*>(aligned), space}, host_functions_));
    }
    return absl::OkStatus();
  }

  bool FindBlocked() {
    const std::vector<Queues::Blocked> blocked = queues_.FindBlocked();
    for (const Queues::Blocked& b : blocked) {
      const std::string engine = b.wait.engine < program_.engines.size()
                                     ? EngineName(program_.engines[b.wait.engine])
                                     : fmt::format("engine {}", b.wait.engine);
      Add(b.is_signalled ? FindingKind::kDeadlock : FindingKind::kNeverSignalled, b.command,
          kNoCommand, 0, 0,
          fmt::format("{} waits for {} commands of {}, which has finished {}{}",
                      describe_.Command(b.command), b.wait.count, engine, b.finished,
                      b.is_signalled ? " and cannot go on" : " and has no more"));
    }
    return !blocked.empty();
  }

  void FindUnwrittenOutputs() {
    for (uint16_t r = 0; r < program_.regions.size(); ++r) {
      if (program_.regions[r].kind != RegionKind::kOutput) continue;
      int64_t first_byte = 0;
      const int64_t count = regions_[r].CountUnwritten(first_byte);
      if (count == 0) continue;
      Add(FindingKind::kOutputUnwritten, kNoCommand, kNoCommand, first_byte, count,
          fmt::format("{}: {} of {} bytes, the first of them byte {}",
                      describe_.Memory(MemorySpace::kDram, r), count,
                      program_.regions[r].size_bytes, first_byte));
    }
  }

  const ProgramView& program_;
  const NpuConfig& config_;
  const MemoryMap& memory_;
  const HostFunctionTable host_functions_;
  const SanitizerOptions& options_;
  SanitizerReport& report_;
  const Describer describe_;
  Queues queues_;
  ShadowBook book_;
  ShadowMemory scratchpad_, accumulator_;
  std::vector<ShadowMemory> regions_;
  std::vector<std::byte> scratch_;
};

// The queues need engines and waits that exist.
std::string FindBadQueue(const ProgramView& program) {
  for (size_t i = 0; i < program.commands.size(); ++i) {
    const Command& c = program.commands[i];
    if (c.engine >= program.engines.size()) {
      return fmt::format("command {}: engine {} of {}", i, c.engine, program.engines.size());
    }
    if (c.wait_begin > program.waits.size() || c.wait_count > program.waits.size() - c.wait_begin) {
      return fmt::format("command {}: waits [{}, +{}) of {}", i, c.wait_begin, c.wait_count,
                         program.waits.size());
    }
  }
  return "";
}

}  // namespace
}  // namespace sanitizer

absl::Status RunSanitized(const ProgramView& program, const NpuConfig& config,
                          const MemoryMap& memory, HostFunctionTable host_functions,
                          const SanitizerOptions& options, SanitizerReport& report) {
  const int64_t findings_before = report.finding_count;
  absl::Status status;
  if (const std::string bad = sanitizer::FindBadQueue(program); !bad.empty()) {
    report.findings.push_back({FindingKind::kMalformedCommand, kNoCommand, kNoCommand, 0, 0, bad});
    ++report.finding_count;
  } else {
    status = sanitizer::Run(program, config, memory, host_functions, options, report).All();
  }
  const int64_t found = report.finding_count - findings_before;
  if (found == 0) return status;
  if (report.findings.size() <= static_cast<size_t>(findings_before)) {
    return DataLoss("sanitizer: {} findings", found);
  }
  return DataLoss("sanitizer: {} findings, first: {}", found,
                  report.findings[static_cast<size_t>(findings_before)].text);
}

}  // namespace berth
