#include "planner/fit_extent.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <set>

#include "base/status.h"

namespace berth {
namespace {

constexpr size_t kFewestSamples = 6;
constexpr size_t kFewestSizes = 8;  // of x, where a division is to be told from others
constexpr int64_t kLargestFactor = int64_t{1} << 16;
constexpr int64_t kLargestNumber = int64_t{1} << 40;  // products of it with the factors stay exact

int64_t FloorOf(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
int64_t CeilOf(int64_t a, int64_t b) { return -FloorOf(-a, b); }

int64_t TermAt(const ExtentTerm& term, const std::vector<int64_t>& sizes) {
  if (term.first < 0) return 0;
  const int64_t first = sizes[static_cast<size_t>(term.first)];
  if (term.second < 0) return first;
  const int64_t second = sizes[static_cast<size_t>(term.second)];
  return term.is_product ? first * second : first + second;
}

// What was observed, over one term.
class Observed {
 public:
  Observed(const std::vector<ExtentSample>& samples, const ExtentTerm& term) : term_(term) {
    for (const ExtentSample& sample : samples) {
      points_.push_back({TermAt(term, sample.sizes), sample.extent});
    }
    std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
      return a.x != b.x ? a.x < b.x : a.extent < b.extent;
    });
  }

  // One extent for one x, and numbers that can be reckoned with.
  bool IsFunction() const {
    for (size_t i = 0; i < points_.size(); ++i) {
      if (points_[i].x > kLargestNumber || points_[i].extent > kLargestNumber) return false;
      if (i == 0 || points_[i].x != points_[i - 1].x) continue;
      if (points_[i].extent != points_[i - 1].extent) return false;
    }
    return points_.back().x > points_.front().x;
  }

  std::optional<ExtentFormula> FitLine() const {
    const int64_t span = points_.back().x - points_.front().x;
    const int64_t rise = points_.back().extent - points_.front().extent;
    if (rise % span != 0 || std::abs(rise / span) > kLargestFactor) return std::nullopt;
    ExtentFormula formula{term_};
    formula.factor = rise / span;
    formula.offset = points_.front().extent - formula.factor * points_.front().x;
    const bool agrees = std::all_of(points_.begin(), points_.end(), [&](const Point& point) {
      return formula.factor * point.x + formula.offset == point.extent;
    });
    return agrees ? std::optional(formula) : std::nullopt;
  }

  std::optional<ExtentFormula> FitDivision() const {
    std::set<int64_t> sizes;
    int64_t step = 0;  // all extents are equal modulo this
    for (const Point& point : points_) {
      sizes.insert(point.x);
      step = std::gcd(step, point.extent - points_.front().extent);
    }
    if (sizes.size() < kFewestSizes) return std::nullopt;
    for (int64_t divisor = 2; divisor <= ExtentFormula::kLargestDivisor; ++divisor) {
      for (int64_t scale = 1; scale <= ExtentFormula::kLargestDivisor; ++scale) {
        if (step % scale != 0) continue;
        if (auto formula = FitFactor(scale, divisor)) return formula;
      }
    }
    return std::nullopt;
  }

 private:
  struct Point {
    int64_t x = 0, extent = 0;
  };

  // The rise over the whole span leaves few factors.
  std::optional<ExtentFormula> FitFactor(int64_t scale, int64_t divisor) const {
    const int64_t span = points_.back().x - points_.front().x;
    const int64_t rise = (points_.back().extent - points_.front().extent) / scale;
    if (rise <= 0) return std::nullopt;
    const int64_t least = std::max<int64_t>(1, CeilOf((rise - 1) * divisor, span));
    const int64_t most = FloorOf((rise + 1) * divisor, span);
    for (int64_t factor = least; factor <= std::min(most, kLargestFactor); ++factor) {
      if (std::gcd(factor, divisor) != 1) continue;
      if (auto formula = FitShift(scale, factor, divisor)) return formula;
    }
    return std::nullopt;
  }

