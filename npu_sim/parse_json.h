// Text of users as JSON. The one place that meets the library's exceptions: only they carry the
// position.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/status.h"

namespace berth {

// InvalidArgument where it is none, or holds a number that no double does. `Json` is one of the
// library's types.
template <typename Json>
absl::StatusOr<Json> ParseJson(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const typename Json::parse_error& error) {
    return InvalidArgument("not valid JSON at byte {} of {}", error.byte, text.size());
  } catch (const typename Json::out_of_range&) {
    return InvalidArgument("a number that no double holds, in {} bytes of JSON", text.size());
  }
}

}  // namespace berth
