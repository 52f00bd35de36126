// 4-bit integers of ONNX (opset 21): two to a byte, the low half first.
//
// Constants of them that DequantizeLinear reads are weights at rest: they become 8-bit constants of
// the same values when the model is read. Everything else about them is Unimplemented by name.
#pragma once

#include <filesystem>

#include "base/status.h"
#include "planner/onnx/onnx_headers.h"

namespace berth {

// Rewrites initializers of UINT4 and INT4 as UINT8 and INT8. O(bytes of the model).
absl::Status WidenFourBits(onnx::GraphProto& graph, const std::filesystem::path& model_folder);

}  // namespace berth
