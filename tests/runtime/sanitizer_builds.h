// Whether this is the build of a sanitizer: they have a malloc, and plans for addresses, of their
// own.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // gcc
#define BERTH_IS_SANITIZED 1
#elif defined(__has_feature)  // clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BERTH_IS_SANITIZED 1
#endif
#endif
#ifndef BERTH_IS_SANITIZED
#define BERTH_IS_SANITIZED 0
#endif
