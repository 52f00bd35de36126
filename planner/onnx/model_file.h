// Reads a model file into the onnx library's message.
#pragma once

#include <filesystem>
#include <string>

#include "absl/types/span.h"
#include "base/status.h"
#include "planner/onnx/onnx_headers.h"

namespace berth {

// The size of a regular file that can be read. NotFound when it is absent, InvalidArgument for a
// directory, a device, a pipe (opening one would hang) or an empty file.
absl::StatusOr<int64_t> RegularFileBytes(const std::filesystem::path& path);

// Parses without holding a second copy of the file. Memory is bounded by the file's size: the
// parser reads lengths against what is left, and nests at most 100 messages.
absl::StatusOr<onnx::ModelProto> ReadModelFile(const std::string& path);
// The bytes of such a file.
absl::StatusOr<onnx::ModelProto> ParseModelBytes(absl::Span<const std::byte> bytes);

}  // namespace berth
