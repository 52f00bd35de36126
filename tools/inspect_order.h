// Why two buffers may have the same bytes one after the other: the commands that touch them and the
// semaphores that order those commands. Everything here is found from the program alone, by the
// happens-before order of npu_sim/verify/order.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npu_sim/access.h"
#include "npu_sim/verify/order.h"
#include "tools/inspect_plan.h"

namespace berth {

// Bytes of a space or region, half open.
struct ByteRange {
  int64_t begin = 0, end = 0;
};

// One step of the way from a command to another that surely starts after it has finished.
struct OrderLink {
  uint32_t command = 0;      // starts only when ...
  bool same_engine = false;  // ... the one before it on its engine, or ...
  Wait wait;                 // ... by this wait, ...
  uint32_t after = 0;        // ... this command has finished
};

struct ReuseProof {
  uint32_t last_before = 0, first_after = 0;  // commands that touch the bytes
  std::vector<OrderLink> way;                 // from last_before to first_after; empty: none
  // Pairs of commands, one of each buffer, that meet in a byte, at least one writing.
  int64_t pairs = 0;
  int64_t unordered_pairs = 0;
  // All that touch the earlier buffer's bytes have finished before any touches the later one's.
  // False where tiles follow each other: then only pairs that meet are ordered.
  bool apart = false;
  // False where there are so many commands that only the last of the one and the first of the other
  // were looked at.
  bool all_pairs = true;
};

class OrderProver {
 public:
  // The program must verify.
  static absl::StatusOr<OrderProver> Create(const ProgramView& program);

  // How the bytes pass from one slot to the other. Cost: commands of one slot x of the other, up to
  // a few millions.
  ReuseProof Prove(uint32_t earlier_slot, uint32_t later_slot, ByteRange bytes) const;
  // The way from `before` to `after`; empty when the semaphores do not order them.
  std::vector<OrderLink> FindWay(uint32_t before, uint32_t after) const;

 private:
  struct Touch {
    uint32_t command = 0;
    Access access;
  };
  OrderProver(const ProgramView& program, verify::HappensBefore order);
  std::vector<Touch> TouchesOf(uint32_t slot, ByteRange bytes) const;
  bool Finished(uint32_t before, uint32_t after) const;
  bool AllFinished(const std::vector<Touch>& before, const std::vector<Touch>& after) const;

  ProgramView program_;
  verify::HappensBefore order_;
  std::vector<std::vector<uint32_t>> of_engine_;  // commands, in order
};

// "command 12 (matrix gemm, op 3 'fc')"
std::string CommandText(const InspectedPlan& plan, uint32_t command);

}  // namespace berth
