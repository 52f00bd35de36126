// Tile programs: a real one with a few fields changed, as the input says. What the proof lets
// through runs in memory of exactly its size (AddressSanitizer watches), to the same bits on one
// thread and on several, and the machine's own sanitizer has nothing to say.
#include <cstdlib>

#include "npu_sim/timing.h"
#include "npu_sim/verify.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/run_program.h"
#include "tests/planner/small_network.h"

namespace berth {
namespace {

constexpr int kMostEdits = 8;

// Overwrites 1, 2, 4 or 8 bytes of one record, or adds to them.
template <typename Record>
void Edit(std::vector<Record>& records, ByteSource& bytes) {
  const auto index = bytes.Take<uint16_t>();
  const auto where = bytes.Take<uint8_t>(), how = bytes.Take<uint8_t>();
  auto value = static_cast<uint64_t>(bytes.Take<int64_t>());
  if (records.empty()) return;
  const size_t width = size_t{1} << (how % 4);
  const size_t offset = where % sizeof(Record) / width * width;
  auto* field = reinterpret_cast<std::byte*>(&records[index % records.size()]) + offset;
  if (how & 0x80) {
    uint64_t now = 0;
    std::memcpy(&now, field, width);
    value = now + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(value)));
  }
  std::memcpy(field, &value, width);
}

TileProgram Edited(const TileProgram& original, ByteSource& bytes) {
  TileProgram program = original;
  for (int i = 0; i < kMostEdits && !bytes.empty(); ++i) {
    switch (bytes.Take<uint8_t>() % 6) {
      case 0:
        Edit(program.waits, bytes);
        break;
      case 1:
        Edit(program.slots, bytes);
        break;
      case 2:
        Edit(program.regions, bytes);
        break;
      default:
        Edit(program.commands, bytes);
    }
  }
  return program;
}

void Try(const BundleContents& original, ByteSource bytes) {
  TileProgram program = Edited(original.program, bytes);
  if (!VerifyProgram(program.view(), original.config).ok()) return;
  if (!SimulateTiming(program.view(), original.config).ok()) std::abort();
  BundleContents contents = original;
  contents.program = std::move(program);
  contents.conflicts = BuildConflictGraph(ComputeHazards(contents.program.view()));
  const auto loaded = Program::FromContents(std::move(contents));
  if (!loaded.ok()) return;  // the regions no longer are those of the interface
  if (RunOnZeros(*loaded, 1) != RunOnZeros(*loaded, 3)) std::abort();
  SanitizerReport report;
  (void)RunOnZeros(*loaded, 1, &report);
  if (report.finding_count != 0) std::abort();
}

}  // namespace
}  // namespace berth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const berth::BundleContents original = berth::CompileSmallNetwork();
  berth::Try(original, berth::ByteSource(data, size));
  return 0;
}
