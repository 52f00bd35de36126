#include "kernels/host_functions.h"

#include "kernels/host_topk.h"

namespace berth {

HostFunctionTable KernelHostFunctions() {
  static constexpr HostFunction kTable[] = {&HostTopK};
  return kTable;
}

}  // namespace berth
