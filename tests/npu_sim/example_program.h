// A small realistic program, made by hand: relu(A x B^T + bias) tile by tile with double-buffered
// loads, split along K, spilled to the pool, then sigmoid of the whole. Each operand fills its slot
// and each wait is needed, so that any single change breaks a rule.
#pragma once

#include <array>
#include <random>

#include "npu_sim/config.h"
#include "npu_sim/program.h"

namespace berth::testing_support {

class ProgramBuilder {
 public:
  static constexpr uint8_t kDma0 = 0, kDma1 = 1, kMatrix = 2, kVector = 3;

  explicit ProgramBuilder(int dma_channels = 2) { program_.engines = CoreEngines(dma_channels); }

  uint16_t Region(RegionKind kind, int64_t size_bytes) {
    program_.regions.push_back({size_bytes, kind, {}, 0});
    return static_cast<uint16_t>(program_.regions.size() - 1);
  }
  // The lease grows with the commands that use it.
  uint32_t Slot(MemorySpace space, int64_t offset_bytes, int64_t size_bytes, uint16_t region = 0) {
    berth::Slot slot;
    slot.space = space;
    slot.offset_bytes = offset_bytes;
    slot.size_bytes = size_bytes;
    slot.region = region;
    slot.name = static_cast<uint32_t>(program_.slots.size());
    program_.slots.push_back(slot);
    int64_t& used =
        space == MemorySpace::kAccumulator ? program_.accumulator_bytes : program_.scratchpad_bytes;
    if (space != MemorySpace::kDram) used = std::max(used, offset_bytes + size_bytes);
    return slot.name;
  }
  // A view of a slot from its first byte (plus `shift_bytes`).
  Operand InSlot(uint32_t slot, std::array<int32_t, 4> strides, int64_t shift_bytes = 0,
                 DType dtype = DType::kFloat32) const {
    const berth::Slot& s = program_.slots[slot];
    Operand operand = View(s.space, s.region, s.offset_bytes + shift_bytes, strides, dtype);
    operand.slot = slot;
    return operand;
  }
  static Operand View(MemorySpace space, uint16_t region, int64_t offset_bytes,
                      std::array<int32_t, 4> strides, DType dtype = DType::kFloat32) {
    Operand operand;
    operand.space = space;
    operand.region = region;
    operand.offset_bytes = offset_bytes;
    operand.dtype = dtype;
    for (size_t d = 0; d < 4; ++d) operand.stride_bytes[d] = strides[d];
    return operand;
  }
  static Command Make(Opcode opcode, uint8_t engine, std::array<int32_t, 4> extent,
                      const Operand& out, const Operand& in0) {
    Command command;
    command.opcode = opcode;
    command.engine = engine;
    for (size_t d = 0; d < 4; ++d) command.extent[d] = extent[d];
    command.out = out;
    command.in0 = in0;
    if (EngineOf(opcode) == EngineKind::kMatrix) command.params.matrix = MatrixParams{};
    return command;
  }
  void Add(Command command, std::initializer_list<Wait> waits = {}) {
    command.wait_begin = static_cast<uint32_t>(program_.waits.size());
    command.wait_count = static_cast<uint16_t>(waits.size());
    program_.waits.insert(program_.waits.end(), waits);
    const auto position = static_cast<uint32_t>(program_.commands.size());
    for (const Operand* o :
         {&command.out, &command.in0, &command.in1, &command.in2, &command.acc}) {
      if (!o->present() || o->slot >= program_.slots.size()) continue;
      berth::Slot& slot = program_.slots[o->slot];
      if (slot.end_command == 0) slot.begin_command = position;
      slot.end_command = position + 1;
    }
    program_.commands.push_back(command);
  }
  TileProgram Take() { return std::move(program_); }

 private:
  TileProgram program_;
};

// Rows of runs in a slot of `bytes`: some dense and large, some strided.
struct RandomRows {
  std::array<int32_t, 4> extent = {1, 1, 1, 1}, strides = {};
  int span_bytes = 0;  // may be more than fits

