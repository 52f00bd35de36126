// `berth inspect --why OP`: what was decided for an op, where its bytes stand, what its time goes
// to, and what else the planner tried.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "npu_sim/sim_report.h"
#include "tools/inspect_plan.h"

namespace berth {

// What keeps an op from being faster.
enum class OpLimit : uint8_t {
  kNothing,    // it has no commands
  kCompute,    // the unit that does most of it works
  kConflicts,  // its operands stand in one bank
  kBandwidth,  // it waits for bytes to cross
  kLatency,    // it waits for set-up and round trips of transfers
  kOtherUnit,  // it waits for another unit: of its own, or of the op before
};

// What the engines of one kind spent on an op. What they spend on all ops, and wait at the end, is
// the makespan of each of them.
struct OpTime {
  int64_t command_count = 0;
  int64_t busy_cycles = 0;
  int64_t set_up_cycles = 0;  // of these
  std::array<int64_t, kStallCauseCount> stall_cycles{};

  int64_t total_cycles() const;
};

// Buffers of one name that commands of the op touch.
struct OpBuffers {
  std::string_view name;
  MemorySpace space = MemorySpace::kNone;
  int64_t count = 0;
  int64_t largest_bytes = 0;
};

struct OpExplanation {
  static constexpr size_t kKinds = 4;  // of engines

  uint32_t op = 0;
  const SegmentInfo* segment = nullptr;  // null: the bundle does not say
  std::vector<OpBuffers> buffers;        // in order of their first use
  absl::Status proved;                   // whether the program verifies; the rest only if it does
  int64_t makespan_cycles = 0;
  OpReport report;
  std::array<OpTime, kKinds> times;    // by EngineKind
  EngineKind main = EngineKind::kDma;  // the unit with the most to do, or DMA
  OpLimit limit = OpLimit::kNothing;
  int64_t bus_cycles = 0;  // that its transfers hold the DRAM bus
  // The more of what its main engine and the DRAM bus are taken for: other ops may have the one
  // while it has the other.
  int64_t cycles = 0;
  // Never more than these: the array's own cycles, and those of the bytes that it moves here, each
  // counted once, at the peak rate.
  int64_t bound_cycles = 0;
  int64_t bound_dram_cycles = 0;

  const OpTime& time(EngineKind kind) const { return times[static_cast<size_t>(kind)]; }
};

// By name; the first of several.
std::optional<uint32_t> FindOp(const InspectedPlan& plan, const std::string& name);

// Verifies the program first: only then it can be timed. O(commands log commands).
absl::StatusOr<OpExplanation> ExplainOp(const InspectedPlan& plan, uint32_t op);

// inspect_op_text.cc
std::string OpExplanationText(const InspectedPlan& plan, const OpExplanation& why);
nlohmann::ordered_json OpExplanationJson(const InspectedPlan& plan, const OpExplanation& why);

}  // namespace berth
