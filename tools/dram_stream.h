// A stream of DMA descriptors that does nothing but load the DRAM model, and what comes of it.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "npu_sim/config.h"
#include "npu_sim/program.h"

namespace berth {

enum class DramPattern : uint8_t {
  kSequential,  // bytes from address 0 on
  kRows,        // rows of row_bytes, pitch_bytes apart
  kStreams,     // streams far apart that take turns of chunk_bytes, each on its own channel
  kRandom,      // chunks at unrelated addresses
};

struct DramStream {
  DramPattern pattern = DramPattern::kSequential;
  int64_t bytes = int64_t{1} << 20;  // of each stream
  int64_t row_bytes = 256;
  int64_t pitch_bytes = 4096;
  int64_t streams = 2;
  int64_t chunk_bytes = 0;  // of one descriptor; 0: kStreams 2048, kRandom a burst, else all
  double write_share = 0;   // of the streams, of the chunks, or of the rows: 0 reads, 1 writes
};

struct DramFigures {
  int64_t makespan_cycles = 0;
  int64_t bytes = 0;  // asked for
  int64_t read_bytes = 0, write_bytes = 0;
  int64_t bursts = 0;          // that carried them
  double bytes_per_cycle = 0;  // asked bytes over the makespan
  double bus_fraction = 0;     // whole bursts over what the bus can carry
  int64_t latency_cycles = 0;  // of an idle access (a read, unless there are only writes)
};

// Of `count` things in a row, `share` are writes, evenly spread.
bool IsDramWrite(int64_t index, double share);
// chunk_bytes, or its default for the pattern.
int64_t DramChunkBytes(const DramStream& stream, int64_t burst_bytes);

// InvalidArgument for figures out of range.
absl::Status CheckDramStream(const DramStream& stream, const NpuConfig& config);

// Descriptors only: timing, no values. A descriptor names at most dma.max_extent bytes a dimension.
TileProgram MakeDramProgram(const DramStream& stream, const NpuConfig& config);

// A flat DRAM: runs the stream on the timing model, with a scratchpad wide enough never to be the
// limit. A banked one: gives the bursts to the controller of each channel, burst by burst, with as
// many outstanding as all DMA channels together may have. Of very long streams the first few
// million bursts stand for the rest.
absl::StatusOr<DramFigures> MeasureDram(const DramStream& stream, const NpuConfig& config);

}  // namespace berth
