#include "planner/order/state.h"

#include <algorithm>
#include <random>

namespace berth {
namespace {

constexpr uint64_t kHashSeed = 0x9e3779b97f4a7c15u;

uint64_t Bit(int node) { return uint64_t{1} << (node % 64); }
size_t Word(int node) { return static_cast<size_t>(node / 64); }

}  // namespace

OrderInstance::OrderInstance(const OrderProblem& problem)
    : node_count(problem.node_count()),
      word_count((problem.node_count() + 63) / 64),
      base_bytes(problem.base_bytes) {
  const size_t nodes = static_cast<size_t>(node_count);
  std::vector<std::vector<int>> after(nodes), used(nodes), reused(nodes);
  for (int node = 0; node < node_count; ++node) {
    for (const int before : problem.predecessors[static_cast<size_t>(node)]) {
      after[static_cast<size_t>(before)].push_back(node);
    }
  }
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    const OrderBuffer& buffer = problem.buffers[b];
    for (const int user : buffer.users) used[static_cast<size_t>(user)].push_back(int(b));
    buffer_bytes.push_back(buffer.size_bytes);
    users_at_start.push_back(buffer.live_before ? 1 : 0);
    users_total.push_back(static_cast<int>(buffer.users.size()) + users_at_start.back() +
                          (buffer.live_after ? 1 : 0));
  }
  for (const OrderReuse& reuse : problem.reuses) {
    std::vector<int>& row = reused[static_cast<size_t>(reuse.node)];
    row.insert(row.end(), {reuse.opened, reuse.closed});
  }
  for (size_t node = 0; node < nodes; ++node) {
    predecessors.AddRow(problem.predecessors[node]);
    successors.AddRow(after[node]);
    node_buffers.AddRow(used[node]);
    node_reuses.AddRow(reused[node]);
  }
  workspace_bytes = problem.workspace_bytes;
  workspace_bytes.resize(nodes, 0);
  std::mt19937_64 random(kHashSeed);
  for (size_t node = 0; node < nodes; ++node) node_hash.push_back(random());
}

OrderState::OrderState(const OrderInstance& instance)
    : users_done(instance.users_at_start),
      ready(static_cast<size_t>(instance.word_count), 0),
      done(static_cast<size_t>(instance.word_count), 0),
      live_bytes(instance.base_bytes) {
  for (size_t b = 0; b < users_done.size(); ++b) {
    const bool has_end = instance.users_total[b] > users_done[b];
    if (users_done[b] > 0 && has_end) live_bytes += instance.buffer_bytes[b];
  }
  for (int node = 0; node < instance.node_count; ++node) {
    inputs_left.push_back(static_cast<int>(instance.predecessors[node].size()));
    if (inputs_left.back() == 0) ready[Word(node)] |= Bit(node);
  }
}

OrderStep MeasureStep(const OrderInstance& instance, const OrderState& state, int node) {
  int64_t opened_bytes = 0, closed_bytes = 0;
  for (const int buffer : instance.node_buffers[node]) {
    const size_t b = static_cast<size_t>(buffer);
    if (state.users_done[b] == 0) opened_bytes += instance.buffer_bytes[b];
    if (state.users_done[b] + 1 == instance.users_total[b]) {
      closed_bytes += instance.buffer_bytes[b];
    }
  }
  int64_t saved_bytes = 0;
  const std::span<const int> reuses = instance.node_reuses[node];
  for (size_t i = 0; i < reuses.size(); i += 2) {
    const size_t opened = static_cast<size_t>(reuses[i]);
    const size_t closed = static_cast<size_t>(reuses[i + 1]);
    if (state.users_done[opened] != 0 ||
        state.users_done[closed] + 1 != instance.users_total[closed]) {
      continue;
    }
    saved_bytes = std::max(saved_bytes,
                           std::min(instance.buffer_bytes[opened], instance.buffer_bytes[closed]));
  }
  return {state.live_bytes + opened_bytes - saved_bytes +
              instance.workspace_bytes[static_cast<size_t>(node)],
          opened_bytes - closed_bytes};
}

void RunNode(const OrderInstance& instance, OrderState& state, int node) {
  for (const int buffer : instance.node_buffers[node]) {
    const size_t b = static_cast<size_t>(buffer);
    if (state.users_done[b]++ == 0) state.live_bytes += instance.buffer_bytes[b];
    if (state.users_done[b] == instance.users_total[b]) {
      state.live_bytes -= instance.buffer_bytes[b];
    }
  }
  state.ready[Word(node)] &= ~Bit(node);
  state.done[Word(node)] |= Bit(node);
  state.hash ^= instance.node_hash[static_cast<size_t>(node)];
  for (const int next : instance.successors[node]) {
    if (--state.inputs_left[static_cast<size_t>(next)] == 0) state.ready[Word(next)] |= Bit(next);
  }
}

void UndoNode(const OrderInstance& instance, OrderState& state, int node) {
  for (const int next : instance.successors[node]) {
    if (state.inputs_left[static_cast<size_t>(next)]++ == 0) state.ready[Word(next)] &= ~Bit(next);
  }
  state.hash ^= instance.node_hash[static_cast<size_t>(node)];
  state.done[Word(node)] &= ~Bit(node);
  state.ready[Word(node)] |= Bit(node);
  for (const int buffer : instance.node_buffers[node]) {
    const size_t b = static_cast<size_t>(buffer);
    if (state.users_done[b] == instance.users_total[b]) {
      state.live_bytes += instance.buffer_bytes[b];
    }
    if (--state.users_done[b] == 0) state.live_bytes -= instance.buffer_bytes[b];
  }
}

int64_t PeakBySteps(const OrderInstance& instance, const std::vector<int>& order) {
  OrderState state(instance);
  int64_t peak_bytes = state.live_bytes;
  for (const int node : order) {
    peak_bytes = std::max(peak_bytes, MeasureStep(instance, state, node).need_bytes);
    RunNode(instance, state, node);
  }
  return peak_bytes;
}

}  // namespace berth
