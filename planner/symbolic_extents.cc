#include "planner/symbolic_extents.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "kernels/fold/fold_constants.h"
#include "planner/dynamic_dims.h"
#include "planner/fit_extent.h"
#include "runtime/bundle/dynamic_model.h"

namespace berth {
namespace {

constexpr size_t kMostSymbols = 8;
constexpr int64_t kWidestSpan = 512;  // of the sizes of one symbol
constexpr int kConsecutive = 32;      // sizes in a row: remainders of strides up to this are seen
constexpr int kRandomProbes = 8;
constexpr int kRounds = 6;
constexpr size_t kFewestConfirmations = 3;
// Without any output's shape: sizes that the model takes, and sizes at all.
constexpr size_t kMostTaken = 12;
constexpr int kMostTried = 48;
// Networks with several strides take only multiples of their product.
constexpr int64_t kCommonStride = 32;
constexpr uint64_t kSeed = 20240229;  // the same model gives the same bundle

// Shapes of the outputs at one point; nothing where one is not known there.
struct Probe {
  std::vector<int64_t> sizes;
  std::vector<std::optional<Shape>> outputs;
};

// Sizes that the model takes, and what its outputs are there.
class Prober {
 public:
  Prober(const Graph& graph, const std::vector<DimRange>& ranges,
         const ConstantEvaluator& evaluator)
      : graph_(graph), evaluator_(evaluator), names_(FreeDimNames(graph)) {
    for (const std::string& name : names_) {
      DimRange range{name, 1, kLargestExtent};
      for (const DimRange& given : ranges) {
        if (given.name == name) range = given;
      }
      ranges_.push_back(range);
    }
  }

  const std::vector<std::string>& names() const { return names_; }

  // Sizes in a row, each symbol from another one on, all with one remainder of the stride.
  std::vector<Probe> First() {
    std::vector<Probe> probes;
    for (int k = 0; k < kConsecutive && !IsHopeless(); ++k) {
      Try(probes, [&](size_t i) { return kCommonStride * static_cast<int64_t>(1 + i) + k; });
    }
    for (int k = 0; k < kRandomProbes && !IsHopeless(); ++k) {
      const int64_t equal = Random();
      Try(probes, [&](size_t) { return equal; });
    }
    std::vector<Probe> more = Fresh();
    std::move(more.begin(), more.end(), std::back_inserter(probes));
    return probes;
  }

  // Random sizes: any, and some that the model took, moved by multiples of the common stride.
  std::vector<Probe> Fresh() {
    std::vector<Probe> probes;
    for (int k = 0; k < kRandomProbes && !IsHopeless(); ++k) {
      Try(probes, [&](size_t) { return Random(); });
      const std::vector<int64_t> from =
          takes_.empty() ? std::vector<int64_t>(names_.size()) : takes_[random_() % takes_.size()];
      Try(probes, [&](size_t i) {
        const int64_t size = from[i] % kCommonStride + kCommonStride * (1 + Random() % 15);
        return size - ranges_[i].low;  // where the range has it
      });
    }
    return probes;
  }

 private:
  int64_t Random() { return static_cast<int64_t>(random_() % kWidestSpan); }

  bool IsHopeless() const {
    return !has_shape_ && (takes_.size() >= kMostTaken || tried_ >= kMostTried);
  }

  // `steps` above the lower end of each symbol's range.
  template <typename Steps>
  void Try(std::vector<Probe>& probes, const Steps& steps) {
    ++tried_;
    Probe probe;
    std::map<std::string, int64_t> extents;
    for (size_t i = 0; i < names_.size(); ++i) {
      const int64_t span = std::min(ranges_[i].high - ranges_[i].low + 1, kWidestSpan);
      const int64_t step = steps(i);
      const int64_t size = ranges_[i].low + (step % span + span) % span;
      probe.sizes.push_back(size);
      extents[names_[i]] = size;
    }
    absl::StatusOr<Graph> pinned = PinFreeDims(graph_, extents);
    if (!pinned.ok()) return;
    FoldOptions fold;
    fold.partial = true;
    fold.keep_quantized = true;
    fold.growth_limit_bytes = fold.filled_limit_bytes = 64 << 10;
    fold.work_limit = 1 << 16;
    if (!FoldConstants(*pinned, evaluator_, fold).ok()) return;
    for (const ValueId id : pinned->outputs) {
      const Value& value = pinned->at(id);
      probe.outputs.push_back(value.shape_known ? std::optional(value.type.shape) : std::nullopt);
      has_shape_ |= value.shape_known;
    }
    takes_.push_back(probe.sizes);
    probes.push_back(std::move(probe));
  }

