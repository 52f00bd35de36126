// One value of a bundle's table, in words and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/inspect_plan.h"

namespace berth {

// FailedPrecondition for a bundle without a table of values (older ones) or without ops.
absl::Status CheckHasValues(const InspectedPlan& plan);

uint32_t LastOp(const ValueInfo& value);
std::string StorageText(const InspectedPlan& plan, const ValueInfo& value);  // "view of 'x'"
std::string PlaceText(const InspectedPlan& plan, const ValueInfo& value);    // "pool [0, 64)"
nlohmann::ordered_json ValueJson(const InspectedPlan& plan, const ValueInfo& value);

}  // namespace berth
