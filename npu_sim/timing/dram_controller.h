// A DRAM channel's memory controller, burst by burst: what the analytic service times of
// timing/dram.h are held against, and what `berth dram` measures.
//
// Requests are offered in order, a few a clock, while at most `window` are outstanding and the
// queue of their kind (reads, writes) has room. Each clock one request may move on to the queue of
// its bank, and one command goes to the DRAM: refresh first, then the banks in turn, each by first
// ready first served (a row hit goes before the precharge that an older request needs, four times
// at most). Writes are posted, and go in bunches when their queue is full. Ranks refresh in turn.
//
// Clocks in which nothing can happen are skipped: the cost is about 50 to 100 ns a burst.
// Source: the published behaviour of cycle-accurate controllers, docs/machine.md.
#pragma once

#include <cstdint>
#include <vector>

#include "npu_sim/config.h"
#include "npu_sim/timing/dram_state.h"

namespace berth::timing {

struct DramBurst {
  int64_t index = 0;  // of the channel's bursts: address within the channel / burst_bytes
  bool is_write = false;
};

struct DramRun {
  int64_t clocks = 0;            // until the last read's data is there and the last write is posted
  int64_t bursts = 0;            // served
  int64_t read_latency_sum = 0;  // from when a read was offered to its last data
  int64_t reads = 0;
};

class DramController {
 public:
  explicit DramController(const DramConfig& config);

  // `next(burst)` gives the next burst, or false at the end. window >= 1. From an idle DRAM.
  template <typename Source>
  DramRun Run(Source&& next, int64_t window) {
    DramBurst burst;
    bool more = next(burst);
    while (more || outstanding_ > 0) {
      bool active = false;
      for (int64_t i = 0; i < timing_.bursts_offered_per_clock && more; ++i) {
        if (outstanding_ >= window || !HasRoom(burst)) break;
        Offer(burst);
        active = true;
        more = next(burst);
      }
      active |= Return();
      active |= Step();
      Advance(active);
    }
    run_.clocks = clock_;
    return run_;
  }

 private:
  struct Request {
    int64_t bank = 0, row = 0;
    int64_t offered_clock = 0;
    bool is_write = false;
  };
  struct BankQueue {
    std::vector<Request> requests;
    int64_t retry_clock = 0;  // nothing can go before
  };

  bool HasRoom(const DramBurst& burst) const {
    return static_cast<int64_t>((burst.is_write ? writes_ : reads_).size()) < timing_.queue_bursts;
  }
  void Offer(const DramBurst& burst);
  bool Return();
  bool Step();
  void Advance(bool active);
  Request Locate(const DramBurst& burst) const;
  void StartRefresh();
  bool ServeRefresh();
  bool ServeBanks();
  bool ServeBank(BankQueue& queue);
  bool ServeOpenBank(BankQueue& queue);
  void IssueColumn(const Request& request);
  bool MoveToBank();

  DramTiming timing_;
  int64_t bursts_per_row_;
  DramState state_;
  std::vector<BankQueue> banks_;
  std::vector<Request> reads_, writes_;  // oldest first
  std::vector<int64_t> return_clocks_;
  std::vector<bool> needs_refresh_;  // by rank
  int64_t refreshing_rank_ = -1, next_rank_ = 0;
  int64_t refresh_interval_;
  int64_t turn_ = 0;      // bank that was served last
  int64_t draining_ = 0;  // writes that go before any read
  int64_t queued_ = 0;    // in the bank queues
  int64_t outstanding_ = 0;
  int64_t clock_ = 0;
  DramRun run_;
};

}  // namespace berth::timing
