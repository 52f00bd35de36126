# Sourced by run.sh and test.sh: installs what is missing, configures, builds. Quiet when there is
# nothing to do; compiler output goes to build/<preset>/build.log and is shown only on failure.

berth_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

fail() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# install_packages GROUP...: those of cmake/packages.txt that are not installed, named one by one.
install_packages() {
  local group name missing=() root=()
  while read -r group name; do
    [[ " $* " == *" $group "* ]] || continue
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] ||
      missing+=("$name")
  done < "$berth_root/cmake/packages.txt"
  ((${#missing[@]})) || return 0

  command -v apt-get >/dev/null ||
    fail "apt-get not found; install by hand (Debian 12 names): ${missing[*]}"
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "neither root nor sudo; as root: apt-get install ${missing[*]}"
    root=(sudo)
  fi
  echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${root[@]}" apt-get update -q &&
         "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
           apt-get install -q -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install: ${missing[*]}"
  fi
  rm -f "$log"
}

# On a terminal the build's current line, overwritten; elsewhere nothing.
show_progress() {
  if [[ -t 1 ]]; then
    awk '{ printf "\r\033[K%.100s", $0; fflush() } END { printf "\r\033[K" }'
  else
    cat >/dev/null
  fi
}

# build_preset PRESET TARGET...
build_preset() {
  local preset=$1 folder=$berth_root/build/$1 log
  shift
  log=$folder/build.log
  mkdir -p "$folder"
  if [[ ! -f $folder/build.ninja ]]; then
    echo "Configuring the $preset build"
    (cd "$berth_root" && cmake --preset "$preset") >"$log" 2>&1 ||
      { tail -n 30 "$log" >&2; fail "configuring failed, see $log"; }
  fi
  # What ninja would say of an up-to-date tree; anything else is work worth a line.
  ninja -C "$folder" -n "$@" 2>/dev/null | grep -q 'no work to do' && return 0
  echo "Building $preset: $* (log: build/$preset/build.log)"
  (cd "$berth_root" && cmake --build --preset "$preset" --target "$@" -j "${BERTH_JOBS:-$(nproc)}") 2>&1 |
    tee "$log" | show_progress
  if ((PIPESTATUS[0])); then
    grep -A 25 -m 1 '^FAILED' "$log" >&2 || tail -n 30 "$log" >&2
    fail "the $preset build failed, see $log"
  fi
  tail -n 1 "$log"
}
