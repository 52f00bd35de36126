#include "runtime/bundle/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace berth {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string Reason(int error) { return std::error_code(error, std::generic_category()).message(); }

}  // namespace

absl::StatusOr<std::unique_ptr<FileMapping>> FileMapping::Open(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return NotFound("cannot open '{}': {}", path, Reason(errno));
  struct stat info;
  if (fstat(file.get(), &info) != 0) {
    return FailedPrecondition("cannot read '{}': {}", path, Reason(errno));
  }
  if (S_ISDIR(info.st_mode)) return FailedPrecondition("'{}' is a directory", path);
  if (!S_ISREG(info.st_mode)) return FailedPrecondition("'{}' is not a regular file", path);
  if (info.st_size == 0) return DataLoss("'{}' is empty (0 bytes)", path);
  const size_t size_bytes = static_cast<size_t>(info.st_size);
  void* data = mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) return FailedPrecondition("cannot map '{}': {}", path, Reason(errno));
  return std::unique_ptr<FileMapping>(
      new FileMapping({static_cast<const std::byte*>(data), size_bytes}));
}

void FileMapping::ReleasePages() const {
  madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

FileMapping::~FileMapping() { munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

}  // namespace berth
