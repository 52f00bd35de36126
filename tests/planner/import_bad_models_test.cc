// Every malformed, odd or out-of-scope model: a clean error, or a graph, in bounded time and
// memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/reference/reference.h"
#include "planner/frontend.h"
#include "planner/import_model.h"
#include "tests/planner/shared_data.h"

namespace berth {
namespace {

absl::StatusOr<Graph> Prepare(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(Graph graph, ImportModelFile(path, {}));
  PrepareOptions options;
  options.evaluator = EvaluateNode;
  return PrepareGraph(std::move(graph), options);
}

struct Format {
  std::string folder;  // of the corpus of bad models, and the test's name
  int least_files;
};

class BadModels : public ::testing::TestWithParam<Format> {};

TEST_P(BadModels, CleanErrorsInBoundedTimeAndMemory) {
  const std::filesystem::path shared = SharedFolder();
  if (shared.empty()) GTEST_SKIP() << "no shared corpus";
  std::ifstream stream(shared / "corpus/bad/INDEX.json");
  const nlohmann::json index = nlohmann::json::parse(stream);
  int seen = 0;
  for (const auto& entry : index) {
    const std::string file = entry["file"];
    if (!file.starts_with(GetParam().folder + "/")) continue;
    SCOPED_TRACE(file);
    ++seen;
    const auto begin = std::chrono::steady_clock::now();
    const auto graph = Prepare((shared / "corpus/bad" / file).string());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    const std::string reference = entry["reference"];
    if (graph.ok()) {
      EXPECT_THAT(reference, ::testing::StartsWith("accepts"));
      continue;
    }
    const std::string message(graph.status().message());
    EXPECT_FALSE(absl::IsInternal(graph.status())) << message;
    EXPECT_FALSE(message.empty());
    EXPECT_THAT(message, ::testing::Not(::testing::HasSubstr("\n")));
  }
  EXPECT_GT(seen, GetParam().least_files);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 1 << 20) << "KiB";
}

INSTANTIATE_TEST_SUITE_P(Formats, BadModels,
                         ::testing::Values(Format{"onnx", 50}, Format{"tflite", 15}),
                         [](const auto& info) { return info.param.folder; });

}  // namespace
}  // namespace berth
