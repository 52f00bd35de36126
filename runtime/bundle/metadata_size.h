// How much the metadata grow when they are read.
//
// Offsets in a FlatBuffer may meet: a file of a megabyte can name one string of half of it a
// hundred thousand times. The writer never shares anything, so what is read takes no more bytes
// than the buffer has; a buffer that would is refused before anything is copied. Cost: O(tables and
// vectors), which the verifier's limit on tables bounds by the size of the file.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace berth {

namespace fb {
struct Metadata;
}

// The most tables that a buffer can hold that shares none: each has a header of 4 bytes and an
// offset of 4 that leads to it.
inline uint32_t MostTables(uint64_t buffer_bytes) {
  return static_cast<uint32_t>(buffer_bytes / 8 < 0x7fffffff ? buffer_bytes / 8 : 0x7fffffff);
}

// DataLoss where strings and vectors of verified metadata together exceed the buffer.
absl::Status CheckMetadataSize(const fb::Metadata& metadata, uint64_t buffer_bytes);

}  // namespace berth
