#include "kernels/ops/einsum_equation.h"

#include <algorithm>
#include <map>
#include <optional>

namespace berth {
namespace {

constexpr size_t kMostCharacters = 1000;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Terms before they meet shapes: letters before and behind an ellipsis.
struct Term {
  std::string before, behind;
  bool has_ellipsis = false;
};

absl::StatusOr<Term> ParseTerm(std::string_view text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "..." && !term.has_ellipsis) {
      term.has_ellipsis = true;
      i += 2;
    } else if (IsLetter(text[i])) {
      (term.has_ellipsis ? term.behind : term.before) += text[i];
    } else {
      return InvalidArgument("equation term '{}' is not one of letters and one ellipsis", text);
    }
  }
  return term;
}

EinsumLabels LabelsOf(const Term& term, int ellipsis_axes) {
  EinsumLabels labels(term.before.begin(), term.before.end());
  for (int i = ellipsis_axes; i-- > 0;) labels.push_back(i);
  labels.insert(labels.end(), term.behind.begin(), term.behind.end());
  return labels;
}

// Without an arrow: the ellipsis, then the letters that stand once, in alphabetical order.
EinsumLabels ImplicitResult(const std::vector<EinsumLabels>& operands, int ellipsis_axes) {
  std::map<int, int> uses;
  for (const EinsumLabels& labels : operands) {
    for (const int label : labels) ++uses[label];
  }
  EinsumLabels result;
  for (int i = ellipsis_axes; i-- > 0;) result.push_back(i);
  for (const auto& [label, count] : uses) {
    if (count == 1 && label >= ellipsis_axes) result.push_back(label);
  }
  return result;
}

absl::Status CheckResult(const EinsumEquation& equation) {
  for (size_t i = 0; i < equation.result.size(); ++i) {
    const int label = equation.result[i];
    const bool twice = std::count(equation.result.begin(), equation.result.end(), label) > 1;
    const bool known = std::any_of(
        equation.operands.begin(), equation.operands.end(), [label](const EinsumLabels& labels) {
          return std::find(labels.begin(), labels.end(), label) != labels.end();
        });
    if (twice || !known) {
      return InvalidArgument("axis {} of the equation's result {}", i,
                             twice ? "stands twice" : "is in no operand");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<EinsumEquation> ParseEinsum(std::string_view equation,
                                           const std::vector<Shape>& shapes) {
  std::string text;
  for (const char c : equation) {
    if (c != ' ') text += c;
  }
  if (text.size() > kMostCharacters) return InvalidArgument("equation of {} letters", text.size());
  std::optional<std::string> result_text;
  if (const size_t arrow = text.find("->"); arrow != std::string::npos) {
    result_text = text.substr(arrow + 2);
    text.resize(arrow);
  }
  std::vector<Term> terms;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    BERTH_ASSIGN_OR_RETURN(Term term, ParseTerm(std::string_view(text).substr(begin, end - begin)));
    terms.push_back(std::move(term));
    begin = end + 1;
  }
  if (terms.size() != shapes.size()) {
    return InvalidArgument("the equation has {} terms for {} inputs", terms.size(), shapes.size());
  }
  EinsumEquation parsed;
  int most_ellipsis_axes = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const int letters = static_cast<int>(terms[i].before.size() + terms[i].behind.size());
    const int ellipsis_axes = shapes[i].rank() - letters;
    if (ellipsis_axes < 0 || (ellipsis_axes > 0 && !terms[i].has_ellipsis)) {
      return InvalidArgument("term {} of the equation names {} axes, input {} has shape {}", i,
                             letters, i, shapes[i].ToString());
    }
    parsed.operands.push_back(LabelsOf(terms[i], ellipsis_axes));
    most_ellipsis_axes = std::max(most_ellipsis_axes, ellipsis_axes);
  }
  if (!result_text) {
    parsed.result = ImplicitResult(parsed.operands, most_ellipsis_axes);
  } else {
    BERTH_ASSIGN_OR_RETURN(const Term term, ParseTerm(*result_text));
    parsed.result = LabelsOf(term, term.has_ellipsis ? most_ellipsis_axes : 0);
  }
  BERTH_RETURN_IF_ERROR(CheckResult(parsed));
  return parsed;
}

}  // namespace berth
