// Every model of the corpus is ordered within a second, never worse than it came, and counted as
// storage assignment makes it.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/reference/reference.h"
#include "planner/frontend.h"
#include "planner/onnx/import.h"
#include "planner/order/graph_problem.h"
#include "planner/order/order.h"
#include "planner/order/solve.h"
#include "tests/planner/order_testing.h"
#include "tests/planner/shared_data.h"

namespace berth {
namespace {

std::vector<std::string> Models() {
  std::vector<std::string> paths;
  const std::filesystem::path folder = SharedFolder();
  if (folder.empty()) return paths;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder / "corpus" / "models")) {
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The model as the frontend hands it on, with the shapes of its first reference case.
absl::StatusOr<Graph> Prepared(const std::filesystem::path& model) {
  ImportOptions import;
  std::ifstream io(SharedFolder() / "corpus" / "refs" / model.filename() / "case0" / "io.json");
  if (io) {
    const nlohmann::json inputs = nlohmann::json::parse(io)["inputs"];
    for (const nlohmann::json& input : inputs) {
      import.input_shapes[input["name"].get<std::string>()] =
          Shape(input["shape"].get<std::vector<int64_t>>());
    }
  }
  BERTH_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(model.string(), import));
  PrepareOptions options;
  options.evaluator = EvaluateNode;
  BERTH_ASSIGN_OR_RETURN(graph, PrepareGraph(std::move(graph), options));
  SeparateOutputs(graph);
  SeparateConcatOperands(graph);
  return graph;
}

TEST(OrderCorpusTest, EveryModelInASecond) {
  const std::vector<std::string> models = Models();
  if (models.empty()) GTEST_SKIP() << "no corpus";
  int ordered = 0;
  for (const std::string& path : models) {
    SCOPED_TRACE(path);
    auto graph = Prepared(path);
    if (!graph.ok()) continue;  // an op or a form that is not supported: other tests tell which
    const StorageOptions options;
    const GraphOrderProblem both = ToOrderProblem(*graph, options);
    const int64_t stored = PeakLiveBytes(AssignStorage(*graph, options));
    EXPECT_GE(stored, PeakOfOrder(BoundProblem(both), IdentityOrder(both.problem)));
    if (both.maybe_free.empty()) {
      EXPECT_EQ(stored, PeakOfOrder(both.problem, IdentityOrder(both.problem)));
    }
    const auto begin = std::chrono::steady_clock::now();
    const OrderResult result = OrderNodes(*graph, options);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_LT(seconds, 1);
    EXPECT_EQ(result.peak_bytes, PeakLiveBytes(AssignStorage(*graph, options)));
    EXPECT_LE(result.peak_bytes, result.model_peak_bytes);
    EXPECT_LE(result.lower_bound_bytes, result.peak_bytes);
    EXPECT_TRUE(VerifyGraph(*graph).ok());
    std::printf("%5zu nodes %6.3f s %zu maybe free, %s, by %s: %s\n", graph->nodes.size(), seconds,
                both.maybe_free.size(), DescribeOrder(result).c_str(), result.method,
                path.substr(path.rfind('/') + 1).c_str());
    ++ordered;
  }
  EXPECT_GE(ordered, 10);
}

}  // namespace
}  // namespace berth
