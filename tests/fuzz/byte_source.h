// Numbers out of a fuzzer's bytes; zeros when they are used up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace berth {

class ByteSource {
 public:
  ByteSource(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  template <typename T>
  T Take() {
    T value{};
    const size_t count = left_ < sizeof(T) ? left_ : sizeof(T);
    if (count > 0) std::memcpy(&value, data_, count);
    data_ += count;
    left_ -= count;
    return value;
  }
  bool empty() const { return left_ == 0; }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace berth
