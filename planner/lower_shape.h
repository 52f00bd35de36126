// Programs for the graphs of dynamic models, one for each shape: what the runtime calls while a
// model runs (runtime/bundle/lowering.h).
#pragma once

#include "kernels/fold/evaluator.h"
#include "runtime/bundle/lowering.h"

namespace berth {

// Soon: each op by itself, in the order of the model, with the first tiles that fit; nothing is
// searched for. Tiles have buffers of their own, so that the host's threads share an op.
GraphLowering MakeFastLowering(ConstantEvaluator evaluator);
// Well: as the model would be planned with that shape pinned.
GraphLowering MakeFullLowering(ConstantEvaluator evaluator);

}  // namespace berth