  const Graph& graph_;
  const ConstantEvaluator& evaluator_;
  std::vector<std::string> names_;
  std::vector<DimRange> ranges_;  // of each name
  std::mt19937_64 random_{kSeed};
  int tried_ = 0;
  std::vector<std::vector<int64_t>> takes_;  // sizes that the model takes
  bool has_shape_ = false;
};

// One extent of one output while its formula is looked for.
struct Extent {
  size_t output = 0, axis = 0;
  int rank = 0;            // of the output
  std::vector<int> order;  // of symbols
  std::vector<ExtentSample> samples;
  std::optional<ExtentFormula> formula;
  size_t confirmations = 0;  // since it was fitted
};

// The extent at a probe; nothing where the shape is not known or of another rank.
std::optional<int64_t> At(const Probe& probe, const Extent& extent) {
  const std::optional<Shape>& shape = probe.outputs[extent.output];
  if (!shape || shape->rank() != extent.rank) return std::nullopt;
  return (*shape)[static_cast<int>(extent.axis)];
}

// The symbol by which the model itself calls the extent comes first.
std::vector<int> OrderFor(const Value& output, size_t rank, size_t axis,
                          const std::vector<std::string>& names) {
  std::vector<int> order;
  for (size_t i = 0; i < std::min(names.size(), kMostSymbols); ++i) {
    order.push_back(static_cast<int>(i));
  }
  if (output.declared.size() != rank) return order;
  std::stable_partition(order.begin(), order.end(), [&](int symbol) {
    return names[static_cast<size_t>(symbol)] == output.declared[axis].symbol;
  });
  return order;
}

// The rank of an output that has one shape of it at every probe.
std::optional<size_t> CommonRank(const std::vector<Probe>& probes, size_t output) {
  std::optional<size_t> rank;
  for (const Probe& probe : probes) {
    if (!probe.outputs[output]) return std::nullopt;
    const auto here = static_cast<size_t>(probe.outputs[output]->rank());
    if (rank && *rank != here) return std::nullopt;
    rank = here;
  }
  return rank;
}

std::vector<Extent> Begin(const Graph& graph, const std::vector<Probe>& probes,
                          const std::vector<std::string>& names) {
  std::vector<Extent> extents;
  for (size_t output = 0; output < graph.outputs.size(); ++output) {
    const std::optional<size_t> rank = CommonRank(probes, output);
    for (size_t axis = 0; rank && axis < *rank; ++axis) {
      Extent extent;
      extent.output = output;
      extent.axis = axis;
      extent.rank = static_cast<int>(*rank);
      extent.order = OrderFor(graph.at(graph.outputs[output]), *rank, axis, names);
      for (const Probe& probe : probes) {
        extent.samples.push_back({probe.sizes, *At(probe, extent)});
      }
      extent.formula = FitExtent(extent.samples, extent.order);
      extents.push_back(std::move(extent));
    }
  }
  return extents;
}

// True where something contradicted a formula.
bool Confirm(const std::vector<Probe>& probes, Extent& extent) {
  bool agrees = true;
  for (const Probe& probe : probes) {
    const std::optional<int64_t> seen = At(probe, extent);
    if (!seen) continue;
    extent.samples.push_back({probe.sizes, *seen});
    agrees &= EvaluateExtent(*extent.formula, probe.sizes) == *seen;
    ++extent.confirmations;
  }
  if (agrees) return false;
  extent.formula = FitExtent(extent.samples, extent.order);
  extent.confirmations = 0;
  return true;
}

Dim Describe(const Value& output, size_t rank, const Extent& extent,
             const std::vector<std::string>& names) {
  if (extent.formula && extent.confirmations >= kFewestConfirmations) {
    if (extent.formula->term.first < 0) return {extent.formula->offset, ""};
    return {-1, ExtentText(*extent.formula, names)};
  }
  return output.declared.size() == rank ? output.declared[extent.axis] : Dim{};
}

}  // namespace

std::vector<OutputExtents> FindOutputExtents(const Graph& graph,
                                             const std::vector<DimRange>& ranges,
                                             const ConstantEvaluator& evaluator) {
  std::vector<OutputExtents> outputs(graph.outputs.size());
  Prober prober(graph, ranges, evaluator);
  if (prober.names().empty()) return outputs;
  const std::vector<Probe> probes = prober.First();
  std::vector<Extent> extents = Begin(graph, probes, prober.names());
  for (int round = 0; round < kRounds && !extents.empty(); ++round) {
    const std::vector<Probe> fresh = prober.Fresh();
    bool changed = false;
    for (Extent& extent : extents) changed |= extent.formula && Confirm(fresh, extent);
    if (!changed) break;
  }
  for (size_t output = 0; output < outputs.size(); ++output) {
    const std::optional<size_t> rank = CommonRank(probes, output);
    outputs[output].is_found = rank.has_value();
    for (const Extent& extent : extents) {
      if (extent.output != output) continue;
      outputs[output].dims.push_back(
          Describe(graph.at(graph.outputs[output]), *rank, extent, prober.names()));
    }
  }
  return outputs;
}

}  // namespace berth
