#include "npu_sim/timing/dram_controller.h"

#include <algorithm>
#include <limits>

namespace berth::timing {
namespace {

// A row that others wait for is closed after so many hits.
constexpr int64_t kMostRowHits = 4;
// Few writes go only when there is nothing else to do.
constexpr size_t kFewWrites = 8;

}  // namespace

DramController::DramController(const DramConfig& config)
    : timing_(config.timing),
      bursts_per_row_(std::max<int64_t>(1, config.page_bytes / config.burst_bytes)),
      state_(config.timing),
      banks_(static_cast<size_t>(state_.bank_count())),
      needs_refresh_(static_cast<size_t>(timing_.ranks)),
      refresh_interval_(std::max<int64_t>(1, timing_.trefi / timing_.ranks)) {}

// From the low bits up: column and bank group in the order of the map, then bank, rank, row.
DramController::Request DramController::Locate(const DramBurst& burst) const {
  int64_t rest = burst.index;
  int64_t group;
  if (timing_.address_map == AddressMap::kRowColumnBankGroup) {
    group = rest % timing_.bank_groups;
    rest = rest / timing_.bank_groups / bursts_per_row_;
  } else {
    rest /= bursts_per_row_;
    group = rest % timing_.bank_groups;
    rest /= timing_.bank_groups;
  }
  const int64_t bank = rest % timing_.banks_per_group;
  rest /= timing_.banks_per_group;
  const int64_t rank = rest % timing_.ranks;
  return {(rank * timing_.bank_groups + group) * timing_.banks_per_group + bank,
          rest / timing_.ranks, clock_, burst.is_write};
}

void DramController::Offer(const DramBurst& burst) {
  ++outstanding_;
  (burst.is_write ? writes_ : reads_).push_back(Locate(burst));
  if (burst.is_write) return_clocks_.push_back(clock_ + 1);
}

bool DramController::Return() {
  const auto done = std::remove_if(return_clocks_.begin(), return_clocks_.end(),
                                   [this](int64_t clock) { return clock <= clock_; });
  const auto count = return_clocks_.end() - done;
  return_clocks_.erase(done, return_clocks_.end());
  outstanding_ -= count;
  run_.bursts += count;
  return count > 0;
}

// One clock of the controller. False if nothing happened.
bool DramController::Step() {
  bool active = false;
  if (clock_ > 0 && clock_ % refresh_interval_ == 0) {
    StartRefresh();
    active = true;
  }
  active |= ServeRefresh() || ServeBanks();
  active |= MoveToBank();
  return active;
}

void DramController::StartRefresh() {
  needs_refresh_[next_rank_] = true;
  next_rank_ = (next_rank_ + 1) % timing_.ranks;
}

// Closes the banks of the rank that is due, one a clock, then refreshes it.
bool DramController::ServeRefresh() {
  const auto due = std::find(needs_refresh_.begin(), needs_refresh_.end(), true);
  refreshing_rank_ = due == needs_refresh_.end() ? -1 : due - needs_refresh_.begin();
  if (refreshing_rank_ < 0) return false;
  const int64_t begin = refreshing_rank_ * state_.banks_per_rank();
  bool ready = true;
  for (int64_t bank = begin; bank < begin + state_.banks_per_rank(); ++bank) {
    if (state_.open_row(bank) == kNoRow) {
      ready &= state_.RefreshClock(bank) <= clock_;
      continue;
    }
    ready = false;
    if (state_.PrechargeClock(bank) > clock_) continue;
    state_.Precharge(bank, clock_);
    return true;
  }
  if (!ready) return false;
  state_.Refresh(refreshing_rank_, clock_);
  for (int64_t bank = begin; bank < begin + state_.banks_per_rank(); ++bank) {
    banks_[bank].retry_clock = 0;
  }
  needs_refresh_[refreshing_rank_] = false;
  return true;
}

bool DramController::ServeBanks() {
  const int64_t count = state_.bank_count();
  for (int64_t i = 0; i < count; ++i) {
    turn_ = turn_ + 1 == count ? 0 : turn_ + 1;
    BankQueue& queue = banks_[turn_];
    if (queue.requests.empty() || queue.retry_clock > clock_) continue;
    if (turn_ / state_.banks_per_rank() == refreshing_rank_) continue;
    if (ServeBank(queue)) {
      queue.retry_clock = 0;
      return true;
    }
  }
  return false;
}

bool DramController::ServeBank(BankQueue& queue) {
  const Request& first = queue.requests.front();
  if (state_.open_row(first.bank) != kNoRow) return ServeOpenBank(queue);
  queue.retry_clock = state_.ActivateClock(first.bank);
  if (queue.retry_clock > clock_) return false;
  state_.Activate(first.bank, first.row, clock_);
  return true;
}

bool DramController::ServeOpenBank(BankQueue& queue) {
  const int64_t bank = queue.requests.front().bank;
  const int64_t open_row = state_.open_row(bank);
  const auto hits = [open_row](const Request& request) { return request.row == open_row; };
  int64_t retry_clock = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < queue.requests.size(); ++i) {
    const Request request = queue.requests[i];
    if (hits(request)) {
      const int64_t ready = state_.ColumnClock(bank, request.is_write);
      if (ready <= clock_) {
        IssueColumn(request);
        queue.requests.erase(queue.requests.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      }
      retry_clock = std::min(retry_clock, ready);
    } else if (i == 0 && (state_.row_hits(bank) >= kMostRowHits ||
                          std::none_of(queue.requests.begin(), queue.requests.end(), hits))) {
      const int64_t ready = state_.PrechargeClock(bank);
      if (ready <= clock_) {
        state_.Precharge(bank, clock_);
        return true;
      }
      retry_clock = std::min(retry_clock, ready);
    }
  }
  queue.retry_clock = retry_clock;
  return false;
}

void DramController::IssueColumn(const Request& request) {
  const int64_t data_end = state_.Column(request.bank, request.is_write, clock_);
  --queued_;
  if (request.is_write) return;  // was posted
  return_clocks_.push_back(data_end);
  ++run_.reads;
  run_.read_latency_sum += data_end - request.offered_clock;
}

// The oldest request whose bank has room leaves the common queue.
bool DramController::MoveToBank() {
  if (draining_ == 0 && (static_cast<int64_t>(writes_.size()) >= timing_.queue_bursts ||
                         (writes_.size() > kFewWrites && queued_ == 0))) {
    draining_ = static_cast<int64_t>(writes_.size());
  }
  std::vector<Request>& requests = draining_ > 0 ? writes_ : reads_;
  const auto moved = std::find_if(requests.begin(), requests.end(), [this](const Request& r) {
    return static_cast<int64_t>(banks_[r.bank].requests.size()) < timing_.bank_queue_commands;
  });
  if (moved == requests.end()) return false;
  if (moved->is_write) --draining_;
  banks_[moved->bank].requests.push_back(*moved);
  banks_[moved->bank].retry_clock = 0;
  ++queued_;
  requests.erase(moved);
  return true;
}

// To the next clock, or past those in which nothing can happen.
void DramController::Advance(bool active) {
  int64_t next = clock_ + 1;
  if (!active && refreshing_rank_ < 0) {
    next = (clock_ / refresh_interval_ + 1) * refresh_interval_;
    for (const BankQueue& queue : banks_) {
      if (!queue.requests.empty()) next = std::min(next, queue.retry_clock);
    }
    for (const int64_t clock : return_clocks_) next = std::min(next, clock);
  }
  clock_ = std::max(clock_ + 1, next);
}

}  // namespace berth::timing
