// Files for tests of the importer.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "planner/onnx/model_builder.h"

namespace berth {

// A folder of its own for one test, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }
  std::string Write(const std::string& name, const onnx::ModelProto& model) const {
    return Write(name, model.SerializeAsString());
  }

 private:
  std::filesystem::path path_;
};

}  // namespace berth
