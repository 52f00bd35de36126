#include "npu_sim/operands.h"
#include "npu_sim/units/memory.h"
#include "npu_sim/units/unit_ops.h"

namespace berth {

absl::Status ExecuteHostCall(const UnitCall& call, HostFunctionTable functions) {
  const Command& c = call.command;
  const uint32_t number = c.params.host.function;
  if (number >= functions.size() || functions[number] == nullptr) {
    return Internal("host function {} is not in the table of {}", number, functions.size());
  }
  HostCall host;
  host.command = &c;
  size_t count = 0;
  for (const Operand* operand : OperandsOf(c)) {
    host.operands[count++] = Resolve(*operand, call.memory);
  }
  return functions[number](host);
}

}  // namespace berth
