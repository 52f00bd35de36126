#include "tools/cases.h"

#include <algorithm>

#include "tools/npy.h"

namespace berth {

namespace fs = std::filesystem;

absl::StatusOr<std::vector<Tensor>> ReadSeries(const fs::path& folder, std::string_view stem) {
  std::vector<Tensor> tensors;
  for (size_t i = 0;; ++i) {
    const fs::path file = folder / fmt::format("{}_{}.npy", stem, i);
    if (!fs::exists(file)) return tensors;
    BERTH_ASSIGN_OR_RETURN(Tensor tensor, ReadNpy(file.string()));
    tensors.push_back(std::move(tensor));
  }
}

absl::StatusOr<std::vector<fs::path>> CaseFolders(const std::string& directory,
                                                  std::string_view marker, std::string_view flag) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    return NotFound("{} '{}' is not a directory", flag, directory);
  }
  if (fs::exists(fs::path(directory) / marker)) return std::vector<fs::path>{directory};
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (fs::exists(entry.path() / marker)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace berth
