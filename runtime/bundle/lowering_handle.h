// How a planner of another shared library is handed to the runtime: the struct behind the C API's
// berth_lowering (berth/berth.h).
//
// The two libraries hide all their symbols from each other, yet pass C++ objects through this. That
// is sound only where both were compiled from the same headers by the same compiler, so the runtime
// compares `build` before it touches the rest. Nothing that crosses may hash by address (Abseil's
// hash tables do), and a library that gave a lowering is never unloaded.
#pragma once

#include "runtime/bundle/lowering.h"

extern "C" {
struct berth_lowering {
  const char* build = nullptr;  // BuildIdentity() of the library that made it
  berth::GraphLowering fast;
  berth::GraphLowering full;
};
}

namespace berth {

// Version, compiler and layout of what crosses; equal in libraries that fit together.
const char* BuildIdentity();

}  // namespace berth
