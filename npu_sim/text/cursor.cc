#include "npu_sim/text/cursor.h"

#include <bit>
#include <cstdint>

namespace berth::program_text {
namespace {

constexpr size_t kMostShown = 32;  // bytes of what was found, in a message

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool IsNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '?';
}

}  // namespace

bool Cursor::AtLineEnd() {
  while (position_ < line_.size() && IsBlank(line_[position_])) ++position_;
  const bool is_word_begin = position_ == 0 || IsBlank(line_[position_ - 1]);
  return position_ == line_.size() || (is_word_begin && line_[position_] == '#');
}

bool Cursor::AtWordEnd() const { return position_ == line_.size() || IsBlank(line_[position_]); }

bool Cursor::AtDigit() const {
  return position_ < line_.size() && line_[position_] >= '0' && line_[position_] <= '9';
}

bool Cursor::Take(std::string_view literal) {
  if (!At(literal)) return false;
  position_ += literal.size();
  return true;
}

absl::Status Cursor::Expect(std::string_view literal) {
  if (Take(literal)) return absl::OkStatus();
  return Fail(fmt::format("{}, expected '{}'", Found(), literal));
}

absl::Status Cursor::ExpectWordEnd() const {
  if (AtWordEnd()) return absl::OkStatus();
  return Fail(fmt::format("{}, expected a blank", Found()));
}

std::string_view Cursor::TakeName() {
  const size_t begin = position_;
  while (position_ < line_.size() && IsNamePart(line_[position_])) ++position_;
  return line_.substr(begin, position_ - begin);
}

absl::StatusOr<float> Cursor::TakeFloat() {
  if (At("0x")) {
    BERTH_ASSIGN_OR_RETURN(const uint32_t bits, TakeInteger<uint32_t>());
    return std::bit_cast<float>(bits);
  }
  const std::string_view rest = Rest();
  float value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error == std::errc::result_out_of_range) {
    return Fail(fmt::format("{} is no float32", Found()));
  }
  // "inf" and "nan" are given by their bits.
  const bool is_word = !rest.empty() && rest.substr(rest.front() == '-').find_first_of("iInN") == 0;
  if (error != std::errc() || is_word) return Fail(fmt::format("{}, expected a number", Found()));
  position_ = static_cast<size_t>(end - line_.data());
  return value;
}

absl::Status Cursor::FailAt(size_t position, std::string_view what) const {
  return InvalidArgument("line {}, column {}: {}", line_number_, position + 1, what);
}

std::string Cursor::Found() const {
  if (position_ == line_.size()) return "the end of the line";
  if (AtWordEnd()) return "a blank";
  std::string_view found = Rest().substr(0, kMostShown);
  found = found.substr(0, found.find_first_of(" \t\r"));
  return fmt::format("'{}'", found);
}

}  // namespace berth::program_text
