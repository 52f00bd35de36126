// The instruction set of the machine: one fixed-size command per unit of work.
//
// A command names only addresses, strides, extents, dtypes and parameters. The functional half
// (units/) and the timing half (timing/) read the same command and never each other.
//
// Order. The commands of a program form one list. Each engine executes its own commands in list
// order, one at a time. Engines meet only through semaphores: every engine owns one counting
// semaphore that each of its commands signals when it has finished, and a command may wait until
// the semaphore of another engine has reached a count. Waits point backwards in the list, so a
// program that verifies cannot deadlock.
//
// Layout. A Command is 256 bytes of plain data and stands in bundles as it is (little endian): its
// layout and the values of its enums are frozen.
//
// Which memory a command may name:
//   DMA     exactly one side in DRAM, the other in scratchpad (a fill writes either);
//   matrix  scratchpad and accumulators;   vector  scratchpad;   host  DRAM.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/dtype.h"

namespace berth {

enum class MemorySpace : uint8_t { kNone = 0, kDram = 1, kScratchpad = 2, kAccumulator = 3 };

enum class EngineKind : uint8_t { kDma = 0, kMatrix = 1, kVector = 2, kHost = 3 };

// An engine is named by core, kind and index (of DMA channels). A command holds the position of its
// engine in TileProgram::engines.
struct EngineId {
  uint8_t core = 0;
  EngineKind kind = EngineKind::kDma;
  uint8_t index = 0;
  friend bool operator==(const EngineId&, const EngineId&) = default;
};

enum class Opcode : uint8_t {
  kInvalid = 0,
  // DMA. Extents e0..e3 (outermost first); element [i0,i1,i2,i3] of `in0` goes to that of `out`.
  kDmaLoad = 1,   // DRAM -> scratchpad
  kDmaStore = 2,  // scratchpad -> DRAM
  kDmaFill = 3,   // params.dma.pattern (one element of out.dtype, in the low bytes) -> out
  // Indirect: row r of e0 is a block of e1 x e2 x e3 elements; in1 holds the row numbers (int32 or
  // int64 in scratchpad, stride[0] apart). A number outside [-row_limit, row_limit) fails the run;
  // negative numbers count from the end.
  kDmaGather = 4,   // in0 (DRAM) row in1[r]  -> out (scratchpad) row r
  kDmaScatter = 5,  // in0 (scratchpad) row r -> out (DRAM) row in1[r]

  // Matrix unit. Extents {batch, M, N, K}; operand strides follow the same four loops (a stride of
  // an absent loop is 0): in0 = A[batch, M, K], in1 = B[batch, N, K], in2 = bias over N (optional),
  // acc = dense [batch, M, N] words, out = [batch, M, N] (written when kFlagWriteOut).
  // Integer accumulators: a bias of int64 stands for pairs, int32 bias in the low four bytes and a
  // float32 factor in the high ones, which takes the place of params.matrix.out_scale.
  kGemm = 16,
  // Extents {OH, OW, OC, IC}. in0 strides {row, pixel, 0, channel}; in1 (weights) strides
  // {kernel row, kernel column, output channel, input channel}; in2 = bias over OC (stride[2]);
  // out strides {row, pixel, channel, 0}; acc dense [OH, OW, OC]. params.matrix.window says how the
  // window moves; samples outside [0, input_height) x [0, input_width) read as the zero point.
  kConv = 17,
  // Extents {OH, OW, C, 1}: as kConv, channel by channel; in1 strides {row, column, channel, 0}.
  kDepthwise = 18,

