#include "tools/closest_names.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace berth {
namespace {

constexpr size_t kComparedBytes = 100;

std::string Compared(const std::string& name) {
  std::string compared = name.substr(0, kComparedBytes);
  for (char& c : compared) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return compared;
}

// Insertions, deletions and substitutions (Levenshtein), one row at a time.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, substituted}));
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> ClosestNames(const std::vector<std::string>& names,
                                      const std::string& name, size_t limit) {
  const std::string wanted = Compared(name);
  std::vector<std::pair<std::pair<bool, size_t>, std::string>> ranked;
  for (const std::string& candidate : names) {
    const std::string compared = Compared(candidate);
    const bool contains = !wanted.empty() && compared.find(wanted) != std::string::npos;
    ranked.push_back({{!contains, EditDistance(wanted, compared)}, candidate});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> closest;
  for (size_t i = 0; i < ranked.size() && i < limit; ++i) closest.push_back(ranked[i].second);
  return closest;
}

}  // namespace berth