  // Each observation leaves an interval of shifts.
  std::optional<ExtentFormula> FitShift(int64_t scale, int64_t factor, int64_t divisor) const {
    ExtentFormula formula{term_, scale, factor, 0, divisor, points_.front().extent % scale};
    int64_t least = std::numeric_limits<int64_t>::min();
    int64_t most = std::numeric_limits<int64_t>::max();
    for (const Point& point : points_) {
      const int64_t floor = (point.extent - formula.offset) / scale;
      const int64_t begin = divisor * floor - factor * point.x;
      least = std::max(least, begin);
      most = std::min(most, begin + divisor - 1);
    }
    if (least > most) return std::nullopt;
    formula.shift = std::clamp<int64_t>(0, least, most);
    return formula;
  }

  ExtentTerm term_;
  std::vector<Point> points_;
};

std::vector<ExtentTerm> TermsInOrder(const std::vector<int>& order) {
  std::vector<ExtentTerm> terms;
  for (const int symbol : order) terms.push_back({symbol});
  for (const bool is_product : {true, false}) {
    for (size_t i = 0; i < order.size(); ++i) {
      for (size_t k = i + 1; k < order.size(); ++k) {
        terms.push_back({order[i], order[k], is_product});
      }
    }
  }
  return terms;
}

std::string WithSummand(const std::string& text, int64_t summand) {
  if (summand == 0) return text;
  return fmt::format("{}{:+}", text, summand);
}

std::string TermText(const ExtentTerm& term, const std::vector<std::string>& names) {
  const std::string& first = names[static_cast<size_t>(term.first)];
  if (term.second < 0) return first;
  const std::string& second = names[static_cast<size_t>(term.second)];
  return term.is_product ? fmt::format("{}*{}", first, second)
                         : fmt::format("({}+{})", first, second);
}

std::string Times(int64_t factor, const std::string& text) {
  return factor == 1 ? text : fmt::format("{}*{}", factor, text);
}

}  // namespace

std::optional<ExtentFormula> FitExtent(const std::vector<ExtentSample>& samples,
                                       const std::vector<int>& order) {
  if (samples.size() < kFewestSamples) return std::nullopt;
  const bool is_constant = std::all_of(
      samples.begin(), samples.end(),
      [&](const ExtentSample& sample) { return sample.extent == samples.front().extent; });
  if (is_constant) return ExtentFormula{{}, 1, 0, 0, 1, samples.front().extent};
  std::vector<Observed> functions;
  for (const ExtentTerm& term : TermsInOrder(order)) {
    Observed observed(samples, term);
    if (observed.IsFunction()) functions.push_back(std::move(observed));
  }
  for (const Observed& observed : functions) {
    if (auto formula = observed.FitLine()) return formula;
  }
  for (const Observed& observed : functions) {
    if (auto formula = observed.FitDivision()) return formula;
  }
  return std::nullopt;
}

int64_t EvaluateExtent(const ExtentFormula& formula, const std::vector<int64_t>& sizes) {
  const int64_t x = TermAt(formula.term, sizes);
  return formula.scale * FloorOf(formula.factor * x + formula.shift, formula.divisor) +
         formula.offset;
}

std::string ExtentText(const ExtentFormula& formula, const std::vector<std::string>& names) {
  if (formula.term.first < 0) return std::to_string(formula.offset);
  std::string text = Times(formula.factor, TermText(formula.term, names));
  if (formula.divisor > 1) {
    const std::string shifted = WithSummand(text, formula.shift);
    text = formula.shift == 0 ? fmt::format("floor({}/{})", text, formula.divisor)
                              : fmt::format("floor(({})/{})", shifted, formula.divisor);
    text = Times(formula.scale, text);
  }
  if (formula.offset == 0) return text;
  return fmt::format("({})", WithSummand(text, formula.offset));
}

}  // namespace berth
