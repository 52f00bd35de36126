// Type inference and constant folding in one walk: a value that is known makes the shapes that
// depend on it known, which makes further values known. The Shape/Gather/Concat/Reshape chains of a
// static model vanish in one pass.
//
// Complexity: linear in the graph, plus the evaluation of what is folded.
#pragma once

#include "kernels/fold/evaluator.h"
#include "kernels/graph.h"

namespace berth {

struct FoldOptions {
  // A result larger than this and than twice its operands stays a node, so that broadcasts are not
  // written out (bytes).
  int64_t growth_limit_bytes = int64_t{1} << 20;
  // ConstantOfShape stands for weights in some models and is written out up to this sum (bytes).
  int64_t filled_limit_bytes = int64_t{1} << 30;
  // Multiply-accumulates worth doing at compile time for one node.
  int64_t work_limit = int64_t{1} << 28;
  // Known integers under a DequantizeLinear stay as they are, for the passes that compute on them.
  bool keep_quantized = false;
  // A node whose types hang on what is not known yet (a free dimension, a computed value) stays
  // with its outputs' shapes unknown, and so do those behind it. Otherwise it is an error.
  bool partial = false;
};

// Sets the type of every value (errors name the node) and replaces nodes whose results are known.
absl::Status FoldConstants(Graph& graph, const ConstantEvaluator& evaluator,
                           const FoldOptions& options = {});

}  // namespace berth
