// When the commands of one engine run, given when each may start. One class per kind of engine;
// commands come in list order. Derivation: docs/machine.md, "Engines".
#pragma once

#include <array>
#include <cstdint>

#include "npu_sim/timing/cost.h"
#include "npu_sim/timing/ledger.h"

namespace berth::timing {

// When a command's waits were satisfied, and by whom.
struct Ready {
  int64_t cycle = 0;
  StallCause cause = StallCause::kNone;
};

struct Span {
  int64_t start_cycle = 0, finish_cycle = 0;
  int64_t bus_begin_cycle = 0, bus_end_cycle = 0;  // DMA: on the DRAM bus
};

// Does the command read what `written` (an output operand) holds? Bytes are read only under the
// slot that they were written in (rule 6 of verify.h), so slots tell.
bool Reads(const Command& command, const Operand& written);

// Matrix, vector and host: one command after the other. Lead and drain of the matrix unit overlap
// the neighbours, unless a command reads what the one before it wrote.
class UnitClock {
 public:
  Span Run(const Command& command, const CommandCost& cost, const Ready& ready, Ledger& ledger);

 private:
  int64_t steady_start_ = 0;  // of the command before
  int64_t steady_end_ = 0;
  int64_t finish_ = 0;
  Operand written_;  // by the command before, until finish_
};

// The DRAM data bus, shared by all channels: first come, first served, a descriptor at a time.
struct DramBus {
  int64_t free_cycle = 0;
  bool last_was_write = false;
  bool used = false;
};

// A DMA channel: sets up one descriptor ahead, issues bursts in order, keeps a limited number of
// them outstanding.
class ChannelClock {
 public:
  explicit ChannelClock(const NpuConfig& config);

  // First half: up to where the descriptor competes for the bus. Returns the cycle at which its
  // first byte could be on the bus (without DRAM: at which it starts).
  int64_t Issue(const Command& command, const CommandCost& cost, const Ready& ready);
  // Second half, in the order of those cycles over all channels.
  Span Transfer(const Command& command, const CommandCost& cost, DramBus& bus, Ledger& ledger);

 private:
  struct InFlight {
    Operand written;
    int64_t finish_cycle = 0;
  };
  int64_t WaitForOwnWrites(const Command& command, int64_t cycle);
  void Remember(const Command& command, int64_t finish_cycle);

  int64_t read_latency_, write_latency_, outstanding_bursts_;
  int64_t setup_cycles_;
  // Of the descriptor before:
  int64_t issue_start_ = 0;  // its first burst
  int64_t issue_end_ = 0;    // its last read burst
  int64_t data_end_ = 0;     // its last byte on the channel's data path
  int64_t finish_ = 0;
  // Of the one between Issue and Transfer:
  Ready ready_;
  int64_t start_ = 0, eligible_ = 0;
  std::array<InFlight, 32> ring_;
  size_t ring_begin_ = 0, ring_count_ = 0;
};

}  // namespace berth::timing
