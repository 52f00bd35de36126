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

}  // namespace berth
