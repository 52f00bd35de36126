// What `berth quantize` prints, for people and for scripts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "planner/quantize/quantize.h"

namespace berth {

std::string QuantizeText(const QuantizedModel& model);
void AddQuantizeJson(const QuantizedModel& model, nlohmann::ordered_json& json);

}  // namespace berth
