// A file mapped read-only.
#pragma once

#include <memory>
#include <string>

#include "absl/types/span.h"
#include "base/status.h"

namespace berth {

class FileMapping {
 public:
  // NotFound for a missing file, FailedPrecondition for what is not a readable regular file,
  // DataLoss for an empty one.
  static absl::StatusOr<std::unique_ptr<FileMapping>> Open(const std::string& path);
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  absl::Span<const std::byte> bytes() const { return bytes_; }
  // Nothing of it is resident any more; what is touched comes back from the file. A page that was
  // looked at may have brought megabytes of its neighbours with it.
  void ReleasePages() const;

 private:
  explicit FileMapping(absl::Span<const std::byte> bytes) : bytes_(bytes) {}
  absl::Span<const std::byte> bytes_;
};

}  // namespace berth
