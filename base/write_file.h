// Whole files, or none.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace berth {

// Writes under a temporary name beside `path`, then renames.
absl::Status WriteFile(const std::string& path, std::string_view bytes);

}  // namespace berth
