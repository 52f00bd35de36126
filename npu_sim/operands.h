// The five operands of a command, in the order in which accesses and host functions number them.
#pragma once

#include <array>
#include <string_view>

#include "npu_sim/command.h"

namespace berth {

constexpr std::array<std::string_view, 5> kOperandNames = {"out", "in0", "in1", "in2", "acc"};

inline std::array<Operand*, 5> OperandsOf(Command& command) {
  return {&command.out, &command.in0, &command.in1, &command.in2, &command.acc};
}
inline std::array<const Operand*, 5> OperandsOf(const Command& command) {
  return {&command.out, &command.in0, &command.in1, &command.in2, &command.acc};
}

}  // namespace berth
