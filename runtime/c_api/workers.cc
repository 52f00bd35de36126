// Workers: the threads that contexts share.
#include "runtime/c_api/api.h"
#include "runtime/own_arena.h"

extern "C" {

berth_status berth_workers_create(int32_t threads, berth_workers** workers) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(workers);
    if (threads < 1 || threads > berth::c_api::kMaxThreads) {
      return berth::InvalidArgument("threads: {} is outside [1, {}]", threads,
                                    berth::c_api::kMaxThreads);
    }
    *workers = new berth_workers{berth::MakeOwnArena(threads)};
    return absl::OkStatus();
  });
}

berth_status berth_workers_borrow(void* task_arena, berth_workers** workers) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(task_arena);
    BERTH_REQUIRE(workers);
    auto* const arena = static_cast<tbb::task_arena*>(task_arena);
    *workers = new berth_workers{std::shared_ptr<tbb::task_arena>(arena, [](tbb::task_arena*) {})};
    return absl::OkStatus();
  });
}

void berth_workers_release(berth_workers* workers) { delete workers; }

}  // extern "C"
