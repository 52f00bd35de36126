// The shadow of a memory: for every byte the write that it holds, and who has read that since.
//
// A cell takes 8 bytes for each byte of memory, in pages that cost nothing until they are touched.
// Cost: O(bytes touched).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "npu_sim/sanitizer/queues.h"

namespace berth::sanitizer {

// One access of one command.
struct ShadowAccess {
  uint32_t command = 0;
  uint32_t slot = kNoSlot;
  uint8_t operand = 0;
};

// Sets of commands that have read a byte since it was written, each set once. Of two readers of
// which one had surely finished when the other started only the later is kept: whoever is ordered
// after that one is ordered after both.
class ReaderSets {
 public:
  explicit ReaderSets(const Queues& queues) : queues_(queues), sets_(1) {}

  // `set` with `command` in it, which has just started. Set 0 is empty.
  uint32_t With(uint32_t set, uint32_t command);
  const std::vector<uint32_t>& Of(uint32_t set) const { return sets_[set]; }

 private:
  const Queues& queues_;
  std::vector<std::vector<uint32_t>> sets_;
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint32_t> extended_;
};

// What is wrong with an access to a byte, and with whose access it collides.
struct ByteVerdict {
  bool is_unwritten = false;
  bool is_stale = false;
  bool is_race = false;
  bool racer_reads = false;
  ShadowAccess stale_write, racer;
};

// Of all memories: cells refer to what is kept here.
class ShadowBook {
 public:
  explicit ShadowBook(const Queues& queues) : queues_(queues), readers_(queues), writes_(1) {}

  // Called once before the bytes of an access are visited.
  void Begin(const ShadowAccess& access, bool is_write);

  struct Cell {
    uint32_t write = 0;  // position in writes_; 0: nothing wrote
    uint32_t readers = 0;
    friend bool operator==(const Cell&, const Cell&) = default;
  };
  // How the access that was begun fares with such a cell, and what it leaves there.
  ByteVerdict Judge(const Cell& cell) const;
  Cell After(const Cell& cell);

 private:
  const Queues& queues_;
  ReaderSets readers_;
  std::vector<ShadowAccess> writes_;
  ShadowAccess access_;
  bool is_write_ = false;
};

class ShadowMemory {
 public:
  explicit ShadowMemory(int64_t size_bytes) : size_bytes_(size_bytes) {}

  // False when there is no memory for the cells.
  bool Reserve();

  // Calls report(byte, verdict) for bytes with which something is wrong.
  template <typename Report>
  void Visit(ShadowBook& book, int64_t begin_bytes, int64_t end_bytes, Report&& report) {
    ShadowBook::Cell seen, left = book.After(seen);
    ByteVerdict verdict = book.Judge(seen);
    for (int64_t byte = begin_bytes; byte < end_bytes; ++byte) {
      ShadowBook::Cell& cell = cells_[static_cast<size_t>(byte)];
      if (!(cell == seen)) {  // neighbours mostly share their past
        seen = cell;
        verdict = book.Judge(seen);
        left = book.After(seen);
      }
      if (verdict.is_unwritten || verdict.is_stale || verdict.is_race) report(byte, verdict);
      cell = left;
    }
  }

  // Bytes that nothing wrote, and the first of them.
  int64_t CountUnwritten(int64_t& first_byte) const;

 private:
  struct Free {
    void operator()(ShadowBook::Cell* cells) const { std::free(cells); }
  };

  int64_t size_bytes_;
  std::unique_ptr<ShadowBook::Cell[], Free> cells_;
};

}  // namespace berth::sanitizer
