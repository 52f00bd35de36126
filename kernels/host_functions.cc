#include "kernels/host_functions.h"

#include "kernels/host_data_dependent.h"
#include "kernels/host_scatter.h"
#include "kernels/host_topk.h"

namespace berth {

HostFunctionTable KernelHostFunctions() {
  static constexpr HostFunction kTable[] = {&HostTopK, &HostScatterRows, &HostNonZero,
                                            &HostNonMaxSuppression, &HostUnique};
  return kTable;
}

uint32_t HostOutputMask(HostFunctionId function) {
  constexpr uint32_t kOut = 1, kIn1 = 4, kIn2 = 8, kAcc = 16;
  switch (function) {
    case HostFunctionId::kTopK:
      return kOut | kIn1;
    case HostFunctionId::kUnique:
      return kOut | kIn1 | kIn2 | kAcc;
    case HostFunctionId::kScatterRows:
    case HostFunctionId::kNonZero:
    case HostFunctionId::kNonMaxSuppression:
      break;
  }
  return kOut;
}

}  // namespace berth
