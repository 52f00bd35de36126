// `berth check` on real models, on each of the three machines, against outputs of another runtime.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/status.h"
#include "tests/planner/shared_data.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

// A model of the corpus, or "seeded/NAME": made from vision-light/light_NAME.
class CorpusModel : public ::testing::TestWithParam<const char*> {};

absl::StatusOr<fs::path> MakeSeeded(const fs::path& shared, const std::string& name) {
  const fs::path folder = fs::path(BERTH_BUILD_FOLDER) / "seeded";
  fs::create_directories(folder);
  const fs::path model = folder / ("seeded_" + name + ".onnx");
  const fs::path temporary = folder / ("seeded_" + name + ".tmp.onnx");
  const std::string command =
      "/usr/bin/python3 '" + (shared / "tools/seed_weights.py").string() + "' '" +
      (shared / "corpus/models/vision-light" / ("light_" + name + ".onnx")).string() + "' '" +
      temporary.string() + "' >/dev/null";
  if (std::system(command.c_str()) != 0) return FailedPrecondition("failed: {}", command);
  fs::rename(temporary, model);
  return model;
}

TEST_P(CorpusModel, MatchesOnEveryMachine) {
  const fs::path shared = SharedFolder();
  if (shared.empty()) GTEST_SKIP() << "no corpus beside the project";
  const std::string name = GetParam();
  fs::path model = shared / "corpus/models" / name;
  if (name.rfind("seeded/", 0) == 0) {
    const absl::StatusOr<fs::path> seeded = MakeSeeded(shared, name.substr(7));
    if (!seeded.ok()) GTEST_SKIP() << seeded.status();
    model = *seeded;
  }
  if (!fs::exists(model)) GTEST_SKIP() << model << " is absent";
  const fs::path refs = shared / "corpus/refs" / model.filename();
  for (const char* target : {"edge", "mobile", "server"}) {
    const CliResult result =
        RunBerth({"check", model, "--refs", refs, "--target", target, "--json"});
    EXPECT_EQ(result.exit_code, 0) << target << ": " << result.err;
    const nlohmann::json json = result.Json();
    ASSERT_TRUE(json.is_object()) << target << ": " << result.out;
    EXPECT_EQ(json["passed"], true) << target << ": " << result.err;
    EXPECT_EQ(json["engines"]["host"]["busy_cycles"], 0) << target;
    EXPECT_GE(json["makespan_cycles"], json["cycles_lower_bound"]) << target;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Vision, CorpusModel,
    ::testing::Values("vision/mnist_cntk.onnx", "vision/ultraface_slim_320.onnx",
                      "vision/ultraface_slim_320_simplified.onnx", "vision/yunet_n_320.onnx",
                      "vision/blazeface_front_128.onnx", "vision/mlsd_320_tiny.onnx",
                      "vision/stm_mobilenet_v2_128_050.onnx", "vision-light/light_resnet50.onnx",
                      "vision-light/light_squeezenet.onnx", "vision-light/light_shufflenet.onnx",
                      "vision-light/light_inception_v1.onnx", "seeded/resnet50",
                      "seeded/squeezenet", "seeded/shufflenet", "seeded/inception_v1",
                      "dynamic/yunet_n_dynamic.onnx", "dynamic/ppocrv4_det.onnx"),
    [](const ::testing::TestParamInfo<const char*>& info) {
      std::string name = info.param;
      for (char& c : name) {
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace berth
