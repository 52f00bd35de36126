// How far a compilation is, for a callback of the C API, which may also end it.
#pragma once

#include <atomic>

#include "berth/berth_planner.h"
#include "planner/compile.h"

namespace berth::c_api {

class CompileProgress {
 public:
  // Null: nobody is told.
  CompileProgress(berth_compile_callback callback, void* user) : callback_(callback), user_(user) {
    said_.struct_size = sizeof(said_);
  }
  CompileProgress(const CompileProgress&) = delete;
  CompileProgress& operator=(const CompileProgress&) = delete;

  // Has the compilation tell this, which outlives it.
  void Watch(CompileOptions& options);
  // Cancelled where the callback says so now, or did before.
  absl::Status Tell(berth_compile_stage stage);

 private:
  void TellSearch(const ScheduleProgress& search);

  const berth_compile_callback callback_;
  void* const user_;
  // Stages and searches follow one another, and a search tells by one thread at a time.
  berth_compile_progress said_{};
  std::atomic<bool> cancel_{false};
};

}  // namespace berth::c_api
