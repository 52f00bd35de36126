// A position in one line of a program's text: takes words and numbers from it, and says where and
// why it could not.
//
// Words are apart by blanks; one that begins with '#' starts a comment. Nothing is copied. Every
// error is InvalidArgument "line L, column C: ...".
#pragma once

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include "base/status.h"

namespace berth::program_text {

class Cursor {
 public:
  Cursor(std::string_view line, size_t line_number) : line_(line), line_number_(line_number) {}

  bool AtLineEnd();  // behind the last word; skips blanks
  bool AtWordEnd() const;
  bool At(std::string_view literal) const { return Rest().substr(0, literal.size()) == literal; }
  bool AtDigit() const;
  size_t position() const { return position_; }

  bool Take(std::string_view literal);
  absl::Status Expect(std::string_view literal);
  absl::Status ExpectWordEnd() const;
  // The longest run of letters, digits, '_', '.' and '?'; may be empty.
  std::string_view TakeName();
  // Decimal, or hexadecimal behind "0x".
  template <typename T>
  absl::StatusOr<T> TakeInteger() {
    return At("0x") ? TakeDigits<T>(16) : TakeDecimal<T>();
  }
  // Of a product such as "0x3", where 0 and 3 are two numbers.
  template <typename T>
  absl::StatusOr<T> TakeDecimal() {
    return TakeDigits<T>(10);
  }
  // Decimal, or its 32 bits behind "0x".
  absl::StatusOr<float> TakeFloat();

  absl::Status Fail(std::string_view what) const { return FailAt(position_, what); }
  absl::Status FailAt(size_t position, std::string_view what) const;
  // "'abc'" or "the end of the line": what stands at the position, for messages.
  std::string Found() const;

 private:
  template <typename T>
  absl::StatusOr<T> TakeDigits(int base);
  std::string_view Rest() const { return line_.substr(position_); }

  std::string_view line_;
  size_t line_number_ = 0;
  size_t position_ = 0;
};

template <typename T>
absl::StatusOr<T> Cursor::TakeDigits(int base) {
  const std::string_view digits = Rest().substr(base == 16 ? 2 : 0);
  const bool has_sign = base == 16 && digits.substr(0, 1) == "-";
  T value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error == std::errc() && !has_sign) {
    position_ = static_cast<size_t>(end - line_.data());
    return value;
  }
  return Fail(fmt::format(
      "{}{} [{}, {}]", Found(),
      error == std::errc::result_out_of_range ? " is outside" : ", expected an integer in",
      std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

}  // namespace berth::program_text
