// What the pool's tests hold it against, written apart from it: a range that knows which of its
// pages are committed and refuses what a pool must not ask, and a plain model of the live blocks.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "runtime/pool/dynamic_pool.h"
#include "runtime/pool/offset_allocator.h"

namespace berth {

class CheckedRange : public AddressRange {
 public:
  CheckedRange(int64_t size_bytes, int64_t page_bytes)
      : size_bytes_(size_bytes), page_bytes_(page_bytes) {}
  std::byte* base() const override { return nullptr; }
  int64_t size_bytes() const override { return size_bytes_; }
  int64_t page_bytes() const override { return page_bytes_; }

  absl::Status Commit(int64_t offset_bytes, int64_t size_bytes) override {
    if (refuse_commits > 0 && --refuse_commits == 0) return ResourceExhausted("no memory");
    for (int64_t page : Pages(offset_bytes, size_bytes)) {
      EXPECT_TRUE(committed_.insert(page).second) << "page " << page << " is committed twice";
    }
    return absl::OkStatus();
  }
  void Release(int64_t offset_bytes, int64_t size_bytes) override {
    for (int64_t page : Pages(offset_bytes, size_bytes)) committed_.erase(page);
  }

  bool IsCommitted(int64_t offset_bytes, int64_t size_bytes) const {
    for (int64_t at = offset_bytes / page_bytes_; at * page_bytes_ < offset_bytes + size_bytes;
         ++at) {
      if (!committed_.contains(at)) return false;
    }
    return true;
  }
  int64_t committed_bytes() const { return static_cast<int64_t>(committed_.size()) * page_bytes_; }

  int refuse_commits = 0;  // n: the n-th from now on is refused

 private:
  std::vector<int64_t> Pages(int64_t offset_bytes, int64_t size_bytes) const {
    EXPECT_EQ(offset_bytes % page_bytes_, 0);
    EXPECT_EQ(size_bytes % page_bytes_, 0);
    EXPECT_GT(size_bytes, 0);
    EXPECT_GE(offset_bytes, 0);
    EXPECT_LE(offset_bytes + size_bytes, size_bytes_);
    std::vector<int64_t> pages;
    for (int64_t at = 0; at < size_bytes; at += page_bytes_) {
      pages.push_back((offset_bytes + at) / page_bytes_);
    }
    return pages;
  }

  int64_t size_bytes_, page_bytes_;
  std::set<int64_t> committed_;
};

// Live blocks by offset: the naive pool.
class LiveModel {
 public:
  explicit LiveModel(int64_t end_bytes) : end_bytes_(end_bytes) {}

  void Add(const PoolBlock& block, int64_t size_bytes, int64_t alignment) {
    EXPECT_GE(block.size_bytes, size_bytes);
    EXPECT_EQ(block.offset_bytes % alignment, 0);
    EXPECT_GE(block.offset_bytes, 0);
    EXPECT_LE(block.offset_bytes + block.size_bytes, end_bytes_);
    const auto [at, is_new] = live_.emplace(block.offset_bytes, block);
    EXPECT_TRUE(is_new);
    if (at != live_.begin()) {
      const PoolBlock& before = std::prev(at)->second;
      EXPECT_LE(before.offset_bytes + before.size_bytes, block.offset_bytes) << "overlap";
    }
    if (std::next(at) != live_.end()) {
      EXPECT_LE(block.offset_bytes + block.size_bytes, std::next(at)->first) << "overlap";
    }
    live_bytes_ += block.size_bytes;
  }
  PoolBlock RemoveNth(size_t n) {
    const auto at = std::next(live_.begin(), static_cast<std::ptrdiff_t>(n));
    const PoolBlock block = at->second;
    live_bytes_ -= block.size_bytes;
    live_.erase(at);
    return block;
  }
  // Whether any gap holds such a block.
  bool HasRoom(int64_t size_bytes, int64_t alignment) const {
    const auto fits = [&](int64_t begin_bytes, int64_t end_bytes) {
      return (begin_bytes + alignment - 1) / alignment * alignment + size_bytes <= end_bytes;
    };
    int64_t begin_bytes = 0;
    for (const auto& [offset, block] : live_) {
      if (fits(begin_bytes, offset)) return true;
      begin_bytes = offset + block.size_bytes;
    }
    return fits(begin_bytes, end_bytes_);
  }
  const std::map<int64_t, PoolBlock>& live() const { return live_; }
  int64_t live_bytes() const { return live_bytes_; }

 private:
  int64_t end_bytes_;
  int64_t live_bytes_ = 0;
  std::map<int64_t, PoolBlock> live_;
};

// Blocks tile [begin, end), free neighbours differ in kind, cold blocks are whole pages, the
// largest warm block is the one that is reported.
inline void VerifyBlocks(const OffsetAllocator& blocks, int64_t begin_bytes, int64_t end_bytes,
                         int64_t page_bytes) {
  using State = OffsetAllocator::State;
  int64_t at_bytes = begin_bytes, largest_warm_bytes = 0;
  State before = State::kLive;
  for (auto id = blocks.first(); id != OffsetAllocator::kNone; id = blocks.node(id).after) {
    const OffsetAllocator::Node& node = blocks.node(id);
    ASSERT_EQ(node.offset_bytes, at_bytes);
    ASSERT_GT(node.size_bytes, 0);
    ASSERT_EQ(node.size_bytes % OffsetAllocator::kGranuleBytes, 0);
    ASSERT_NE(node.state, State::kUnused);
    if (node.state != State::kLive) {
      ASSERT_NE(node.state, before) << "at " << at_bytes;
    }
    if (node.state == State::kCold) {
      ASSERT_EQ(node.offset_bytes % page_bytes, 0);
      ASSERT_EQ(node.size_bytes % page_bytes, 0);
    }
    if (node.state == State::kWarm) {
      largest_warm_bytes = std::max(largest_warm_bytes, node.size_bytes);
    }
    before = node.state;
    at_bytes += node.size_bytes;
  }
  ASSERT_EQ(at_bytes, end_bytes);
  ASSERT_EQ(blocks.LargestWarmBytes(), largest_warm_bytes);
}

}  // namespace berth
