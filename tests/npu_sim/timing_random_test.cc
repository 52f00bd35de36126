// Random programs: the event loop and its accounts against a naive simulator that looks at all
// engines for the next command every time and paints every cycle of every engine.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "npu_sim/timing.h"
#include "npu_sim/timing/cost.h"
#include "tests/npu_sim/example_program.h"

namespace berth {
namespace {

using B = testing_support::ProgramBuilder;
constexpr int kEngines = 5;
constexpr int kBusy = 0, kIdle = -1;  // otherwise a StallCause

Operand Bytes(MemorySpace space, int64_t offset, uint32_t slot) {
  Operand o = B::View(space, 0, offset, {0, 0, 0, 1}, DType::kInt8);
  if (space != MemorySpace::kDram) o.slot = slot;
  return o;
}

class NaiveSimulator {
 public:
  NaiveSimulator(const TileProgram& program, const NpuConfig& config)
      : program_(program), config_(config), costs_(config), finish_(program.commands.size(), -1) {}

  void Run() {
    while (true) {
      int best = -1;
      int64_t best_cycle = 0;
      for (int e = 0; e < kEngines; ++e) {
        const int c = Next(e);
        if (c < 0 || !Resolved(c)) continue;
        const bool dma = e <= 1;
        // Units share nothing, so any order will do for them: they go first.
        const int64_t cycle = dma ? Eligible(e, c) : -1;
        if (best < 0 || cycle < best_cycle) {
          best = e;
          best_cycle = cycle;
        }
      }
      if (best < 0) return;
      const int c = Next(best);
      if (best <= 1) {
        RunDma(best, c);
      } else {
        RunUnit(best, c);
      }
    }
  }

  int64_t makespan() const {
    int64_t last = 0;
    for (int64_t finish : finish_) last = std::max(last, finish);
    return last;
  }
  // Cycles of the engine by account, up to the makespan.
  std::map<int, int64_t> Accounts(int engine) {
    std::map<int, int64_t> accounts;
    std::vector<int>& lane = lanes_[engine];
    lane.resize(static_cast<size_t>(makespan()), kIdle);
    for (int account : lane) ++accounts[account];
    return accounts;
  }
  const std::vector<int64_t>& finish() const { return finish_; }

 private:
  const Command& At(int c) const { return program_.commands[static_cast<size_t>(c)]; }

  int Next(int engine) const {
    for (size_t c = 0; c < finish_.size(); ++c) {
      if (program_.commands[c].engine == engine && finish_[c] < 0) return static_cast<int>(c);
    }
    return -1;
  }
  int Previous(int c) const {
    for (int d = c - 1; d >= 0; --d) {
      if (At(d).engine == At(c).engine) return d;
    }
    return -1;
  }
  int Target(const Wait& wait) const {
    uint32_t count = 0;
    for (size_t c = 0; c < finish_.size(); ++c) {
      count += program_.commands[c].engine == wait.engine;
      if (count == wait.count && program_.commands[c].engine == wait.engine) {
        return static_cast<int>(c);
      }
    }
    return -1;
  }
  bool Resolved(int c) const {
    for (uint32_t w = 0; w < At(c).wait_count; ++w) {
      if (finish_[static_cast<size_t>(Target(program_.waits[At(c).wait_begin + w]))] < 0) {
        return false;
      }
    }
    return true;
  }
  int64_t ReadyCycle(int c, int& cause) const {
    int64_t ready = 0;
    uint32_t last = kEngines;
    cause = kBusy;
    for (uint32_t w = 0; w < At(c).wait_count; ++w) {
      const Wait& wait = program_.waits[At(c).wait_begin + w];
      const int64_t finish = finish_[static_cast<size_t>(Target(wait))];
      if (finish < ready || (finish == ready && wait.engine >= last)) continue;
      ready = finish;
      last = wait.engine;
      const std::array<StallCause, kEngines> causes = {
          StallCause::kDependencyDma, StallCause::kDependencyDma, StallCause::kDependencyMatrix,
          StallCause::kDependencyVector, StallCause::kDependencyHost};
      cause = static_cast<int>(causes[wait.engine]);
    }
    return ready;
  }
  // The earliest cycle, at or after `cycle`, at which all earlier writes of this engine to what the
  // command reads are done.
  int64_t AfterOwnWrites(int c, int64_t cycle) const {
    for (int d = 0; d < c; ++d) {
      if (At(d).engine != At(c).engine) continue;
      for (const Operand* o : {&At(c).in0, &At(c).in1}) {
        const Operand& out = At(d).out;
        const bool same = o->present() && o->space == out.space && o->slot == out.slot &&
                          (o->slot != kNoSlot || o->region == out.region);
        if (same) cycle = std::max(cycle, finish_[static_cast<size_t>(d)]);
      }
    }
    return cycle;
  }

