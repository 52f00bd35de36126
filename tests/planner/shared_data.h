// Where tests find the corpus: beside the project, or where BERTH_SHARED points.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace berth {

// Empty when the corpus is not there: the test is to skip.
inline std::filesystem::path SharedFolder() {
  const char* given = std::getenv("BERTH_SHARED");
  const std::filesystem::path folder =
      given != nullptr ? std::filesystem::path(given)
                       : std::filesystem::path(BERTH_SOURCE_FOLDER) / ".." / "shared";
  return std::filesystem::is_directory(folder / "corpus") ? folder : std::filesystem::path();
}

}  // namespace berth
