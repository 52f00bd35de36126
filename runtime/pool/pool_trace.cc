#include "runtime/pool/pool_trace.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace berth {
namespace {

constexpr std::string_view kHeader = "op,id,size_bytes,alignment";
constexpr size_t kCells = 4;

absl::StatusOr<int64_t> ParseNumber(absl::string_view cell, std::string_view what) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(cell, &number) || number < 0) {
    return InvalidArgument("{} '{}' is no number from 0 on", what, ToStd(cell));
  }
  return number;
}

absl::StatusOr<PoolEvent> ParseEvent(absl::string_view line) {
  std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
  if (cells.size() > kCells) return InvalidArgument("{} cells, expected {}", cells.size(), kCells);
  cells.resize(kCells);
  for (absl::string_view& cell : cells) cell = absl::StripAsciiWhitespace(cell);
  PoolEvent event;
  BERTH_ASSIGN_OR_RETURN(event.id, ParseNumber(cells[1], "id"));
  if (cells[0] == "free") {
    event.kind = PoolEvent::Kind::kFree;
    return event;
  }
  if (cells[0] != "alloc") return InvalidArgument("unknown op '{}'", ToStd(cells[0]));
  BERTH_ASSIGN_OR_RETURN(event.size_bytes, ParseNumber(cells[2], "size"));
  if (!cells[3].empty()) {
    BERTH_ASSIGN_OR_RETURN(event.alignment, ParseNumber(cells[3], "alignment"));
  }
  if (!std::has_single_bit(static_cast<uint64_t>(event.alignment))) {
    return InvalidArgument("alignment {} is no power of two", event.alignment);
  }
  return event;
}

// Uniform in [0, 1), the same everywhere (the standard's distributions differ by library).
double Uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

// For how many ops a tensor is needed after its own.
int DrawLife(std::mt19937_64& random) {
  constexpr double kNextOpOnly = 0.75, kFewOps = 0.95;
  constexpr int kFew = 6, kLong = 40;
  const double kind = Uniform(random);
  if (kind < kNextOpOnly) return 1;
  const double share = Uniform(random);
  return kind < kFewOps ? 2 + static_cast<int>(share * (kFew - 2))
                        : kFew + static_cast<int>(share * (kLong - kFew));
}

}  // namespace

absl::StatusOr<std::vector<PoolEvent>> ParsePoolTrace(std::string_view csv) {
  std::vector<PoolEvent> trace;
  absl::flat_hash_set<int64_t> live;
  int64_t line_number = 0;
  for (absl::string_view line : absl::StrSplit(ToAbsl(csv), '\n')) {
    ++line_number;
    line = absl::StripAsciiWhitespace(line);
    if (line_number == 1) {
      if (ToStd(line) == kHeader) continue;
      return InvalidArgument("line 1: '{}', expected '{}'", ToStd(line.substr(0, 80)), kHeader);
    }
    if (line.empty()) continue;
    const absl::StatusOr<PoolEvent> event = ParseEvent(line);
    if (!event.ok()) return Annotate(event.status(), fmt::format("line {}", line_number));
    const bool allocates = event->kind == PoolEvent::Kind::kAllocate;
    if (allocates ? !live.insert(event->id).second : live.erase(event->id) == 0) {
      return InvalidArgument("line {}: id {} is {}live", line_number, event->id,
                             allocates ? "already " : "not ");
    }
    trace.push_back(*event);
  }
  return trace;
}

std::string FormatPoolTrace(const std::vector<PoolEvent>& trace) {
  std::string csv = fmt::format("{}\n", kHeader);
  for (const PoolEvent& event : trace) {
    if (event.kind == PoolEvent::Kind::kFree) {
      fmt::format_to(std::back_inserter(csv), "free,{},,\n", event.id);
    } else {
      fmt::format_to(std::back_inserter(csv), "alloc,{},{},{}\n", event.id, event.size_bytes,
                     event.alignment);
    }
  }
  return csv;
}

std::vector<PoolEvent> MakeTensorTrace(const TensorTraceOptions& options) {
  struct Op {
    double bytes_per_item;
    int life_ops;
  };
  std::mt19937_64 random(options.seed);
  const double smallest = static_cast<double>(options.smallest_bytes);
  const double largest = static_cast<double>(options.largest_bytes);
  std::vector<Op> ops;
  for (int i = 0; i < options.ops; ++i) {
    // Evenly over the magnitudes, so that the largest of the largest batch is the largest.
    const double magnitudes = std::log(largest / options.batch_max / smallest);
    const double bytes_per_item = smallest * std::exp(Uniform(random) * magnitudes);
    ops.push_back({bytes_per_item, DrawLife(random)});
  }
  std::vector<PoolEvent> trace;
  int64_t id = 0;
  for (int inference = 0; inference < options.inferences; ++inference) {
    const auto batch =
        1 + static_cast<int64_t>(random() % static_cast<uint64_t>(options.batch_max));
    std::vector<std::vector<int64_t>> dying(static_cast<size_t>(options.ops));  // after op i
    for (int i = 0; i < options.ops; ++i, ++id) {
      const Op& op = ops[static_cast<size_t>(i)];
      const double bytes = op.bytes_per_item * static_cast<double>(batch);
      trace.push_back({.id = id, .size_bytes = std::llround(std::clamp(bytes, smallest, largest))});
      dying[static_cast<size_t>(std::min(i + op.life_ops, options.ops - 1))].push_back(id);
      for (const int64_t dead : dying[static_cast<size_t>(i)]) {
        trace.push_back({.kind = PoolEvent::Kind::kFree, .id = dead});
      }
    }
  }
  return trace;
}

}  // namespace berth
