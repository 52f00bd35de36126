// Which orders of axes a Reshape passes on.
#pragma once

#include <optional>

#include "base/shape.h"
#include "planner/passes/permutation.h"

namespace berth {

// The axes of `from` and of `to` fall into groups of equal element count. A reshape of memory is
// the reshape of the values as long as each group of `from` stands together and in order; the
// groups themselves may stand in any order, and then those of `to` stand in the same.
struct ReshapeOrder {
  Permutation from_order;  // the one that the input must have: `order` if possible
  Permutation to_order;    // and what the output then has
};

// `order` is how the input stands. Nothing for shapes without elements.
std::optional<ReshapeOrder> PassThroughReshape(const Shape& from, const Shape& to,
                                               const Permutation& order);

}  // namespace berth
