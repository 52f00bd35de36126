#include "planner/order/problem.h"

#include <algorithm>
#include <limits>

namespace berth {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 62;

std::vector<int> Positions(const std::vector<int>& order) {
  std::vector<int> position(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    position[static_cast<size_t>(order[i])] = static_cast<int>(i);
  }
  return position;
}

// Steps at which a buffer is live, both inclusive; first > last when never.
struct Life {
  int first, last;
};

Life LifeOf(const OrderBuffer& buffer, const std::vector<int>& position) {
  const int step_count = static_cast<int>(position.size());
  Life life{buffer.live_before ? 0 : step_count, buffer.live_after ? step_count : -1};
  for (const int user : buffer.users) {
    const int step = position[static_cast<size_t>(user)];
    life.first = std::min(life.first, step);
    life.last = std::max(life.last, step);
  }
  return life;
}

}  // namespace

absl::Status ValidateOrderProblem(const OrderProblem& problem) {
  const int nodes = problem.node_count();
  const auto is_node = [&](int node) { return node >= 0 && node < nodes; };
  for (int node = 0; node < nodes; ++node) {
    for (const int before : problem.predecessors[static_cast<size_t>(node)]) {
      if (!is_node(before)) {
        return InvalidArgument("order: node {}: predecessor {} of {} nodes", node, before, nodes);
      }
    }
  }
  int64_t left_bytes = kMostBytes;
  const auto take = [&](int64_t bytes) {
    if (bytes < 0 || bytes > left_bytes) return false;
    left_bytes -= bytes;
    return true;
  };
  if (!take(problem.base_bytes)) {
    return InvalidArgument("order: {} bytes live at every step", problem.base_bytes);
  }
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    const OrderBuffer& buffer = problem.buffers[b];
    if (!take(buffer.size_bytes)) {
      return InvalidArgument("order: buffer {}: {} bytes; all together are to be 0 to 2^62", b,
                             buffer.size_bytes);
    }
    if (!std::all_of(buffer.users.begin(), buffer.users.end(), is_node)) {
      return InvalidArgument("order: buffer {}: a user is none of the {} nodes", b, nodes);
    }
  }
  const auto is_buffer = [&](int buffer) {
    return buffer >= 0 && static_cast<size_t>(buffer) < problem.buffers.size();
  };
  for (const OrderReuse& reuse : problem.reuses) {
    if (!is_node(reuse.node) || !is_buffer(reuse.opened) || !is_buffer(reuse.closed)) {
      return InvalidArgument("order: a reuse at node {} names what is not there", reuse.node);
    }
  }
  if (!problem.workspace_bytes.empty() &&
      problem.workspace_bytes.size() != problem.predecessors.size()) {
    return InvalidArgument("order: {} workspaces for {} nodes", problem.workspace_bytes.size(),
                           nodes);
  }
  for (const int64_t bytes : problem.workspace_bytes) {
    if (!take(bytes)) return InvalidArgument("order: a workspace of {} bytes", bytes);
  }
  return absl::OkStatus();
}

std::vector<int> FindCycle(const OrderProblem& problem) {
  enum : uint8_t { kNew, kOnPath, kDone };
  std::vector<uint8_t> mark(problem.predecessors.size(), kNew);
  std::vector<std::pair<int, size_t>> path;  // node and its next predecessor
  for (int root = 0; root < problem.node_count(); ++root) {
    if (mark[static_cast<size_t>(root)] != kNew) continue;
    path.assign(1, {root, 0});
    mark[static_cast<size_t>(root)] = kOnPath;
    while (!path.empty()) {
      auto& [node, next] = path.back();
      const std::vector<int>& before = problem.predecessors[static_cast<size_t>(node)];
      if (next == before.size()) {
        mark[static_cast<size_t>(node)] = kDone;
        path.pop_back();
        continue;
      }
      const int to = before[next++];
      if (mark[static_cast<size_t>(to)] == kOnPath) {
        // The path goes against the arrows, from node to predecessor: back from its end it follows
        // them.
        std::vector<int> cycle;
        do {
          cycle.push_back(path.back().first);
          path.pop_back();
        } while (cycle.back() != to);
        return cycle;
      }
      if (mark[static_cast<size_t>(to)] == kNew) {
        mark[static_cast<size_t>(to)] = kOnPath;
        path.emplace_back(to, 0);
      }
    }
  }
  return {};
}

