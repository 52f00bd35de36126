// The inputs of a run against what a dynamic model declares of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "runtime/bundle/contents.h"

namespace berth {

// What the named dimensions of one run are.
using SymbolExtents = std::map<std::string, int64_t>;

// InvalidArgument names the input and the dimension: another dtype or rank, an extent that
// contradicts a fixed one or what another input makes of the same name, extents that are no size or
// too large together, or one outside the range of its name. A free dimension is at least 1.
absl::StatusOr<SymbolExtents> BindShapes(absl::Span<const TensorInfo> infos,
                                         absl::Span<const TensorType> types,
                                         absl::Span<const DimRange> ranges = {});

}  // namespace berth
