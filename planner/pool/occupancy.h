// Which bytes are taken during a run of sections: the structure under first-fit and best-fit.
//
// A segment tree over sections. Each node keeps two unions of byte ranges, coalesced and sorted:
// `covering`, of what was added over all of the node's sections, and `touching`, of what was added
// over any of them. A query joins `touching` of the O(log sections) nodes that tile its run and
// `covering` of their ancestors. Packed bytes coalesce, so that the cost of a query follows the
// number of holes, not of the blocks that are live. Nodes wider than any run keep nothing: no run
// covers them or asks for them as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth {

struct ByteRange {
  int64_t begin_bytes = 0;
  int64_t end_bytes = 0;  // exclusive
};

class Occupancy {
 public:
  // No run that is added or asked for is longer than `longest_run` sections.
  Occupancy(int32_t section_count, int32_t longest_run);

  void Clear();
  void Add(int32_t begin_section, int32_t end_section, ByteRange bytes);
  // Appends the ranges taken in any of the sections; unsorted, and they may overlap.
  void Collect(int32_t begin_section, int32_t end_section, std::vector<ByteRange>* taken) const;

 private:
  struct Node {
    std::vector<ByteRange> covering;
    std::vector<ByteRange> touching;
  };
  struct Run {  // of sections
    int32_t begin;
    int32_t end;
  };

  void AddBelow(size_t node, Run node_run, Run run, ByteRange bytes);
  void CollectBelow(size_t node, Run node_run, Run run, std::vector<ByteRange>* taken) const;

  bool IsUsed(Run node_run) const { return node_run.end - node_run.begin <= longest_run_; }

  Run all_;
  int32_t longest_run_;
  std::vector<Node> nodes_;
};

}  // namespace berth
