// Logger: where a host wants to be told what happens. A value that is handed in; silent by default.
// Hot paths do not log.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace berth {

enum class LogLevel : uint8_t { kOff = 0, kError = 1, kWarning = 2, kInfo = 3, kDebug = 4 };

struct Logger {
  LogLevel level = LogLevel::kOff;  // this and what is graver
  // Called from any thread that works for the host, several at once.
  std::function<void(LogLevel level, std::string_view message)> sink;

  bool Wants(LogLevel wanted) const { return wanted <= level && sink != nullptr; }
};

// Formats only what the logger wants.
template <typename... Args>
void Log(const Logger& logger, LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (logger.Wants(level)) logger.sink(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace berth
