#!/bin/bash
# build_tsan_tbb.sh PREFIX: builds the distribution's oneTBB with ThreadSanitizer into PREFIX.
#
# The packaged libtbb is not instrumented: every race that TBB's own synchronization prevents is then
# reported, and a suppression for it would hide real ones. Needs the source package; the system's
# apt settings are left alone (a private sources list and a private index beside PREFIX).
set -euo pipefail
prefix=${1:?usage: build_tsan_tbb.sh PREFIX}
[[ -f $prefix/done ]] && exit 0

work=$prefix.work
rm -rf "$prefix" "$work"
mkdir -p "$prefix" "$work"/{lists/partial,cache/archives/partial,source}
prefix=$(cd "$prefix" && pwd) work=$(cd "$work" && pwd)
log=$work/build.log

fail() {
  tail -n 20 "$log" >&2
  echo "build_tsan_tbb.sh: $* (log: $log)" >&2
  exit 1
}

# The mirror that binary packages come from also has the sources.
uri=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null |
  grep -m 1 debian || true)
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
  "${uri:-http://deb.debian.org/debian} $codename main" > "$work/sources.list"
options=(-o "Dir::Etc::sourcelist=$work/sources.list" -o "Dir::Etc::sourceparts=-"
  -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o "APT::Sandbox::User=$(id -un)")

echo "Building oneTBB with ThreadSanitizer (once, about two minutes)"
{ apt-get "${options[@]}" update -q && cd "$work/source" &&
  apt-get "${options[@]}" source -q onetbb; } >"$log" 2>&1 || fail "no source package onetbb"
cmake -S "$work"/source/onetbb-*/ -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_INSTALL_PREFIX="$prefix" -DTBB_SANITIZE=thread -DTBB_TEST=OFF -DTBBMALLOC_BUILD=OFF \
  -DTBB_STRICT=OFF >>"$log" 2>&1 || fail "configuring oneTBB failed"
cmake --build "$work/build" --target install >>"$log" 2>&1 || fail "building oneTBB failed"
touch "$prefix/done"
rm -rf "$work"
