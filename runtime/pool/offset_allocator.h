// OffsetAllocator: which pieces of a range of offsets are taken. It touches no memory: every node
// stands apart from what it describes, and whoever owns the memory commits and releases it.
//
// Two-level segregated fit (Masmano, Ripoll, Crespo, Real: "TLSF: a new dynamic memory allocator
// for real-time systems", 2004): free blocks hang in lists by size class, 32 linear classes to a
// power of two, and two levels of bit maps find the first class that fits. Here the class of the
// wanted size itself is looked at first (few entries of it), since tensors of one size come again
// and again.
//
// A free block is warm (all its bytes are committed) or cold (none is). Warm blocks hang in the
// lists, cold ones in one list of their own. Invariants: blocks tile the range; no two neighbours
// are both warm or both cold; a cold block begins and ends at a page.
//
// Take and Free are O(1). What meets cold blocks is linear in their number: few, since memory
// turns cold only when it is released.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace berth {

class OffsetAllocator {
 public:
  using NodeId = uint32_t;
  static constexpr NodeId kNone = 0;
  static constexpr int64_t kGranuleBytes = 64;  // offsets and sizes are multiples of it

  enum class State : uint8_t { kUnused, kLive, kWarm, kCold };  // the last two are free
  // A block, or an unused node. One cache line.
  struct alignas(64) Node {
    int64_t offset_bytes = 0;
    int64_t size_bytes = 0;
    NodeId before = kNone, after = kNone;   // neighbours by offset
    NodeId previous = kNone, next = kNone;  // in its list
    uint32_t generation = 0;                // tells two lives of one node apart
    uint16_t list = 0;                      // of a free block
    State state = State::kUnused;
  };
  struct Extent {
    int64_t offset_bytes = 0;
    int64_t size_bytes = 0;
  };

  // All of [begin, end) is one cold block. Begin and end are multiples of the page, which is a
  // power of two and a multiple of the granule.
  OffsetAllocator(int64_t begin_bytes, int64_t end_bytes, int64_t page_bytes);

  // Sizes are multiples of the granule, > 0; alignments powers of two >= the granule; size plus
  // alignment does not overflow.

  // A live block in warm memory, or kNone.
  NodeId Take(int64_t size_bytes, int64_t alignment);
  // A live block wherever free neighbours, warm and cold, are large enough together: where the
  // fewest bytes are cold, then lowest. What of it was cold is appended to `to_commit`, in whole
  // pages, which go on to a multiple of `slab_bytes` where that is cold too. kNone where no place
  // is left.
  NodeId TakeCold(int64_t size_bytes, int64_t alignment, int64_t slab_bytes,
                  std::vector<Extent>& to_commit);
  // The block becomes warm.
  void Free(NodeId id);
  // Undoes TakeCold where what is cold could not be committed: the block and the warm memory at
  // its sides become cold, the pages of both are appended to `to_release`.
  void Abandon(NodeId id, std::vector<Extent>& to_release);
  // Makes whole pages of warm blocks cold, largest class first, until `wanted_bytes` are or none
  // is left. They are appended to `to_release`.
  void Chill(int64_t wanted_bytes, std::vector<Extent>& to_release);

  bool IsLive(NodeId id, uint32_t generation) const {
    return id < nodes_.size() && nodes_[id].state == State::kLive &&
           nodes_[id].generation == generation;
  }
  const Node& node(NodeId id) const { return nodes_[id]; }
  NodeId first() const { return nodes_[kNone].after; }  // by offset
  int64_t LargestWarmBytes() const;
  // Of free neighbours together; linear in the number of blocks.
  int64_t LargestFreeBytes() const;

 private:
  static constexpr int kSecondBits = 5;
  static constexpr int kSecondCount = 1 << kSecondBits;
  static constexpr int kFirstCount = 42;  // classes by power of two: granules of 64 bytes to 2^48
  // The list of the cold stands behind those of the classes: it has bits in the maps, which no
  // search looks at.
  static constexpr int kColdList = kFirstCount << kSecondBits;
  static constexpr uint64_t kWarmFirsts = (uint64_t{1} << kFirstCount) - 1;
  // Entries of the wanted size's own class that are looked at; a second one pays for itself, more
  // cost more than they find.
  static constexpr int kOwnClassTries = 2;

  struct Place {
    int64_t offset_bytes = 0;
    int64_t cold_bytes = INT64_MAX;
    NodeId node = kNone;  // the block that holds the offset
  };

  static int ListOf(const Node& node);
  bool IsFree(NodeId id) const { return nodes_[id].state > State::kLive; }
  NodeId FindWarm(int64_t size_bytes) const;
  void Insert(NodeId id);
  void Remove(NodeId id);
  void Relist(NodeId id);
  NodeId NewNode();
  void DropNode(NodeId id);
  void Absorb(NodeId id);  // the block behind `id` becomes a part of it
  // The first `size_bytes` of a block in no list become a block of their own, as free as it was
  // and in no list.
  NodeId SplitFront(NodeId id, int64_t size_bytes);
  // A block in no list joins free neighbours of its own kind; returns the whole, in no list.
  NodeId Merge(NodeId id);
  // Makes a part of a block in no list live.
  NodeId Carve(NodeId id, int64_t offset_bytes, int64_t size_bytes);
  NodeId WarmUp(NodeId id, int64_t begin_bytes, int64_t end_bytes, std::vector<Extent>& to_commit);
  Place FindPlace(int64_t size_bytes, int64_t alignment) const;
  void ConsiderRun(NodeId first, int64_t size_bytes, int64_t alignment, Place& best) const;
  int64_t ColdBytes(NodeId id, int64_t begin_bytes, int64_t end_bytes) const;
  int64_t ChillBlock(NodeId id, int64_t wanted_bytes, std::vector<Extent>& to_release);

  int64_t page_bytes_;
  // Node 0 is no block: as the neighbour and list entry of those that have none it takes writes
  // without a question. Its neighbours are the last and the first block.
  std::vector<Node> nodes_;
  NodeId unused_ = kNone;
  uint64_t first_map_ = 0;                              // bit i: some list of power i is not empty
  std::array<uint32_t, kFirstCount + 1> second_map_{};  // bit j: list (i, j) is not empty
  std::array<NodeId, kColdList + 1> heads_{};
};

}  // namespace berth
