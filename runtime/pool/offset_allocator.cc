#include "runtime/pool/offset_allocator.h"

#include <algorithm>
#include <bit>

#include "base/checked_math.h"

namespace berth {
namespace {

constexpr int64_t AlignDown(int64_t value, int64_t alignment) { return value & -alignment; }
constexpr int64_t AlignUpTo(int64_t value, int64_t alignment) {
  return AlignDown(value + alignment - 1, alignment);
}

}  // namespace

OffsetAllocator::OffsetAllocator(int64_t begin_bytes, int64_t end_bytes, int64_t page_bytes)
    : page_bytes_(page_bytes) {
  constexpr NodeId kWhole = 1;
  nodes_.push_back({.before = kWhole, .after = kWhole, .state = State::kLive});
  nodes_.push_back(
      {.offset_bytes = begin_bytes, .size_bytes = end_bytes - begin_bytes, .state = State::kCold});
  Insert(kWhole);
}

inline int OffsetAllocator::ListOf(const Node& node) {
  if (node.state == State::kCold) return kColdList;
  const auto granules = static_cast<uint64_t>(node.size_bytes / kGranuleBytes);
  if (granules < kSecondCount) return static_cast<int>(granules);
  // Powers follow each other at 32 classes each; those below 32 granules share the first.
  const int shift = std::bit_width(granules) - 1 - kSecondBits;
  return (shift << kSecondBits) + static_cast<int>(granules >> shift);
}

inline void OffsetAllocator::Insert(NodeId id) {
  Node& node = nodes_[id];
  const int list = ListOf(node);
  NodeId& head = heads_[static_cast<size_t>(list)];
  node.list = static_cast<uint16_t>(list);
  node.previous = kNone;
  node.next = head;
  nodes_[head].previous = id;
  head = id;
  first_map_ |= uint64_t{1} << (list >> kSecondBits);
  second_map_[static_cast<size_t>(list >> kSecondBits)] |= 1U << (list % kSecondCount);
}

// Without branches: what a list holds next cannot be foretold.
inline void OffsetAllocator::Remove(NodeId id) {
  const Node& node = nodes_[id];
  NodeId& head = heads_[node.list];
  nodes_[node.next].previous = node.previous;
  nodes_[node.previous].next = node.next;
  nodes_[kNone].next = kNone;  // where there is no previous; a walk may step here
  head = node.previous == kNone ? node.next : head;
  const int first = node.list >> kSecondBits;
  uint32_t& seconds = second_map_[static_cast<size_t>(first)];
  seconds &= ~(static_cast<uint32_t>(head == kNone) << (node.list % kSecondCount));
  first_map_ &= ~(static_cast<uint64_t>(seconds == 0) << first);
}

// A free block whose size has changed.
inline void OffsetAllocator::Relist(NodeId id) {
  if (ListOf(nodes_[id]) == nodes_[id].list) return;
  Remove(id);
  Insert(id);
}

inline OffsetAllocator::NodeId OffsetAllocator::NewNode() {
  if (unused_ != kNone) {
    const NodeId id = unused_;
    unused_ = nodes_[id].next;
    return id;
  }
  nodes_.emplace_back();
  return static_cast<NodeId>(nodes_.size() - 1);
}

inline void OffsetAllocator::DropNode(NodeId id) {
  nodes_[id].state = State::kUnused;
  nodes_[id].next = unused_;
  unused_ = id;
}

inline OffsetAllocator::NodeId OffsetAllocator::SplitFront(NodeId id, int64_t size_bytes) {
  const NodeId front_id = NewNode();  // may move the nodes
  Node& node = nodes_[id];
  Node& front = nodes_[front_id];
  front.offset_bytes = node.offset_bytes;
  front.size_bytes = size_bytes;
  front.state = node.state;
  front.before = node.before;
  front.after = id;
  nodes_[node.before].after = front_id;
  node.before = front_id;
  node.offset_bytes += size_bytes;
  node.size_bytes -= size_bytes;
  return front_id;
}

inline void OffsetAllocator::Absorb(NodeId id) {
  Node& node = nodes_[id];
  const NodeId gone = node.after;
  node.size_bytes += nodes_[gone].size_bytes;
  node.after = nodes_[gone].after;
  nodes_[node.after].before = id;
  DropNode(gone);
}

inline OffsetAllocator::NodeId OffsetAllocator::Merge(NodeId id) {
  const State state = nodes_[id].state;
  while (nodes_[nodes_[id].after].state == state) {
    Remove(nodes_[id].after);
    Absorb(id);
  }
  while (nodes_[nodes_[id].before].state == state) {
    id = nodes_[id].before;
    Remove(id);
    Absorb(id);
  }
  return id;
}

inline OffsetAllocator::NodeId OffsetAllocator::FindWarm(int64_t size_bytes) const {
  const int own = ListOf({.size_bytes = size_bytes});
  NodeId id = heads_[static_cast<size_t>(own)];
  for (int tries = 0; tries < kOwnClassTries; ++tries, id = nodes_[id].next) {
    if (nodes_[id].size_bytes >= size_bytes) return id;
  }
  int first = own >> kSecondBits;
  // Classes above the own one: every block of theirs is large enough.
  uint32_t seconds = second_map_[static_cast<size_t>(first)] & (~1U << (own % kSecondCount));
  if (seconds == 0) {
    const uint64_t firsts = first_map_ & kWarmFirsts & (~uint64_t{1} << first);
    if (firsts == 0) return kNone;
    first = std::countr_zero(firsts);
    seconds = second_map_[static_cast<size_t>(first)];
  }
  return heads_[static_cast<size_t>((first << kSecondBits) + std::countr_zero(seconds))];
}

OffsetAllocator::NodeId OffsetAllocator::Carve(NodeId id, int64_t offset_bytes,
                                               int64_t size_bytes) {
  if (const int64_t front_bytes = offset_bytes - nodes_[id].offset_bytes; front_bytes > 0) {
    Insert(SplitFront(id, front_bytes));
  }
  if (nodes_[id].size_bytes > size_bytes) {
    const NodeId front = SplitFront(id, size_bytes);
    Insert(id);
    id = front;
  }
  nodes_[id].state = State::kLive;
  ++nodes_[id].generation;
  return id;
}

OffsetAllocator::NodeId OffsetAllocator::Take(int64_t size_bytes, int64_t alignment) {
  const NodeId id = FindWarm(size_bytes + alignment - kGranuleBytes);
  if (id == kNone) return kNone;
  const int64_t offset_bytes = AlignUpTo(nodes_[id].offset_bytes, alignment);
  if (offset_bytes != nodes_[id].offset_bytes || nodes_[id].size_bytes == size_bytes) {
    Remove(id);
    return Carve(id, offset_bytes, size_bytes);
  }
  const NodeId front = SplitFront(id, size_bytes);
  nodes_[front].state = State::kLive;
  ++nodes_[front].generation;
  Relist(id);
  return front;
}

void OffsetAllocator::Free(NodeId id) {
  nodes_[id].state = State::kWarm;
  if (const NodeId after = nodes_[id].after; nodes_[after].state == State::kWarm) {
    Remove(after);
    Absorb(id);
  }
  if (const NodeId before = nodes_[id].before; nodes_[before].state == State::kWarm) {
    Absorb(before);
    Relist(before);
  } else {
    Insert(id);
  }
}

int64_t OffsetAllocator::ColdBytes(NodeId id, int64_t begin_bytes, int64_t end_bytes) const {
  int64_t cold_bytes = 0;
  for (; id != kNone && nodes_[id].offset_bytes < end_bytes; id = nodes_[id].after) {
    const Node& node = nodes_[id];
    if (node.state != State::kCold) continue;
    cold_bytes += std::min(node.offset_bytes + node.size_bytes, AlignUpTo(end_bytes, page_bytes_)) -
                  std::max(node.offset_bytes, AlignDown(begin_bytes, page_bytes_));
  }
  return cold_bytes;
}

// The block stands at one end of a run of free neighbours: at its begin, or, where a warm block
// closes the run, so that it uses all of that.
void OffsetAllocator::ConsiderRun(NodeId first, int64_t size_bytes, int64_t alignment,
                                  Place& best) const {
  while (IsFree(nodes_[first].before)) first = nodes_[first].before;
  NodeId last = first;
  while (IsFree(nodes_[last].after)) last = nodes_[last].after;
  const int64_t begin_bytes = nodes_[first].offset_bytes;
  const int64_t end_bytes = nodes_[last].offset_bytes + nodes_[last].size_bytes;
  const int64_t lowest = AlignUpTo(begin_bytes, alignment);
  if (lowest > end_bytes - size_bytes) return;
  const int64_t highest = AlignDown(end_bytes - size_bytes, alignment);
  for (const int64_t offset : {lowest, highest}) {
    NodeId node = first;
    while (nodes_[node].offset_bytes + nodes_[node].size_bytes <= offset) node = nodes_[node].after;
    const int64_t cold_bytes = ColdBytes(node, offset, offset + size_bytes);
    if (cold_bytes < best.cold_bytes ||
        (cold_bytes == best.cold_bytes && offset < best.offset_bytes)) {
      best = {offset, cold_bytes, node};
    }
  }
}

OffsetAllocator::Place OffsetAllocator::FindPlace(int64_t size_bytes, int64_t alignment) const {
  Place best;
  const auto state_before = [&](NodeId id) { return nodes_[nodes_[id].before].state; };
  for (NodeId id = heads_[kColdList]; id != kNone; id = nodes_[id].next) {
    // A run is looked at once: from its first cold block.
    if (state_before(id) == State::kWarm && state_before(nodes_[id].before) == State::kCold)
      continue;
    ConsiderRun(id, size_bytes, alignment, best);
  }
  if (best.node != kNone) return best;
  // What the size classes cannot tell: a warm block just large enough.
  for (NodeId id = first(); id != kNone; id = nodes_[id].after) {
    if (nodes_[id].state == State::kWarm) ConsiderRun(id, size_bytes, alignment, best);
  }
  return best;
}

// All of a cold block that lies in the pages [begin, end) becomes warm. Returns the part.
OffsetAllocator::NodeId OffsetAllocator::WarmUp(NodeId id, int64_t begin_bytes, int64_t end_bytes,
                                                std::vector<Extent>& to_commit) {
  Remove(id);
  if (const int64_t front_bytes = begin_bytes - nodes_[id].offset_bytes; front_bytes > 0) {
    Insert(SplitFront(id, front_bytes));
  }
  if (const int64_t warm_bytes = end_bytes - nodes_[id].offset_bytes;
      nodes_[id].size_bytes > warm_bytes) {
    const NodeId front = SplitFront(id, warm_bytes);
    Insert(id);
    id = front;
  }
  nodes_[id].state = State::kWarm;
  Insert(id);
  to_commit.push_back({nodes_[id].offset_bytes, nodes_[id].size_bytes});
  return id;
}

OffsetAllocator::NodeId OffsetAllocator::TakeCold(int64_t size_bytes, int64_t alignment,
                                                  int64_t slab_bytes,
                                                  std::vector<Extent>& to_commit) {
  const Place place = FindPlace(size_bytes, alignment);
  if (place.node == kNone) return kNone;
  const int64_t end_bytes = place.offset_bytes + size_bytes;
  NodeId inside = kNone;
  for (NodeId id = place.node; id != kNone && nodes_[id].offset_bytes < end_bytes;
       id = nodes_[inside].after) {
    inside = nodes_[id].state != State::kCold
                 ? id
                 : WarmUp(id, AlignDown(place.offset_bytes, page_bytes_),
                          AlignUpTo(end_bytes, slab_bytes), to_commit);
  }
  Remove(inside);
  return Carve(Merge(inside), place.offset_bytes, size_bytes);
}

// The upper end goes first: it lies nearer to memory that is cold.
int64_t OffsetAllocator::ChillBlock(NodeId id, int64_t wanted_bytes,
                                    std::vector<Extent>& to_release) {
  const int64_t end_bytes = nodes_[id].offset_bytes + nodes_[id].size_bytes;
  const int64_t cold_end = AlignDown(end_bytes, page_bytes_);
  const int64_t cold_begin = std::max(AlignUpTo(nodes_[id].offset_bytes, page_bytes_),
                                      cold_end - AlignUpTo(wanted_bytes, page_bytes_));
  if (cold_begin >= cold_end) return 0;
  Remove(id);
  if (const int64_t front_bytes = cold_begin - nodes_[id].offset_bytes; front_bytes > 0) {
    Insert(SplitFront(id, front_bytes));
  }
  if (end_bytes > cold_end) {
    const NodeId front = SplitFront(id, cold_end - cold_begin);
    Insert(id);
    id = front;
  }
  nodes_[id].state = State::kCold;
  Insert(Merge(id));
  to_release.push_back({cold_begin, cold_end - cold_begin});
  return cold_end - cold_begin;
}

void OffsetAllocator::Abandon(NodeId id, std::vector<Extent>& to_release) {
  nodes_[id].state = State::kWarm;
  id = Merge(id);
  Insert(id);
  ChillBlock(id, nodes_[id].size_bytes, to_release);
}

void OffsetAllocator::Chill(int64_t wanted_bytes, std::vector<Extent>& to_release) {
  const int smallest = ListOf({.size_bytes = page_bytes_});
  for (int first = kFirstCount - 1; first >= smallest >> kSecondBits; --first) {
    for (uint32_t seconds = second_map_[static_cast<size_t>(first)]; seconds != 0;) {
      const int second = std::bit_width(seconds) - 1;
      seconds &= ~(1U << second);
      NodeId id = heads_[static_cast<size_t>((first << kSecondBits) + second)];
      while (id != kNone) {
        const NodeId next = nodes_[id].next;
        wanted_bytes -= ChillBlock(id, wanted_bytes, to_release);
        if (wanted_bytes <= 0) return;
        id = next;
      }
    }
  }
}

int64_t OffsetAllocator::LargestFreeBytes() const {
  int64_t largest_bytes = 0, run_bytes = 0;
  for (NodeId id = first(); id != kNone; id = nodes_[id].after) {
    run_bytes = nodes_[id].state == State::kLive ? 0 : run_bytes + nodes_[id].size_bytes;
    largest_bytes = std::max(largest_bytes, run_bytes);
  }
  return largest_bytes;
}

int64_t OffsetAllocator::LargestWarmBytes() const {
  const uint64_t firsts = first_map_ & kWarmFirsts;
  if (firsts == 0) return 0;
  const int first = std::bit_width(firsts) - 1;
  const int second = std::bit_width(second_map_[static_cast<size_t>(first)]) - 1;
  int64_t largest_bytes = 0;
  for (NodeId id = heads_[static_cast<size_t>((first << kSecondBits) + second)]; id != kNone;
       id = nodes_[id].next) {
    largest_bytes = std::max(largest_bytes, nodes_[id].size_bytes);
  }
  return largest_bytes;
}

}  // namespace berth
