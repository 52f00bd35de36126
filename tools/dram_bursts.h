// The bursts of a DRAM access pattern, in the order in which they are offered, without storing
// them.
#pragma once

#include <cstdint>

#include "tools/dram_stream.h"

namespace berth {

// Consecutive bytes that are read or written in one go.
struct DramSegment {
  int64_t begin_bytes = 0, end_bytes = 0;
  bool is_write = false;
};

class DramBurstSource {
 public:
  // `page_bytes`: of an open row. Streams start one page past a common boundary of all banks from
  // each other, so that they do not meet in one bank all the time.
  DramBurstSource(const DramStream& stream, int64_t burst_bytes, int64_t page_bytes);

  // False at the end. `address_bytes` is that of a whole burst.
  bool Next(int64_t& address_bytes, bool& is_write);

  // Asked for, of the bursts given so far.
  int64_t read_bytes() const { return read_bytes_; }
  int64_t write_bytes() const { return write_bytes_; }

 private:
  DramSegment Segment(int64_t index) const;

  DramStream stream_;
  int64_t burst_bytes_;
  int64_t stream_distance_bytes_;
  int64_t chunk_bytes_;
  int64_t segments_;
  int64_t next_segment_ = 0;
  DramSegment segment_;
  int64_t address_bytes_ = 0;  // of the next burst, if below segment_.end_bytes
  int64_t read_bytes_ = 0, write_bytes_ = 0;
};

}  // namespace berth
