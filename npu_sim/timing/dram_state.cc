#include "npu_sim/timing/dram_state.h"

#include <algorithm>

namespace berth::timing {
namespace {

constexpr size_t kRead = 0, kWrite = 1;

void Raise(int64_t& clock, int64_t to) { clock = std::max(clock, to); }

}  // namespace

DramState::DramState(const DramTiming& timing)
    : timing_(timing),
      banks_per_rank_(timing.bank_groups * timing.banks_per_group),
      burst_clocks_(timing.burst_beats / 2),
      banks_(static_cast<size_t>(timing.ranks * banks_per_rank_)),
      groups_(static_cast<size_t>(timing.ranks * timing.bank_groups)),
      ranks_(static_cast<size_t>(timing.ranks)) {}

int64_t DramState::ActivateClock(int64_t bank) const {
  const Rank& rank = ranks_[RankOf(bank)];
  return std::max({banks_[bank].activate_clock, groups_[GroupOf(bank)].activate_clock,
                   rank.activate_clock, rank.window_end[rank.oldest]});
}

int64_t DramState::PrechargeClock(int64_t bank) const {
  return std::max(banks_[bank].precharge_clock, ranks_[RankOf(bank)].precharge_clock);
}

int64_t DramState::ColumnClock(int64_t bank, bool is_write) const {
  const size_t kind = is_write ? kWrite : kRead;
  return std::max({banks_[bank].column_clock, groups_[GroupOf(bank)].column_clock[kind],
                   ranks_[RankOf(bank)].column_clock[kind]});
}

void DramState::Activate(int64_t bank, int64_t row, int64_t clock) {
  Bank& b = banks_[bank];
  b.open_row = row;
  b.row_hits = 0;
  Raise(b.activate_clock, clock + timing_.tras + timing_.trp);
  Raise(b.column_clock, clock + timing_.trcd);
  Raise(b.precharge_clock, clock + timing_.tras);
  Raise(groups_[GroupOf(bank)].activate_clock, clock + timing_.trrd_l);
  Rank& rank = ranks_[RankOf(bank)];
  Raise(rank.activate_clock, clock + timing_.trrd_s);
  rank.window_end[rank.oldest] = clock + timing_.tfaw;
  rank.oldest = (rank.oldest + 1) % rank.window_end.size();
}

void DramState::Precharge(int64_t bank, int64_t clock) {
  Bank& b = banks_[bank];
  b.open_row = kNoRow;
  b.row_hits = 0;
  Raise(b.activate_clock, clock + timing_.trp);
  Raise(b.refresh_clock, clock + timing_.trp);
  Raise(ranks_[RankOf(bank)].precharge_clock, clock + timing_.tppd);
}

int64_t DramState::Column(int64_t bank, bool is_write, int64_t clock) {
  ++banks_[bank].row_hits;
  if (is_write) {
    AfterWrite(bank, clock);
    return clock + timing_.cwl + burst_clocks_;
  }
  AfterRead(bank, clock);
  return clock + timing_.cl + burst_clocks_;
}

// The bus turns when the read's data has passed; another rank drives it after one more gap.
void DramState::AfterRead(int64_t bank, int64_t clock) {
  Group& group = groups_[GroupOf(bank)];
  Raise(group.column_clock[kRead], clock + std::max(burst_clocks_, timing_.tccd_l));
  const int64_t to_write = timing_.cl + burst_clocks_ - timing_.cwl + timing_.trtrs;
  for (int64_t r = 0; r < timing_.ranks; ++r) {
    const bool same = r == RankOf(bank);
    Raise(ranks_[r].column_clock[kRead],
          clock + (same ? std::max(burst_clocks_, timing_.tccd_s) : burst_clocks_ + timing_.trtrs));
    Raise(ranks_[r].column_clock[kWrite], clock + to_write);
  }
  Raise(banks_[bank].precharge_clock, clock + timing_.trtp);
}

// A read of the same rank waits tWTR from the end of the data; one of another rank only for the
// bus.
void DramState::AfterWrite(int64_t bank, int64_t clock) {
  Group& group = groups_[GroupOf(bank)];
  const int64_t data_end = clock + timing_.cwl + burst_clocks_;
  Raise(group.column_clock[kWrite], clock + std::max(burst_clocks_, timing_.tccd_l));
  Raise(group.column_clock[kRead], data_end + timing_.twtr_l);
  for (int64_t r = 0; r < timing_.ranks; ++r) {
    const bool same = r == RankOf(bank);
    Raise(ranks_[r].column_clock[kWrite],
          clock + (same ? std::max(burst_clocks_, timing_.tccd_s) : burst_clocks_));
    Raise(ranks_[r].column_clock[kRead],
          same ? data_end + timing_.twtr_s : data_end + timing_.trtrs - timing_.cl);
  }
  Raise(banks_[bank].precharge_clock, data_end + timing_.twr);
}

void DramState::Refresh(int64_t rank, int64_t clock) {
  for (int64_t bank = rank * banks_per_rank_; bank < (rank + 1) * banks_per_rank_; ++bank) {
    Raise(banks_[bank].activate_clock, clock + timing_.trfc);
    Raise(banks_[bank].refresh_clock, clock + timing_.trfc);
  }
}

}  // namespace berth::timing
