// When a DRAM channel may take which command: one struct of earliest clocks per bank, bank group
// and rank, raised by every command. All times in DRAM clocks. Source: the JEDEC parameters of
// DramTiming; derivation: docs/machine.md, "DRAM, burst by burst".
//
// Invariant: an earliest clock never falls, so that a time once computed stays a lower bound until
// the bank itself takes a command.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "npu_sim/config.h"

namespace berth::timing {

inline constexpr int64_t kNoRow = -1;

class DramState {
 public:
  explicit DramState(const DramTiming& timing);

  int64_t bank_count() const { return static_cast<int64_t>(banks_.size()); }
  int64_t banks_per_rank() const { return banks_per_rank_; }
  int64_t open_row(int64_t bank) const { return banks_[bank].open_row; }
  // Reads and writes since the row was opened.
  int64_t row_hits(int64_t bank) const { return banks_[bank].row_hits; }

  // The earliest clock of each command.
  int64_t ActivateClock(int64_t bank) const;
  int64_t PrechargeClock(int64_t bank) const;
  int64_t ColumnClock(int64_t bank, bool is_write) const;
  int64_t RefreshClock(int64_t bank) const { return banks_[bank].refresh_clock; }

  void Activate(int64_t bank, int64_t row, int64_t clock);
  void Precharge(int64_t bank, int64_t clock);
  // A read or write burst. Returns the clock after its last data.
  int64_t Column(int64_t bank, bool is_write, int64_t clock);
  void Refresh(int64_t rank, int64_t clock);

 private:
  struct Bank {
    int64_t open_row = kNoRow;
    int64_t row_hits = 0;
    int64_t activate_clock = 0, precharge_clock = 0, column_clock = 0, refresh_clock = 0;
  };
  struct Group {
    int64_t activate_clock = 0;
    std::array<int64_t, 2> column_clock{};  // read, write
  };
  struct Rank {
    int64_t activate_clock = 0, precharge_clock = 0;
    std::array<int64_t, 2> column_clock{};
    std::array<int64_t, 4> window_end{};  // of the last four activations: tFAW after each
    size_t oldest = 0;
  };
  int64_t GroupOf(int64_t bank) const { return bank / timing_.banks_per_group; }
  int64_t RankOf(int64_t bank) const { return bank / banks_per_rank_; }
  void AfterRead(int64_t bank, int64_t clock);
  void AfterWrite(int64_t bank, int64_t clock);

  DramTiming timing_;
  int64_t banks_per_rank_;
  int64_t burst_clocks_;
  std::vector<Bank> banks_;  // rank by rank, group by group
  std::vector<Group> groups_;
  std::vector<Rank> ranks_;
};

}  // namespace berth::timing
