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
  const Operand* operands[] = {&c.out, &c.in0, &c.in1, &c.in2, &c.acc};
  for (int i = 0; i < 5; ++i) host.operands[i] = Resolve(*operands[i], call.memory);
  return functions[number](host);
}

}  // namespace berth
