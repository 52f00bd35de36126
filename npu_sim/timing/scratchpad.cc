#include "npu_sim/timing/scratchpad.h"

#include <algorithm>

#include "base/checked_math.h"

namespace berth::timing {
namespace {

// ceil(a * b / c) for a, b >= 0, c > 0.
int64_t MulCeilDiv(int64_t a, int64_t b, int64_t c) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return CeilDiv(product, c);
  const __int128 wide = static_cast<__int128>(a) * b;
  return static_cast<int64_t>((wide + c - 1) / c);
}

// Bytes of [0, end) that an interleaved bank holds.
int64_t InterleavedBytesBelow(int64_t end, int64_t bank, const ScratchpadConfig& config) {
  const int64_t chunk = config.bank_interleave_bytes;
  const int64_t round = chunk * config.banks;
  return end / round * chunk + std::clamp<int64_t>(end % round - bank * chunk, 0, chunk);
}

// Bytes of the stream's range that lie in a bank. High-order banks continue past the scratchpad's
// end, so that a command too big for it can be asked about.
int64_t RangeInBank(const Stream& s, int64_t bank, int64_t bank_bytes,
                    const ScratchpadConfig& config) {
  if (config.bank_interleave_bytes > 0) {
    return InterleavedBytesBelow(s.end_bytes, bank, config) -
           InterleavedBytesBelow(s.begin_bytes, bank, config);
  }
  return std::max<int64_t>(0, std::min(s.end_bytes, (bank + 1) * bank_bytes) -
                                  std::max(s.begin_bytes, bank * bank_bytes));
}

class Meter {
 public:
  Meter(absl::Span<const Stream> streams, int64_t bank_bytes, const ScratchpadConfig& config)
      : streams_(streams), bank_bytes_(bank_bytes), config_(config) {}

  void AddBank(int64_t bank) {
    int64_t total = 0;
    for (const Stream& s : streams_) {
      const int64_t range = RangeInBank(s, bank, bank_bytes_, config_);
      if (range == 0) continue;
      const int64_t moved = MulCeilDiv(s.moved_bytes, range, s.end_bytes - s.begin_bytes);
      alone_ = std::max(alone_, moved);
      total += moved;
    }
    together_ = std::max(together_, total);
  }

  PortCycles Cycles() const {
    const int64_t rate = config_.port_bytes_per_cycle * config_.ports_per_bank;
    return {CeilDiv(alone_, rate), CeilDiv(together_, rate)};
  }

 private:
  absl::Span<const Stream> streams_;
  int64_t bank_bytes_;
  const ScratchpadConfig& config_;
  int64_t alone_ = 0, together_ = 0;
};

}  // namespace

PortCycles CyclesOfPorts(absl::Span<const Stream> streams, const ScratchpadConfig& config) {
  const int64_t bank_bytes = std::max<int64_t>(1, config.size_bytes / config.banks);
  Meter meter(streams, bank_bytes, config);
  if (config.bank_interleave_bytes > 0) {
    for (int64_t bank = 0; bank < config.banks; ++bank) meter.AddBank(bank);
    return meter.Cycles();
  }
  // Along the banks, what a stream moves can only rise at its first bank and at the one after it
  // (all but the ends of its range hold equally much): the greatest sum stands at one of those.
  for (const Stream& s : streams) {
    if (s.end_bytes <= s.begin_bytes) continue;
    const int64_t first = s.begin_bytes / bank_bytes, last = (s.end_bytes - 1) / bank_bytes;
    meter.AddBank(first);
    if (last > first) meter.AddBank(first + 1);
  }
  return meter.Cycles();
}

}  // namespace berth::timing
