// How results leave `berth --json`.
#pragma once

#include <nlohmann/json.hpp>

namespace berth {

// One object on one line of stdout. Names in models may be any bytes: what is not UTF-8 is
// replaced.
void PrintJson(const nlohmann::ordered_json& json);

}  // namespace berth
