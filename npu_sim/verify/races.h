// Rule 5: any two commands that touch a common byte, at least one writing, are ordered.
//
// One RaceMap covers one address range. It is cut into granules; each keeps the accesses that a
// later command could still race with. An access leaves a granule when
//   - a later access covers its bytes there, is ordered after it, and conflicts with whatever it
//     would conflict with (a write covers all, a read covers reads), or
//   - every command still to come is ordered after it.
// Cost: O(granules touched x records kept there) per access.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "absl/hash/hash.h"
#include "npu_sim/access.h"
#include "npu_sim/verify/order.h"

namespace berth::verify {

class RaceMap {
 public:
  // Adds to `steps` for every record that it looks at.
  RaceMap(int64_t size_bytes, int64_t& steps);

  struct Racer {
    bool found = false;
    uint32_t command = 0;  // the earlier one
    Access access;
  };
  // Enters the access of `command` (in list order) and returns an earlier one that it races with.
  // `known` is HappensBefore::KnownToAllFrom for this command or an earlier one.
  Racer Add(const HappensBefore& order, const std::vector<uint32_t>& known, uint32_t command,
            uint8_t engine, const Access& access);

 private:
  struct Record {
    int64_t begin_bytes = 0, end_bytes = 0;
    uint32_t command = 0;
    uint32_t sequence = 0;
    uint32_t grid = 0;  // position in grids_; 0: one run
    uint8_t engine = 0;
    bool is_write = false;
    uint8_t operand = 0;
  };
  // Entries of the granule that stay are kept in place; returns the index of a racer, or -1.
  int64_t ScanGranule(const HappensBefore& order, const std::vector<uint32_t>& known,
                      const Record& added, size_t granule);
  uint32_t InternGrid(const Access& access);
  Access AccessOf(const Record& record) const;
  bool Overlap(const Record& a, const Record& b) const;

  struct GridKey {
    Access access;
    bool operator==(const GridKey& other) const { return HasSameBytes(access, other.access); }
    template <typename H>
    friend H AbslHashValue(H state, const GridKey& key) {
      const Access& a = key.access;
      state = H::combine(std::move(state), a.offset_bytes, a.run_bytes);
      for (int d = 0; d < 4; ++d) {
        state = H::combine(std::move(state), a.extent[d], a.stride_bytes[d]);
      }
      return state;
    }
  };

  int64_t& steps_;
  int granule_shift_ = 0;
  std::vector<std::vector<Record>> granules_;
  // Not of Abseil: their tables break where memory for a larger one cannot be had.
  std::unordered_map<GridKey, uint32_t, absl::Hash<GridKey>> grid_of_;
  std::vector<Access> grids_;
};

}  // namespace berth::verify
