// How the sanitizer names what it has found.
#pragma once

#include <string>

#include "npu_sim/program.h"
#include "npu_sim/sanitizer.h"

namespace berth::sanitizer {

class Describer {
 public:
  Describer(const ProgramView& program, const SanitizerNames& names)
      : program_(program), names_(names) {}

  // "command 12 (dma0 dma_load, op 3 'conv1')"
  std::string Command(uint32_t command) const;
  // "slot 7 'conv1/weights'"
  std::string Slot(uint32_t slot) const;
  // "scratchpad", "region 2 (input 'x')"
  std::string Memory(MemorySpace space, uint16_t region) const;
  // "in0 reads scratchpad, 4 bytes from byte 64 on of slot 7 'x'"
  std::string Access(const Operand& operand, int position, bool is_write, int64_t first_byte,
                     int64_t byte_count) const;

 private:
  const ProgramView& program_;
  const SanitizerNames& names_;
};

}  // namespace berth::sanitizer
