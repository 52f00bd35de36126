// A graph of which some shapes are known, in two: the part that can be lowered now, and the rest,
// which waits for values that the part computes.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "kernels/graph.h"

namespace berth {

// Where a value comes from.
struct ValueSource {
  enum class Kind : uint8_t { kInput, kPart, kRest, kConstant };
  Kind kind = Kind::kInput;
  size_t position = 0;                     // among the inputs, or the results of part or rest
  std::shared_ptr<const Tensor> constant;  // kConstant
};

struct GraphSplit {
  Graph part;                        // all types known; without nodes where nothing is to compute
  std::vector<size_t> part_inputs;   // positions among the inputs of the whole
  std::vector<ValueSource> outputs;  // of the whole

  // Null where everything is known. Its first node is the one that waits, and all that it reads is
  // an input of the rest, or a constant.
  std::shared_ptr<const Graph> rest;
  std::vector<ValueSource> rest_inputs;
  // The rest without its first node, whose results it reads as inputs: kInput stands for an input
  // of the rest, kPart for a result of the node, kRest never.
  std::shared_ptr<const Graph> after;
  std::vector<ValueSource> after_inputs;
  std::vector<ValueSource> after_outputs;  // of the rest; kRest: a result of `after`
};

// `graph` is folded as far as its types are known (FoldOptions::partial).
GraphSplit SplitKnown(const Graph& graph);

}  // namespace berth
