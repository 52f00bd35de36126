#include "kernels/ops/scatter_known.h"

#include <numeric>

#include "kernels/ops/expansions.h"

namespace berth {
namespace {

constexpr size_t kMostJoined = 16;  // runs; each is a transfer of its own

// Neighbouring rows of the result from neighbouring rows of one operand.
struct Run {
  bool is_update = false;
  int64_t begin = 0, count = 0;
};

// Of each row of the result: its place in the table followed by the updates.
absl::StatusOr<std::vector<int64_t>> Sources(int64_t rows, const std::vector<int64_t>& numbers) {
  std::vector<int64_t> sources(static_cast<size_t>(rows));
  std::iota(sources.begin(), sources.end(), int64_t{0});
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < -rows || numbers[i] >= rows) {
      return InvalidArgument("row {} is outside [{}, {})", numbers[i], -rows, rows);
    }
    const int64_t row = numbers[i] + (numbers[i] < 0 ? rows : 0);
    sources[static_cast<size_t>(row)] = rows + static_cast<int64_t>(i);
  }
  return sources;
}

std::vector<Run> RunsOf(const std::vector<int64_t>& sources) {
  const auto rows = static_cast<int64_t>(sources.size());
  std::vector<Run> runs;
  for (const int64_t source : sources) {
    const bool is_update = source >= rows;
    const int64_t place = source - (is_update ? rows : 0);
    const bool continues = !runs.empty() && runs.back().is_update == is_update &&
                           runs.back().begin + runs.back().count == place;
    if (!continues) runs.push_back({is_update, place, 0});
    ++runs.back().count;
  }
  return runs;
}

}  // namespace

absl::Status ApplyKnownScatter(GraphRewriter& rewrite, ValueId table, ValueId updates,
                               const std::vector<int64_t>& numbers, ValueId result) {
  if (!rewrite.status().ok()) return rewrite.status();
  const int64_t rows = rewrite.TypeOf(table).shape[0];
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> sources, Sources(rows, numbers));
  const std::vector<Run> runs = RunsOf(sources);
  std::vector<ValueId> parts = {table, updates};
  const bool joins = runs.size() <= kMostJoined;
  if (joins) {
    parts.clear();
    for (const Run& run : runs) {
      parts.push_back(
          ApplySlice(rewrite, run.is_update ? updates : table, {0, run.begin, run.count}));
    }
  }
  if (joins && parts.size() == 1) {
    rewrite.Alias(parts[0], result);
    return rewrite.status();
  }
  Attributes attributes;
  attributes.Set("axis", int64_t{0});
  const ValueId joined = rewrite.Apply(OpKind::kConcat, std::move(parts), std::move(attributes),
                                       joins ? result : ValueId::kNone);
  if (!joins) {
    rewrite.Apply(OpKind::kGather, {joined, rewrite.Int64s(sources)}, {}, result);
  }
  return rewrite.status();
}

}  // namespace berth
