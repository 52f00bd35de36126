#include "tools/search_progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth {

std::string SearchText(const ScheduleProgress& search) {
  if (search.stage == ScheduleStage::kResidency) {
    const int64_t limit_units = std::max<int64_t>(search.work_limit_units, 1);
    return fmt::format("what stays on chip: {} % of {:.1f} M units of work",
                       std::min<int64_t>(search.work_units * 100 / limit_units, 100),
                       static_cast<double>(limit_units) / 1e6);
  }
  std::string text =
      fmt::format("{} plan{} timed", search.timed_plans, search.timed_plans == 1 ? "" : "s");
  if (search.best_cycles > 0) text += fmt::format(", best {} cycles", search.best_cycles);
  if (search.lower_bound_cycles > 0) text += fmt::format(", bound {}", search.lower_bound_cycles);
  return text;
}

void ShowSearch(const std::string& what, Progress& progress, CompileOptions& options) {
  if (!progress.is_on()) return;
  options.progress = [what, &progress](const ScheduleProgress& search) {
    progress.Say(fmt::format("{}: {}", what, SearchText(search)));
  };
}

}  // namespace berth
