// One layer on its own: as a single command of the matrix unit, and as a compiled program that
// brings its operands from DRAM and takes its result back.
#pragma once

#include "base/status.h"
#include "npu_sim/command.h"
#include "npu_sim/config.h"
#include "runtime/bundle/contents.h"

namespace berth {

enum class LayerKind : uint8_t { kGemm, kConv, kDepthwise };

struct Layer {
  LayerKind kind = LayerKind::kGemm;
  DType dtype = DType::kInt8;  // of operands and result: int8, float16, bfloat16, float32
  // kGemm: `batch` products M x K by K x N.
  int64_t batch = 1, m = 1, n = 1, k = 1;
  // kConv, kDepthwise: one image. Filters see input_channels / groups channels.
  int64_t input_height = 1, input_width = 1, input_channels = 1;
  int64_t filter_height = 1, filter_width = 1, filters = 1;
  int64_t stride = 1, pad = 0, groups = 1;

  int64_t output_height() const { return (input_height + 2 * pad - filter_height) / stride + 1; }
  int64_t output_width() const { return (input_width + 2 * pad - filter_width) / stride + 1; }
};

// InvalidArgument for extents that contradict each other or leave a command's range.
absl::Status CheckLayer(const Layer& layer);

// The whole layer as one command: what ComputeCycles asks for. A grouped convolution is a batch of
// products, one for each group.
Command WholeLayerCommand(const Layer& layer);

// The layer compiled for `config`: operands are inputs of the program.
//
// An int8 layer is planned as the float32 layer of a machine whose memories are four times as
// large, and then read at one byte an element: the same tiles, buffers and waits, every address a
// quarter.
absl::StatusOr<BundleContents> CompileLayer(const Layer& layer, const NpuConfig& config);

}  // namespace berth
