#include "planner/c_api/compile_progress.h"

#include "planner/check_stop.h"

namespace berth::c_api {
namespace {

berth_compile_stage ToStage(CompileStage stage) {
  switch (stage) {
    case CompileStage::kImport:
      return BERTH_STAGE_IMPORT;
    case CompileStage::kGraph:
      return BERTH_STAGE_GRAPH;
    case CompileStage::kOrder:
      return BERTH_STAGE_ORDER;
    case CompileStage::kSchedule:
      return BERTH_STAGE_RESIDENCY;
    case CompileStage::kProof:
      return BERTH_STAGE_PROOF;
  }
  return BERTH_STAGE_IMPORT;
}

}  // namespace

absl::Status CompileProgress::Tell(berth_compile_stage stage) {
  said_.stage = stage;
  if (callback_ != nullptr && callback_(user_, &said_) != 0) cancel_ = true;
  return CheckCompilation({&cancel_, std::nullopt});
}

void CompileProgress::TellSearch(const ScheduleProgress& search) {
  said_.work_units = search.work_units;
  said_.work_limit_units = search.work_limit_units;
  said_.timed_plans = search.timed_plans;
  said_.best_cycles = search.best_cycles;
  said_.lower_bound_cycles = search.lower_bound_cycles;
  (void)Tell(search.stage == ScheduleStage::kResidency ? BERTH_STAGE_RESIDENCY
                                                       : BERTH_STAGE_PLACEMENT);
}

void CompileProgress::Watch(CompileOptions& options) {
  if (callback_ == nullptr) return;
  options.stop.cancel = &cancel_;
  options.on_stage = [this](CompileStage stage) { (void)Tell(ToStage(stage)); };
  options.progress = [this](const ScheduleProgress& search) { TellSearch(search); };
}

}  // namespace berth::c_api
