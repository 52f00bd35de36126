// Real models, imported, prepared and interpreted, give the expected outputs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "planner/frontend.h"
#include "planner/onnx/import.h"
#include "tests/planner/graph_testing.h"
#include "tests/planner/shared_data.h"
#include "tools/npy.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

struct CorpusCase {
  std::string model;    // path below corpus/models, without the ending; "seeded/..." is made
  int most_transposes;  // that the prepared graph may keep
};
void PrintTo(const CorpusCase& corpus_case, std::ostream* stream) { *stream << corpus_case.model; }

// Writes seeded_X.onnx beside the test binary, once.
fs::path SeededModel(const fs::path& shared, const std::string& name) {
  const fs::path made = fs::current_path() / (name + ".onnx");
  if (fs::exists(made)) return made;
  const fs::path part = made.string() + "." + std::to_string(getpid());
  const std::string light = "light_" + name.substr(std::string("seeded_").size()) + ".onnx";
  const std::string command =
      fmt::format("/usr/bin/python3 '{}' '{}' '{}'", (shared / "tools/seed_weights.py").string(),
                  (shared / "corpus/models/vision-light" / light).string(), part.string());
  if (std::system(command.c_str()) != 0) return {};
  fs::rename(part, made);
  return made;
}

// Elements that are off by more than 1e-3 of the largest, or of what the runtime that made the
// references resolves: its logistic is 0.5 + f(x) in float, in steps of 2^-25 and a few of them
// off.
int64_t CountMismatches(const Tensor& actual, const Tensor& expected) {
  const absl::Span<const float> a = actual.Values<float>(), e = expected.Values<float>();
  float largest = 0;
  for (const float value : e) largest = std::max(largest, std::abs(value));
  const float allowed = std::max(largest * 1e-3f, std::ldexp(1.0f, -22));
  int64_t count = 0;
  for (size_t i = 0; i < e.size(); ++i) count += std::abs(a[i] - e[i]) <= allowed ? 0 : 1;
  return count;
}

class CorpusTest : public ::testing::TestWithParam<CorpusCase> {};

void RunCase(const fs::path& model, const fs::path& refs, int most_transposes) {
  SCOPED_TRACE(refs.string());
  const nlohmann::json io = nlohmann::json::parse(std::ifstream(refs / "io.json"));
  ImportOptions import;
  std::vector<Tensor> inputs;
  for (const auto& entry : io["inputs"]) {
    const auto tensor = ReadNpy((refs / std::string(entry["file"])).string());
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    import.input_shapes[entry["name"]] = tensor->shape();
    inputs.push_back(*tensor);
  }
  const auto graph = ImportOnnx(model.string(), import);
  ASSERT_TRUE(graph.ok()) << graph.status();
  PrepareOptions options;
  options.evaluator = EvaluateNode;
  const auto prepared = PrepareGraph(*graph, options);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_LE(CountOf(*prepared, OpKind::kTranspose), most_transposes);
  const auto outputs = Interpret(*prepared, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), io["outputs"].size());
  for (size_t i = 0; i < outputs->size(); ++i) {
    const auto expected = ReadNpy((refs / std::string(io["outputs"][i]["file"])).string());
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_EQ((*outputs)[i].type(), expected->type());
    // A peak that is told from its neighbour by the last bit of a float (mlsd) falls either way.
    EXPECT_LE(CountMismatches((*outputs)[i], *expected), expected->shape().ElementCount() / 10000)
        << "output " << i;
    EXPECT_EQ(prepared->at(prepared->outputs[i]).name, std::string(io["outputs"][i]["name"]));
  }
}

TEST_P(CorpusTest, MatchesExpectedOutputs) {
  const fs::path shared = SharedFolder();
  if (shared.empty()) GTEST_SKIP() << "no shared corpus";
  const fs::path name(GetParam().model);
  const bool seeded = name.parent_path() == "seeded";
  const fs::path model = seeded ? SeededModel(shared, name.filename())
                                : shared / "corpus/models" / (name.string() + ".onnx");
  if (model.empty()) GTEST_SKIP() << "seed_weights.py does not run here";
  int cases = 0;
  const fs::path refs = shared / "corpus/refs" / (name.filename().string() + ".onnx");
  for (int i = 0; fs::is_directory(refs / fmt::format("case{}", i)); ++i, ++cases) {
    RunCase(model, refs / fmt::format("case{}", i), GetParam().most_transposes);
  }
  EXPECT_GT(cases, 0) << refs;
}

INSTANTIATE_TEST_SUITE_P(
    Models, CorpusTest,
    ::testing::Values(
        CorpusCase{"vision/mnist_cntk", 0}, CorpusCase{"vision/blazeface_front_128", 0},
        CorpusCase{"vision/mlsd_320_tiny", 0}, CorpusCase{"vision/stm_mobilenet_v2_128_050", 1},
        CorpusCase{"vision/ultraface_slim_320", 1},
        CorpusCase{"vision/ultraface_slim_320_simplified", 1}, CorpusCase{"vision/yunet_n_320", 1},
        CorpusCase{"dynamic/yunet_n_dynamic", 1}, CorpusCase{"dynamic/ppocrv4_det", 2},
        CorpusCase{"dynamic/espcn_superres_op15", 3},
        CorpusCase{"vision-light/light_inception_v1", 1},
        CorpusCase{"vision-light/light_resnet50", 1},
        CorpusCase{"vision-light/light_shufflenet", 17},
        CorpusCase{"vision-light/light_squeezenet", 1}, CorpusCase{"seeded/seeded_inception_v1", 1},
        CorpusCase{"seeded/seeded_resnet50", 1}, CorpusCase{"seeded/seeded_shufflenet", 17},
        CorpusCase{"seeded/seeded_squeezenet", 1}),
    [](const auto& info) { return fs::path(info.param.model).filename().string(); });

}  // namespace
}  // namespace berth
