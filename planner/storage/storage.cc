#include "planner/storage/storage.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "planner/storage/assigner.h"

namespace berth {
namespace {

// Assignments that are tried to undo in-place decisions which keep larger buffers alive.
constexpr size_t kUndoTries = 16;

}  // namespace

// Taking over bytes in a larger buffer keeps all of that alive: undone where it makes the peak, one
// by one and all together.
StoragePlan AssignStorage(const Graph& graph, const StorageOptions& options) {
  std::set<int> kept_apart;
  StorageAssigner first(graph, options, kept_apart);
  StoragePlan best = first.Run();
  int64_t peak_bytes = PeakLiveBytes(best);
  const auto offer = [&](StoragePlan plan) {
    const int64_t bytes = PeakLiveBytes(plan);
    if (bytes >= peak_bytes) return false;
    best = std::move(plan);
    peak_bytes = bytes;
    return true;
  };
  std::vector<int> enlarging = first.enlarging_steps();
  for (size_t i = 0; i < enlarging.size() && i < kUndoTries; ++i) {
    kept_apart.insert(enlarging[i]);
    if (!offer(StorageAssigner(graph, options, kept_apart).Run())) kept_apart.erase(enlarging[i]);
  }
  for (std::set<int> all; !enlarging.empty();) {  // without these, others may enlarge
    all.insert(enlarging.begin(), enlarging.end());
    StorageAssigner strict(graph, options, all);
    offer(strict.Run());
    enlarging = strict.enlarging_steps();
  }
  return best;
}

int64_t PeakLiveBytes(const StoragePlan& plan) {
  std::map<int, int64_t> change;
  for (const StorageBuffer& buffer : plan.buffers) {
    if (!IsInPool(buffer)) continue;
    change[buffer.begin_step] += buffer.size_bytes;
    change[buffer.end_step] -= buffer.size_bytes;
  }
  int64_t live = 0, peak = 0;
  for (const auto& [step, delta] : change) {
    live += delta;
    peak = std::max(peak, live);
  }
  return peak;
}

std::string DumpStorage(const Graph& graph, const StoragePlan& plan) {
  std::string text;
  static constexpr std::string_view kKinds[] = {"constants", "pool", "input", "output"};
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const StoragePlace& place = plan.places[i];
    if (place.buffer < 0) continue;
    const StorageBuffer& buffer = plan.buffers[static_cast<size_t>(place.buffer)];
    text += fmt::format("{} {}+{} size {} steps [{}, {}) value '{}' at +{} strides [{}]\n",
                        kKinds[static_cast<size_t>(buffer.kind)], place.buffer, buffer.offset_bytes,
                        buffer.size_bytes, buffer.begin_step, buffer.end_step, graph.values[i].name,
                        place.offset_bytes, fmt::join(place.stride_bytes, " "));
  }
  return text;
}

}  // namespace berth
