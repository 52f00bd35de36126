// Plans and simulations as text for people and as JSON for scripts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "berth/dynamic.h"
#include "npu_sim/sim_report.h"
#include "runtime/bundle/contents.h"

namespace berth {

// pool_bytes, pool_lower_bound_bytes, pool_status, scratchpad_peak_bytes, ..., cycles_lower_bound.
void AddPlanJson(const BundleContents& info, nlohmann::ordered_json& json);
std::string PlanText(const BundleContents& info);

// makespan_cycles, engines.{name}.{busy,idle,stall.{cause}}_cycles, dram_read_bytes, ...
void AddReportJson(const SimReport& report, const BundleContents& info,
                   nlohmann::ordered_json& json);
std::string ReportText(const SimReport& report, const BundleContents& info);
std::string EnginesText(const SimReport& report);  // of it, what each engine did

// Of a dynamic program: specializations, reused_specializations, ..., pool_bytes (the most that was
// in use).
void AddDynamicJson(const DynamicStatistics& statistics, nlohmann::ordered_json& json);
std::string DynamicText(const DynamicStatistics& statistics);

std::string_view PlanStatusName(PlanStatus status);

}  // namespace berth
