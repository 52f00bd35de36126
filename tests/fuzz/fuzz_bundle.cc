// Bundle files: the loader, the proof and a short run. Hashes are made right first, as a forger
// would, so that what stands behind them is reached.
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/reference/reference.h"
#include "planner/lower_shape.h"
#include "runtime/bundle/layout.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/run_program.h"

namespace berth {
namespace {

constexpr size_t kFixedBytes = sizeof(FileHeader) + kSectionCount * sizeof(SectionEntry);

struct FixedPart {
  FileHeader header;
  SectionEntry table[kSectionCount];
};
static_assert(sizeof(FixedPart) == kFixedBytes);

bool IsWithin(const SectionEntry& entry, size_t size) {
  return entry.size_bytes <= size && entry.offset_bytes <= size - entry.size_bytes;
}

void Rehash(std::vector<uint8_t>& file) {
  if (file.size() < kFixedBytes) return;
  FixedPart fixed;
  std::memcpy(&fixed, file.data(), kFixedBytes);
  for (SectionEntry& entry : fixed.table) {
    if (!IsWithin(entry, file.size())) continue;
    entry.hash = XXH3_64bits(file.data() + entry.offset_bytes, entry.size_bytes);
  }
  fixed.header.table_hash = XXH3_64bits(fixed.table, sizeof(fixed.table));
  std::memcpy(file.data(), &fixed, kFixedBytes);
}

}  // namespace
}  // namespace berth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace berth;
  std::vector<uint8_t> bytes(data, data + size);
  Rehash(bytes);
  const MemoryFile file(bytes.data(), bytes.size());
  DynamicOptions dynamic;
  dynamic.lower = MakeFastLowering(EvaluateNode);
  dynamic.pool_limit_bytes = kFuzzMostBytes;
  dynamic.step_limit = 1000;
  const auto program = Program::Load(file.path(), LoadLevel::kFull, dynamic);
  if (!program.ok()) return 0;
  if (!(*program)->is_dynamic() && !(*program)->Simulate().ok()) std::abort();
  (void)RunOnZeros(*program, 1);
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Mostly bytes within one section, whose place then stays what the table says.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  using namespace berth;
  if (size < kFixedBytes || seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  FixedPart fixed;
  std::memcpy(&fixed, data, kFixedBytes);
  const SectionEntry& entry = fixed.table[(seed >> 4) % kSectionCount];
  if (!IsWithin(entry, size) || entry.size_bytes == 0) return size;
  std::vector<uint8_t> section(data + entry.offset_bytes,
                               data + entry.offset_bytes + entry.size_bytes);
  const size_t kept = LLVMFuzzerMutate(section.data(), section.size(), section.size());
  std::memcpy(data + entry.offset_bytes, section.data(), kept);
  return size;
}
