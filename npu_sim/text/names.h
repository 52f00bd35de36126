// What the values of enums are called in the text of a program. A NameOf gives the name of a value,
// or nothing where there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "npu_sim/program.h"

namespace berth::program_text {

using NameOf = std::string_view (*)(uint8_t value);

std::string_view OpcodeNameOf(uint8_t value);
std::string_view DTypeNameOf(uint8_t value);
std::string_view ActivationNameOf(uint8_t value);
std::string_view EngineKindNameOf(uint8_t value);
std::string_view RegionKindNameOf(uint8_t value);
std::string_view SpaceNameOf(uint8_t value);  // "dram" for a region whatever its kind
std::string_view FlagNameOf(uint8_t bit);
// Of params.vector.function; nullptr for opcodes that have no functions.
NameOf FunctionNameOf(Opcode opcode);

std::optional<uint8_t> ValueOf(NameOf name_of, std::string_view name);
std::string ListOf(NameOf name_of);                       // "a, b, c"
std::string NameOrNumber(NameOf name_of, uint8_t value);  // "?17" where there is no name

}  // namespace berth::program_text
