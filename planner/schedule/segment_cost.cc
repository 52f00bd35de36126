#include "planner/schedule/segment_cost.h"

#include <algorithm>
#include <set>

#include "base/checked_math.h"
#include "npu_sim/access.h"
#include "npu_sim/timing.h"
#include "planner/bounds.h"
#include "planner/schedule/lower.h"
#include "planner/schedule/prefetch.h"
#include "planner/schedule/segment_pipeline.h"

namespace berth {
namespace {

// Free bytes and budgets are known to these parts of the scratchpad only, so that costs and numbers
// of parts can be kept.
constexpr int64_t kFreeSteps = 16, kBudgetSteps = 64;
// Longer segments are not worth their commands.
constexpr size_t kCommandLimit = 20000;

// Bytes that a DMA command moves in DRAM, whole bursts.
int64_t DramBytes(const Command& command, const NpuConfig& config) {
  int64_t bytes = 0;
  for (const Access& access : CollectAccesses(command)) {
    if (access.space != MemorySpace::kDram || access.run_bytes == 0) continue;
    const int64_t burst = std::max<int64_t>(config.dram.burst_bytes, 1);
    const int64_t runs = access.total_bytes() / access.run_bytes;
    const int64_t offset = access.offset_bytes % burst;
    bytes += runs * AlignUp(access.run_bytes + (runs > 1 ? burst / 2 : offset), burst);
  }
  return bytes;
}

// Of resident values: the first buffers.
int64_t ResidentBytes(const SampledCommands& sampled, size_t resident_count) {
  int64_t resident_bytes = 0;
  for (size_t i = 0; i < resident_count; ++i) {
    const VirtualBuffer& buffer = sampled.buffers[i];
    resident_bytes += AlignUp(buffer.size_bytes, buffer.alignment_bytes);
  }
  return resident_bytes;
}

// What the segment has live besides resident values.
int64_t OwnPeakBytes(const SampledCommands& sampled, size_t resident_count) {
  if (sampled.sample.held_bytes > 0) return sampled.sample.held_bytes;
  const std::vector<int64_t> live = LiveBytes(sampled.commands, sampled.buffers, resident_count);
  return *std::max_element(live.begin(), live.end());
}

}  // namespace

int64_t SegmentCost::Objective(bool bands_spread) const {
  constexpr int64_t kImperfectPercent = 20;
  const int64_t sum = matrix_cycles + vector_cycles + host_cycles + dram_cycles;
  const int64_t busiest = std::max({matrix_cycles, vector_cycles, host_cycles, dram_cycles});
  const int64_t longest =
      std::max(busiest, bands_spread ? spread_pipeline_cycles : pipeline_cycles);
  return longest + (sum - busiest) * kImperfectPercent / 100 + dram_cycles;
}

SegmentCosts::SegmentCosts(const Graph& graph, const StoragePlan& storage, const NpuConfig& config,
                           int64_t tile_percent)
    : graph_(graph),
      storage_(storage),
      config_(config),
      tile_percent_(tile_percent),
      tables_(graph),
      matrix_cycles_(1, 0),
      constant_bytes_(1, 0) {
  for (const Node& node : graph.nodes) {
    int64_t bytes = 0;
    for (const ValueId id : ReadValues(node)) {
      if (id != ValueId::kNone && graph.at(id).constant != nullptr) {
        bytes += graph.at(id).type.ByteCount();
      }
    }
    matrix_cycles_.push_back(matrix_cycles_.back() + MappedCycles(graph, node, config.matrix));
    constant_bytes_.push_back(constant_bytes_.back() + bytes);
  }
}

std::vector<int> SegmentCosts::TouchedBuffers(const Segment& segment) const {
  std::set<int> touched;
  for (int step = segment.begin_step; step < segment.end_step; ++step) {
    if (storage_.nodes[static_cast<size_t>(step)] == NodeStorage::kView) continue;
    const Node& node = graph_.nodes[static_cast<size_t>(step)];
    std::vector<ValueId> values = ReadValues(node);
    values.insert(values.end(), node.outputs.begin(), node.outputs.end());
    for (const ValueId id : values) {
      if (id == ValueId::kNone) continue;
      const int buffer = storage_.places[Index(id)].buffer;
      if (buffer >= 0) touched.insert(buffer);
    }
  }
  return {touched.begin(), touched.end()};
}

void SegmentCosts::SetHomes(const Segment& segment, const std::vector<int>& resident) {
  for (const int b : TouchedBuffers(segment)) {
    StorageBuffer& buffer = storage_.buffers[static_cast<size_t>(b)];
    if (buffer.kind != RegionKind::kPool) continue;
    const bool is_inside = segment.is_striped() && buffer.begin_step >= segment.begin_step &&
                           buffer.end_step <= segment.end_step;
    if (std::binary_search(resident.begin(), resident.end(), b)) {
      buffer.home = StorageHome::kScratchpad;
    } else if (is_inside) {
      buffer.home = StorageHome::kRows;
    } else {
      continue;
    }
    changed_.push_back(b);
  }
}

void SegmentCosts::RestoreHomes() {
  for (const int b : changed_) storage_.buffers[static_cast<size_t>(b)].home = StorageHome::kDram;
  changed_.clear();
}

std::optional<SegmentCost> SegmentCosts::Evaluate(const Segment& segment,
                                                  const std::vector<int>& resident,
                                                  int64_t passing_bytes, int64_t limit_bytes) {
  const int64_t step_bytes = std::max<int64_t>(config_.scratchpad.size_bytes / kFreeSteps, 64);
  const int64_t free_bytes =
      (config_.scratchpad.size_bytes - passing_bytes) / step_bytes * step_bytes;
  const Key key{segment.begin_step, segment.end_step,       segment.parts, segment.spare_parts,
                segment.is_skewed,  segment.moves_in_place, resident,      free_bytes};
  auto found = known_.find(key);
  if (found == known_.end()) {
    SetHomes(segment, resident);
    found = known_.emplace(key, Lower(segment, resident, free_bytes)).first;
    RestoreHomes();
  }
  if (!found->second || found->second->peak_bytes + passing_bytes > limit_bytes) {
    return std::nullopt;
  }
  return found->second;
}

std::optional<SegmentCost> SegmentCosts::Lower(const Segment& segment,
                                               const std::vector<int>& resident,
                                               int64_t free_bytes) {
  NpuConfig config = config_;
  config.scratchpad.size_bytes = free_bytes;
  LowerOptions options;
  options.tile_percent = tile_percent_;
  options.command_limit = kCommandLimit;
  const absl::StatusOr<SampledCommands> sample =
      SampleSegment(graph_, storage_, tables_, segment, config, options);
  if (!sample.ok()) return std::nullopt;
  work_units_ += static_cast<int64_t>(sample->commands.size() + sample->sample.run_of_step.size());
  SegmentCost cost;
  int64_t setup_cycles = 0;
  const std::vector<SegmentSample::Run>& runs = sample->sample.runs;
  std::vector<RunCycles> run_cycles(runs.size());
  for (size_t run = 0; run < runs.size(); ++run) {
    run_cycles[run].moves_result = runs[run].moves_result;
  }
  for (size_t i = 0, run = 0; i < sample->commands.size(); ++i) {
    while (run + 1 < runs.size() && runs[run + 1].begin_command <= i) ++run;
    const Command& command = sample->commands[i];
    const int64_t repeats = runs[run].repeats, cycles = CommandCycles(command, config);
    switch (EngineOf(command.opcode)) {
      case EngineKind::kDma:
        cost.dram_bytes += DramBytes(command, config) * repeats;
        setup_cycles += cycles * repeats;
        break;
      case EngineKind::kMatrix:
        cost.matrix_cycles += cycles * repeats;
        AddMatrixCommand(cycles, run_cycles[run]);
        break;
      case EngineKind::kVector:
        cost.vector_cycles += cycles * repeats;
        if (i < runs[run].compute_command) {
          run_cycles[run].copy += cycles;
        } else {
          AddVectorCommand(cycles, run_cycles[run]);
        }
        break;
      default:
        cost.host_cycles += cycles * repeats;
    }
  }
  cost.pipeline_cycles = cost.spread_pipeline_cycles = run_cycles[0].end;
  if (segment.is_striped()) {
    const auto pipeline = [&](bool bands_spread) {
      return PipelineCycles(graph_, storage_, tables_, segment, sample->sample, run_cycles,
                            bands_spread);
    };
    cost.pipeline_cycles = pipeline(false);
    cost.spread_pipeline_cycles = pipeline(true);
  }
  cost.dram_cycles = std::max(PeakDramCycles(cost.dram_bytes, config.dram),
                              setup_cycles / std::max<int64_t>(config.dma.channels, 1));
  const int64_t own_bytes = OwnPeakBytes(*sample, resident.size());
  cost.peak_bytes = ResidentBytes(*sample, resident.size()) + own_bytes;
  cost.first_load_bytes = std::min(cost.dram_bytes, own_bytes);
  if (segment.is_striped()) cost.first_load_bytes = HeldWeightBytes(graph_, storage_, segment);
  return cost;
}

int64_t SegmentCosts::LeastObjective(const Segment& segment,
                                     const std::vector<int>& resident) const {
  const auto begin = static_cast<size_t>(segment.begin_step);
  const auto end = static_cast<size_t>(segment.end_step);
  SegmentCost least;
  least.matrix_cycles = matrix_cycles_[end] - matrix_cycles_[begin];
  int64_t bytes = constant_bytes_[end] - constant_bytes_[begin];
  for (const int b : TouchedBuffers(segment)) {
    const StorageBuffer& buffer = storage_.buffers[static_cast<size_t>(b)];
    const bool is_inside =
        buffer.begin_step >= segment.begin_step && buffer.end_step <= segment.end_step;
    if (buffer.kind == RegionKind::kConstants) continue;
    if (buffer.kind == RegionKind::kPool &&
        (is_inside || std::binary_search(resident.begin(), resident.end(), b))) {
      continue;
    }
    bytes += buffer.size_bytes;
  }
  least.dram_cycles = PeakDramCycles(bytes, config_.dram);
  return least.Objective(true);
}

int64_t SegmentCosts::ExposedCycles(const SegmentCost& cost, int64_t busy_bytes) const {
  const int64_t room_bytes = std::max<int64_t>(config_.scratchpad.size_bytes - busy_bytes, 0);
  const int64_t exposed_bytes = std::max<int64_t>(cost.first_load_bytes - room_bytes, 0);
  return PeakDramCycles(exposed_bytes, config_.dram);
}

bool SegmentCosts::HasLags(const Segment& segment) {
  for (int step = segment.begin_step; step < segment.end_step; ++step) {
    const StepRows* rows = tables_.reads.Of(step);
    if (rows == nullptr) continue;
    for (const RowRead& read : rows->reads) {
      if (read.may_lag && tables_.uses.producer[Index(read.value)] >= segment.begin_step) {
        return true;
      }
    }
  }
  return false;
}

bool SegmentCosts::IsStripable(const Segment& segment, const std::vector<int>& resident) {
  SetHomes(segment, resident);
  const bool can = PlanBands(graph_, storage_, tables_.uses, tables_.reads, segment).has_value();
  RestoreHomes();
  return can;
}

int64_t SegmentCosts::MostRows(const Segment& segment) {
  int64_t most = 0;
  for (int step = segment.begin_step; step < segment.end_step; ++step) {
    if (const StepRows* rows = tables_.reads.Of(step)) most = std::max(most, rows->rows);
  }
  return most;
}

int SegmentCosts::FewestParts(Segment segment, const std::vector<int>& resident,
                              int64_t budget_bytes) {
  const int64_t step_bytes = std::max<int64_t>(config_.scratchpad.size_bytes / kBudgetSteps, 64);
  budget_bytes = budget_bytes / step_bytes * step_bytes;
  // By rows of the tallest value in one part.
  static constexpr int64_t kRows[] = {1,  2,  3,  4,  5,  6,  7,  8,  10, 12, 14,  16,
                                      20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128};
  const int64_t rows = MostRows(segment);
  const auto fits = [&](int64_t part_rows) {
    segment.parts = static_cast<int>(CeilDiv(rows, part_rows));
    const auto bands = PlanBands(graph_, storage_, tables_.uses, tables_.reads, segment);
    work_units_ += int64_t{segment.parts} * (segment.end_step - segment.begin_step);
    return bands && HeldBytes(graph_, storage_, *bands, segment) <= budget_bytes;
  };
  const auto [found, is_new] =
      fewest_.try_emplace(Key{segment.begin_step, segment.end_step, 0, segment.spare_parts,
                              segment.is_skewed, segment.moves_in_place, resident, budget_bytes},
                          0);
  if (!is_new) return found->second;
  SetHomes(segment, resident);
  size_t low = 0, high = 0;  // kRows[low - 1] fits
  while (high < std::size(kRows) && kRows[high] < rows) ++high;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (fits(kRows[middle])) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  RestoreHomes();
  if (low > 0) found->second = static_cast<int>(CeilDiv(rows, kRows[low - 1]));
  return found->second;
}

}  // namespace berth
