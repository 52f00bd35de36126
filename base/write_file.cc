#include "base/write_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace berth {

absl::Status WriteFile(const std::string& path, std::string_view bytes) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  bool ok = file != nullptr;
  if (ok) {
    ok = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    ok = std::fclose(file) == 0 && ok;
    ok = ok && std::rename(temporary.c_str(), path.c_str()) == 0;
  }
  if (ok) return absl::OkStatus();
  const int error = errno;
  if (file != nullptr) std::remove(temporary.c_str());
  return FailedPrecondition("cannot write '{}': {}", path,
                            std::error_code(error, std::generic_category()).message());
}

}  // namespace berth
