// What DRAM takes for one descriptor: analytic, from its run lengths. Derivation: docs/machine.md,
// "DRAM".
#pragma once

#include <algorithm>
#include <cstdint>

#include "npu_sim/access.h"
#include "npu_sim/config.h"

namespace berth::timing {

struct DramTransfer {
  bool is_write = false;
  int64_t bytes = 0;           // asked for
  int64_t bursts = 0;          // whole bursts that carry them
  int64_t service_cycles = 0;  // of the shared memory, without latency
  // Lost by the data bus if the transfer before it went the other way. The controller collects
  // writes and lets them go in bunches: a small transfer pays for its part of a bunch.
  int64_t turnaround_cycles = 0;
};

// Aligned units of `unit_bytes` that the runs of an access touch, each run on its own; never more
// than the units of its whole range. Exact if the strides are multiples of the unit or the runs'
// starts are spread evenly over it.
int64_t UnitsTouched(const Access& access, int64_t unit_bytes);

class DramCost {
 public:
  explicit DramCost(const NpuConfig& config);

  // `repeats` times the same access (loops that read the same bytes again).
  DramTransfer Transfer(const Access& access, int64_t repeats) const;
  // Shifting a transfer by this many bytes changes nothing.
  int64_t period_bytes() const { return std::max(config_.burst_bytes, row_bytes_); }

  // `rows` times the access of one row, each at an unrelated address.
  DramTransfer ScatteredRows(const Access& row, int64_t rows) const;

 private:
  // Where the rows of a transfer lie: how many banks it reaches, over how many bank groups and
  // ranks.
  struct Reach {
    int64_t banks = 1, groups = 1, ranks = 1;
  };
  Reach ReachOf(const Access& access) const;
  int64_t ServiceCycles(int64_t bursts, int64_t activations, const Reach& reach) const;
  int64_t TurnaroundCycles(int64_t bursts) const;
  int64_t CyclesOfClocks(int64_t clocks) const;

  DramConfig config_;
  int64_t clock_mhz_;
  int64_t row_bytes_ = 0;  // consecutive bytes that open one set of rows
  int64_t rows_per_set_ = 1;
  int64_t turnaround_cycles_ = 0;
};

}  // namespace berth::timing
