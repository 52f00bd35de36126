// The one place that includes the onnx library: it wants two macros set as its package was built.
#pragma once

#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#include "onnx/onnx_pb.h"  // IWYU pragma: export
// After the message types.
#include "onnx/checker.h"      // IWYU pragma: export
#include "onnx/defs/schema.h"  // IWYU pragma: export
