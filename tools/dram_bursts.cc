#include "tools/dram_bursts.h"

#include <algorithm>

#include "base/checked_math.h"

namespace berth {
namespace {

constexpr int64_t kStreamBoundaryBytes = int64_t{1} << 30;
constexpr int64_t kRandomRangeBytes = int64_t{1} << 32;

// Unrelated numbers from consecutive ones (the finalizer of splitmix64).
uint64_t Scramble(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

int64_t SegmentCount(const DramStream& s, int64_t chunk_bytes) {
  switch (s.pattern) {
    case DramPattern::kRows:
      return CeilDiv(s.bytes, s.row_bytes);
    case DramPattern::kStreams:
      return CeilDiv(s.bytes, chunk_bytes) * s.streams;
    case DramPattern::kSequential:
    case DramPattern::kRandom:
      break;
  }
  return CeilDiv(s.bytes, chunk_bytes);
}

}  // namespace

DramBurstSource::DramBurstSource(const DramStream& stream, int64_t burst_bytes, int64_t page_bytes)
    : stream_(stream),
      burst_bytes_(burst_bytes),
      stream_distance_bytes_(kStreamBoundaryBytes + page_bytes),
      chunk_bytes_(DramChunkBytes(stream, burst_bytes)),
      segments_(SegmentCount(stream, chunk_bytes_)) {}

DramSegment DramBurstSource::Segment(int64_t index) const {
  const DramStream& s = stream_;
  const bool is_write = IsDramWrite(index, s.write_share);
  const auto chunk = [&](int64_t number) {
    const int64_t begin = number * chunk_bytes_;
    return DramSegment{begin, std::min(begin + chunk_bytes_, s.bytes), is_write};
  };
  switch (s.pattern) {
    case DramPattern::kSequential:
      return chunk(index);
    case DramPattern::kRows:
      return {index * s.pitch_bytes, index * s.pitch_bytes + s.row_bytes, is_write};
    case DramPattern::kStreams: {
      DramSegment segment = chunk(index / s.streams);
      const int64_t base_bytes = index % s.streams * stream_distance_bytes_;
      segment.begin_bytes += base_bytes;
      segment.end_bytes += base_bytes;
      segment.is_write = IsDramWrite(index % s.streams, s.write_share);
      return segment;
    }
    case DramPattern::kRandom:
      break;
  }
  const auto places = static_cast<uint64_t>(std::max<int64_t>(1, kRandomRangeBytes / chunk_bytes_));
  const auto place = static_cast<int64_t>(Scramble(static_cast<uint64_t>(index)) % places);
  return {place * chunk_bytes_, (place + 1) * chunk_bytes_, is_write};
}

bool DramBurstSource::Next(int64_t& address_bytes, bool& is_write) {
  if (address_bytes_ >= segment_.end_bytes) {
    if (next_segment_ == segments_) return false;
    segment_ = Segment(next_segment_++);
    address_bytes_ = segment_.begin_bytes / burst_bytes_ * burst_bytes_;
  }
  address_bytes = address_bytes_;
  is_write = segment_.is_write;
  address_bytes_ += burst_bytes_;
  (is_write ? write_bytes_ : read_bytes_) +=
      std::min(address_bytes_, segment_.end_bytes) - std::max(address_bytes, segment_.begin_bytes);
  return true;
}

}  // namespace berth
