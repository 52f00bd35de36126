// Arena pools.
#include "runtime/c_api/api.h"

extern "C" {

berth_status berth_arena_pool_create(const berth_arena_pool_options* options,
                                     berth_arena_pool** pool) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(pool);
    BERTH_ASSIGN_OR_RETURN(const berth_arena_pool_options read,
                           berth::c_api::ReadOptions(options, "options"));
    if (read.limit_bytes < 0 || read.idle_limit_bytes < -1 || read.idle_limit_ms < 0) {
      return berth::InvalidArgument(
          "options: limit_bytes {}, idle_limit_bytes {}, idle_limit_ms {}", read.limit_bytes,
          read.idle_limit_bytes, read.idle_limit_ms);
    }
    berth::ArenaPoolOptions wanted;
    wanted.limit_bytes = read.limit_bytes;
    BERTH_ASSIGN_OR_RETURN(const bool fails,
                           berth::c_api::ReadFlag(read.fail_at_limit, "fail_at_limit"));
    wanted.wait = !fails;
    wanted.keep_idle_bytes = read.idle_limit_bytes == 0    ? -1
                             : read.idle_limit_bytes == -1 ? 0
                                                           : read.idle_limit_bytes;
    if (read.idle_limit_ms > 0) {
      wanted.keep_idle_for = std::chrono::milliseconds(read.idle_limit_ms);
    }
    *pool = new berth_arena_pool{std::make_shared<berth::ArenaPool>(wanted)};
    return absl::OkStatus();
  });
}

void berth_arena_pool_release(berth_arena_pool* pool) { delete pool; }

berth_status berth_arena_pool_trim(berth_arena_pool* pool, int64_t keep_bytes) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(pool);
    if (keep_bytes < 0) return berth::InvalidArgument("keep_bytes: {} is negative", keep_bytes);
    pool->pool->Trim(keep_bytes);
    return absl::OkStatus();
  });
}

berth_status berth_arena_pool_get_statistics(const berth_arena_pool* pool,
                                             berth_arena_pool_statistics* statistics) {
  return berth::c_api::Guard([&]() -> absl::Status {
    BERTH_REQUIRE(pool);
    const berth::ArenaPoolStatistics found = pool->pool->statistics();
    berth_arena_pool_statistics result{};
    result.leased_bytes = found.leased_bytes;
    result.idle_bytes = found.idle_bytes;
    result.peak_bytes = found.peak_bytes;
    result.leases = found.leases;
    result.reuses = found.reuses;
    result.waits = found.waits;
    result.waiting = found.waiting;
    result.wait_ns = found.wait_ns;
    result.refused = found.refused;
    result.stopped = found.stopped;
    result.trimmed_bytes = found.trimmed_bytes;
    return berth::c_api::WriteStruct(result, statistics, "statistics");
  });
}

}  // extern "C"
