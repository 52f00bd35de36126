#include "planner/pool/csv.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <limits>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"

namespace berth {
namespace {

enum class Column : uint8_t { kId, kLower, kUpper, kEnd, kSize, kAlignment, kOffset, kHint };

struct ColumnName {
  std::string_view text;
  Column column;
};
constexpr ColumnName kColumnNames[] = {
    {"id", Column::kId},       {"lower", Column::kLower},         {"start", Column::kLower},
    {"begin", Column::kLower}, {"upper", Column::kUpper},         {"end", Column::kEnd},
    {"size", Column::kSize},   {"alignment", Column::kAlignment}, {"offset", Column::kOffset},
    {"hint", Column::kHint}};

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> SplitCells(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const size_t comma = line.find(',');
    cells.push_back(Trim(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

absl::StatusOr<Column> ColumnFromName(std::string_view text) {
  for (const ColumnName& name : kColumnNames) {
    if (name.text == text) return name.column;
  }
  return InvalidArgument(
      "line 1: unknown column '{}' (known: id, lower, upper, end, size, alignment, offset, hint)",
      text);
}

class Header {
 public:
  static absl::StatusOr<Header> Parse(std::string_view line) {
    Header header;
    for (std::string_view name : SplitCells(line)) {
      BERTH_ASSIGN_OR_RETURN(const Column column, ColumnFromName(name));
      if (header.Find(column)) return InvalidArgument("line 1: column '{}' comes twice", name);
      header.columns_.push_back(column);
    }
    if (header.Find(Column::kUpper) && header.Find(Column::kEnd)) {
      return InvalidArgument("line 1: both 'upper' and 'end' are given");
    }
    if (!header.Find(Column::kUpper) && !header.Find(Column::kEnd)) {
      return InvalidArgument("line 1: there is no column 'upper' (or 'end')");
    }
    constexpr ColumnName kRequired[] = {
        {"id", Column::kId}, {"lower", Column::kLower}, {"size", Column::kSize}};
    for (const ColumnName& name : kRequired) {
      if (!header.Find(name.column)) {
        return InvalidArgument("line 1: there is no column '{}'", name.text);
      }
    }
    return header;
  }

  std::optional<size_t> Find(Column column) const {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] == column) return i;
    }
    return std::nullopt;
  }
  const std::vector<Column>& columns() const { return columns_; }

 private:
  std::vector<Column> columns_;
};

std::string_view NameOf(Column column) {
  for (const ColumnName& name : kColumnNames) {
    if (name.column == column) return name.text;
  }
  return "";
}

absl::StatusOr<int64_t> ParseNumber(std::string_view cell) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error == std::errc::result_out_of_range) return InvalidArgument("'{}' leaves int64", cell);
  if (error != std::errc() || end != cell.data() + cell.size()) {
    return InvalidArgument("'{}' is not an integer", cell);
  }
  return value;
}

absl::Status SetField(Column column, std::string_view cell, PoolItem* item) {
  if (column == Column::kId) {
    if (cell.empty()) return InvalidArgument("the id is empty");
    item->name = std::string(cell);
    return absl::OkStatus();
  }
  const bool may_be_empty =
      column == Column::kAlignment || column == Column::kOffset || column == Column::kHint;
  if (cell.empty() && may_be_empty) return absl::OkStatus();
  BERTH_ASSIGN_OR_RETURN(const int64_t value, ParseNumber(cell));
  switch (column) {
    case Column::kId:
      break;
    case Column::kLower:
      item->begin_step = value;
      break;
    case Column::kUpper:
      item->end_step = value;
      break;
    case Column::kEnd:
      if (value == std::numeric_limits<int64_t>::max()) {
        return InvalidArgument("{} leaves no step after it", value);
      }
      item->end_step = value + 1;
      break;
    case Column::kSize:
      item->size_bytes = value;
      break;
    case Column::kAlignment:
      item->alignment_bytes = value;
      break;
    case Column::kOffset:
      item->fixed_offset_bytes = value;
      break;
    case Column::kHint:
      item->hint_offset_bytes = value;
      break;
  }
  return absl::OkStatus();
}

absl::StatusOr<PoolItem> ParseRow(const Header& header, std::string_view line) {
  const std::vector<std::string_view> cells = SplitCells(line);
  const std::vector<Column>& columns = header.columns();
  if (cells.size() != columns.size()) {
    return InvalidArgument("{} cells, the header has {}", cells.size(), columns.size());
  }
  PoolItem item;
  for (size_t i = 0; i < cells.size(); ++i) {
    const absl::Status status = SetField(columns[i], cells[i], &item);
    if (!status.ok()) return Annotate(status, fmt::format("column '{}'", NameOf(columns[i])));
  }
  return item;
}

std::string Cell(const std::optional<int64_t>& value) {
  return value ? std::to_string(*value) : std::string();
}

}  // namespace

absl::StatusOr<PoolProblem> ParsePoolCsv(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  PoolProblem problem;
  std::optional<Header> header;
  absl::flat_hash_map<std::string, int64_t> line_of_id;
  for (int64_t line_number = 1; !text.empty(); ++line_number) {
    const size_t newline = text.find('\n');
    const std::string_view line = Trim(text.substr(0, newline));
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (!header) {
      BERTH_ASSIGN_OR_RETURN(header, Header::Parse(line));
      continue;
    }
    if (line.empty()) continue;
    const std::string where = fmt::format("line {}", line_number);
    absl::StatusOr<PoolItem> item = ParseRow(*header, line);
    if (!item.ok()) return Annotate(item.status(), where);
    item->id = static_cast<int64_t>(problem.items.size());
    const auto [entry, is_new] = line_of_id.try_emplace(item->name, line_number);
    if (!is_new) {
      return InvalidArgument("{}: id '{}' was given on line {} already", where, item->name,
                             entry->second);
    }
    problem.items.push_back(*std::move(item));
  }
  if (!header) return InvalidArgument("line 1: the file is empty, a header is needed");
  return problem;
}

std::string FormatPoolCsv(const PoolProblem& problem, const PoolPlan& plan) {
  bool has_alignment = false, has_hint = false;
  for (const PoolItem& item : problem.items) {
    has_alignment = has_alignment || item.alignment_bytes != 1;
    has_hint = has_hint || item.hint_offset_bytes.has_value();
  }
  std::string text = fmt::format("id,lower,upper,size{}{},offset\n",
                                 has_alignment ? ",alignment" : "", has_hint ? ",hint" : "");
  for (size_t i = 0; i < problem.items.size(); ++i) {
    const PoolItem& item = problem.items[i];
    const std::string id = item.name.empty() ? std::to_string(item.id) : item.name;
    fmt::format_to(std::back_inserter(text), "{},{},{},{}", id, item.begin_step, item.end_step,
                   item.size_bytes);
    if (has_alignment) fmt::format_to(std::back_inserter(text), ",{}", item.alignment_bytes);
    if (has_hint) fmt::format_to(std::back_inserter(text), ",{}", Cell(item.hint_offset_bytes));
    fmt::format_to(std::back_inserter(text), ",{}\n", plan.offset_bytes[i]);
  }
  return text;
}

}  // namespace berth
