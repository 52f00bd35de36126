// Programs for the graphs of dynamic models, one for each shape: what the runtime calls while a
// model runs (runtime/bundle/lowering.h).
#pragma once

#include "kernels/fold/evaluator.h"
#include "runtime/bundle/lowering.h"

namespace berth {

// Soon: values stay on chip where that is easily found, the first tiles that fit, no double
// buffering.
GraphLowering MakeFastLowering(ConstantEvaluator evaluator);
// Well: as the model would be planned with that shape pinned.
GraphLowering MakeFullLowering(ConstantEvaluator evaluator);

}  // namespace berth
