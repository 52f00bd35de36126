// A formula for an extent that was observed at several sizes of the symbols that it may hang on:
//
//   scale * floor((factor * x + shift) / divisor) + offset,   x = s, s * t or s + t
//
// The simplest that agrees with every observation: a constant, then divisor 1 in the order of x
// above, then rising divisors. Convolutions, pools, concatenations, reshapes and resizes give such
// extents, and one of another gives one again, mostly.
// Complexity: samples x symbols^2, times kLargestDivisor for what divides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth {

struct ExtentSample {
  std::vector<int64_t> sizes;  // of the symbols
  int64_t extent = 0;
};

// Positions of symbols; -1: none. Without a first one x is 0.
struct ExtentTerm {
  int first = -1, second = -1;
  bool is_product = true;  // of the two; else their sum
};

struct ExtentFormula {
  static constexpr int64_t kLargestDivisor = 64;

  ExtentTerm term;
  int64_t scale = 1, factor = 1, shift = 0, divisor = 1, offset = 0;
};

// `order`: the symbols to consider, those that are to be preferred first. Nothing where no formula
// agrees, or too little was observed to tell.
std::optional<ExtentFormula> FitExtent(const std::vector<ExtentSample>& samples,
                                       const std::vector<int>& order);

int64_t EvaluateExtent(const ExtentFormula& formula, const std::vector<int64_t>& sizes);

// "N", "4*N", "(N+3)", "floor((H-1)/2)"; sums in parentheses, as it stands among other dimensions.
std::string ExtentText(const ExtentFormula& formula, const std::vector<std::string>& names);

}  // namespace berth
