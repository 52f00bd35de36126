// Published instances, where they are present: quality with the default budget.
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <sstream>

#include "planner/pool/csv.h"
#include "planner/pool/plan_pool.h"
#include "planner/pool/verify.h"
#include "tests/planner/shared_data.h"

namespace berth {
namespace {

std::optional<PoolProblem> Load(const std::string& name) {
  std::ifstream file(SharedFolder() / "dsa" / name);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  const absl::StatusOr<PoolProblem> problem = ParsePoolCsv(text.str());
  EXPECT_TRUE(problem.ok()) << name << ": " << problem.status();
  return problem.ok() ? *problem : PoolProblem{};
}

double HeightOverBound(const PoolProblem& problem, const PoolOptions& options) {
  const absl::StatusOr<PoolPlan> plan = PlanPool(problem, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(VerifyPoolPlan(problem, *plan), absl::OkStatus());
  return static_cast<double>(plan->height_bytes) / static_cast<double>(plan->lower_bound_bytes);
}

TEST(PoolSharedTest, ConstrainedInstancesStayNearTheBound) {
  double sum = 0;
  constexpr const char* kNames[] = {"A", "C", "E", "G", "I", "J"};
  for (const char* name : kNames) {
    const auto problem = Load(std::string(name) + ".1048576.csv");
    if (!problem) GTEST_SKIP() << "no shared instances";
    const double ratio = HeightOverBound(*problem, {});
    EXPECT_LE(ratio, 1.15) << name;
    sum += ratio;
  }
  EXPECT_LE(sum / std::size(kNames), 1.10);
}

TEST(PoolSharedTest, ResnetTraceReachesTheBound) {
  const auto problem = Load("somas_tensors_resnet50.csv");
  if (!problem) GTEST_SKIP() << "no shared instances";
  EXPECT_EQ(HeightOverBound(*problem, {.work_limit_units = 100'000'000}), 1.0);
}

TEST(PoolSharedTest, LargeTraceIsQuickAndTight) {
  const auto problem = Load("iopddl_S_1.csv");
  if (!problem) GTEST_SKIP() << "no shared instances";
  EXPECT_LE(HeightOverBound(*problem, {.work_limit_units = 1}), 1.0249);
}

}  // namespace
}  // namespace berth