  void Paint(int engine, int64_t begin, int64_t end, int account) {
    std::vector<int>& lane = lanes_[engine];
    const auto first = static_cast<size_t>(std::max<int64_t>(begin, 0));
    if (lane.size() < static_cast<size_t>(end)) lane.resize(static_cast<size_t>(end), kIdle);
    for (size_t i = first; i < static_cast<size_t>(std::max(begin, end)); ++i) {
      // What came first stays, but a tail yields.
      const bool was_tail = tails_[engine].erase(static_cast<int64_t>(i)) > 0;
      if (lane[i] == kIdle || was_tail) lane[i] = account;
    }
  }
  void PaintTail(int engine, int64_t begin, int64_t end, int account) {
    Paint(engine, begin, end, account);
    tails_[engine].clear();
    for (int64_t i = begin; i < end; ++i) tails_[engine][i] = true;
  }
  // From the end of what is painted to `begin`: a wait.
  void PaintWait(int engine, int64_t begin, int cause) {
    std::vector<int>& lane = lanes_[engine];
    for (int64_t i = static_cast<int64_t>(lane.size()); i < begin; ++i) lane.push_back(cause);
    for (auto tail = tails_[engine].begin(); tail != tails_[engine].end();) {
      tail = tail->first < begin ? tails_[engine].erase(tail) : std::next(tail);
    }
  }

  void RunUnit(int engine, int c) {
    const timing::CommandCost cost = costs_.Cost(At(c));
    int cause = 0;
    int64_t ready = ReadyCycle(c, cause);
    const int p = Previous(c);
    int64_t free = 0;
    if (p >= 0) {
      ready = std::max(ready, steady_start_[p]);
      free = steady_end_[p];
      if (At(p).out.slot == At(c).in0.slot || At(p).out.slot == At(c).in1.slot) {
        ready = std::max(ready, finish_[static_cast<size_t>(p)]);
      }
    }
    const int64_t begin = std::max(free, ready + cost.lead_cycles);
    const int64_t end = begin + cost.steady_cycles;
    PaintWait(engine, begin - cost.lead_cycles, cause);
    Paint(engine, begin - cost.lead_cycles, end - cost.bank_conflict_cycles, kBusy);
    Paint(engine, end - cost.bank_conflict_cycles, end,
          static_cast<int>(StallCause::kBankConflict));
    PaintTail(engine, end, end + cost.drain_cycles, kBusy);
    steady_start_[c] = begin;
    steady_end_[c] = end;
    finish_[static_cast<size_t>(c)] = end + cost.drain_cycles;
  }

  struct Issue {
    int64_t start = 0, first_burst = 0, eligible = 0;
    int cause = 0;
  };
  Issue IssueOf(int engine, int c) const {
    Issue issue;
    issue.start = ReadyCycle(c, issue.cause);
    const bool write = At(c).opcode == Opcode::kDmaStore;
    int64_t path = 0;
    if (const int p = Previous(c); p >= 0) {
      issue.start = std::max(issue.start, first_burst_.at(p));
      const int64_t last = data_end_.at(p) - config_.dram.read_latency_cycles;
      const bool after_read = At(p).opcode == Opcode::kDmaLoad;
      path = write || !after_read ? data_end_.at(p) : std::max(first_burst_.at(p), last);
    }
    (void)engine;
    issue.start = AfterOwnWrites(c, issue.start);
    issue.first_burst = std::max(issue.start + config_.dma.setup_cycles, path);
    issue.eligible = issue.first_burst + (write ? 0 : config_.dram.read_latency_cycles);
    return issue;
  }
  int64_t Eligible(int engine, int c) const { return IssueOf(engine, c).eligible; }

  void RunDma(int engine, int c) {
    const Issue issue = IssueOf(engine, c);
    const timing::CommandCost cost = costs_.Cost(At(c));
    const bool write = At(c).opcode == Opcode::kDmaStore;
    const int64_t begin = std::max(issue.eligible, bus_free_);
    bus_free_ = begin + cost.dram.service_cycles;
    const int64_t end = begin + std::max(cost.dram.service_cycles, cost.steady_cycles);
    PaintWait(engine, issue.start, issue.cause);
    Paint(engine, issue.start, issue.start + config_.dma.setup_cycles, kBusy);
    if (!write) {
      Paint(engine, issue.start + config_.dma.setup_cycles, issue.eligible,
            static_cast<int>(StallCause::kLatency));
    }
    Paint(engine, issue.start + config_.dma.setup_cycles, begin,
          static_cast<int>(StallCause::kBandwidth));
    Paint(engine, begin, end, kBusy);
    const int64_t finish = end + (write ? config_.dram.write_latency_cycles : 0);
    PaintTail(engine, end, finish, static_cast<int>(StallCause::kLatency));
    first_burst_[c] = issue.first_burst;
    data_end_[c] = end;
    const int p = Previous(c);
    finish_[static_cast<size_t>(c)] =
        std::max(finish, p >= 0 ? finish_[static_cast<size_t>(p)] : 0);
    if (p >= 0 && finish_[static_cast<size_t>(p)] > finish) {
      PaintTail(engine, end, finish_[static_cast<size_t>(p)],
                static_cast<int>(StallCause::kLatency));
    }
  }

