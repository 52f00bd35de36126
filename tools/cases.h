// Folders of inputs and outputs as files: DIR/input_0.npy, DIR/input_1.npy, ..., DIR/output_0.npy,
// ... is a case; a folder of such folders is several, in the order of their names.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"

namespace berth {

// DIR/<stem>_0.npy and on, until one is absent.
absl::StatusOr<std::vector<Tensor>> ReadSeries(const std::filesystem::path& folder,
                                               std::string_view stem);

// `directory` itself where it holds `marker` ("output_0.npy"), else its folders that do, sorted;
// none where there are none. NotFound where it is no directory; `flag` names it.
absl::StatusOr<std::vector<std::filesystem::path>> CaseFolders(const std::string& directory,
                                                               std::string_view marker,
                                                               std::string_view flag);

}  // namespace berth
