// What the verifier of FlatBuffers leaves unchecked.
//
// Sharing: offsets may meet, so that a file of a megabyte can name one string of half of it a
// hundred thousand times. The writer never shares anything, so what is read takes no more bytes
// than the buffer has; a buffer that would is refused before anything is copied. Alignment: the
// verifier looks where a vector's count stands, not where its elements begin. Cost: O(tables and
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

// Of verified metadata. DataLoss where strings and vectors together exceed the buffer, or the
// elements of a vector are not aligned.
absl::Status CheckMetadataLayout(const fb::Metadata& metadata, uint64_t buffer_bytes);

}  // namespace berth
