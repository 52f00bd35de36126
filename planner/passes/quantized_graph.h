// What the passes over quantized graphs ask: where a value is dequantized from, what quantizes it.
#pragma once

#include <optional>
#include <vector>

#include "kernels/graph.h"
#include "kernels/ops/quantization.h"

namespace berth {

// A value that is (stored - zero_point) * scale, per tensor, of a stored integer of at most 16
// bits.
struct DequantizedValue {
  ValueId stored = ValueId::kNone;
  TensorQuantization by;
  int node = -1;  // the DequantizeLinear
};

// Known uint8 numbers less 128, as int8; nothing for other dtypes.
std::optional<Tensor> SignedBytes(const Tensor* stored);

class QuantizedGraph {
 public:
  explicit QuantizedGraph(const Graph& graph);

  // Nothing where the value is not the result of such a DequantizeLinear.
  std::optional<DequantizedValue> Dequantized(ValueId id) const;
  // Scale and zero point of the node, a QuantizeLinear per tensor with known numbers.
  std::optional<TensorQuantization> QuantizerOf(const Node& node) const;
  // The node that makes a value, or null.
  const Node* MakerOf(ValueId id) const;
  int MakerPosition(ValueId id) const { return maker_[Index(id)]; }
  // The position of the only node that reads the value, which is no output of the graph; or -1.
  int OnlyReader(ValueId id) const { return reader_[Index(id)]; }

 private:
  const Graph& graph_;
  std::vector<int> maker_;
  std::vector<int> reader_;
};

}  // namespace berth
