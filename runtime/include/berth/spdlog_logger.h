// A Logger that tells a spdlog logger of the host's. Nothing of Berth includes this: who does,
// links spdlog. spdlog's default logger is never touched.
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <string_view>
#include <utility>

#include "base/log.h"

namespace berth {

inline spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kOff:
      return spdlog::level::off;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kDebug:
      return spdlog::level::debug;
  }
  return spdlog::level::off;
}

// At `level` and graver, and as the logger's own level lets through. Silent for null.
inline Logger LogTo(std::shared_ptr<spdlog::logger> logger, LogLevel level = LogLevel::kInfo) {
  if (logger == nullptr) return {};
  return {level, [logger = std::move(logger)](LogLevel told, std::string_view message) {
            logger->log(SpdlogLevel(told), spdlog::string_view_t(message.data(), message.size()));
          }};
}

}  // namespace berth
