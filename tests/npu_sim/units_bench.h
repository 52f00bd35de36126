// A machine's memories with random operands in them, for tests of npu_sim/units.
//
// Every byte that no operand owns holds 0xff (a NaN in every float dtype), so a read beside an
// operand shows in the result; a run checks that only the bytes that npu_sim/access.h lists as
// written have changed, and that the scratch is not overrun. The seed also chooses the instruction
// set of the vector kernels: seeds 1 and 2 modulo 4 run those of AVX2 and of plain C++.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "base/dtype.h"
#include "hwy/targets.h"
#include "npu_sim/access.h"
#include "npu_sim/units.h"

namespace berth {

using Extents = std::array<int64_t, 4>;

inline double AsDouble(DType dtype, const std::byte* p) {
  double result = 0;
  VisitDType(dtype, [&]<typename T>() {
    T value;
    std::memcpy(&value, p, sizeof(T));
    if constexpr (std::is_arithmetic_v<T>)
      result = static_cast<double>(value);
    else
      result = static_cast<float>(value);
  });
  return result;
}

inline int64_t AsInt(DType dtype, const std::byte* p) {
  int64_t result = 0;
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      T value;
      std::memcpy(&value, p, sizeof(T));
      result = static_cast<int64_t>(value);
    }
  });
  return result;
}

inline void StoreValue(DType dtype, double value, std::byte* p) {
  VisitDType(dtype, [&]<typename T>() {
    T stored;
    if constexpr (std::is_arithmetic_v<T>)
      stored = static_cast<T>(value);
    else
      stored = static_cast<T>(static_cast<float>(value));
    std::memcpy(p, &stored, sizeof(T));
  });
}

// Calls f(i0, i1, i2, i3).
template <typename F>
void ForEachIndex(const Extents& e, F f) {
  for (int64_t i = 0; i < e[0]; ++i) {
    for (int64_t j = 0; j < e[1]; ++j) {
      for (int64_t k = 0; k < e[2]; ++k) {
        for (int64_t l = 0; l < e[3]; ++l) f(i, j, k, l);
      }
    }
  }
}

class UnitsBench {
 public:
  explicit UnitsBench(uint64_t seed) : random_(seed) {
    const int64_t targets = seed % 4 == 1 ? HWY_AVX2 : seed % 4 == 2 ? HWY_EMU128 : 0;
    UseTargets(targets != 0 && (hwy::SupportedTargets() & targets) == 0 ? 0 : targets);
  }
  ~UnitsBench() { UseTargets(0); }
  UnitsBench(const UnitsBench&) = delete;
  UnitsBench& operator=(const UnitsBench&) = delete;

