#include "npu_sim/ancestors.h"

#include <algorithm>
#include <bit>

namespace berth {
namespace {

// Bits [first, last) of word `word`; the range does not wrap.
uint64_t MaskOf(uint32_t word, uint32_t first, uint32_t last) {
  const uint32_t low = std::clamp(first, word * 64, word * 64 + 64) - word * 64;
  const uint32_t high = std::clamp(last, word * 64, word * 64 + 64) - word * 64;
  if (low >= high) return 0;
  return (~uint64_t{0} >> (64 - (high - low))) << low;
}

}  // namespace

void Ancestors::Begin(uint32_t command) {
  command_ = command;
  Clear();
}

void Ancestors::Clear() {
  mark_ = 0;
  row_.fill(0);
}

void Ancestors::Add(uint32_t earlier) {
  if (command_ - earlier >= kWindow) return;  // too far back to be kept
  mark_ = std::max(mark_, marks_[earlier % kWindow]);
  // Bits that stand for [earlier, command_) belong to commands that have left the window.
  const uint32_t first = earlier % kWindow, last = command_ % kWindow;
  const bool wraps = last < first;
  const Row& known = rows_[earlier % kWindow];
  for (uint32_t word = 0; word < kWords; ++word) {
    const uint64_t left =
        wraps ? MaskOf(word, first, kWindow) | MaskOf(word, 0, last) : MaskOf(word, first, last);
    row_[word] |= known[word] & ~left;
  }
  row_[WordOf(earlier)] |= uint64_t{1} << (earlier % 64);
}

void Ancestors::End() {
  const uint32_t oldest = command_ > kWindow ? command_ - kWindow : 0;
  if (mark_ >= oldest) {
    while (mark_ < command_ && (row_[WordOf(mark_)] >> (mark_ % 64) & 1) != 0) {
      mark_ += static_cast<uint32_t>(std::countr_one(row_[WordOf(mark_)] >> (mark_ % 64)));
    }
    mark_ = std::min(mark_, command_);
  }
  rows_[command_ % kWindow] = row_;
  marks_[command_ % kWindow] = mark_;
}

}  // namespace berth
