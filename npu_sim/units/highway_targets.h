// Which instruction sets the Highway kernels are compiled for: plain C++, AVX2 and AVX-512, chosen
// when they run. Include before any Highway header.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