  const TileProgram& program_;
  const NpuConfig& config_;
  timing::CostModel costs_;
  std::vector<int64_t> finish_;
  std::map<int, int64_t> steady_start_, steady_end_, first_burst_, data_end_;
  std::map<int, std::vector<int>> lanes_;
  std::map<int, std::map<int64_t, bool>> tails_;
  int64_t bus_free_ = 0;
};

TileProgram RandomProgram(std::mt19937& random, int count) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  B b;
  std::vector<uint32_t> issued(kEngines);
  for (int i = 0; i < count; ++i) {
    const auto slot = [&] { return static_cast<uint32_t>(pick(0, 5)); };
    const auto near = [&] {
      const uint32_t s = slot();
      return Bytes(MemorySpace::kScratchpad, s * 12000, s);
    };
    Command c;
    const int32_t bytes = pick(1, 2000);
    switch (pick(0, 3)) {
      case 0:
        c = B::Make(Opcode::kDmaLoad, static_cast<uint8_t>(pick(0, 1)), {1, 1, 1, bytes}, near(),
                    Bytes(MemorySpace::kDram, 0, 0));
        break;
      case 1:
        c = B::Make(Opcode::kDmaStore, static_cast<uint8_t>(pick(0, 1)), {1, 1, 1, bytes},
                    Bytes(MemorySpace::kDram, 0, 0), near());
        c.out.region = 1;
        break;
      case 2:
        c = B::Make(Opcode::kGemm, B::kMatrix, {1, pick(1, 100), pick(1, 40), pick(1, 40)}, near(),
                    near());
        c.in1 = near();
        c.flags = kFlagWriteOut;
        break;
      default:
        c = B::Make(Opcode::kUnary, B::kVector, {1, 1, 1, bytes}, near(), near());
        break;
    }
    std::vector<Wait> waits;
    for (uint32_t e = 0; e < 4; ++e) {
      if (issued[e] > 0 && e != c.engine && pick(0, 2) == 0) {
        waits.push_back({e, static_cast<uint32_t>(pick(1, static_cast<int>(issued[e])))});
      }
    }
    ++issued[c.engine];
    switch (waits.size()) {
      case 0:
        b.Add(c);
        break;
      case 1:
        b.Add(c, {waits[0]});
        break;
      case 2:
        b.Add(c, {waits[0], waits[1]});
        break;
      default:
        b.Add(c, {waits[0], waits[1], waits[2]});
        break;
    }
  }
  return b.Take();
}

TEST(Simulate, AgreesWithANaiveSimulator) {
  const uint32_t seed = 8128;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  NpuConfig config = *LoadTarget("edge");
  for (int round = 0; round < 400; ++round) {
    config.dram.read_latency_cycles = random() % 2 ? 500 : random() % 60;
    config.dram.write_latency_cycles = random() % 300;
    config.dma.setup_cycles = random() % 40;
    config.dma.max_outstanding_bursts_per_channel = 65536;
    config.dram.peak_millibytes_per_cycle = random() % 2 ? 3750 : 60000;
    const TileProgram program = RandomProgram(random, 1 + static_cast<int>(random() % 40));
    TimingOptions options;
    options.record_commands = true;
    const auto report = SimulateTiming(program.view(), config, options);
    ASSERT_TRUE(report.ok()) << report.status();
    NaiveSimulator naive(program, config);
    naive.Run();
    for (size_t c = 0; c < program.commands.size(); ++c) {
      ASSERT_EQ(report->commands[c].finish_cycle, naive.finish()[c])
          << "round " << round << ", command " << c << "\n"
          << DumpProgram(program.view());
    }
    ASSERT_EQ(report->makespan_cycles, naive.makespan());
    for (int e = 0; e < kEngines; ++e) {
      const EngineReport& engine = report->engines[static_cast<size_t>(e)];
      std::map<int, int64_t> accounts = naive.Accounts(e);
      int64_t sum = engine.busy_cycles + engine.idle_cycles;
      for (int64_t cycles : engine.stall_cycles) sum += cycles;
      ASSERT_EQ(sum, report->makespan_cycles) << EngineName(engine.engine);
      ASSERT_EQ(engine.busy_cycles, accounts[kBusy]) << "round " << round << " engine " << e;
      // Idle without any command; after the last of some, the queue is empty.
      if (engine.command_count > 0) {
        accounts[static_cast<int>(StallCause::kQueueEmpty)] = std::exchange(accounts[kIdle], 0);
      }
      ASSERT_EQ(engine.idle_cycles, accounts[kIdle]) << "round " << round << " engine " << e;
      for (int cause = 1; cause < kStallCauseCount; ++cause) {
        ASSERT_EQ(engine.stall_cycles[static_cast<size_t>(cause)], accounts[cause])
            << "round " << round << " engine " << e << " cause " << cause;
      }
      ASSERT_LE(engine.busy_cycles, report->makespan_cycles);
    }
    const int64_t bytes = report->dram_read_bytes + report->dram_write_bytes;
    int64_t asked = 0;
    for (const Command& c : program.commands) {
      if (EngineOf(c.opcode) == EngineKind::kDma) asked += c.extent[3];
    }
    ASSERT_EQ(bytes, asked);
    ASSERT_GE(report->makespan_cycles * config.dram.peak_millibytes_per_cycle, bytes * 1000);
  }
}

}  // namespace
}  // namespace berth
