#include "tools/inspect_order.h"

#include <algorithm>

namespace berth {
namespace {

constexpr size_t kMostPairs = 4000000;
constexpr size_t kMostTouches = 2000;  // on either side, where there are more pairs

}  // namespace

absl::StatusOr<OrderProver> OrderProver::Create(const ProgramView& program) {
  BERTH_ASSIGN_OR_RETURN(verify::HappensBefore order, verify::HappensBefore::Build(program));
  return OrderProver(program, std::move(order));
}

OrderProver::OrderProver(const ProgramView& program, verify::HappensBefore order)
    : program_(program), order_(std::move(order)), of_engine_(program.engines.size()) {
  for (uint32_t c = 0; c < program.commands.size(); ++c) {
    of_engine_[program.commands[c].engine].push_back(c);
  }
}

bool OrderProver::Finished(uint32_t before, uint32_t after) const {
  return order_.FinishedBefore(program_.commands[before].engine, order_.sequence(before), after);
}

std::vector<OrderProver::Touch> OrderProver::TouchesOf(uint32_t slot, ByteRange bytes) const {
  const Slot& lease = program_.slots[slot];
  Access range;
  range.space = lease.space;
  range.region = lease.region;
  range.offset_bytes = bytes.begin;
  range.run_bytes = bytes.end - bytes.begin;
  std::vector<Touch> touches;
  for (uint32_t c = lease.begin_command; c < lease.end_command; ++c) {
    for (const Access& access : CollectAccesses(program_.commands[c])) {
      if (access.slot == slot && MayOverlap(access, range)) touches.push_back({c, access});
    }
  }
  return touches;
}

// Of each engine the last command decides.
bool OrderProver::AllFinished(const std::vector<Touch>& before,
                              const std::vector<Touch>& after) const {
  std::vector<int64_t> last(of_engine_.size(), -1);
  for (const Touch& touch : before) last[program_.commands[touch.command].engine] = touch.command;
  for (const Touch& touch : after) {
    for (const int64_t command : last) {
      if (command >= 0 && !Finished(static_cast<uint32_t>(command), touch.command)) return false;
    }
  }
  return true;
}

ReuseProof OrderProver::Prove(uint32_t earlier_slot, uint32_t later_slot, ByteRange bytes) const {
  std::vector<Touch> before = TouchesOf(earlier_slot, bytes);
  std::vector<Touch> after = TouchesOf(later_slot, bytes);
  ReuseProof proof;
  if (before.empty() || after.empty()) return proof;
  proof.apart = AllFinished(before, after);
  if (before.size() > kMostPairs / after.size()) {
    proof.all_pairs = false;
    before.erase(before.begin(), before.end() - std::min(before.size(), kMostTouches));
    after.resize(std::min(after.size(), kMostTouches));
  }
  const Touch* last = &before.back();
  const Touch* first = &after.front();
  bool found = false;
  for (auto a = before.rbegin(); a != before.rend(); ++a) {
    for (const Touch& b : after) {
      if (!Conflicts(a->access, b.access)) continue;
      ++proof.pairs;
      proof.unordered_pairs += !Finished(a->command, b.command);
      // What is shown: the last command that meets a later one, and the first that it meets.
      if (!found) last = &*a, first = &b;
      found = true;
    }
  }
  if (proof.apart) last = &before.back(), first = &after.front();
  proof.last_before = last->command;
  proof.first_after = first->command;
  proof.way = FindWay(proof.last_before, proof.first_after);
  return proof;
}

// Backwards: on each engine to the earliest command that already knows of `before`, and from there
// by the wait that told it.
std::vector<OrderLink> OrderProver::FindWay(uint32_t before, uint32_t after) const {
  std::vector<OrderLink> way;
  if (before >= after || !Finished(before, after)) return way;
  const uint8_t source = program_.commands[before].engine;
  for (uint32_t at = after; at != before;) {
    const uint8_t engine = program_.commands[at].engine;
    if (engine == source) {  // its queue runs in order
      way.push_back({at, true, {}, before});
      break;
    }
    const std::vector<uint32_t>& queue = of_engine_[engine];
    const auto end = queue.begin() + order_.sequence(at);
    const auto knows = std::partition_point(
        queue.begin(), end, [&](uint32_t command) { return !Finished(before, command); });
    if (*knows != at) way.push_back({at, true, {}, *knows});
    at = *knows;
    const Command& command = program_.commands[at];
    const uint32_t told = at;
    for (const Wait& wait : program_.waits.subspan(command.wait_begin, command.wait_count)) {
      const uint32_t signalling = of_engine_[wait.engine][wait.count - 1];
      const bool tells = signalling == before || Finished(before, signalling);
      if (!tells) continue;
      way.push_back({at, false, wait, signalling});
      at = signalling;
      break;
    }
    if (at == told) return {};  // cannot be: what it knows came by its queue or by a wait
  }
  std::reverse(way.begin(), way.end());
  return way;
}

std::string CommandText(const InspectedPlan& plan, uint32_t command) {
  const Command& c = plan.program().commands[command];
  return fmt::format("command {} ({} {}, op {} {})", command,
                     EngineName(plan.program().engines[c.engine]), OpcodeName(c.opcode), c.op,
                     Shown(plan.OpName(c.op)));
}

}  // namespace berth
