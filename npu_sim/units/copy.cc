#include "npu_sim/units/strided_copy.h"
#include "npu_sim/units/unit_ops.h"

namespace berth {

absl::Status ExecuteCopy(const UnitCall& call) {
  const Command& c = call.command;
  CopyStrided(NestOf(c, call.memory, {&c.out, &c.in0}));
  return absl::OkStatus();
}

}  // namespace berth
