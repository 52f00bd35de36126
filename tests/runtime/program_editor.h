// Changes to programs that keep what is not meant to change: leases and counts of waits follow when
// commands come, go or change places.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "npu_sim/program.h"

namespace berth::testing_support {

class ProgramEditor {
 public:
  explicit ProgramEditor(TileProgram& program) : program(program) {}

  static std::array<Operand*, 5> Operands(Command& c) {
    return {&c.out, &c.in0, &c.in1, &c.in2, &c.acc};
  }
  static bool Reads(const Command& c, uint32_t slot) {
    return std::ranges::any_of(std::array{&c.in0, &c.in1, &c.in2},
                               [&](const Operand* o) { return o->present() && o->slot == slot; });
  }
  EngineKind KindOf(const Command& c) const { return program.engines[c.engine].kind; }
  Command& At(size_t index) { return program.commands[index]; }
  const Slot& SlotOf(const Operand& o) const { return program.slots[o.slot]; }

  // The first command for which it is true, from `begin` on.
  size_t Find(const std::function<bool(size_t, const Command&)>& is_it, size_t begin = 0) const {
    for (size_t i = begin; i < program.commands.size(); ++i) {
      if (is_it(i, program.commands[i])) return i;
    }
    ADD_FAILURE() << "the program has no such command";
    return 0;
  }

  // Position among the waits of a command on an engine of that kind, or -1.
  int WaitOn(const Command& c, EngineKind kind) const {
    for (uint32_t w = c.wait_begin; w < c.wait_begin + c.wait_count; ++w) {
      if (program.engines[program.waits[w].engine].kind == kind) return static_cast<int>(w);
    }
    return -1;
  }
  void DropWait(Command& c, int wait) {
    std::swap(program.waits[static_cast<size_t>(wait)],
              program.waits[c.wait_begin + c.wait_count - 1u]);
    --c.wait_count;
  }
  void SetWaits(Command& c, std::initializer_list<Wait> waits) {
    c.wait_begin = static_cast<uint32_t>(program.waits.size());
    c.wait_count = static_cast<uint16_t>(waits.size());
    program.waits.insert(program.waits.end(), waits);
  }
  // Which of its engine's commands it is, from 1.
  uint32_t NumberOf(size_t index) const {
    uint32_t number = 0;
    for (size_t i = 0; i <= index; ++i) {
      number += program.commands[i].engine == program.commands[index].engine;
    }
    return number;
  }

  void Insert(size_t index, const Command& command) {
    program.commands.insert(program.commands.begin() + static_cast<ptrdiff_t>(index), command);
    const uint32_t number = NumberOf(index);
    for (Wait& wait : program.waits) {
      wait.count += wait.engine == command.engine && wait.count >= number ? 1 : 0;
    }
    for (Slot& slot : program.slots) {
      slot.begin_command += slot.begin_command >= index ? 1 : 0;
      slot.end_command += slot.end_command > index ? 1 : 0;
    }
  }
  // Who waited for it waits for the one before it.
  void Erase(size_t index) {
    const uint32_t number = NumberOf(index);
    const uint8_t engine = program.commands[index].engine;
    program.commands.erase(program.commands.begin() + static_cast<ptrdiff_t>(index));
    for (Wait& wait : program.waits) {
      wait.count -= wait.engine == engine && wait.count >= number && wait.count > 1 ? 1 : 0;
    }
    for (Slot& slot : program.slots) {
      slot.begin_command -= slot.begin_command > index ? 1 : 0;
      slot.end_command -= slot.end_command > index ? 1 : 0;
    }
  }
  // With the command behind it; leases begin and end as before.
  void SwapWithNext(size_t index) {
    std::swap(program.commands[index], program.commands[index + 1]);
    for (Operand* o : Operands(program.commands[index])) {
      if (!o->present() || o->slot == kNoSlot) continue;
      Slot& slot = program.slots[o->slot];
      slot.begin_command = std::min(slot.begin_command, static_cast<uint32_t>(index));
    }
    for (Operand* o : Operands(program.commands[index + 1])) {
      if (!o->present() || o->slot == kNoSlot) continue;
      Slot& slot = program.slots[o->slot];
      slot.end_command = std::max(slot.end_command, static_cast<uint32_t>(index + 2));
    }
  }

  void MoveSlot(uint32_t slot, int64_t offset_bytes) {
    const int64_t shift = offset_bytes - program.slots[slot].offset_bytes;
    program.slots[slot].offset_bytes = offset_bytes;
    for (Command& command : program.commands) {
      for (Operand* o : Operands(command)) {
        if (o->present() && o->slot == slot) o->offset_bytes += shift;
      }
    }
  }
  // Puts a buffer onto the bytes of another that lives before, during and after it, and is large
  // enough. Both stand in `space`.
  void OverlapLiveSlots(MemorySpace space) {
    for (uint32_t a = 0; a < program.slots.size(); ++a) {
      for (uint32_t b = 0; b < program.slots.size(); ++b) {
        const Slot &outer = program.slots[a], &inner = program.slots[b];
        if (outer.space != space || inner.space != space || inner.size_bytes > outer.size_bytes ||
            inner.begin_command <= outer.begin_command || inner.end_command >= outer.end_command) {
          continue;
        }
        return MoveSlot(b, outer.offset_bytes);
      }
    }
    ADD_FAILURE() << "the program has no such slots";
  }

  TileProgram& program;
};

}  // namespace berth::testing_support
