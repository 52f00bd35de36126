// Where an engine's cycles went. Every cycle from 0 to the makespan gets exactly one account: busy,
// a stall with its cause (the last one: no command left), or idle (never a command).
//
// Cycles are booked in order; what is already booked is never booked again, so that overlapping
// phases of neighbouring commands (a skew under the next command's work) count once. The tail of a
// command (array skew, the acknowledgement of a write) is booked only as far as the next command
// leaves it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "npu_sim/sim_report.h"

namespace berth::timing {

class Ledger {
 public:
  // `spans`: every booking is noted there as well; null: nowhere.
  explicit Ledger(EngineReport* report, std::vector<AccountSpan>* spans = nullptr)
      : report_(report), spans_(spans) {}

  // Whom the bookings from here on are for; only spans tell.
  void SetCommand(uint32_t command) { command_ = command; }

  // The next command begins at `cycle`; whatever is free before it was a wait for `cause`. Returns
  // the cycles waited.
  int64_t BeginCommand(int64_t cycle, StallCause cause) {
    BookTail(cycle);
    return Book(cycle, cause);
  }
  // Up to `cycle` the engine was busy (kNone) or stalled. Returns the cycles booked.
  int64_t Book(int64_t cycle, StallCause cause) { return BookFor(command_, cycle, cause); }
  void BookSetUp(int64_t cycle) { BookFor(command_, cycle, StallCause::kNone, true); }
  void SetTail(int64_t end_cycle, StallCause cause) {
    tail_end_ = end_cycle;
    tail_cause_ = cause;
    tail_command_ = command_;
  }
  void Close(int64_t makespan) {
    BookTail(makespan);
    // An engine that had work waits from here on for what the program does not give it.
    if (report_->command_count > 0) {
      BookFor(AccountSpan::kNoCommand, makespan, StallCause::kQueueEmpty);
    } else {
      report_->idle_cycles = makespan - booked_until_;
    }
  }

 private:
  int64_t BookFor(uint32_t command, int64_t cycle, StallCause cause, bool is_set_up = false) {
    const int64_t cycles = std::max<int64_t>(0, cycle - booked_until_);
    if (spans_ != nullptr && cycles > 0) Note({booked_until_, cycle, command, cause, is_set_up});
    booked_until_ += cycles;
    if (cause == StallCause::kNone) {
      report_->busy_cycles += cycles;
    } else {
      report_->stall_cycles[static_cast<size_t>(cause)] += cycles;
    }
    return cycles;
  }
  // Phases of one account that follow each other are one span.
  void Note(const AccountSpan& span) {
    if (!spans_->empty()) {
      AccountSpan& last = spans_->back();
      if (last.command == span.command && last.cause == span.cause &&
          last.is_set_up == span.is_set_up) {
        last.end_cycle = span.end_cycle;
        return;
      }
    }
    spans_->push_back(span);
  }
  void BookTail(int64_t cycle) {
    BookFor(tail_command_, std::min(cycle, tail_end_), tail_cause_);
    tail_end_ = 0;
  }

  EngineReport* report_;
  std::vector<AccountSpan>* spans_;
  uint32_t command_ = AccountSpan::kNoCommand, tail_command_ = AccountSpan::kNoCommand;
  int64_t booked_until_ = 0;
  int64_t tail_end_ = 0;
  StallCause tail_cause_ = StallCause::kNone;
};

}  // namespace berth::timing
