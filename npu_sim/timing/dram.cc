#include "npu_sim/timing/dram.h"

#include <algorithm>
#include <numeric>

#include "base/checked_math.h"

namespace berth::timing {
namespace {

int64_t RunCount(const Access& a) { return a.extent[0] * a.extent[1] * a.extent[2] * a.extent[3]; }

// value * numerator / denominator, rounded up, without overflow.
int64_t Scale(int64_t value, int64_t numerator, int64_t denominator) {
  int64_t narrow;
  if (!__builtin_mul_overflow(value, numerator, &narrow)) return CeilDiv(narrow, denominator);
  const __int128 product = static_cast<__int128>(value) * numerator;
  return static_cast<int64_t>((product + denominator - 1) / denominator);
}

}  // namespace

// A run of r bytes that starts at phase p of a unit touches 1 + floor((p + r - 1) / unit) units.
// The phases are p0 plus multiples of g = gcd(strides, unit); evenly spread, the floor averages to
// (p0 + r - 1 - (p0 + r - 1) mod g) / unit with p0 taken modulo g.
int64_t UnitsTouched(const Access& access, int64_t unit_bytes) {
  const int64_t range_units =
      (access.end_bytes() - 1) / unit_bytes - access.offset_bytes / unit_bytes + 1;
  const int64_t runs = RunCount(access);
  if (runs == 1) return range_units;
  int64_t granule = unit_bytes;
  for (int64_t stride : access.stride_bytes) granule = std::gcd(granule, stride);
  const int64_t reach = access.offset_bytes % granule + access.run_bytes - 1;
  if (granule == unit_bytes) return std::min(range_units, runs * (1 + reach / unit_bytes));
  return std::min(range_units, runs + Scale(runs, reach - reach % granule, unit_bytes));
}

DramCost::DramCost(const NpuConfig& config) : config_(config.dram), clock_mhz_(config.clock_mhz) {
  if (config_.model == DramModel::kFlat) return;
  const DramTiming& t = config_.timing;
  row_bytes_ = std::max<int64_t>(1, config_.page_bytes) * t.channels;
  if (t.address_map == AddressMap::kRowColumnBankGroup) {
    rows_per_set_ = t.bank_groups;  // neighbouring bursts lie in one row of each bank group
    row_bytes_ *= t.bank_groups;
  }
  // Write to read: the write's data, then tWTR and the read's CL; the other way round is shorter.
  turnaround_cycles_ = CyclesOfClocks(t.twtr_l + t.cl);
}

int64_t DramCost::CyclesOfClocks(int64_t clocks) const {
  return Scale(clocks, config_.timing.clock_ps * clock_mhz_, 1'000'000);
}

// All banks, unless rows stand a whole number of row sets apart: they fall on every n-th bank only.
// Bank groups are the low bits of a row set's number, ranks the high ones.
DramCost::Reach DramCost::ReachOf(const Access& access) const {
  const DramTiming& t = config_.timing;
  Reach reach{t.ranks * t.bank_groups * t.banks_per_group, t.bank_groups, t.ranks};
  const int64_t pitch = access.stride_bytes[3];
  if (access.extent[3] <= 1 || pitch % row_bytes_ != 0) return reach;
  const int64_t step = pitch / row_bytes_;
  const int64_t sets = reach.banks / rows_per_set_;
  // Of neighbouring bursts in different groups, a short run meets only some.
  const int64_t together = std::min(rows_per_set_, CeilDiv(access.run_bytes, config_.burst_bytes));
  reach.banks = sets / std::gcd(sets, step) * together;
  reach.groups = rows_per_set_ > 1
                     ? together
                     : std::max<int64_t>(1, t.bank_groups / std::gcd(t.bank_groups, step));
  reach.ranks = std::min(t.ranks, sets / std::gcd(sets, step));
  return reach;
}

int64_t DramCost::ServiceCycles(int64_t bursts, int64_t activations, const Reach& reach) const {
  if (config_.model == DramModel::kFlat) {
    return Scale(bursts * config_.burst_bytes, 1000, config_.peak_millibytes_per_cycle);
  }
  const DramTiming& t = config_.timing;
  const int64_t channel_bursts = CeilDiv(bursts, t.channels);
  const int64_t channel_rows = CeilDiv(activations, t.channels);
  // Bursts of one bank group stand tCCD_L apart, unless the queues see rows of other groups or
  // ranks as well: on average they see 1 + (queued bursts) * (rows - 1) / bursts rows.
  const int64_t spacing = std::max(t.burst_beats / 2, t.tccd_s);
  int64_t data_clocks = channel_bursts * spacing;
  if (t.address_map == AddressMap::kRowBankGroupColumn) {
    const int64_t visible = std::min(reach.groups * reach.ranks * channel_bursts,
                                     channel_bursts + (t.queue_bursts + t.bank_queue_commands) *
                                                          std::max<int64_t>(0, channel_rows - 1));
    data_clocks = std::max(data_clocks, Scale(channel_bursts * t.tccd_l, channel_bursts, visible));
  }
  const int64_t activate_clocks =
      CeilDiv(channel_rows, reach.ranks) * std::max(t.trrd_s, CeilDiv(t.tfaw, 4));
  const int64_t bank_clocks = CeilDiv(channel_rows, reach.banks) * (t.tras + t.trp);
  const int64_t clocks =
      std::max({data_clocks, activate_clocks, channel_rows > 1 ? bank_clocks : 0});
  return CyclesOfClocks(Scale(clocks, t.trefi + t.trfc, t.trefi));
}

int64_t DramCost::TurnaroundCycles(int64_t bursts) const {
  if (config_.model == DramModel::kFlat) return 0;
  const int64_t bunch = config_.timing.queue_bursts * config_.timing.channels;
  return Scale(turnaround_cycles_, std::min(bursts, bunch), bunch);
}

DramTransfer DramCost::Transfer(const Access& access, int64_t repeats) const {
  DramTransfer transfer;
  transfer.is_write = access.is_write;
  transfer.bytes = access.total_bytes() * repeats;
  transfer.bursts = UnitsTouched(access, config_.burst_bytes) * repeats;
  int64_t rows = 0;
  Reach reach;
  if (config_.model == DramModel::kBanked) {
    const int64_t sets = UnitsTouched(access, row_bytes_) * repeats;
    rows = std::min(sets * rows_per_set_, transfer.bursts);
    reach = ReachOf(access);
  }
  transfer.service_cycles = ServiceCycles(transfer.bursts, rows, reach);
  transfer.turnaround_cycles = TurnaroundCycles(transfer.bursts);
  return transfer;
}

DramTransfer DramCost::ScatteredRows(const Access& row, int64_t rows) const {
  DramTransfer transfer;
  transfer.is_write = row.is_write;
  transfer.bytes = row.total_bytes() * rows;
  transfer.bursts = UnitsTouched(row, config_.burst_bytes) * rows;
  int64_t opened = 0;
  Reach reach;
  if (config_.model == DramModel::kBanked) {
    opened = std::min(UnitsTouched(row, row_bytes_) * rows_per_set_ * rows, transfer.bursts);
    const DramTiming& t = config_.timing;
    reach = {t.ranks * t.bank_groups * t.banks_per_group, t.bank_groups, t.ranks};
  }
  transfer.service_cycles = ServiceCycles(transfer.bursts, opened, reach);
  transfer.turnaround_cycles = TurnaroundCycles(transfer.bursts);
  return transfer;
}

}  // namespace berth::timing
