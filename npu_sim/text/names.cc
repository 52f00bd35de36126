#include "npu_sim/text/names.h"

#include <fmt/format.h>

#include <array>

namespace berth::program_text {
namespace {

constexpr int kMostValues = 256;

// The tables of npu_sim/command.h call what has no name so.
std::string_view UnlessInvalid(std::string_view name) {
  return name == "invalid" ? std::string_view() : name;
}

template <size_t N>
std::string_view NameIn(const std::array<std::string_view, N>& names, uint8_t value) {
  return value < N ? names[value] : std::string_view();
}

std::string_view UnaryNameOf(uint8_t value) {
  return UnlessInvalid(UnaryFunctionName(static_cast<UnaryFunction>(value)));
}
std::string_view BinaryNameOf(uint8_t value) {
  return UnlessInvalid(BinaryFunctionName(static_cast<BinaryFunction>(value)));
}
std::string_view ReduceNameOf(uint8_t value) {
  return UnlessInvalid(ReduceFunctionName(static_cast<ReduceFunction>(value)));
}
std::string_view PoolNameOf(uint8_t value) {
  return NameIn<3>({"max", "average_valid", "average_all"}, value);
}
std::string_view SoftmaxNameOf(uint8_t value) {
  return NameIn<2>({"softmax", "log_softmax"}, value);
}

}  // namespace

std::string_view OpcodeNameOf(uint8_t value) {
  return UnlessInvalid(OpcodeName(static_cast<Opcode>(value)));
}
std::string_view DTypeNameOf(uint8_t value) {
  return value < kDTypeCount ? DTypeName(static_cast<DType>(value)) : std::string_view();
}
std::string_view ActivationNameOf(uint8_t value) {
  return NameIn<4>({"none", "relu", "clip", "leaky_relu"}, value);
}
std::string_view EngineKindNameOf(uint8_t value) {
  return value <= static_cast<uint8_t>(EngineKind::kHost)
             ? EngineKindName(static_cast<EngineKind>(value))
             : std::string_view();
}
std::string_view RegionKindNameOf(uint8_t value) {
  return NameIn<4>({"constants", "pool", "input", "output"}, value);
}
std::string_view SpaceNameOf(uint8_t value) {
  return NameIn<4>({"none", "dram", "scratchpad", "accumulator"}, value);
}
std::string_view FlagNameOf(uint8_t bit) {
  static_assert(kFlagAccumulate == 1 && kFlagWriteOut == 2 && kFlagFinish == 4 &&
                kFlagLastIndex == 8);
  return NameIn<4>({"accumulate", "write_out", "finish", "last_index"}, bit);
}

NameOf FunctionNameOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kUnary:
      return UnaryNameOf;
    case Opcode::kBinary:
      return BinaryNameOf;
    case Opcode::kReduce:
      return ReduceNameOf;
    case Opcode::kPool:
      return PoolNameOf;
    case Opcode::kSoftmax:
      return SoftmaxNameOf;
    default:
      return nullptr;
  }
}

std::optional<uint8_t> ValueOf(NameOf name_of, std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (int value = 0; value < kMostValues; ++value) {
    if (name_of(static_cast<uint8_t>(value)) == name) return static_cast<uint8_t>(value);
  }
  return std::nullopt;
}

std::string ListOf(NameOf name_of) {
  std::string list;
  for (int value = 0; value < kMostValues; ++value) {
    const std::string_view name = name_of(static_cast<uint8_t>(value));
    if (name.empty()) continue;
    if (!list.empty()) list += ", ";
    list += name;
  }
  return list;
}

std::string NameOrNumber(NameOf name_of, uint8_t value) {
  const std::string_view name = name_of(value);
  return name.empty() ? fmt::format("?{}", value) : std::string(name);
}

}  // namespace berth::program_text
