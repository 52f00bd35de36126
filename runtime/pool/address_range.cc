#include "runtime/pool/address_range.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/checked_math.h"

namespace berth {
namespace {

constexpr int64_t kOpenBytes = 256 * 1024 * 1024;

class HostRange : public AddressRange {
 public:
  HostRange(std::byte* base, int64_t size_bytes, int64_t page_bytes)
      : base_(base),
        size_bytes_(size_bytes),
        page_bytes_(page_bytes),
        is_open_(static_cast<size_t>(CeilDiv(size_bytes, kOpenBytes))) {}
  HostRange(const HostRange&) = delete;
  HostRange& operator=(const HostRange&) = delete;
  ~HostRange() override { munmap(base_, static_cast<size_t>(size_bytes_)); }

  std::byte* base() const override { return base_; }
  int64_t size_bytes() const override { return size_bytes_; }
  int64_t page_bytes() const override { return page_bytes_; }

  // Memory comes with the first touch of a page; what is asked of the system here is access, in
  // large pieces and once, since that costs a microsecond each time.
  absl::Status Commit(int64_t offset_bytes, int64_t size_bytes) override {
    for (int64_t piece = offset_bytes / kOpenBytes;
         piece <= (offset_bytes + size_bytes - 1) / kOpenBytes; ++piece) {
      std::atomic<bool>& is_open = is_open_[static_cast<size_t>(piece)];
      if (is_open.load(std::memory_order_relaxed)) continue;
      const int64_t begin_bytes = piece * kOpenBytes;
      const int64_t open_bytes = std::min(kOpenBytes, size_bytes_ - begin_bytes);
      if (mprotect(base_ + begin_bytes, static_cast<size_t>(open_bytes), PROT_READ | PROT_WRITE) !=
          0) {
        return ResourceExhausted("dynamic pool: cannot commit {} bytes: {}", size_bytes,
                                 std::strerror(errno));
      }
      is_open.store(true, std::memory_order_relaxed);
    }
    return absl::OkStatus();
  }

  void Release(int64_t offset_bytes, int64_t size_bytes) override {
    madvise(base_ + offset_bytes, static_cast<size_t>(size_bytes), MADV_DONTNEED);
  }

 private:
  std::byte* base_;
  int64_t size_bytes_;
  int64_t page_bytes_;
  std::vector<std::atomic<bool>> is_open_;  // by piece
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
