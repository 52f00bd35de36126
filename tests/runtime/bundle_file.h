// Bundle files as bytes, to be damaged by tests.
#pragma once

#include <xxhash.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "runtime/bundle/layout.h"

namespace berth {

inline std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A bundle's bytes with its fixed part unpacked.
struct BundleFile {
  explicit BundleFile(std::string file_bytes) : bytes(std::move(file_bytes)) {
    std::memcpy(&header, bytes.data(), sizeof(header));
    std::memcpy(table.data(), bytes.data() + sizeof(header), sizeof(table));
  }
  // The bytes with the fixed part as it now is.
  std::string Packed() const {
    std::string packed = bytes;
    std::memcpy(packed.data(), &header, sizeof(header));
    std::memcpy(packed.data() + sizeof(header), table.data(), sizeof(table));
    return packed;
  }
  // Whether the section's bytes are bytes of the file.
  bool Holds(const SectionEntry& entry) const {
    return entry.size_bytes <= bytes.size() &&
           entry.offset_bytes <= bytes.size() - entry.size_bytes;
  }
  // As a forger would: every hash agrees with the bytes, where there are any.
  void Rehash() {
    for (SectionEntry& entry : table) {
      if (!Holds(entry)) continue;
      entry.hash = XXH3_64bits(bytes.data() + entry.offset_bytes, entry.size_bytes);
    }
    RehashTable();
  }
  void RehashTable() { header.table_hash = XXH3_64bits(table.data(), sizeof(table)); }

  std::string bytes;
  FileHeader header;
  std::array<SectionEntry, kSectionCount> table;
};

}  // namespace berth
