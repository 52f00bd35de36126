#include "planner/order/graph_problem.h"

#include <algorithm>

namespace berth {
namespace {

void SortUnique(std::vector<int>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

StorageOptions WithoutInPlace(StorageOptions options) {
  options.in_place = false;
  return options;
}

class Converter {
 public:
  Converter(const Graph& graph, const StorageOptions& options)
      : graph_(graph), storage_(AssignStorage(graph, WithoutInPlace(options))) {}

  GraphOrderProblem Run(bool in_place) {
    const GraphUses uses = ComputeUses(graph_);
    problem_.predecessors.resize(graph_.nodes.size());
    problem_.buffers.resize(storage_.buffers.size());
    for (size_t b = 0; b < storage_.buffers.size(); ++b) {
      if (IsPool(static_cast<int>(b))) {
        problem_.buffers[b].size_bytes = storage_.buffers[b].size_bytes;
      }
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      std::vector<int>& before = problem_.predecessors[n];
      for (const ValueId read : ReadValues(graph_.nodes[n])) {
        if (uses.producer[Index(read)] >= 0) before.push_back(uses.producer[Index(read)]);
      }
      SortUnique(before);
      if (storage_.nodes[n] == NodeStorage::kView) continue;
      AddUser(static_cast<int>(n));
      if (in_place) AddReuses(static_cast<int>(n));
    }
    return {std::move(problem_), std::move(maybe_free_)};
  }

 private:
  int BufferOf(ValueId value) const { return storage_.places[Index(value)].buffer; }
  bool IsPool(int buffer) const {
    return buffer >= 0 && storage_.buffers[static_cast<size_t>(buffer)].kind == RegionKind::kPool;
  }

  void AddUser(int n) {
    const Node& node = graph_.nodes[static_cast<size_t>(n)];
    std::vector<int> buffers;
    const auto touch = [&](ValueId value) {
      if (value != ValueId::kNone && IsPool(BufferOf(value))) buffers.push_back(BufferOf(value));
    };
    for (const ValueId read : ReadValues(node)) touch(read);
    for (const ValueId out : node.outputs) touch(out);
    SortUnique(buffers);
    for (const int buffer : buffers) {
      problem_.buffers[static_cast<size_t>(buffer)].users.push_back(n);
    }
  }

  void AddReuses(int n) {
    const Node& node = graph_.nodes[static_cast<size_t>(n)];
    const ValueId out = node.outputs.empty() ? ValueId::kNone : node.outputs[0];
    if (out == ValueId::kNone || !IsPool(BufferOf(out))) return;
    // A value that stands in bytes of a later one (an operand of a concat) has its place already.
    const int opened = BufferOf(out);
    if (storage_.buffers[static_cast<size_t>(opened)].name != graph_.at(out).name) return;
    const std::vector<ValueId> reads = ReadValues(node);
    for (const ValueId candidate : InPlaceCandidates(graph_, node)) {
      const int closed = BufferOf(candidate);
      if (MayBePartOfLarger(closed, opened)) maybe_free_.push_back(opened);
      const bool is_shared = std::any_of(reads.begin(), reads.end(), [&](ValueId read) {
        return read != candidate && BufferOf(read) == closed;
      });
      if (!IsPool(closed) || closed == opened || is_shared) continue;
      problem_.reuses.push_back({n, opened, closed});
    }
  }

  // Nodes come in order: what `closed` may itself stand in is known.
  bool MayBePartOfLarger(int closed, int opened) const {
    if (!IsPool(closed)) return false;
    return storage_.buffers[static_cast<size_t>(closed)].size_bytes >
               storage_.buffers[static_cast<size_t>(opened)].size_bytes ||
           std::find(maybe_free_.begin(), maybe_free_.end(), closed) != maybe_free_.end();
  }

  const Graph& graph_;
  const StoragePlan storage_;
  OrderProblem problem_;
  std::vector<int> maybe_free_;
};

}  // namespace

GraphOrderProblem ToOrderProblem(const Graph& graph, const StorageOptions& options) {
  return Converter(graph, options).Run(options.in_place);
}

OrderProblem BoundProblem(const GraphOrderProblem& graph_problem) {
  OrderProblem problem = graph_problem.problem;
  for (const int buffer : graph_problem.maybe_free) {
    problem.buffers[static_cast<size_t>(buffer)].size_bytes = 0;
  }
  return problem;
}

}  // namespace berth
