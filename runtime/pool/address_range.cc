#include "runtime/pool/address_range.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/checked_math.h"

namespace berth {
namespace {

class HostRange : public AddressRange {
 public:
  HostRange(std::byte* base, int64_t size_bytes, int64_t page_bytes)
      : base_(base), size_bytes_(size_bytes), page_bytes_(page_bytes) {}
  HostRange(const HostRange&) = delete;
  HostRange& operator=(const HostRange&) = delete;
  ~HostRange() override { munmap(base_, static_cast<size_t>(size_bytes_)); }

  std::byte* base() const override { return base_; }
  int64_t size_bytes() const override { return size_bytes_; }
  int64_t page_bytes() const override { return page_bytes_; }

  absl::Status Commit(int64_t offset_bytes, int64_t size_bytes) override {
    if (mprotect(base_ + offset_bytes, static_cast<size_t>(size_bytes), PROT_READ | PROT_WRITE) ==
        0) {
      return absl::OkStatus();
    }
    return ResourceExhausted("dynamic pool: cannot commit {} bytes: {}", size_bytes,
                             std::strerror(errno));
  }

  void Release(int64_t offset_bytes, int64_t size_bytes) override {
    // The pages go at once; that they are out of reach then only helps to find errors, so a
    // refusal (of the system, to split its mapping further) does no harm.
    madvise(base_ + offset_bytes, static_cast<size_t>(size_bytes), MADV_DONTNEED);
    mprotect(base_ + offset_bytes, static_cast<size_t>(size_bytes), PROT_NONE);
  }

 private:
  std::byte* base_;
  int64_t size_bytes_;
  int64_t page_bytes_;
};

class VirtualRange : public AddressRange {
 public:
  VirtualRange(int64_t size_bytes, int64_t page_bytes)
      : size_bytes_(size_bytes), page_bytes_(page_bytes) {}

  std::byte* base() const override { return nullptr; }
  int64_t size_bytes() const override { return size_bytes_; }
  int64_t page_bytes() const override { return page_bytes_; }
  absl::Status Commit(int64_t /*offset_bytes*/, int64_t /*size_bytes*/) override {
    return absl::OkStatus();
  }
  void Release(int64_t /*offset_bytes*/, int64_t /*size_bytes*/) override {}

 private:
  int64_t size_bytes_;
  int64_t page_bytes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AddressRange>> ReserveHostRange(int64_t size_bytes) {
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  constexpr int64_t kLargestRange = int64_t{1} << 46;  // half of what a process can address
  if (size_bytes <= 0 || size_bytes > kLargestRange) {
    return InvalidArgument("dynamic pool: a range of {} bytes, possible 1 to {}", size_bytes,
                           kLargestRange);
  }
  size_bytes = AlignUp(size_bytes, page_bytes);
  void* base = mmap(nullptr, static_cast<size_t>(size_bytes), PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return ResourceExhausted("dynamic pool: cannot reserve {} bytes of addresses: {}", size_bytes,
                             std::strerror(errno));
  }
  return std::make_unique<HostRange>(static_cast<std::byte*>(base), size_bytes, page_bytes);
}

std::unique_ptr<AddressRange> MakeVirtualRange(int64_t size_bytes, int64_t page_bytes) {
  return std::make_unique<VirtualRange>(AlignUp(size_bytes, page_bytes), page_bytes);
}

}  // namespace berth
