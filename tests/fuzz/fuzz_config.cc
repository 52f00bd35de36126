// Machine descriptions: what is accepted comes back the same from its own text, and can be timed
// against.
#include <cstdlib>
#include <string_view>

#include "npu_sim/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = berth::ParseNpuConfig(text, "fuzz");
  if (!config.ok()) return 0;
  const auto again = berth::ParseNpuConfig(berth::ToJson(*config), "again");
  if (!again.ok() || berth::Fingerprint(*again) != berth::Fingerprint(*config)) std::abort();
  return 0;
}
