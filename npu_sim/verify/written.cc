#include "npu_sim/verify/written.h"

#include <algorithm>
#include <bit>

namespace berth::verify {
namespace {

// Calls visit(begin of run) for each run, until it returns false.
template <typename Visit>
void ForEachRun(const Access& a, Visit&& visit) {
  for (int64_t i = 0; i < a.extent[0]; ++i) {
    for (int64_t j = 0; j < a.extent[1]; ++j) {
      for (int64_t k = 0; k < a.extent[2]; ++k) {
        int64_t begin =
            a.offset_bytes + i * a.stride_bytes[0] + j * a.stride_bytes[1] + k * a.stride_bytes[2];
        for (int64_t l = 0; l < a.extent[3]; ++l, begin += a.stride_bytes[3]) {
          if (!visit(begin)) return;
        }
      }
    }
  }
}

// The bits of [begin, end) that lie in word `word`.
uint64_t MaskOf(int64_t word, int64_t begin, int64_t end) {
  const int64_t low = std::max<int64_t>(begin - word * 64, 0);
  const int64_t high = std::min<int64_t>(end - word * 64, 64);
  return (~uint64_t{0} >> (64 - (high - low))) << low;
}

}  // namespace

bool WrittenBytes::Mark(const Access& access) {
  if (full()) return true;
  if (access.run_bytes == size_bytes_) {
    unwritten_bytes_ = 0;
    bits_.reset();
    return true;
  }
  if (!bits_) {
    const auto words = static_cast<size_t>((size_bytes_ + 63) / 64);
    bits_.reset(static_cast<uint64_t*>(std::calloc(words, sizeof(uint64_t))));
    if (!bits_) return false;
  }
  ForEachRun(access, [&](int64_t begin) {
    MarkRun(begin - offset_bytes_, begin - offset_bytes_ + access.run_bytes);
    return true;
  });
  if (full()) bits_.reset();
  return true;
}

void WrittenBytes::MarkRun(int64_t begin, int64_t end) {
  for (int64_t word = begin / 64; word * 64 < end; ++word) {
    const uint64_t mask = MaskOf(word, begin, end);
    uint64_t& bits = bits_[static_cast<size_t>(word)];
    if (bits == 0 && mask == ~uint64_t{0}) {  // what most writes find
      unwritten_bytes_ -= 64;
    } else {
      unwritten_bytes_ -= std::popcount(mask & ~bits);
    }
    bits |= mask;
  }
}

int64_t WrittenBytes::FirstUnwritten(const Access& access) const {
  if (full()) return -1;
  if (!bits_) return access.offset_bytes;
  int64_t found = -1;
  ForEachRun(access, [&](int64_t begin) {
    found = FirstUnwrittenInRun(begin - offset_bytes_, begin - offset_bytes_ + access.run_bytes);
    return found < 0;
  });
  return found < 0 ? -1 : found + offset_bytes_;
}

int64_t WrittenBytes::FirstUnwrittenInRun(int64_t begin, int64_t end) const {
  for (int64_t word = begin / 64; word * 64 < end; ++word) {
    const uint64_t missing = MaskOf(word, begin, end) & ~bits_[static_cast<size_t>(word)];
    if (missing != 0) return word * 64 + std::countr_zero(missing);
  }
  return -1;
}

}  // namespace berth::verify
