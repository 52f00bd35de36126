// What the static plan of a transformer encoder shares: attention scores are needed no longer when
// the feed-forward part begins, so that both stand in the same bytes of the pool.
#include <gtest/gtest.h>

#include <filesystem>

#include "kernels/reference/reference.h"
#include "planner/compile.h"
#include "planner/schedule/lower.h"
#include "tests/planner/shared_data.h"

namespace berth {
namespace {

constexpr int kLayers = 4;

const ValueInfo* Find(const BundleContents& contents, const std::string& name) {
  for (const ValueInfo& value : contents.values) {
    if (value.name == name) return &value;
  }
  return nullptr;
}

TEST(TransformerSharing, ScoresAndFeedForwardStandInTheSameBytes) {
  const auto shared = SharedFolder();
  if (shared.empty()) GTEST_SKIP() << "no corpus beside the project";
  const auto model = shared / "corpus/models/transformer/nn_transformer_encoder_dyn.onnx";
  if (!std::filesystem::exists(model)) GTEST_SKIP() << model << " is absent";
  CompileOptions options;
  options.evaluator = EvaluateNode;
  auto config = LoadTarget("edge");  // too small to keep either on chip
  ASSERT_TRUE(config.ok()) << config.status();
  options.config = *config;
  options.input_shapes = {{"ids", Shape{8, 64}}, {"mask", Shape{8, 64}}};
  const auto contents = CompileModel(model, options);
  ASSERT_TRUE(contents.ok()) << contents.status();
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string prefix = fmt::format("/t/layers.{}/", layer);
    const ValueInfo* scores = Find(*contents, prefix + "self_attn/Softmax_output_0");
    const ValueInfo* hidden = Find(*contents, prefix + "linear1/Add_output_0");
    ASSERT_TRUE(scores != nullptr && hidden != nullptr) << prefix;
    EXPECT_EQ(scores->region, kPoolRegion) << prefix;
    EXPECT_EQ(hidden->region, kPoolRegion) << prefix;
    EXPECT_TRUE(scores->end_op <= hidden->begin_op || hidden->end_op <= scores->begin_op) << prefix;
    const int64_t begin = std::max(scores->offset_bytes, hidden->offset_bytes);
    const int64_t end = std::min(scores->offset_bytes + scores->span_bytes,
                                 hidden->offset_bytes + hidden->span_bytes);
    EXPECT_GT(end, begin) << prefix << ": scores at " << scores->offset_bytes << ", "
                          << scores->span_bytes << " bytes; feed-forward at "
                          << hidden->offset_bytes << ", " << hidden->span_bytes << " bytes";
  }
}

}  // namespace
}  // namespace berth
