// The order of a small fixed-function convolution core. The convolution buffer is divided by banks:
// as many as the input needs, the rest (at most two groups of kernels and a bank) for weights,
// which run through theirs as through a ring. Input and weights share the memory port from the
// start, turn by turn; the first group of kernels starts when the whole input and its own weights
// are there. Each later group waits for its weights, and its weights for the room that a finished
// group leaves. An input that does not fit is cut into bands of output rows, each a layer of its
// own.
#include <algorithm>

#include "base/checked_math.h"
#include "tools/native_layer.h"

namespace berth {
namespace {

constexpr uint8_t kDataChannel = 0, kWeightChannel = 1, kOutputChannel = 2;
constexpr int64_t kMostBursts = 128;  // of one descriptor, so that the streams take turns
constexpr int64_t kMostCommands = 1 << 22;
constexpr int64_t kGroupsInRing = 2;
constexpr int64_t kStripesTogether = 4;

int64_t RoundUp(int64_t value, int64_t unit) { return CeilDiv(value, unit) * unit; }

class KernelGroups {
 public:
  KernelGroups(const Layer& layer, const NpuConfig& config, NativeBuilder& builder)
      : layer_(layer),
        config_(config),
        builder_(builder),
        channels_(RoundUp(layer.input_channels, config.matrix.rows)),
        bank_bytes_(config.scratchpad.size_bytes / config.scratchpad.banks),
        kernel_bytes_(layer.filter_height * layer.filter_width * layer.input_channels),
        weight_bytes_(
            RoundUp(kernel_bytes_ * layer.filters, config.native_layer.weight_alignment_bytes)),
        group_bytes_(std::min(weight_bytes_, kernel_bytes_ * config.matrix.columns)) {}

  absl::Status Build() {
    const int64_t height = layer_.output_height();
    int64_t rows = height;
    while (rows > 1 && !Fits(rows)) rows = CeilDiv(rows, 2);
    if (!Fits(rows)) {
      return InvalidArgument(
          "layer: one row of output needs {} bytes of input in a buffer of {} that also holds "
          "weights",
          InputBytes(0, 1), config_.scratchpad.size_bytes);
    }
    const int64_t bands = CeilDiv(height, rows);
    rows = CeilDiv(height, bands);
    const int64_t per_band =
        (weight_bytes_ + InputBytes(0, rows)) / ChunkBytes() + 2 +
        Groups() * (5 + 2 * rows * layer_.output_width() /
                            (kStripesTogether * config_.native_layer.stripe_steps));
    if (bands > kMostCommands / per_band) {
      return InvalidArgument("layer: {} bands of about {} commands each, allowed: {} commands",
                             bands, per_band, kMostCommands);
    }
    for (int64_t row = 0; row < height; row += rows) Band(row, std::min(rows, height - row));
    return absl::OkStatus();
  }

 private:
  int64_t Groups() const { return CeilDiv(layer_.filters, config_.matrix.columns); }
  int64_t ChunkBytes() const { return kMostBursts * config_.dram.burst_bytes; }

  // Rows of input that a band of output rows reads, padding excluded.
  int64_t InputRows(int64_t row, int64_t rows) const {
    const int64_t begin = std::max<int64_t>(0, row * layer_.stride - layer_.pad);
    const int64_t end = std::min(
        layer_.input_height, (row + rows - 1) * layer_.stride - layer_.pad + layer_.filter_height);
    return std::max<int64_t>(0, end - begin);
  }
  int64_t InputBytes(int64_t row, int64_t rows) const {
    return InputRows(row, rows) * layer_.input_width * channels_;
  }
  int64_t DataBanks(int64_t bytes) const { return CeilDiv(bytes, bank_bytes_); }
  // A band in the middle reads most: no padding.
  bool Fits(int64_t rows) const {
    const int64_t most =
        std::min(layer_.input_height, (rows - 1) * layer_.stride + layer_.filter_height) *
        layer_.input_width * channels_;
    return DataBanks(most) < config_.scratchpad.banks;
  }

  void Band(int64_t row, int64_t rows) {
    band_data_bytes_ = InputBytes(row, rows);
    const int64_t data_banks = DataBanks(band_data_bytes_);
    weight_begin_bytes_ = data_banks * bank_bytes_;
    const int64_t wanted = std::min(kGroupsInRing * group_bytes_, weight_bytes_) / bank_bytes_ + 1;
    ring_bytes_ = std::min(config_.scratchpad.banks - data_banks, wanted) * bank_bytes_;
    groups_before_ = builder_.count(builder_.matrix());
    commands_of_group_.clear();
    loaded_data_bytes_ = loaded_weight_bytes_ = 0;
    const int64_t pixels = rows * layer_.output_width();
    for (int64_t group = 0; group < Groups(); ++group) {
      LoadFor(group);
      Compute(row, pixels, group);
    }
  }

