// Which values of a float model are stored as integers, and which of them share a scale.
//
// Stored: the inputs of products, and what quantizable ops make for quantizable ops. Left in float:
//  - the end of the model, behind the last product or reducing pool: its results reach the outputs
//    as the accumulators have them, and class scores do not tie;
//  - what a product hands to an activation or a sum that alone reads it (its only reader): the
//    two are one command on the machine, and rounding twice would only lose;
//  - results of ops that need float, and values that only such ops read.
// Ops that move or pick values give their operands and results one scale, so that they work on the
// stored integers.
#pragma once

#include <vector>

#include "kernels/graph.h"
#include "planner/quantize/roles.h"

namespace berth {

struct Selection {
  std::vector<QuantizeRole> roles;  // by node; kFloat where it is not computed on integers
  std::vector<int> group;           // by value: which scale it is stored with, -1: it is not stored
  int group_count = 0;              // groups are numbered in the order of their first values

  bool IsStored(ValueId id) const { return group[Index(id)] >= 0; }
};

// Of a graph in float form. Linear in nodes and operands.
Selection SelectValues(const Graph& graph);

}  // namespace berth