  std::mt19937_64& random() { return random_; }
  int64_t Uniform(int64_t low, int64_t high) {  // inclusive
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool Coin() { return Uniform(0, 1) == 1; }
  double Real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  std::byte* At(const Operand& o, int64_t i = 0, int64_t j = 0, int64_t k = 0, int64_t l = 0) {
    return Memory(o.space).data() + o.offset_bytes + i * o.stride_bytes[0] + j * o.stride_bytes[1] +
           k * o.stride_bytes[2] + l * o.stride_bytes[3];
  }
  double Get(const Operand& o, int64_t i, int64_t j = 0, int64_t k = 0, int64_t l = 0) {
    return AsDouble(o.dtype, At(o, i, j, k, l));
  }
  int64_t GetInt(const Operand& o, int64_t i, int64_t j = 0, int64_t k = 0, int64_t l = 0) {
    return AsInt(o.dtype, At(o, i, j, k, l));
  }

  struct Layout {
    MemorySpace space = MemorySpace::kScratchpad;
    bool dense = false;                  // row-major without gaps
    std::array<bool, 4> broadcast = {};  // stride 0
  };
  // Space for extents `e`: dense, or with a random order of the loops and random gaps.
  Operand Place(DType dtype, Extents e, const Layout& layout) {
    Operand o;
    o.dtype = dtype;
    o.space = layout.space;
    std::array<size_t, 4> order = {3, 2, 1, 0};
    if (!layout.dense && Coin()) std::shuffle(order.begin(), order.end(), random_);
    int64_t stride = DTypeBytes(dtype);
    for (size_t loop : order) {
      if (layout.broadcast[loop]) e[loop] = 1;
      o.stride_bytes[loop] = layout.broadcast[loop] ? 0 : static_cast<int32_t>(stride);
      stride *= e[loop];
      if (!layout.dense && Uniform(0, 3) == 0) stride += DTypeBytes(dtype) * Uniform(0, 5);
    }
    int64_t& next = next_[static_cast<size_t>(layout.space)];
    next = (next + 63) / 64 * 64 + DTypeBytes(dtype) * Uniform(0, 3);
    o.offset_bytes = next;
    next += stride + 64;
    Memory(layout.space).resize(static_cast<size_t>(next), std::byte{0xff});
    return o;
  }
  // Random values in [low, high]: integers for integers.
  void Fill(const Operand& o, const Extents& e, double low, double high) {
    ForEachIndex(e, [&](int64_t i, int64_t j, int64_t k, int64_t l) {
      const double value =
          IsFloat(o.dtype)
              ? Real(low, high)
              : static_cast<double>(Uniform(static_cast<int64_t>(low), static_cast<int64_t>(high)));
      StoreValue(o.dtype, value, At(o, i, j, k, l));
    });
  }
  Operand PlaceFilled(DType dtype, const Extents& e, const Layout& layout, double low,
                      double high) {
    const Operand o = Place(dtype, e, layout);
    Fill(o, e, low, high);
    return o;
  }

  // Runs all parts in a shuffled order.
  absl::Status Run(const Command& command) {
    before_ = memories_;
    std::byte* regions[] = {Memory(MemorySpace::kDram).data()};
    const MemoryMap map{Memory(MemorySpace::kScratchpad).data(),
                        Memory(MemorySpace::kAccumulator).data(), regions};
    std::vector<int> parts(static_cast<size_t>(PartCount(command)));
    std::iota(parts.begin(), parts.end(), 0);
    std::shuffle(parts.begin(), parts.end(), random_);
    const auto scratch_bytes = static_cast<size_t>(ScratchBytes(command));
    std::vector<std::byte> scratch(scratch_bytes + 192, std::byte{0xff});
    auto address = reinterpret_cast<uintptr_t>(scratch.data());
    std::byte* aligned = scratch.data() + ((address + 63) / 64 * 64 - address);
    for (int part : parts) {
      absl::Status status =
          ExecuteCommand(command, part, map, {aligned, scratch_bytes}, host_functions);
      if (!status.ok()) return status;
      std::byte* guard = aligned + scratch_bytes;
      EXPECT_TRUE(std::all_of(guard, guard + 64, [](std::byte b) { return b == std::byte{0xff}; }))
          << "scratch overrun";
    }
    CheckWrites(command);
    return absl::OkStatus();
  }

  HostFunctionTable host_functions;

 private:
  static void UseTargets(int64_t targets) {  // 0: what the machine has
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
  }
  std::vector<std::byte>& Memory(MemorySpace space) {
    return memories_[static_cast<size_t>(space)];
  }

  void CheckWrites(const Command& command) {
    for (const Access& a : CollectAccesses(command)) {
      if (!a.is_write) continue;
      auto& before = before_[static_cast<size_t>(a.space)];
      const auto& after = Memory(a.space);
      ForEachIndex({a.extent[0], a.extent[1], a.extent[2], a.extent[3]}, [&](int64_t i, int64_t j,
                                                                             int64_t k, int64_t l) {
        const int64_t at = a.offset_bytes + i * a.stride_bytes[0] + j * a.stride_bytes[1] +
                           k * a.stride_bytes[2] + l * a.stride_bytes[3];
        std::copy_n(after.begin() + at, a.run_bytes, before.begin() + at);
      });
    }
    EXPECT_TRUE(before_ == memories_) << "wrote bytes that no access lists";
  }

  std::mt19937_64 random_;
  std::array<std::vector<std::byte>, 4> memories_, before_;
  std::array<int64_t, 4> next_ = {};
};

// Dense or scattered, perhaps with some loops broadcast.
inline UnitsBench::Layout RandomLayout(UnitsBench& bench, bool may_broadcast) {
  UnitsBench::Layout layout{MemorySpace::kScratchpad, bench.Coin()};
  for (bool& b : layout.broadcast) b = may_broadcast && bench.Uniform(0, 2) == 0;
  return layout;
}

// Sets the command's extents too.
inline Extents RandomExtents(UnitsBench& bench, Command& c) {
  Extents e;
  const int64_t limit = bench.Uniform(0, 9) == 0 ? 40 : 9;
  for (size_t i = 0; i < 4; ++i) {
    e[i] = bench.Uniform(1, limit);
    if (bench.Uniform(0, 5) == 0) e[i] = 1;
    c.extent[i] = static_cast<int32_t>(e[i]);
  }
  return e;
}

}  // namespace berth
