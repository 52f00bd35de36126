// Which earlier commands surely come before a command, as its edges are found one by one.
//
// Of the latest kWindow commands one bit each; of all before them a mark below which everything
// comes before. What is not known is answered "no". Bits of command p stand at p % kWindow, so that
// what a predecessor knew is taken over word by word. Cost: O(kWindow / 64) an edge; memory: a row
// for each command of the window.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace berth {

class Ancestors {
 public:
  Ancestors() : rows_(kWindow), marks_(kWindow) {}

  // From here on about `command`; called for 0, 1, 2, ...
  void Begin(uint32_t command);
  bool Has(uint32_t earlier) const {
    if (earlier < mark_) return true;
    return command_ - earlier <= kWindow && (row_[WordOf(earlier)] >> (earlier % 64) & 1) != 0;
  }
  bool HasAllUpTo(uint32_t earlier) const { return earlier < mark_; }
  // An edge, and all that it implies.
  void Add(uint32_t earlier);
  // Forgets the edges of this command.
  void Clear();
  // Keeps what is known of this command for those that follow.
  void End();

 private:
  static constexpr uint32_t kWindow = 1024;
  static constexpr uint32_t kWords = kWindow / 64;
  using Row = std::array<uint64_t, kWords>;

  static uint32_t WordOf(uint32_t command) { return command % kWindow / 64; }

  uint32_t command_ = 0;
  uint32_t mark_ = 0;
  Row row_{};
  std::vector<Row> rows_;  // of command c: c % kWindow
  std::vector<uint32_t> marks_;
};

}  // namespace berth
