// A run as a trace for Perfetto or chrome://tracing (the JSON trace event format).
//
// Two processes, because there are two clocks:
//   1  the simulated machine: one microsecond of the trace is one cycle. A lane for each engine and
//      DMA channel: its commands by op and tile, and between them its stalls by cause; counters of
//      the scratchpad bytes in use and of the bytes a cycle on the DRAM bus
//   2  the host, in real time: a lane for each worker
// Events of one lane follow each other without overlap: a command that begins before the one in
// front of it has drained is shown from where the lane is free. Deterministic but for process 2.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "berth/host_timeline.h"
#include "npu_sim/program.h"
#include "npu_sim/sim_report.h"
#include "runtime/bundle/contents.h"

namespace berth {

// `report.commands` must be filled; without it (a run for values) only the host's lanes are
// written. O(commands log commands).
std::string TraceJson(const ProgramView& program, const BundleContents& info,
                      const SimReport& report, absl::Span<const HostSpan> host_spans);

}  // namespace berth
