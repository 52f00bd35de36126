// `berth check --dtype` on the float models of the corpus: nothing is refused, errors are those of
// the rounding, and classifiers choose the same class.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/planner/shared_data.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

struct HalfCase {
  const char* model;
  double fp16, bf16;  // largest error as a share of max |expected|
};

class HalfCorpus : public ::testing::TestWithParam<HalfCase> {};

TEST_P(HalfCorpus, IsCloseToTheReference) {
  const fs::path shared = SharedFolder();
  if (shared.empty()) GTEST_SKIP() << "no corpus beside the project";
  const fs::path model = shared / "corpus/models" / GetParam().model;
  if (!fs::exists(model)) GTEST_SKIP() << model << " is absent";
  const fs::path refs = shared / "corpus/refs" / model.filename();
  for (const char* target : {"edge", "mobile"}) {
    for (const auto& [dtype, tolerance] :
         {std::pair("fp16", GetParam().fp16), std::pair("bf16", GetParam().bf16)}) {
      const CliResult result =
          RunBerth({"check", model, "--refs", refs, "--target", target, "--dtype", dtype,
                    "--tolerance", std::to_string(tolerance), "--json"});
      EXPECT_EQ(result.exit_code, 0) << target << ", " << dtype << ": " << result.err;
      const nlohmann::json json = result.Json();
      ASSERT_TRUE(json.is_object()) << result.out;
      EXPECT_EQ(json["passed"], true) << target << ", " << dtype << ": " << json["max_rel_error"];
      // A model whose shapes stay free is narrowed anew for each shape, and says nothing of it.
      EXPECT_EQ(json.value("kept_in_float32", nlohmann::json::array()), nlohmann::json::array());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, HalfCorpus,
    ::testing::Values(HalfCase{"vision/mnist_cntk.onnx", 2e-3, 2e-2},
                      HalfCase{"vision/ultraface_slim_320.onnx", 2e-3, 2e-2},
                      HalfCase{"vision/blazeface_front_128.onnx", 5e-3, 4e-2},
                      HalfCase{"vision/stm_mobilenet_v2_128_050.onnx", 1e-3, 1e-2},
                      HalfCase{"recurrent/dnsmos_model_v8.onnx", 1e-3, 1e-2},
                      HalfCase{"transformer/nn_transformer_encoder_dyn.onnx", 3e-3, 2e-2},
                      HalfCase{"transformer/ppocrv4_rec_svtr.onnx", 3e-2, 2e-1},
                      HalfCase{"dynamic/espcn_superres_op15.onnx", 2e-3, 2e-2},
                      HalfCase{"dynamic/magika_v3_3.onnx", 1e-3, 1e-2},
                      HalfCase{"tflite/mlperf_resnet8_fp32.tflite", 5e-3, 2e-2},
                      HalfCase{"tflite/mediapipe_face_short_fp16.tflite", 5e-3, 4e-2},
                      HalfCase{"tflite/dtln_1_fp32.tflite", 4e-3, 3e-2},
                      HalfCase{"tflite/tflm_mnist_lstm_fp32.tflite", 4e-3, 3e-2}),
    [](const ::testing::TestParamInfo<HalfCase>& info) {
      std::string name = info.param.model;
      for (char& c : name) {
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace berth