  // The bytes of weights that group `group` needs, from the first on.
  int64_t WeightEnd(int64_t group) const {
    return group + 1 == Groups() ? weight_bytes_ : (group + 1) * group_bytes_;
  }

  void LoadFor(int64_t group) {
    while (loaded_data_bytes_ < band_data_bytes_) {
      LoadData();
      if (loaded_weight_bytes_ < std::min(ring_bytes_, weight_bytes_)) LoadWeights(ring_bytes_);
    }
    while (loaded_weight_bytes_ < WeightEnd(group)) LoadWeights(WeightEnd(group));
  }

  void LoadData() {
    const int64_t bytes = std::min(ChunkBytes(), band_data_bytes_ - loaded_data_bytes_);
    builder_.WaitFor(builder_.matrix(), groups_before_);
    builder_.Load(kDataChannel, loaded_data_bytes_, loaded_data_bytes_, bytes);
    loaded_data_bytes_ += bytes;
  }

  // One chunk, not beyond `end`; it waits until the groups that stand in its place are finished.
  void LoadWeights(int64_t end) {
    const int64_t bytes =
        std::min({ChunkBytes(), weight_bytes_ - loaded_weight_bytes_, end - loaded_weight_bytes_});
    const int64_t must_be_free = loaded_weight_bytes_ + bytes - ring_bytes_;
    int64_t wait = groups_before_;
    if (must_be_free > 0) {
      const int64_t group = CeilDiv(must_be_free, group_bytes_) - 1;
      // A group larger than the ring is used up while it comes.
      if (group < static_cast<int64_t>(commands_of_group_.size())) wait = commands_of_group_[group];
    }
    builder_.WaitFor(builder_.matrix(), wait);
    builder_.Load(kWeightChannel, band_data_bytes_ + loaded_weight_bytes_,
                  weight_begin_bytes_ + loaded_weight_bytes_ % ring_bytes_, bytes);
    loaded_weight_bytes_ += bytes;
  }

  // Outputs leave while the next are computed: a few stripes at a time, the last one by itself.
  void Compute(int64_t row, int64_t pixels, int64_t group) {
    const int64_t stripe = config_.native_layer.stripe_steps;
    const int64_t last = std::min(pixels, stripe);
    for (int64_t done = 0; done < pixels;) {
      const int64_t part =
          done < pixels - last ? std::min(kStripesTogether * stripe, pixels - last - done) : last;
      done += part;
      builder_.WaitFor(kDataChannel, builder_.count(kDataChannel));
      builder_.WaitFor(kWeightChannel, builder_.count(kWeightChannel));
      builder_.Add(Convolution(part, group), builder_.matrix());
      builder_.WaitFor(builder_.matrix(), builder_.count(builder_.matrix()));
      builder_.Store(kOutputChannel, row + group, part * config_.matrix.columns);
    }
    commands_of_group_.push_back(builder_.count(builder_.matrix()));
  }

  Command Convolution(int64_t pixels, int64_t group) const {
    Command command;
    command.opcode = Opcode::kConv;
    command.flags = kFlagWriteOut;
    const int64_t kernels =
        std::min(config_.matrix.columns, layer_.filters - group * config_.matrix.columns);
    command.extent[1] = static_cast<int32_t>(pixels);
    command.extent[2] = static_cast<int32_t>(kernels);
    command.extent[3] = static_cast<int32_t>(layer_.input_channels);
    command.params.matrix = MatrixParams{};
    Window& window = command.params.matrix.window;
    window.kernel_height = static_cast<int16_t>(layer_.filter_height);
    window.kernel_width = static_cast<int16_t>(layer_.filter_width);
    window.input_height = static_cast<int32_t>(layer_.input_height);
    window.input_width = static_cast<int32_t>(layer_.input_width);
    command.in0.dtype = command.in1.dtype = command.out.dtype = DType::kInt8;
    return command;
  }

  const Layer& layer_;
  const NpuConfig& config_;
  NativeBuilder& builder_;
  int64_t channels_;  // rounded up to whole atoms
  int64_t bank_bytes_;
  int64_t kernel_bytes_, weight_bytes_, group_bytes_;
  // Of the band:
  int64_t band_data_bytes_ = 0, weight_begin_bytes_ = 0, ring_bytes_ = 0;
  int64_t loaded_data_bytes_ = 0, loaded_weight_bytes_ = 0;
  int64_t groups_before_ = 0;               // matrix commands of the bands before
  std::vector<int64_t> commands_of_group_;  // matrix commands up to the end of each group
};

}  // namespace

absl::Status AddKernelGroups(const Layer& layer, const NpuConfig& config, NativeBuilder& builder) {
  return KernelGroups(layer, config, builder).Build();
}

}  // namespace berth
