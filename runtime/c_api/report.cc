// Reports: key numbers and JSON.
#include "runtime/c_api/api.h"

namespace berth::c_api {

std::unique_ptr<berth_report> MakeReport(SimReport report, const Program& program) {
  auto handle = std::make_unique<berth_report>();
  handle->report = std::move(report);
  handle->int8_macs_per_cycle = program.bundle().info().config.matrix.int8_macs_per_cycle;
  return handle;
}

}  // namespace berth::c_api

extern "C" {

berth_status berth_report_get(const berth_report* report, berth_report_numbers* numbers) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(report);
    const berth::SimReport& found = report->report;
    berth_report_numbers result{};
    result.makespan_cycles = found.makespan_cycles;
    result.macs = found.macs;
    result.command_count = found.command_count;
    result.dram_read_bytes = found.dram_read_bytes;
    result.dram_write_bytes = found.dram_write_bytes;
    result.scratchpad_read_bytes = found.scratchpad_read_bytes;
    result.scratchpad_write_bytes = found.scratchpad_write_bytes;
    result.energy_picojoules = found.energy_picojoules;
    result.matrix_utilization = berth::MatrixUtilization(found, report->int8_macs_per_cycle);
    return berth::c_api::WriteStruct(result, numbers, "numbers");
  });
}

berth_status berth_report_json(const berth_report* report, const char** json, size_t* json_bytes) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(report);
    BERTH_REQUIRE(json);
    std::call_once(report->json_once, [report] {
      report->json = berth::ReportToJson(report->report, report->int8_macs_per_cycle);
    });
    *json = report->json.c_str();
    if (json_bytes != nullptr) *json_bytes = report->json.size();
    return absl::OkStatus();
  });
}

void berth_report_release(berth_report* report) { delete report; }

}  // extern "C"
