// Placement problems: every plan of a problem that is accepted is one, and survives its own text.
#include <cstdlib>
#include <string_view>

#include "planner/pool/csv.h"
#include "planner/pool/plan_pool.h"
#include "planner/pool/verify.h"
#include "runtime/pool/pool_trace.h"

namespace {

constexpr int64_t kWorkUnits = 100'000;
constexpr size_t kMostItems = 64;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)berth::ParsePoolTrace(text);
  const auto problem = berth::ParsePoolCsv(text);
  if (!problem.ok() || problem->items.size() > kMostItems) return 0;
  berth::PoolOptions options;
  options.work_limit_units = kWorkUnits;
  const auto plan = berth::PlanPool(*problem, options);
  if (!plan.ok()) return 0;
  if (!berth::VerifyPoolPlan(*problem, *plan).ok()) std::abort();
  if (!berth::ParsePoolCsv(berth::FormatPoolCsv(*problem, *plan)).ok()) std::abort();
  return 0;
}
