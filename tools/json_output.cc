#include "tools/json_output.h"

#include <fmt/format.h>

namespace berth {

void PrintJson(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace berth
