// Random ordering problems, and the optimum by trying every topological order.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "planner/order/plain_graph.h"

namespace berth {

inline int RandomBelow(std::mt19937_64& random, int end) {
  return static_cast<int>(random() % static_cast<uint64_t>(end));
}

// Buffers with several producers and readers, results, reuses and workspaces; nodes stand in a
// topological order.
inline OrderProblem RandomOrderProblem(uint64_t seed, int node_count) {
  std::mt19937_64 random(seed);
  OrderProblem problem;
  problem.predecessors.resize(static_cast<size_t>(node_count));
  problem.base_bytes = RandomBelow(random, 3);
  for (int node = 0; node < node_count; ++node) {
    OrderBuffer output{1 + RandomBelow(random, 20), {node}, false, RandomBelow(random, 8) == 0};
    const int fan_out = RandomBelow(random, 4);
    for (int i = 0; i < fan_out && node + 1 < node_count; ++i) {
      const int reader = node + 1 + RandomBelow(random, std::min(6, node_count - node - 1));
      std::vector<int>& before = problem.predecessors[static_cast<size_t>(reader)];
      if (std::find(before.begin(), before.end(), node) != before.end()) continue;
      before.push_back(node);
      output.users.push_back(reader);
      if (RandomBelow(random, 3) == 0) {
        problem.reuses.push_back({reader, reader, node});
      }
    }
    problem.buffers.push_back(std::move(output));
    problem.workspace_bytes.push_back(RandomBelow(random, 4) == 0 ? RandomBelow(random, 15) : 0);
  }
  // Buffers that several nodes write, in any order among themselves.
  for (int i = 0; i < node_count / 5; ++i) {
    OrderBuffer shared{
        1 + RandomBelow(random, 20), {}, RandomBelow(random, 4) == 0, RandomBelow(random, 4) == 0};
    for (int node = 0; node < node_count; ++node) {
      if (RandomBelow(random, 4) == 0) shared.users.push_back(node);
    }
    problem.buffers.push_back(std::move(shared));
  }
  return problem;
}

inline std::vector<int> IdentityOrder(const OrderProblem& problem) {
  std::vector<int> order(static_cast<size_t>(problem.node_count()));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// The least peak over every topological order.
inline int64_t BruteForcePeak(const OrderProblem& problem) {
  std::vector<int> order = IdentityOrder(problem);
  int64_t best = std::numeric_limits<int64_t>::max();
  do {
    if (IsTopologicalOrder(problem, order)) best = std::min(best, PeakOfOrder(problem, order));
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

// Layers of random width, each node with 1 to 4 operands from the last `reach` layers.
inline PlainGraph RandomLayeredGraph(uint64_t seed, int node_count, int most_width, int reach) {
  std::mt19937_64 random(seed);
  PlainGraph graph;
  std::vector<int> layer_begin;
  while (static_cast<int>(graph.output_bytes.size()) < node_count) {
    const int begin = static_cast<int>(graph.output_bytes.size());
    const int end = std::min(node_count, begin + 2 + RandomBelow(random, most_width - 1));
    layer_begin.push_back(begin);
    const size_t layers = layer_begin.size();
    const int from = layer_begin[layers - std::min(layers, static_cast<size_t>(reach) + 1)];
    for (int node = begin; node < end; ++node) {
      graph.output_bytes.push_back(1024 * (1 + RandomBelow(random, 256)));
      if (begin == 0) continue;
      const int fan_in = 1 + RandomBelow(random, 4);
      const int last = layer_begin[layers - 2];
      graph.edges.emplace_back(last + RandomBelow(random, begin - last), node);
      for (int i = 1; i < fan_in; ++i) {
        graph.edges.emplace_back(from + RandomBelow(random, begin - from), node);
      }
    }
  }
  return graph;
}

}  // namespace berth
