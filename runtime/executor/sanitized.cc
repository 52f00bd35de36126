#include "runtime/executor/sanitized.h"

#include "kernels/host_functions.h"

namespace berth {
namespace {

std::string NameOfRegion(const BundleContents& info, const DramRegion& region) {
  const bool is_input = region.kind == RegionKind::kInput;
  if (!is_input && region.kind != RegionKind::kOutput) return "";
  const std::vector<TensorInfo>& tensors = is_input ? info.inputs : info.outputs;
  return region.index < tensors.size() ? tensors[region.index].name : "";
}

SanitizerNames NamesOf(const Bundle& bundle) {
  const BundleContents& info = bundle.info();
  SanitizerNames names;
  names.op = [&info](uint32_t op) { return op < info.ops.size() ? info.ops[op].name : ""; };
  names.buffer = [&info](uint32_t name) {
    return name < info.buffer_names.size() ? info.buffer_names[name] : "";
  };
  names.region = [&info, &bundle](uint32_t region) {
    return NameOfRegion(info, bundle.program().regions[region]);
  };
  return names;
}

}  // namespace

absl::Status RunSanitized(const Bundle& bundle, const MemoryMap& memory, const StopConditions& stop,
                          SanitizerReport& report) {
  SanitizerOptions options;
  options.names = NamesOf(bundle);
  options.check_stop = [&stop] { return CheckStop(stop); };
  return RunSanitized(bundle.program(), bundle.info().config, memory, KernelHostFunctions(),
                      options, report);
}

}  // namespace berth
