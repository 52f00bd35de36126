// `berth inspect --memory-map`: one page that draws every slot over time and bytes. It needs
// nothing but itself: data, style and script stand in the file (tools/memory_map).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tools/inspect_plan.h"

namespace berth {

// The page around the data; %BERTH_DATA% stands for them. Generated from tools/memory_map.
std::string_view MemoryMapTemplate();

// Everything that the page shows, as arrays by slot. Cycles are those of a simulation, where the
// program verifies; otherwise `cycles` is null and `no_cycles_because` says why.
nlohmann::ordered_json MemoryMapData(const InspectedPlan& plan);

// As it may stand inside <script>: names come from models and may hold "</script>", control
// characters or bytes that are no UTF-8.
std::string EscapeForScript(const nlohmann::ordered_json& json);

std::string MemoryMapPage(const nlohmann::ordered_json& data);

}  // namespace berth
