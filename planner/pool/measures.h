// Numbers by which blocks are ranked before they are placed: larger goes first.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "planner/pool/blocks.h"

namespace berth {

enum class BlockMeasure : uint8_t {
  kSize,       // bytes
  kSizeClass,  // floor(log2(bytes)): sizes that differ little count as equal
  kLength,     // steps
  kArea,       // bytes x steps
  kEarliest,   // minus the first step
  kConflicts,  // blocks that meet it in time
  kConflictsTimesSize,
  kLoadTimesSize,  // most bytes live during its life x its own bytes
  // For exact searches, where what is live at the tightest steps decides; the load is the most
  // bytes live during the block's life over the most ever.
  kTightLength,     // load^8 x length
  kTightArea,       // load^8 x area
  kLengthRootSize,  // length x sqrt(bytes)
  kLoadThenLength,  // load, and where it is equal length
  kHint,            // minus the hinted offset; blocks without a hint last
};
std::string_view BlockMeasureName(BlockMeasure measure);

// One value per block. O(n log n), for kLoadTimesSize O(n x sections of a life).
std::vector<double> MeasureBlocks(const BlockSet& set, BlockMeasure measure);

}  // namespace berth