  // Vector unit. Extents e0..e3 with free operand strides; stride 0 broadcasts.
  kUnary = 32,    // out = f(in0)                      params.vector.function: UnaryFunction
  kBinary = 33,   // out = f(in0, in1)                 BinaryFunction
  kSelect = 34,   // out = in0 ? in1 : in2
  kReduce = 35,   // out (stride 0 along reduced loops) = reduction of in0     ReduceFunction
  kPool = 36,     // extents {OH, OW, C, 1}; strides as kDepthwise without weights; PoolFunction
  kSoftmax = 37,  // along e3; params.vector.function: 0 softmax, 1 log-softmax
  kCopy = 38,     // out = in0, any strides, same dtype: transpose, slice, concat, broadcast
  kCast = 39,     // out = in0 converted to out.dtype (C++ conversion; floats to bool by != 0)
  // Weighted gather along one axis (resize, flips, constant gathers): extents {outer, positions,
  // inner, taps}; out strides {outer, position, inner, 0}; in0 strides {outer, index, inner, 0};
  // in1 = int32 index [positions, taps] with strides {0, position, 0, tap}; in2 = float weight of
  // the same form (absent: taps must be 1 and the element is copied, any dtype). An index outside
  // [0, params.vector.window.input_height) fails the run.
  kInterpolate = 40,
  // Integers to a narrower integer: out = saturate(round_half_even(in0 * scale[c]) + zero_point);
  // in1 = float32 scale with its own strides (0 broadcasts); absent: params.vector.alpha.
  kRequantize = 41,
  // kQuantize, kDequantize: in1 = float32 scale as for kRequantize.
  kQuantize = 42,    // float32 in0 -> integer: saturate(round_half_even(in0 / scale) + zero_point)
  kDequantize = 43,  // integer in0 -> float32: (in0 - zero_point) * scale

  // Host engine: params.host; operands are dense tensors in DRAM, extents are 1 and stride_bytes[0]
  // of an operand is its size in bytes.
  kHostCall = 64,
};

enum class UnaryFunction : uint8_t {
  kIdentity = 0,
  kRelu = 1,
  kLeakyRelu = 2 /*alpha*/,
  kClip = 3 /*alpha=min, beta=max*/,
  kSigmoid = 4,
  kHardSigmoid = 5 /*alpha x + beta*/,
  kHardSwish = 6,
  kTanh = 7,
  kExp = 8,
  kLog = 9,
  kSqrt = 10,
  kNeg = 11,
  kAbs = 12,
  kErf = 13,
  kGelu = 14,
  kGeluTanh = 15,
  kSoftplus = 16,
  kElu = 17 /*alpha*/,
  kReciprocal = 18,
  kRsqrt = 19,
  kSquare = 20,
  kNot = 21,
  kAffine = 22 /*alpha x + beta*/,
  kFloor = 23,
  kCeil = 24,
  kRound = 25,
  kSign = 26,
  kSin = 27,
  kCos = 28,
  kSilu = 29,
  kTan = 30,
  kAsin = 31,
  kAcos = 32,
  kAtan = 33,
  kSinh = 34,
  kCosh = 35,
  kAsinh = 36,
  kAcosh = 37,
  kAtanh = 38,
};
enum class BinaryFunction : uint8_t {
  kAdd = 0,
  kSub = 1,
  kMul = 2,
  kDiv = 3,
  kPow = 4,
  kMax = 5,
  kMin = 6,
  kPRelu = 7 /*in0 < 0 ? in0*in1 : in0*/,
  kEqual = 8,
  kLess = 9,
  kLessOrEqual = 10,
  kGreater = 11,
  kGreaterOrEqual = 12,
  kAnd = 13,
  kOr = 14,
  kXor = 15,
  kMod = 16,
  kSubReversed = 17,
  kDivReversed = 18,
  kPowReversed = 19,  // the reversed forms take in1 as the left operand
  kShiftLeft = 20,    // of integers, by in1 bits; bits that are shifted out are lost
  kShiftRight = 21,   // zeros come in from the left
};
// kSum..kSumSquares finish with `* params.vector.alpha` when kFlagFinish is set (1/n for a mean).
enum class ReduceFunction : uint8_t {
  kSum = 0,
  kMax = 1,
  kMin = 2,
  kProd = 3,
  kSumSquares = 4,
  kSumAbs = 5,
  kArgMax = 6,
  kArgMin = 7,  // out int64: position along e3; kFlagLastIndex takes the last of ties
};
enum class PoolFunction : uint8_t {
  kMax = 0,
  kAverageValid = 1,  // divided by the number of samples inside the input
  kAverageAll = 2,    // divided by params.vector.alpha (reciprocal of the divisor)
};
enum class Activation : uint8_t { kNone = 0, kRelu = 1, kClip = 2, kLeakyRelu = 3 };

// Flags of a command.
inline constexpr uint16_t kFlagAccumulate = 1;  // matrix, kReduce: continue from acc / out
inline constexpr uint16_t kFlagWriteOut = 2;    // matrix: run the output stage into `out`
inline constexpr uint16_t kFlagFinish = 4;      // kReduce: multiply by alpha at the end
inline constexpr uint16_t kFlagLastIndex = 8;   // kArgMax, kArgMin

inline constexpr uint32_t kNoSlot = 0xffffffffu;
inline constexpr uint32_t kMaxOps = 1u << 20;  // Command::op is below this

// A strided view. `stride_bytes` belong to the four loops of the opcode.
struct Operand {
  int64_t offset_bytes = 0;      // of element [0,0,0,0], from the start of its space or region
  int32_t stride_bytes[4] = {};  // 0 repeats, negative walks backwards
  uint32_t slot = kNoSlot;       // position in TileProgram::slots (not for constants and I/O)
  uint16_t region = 0;           // DRAM only: position in TileProgram::regions
  MemorySpace space = MemorySpace::kNone;  // kNone: operand absent
  DType dtype = DType::kUndefined;

