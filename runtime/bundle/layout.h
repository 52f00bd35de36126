// The fixed part of a bundle file. All numbers little endian, all offsets 64-bit.
//
//   0     FileHeader (64 bytes)
//   64    SectionEntry x kSectionCount (32 bytes each)
//   4096  sections, each beginning on a page, zero padding between them
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace berth {

inline constexpr std::array<char, 8> kBundleMagic = {'B', 'E', 'R', 'T', 'H', 'N', 'P', 'U'};
inline constexpr uint16_t kBundleMajor = 1;  // a reader refuses another major
inline constexpr uint16_t kBundleMinor = 2;  // a reader accepts a newer minor
inline constexpr int64_t kBundlePageBytes = 4096;

struct FileHeader {
  std::array<char, 8> magic = kBundleMagic;
  uint16_t major = kBundleMajor;
  uint16_t minor = kBundleMinor;
  uint32_t section_count = 0;
  uint64_t file_bytes = 0;
  uint64_t target_fingerprint = 0;  // Fingerprint() of the machine it was planned for
  uint64_t table_hash = 0;          // XXH3 of the section table
  uint64_t reserved[3] = {};
};
static_assert(sizeof(FileHeader) == 64);

enum class SectionKind : uint32_t {
  kMetadata = 0,   // FlatBuffers, bundle.fbs
  kConstants = 1,  // bytes
  kCommands = 2,   // Command[]
  kWaits = 3,      // Wait[]
  kSlots = 4,      // Slot[]
  // The conflict graph (npu_sim/conflict_graph.h), uint32[] each.
  kPredecessorCounts = 5,
  kSuccessorBegins = 6,
  kSuccessors = 7,
};
inline constexpr uint32_t kSectionCount = 8;
std::string_view SectionName(SectionKind kind);

struct SectionEntry {
  uint32_t kind = 0;
  uint32_t reserved = 0;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  uint64_t hash = 0;  // XXH3 of the section's bytes
};
static_assert(sizeof(SectionEntry) == 32);

}  // namespace berth
