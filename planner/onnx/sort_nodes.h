// Nodes in an order in which each stands behind what it reads. The ONNX standard asks for that;
// exported models exist that leave it to the runtime.
#pragma once

#include "planner/onnx/onnx_headers.h"

namespace berth {

// Keeps the order where it is right already, and among nodes that are free to stand anywhere. Does
// nothing where there is no such order (a cycle) or a name has two producers: the checks tell why.
//
// Complexity: n log n in nodes and edges.
void SortNodes(onnx::GraphProto& graph);

}  // namespace berth
