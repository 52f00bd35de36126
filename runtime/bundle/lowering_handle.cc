#include "runtime/bundle/lowering_handle.h"

#include "build_identity_generated.h"

namespace berth {

const char* BuildIdentity() { return BERTH_BUILD_IDENTITY; }

}  // namespace berth
