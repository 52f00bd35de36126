#include "tools/inspect_program.h"

#include <fmt/format.h>

namespace berth {

std::string ProgramText(const InspectedPlan& plan) {
  const BundleContents& info = plan.info();
  std::string text =
      fmt::format("# Program of {} for {}\n", Shown(info.model_name), Shown(info.config.name));
  for (size_t op = 0; op < info.ops.size(); ++op) {
    text += fmt::format("# op={} {} {}\n", op, Shown(info.ops[op].name), Shown(info.ops[op].kind));
  }
  for (size_t name = 0; name < info.buffer_names.size(); ++name) {
    text += fmt::format("# name={} {}\n", name, Shown(info.buffer_names[name]));
  }
  return text + DumpProgram(plan.program());
}

}  // namespace berth
