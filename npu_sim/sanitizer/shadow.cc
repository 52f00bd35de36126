#include "npu_sim/sanitizer/shadow.h"

#include <algorithm>

namespace berth::sanitizer {

uint32_t ReaderSets::With(uint32_t set, uint32_t command) {
  const auto [entry, is_new] = extended_.try_emplace({set, command}, 0);
  if (!is_new) return entry->second;
  std::vector<uint32_t> members = sets_[set];
  std::erase_if(members, [&](uint32_t earlier) {
    return earlier == command || queues_.IsOrdered(earlier, command);
  });
  members.push_back(command);
  const bool is_same = members == sets_[set];
  entry->second = is_same ? set : static_cast<uint32_t>(sets_.size());
  if (!is_same) sets_.push_back(std::move(members));
  return entry->second;
}

void ShadowBook::Begin(const ShadowAccess& access, bool is_write) {
  access_ = access;
  is_write_ = is_write;
  if (is_write) writes_.push_back(access);
}

ByteVerdict ShadowBook::Judge(const Cell& cell) const {
  ByteVerdict verdict;
  const auto races = [&](uint32_t earlier) {
    return earlier != access_.command && !queues_.IsOrdered(earlier, access_.command);
  };
  if (cell.write != 0 && races(writes_[cell.write].command)) {
    verdict.is_race = true;
    verdict.racer = writes_[cell.write];
  }
  if (is_write_) {
    for (const uint32_t reader : readers_.Of(cell.readers)) {
      if (!races(reader)) continue;
      verdict.is_race = true;
      verdict.racer_reads = true;
      verdict.racer = {reader, kNoSlot, 0};
    }
    return verdict;
  }
  verdict.is_unwritten = cell.write == 0;
  if (!verdict.is_unwritten && writes_[cell.write].slot != access_.slot) {
    verdict.is_stale = true;
    verdict.stale_write = writes_[cell.write];
  }
  return verdict;
}

ShadowBook::Cell ShadowBook::After(const Cell& cell) {
  if (is_write_) return {static_cast<uint32_t>(writes_.size() - 1), 0};
  return {cell.write, readers_.With(cell.readers, access_.command)};
}

bool ShadowMemory::Reserve() {
  if (cells_ != nullptr || size_bytes_ == 0) return true;
  cells_.reset(static_cast<ShadowBook::Cell*>(
      std::calloc(static_cast<size_t>(size_bytes_), sizeof(ShadowBook::Cell))));
  return cells_ != nullptr;
}

int64_t ShadowMemory::CountUnwritten(int64_t& first_byte) const {
  int64_t count = 0;
  for (int64_t byte = size_bytes_ - 1; byte >= 0; --byte) {
    if (cells_ != nullptr && cells_[static_cast<size_t>(byte)].write != 0) continue;
    ++count;
    first_byte = byte;
  }
  return count;
}

}  // namespace berth::sanitizer