bool IsTopologicalOrder(const OrderProblem& problem, const std::vector<int>& order) {
  if (order.size() != problem.predecessors.size()) return false;
  std::vector<bool> done(order.size(), false);
  for (const int node : order) {
    if (node < 0 || node >= problem.node_count() || done[static_cast<size_t>(node)]) return false;
    for (const int before : problem.predecessors[static_cast<size_t>(node)]) {
      if (!done[static_cast<size_t>(before)]) return false;
    }
    done[static_cast<size_t>(node)] = true;
  }
  return true;
}

std::vector<int64_t> StepNeeds(const OrderProblem& problem, const std::vector<int>& order) {
  const std::vector<int> position = Positions(order);
  std::vector<int64_t> needs(order.size(), problem.base_bytes);
  for (const OrderBuffer& buffer : problem.buffers) {
    const Life life = LifeOf(buffer, position);
    for (size_t step = static_cast<size_t>(life.first);
         step < order.size() && static_cast<int>(step) <= life.last; ++step) {
      needs[step] += buffer.size_bytes;
    }
  }
  std::vector<int64_t> saved(order.size(), 0);
  for (const OrderReuse& reuse : problem.reuses) {
    const OrderBuffer& opened = problem.buffers[static_cast<size_t>(reuse.opened)];
    const OrderBuffer& closed = problem.buffers[static_cast<size_t>(reuse.closed)];
    const int step = position[static_cast<size_t>(reuse.node)];
    if (opened.live_before || LifeOf(opened, position).first != step ||
        LifeOf(closed, position).last != step) {
      continue;
    }
    int64_t& most = saved[static_cast<size_t>(step)];
    most = std::max(most, std::min(opened.size_bytes, closed.size_bytes));
  }
  for (size_t step = 0; step < order.size(); ++step) {
    needs[step] -= saved[step];
    if (!problem.workspace_bytes.empty()) {
      needs[step] += problem.workspace_bytes[static_cast<size_t>(order[step])];
    }
  }
  return needs;
}

int64_t PeakOfOrder(const OrderProblem& problem, const std::vector<int>& order) {
  int64_t peak_bytes = problem.base_bytes;
  for (const int64_t need : StepNeeds(problem, order)) peak_bytes = std::max(peak_bytes, need);
  return peak_bytes;
}

OrderProblem Reversed(const OrderProblem& problem) {
  OrderProblem result = problem;
  for (std::vector<int>& before : result.predecessors) before.clear();
  for (int node = 0; node < problem.node_count(); ++node) {
    for (const int before : problem.predecessors[static_cast<size_t>(node)]) {
      result.predecessors[static_cast<size_t>(before)].push_back(node);
    }
  }
  for (OrderBuffer& buffer : result.buffers) std::swap(buffer.live_before, buffer.live_after);
  for (OrderReuse& reuse : result.reuses) std::swap(reuse.opened, reuse.closed);
  return result;
}

OrderProblem WindowOf(const OrderProblem& problem, const std::vector<int>& order, int begin,
                      int end) {
  const std::vector<int> position = Positions(order);
  const auto inside = [&](int node) {
    const int step = position[static_cast<size_t>(node)];
    return step >= begin && step < end;
  };
  OrderProblem window;
  window.base_bytes = problem.base_bytes;
  for (int step = begin; step < end; ++step) {
    const size_t node = static_cast<size_t>(order[static_cast<size_t>(step)]);
    std::vector<int>& before = window.predecessors.emplace_back();
    for (const int other : problem.predecessors[node]) {
      if (inside(other)) before.push_back(position[static_cast<size_t>(other)] - begin);
    }
    if (!problem.workspace_bytes.empty()) {
      window.workspace_bytes.push_back(problem.workspace_bytes[node]);
    }
  }
  std::vector<int> new_index(problem.buffers.size(), -1);
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    const OrderBuffer& buffer = problem.buffers[b];
    const Life life = LifeOf(buffer, position);
    OrderBuffer part{
        buffer.size_bytes, {}, life.first < begin || buffer.live_before, life.last >= end};
    for (const int user : buffer.users) {
      if (inside(user)) part.users.push_back(position[static_cast<size_t>(user)] - begin);
    }
    if (!part.users.empty()) {
      new_index[b] = static_cast<int>(window.buffers.size());
      window.buffers.push_back(std::move(part));
    } else if (part.live_before && part.live_after) {
      window.base_bytes += buffer.size_bytes;
    }
  }
  for (const OrderReuse& reuse : problem.reuses) {
    const int opened = new_index[static_cast<size_t>(reuse.opened)];
    const int closed = new_index[static_cast<size_t>(reuse.closed)];
    if (!inside(reuse.node) || opened < 0 || closed < 0) continue;
    window.reuses.push_back({position[static_cast<size_t>(reuse.node)] - begin, opened, closed});
  }
  return window;
}

}  // namespace berth
