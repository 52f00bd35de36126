// The sections of a mapped file: header and section table checked, nothing else.
#pragma once

#include <array>

#include "absl/types/span.h"
#include "base/status.h"
#include "runtime/bundle/layout.h"

namespace berth {

struct Sections {
  FileHeader header;
  std::array<absl::Span<const std::byte>, kSectionCount> bytes;
  std::array<uint64_t, kSectionCount> hashes{};
  std::array<uint64_t, kSectionCount> offsets{};

  absl::Span<const std::byte> Of(SectionKind kind) const {
    return bytes[static_cast<size_t>(kind)];
  }
};

// DataLoss where magic, version, length, table hash, order, alignment or range is wrong. Sections
// stand in the order of SectionKind, each on the first page behind the one before. Touches the
// first page alone.
absl::StatusOr<Sections> ReadSections(absl::Span<const std::byte> file);

// DataLoss where what lies between the sections of `file` is not zero.
absl::Status CheckPadding(const Sections& sections, absl::Span<const std::byte> file);

// DataLoss when the bytes of a section do not have the hash that the table gives.
absl::Status CheckHash(const Sections& sections, SectionKind kind);

}  // namespace berth
