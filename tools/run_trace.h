// A run as a trace for Perfetto or chrome://tracing (the JSON trace event format).
//
// Two processes, because there are two clocks:
//   1  the simulated machine: one microsecond of the trace is one cycle. A lane for each engine and
//      DMA channel: its commands by op and tile, what of them the engine was only setting up or
//      draining, and its stalls by cause; counters of the scratchpad bytes in use and of the bytes
//      a cycle on the DRAM bus
//   2  the host, in real time: a lane for each worker
// The events of a lane are its accounts (SimReport::accounts): they follow each other without
// overlap or gap, the stalls of a cause add up to the report's, and commands with their set-up and
// drain to its busy cycles. Deterministic but for process 2.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "berth/host_timeline.h"
#include "npu_sim/program.h"
#include "npu_sim/sim_report.h"
#include "runtime/bundle/contents.h"

namespace berth {

// `report.commands` and `accounts` must be filled; without them (a run for values) only the host's
// lanes are written. O(commands log commands).
std::string TraceJson(const ProgramView& program, const BundleContents& info,
                      const SimReport& report, absl::Span<const HostSpan> host_spans);

}  // namespace berth
