#include "npu_sim/timing/engine_clock.h"

#include <algorithm>

#include "base/checked_math.h"

namespace berth::timing {
bool Reads(const Command& command, const Operand& written) {
  for (const Operand* o : {&command.in0, &command.in1, &command.in2}) {
    if (!o->present() || o->space != written.space || o->slot != written.slot) continue;
    if (o->slot != kNoSlot || o->region == written.region) return true;
  }
  return false;
}

Span UnitClock::Run(const Command& command, const CommandCost& cost, const Ready& ready,
                    Ledger& ledger) {
  int64_t allowed = std::max(ready.cycle, steady_start_);
  if (allowed < finish_ && Reads(command, written_)) allowed = finish_;
  const int64_t steady_start = std::max(steady_end_, allowed + cost.lead_cycles);
  const int64_t start = steady_start - cost.lead_cycles;
  const int64_t steady_end = steady_start + cost.steady_cycles;
  ledger.BeginCommand(start, ready.cause);
  ledger.Book(steady_end - cost.bank_conflict_cycles, StallCause::kNone);
  ledger.Book(steady_end, StallCause::kBankConflict);
  finish_ = std::max(finish_, steady_end + cost.drain_cycles);
  ledger.SetTail(finish_, StallCause::kNone);
  const Span span{std::max(start, steady_end_), finish_};
  steady_start_ = steady_start;
  steady_end_ = steady_end;
  written_ = command.out;
  return span;
}

ChannelClock::ChannelClock(const NpuConfig& config)
    : read_latency_(config.dram.read_latency_cycles),
      write_latency_(config.dram.write_latency_cycles),
      outstanding_bursts_(config.dma.max_outstanding_bursts_per_channel),
      setup_cycles_(config.dma.setup_cycles) {}

int64_t ChannelClock::WaitForOwnWrites(const Command& command, int64_t cycle) {
  while (ring_count_ > 0 && ring_[ring_begin_].finish_cycle <= cycle) {
    ring_begin_ = (ring_begin_ + 1) % ring_.size();
    --ring_count_;
  }
  for (size_t i = ring_count_; i-- > 0;) {  // the latest first: it finishes last
    const InFlight& entry = ring_[(ring_begin_ + i) % ring_.size()];
    if (Reads(command, entry.written)) return entry.finish_cycle;
  }
  return cycle;
}

void ChannelClock::Remember(const Command& command, int64_t finish_cycle) {
  if (ring_count_ == ring_.size()) {
    ring_begin_ = (ring_begin_ + 1) % ring_.size();
    --ring_count_;
  }
  ring_[(ring_begin_ + ring_count_++) % ring_.size()] = {command.out, finish_cycle};
}

int64_t ChannelClock::Issue(const Command& command, const CommandCost& cost, const Ready& ready) {
  ready_ = ready;
  start_ = std::max(issue_start_, ready.cycle);
  if (ring_count_ == ring_.size()) {  // as many descriptors in flight as the channel can hold
    start_ = std::max(start_, ring_[ring_begin_].finish_cycle);
  }
  start_ = WaitForOwnWrites(command, start_);
  const int64_t set_up = start_ + setup_cycles_;
  const bool is_read = cost.uses_dram && !cost.dram.is_write;
  issue_start_ = std::max(set_up, is_read ? issue_end_ : data_end_);
  eligible_ = issue_start_ + (is_read ? read_latency_ : 0);
  return eligible_;
}

Span ChannelClock::Transfer(const Command& command, const CommandCost& cost, DramBus& bus,
                            Ledger& ledger) {
  const bool is_read = cost.uses_dram && !cost.dram.is_write;
  ledger.BeginCommand(start_, ready_.cause);
  ledger.BookSetUp(start_ + setup_cycles_);
  if (is_read) ledger.Book(eligible_, StallCause::kLatency);
  int64_t begin = std::max(eligible_, data_end_);
  int64_t moved = begin + cost.steady_cycles;  // limited by the scratchpad's port
  data_end_ = moved;
  int64_t tail = 0, bus_begin = 0, bus_end = 0;
  if (cost.uses_dram) {
    const bool turns = bus.used && bus.last_was_write != cost.dram.is_write;
    begin = std::max(begin, bus.free_cycle + (turns ? cost.dram.turnaround_cycles : 0));
    bus = {begin + cost.dram.service_cycles, cost.dram.is_write, true};
    bus_begin = begin;
    bus_end = bus.free_cycle;
    ledger.Book(begin, StallCause::kBandwidth);
    moved = begin + std::max(cost.dram.service_cycles, cost.steady_cycles);
    // Bursts beyond those that may be outstanding go one round trip later each.
    tail = is_read ? 0 : write_latency_;
    const int64_t round_trip = is_read ? read_latency_ : write_latency_;
    const int64_t trips_cycles =
        CeilDiv(std::max<int64_t>(0, cost.dram.bursts - outstanding_bursts_) * round_trip,
                outstanding_bursts_);
    data_end_ = std::max(moved, begin + trips_cycles);
  }
  ledger.Book(moved, StallCause::kNone);
  ledger.Book(data_end_, StallCause::kLatency);
  issue_end_ = is_read ? std::max(issue_start_, data_end_ - read_latency_) : data_end_;
  finish_ = std::max(finish_, data_end_ + tail);
  ledger.SetTail(finish_, StallCause::kLatency);
  Remember(command, finish_);
  return {start_, finish_, bus_begin, bus_end};
}

}  // namespace berth::timing
