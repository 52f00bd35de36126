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
  kHint,           // minus the hinted offset; blocks without a hint last
};
std::string_view BlockMeasureName(BlockMeasure measure);

// One value per block. O(n log n), for kLoadTimesSize O(n x sections of a life).
std::vector<double> MeasureBlocks(const BlockSet& set, BlockMeasure measure);

}  // namespace berth
