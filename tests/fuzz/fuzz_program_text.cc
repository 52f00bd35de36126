// Tile programs as text: what is read comes back the same from its own text, the proof answers for
// it, and what it lets through can be timed.
#include <cstdlib>
#include <string_view>

#include "npu_sim/timing.h"
#include "npu_sim/verify.h"
#include "tests/npu_sim/program_text_testing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // One with flat DRAM, one with banks; a byte more or less of text chooses.
  static const berth::NpuConfig configs[] = {*berth::LoadTarget("edge"),
                                             *berth::LoadTarget("mobile")};
  const berth::NpuConfig& config = configs[size % 2];
  const auto program = berth::ParseProgramText({reinterpret_cast<const char*>(data), size});
  if (!program.ok()) return 0;
  if (!berth::testing_support::RoundTripDifference(*program).empty()) std::abort();
  if (!berth::VerifyProgram(program->view(), config).ok()) return 0;
  if (!berth::SimulateTiming(program->view(), config).ok()) std::abort();
  return 0;
}
