// Traces of the dynamic pool: CSV, the made-up network, what a pool records.
#include "runtime/pool/pool_trace.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/pool/dynamic_pool.h"

namespace berth {
namespace {

TEST(PoolTrace, SurvivesTheRoundTrip) {
  const std::vector<PoolEvent> trace = MakeTensorTrace({.seed = 3, .inferences = 4});
  const std::string csv = FormatPoolTrace(trace);
  const auto parsed = ParsePoolTrace(csv);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->size(), trace.size());
  EXPECT_EQ(FormatPoolTrace(*parsed), csv);
}

TEST(PoolTrace, ErrorsNameTheLine) {
  const std::string header = "op,id,size_bytes,alignment\n";
  for (const auto& [csv, message] : std::map<std::string, std::string>{
           {"", "line 1"},
           {"op,id\n", "line 1"},
           {header + "alloc,1,10,64\nmove,1,,\n", "line 3: unknown op 'move'"},
           {header + "alloc,1,-10,64\n", "line 2: size '-10'"},
           {header + "alloc,1,x,64\n", "line 2: size 'x'"},
           {header + "alloc,1,99999999999999999999,\n", "line 2: size"},
           {header + "alloc,1,10,48\n", "line 2: alignment 48"},
           {header + "alloc,1,10,0\n", "line 2: alignment 0"},
           {header + "alloc,1,10,64,9\n", "line 2: 5 cells"},
           {header + "alloc,1,10,\nalloc,1,10,\n", "line 3: id 1 is already live"},
           {header + "free,7,,\n", "line 2: id 7 is not live"}}) {
    const auto trace = ParsePoolTrace(csv);
    ASSERT_FALSE(trace.ok()) << csv;
    EXPECT_NE(trace.status().message().find(message), absl::string_view::npos) << trace.status();
  }
}

TEST(PoolTrace, TheNetworkIsAsDescribed) {
  const TensorTraceOptions options;
  const std::vector<PoolEvent> trace = MakeTensorTrace(options);
  EXPECT_EQ(std::ssize(trace), 2 * options.inferences * options.ops);
  int64_t live = 0;
  for (const PoolEvent& event : trace) {
    live += event.kind == PoolEvent::Kind::kAllocate ? 1 : -1;
    ASSERT_GE(live, 0);
    if (event.kind == PoolEvent::Kind::kFree) continue;
    EXPECT_GE(event.size_bytes, options.smallest_bytes);
    EXPECT_LE(event.size_bytes, options.largest_bytes);
  }
  EXPECT_EQ(live, 0);
  EXPECT_NE(FormatPoolTrace(trace), FormatPoolTrace(MakeTensorTrace({.seed = 2})));
}

TEST(PoolTrace, APoolRecordsWhatItWasAsked) {
  const std::vector<PoolEvent> trace = MakeTensorTrace({.seed = 9, .inferences = 3, .ops = 20});
  const auto pool = DynamicPool::Create({.record = true});
  ASSERT_TRUE(pool.ok());
  std::map<int64_t, PoolBlock> live;
  for (const PoolEvent& event : trace) {
    if (event.kind == PoolEvent::Kind::kFree) {
      ASSERT_TRUE((*pool)->Free(live[event.id]).ok());
    } else {
      live[event.id] = *(*pool)->Allocate(event.size_bytes, event.alignment);
    }
  }
  EXPECT_EQ(FormatPoolTrace((*pool)->trace()), FormatPoolTrace(trace));
}

}  // namespace
}  // namespace berth
