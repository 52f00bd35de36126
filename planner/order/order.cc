#include "planner/order/order.h"

#include <algorithm>
#include <limits>
#include <map>

namespace berth {
namespace {

// Topological orders by list scheduling: the caller says which ready node comes next.
class ListScheduler {
 public:
  explicit ListScheduler(const Graph& graph) : graph_(graph), uses_(ComputeUses(graph)) {
    readers_left_.resize(graph.values.size());
    for (size_t v = 0; v < graph.values.size(); ++v) {
      readers_left_[v] = uses_.readers[v].size();
    }
    for (const ValueId output : graph.outputs) ++readers_left_[Index(output)];  // never freed
    inputs_left_.resize(graph.nodes.size());
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      inputs_left_[n] = static_cast<int>(Produced(graph.nodes[n]).size());
      if (inputs_left_[n] == 0) ready_.push_back(static_cast<int>(n));
    }
  }

  // Takes the ready node of the lowest score each time.
  template <typename Score>
  std::vector<int> Run(Score&& score) {
    std::vector<int> order;
    while (!ready_.empty()) {
      auto best = ready_.begin();
      auto best_score = score(*this, *best);
      for (auto it = std::next(best); it != ready_.end(); ++it) {
        const auto it_score = score(*this, *it);
        if (it_score < best_score) {
          best = it;
          best_score = it_score;
        }
      }
      const int node = *best;
      ready_.erase(best);
      order.push_back(node);
      Finish(node, static_cast<int>(order.size()));
    }
    return order;
  }

  // Bytes that become live less bytes that die when `node` runs now.
  int64_t LiveDelta(int node) const {
    const Node& n = graph_.nodes[static_cast<size_t>(node)];
    int64_t delta = 0;
    for (const ValueId out : n.outputs) {
      if (out != ValueId::kNone) delta += graph_.at(out).type.ByteCount();
    }
    for (const ValueId read : Produced(n)) {
      if (readers_left_[Index(read)] == 1) delta -= graph_.at(read).type.ByteCount();
    }
    return delta;
  }
  // When the newest of its operands was made.
  int Newest(int node) const {
    int newest = -1;
    for (const ValueId read : Produced(graph_.nodes[static_cast<size_t>(node)])) {
      newest = std::max(newest, finished_.at(uses_.producer[Index(read)]));
    }
    return newest;
  }

 private:
  // Distinct operands that another node makes.
  std::vector<ValueId> Produced(const Node& node) const {
    std::vector<ValueId> reads = ReadValues(node);
    std::erase_if(reads, [&](ValueId v) { return uses_.producer[Index(v)] < 0; });
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    return reads;
  }

  void Finish(int node, int when) {
    finished_[node] = when;
    for (const ValueId read : Produced(graph_.nodes[static_cast<size_t>(node)])) {
      --readers_left_[Index(read)];
    }
    for (const ValueId out : graph_.nodes[static_cast<size_t>(node)].outputs) {
      if (out == ValueId::kNone) continue;
      int last = -1;
      for (const int reader : uses_.readers[Index(out)]) {
        if (reader == last) continue;  // readers are ascending; a node may read a value twice
        last = reader;
        if (--inputs_left_[static_cast<size_t>(reader)] == 0) ready_.push_back(reader);
      }
    }
  }

  const Graph& graph_;
  GraphUses uses_;
  std::vector<size_t> readers_left_;  // per value
  std::vector<int> inputs_left_;      // per node
  std::vector<int> ready_;
  std::map<int, int> finished_;       // node -> when
};

Graph Permuted(const Graph& graph, const std::vector<int>& order) {
  Graph result = graph;
  for (size_t i = 0; i < order.size(); ++i) {
    result.nodes[i] = graph.nodes[static_cast<size_t>(order[i])];
  }
  return result;
}

}  // namespace

int64_t PeakLiveBytes(const StoragePlan& storage) {
  std::map<int, int64_t> change;
  for (const StorageBuffer& buffer : storage.buffers) {
    if (buffer.kind != RegionKind::kPool || buffer.end_step == 0) continue;
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

OrderResult OrderNodes(Graph& graph, const StorageOptions& options) {
  OrderResult result;
  result.model_peak_bytes = PeakLiveBytes(AssignStorage(graph, options));
  result.peak_bytes = result.model_peak_bytes;
  result.method = "model";
  const auto consider = [&](const char* method, const std::vector<int>& order) {
    Graph candidate = Permuted(graph, order);
    const int64_t peak_bytes = PeakLiveBytes(AssignStorage(candidate, options));
    if (peak_bytes >= result.peak_bytes) return;
    result.peak_bytes = peak_bytes;
    result.method = method;
    graph = std::move(candidate);
  };
  const Graph original = graph;
  consider("greedy", ListScheduler(original).Run([](const ListScheduler& s, int node) {
    return std::pair(s.LiveDelta(node), node);
  }));
  if (result.peak_bytes == result.model_peak_bytes) {
    consider("depth-first", ListScheduler(original).Run([](const ListScheduler& s, int node) {
      return std::pair(-s.Newest(node), node);
    }));
  }
  return result;
}

}  // namespace berth
