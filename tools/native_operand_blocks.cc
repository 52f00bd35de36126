// The order of a simulator with a weight-stationary core: square tiles, the sums innermost; in a
// tile blocks of array size, weights by column and then along K, each with all rows of the tile. A
// block is fetched in front of the first product that needs it, so that the first column of blocks
// waits for the whole activations of its tile, and everything later is there in time.
#include <algorithm>

#include "base/checked_math.h"
#include "tools/native_layer.h"

namespace berth {
namespace {

constexpr uint8_t kLoadChannel = 0, kStoreChannel = 1;
constexpr int64_t kMostTiles = 1 << 18;
constexpr int64_t kHalves = 2;  // of the scratchpad: one computed with, one filled

class OperandBlocks {
 public:
  OperandBlocks(const Layer& layer, const NpuConfig& config, NativeBuilder& builder)
      : layer_(layer), config_(config), builder_(builder), block_(config.matrix.rows) {
    // Activations and weights of a tile fill one half of the scratchpad.
    const int64_t half_bytes = config.scratchpad.size_bytes / kHalves;
    edge_ = block_;
    while (2 * (edge_ + block_) * (edge_ + block_) <= half_bytes) edge_ += block_;
  }

  absl::Status Build() {
    const int64_t tiles = CeilDiv(layer_.m, edge_) * CeilDiv(layer_.n, edge_);
    const int64_t deep = CeilDiv(layer_.k, edge_);
    if (tiles > kMostTiles || layer_.batch > kMostTiles / (tiles * deep)) {
      return InvalidArgument("layer: {} x {} x {} tiles of {}, allowed: {}", layer_.batch, tiles,
                             deep, edge_, kMostTiles);
    }
    for (int64_t b = 0; b < layer_.batch; ++b) {
      for (int64_t m = 0; m < layer_.m; m += edge_) {
        for (int64_t n = 0; n < layer_.n; n += edge_) {
          for (int64_t k = 0; k < layer_.k; k += edge_) Tile(m, n, k);
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  void Tile(int64_t m, int64_t n, int64_t k) {
    rows_ = std::min(edge_, layer_.m - m);
    columns_ = std::min(edge_, layer_.n - n);
    depth_ = std::min(edge_, layer_.k - k);
    finishes_ = k + depth_ == layer_.k;
    const bool first = tile_ == 0;
    // The half that this tile is loaded into was used two tiles ago.
    room_count_ = before_;
    before_ = builder_.count(builder_.matrix());
    first ? FirstTile() : LaterTile();
    ++tile_;
  }

  void FirstTile() {
    for (int64_t n = 0; n < columns_; n += block_) {
      const int64_t width = std::min(block_, columns_ - n);
      const bool last_column = n + block_ >= columns_;
      for (int64_t k = 0; k < depth_; k += block_) {
        const int64_t depth = std::min(block_, depth_ - k);
        const bool writes = k + block_ >= depth_ && finishes_;
        // Row by row of blocks where something still comes or something already goes.
        const int64_t step = n == 0 || (writes && last_column) ? block_ : rows_;
        for (int64_t m = 0; m < rows_; m += step) {
          const int64_t height = std::min(step, rows_ - m);
          if (n == 0) Load(0, height * depth);
          if (m == 0) Load(1, depth * width);
          Product(height, width, depth, writes);
        }
      }
    }
  }

  // Loaded while the tile before is computed.
  void LaterTile() {
    Load(0, rows_ * depth_);
    Load(1, depth_ * columns_);
    const int64_t last = std::min(block_, rows_);
    if (finishes_ && rows_ > last) Product(rows_ - last, columns_, depth_, finishes_);
    Product(finishes_ ? last : rows_, columns_, depth_, finishes_);
  }

  void Load(int64_t operand, int64_t bytes) {
    builder_.WaitFor(builder_.matrix(), room_count_);
    const int64_t half = tile_ % kHalves;
    builder_.Load(kLoadChannel, 0, (kHalves * half + operand) * edge_ * edge_, bytes);
  }

  void Product(int64_t m, int64_t n, int64_t k, bool writes) {
    Command command;
    command.opcode = Opcode::kGemm;
    command.extent[1] = static_cast<int32_t>(m);
    command.extent[2] = static_cast<int32_t>(n);
    command.extent[3] = static_cast<int32_t>(k);
    command.params.matrix = MatrixParams{};
    command.in0.dtype = command.in1.dtype = command.out.dtype = DType::kInt8;
    if (writes) command.flags = kFlagWriteOut;
    builder_.WaitFor(kLoadChannel, builder_.count(kLoadChannel));
    builder_.Add(command, builder_.matrix());
    if (!writes) return;
    builder_.WaitFor(builder_.matrix(), builder_.count(builder_.matrix()));
    builder_.Store(kStoreChannel, 0, m * n);
  }

  const Layer& layer_;
  const NpuConfig& config_;
  NativeBuilder& builder_;
  int64_t block_, edge_;
  int64_t rows_ = 0, columns_ = 0, depth_ = 0;  // of the tile
  bool finishes_ = false;                       // the sums of its outputs
  int64_t tile_ = 0;
  int64_t before_ = 0, room_count_ = 0;  // products before this tile and before the last one
};

}  // namespace

absl::Status AddOperandBlocks(const Layer& layer, const NpuConfig& config, NativeBuilder& builder) {
  return OperandBlocks(layer, config, builder).Build();
}

}  // namespace berth
