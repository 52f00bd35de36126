// The network of `berth demo`: MobileNetV2's structure with seeded weights, written as ONNX.
#pragma once

#include <cstdint>
#include <string>

namespace berth {

struct DemoNetworkOptions {
  int64_t resolution = 224;  // height and width of the input, a multiple of 32
  double width = 1.0;        // multiplier of channels, which stay multiples of 8
  int64_t classes = 1000;
  uint64_t seed = 1;
};

// The bytes of the model file: the same on every machine for the same options. Convolutions with
// BatchNormalization and ReLU6 after them, inverted residuals, global pooling, a classifier,
// softmax. Structure: Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks",
// CVPR 2018, table 2.
std::string MakeDemoNetwork(const DemoNetworkOptions& options);

}  // namespace berth
