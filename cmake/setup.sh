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

# show_progress HEADER: of ninja's output, HEADER when it has work and the last line when it is done;
# on a terminal also the current line, overwritten.
show_progress() {
  local header=$1 line last=""
  while IFS= read -r line; do
    [[ $line =~ ^\[[0-9]+/[0-9]+\]\  && $line != *Re-checking* ]] || continue
    [[ $last ]] || echo "$header"
    last=${line:0:100}
    [[ -t 1 ]] && printf '\r\e[K%s' "$last"
  done
  [[ ! $last ]] || { [[ -t 1 ]] && echo || echo "$last"; }
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
  if ! (cd "$berth_root" &&
        cmake --build --preset "$preset" --target "$@" -j "${BERTH_JOBS:-$(nproc)}") 2>&1 |
    tee "$log" | show_progress "Building $preset: $* (log: build/$preset/build.log)"; then
    grep -A 25 -m 1 '^FAILED' "$log" >&2 || tail -n 30 "$log" >&2
    fail "the $preset build failed, see $log"
  fi
}
