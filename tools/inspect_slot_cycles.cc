#include "tools/inspect_slot_cycles.h"

#include <algorithm>
#include <limits>

namespace berth {

std::vector<CycleRange> SlotCycles(const ProgramView& program, const SimReport& report) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  std::vector<CycleRange> cycles(program.slots.size(), {kNever, 0});
  for (size_t c = 0; c < program.commands.size(); ++c) {
    const Command& command = program.commands[c];
    const CommandTiming& timing = report.commands[c];
    for (const Operand* operand :
         {&command.out, &command.in0, &command.in1, &command.in2, &command.acc}) {
      if (!operand->present() || operand->slot >= cycles.size()) continue;
      CycleRange& range = cycles[operand->slot];
      range.begin = std::min(range.begin, timing.start_cycle);
      range.end = std::max(range.end, timing.finish_cycle);
    }
  }
  for (CycleRange& range : cycles) {
    if (range.begin == kNever) range = {};
  }
  return cycles;
}

}  // namespace berth
