// Bundle files: the loader, the proof and a short run. Hashes are made right first, as a forger
// would, so that what stands behind them is reached.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/reference/reference.h"
#include "planner/lower_shape.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/run_program.h"
#include "tests/runtime/bundle_file.h"

namespace {

constexpr size_t kFixedBytes =
    sizeof(berth::FileHeader) + berth::kSectionCount * sizeof(berth::SectionEntry);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace berth;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size >= kFixedBytes) {
    BundleFile forged(std::move(bytes));
    forged.Rehash();
    bytes = forged.Packed();
  }
  const MemoryFile file(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
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
  const BundleFile file(std::string(reinterpret_cast<const char*>(data), size));
  const SectionEntry& entry = file.table[(seed >> 4) % kSectionCount];
  if (!file.Holds(entry) || entry.size_bytes == 0) return size;
  std::vector<uint8_t> section(data + entry.offset_bytes,
                               data + entry.offset_bytes + entry.size_bytes);
  const size_t kept = LLVMFuzzerMutate(section.data(), section.size(), section.size());
  std::memcpy(data + entry.offset_bytes, section.data(), kept);
  return size;
}
