#include "tools/check_cases.h"

#include <algorithm>
#include <filesystem>

#include "tools/cases.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

absl::Status NoCases(const std::string& refs) {
  int with_inputs = fs::exists(fs::path(refs) / "input_0.npy") ? 1 : 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(refs)) {
    with_inputs += fs::exists(entry.path() / "input_0.npy") ? 1 : 0;
  }
  return NotFound(
      "--refs '{}' holds no expected outputs (output_0.npy){}: without --refs the reference "
      "interpreter is compared with",
      refs, with_inputs == 0 ? "" : fmt::format(", only inputs of {} cases", with_inputs));
}

}  // namespace

absl::StatusOr<std::vector<Case>> ReadCases(const std::string& refs) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<fs::path> folders,
                         CaseFolders(refs, "output_0.npy", "--refs"));
  if (folders.empty()) return NoCases(refs);
  std::vector<Case> cases;
  for (const fs::path& folder : folders) {
    Case one;
    one.name = folder.filename().string();
    BERTH_ASSIGN_OR_RETURN(one.inputs, ReadSeries(folder, "input"));
    BERTH_ASSIGN_OR_RETURN(one.expected, ReadSeries(folder, "output"));
    cases.push_back(std::move(one));
  }
  return cases;
}

bool HaveOneShape(const std::vector<Case>& cases) {
  const auto has_shapes_of_first = [&](const Case& one) {
    return std::equal(one.inputs.begin(), one.inputs.end(), cases[0].inputs.begin(),
                      cases[0].inputs.end(),
                      [](const Tensor& a, const Tensor& b) { return a.shape() == b.shape(); });
  };
  return std::all_of(cases.begin(), cases.end(), has_shapes_of_first);
}

}  // namespace berth
