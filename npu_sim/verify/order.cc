#include "npu_sim/verify/order.h"

#include <algorithm>

#include "npu_sim/verify/message.h"

namespace berth::verify {

absl::StatusOr<HappensBefore> HappensBefore::Build(const ProgramView& program) {
  HappensBefore order;
  const size_t engines = program.engines.size();
  order.engine_count_ = engines;
  order.sequence_.resize(program.commands.size());
  order.clock_.resize(program.commands.size() * engines, 0);
  order.of_engine_.resize(engines);
  for (size_t c = 0; c < program.commands.size(); ++c) {
    const Command& command = program.commands[c];
    std::vector<uint32_t>& own = order.of_engine_[command.engine];
    uint32_t* clock = &order.clock_[c * engines];
    const auto join = [&](size_t earlier) {
      const uint32_t* other = &order.clock_[earlier * engines];
      for (size_t e = 0; e < engines; ++e) clock[e] = std::max(clock[e], other[e]);
    };
    if (!own.empty()) join(own.back());
    clock[command.engine] = static_cast<uint32_t>(own.size());
    for (const Wait& wait : program.waits.subspan(command.wait_begin, command.wait_count)) {
      const size_t stands = wait.engine < engines ? order.of_engine_[wait.engine].size() : 0;
      if (wait.count < 1 || wait.count > stands) {
        return DataLoss("{}: waits for {} commands of engine {}, of which {} stand earlier",
                        DescribeCommand(program, c), wait.count, wait.engine, stands);
      }
      join(order.of_engine_[wait.engine][wait.count - 1]);
      clock[wait.engine] = std::max(clock[wait.engine], wait.count);
    }
    own.push_back(static_cast<uint32_t>(c));
    order.sequence_[c] = static_cast<uint32_t>(own.size());
  }
  return order;
}

std::vector<uint32_t> HappensBefore::KnownToAllFrom(size_t next) const {
  std::vector<uint32_t> known(engine_count_, UINT32_MAX);
  for (size_t engine = 0; engine < engine_count_; ++engine) {
    const std::vector<uint32_t>& own = of_engine_[engine];
    const auto first = std::lower_bound(own.begin(), own.end(), next);
    if (first == own.end()) continue;  // nothing left that could race
    const uint32_t* clock = &clock_[size_t{*first} * engine_count_];
    for (size_t e = 0; e < engine_count_; ++e) known[e] = std::min(known[e], clock[e]);
  }
  return known;
}

}  // namespace berth::verify
