// berth bench pool [TRACE.csv]: the dynamic pool beside the process's malloc.
#include <memory>

#include "base/write_file.h"
#include "runtime/bundle/mapping.h"
#include "tools/command.h"
#include "tools/json_output.h"
#include "tools/pool_replay.h"

namespace berth {
namespace {

struct Flags {
  std::string file, save;
  uint64_t seed = 1;
  int threads = 2;
  PoolReplayOptions options;
  bool json = false;
};

absl::StatusOr<std::vector<PoolEvent>> LoadTrace(const Flags& flags) {
  if (flags.file.empty()) return MakeTensorTrace({.seed = flags.seed});
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<FileMapping> file, FileMapping::Open(flags.file));
  absl::StatusOr<std::vector<PoolEvent>> trace =
      ParsePoolTrace({reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()});
  if (!trace.ok()) return Annotate(trace.status(), fmt::format("'{}'", flags.file));
  return trace;
}

double Ratio(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void PrintAsJson(const std::string& name, size_t events, const std::vector<PoolReplayTimes>& times,
                 const PoolReplayMemory& memory) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const PoolReplayTimes& row : times) {
    rows.push_back({{"threads", row.threads},
                    {"pool_ns_per_pair", row.pool.median_ns},
                    {"pool_best_ns_per_pair", row.pool.best_ns},
                    {"malloc_ns_per_pair", row.malloc.median_ns},
                    {"malloc_best_ns_per_pair", row.malloc.best_ns}});
  }
  PrintJson({{"trace", name},
             {"events", events},
             {"times", std::move(rows)},
             {"peak_live_bytes", memory.peak_live_bytes},
             {"peak_reserved_bytes", memory.peak_reserved_bytes},
             {"reserved_per_live", Ratio(memory.peak_reserved_bytes, memory.peak_live_bytes)},
             {"pool_resident_bytes", memory.pool_resident_bytes},
             {"malloc_resident_bytes", memory.malloc_resident_bytes},
             {"trimmed_live_bytes", memory.trimmed_live_bytes},
             {"trimmed_reserved_bytes", memory.trimmed_reserved_bytes},
             {"end_reserved_bytes", memory.end_reserved_bytes}});
}

void PrintAsText(const std::string& name, size_t events, const std::vector<PoolReplayTimes>& times,
                 const PoolReplayMemory& memory) {
  fmt::print("{}: {} events\n", name, events);
  for (const PoolReplayTimes& row : times) {
    fmt::print(
        "  {} thread{}   pool {:.1f} ns (best {:.1f}), malloc {:.1f} ns (best {:.1f}) a pair\n",
        row.threads, row.threads == 1 ? " " : "s", row.pool.median_ns, row.pool.best_ns,
        row.malloc.median_ns, row.malloc.best_ns);
  }
  fmt::print("  peak        {} bytes live, {} reserved: {:.3f} x\n", memory.peak_live_bytes,
             memory.peak_reserved_bytes, Ratio(memory.peak_reserved_bytes, memory.peak_live_bytes));
  fmt::print("  resident    pool {:.3f} x, malloc {:.3f} x the bytes live at the peak\n",
             Ratio(memory.pool_resident_bytes, memory.peak_live_bytes),
             Ratio(memory.malloc_resident_bytes, memory.peak_live_bytes));
  fmt::print("  trimmed     {} bytes reserved for {} live; {} for none at the end\n",
             memory.trimmed_reserved_bytes, memory.trimmed_live_bytes, memory.end_reserved_bytes);
}

absl::Status Run(const Flags& flags) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<PoolEvent> trace, LoadTrace(flags));
  if (!flags.save.empty()) {
    BERTH_RETURN_IF_ERROR(WriteFile(flags.save, FormatPoolTrace(trace)));
  }
  std::vector<PoolReplayTimes> times;
  for (int threads = 1; threads <= flags.threads; threads *= 2) {
    BERTH_ASSIGN_OR_RETURN(times.emplace_back(), TimePoolReplay(trace, threads, flags.options));
  }
  BERTH_ASSIGN_OR_RETURN(const PoolReplayMemory memory, MeasurePoolReplay(trace, flags.options));
  const std::string name =
      flags.file.empty() ? fmt::format("tensors of seed {}", flags.seed) : flags.file;
  if (flags.json) {
    PrintAsJson(name, trace.size(), times, memory);
  } else {
    PrintAsText(name, trace.size(), times, memory);
  }
  return absl::OkStatus();
}

}  // namespace

void AddBenchCommand(CLI::App& app, CommandAction& action) {
  constexpr int kMostThreads = 64, kMostRepeats = 1000;
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("bench", "Measure a part of the runtime on this host");
  command->require_subcommand(1);
  CLI::App* pool = command->add_subcommand(
      "pool", "Replay allocations: the dynamic pool beside the process's malloc");
  pool->add_option("trace", flags->file,
                   "CSV with the first line op,id,size_bytes,alignment; without it, tensors of 200 "
                   "inferences of a made-up network, batch 1 to 8");
  pool->add_option("--seed", flags->seed, "Of the network that is made up");
  pool->add_option("--threads", flags->threads,
                   "Up to so many threads (1, 2, 4, ...), each replays the whole trace")
      ->check(CLI::Range(1, kMostThreads));
  pool->add_option("--repeats", flags->options.repeats,
                   "Times are the median, and the best, of so many replays")
      ->check(CLI::Range(1, kMostRepeats));
  pool->add_option("--limit", flags->options.limit_bytes, "The pool's limit in bytes")
      ->check(CLI::PositiveNumber);
  pool->add_option("--save", flags->save, "Write the trace there as CSV");
  pool->add_flag("--json", flags->json, "One JSON object on stdout");
  pool->callback([flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace berth
