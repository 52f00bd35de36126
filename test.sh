#!/bin/bash
# Installs the missing Debian packages, builds and tests.
#   ./test.sh                 every test, release build
#   ./test.sh --sanitizers    the unit tests under AddressSanitizer + UBSan with a minute of each
#                             fuzzer, then those with threads under ThreadSanitizer
#   ./test.sh --all           both, the release suite last
#   ./test.sh --preset NAME   every test of one preset: release, debug, asan-ubsan, tsan
# Arguments after -- go to ctest, e.g. ./test.sh -- -R config
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/cmake/setup.sh"

# run_tests PRESET TARGET [ctest arguments]
run_tests() {
  local preset=$1 target=$2 launcher=()
  shift 2
  if [[ $preset == tsan ]]; then
    "$berth_root/.ci/build_tsan_tbb.sh" "$berth_root/build/tbb-tsan" || return 1
    # gcc 12's ThreadSanitizer cannot map its shadow under 32 bits of address randomization.
    setarch -R true 2>/dev/null && launcher=(setarch -R)
  fi
  if [[ $preset == asan-ubsan ]]; then
    export LSAN_OPTIONS=suppressions=$berth_root/tests/leak_suppressions.txt:print_suppressions=0
  fi
  SECONDS=0
  build_preset "$preset" "$target"
  echo "Testing $preset, built in $SECONDS s"
  "${launcher[@]}" ctest --test-dir "$berth_root/build/$preset" --output-on-failure --progress \
    -j "${BERTH_JOBS:-$(nproc)}" "$@"
}

sanitizers=0 presets=(release) ctest_arguments=()
while (($#)); do
  case $1 in
    --sanitizers) sanitizers=1 presets=() ;;
    --all) sanitizers=1 presets=(release) ;;
    --preset) presets=("${2:?--preset needs a name}") && shift ;;
    --) ctest_arguments=("${@:2}") && break ;;
    -h | --help) sed -n '2,8s/^# \?//p' "${BASH_SOURCE[0]}" && exit 0 ;;
    *) echo "test.sh: unknown argument: $1 (see --help)" >&2 && exit 2 ;;
  esac
  shift
done

groups=(build test)
if ((sanitizers)) || [[ ${presets[*]} == *[ta]san* ]]; then groups+=(sanitizers); fi
install_packages "${groups[@]}"

# The first stage that fails ends it, so that what failed is the last that stands there.
if ((sanitizers)); then
  (run_tests asan-ubsan unit_tests -L 'unit|fuzz' "${ctest_arguments[@]}")
  (run_tests tsan threaded_tests -L unit-threads "${ctest_arguments[@]}")
fi
for preset in "${presets[@]}"; do
  (run_tests "$preset" all "${ctest_arguments[@]}")
done
