// The sanitizer: a run for values that watches every byte of pool, scratchpad and accumulators, and
// tells what the proof (verify.h) excludes when it happens.
//
// Commands run one by one, in an order that the machine's queues and semaphores allow, over shadow
// memories that know for every byte which command wrote it, for which buffer, and who has read it
// since. Whether two accesses race is decided by what the semaphores order, not by the order that
// the run took. Nothing is shared with the proof but its rule for a single command's form
// (VerifyCommand), without which no unit may execute one: bytes, order and leases are found anew,
// from the command and the data of this run (of a gather only the rows that it reads count).
//
// Cost: a few nanoseconds for each byte that a command touches; 8 bytes for each byte of memory
// that is touched at all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "npu_sim/config.h"
#include "npu_sim/program.h"
#include "npu_sim/units.h"

namespace berth {

enum class FindingKind : uint8_t {
  kMalformedCommand = 0,  // no unit can execute it
  kMisaligned = 1,        // an address that is no multiple of the element
  kNoSuchMemory = 2,      // a region or slot that does not exist, or does not belong to the operand
  kOutOfBounds = 3,       // beyond its memory or its buffer
  kReadOnlyWritten = 4,   // a constant or an input of the caller
  kUninitializedRead = 5,  // bytes that nothing has written
  kStaleRead = 6,          // bytes that were last written for another buffer
  kRace = 7,               // with an access that the semaphores do not order
  kNeverSignalled = 8,     // a wait for more commands than the engine has
  kDeadlock = 9,           // engines that wait for one another
  kOutputUnwritten = 10,
};
std::string_view FindingKindName(FindingKind kind);  // "race", "uninitialized read", ...

inline constexpr uint32_t kNoCommand = UINT32_MAX;

struct SanitizerFinding {
  FindingKind kind = FindingKind::kMalformedCommand;
  uint32_t command = kNoCommand;        // none: an output that stays unwritten
  uint32_t other_command = kNoCommand;  // the one that it collides with
  int64_t first_byte = 0;               // from the beginning of the region or space
  int64_t byte_count = 0;               // touched bytes that are concerned
  std::string text;                     // all of it, with names
};

struct SanitizerReport {
  static constexpr size_t kMostFindings = 32;

  int64_t command_count = 0;  // that were executed
  int64_t read_bytes = 0, written_bytes = 0;
  int64_t finding_count = 0;
  std::vector<SanitizerFinding> findings;  // the first of them
};

// Names for messages; where a function is missing numbers have to do.
struct SanitizerNames {
  std::function<std::string(uint32_t op)> op;
  std::function<std::string(uint32_t name)> buffer;  // Slot::name
  std::function<std::string(uint32_t region)> region;
};

struct SanitizerOptions {
  SanitizerNames names;
  std::function<absl::Status()> check_stop;  // asked before every command; missing: never stops
};

// Adds to `report`. DataLoss with the first finding where there is any; else what stopped the run,
// or what a command reports of its data. After a finding of the kinds up to kReadOnlyWritten the
// command is not executed and the run ends. The memories are as large as the program says.
absl::Status RunSanitized(const ProgramView& program, const NpuConfig& config,
                          const MemoryMap& memory, HostFunctionTable host_functions,
                          const SanitizerOptions& options, SanitizerReport& report);

}  // namespace berth
