// `berth check` on real TFLite models against outputs of TFLite's own runtime.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/planner/shared_data.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class TfliteCorpus : public ::testing::TestWithParam<const char*> {};

TEST_P(TfliteCorpus, MatchesOnEdgeAndMobile) {
  const fs::path shared = SharedFolder();
  if (shared.empty()) GTEST_SKIP() << "no corpus beside the project";
  const fs::path model = shared / "corpus/models/tflite" / GetParam();
  if (!fs::exists(model)) GTEST_SKIP() << model << " is absent";
  const fs::path refs = shared / "corpus/refs" / model.filename();
  for (const char* target : {"edge", "mobile"}) {
    const CliResult result =
        RunBerth({"check", model, "--refs", refs, "--target", target, "--json"});
    EXPECT_EQ(result.exit_code, 0) << target << ": " << result.err;
    const nlohmann::json json = result.Json();
    ASSERT_TRUE(json.is_object()) << target << ": " << result.out;
    EXPECT_EQ(json["passed"], true) << target << ": " << result.err;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, TfliteCorpus,
    ::testing::Values("dtln_1_fp32.tflite", "mediapipe_face_short_fp16.tflite",
                      "mediapipe_selfie_fp16_customop.tflite", "mlperf_ad_int8.tflite",
                      "mlperf_kws_int8.tflite", "mlperf_resnet8_fp32.tflite",
                      "mlperf_resnet8_int8.tflite", "mlperf_vww_int8.tflite",
                      "mobilenet_v1_025_128_uint8.tflite", "mobilenet_v2_10_224_uint8.tflite",
                      "tflm_hello_world_int8.tflite", "tflm_micro_speech_int8.tflite",
                      "tflm_mnist_lstm_fp32.tflite", "tflm_mnist_lstm_int8.tflite",
                      "tinymaix_mbnet96_025_int8.tflite", "ultraface_slim_320.tflite"),
    [](const auto& test) {
      std::string name = test.param;
      name.resize(name.size() - std::string(".tflite").size());
      return name;
    });

}  // namespace
}  // namespace berth
