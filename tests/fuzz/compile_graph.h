// What follows an importer: types are inferred, and small graphs are lowered to a program. A graph
// may be refused; that a stage contradicts another one is a bug.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "kernels/fold/fold_constants.h"
#include "kernels/reference/reference.h"
#include "planner/lower_shape.h"

namespace berth {

inline constexpr int64_t kFuzzMostElements = 1 << 14;  // of all values of a graph that is lowered

inline void AbortIfInternal(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kInternal) return;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::abort();
}

inline bool IsSmall(const Graph& graph) {
  int64_t elements = 0;
  for (const Value& value : graph.values) {
    if (!value.shape_known || value.type.shape.ElementCount() > kFuzzMostElements) return false;
    elements += value.type.shape.ElementCount();
  }
  return elements <= kFuzzMostElements;
}

// `is_partial`: shapes may be open.
inline void CompileForFuzz(Graph graph, bool is_partial) {
  FoldOptions fold;
  fold.partial = is_partial;
  const absl::Status folded = FoldConstants(graph, nullptr, fold);
  AbortIfInternal(folded);
  if (!folded.ok()) return;
  AbortIfInternal(VerifyGraph(graph).ok() ? absl::OkStatus() : Internal("the folded graph"));
  if (is_partial || !IsSmall(graph)) return;
  static const NpuConfig config = *LoadTarget("edge");
  static const GraphLowering lower = MakeFastLowering(EvaluateNode);
  LoweringRequest request;
  request.config = config;
  AbortIfInternal(lower(std::move(graph), request).status());
}

}  // namespace berth
