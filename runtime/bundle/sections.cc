#include "runtime/bundle/sections.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"

namespace berth {

std::string_view SectionName(SectionKind kind) {
  static constexpr std::array<std::string_view, kSectionCount> kNames = {
      "metadata", "constants",          "commands",         "waits",
      "slots",    "predecessor counts", "successor begins", "successors"};
  const size_t index = static_cast<size_t>(kind);
  return index < kNames.size() ? kNames[index] : "unknown";
}

namespace {

absl::Status CheckHeader(const FileHeader& header, size_t file_bytes) {
  if (header.magic != kBundleMagic) return DataLoss("header, offset 0: not a Berth bundle");
  if (header.major != kBundleMajor) {
    return DataLoss("header, offset 8: version {}.{}, this runtime reads {}.x", header.major,
                    header.minor, kBundleMajor);
  }
  if (header.section_count != kSectionCount) {
    return DataLoss("header, offset 12: {} sections, expected {}", header.section_count,
                    kSectionCount);
  }
  if (header.file_bytes != file_bytes) {
    return DataLoss("header, offset 16: the bundle is {} bytes long, the file {}",
                    header.file_bytes, file_bytes);
  }
  for (const uint64_t reserved : header.reserved) {
    if (reserved != 0) return DataLoss("header, offset 40: reserved bytes are not zero");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Sections> ReadSections(absl::Span<const std::byte> file) {
  constexpr size_t kTableBytes = kSectionCount * sizeof(SectionEntry);
  if (file.size() < static_cast<size_t>(kBundlePageBytes)) {
    return DataLoss("file of {} bytes is shorter than a header page of {}", file.size(),
                    kBundlePageBytes);
  }
  Sections sections;
  std::memcpy(&sections.header, file.data(), sizeof(FileHeader));
  BERTH_RETURN_IF_ERROR(CheckHeader(sections.header, file.size()));
  std::array<SectionEntry, kSectionCount> table;
  std::memcpy(table.data(), file.data() + sizeof(FileHeader), kTableBytes);
  if (XXH3_64bits(table.data(), kTableBytes) != sections.header.table_hash) {
    return DataLoss("section table, offset {}: hash mismatch", sizeof(FileHeader));
  }
  uint64_t next = kBundlePageBytes;
  for (size_t i = 0; i < table.size(); ++i) {
    const SectionEntry& entry = table[i];
    const std::string_view name = SectionName(static_cast<SectionKind>(i));
    if (entry.kind != i || entry.reserved != 0 || entry.offset_bytes != next ||
        entry.size_bytes > file.size() - next) {
      return DataLoss("section {} ({}), offset {}: {} bytes at {} of a file of {}", i, name,
                      sizeof(FileHeader) + i * sizeof(SectionEntry), entry.size_bytes,
                      entry.offset_bytes, file.size());
    }
    sections.offsets[i] = next;
    sections.bytes[i] = file.subspan(next, entry.size_bytes);
    sections.hashes[i] = entry.hash;
    const uint64_t end = next + entry.size_bytes;
    next = static_cast<uint64_t>(AlignUp(static_cast<int64_t>(end), kBundlePageBytes));
    if (next > file.size()) {
      return DataLoss("section {} ({}): its last page ends at {}, the file at {}", i, name, next,
                      file.size());
    }
  }
  if (next != file.size()) {
    return DataLoss("file of {} bytes goes on behind its last section at {}", file.size(), next);
  }
  return sections;
}

absl::Status CheckPadding(const Sections& sections, absl::Span<const std::byte> file) {
  uint64_t end = sizeof(FileHeader) + kSectionCount * sizeof(SectionEntry);
  for (size_t i = 0; i <= kSectionCount; ++i) {
    const uint64_t next = i < kSectionCount ? sections.offsets[i] : file.size();
    for (; end < next; ++end) {
      if (file[end] != std::byte{0}) return DataLoss("padding, offset {}: not zero", end);
    }
    if (i < kSectionCount) end = next + sections.bytes[i].size();
  }
  return absl::OkStatus();
}

absl::Status CheckHash(const Sections& sections, SectionKind kind) {
  const absl::Span<const std::byte> bytes = sections.Of(kind);
  if (XXH3_64bits(bytes.data(), bytes.size()) != sections.hashes[static_cast<size_t>(kind)]) {
    return DataLoss("section {} ({}): hash mismatch over {} bytes", static_cast<size_t>(kind),
                    SectionName(kind), bytes.size());
  }
  return absl::OkStatus();
}

}  // namespace berth
