# Third-party headers that nearly every file includes.
set(BERTH_COMMON_HEADERS <string> <vector> <fmt/format.h> <absl/status/statusor.h>
  <absl/types/span.h> <absl/container/flat_hash_map.h>)

# berth_library(name SOURCES ... DEPS ...): a static library berth_<name>, alias berth::<name>; a shared
# one where BERTH_SHARED_PARTS.
function(berth_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_SOURCES)  # a folder whose first file is still to come
    add_library(berth_${name} INTERFACE)
    add_library(berth::${name} ALIAS berth_${name})
    return()
  endif()
  set(kind STATIC)
  if(BERTH_SHARED_PARTS)
    set(kind SHARED)
  endif()
  add_library(berth_${name} ${kind} ${ARG_SOURCES})
  if(BERTH_SHARED_PARTS)  # libberth_planner.so is the C API's
    set_target_properties(berth_${name} PROPERTIES OUTPUT_NAME berth_part_${name})
  endif()
  add_library(berth::${name} ALIAS berth_${name})
  target_link_libraries(berth_${name} PUBLIC berth_options ${ARG_DEPS})
  if(BERTH_PRECOMPILE)
    target_precompile_headers(berth_${name} PRIVATE ${BERTH_COMMON_HEADERS})
  endif()
endfunction()

# What AddressSanitizer builds, and of that what ThreadSanitizer builds: the tests of the libraries that
# start threads. ctest knows them by the labels `unit` and `unit-threads` (-L unit finds both).
if(BERTH_BUILD_TESTS)
  add_custom_target(unit_tests)
  add_custom_target(threaded_tests)
endif()
set(BERTH_THREADED_TESTS "^(runtime_|planner_pool_)")

# berth_test(name SOURCES ... DEPS ... [LABELS label] [TIMEOUT seconds of one TEST]): a GoogleTest
# binary. ctest sees each TEST by itself, so that a skipped one is reported as skipped and never
# hides a failure beside it; with sanitizers, which make every start of a process slow, the binary.
function(berth_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;LABELS" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_compile_definitions(${name} PRIVATE BERTH_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE berth_options ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  if(ARG_LABELS STREQUAL "unit")
    add_dependencies(unit_tests ${name})
    if(name MATCHES "${BERTH_THREADED_TESTS}")
      set(ARG_LABELS unit-threads)
      add_dependencies(threaded_tests ${name})
    endif()
  endif()
  if(BERTH_SANITIZE)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 1800)
  else()
    gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
  endif()
  if(BERTH_PRECOMPILE)
    precompile_test(${name} "${ARG_DEPS}")
  endif()
endfunction()

# Tests with the same dependencies have the same compiler flags and share one precompiled header.
function(precompile_test name dependencies)
  string(MD5 key "${dependencies}")
  get_property(owner GLOBAL PROPERTY berth_precompiled_by_${key})
  if(owner)
    target_precompile_headers(${name} REUSE_FROM ${owner})
    return()
  endif()
  set_property(GLOBAL PROPERTY berth_precompiled_by_${key} ${name})
  target_precompile_headers(${name} PRIVATE ${BERTH_COMMON_HEADERS} <gmock/gmock.h>
    <gtest/gtest.h>)
endfunction()

# berth_unit_tests(folder DEPS ...): every *_test.cc of this folder becomes <folder>_<file>.
function(berth_unit_tests folder)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB test_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc")
  foreach(source ${test_sources})
    get_filename_component(stem ${source} NAME_WE)
    berth_test(${folder}_${stem} SOURCES ${source} DEPS ${ARG_DEPS} LABELS unit)
  endforeach()
endfunction()
