// A failure of the machine, made on purpose: how a host tests what it does when a run fails.
#pragma once

#include <chrono>
#include <cstdint>

namespace berth {

enum class MachineFault : uint8_t {
  kError = 0,    // the command's engine reports an error; nothing of the command is done
  kTimeout = 1,  // the command does not end, and the machine's watchdog says so
};

struct FaultInjection {
  uint32_t command = 0;  // position in the program; of a dynamic one, in each program of the run
  MachineFault fault = MachineFault::kError;
  std::chrono::microseconds watchdog{1000};  // kTimeout: how long the machine waits
};

}  // namespace berth