  RandomRows(std::mt19937& random, int bytes) {
    const bool dense = Pick(random, 0, 1) == 0;
    const int inner = dense ? Pick(random, 1, bytes / 2) : Pick(random, 1, 40);
    const int rows = dense ? 1 : Pick(random, 1, 6);
    const int inner_stride = dense ? 1 : Pick(random, 1, 3);
    const int stride = inner * inner_stride + Pick(random, 0, 600);
    extent = {1, 1, rows, inner};
    strides = {0, 0, stride, inner_stride};
    span_bytes = (rows - 1) * stride + inner * inner_stride;
  }
  static int Pick(std::mt19937& random, int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  }
  // Somewhere in the slot.
  Operand In(uint32_t slot, int bytes, const ProgramBuilder& builder, std::mt19937& random) const {
    return builder.InSlot(slot, strides, Pick(random, 0, bytes - span_bytes), DType::kInt8);
  }
};

inline TileProgram ExampleProgram() {
  using B = ProgramBuilder;
  constexpr int kTiles = 4, kRows = 16, kColumns = 16, kDepth = 16;  // per tile, float32
  constexpr int kTileBytes = kRows * kDepth * 4;
  constexpr auto kSpm = MemorySpace::kScratchpad;
  constexpr auto kDram = MemorySpace::kDram;
  const std::array<int32_t, 4> dense = {0, 0, kDepth * 4, 4};
  const std::array<int32_t, 4> left = {0, kDepth * 4, 0, 4}, right = {0, 0, kDepth * 4, 4};
  const std::array<int32_t, 4> result = {0, kColumns * 4, 4, 0};
  const std::array<int32_t, 4> tile = {1, 1, kRows, kDepth};
  B b;
  const uint16_t constants = b.Region(RegionKind::kConstants, 2 * kTileBytes + kColumns * 4);
  const uint16_t input = b.Region(RegionKind::kInput, kTiles * 2 * kTileBytes);
  const uint16_t output = b.Region(RegionKind::kOutput, kTiles * kTileBytes);
  const uint16_t pool = b.Region(RegionKind::kPool, 8192);
  const uint32_t spill = b.Slot(kDram, 1024, kTiles * kTileBytes, pool);
  const std::array<uint32_t, 2> weights = {b.Slot(kSpm, 0, kTileBytes),
                                           b.Slot(kSpm, kTileBytes, kTileBytes)};
  const uint32_t bias = b.Slot(kSpm, 2 * kTileBytes, kColumns * 4);
  const auto load = [&](uint32_t slot, uint16_t region, int64_t offset, int32_t pitch) {
    return B::Make(Opcode::kDmaLoad, B::kDma0, tile, b.InSlot(slot, dense),
                   B::View(kDram, region, offset, {0, 0, pitch, 4}));
  };
  for (int k = 0; k < 2; ++k)
    b.Add(load(weights[static_cast<size_t>(k)], constants, k * kTileBytes, kDepth * 4));
  b.Add(B::Make(Opcode::kDmaLoad, B::kDma0, {1, 1, 1, kColumns}, b.InSlot(bias, {0, 0, 0, 4}),
                B::View(kDram, constants, 2 * kTileBytes, {0, 0, 0, 4})));
  std::array<uint32_t, 2 * kTiles> halves{};
  const auto load_half = [&](uint32_t i) {  // half i % 2 of row tile i / 2
    halves[i] = b.Slot(kSpm, 4096 + (i % 2) * kTileBytes, kTileBytes);
    const Command command =
        load(halves[i], input, (i / 2) * 2 * kTileBytes + (i % 2) * kDepth * 4, 2 * kDepth * 4);
    if (i < 2) return b.Add(command);
    b.Add(command, {{B::kMatrix, i - 1}});
  };
  load_half(0);
  for (uint32_t t = 0; t < kTiles; ++t) {
    const uint32_t c = b.Slot(kSpm, 8192 + (t % 2) * kTileBytes, kTileBytes);
    const uint32_t d = b.Slot(kSpm, 12288 + (t % 2) * kTileBytes, kTileBytes);
    const uint32_t acc = b.Slot(MemorySpace::kAccumulator, (t % 2) * kTileBytes, kTileBytes);
    for (uint32_t k = 0; k < 2; ++k) {
      const uint32_t i = 2 * t + k;
      if (i + 1 < 2 * kTiles) load_half(i + 1);  // prefetched behind the computation
      Command gemm = B::Make(Opcode::kGemm, B::kMatrix, {1, kRows, kColumns, kDepth}, {},
                             b.InSlot(halves[i], left));
      gemm.in1 = b.InSlot(weights[k], right);
      gemm.acc = b.InSlot(acc, {});
      if (k == 0) {
        b.Add(gemm, {{B::kDma0, 4 + i}});
        continue;
      }
      gemm.in2 = b.InSlot(bias, {0, 0, 4, 0});
      gemm.out = b.InSlot(c, result);
      gemm.flags = kFlagAccumulate | kFlagWriteOut;
      if (t < 2) {
        b.Add(gemm, {{B::kDma0, 4 + i}});
      } else {
        b.Add(gemm, {{B::kDma0, 4 + i}, {B::kVector, t - 1}});
      }
    }
    Command relu =
        B::Make(Opcode::kUnary, B::kVector, tile, b.InSlot(d, dense), b.InSlot(c, dense));
    relu.params.vector.function = static_cast<uint8_t>(UnaryFunction::kRelu);
    if (t < 2) {
      b.Add(relu, {{B::kMatrix, 2 * t + 2}});
    } else {
      b.Add(relu, {{B::kMatrix, 2 * t + 2}, {B::kDma1, t - 1}});
    }
    b.Add(B::Make(Opcode::kDmaStore, B::kDma1, tile, b.InSlot(spill, dense, t * kTileBytes),
                  b.InSlot(d, dense)),
          {{B::kVector, t + 1}});
  }
  const uint32_t whole = b.Slot(kSpm, 0, kTiles * kTileBytes);
  const uint32_t squashed = b.Slot(kSpm, 4096, kTiles * kTileBytes);
  const std::array<int32_t, 4> all = {1, kTiles, kRows, kDepth};
  const std::array<int32_t, 4> all_dense = {0, kTileBytes, kDepth * 4, 4};
  b.Add(B::Make(Opcode::kDmaLoad, B::kDma0, all, b.InSlot(whole, all_dense),
                b.InSlot(spill, all_dense)),
        {{B::kDma1, kTiles}});
  Command sigmoid = B::Make(Opcode::kUnary, B::kVector, all, b.InSlot(squashed, all_dense),
                            b.InSlot(whole, all_dense));
  sigmoid.params.vector.function = static_cast<uint8_t>(UnaryFunction::kSigmoid);
  b.Add(sigmoid, {{B::kDma0, 3 + 2 * kTiles + 1}});
  b.Add(B::Make(Opcode::kDmaStore, B::kDma1, all, B::View(kDram, output, 0, all_dense),
                b.InSlot(squashed, all_dense)),
        {{B::kVector, kTiles + 1}});
  return b.Take();
}

}  // namespace berth::testing_support
