#include "tools/demo_network.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "planner/onnx/model_builder.h"

namespace berth {
namespace {

constexpr int kOpset = 13;

// splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // In [-1, 1), 24 bits.
  float Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return static_cast<float>(z >> 40) * 0x1p-23f - 1.0f;
  }

 private:
  uint64_t state_;
};

struct Stage {
  int64_t expansion, channels, repeats, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

class Network {
 public:
  explicit Network(const DemoNetworkOptions& options)
      : options_(options), random_(options.seed), builder_(kOpset, "mobilenet_v2") {}

  std::string Make() {
    builder_.Input("image", {1, 3, options_.resolution, options_.resolution});
    builder_.Output("probabilities", {1, options_.classes});
    builder_.Floats("zero", {}, {0.0f});
    builder_.Floats("six", {}, {6.0f});
    std::string flow = ConvBlock("image", 3, Scaled(32), {.kernel = 3, .stride = 2});
    int64_t channels = Scaled(32);
    for (const Stage& stage : kStages) {
      for (int64_t i = 0; i < stage.repeats; ++i) {
        const int64_t stride = i == 0 ? stage.stride : 1;
        flow = InvertedResidual(flow, channels, Scaled(stage.channels), stage.expansion, stride);
        channels = Scaled(stage.channels);
      }
    }
    const int64_t last = std::max<int64_t>(1280, Scaled(1280));
    flow = ConvBlock(flow, channels, last, {});
    Classify(flow, last);
    builder_.model.set_producer_name("berth");
    return builder_.model.SerializeAsString();
  }

 private:
  struct Conv {
    int64_t kernel = 1, stride = 1, groups = 1;
    bool activate = true;
  };

  int64_t Scaled(int64_t channels) const {
    const double scaled = static_cast<double>(channels) * options_.width;
    return std::max<int64_t>(8, 8 * std::llround(scaled / 8));
  }

  std::string Fresh(const std::string& stem) { return stem + "_" + std::to_string(next_++); }

  // Uniform, scaled so that the variance passes through (He et al., ICCV 2015).
  void Weights(const std::string& name, const std::vector<int64_t>& dims, int64_t fan_in) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    const float scale = std::sqrt(6.0f / static_cast<float>(fan_in));
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = random_.Next() * scale;
    builder_.Floats(name, dims, values);
  }

  void Around(const std::string& name, int64_t count, float centre, float spread) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = centre + spread * random_.Next();
    builder_.Floats(name, {count}, values);
  }

  std::string ConvBlock(const std::string& input, int64_t in, int64_t out, const Conv& conv) {
    const std::string name = Fresh(conv.groups > 1 ? "depthwise" : "conv");
    const int64_t seen = in / conv.groups;
    Weights(name + ".weight", {out, seen, conv.kernel, conv.kernel},
            seen * conv.kernel * conv.kernel);
    onnx::NodeProto& node = builder_.Node("Conv", {input, name + ".weight"}, {name + ".out"}, name);
    SetInts(node, "kernel_shape", {conv.kernel, conv.kernel});
    SetInts(node, "strides", {conv.stride, conv.stride});
    SetInts(node, "pads", std::vector<int64_t>(4, conv.kernel / 2));
    SetInt(node, "group", conv.groups);
    const std::string norm = name + ".norm";
    Around(norm + ".scale", out, 1.0f, 0.2f);
    Around(norm + ".bias", out, 0.0f, 0.2f);
    Around(norm + ".mean", out, 0.0f, 0.2f);
    Around(norm + ".variance", out, 1.0f, 0.2f);
    builder_.Node(
        "BatchNormalization",
        {name + ".out", norm + ".scale", norm + ".bias", norm + ".mean", norm + ".variance"},
        {norm}, norm);
    if (!conv.activate) return norm;
    builder_.Node("Clip", {norm, "zero", "six"}, {name + ".relu6"}, name + ".relu6");
    return name + ".relu6";
  }

  std::string InvertedResidual(const std::string& input, int64_t in, int64_t out, int64_t expansion,
                               int64_t stride) {
    const int64_t inner = in * expansion;
    std::string flow = expansion == 1 ? input : ConvBlock(input, in, inner, {});
    flow = ConvBlock(flow, inner, inner, {.kernel = 3, .stride = stride, .groups = inner});
    flow = ConvBlock(flow, inner, out, {.activate = false});
    if (stride != 1 || in != out) return flow;
    const std::string sum = Fresh("add");
    builder_.Node("Add", {input, flow}, {sum}, sum);
    return sum;
  }

  void Classify(const std::string& input, int64_t channels) {
    builder_.Node("GlobalAveragePool", {input}, {"pooled"}, "pool");
    SetInt(builder_.Node("Flatten", {"pooled"}, {"features"}, "flatten"), "axis", 1);
    Weights("classifier.weight", {options_.classes, channels}, channels);
    Around("classifier.bias", options_.classes, 0.0f, 0.1f);
    SetInt(builder_.Node("Gemm", {"features", "classifier.weight", "classifier.bias"}, {"logits"},
                         "classifier"),
           "transB", 1);
    SetInt(builder_.Node("Softmax", {"logits"}, {"probabilities"}, "softmax"), "axis", 1);
  }

  const DemoNetworkOptions options_;
  Random random_;
  ModelBuilder builder_;
  int next_ = 0;
};

}  // namespace

std::string MakeDemoNetwork(const DemoNetworkOptions& options) { return Network(options).Make(); }

}  // namespace berth
