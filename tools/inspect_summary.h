// What `berth inspect` says of a bundle as a whole: sections, memory, plans, engines, ops.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/bundle/bundle.h"

namespace berth {

// The file is opened again for its sections.
absl::Status PrintSummary(const std::string& path, const Bundle& bundle);
absl::Status AddSummaryJson(const std::string& path, const Bundle& bundle,
                            nlohmann::ordered_json& json);

}  // namespace berth
