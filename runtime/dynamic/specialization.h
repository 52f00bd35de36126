// A specialization: a graph for one set of input types (and known values), lowered.
//
// Specializations are shared by all threads; what changes in them is guarded here.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "berth/dynamic.h"
#include "berth/program.h"
#include "runtime/dynamic/split.h"

namespace berth {

// What a specialization hangs on, beside the graph.
struct SpecializationInput {
  TensorType type;
  const std::byte* known = nullptr;  // set: the value counts, too
};

// The graph's address stands in the key: a specialization keeps its graph alive.
std::string SpecializationKey(const Graph* graph, absl::Span<const SpecializationInput> inputs);

class Specialization {
 public:
  // `lower` makes the program of what is known. Errors are those of the model for these inputs.
  static absl::StatusOr<std::shared_ptr<Specialization>> Make(
      std::shared_ptr<const Graph> graph, absl::Span<const SpecializationInput> inputs,
      const GraphLowering& lower, const LoweringRequest& request);

  // Of all of `graph`, whose inputs and outputs are those of the program.
  static std::shared_ptr<Specialization> OfProgram(std::shared_ptr<const Graph> graph,
                                                   std::shared_ptr<const Program> program);

  const GraphSplit& split() const { return split_; }
  // Null where nothing is to compute before the rest. May be replaced by a better one of the same
  // inputs and outputs.
  std::shared_ptr<const Program> program() const;
  void Replace(std::shared_ptr<const Program> program);
  // Of the program; simulated once.
  absl::StatusOr<SimReport> Report(const std::shared_ptr<const Program>& program);
  int64_t size_bytes() const { return size_bytes_; }

  // How often it ran; and once whether a better plan is to be made.
  int64_t CountRun() { return runs_.fetch_add(1) + 1; }

 private:
  Specialization() = default;

  std::shared_ptr<const Graph> graph_;  // whose address is in the key
  GraphSplit split_;
  int64_t size_bytes_ = 0;
  std::atomic<int64_t> runs_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<const Program> program_;
  std::optional<SimReport> report_;
};

// Bytes that a program takes, its graph and constants with it.
int64_t ProgramBytes(const Program& program);

}  // namespace berth
