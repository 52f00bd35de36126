// A dynamic bundle of a model beside the static bundle of a shape: what the pool takes.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/planner/shared_data.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr double kMostPoolRatio = 1.15;

nlohmann::json Answer(const std::vector<std::string>& arguments) {
  const CliResult result = RunBerth(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.Json();
}

class DynamicCorpus : public ::testing::TestWithParam<const char*> {};

// The pool of a dynamic bundle holds the working memory of two workers, too.
TEST_P(DynamicCorpus, PoolStaysNearTheStaticPlans) {
  const fs::path shared = SharedFolder();
  if (shared.empty()) GTEST_SKIP() << "no corpus beside the project";
  const std::string model = shared / "corpus/models/dynamic/ppocrv4_det.onnx";
  const fs::path folder = fs::path(::testing::TempDir()) / "berth_dynamic_corpus" / GetParam();
  fs::create_directories(folder);
  const std::string free = folder / "free.berth", fixed = folder / "fixed.berth";
  Answer({"compile", model, "--target", GetParam(), "-o", free, "--json"});
  for (const std::string shape : {"x=1x3x320x320", "x=1x3x640x320"}) {
    SCOPED_TRACE(shape);
    Answer({"compile", model, "--target", GetParam(), "--shape", shape, "-o", fixed, "--json"});
    const auto plan = Answer({"inspect", fixed, "--json"});
    const auto run = Answer({"run", free, "--input", shape, "--threads", "2", "--json"});
    ASSERT_TRUE(plan.contains("pool_bytes") && run.contains("pool_bytes"));
    EXPECT_GT(run["pool_bytes"].get<int64_t>(), 0);
    EXPECT_LE(run["pool_bytes"].get<double>(), kMostPoolRatio * plan["pool_bytes"].get<double>());
  }
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Targets, DynamicCorpus, ::testing::Values("edge", "mobile"),
                         [](const ::testing::TestParamInfo<const char*>& info) {
                           return std::string(info.param);
                         });

}  // namespace
}  // namespace berth