  bool present() const { return space != MemorySpace::kNone; }
  friend bool operator==(const Operand&, const Operand&) = default;
};

// How a window moves over an input plane (convolution and pooling).
struct Window {
  int16_t kernel_height = 1, kernel_width = 1;
  int16_t stride_height = 1, stride_width = 1;
  int16_t dilation_height = 1, dilation_width = 1;
  int16_t pad_top = 0, pad_left = 0;  // row of the window start = out_row * stride - pad_top
  // Zeros between input samples (transposed convolution): sample i stands at row i * upsample.
  int16_t upsample_height = 1, upsample_width = 1;
  int32_t input_height = 0, input_width = 0;  // samples present in the tile (before upsampling)
  friend bool operator==(const Window&, const Window&) = default;
};

struct MatrixParams {
  Window window;
  float activation_alpha = 0, activation_beta = 0;  // as UnaryFunction of the same name
  Activation activation = Activation::kNone;
  uint8_t reserved[3] = {};
  int32_t in0_zero_point = 0, in1_zero_point = 0, out_zero_point = 0;
  float out_scale = 1;  // narrow integer outputs: acc * out_scale, rounded half to even
};
struct VectorParams {
  Window window;
  float alpha = 0, beta = 0;
  uint8_t function = 0;
  uint8_t reserved[3] = {};
  int32_t zero_point = 0;
};
struct DmaParams {
  uint64_t pattern = 0;   // kDmaFill
  int64_t row_limit = 0;  // kDmaGather, kDmaScatter
};
struct HostParams {
  uint32_t function = 0;     // position in the HostFunctionTable
  uint32_t output_mask = 0;  // bit i: operand i of {out, in0, in1, in2, acc} is written
  int64_t values[6] = {};    // parameters of the function
};

// Starts as zero bytes: assign the member of the opcode whole (`params.matrix = MatrixParams{}`).
union CommandParams {
  constexpr CommandParams() : bytes{} {}
  DmaParams dma;
  MatrixParams matrix;
  VectorParams vector;
  HostParams host;
  uint8_t bytes[64];
};

struct Command {
  Opcode opcode = Opcode::kInvalid;
  uint8_t engine = 0;  // position in TileProgram::engines
  uint16_t flags = 0;
  uint32_t op = 0;          // position in the bundle's table of ops: whose work this is
  uint32_t wait_begin = 0;  // waits [wait_begin, wait_begin + wait_count) of TileProgram::waits
  uint16_t wait_count = 0;
  uint16_t reserved = 0;
  int32_t extent[4] = {1, 1, 1, 1};
  Operand out, in0, in1, in2, acc;
  CommandParams params;
};
static_assert(sizeof(Operand) == 32);
static_assert(sizeof(Command) == 256);
static_assert(std::is_trivially_copyable_v<Command>);

// Starts the command when `engine` has finished at least `count` of its commands.
struct Wait {
  uint32_t engine = 0;  // position in TileProgram::engines
  uint32_t count = 0;   // >= 1
  friend bool operator==(const Wait&, const Wait&) = default;
};

std::string_view OpcodeName(Opcode opcode);  // "dma_load", "gemm", ...; "invalid"
EngineKind EngineOf(Opcode opcode);          // which kind of engine executes it
std::string_view UnaryFunctionName(UnaryFunction function);
std::string_view BinaryFunctionName(BinaryFunction function);
std::string_view ReduceFunctionName(ReduceFunction function);

}  // namespace berth
