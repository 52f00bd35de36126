# Language level, warnings and sanitizers, applied to every Berth target through berth_options.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_UNITY_BUILD OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Without this sloppiness ccache gives up on whatever uses a precompiled header; with paths taken
  # relative to the tree, clones share one cache.
  set(launcher "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 "${CCACHE_PROGRAM}")
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

add_library(berth_options INTERFACE)
# Warnings are not for the users of an install tree.
set(warnings -Wall -Wextra -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 reports false ones: through Span, and for "literal" + std::string (PR 105329)
  list(APPEND warnings -Wno-maybe-uninitialized -Wno-restrict)
endif()
target_compile_options(berth_options INTERFACE "$<BUILD_INTERFACE:${warnings}>")
target_compile_features(berth_options INTERFACE cxx_std_20)
if(BERTH_DEVELOPER)
  target_compile_options(berth_options INTERFACE $<BUILD_INTERFACE:-Werror>)
endif()
if(BERTH_SANITIZE)
  target_compile_options(berth_options INTERFACE -fsanitize=${BERTH_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(berth_options INTERFACE -fsanitize=${BERTH_SANITIZE})
  if(BERTH_SANITIZE MATCHES address AND CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    # The fuzzers (tests/fuzz) share this build: libFuzzer sees which branches an input takes.
    target_compile_options(berth_options INTERFACE -fsanitize=fuzzer-no-link)
  endif()
endif()
target_include_directories(berth_options INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
