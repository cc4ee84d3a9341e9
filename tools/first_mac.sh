#!/usr/bin/env bash
# Everything that the first hours on a Mac should bring to light, from what matters most to what may
# take the GPU from the script.
#
#   bash tools/first_mac.sh [FOLDER]
#
# FOLDER (by default first_mac-DATE in the current folder) gets a log for each step and a summary.
# FOLDER-first.tar.gz is there after ten minutes, FOLDER.tar.gz at the end; both say how it went. It takes the command line tools and a Python of 3.10 or newer, such
# as Homebrew's, and installs into a separate virtual environment. A step that fails or takes too
# long is noted, and the next one begins. Ctrl-C ends it and packs what there is.
#
# Ends with 0 if every step did, else 1; 2 if it could not begin, 130 after Ctrl-C.
set -u
# Every step gets a separate process group, so that it can be ended with all its children.
set -m

checkout=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-first_mac-$(date +%Y%m%d-%H%M%S)}
number=0
failed=0
running=
watchdog=

give_up() {
  printf 'first_mac: %s\n' "$1" >&2
  exit 2
}

find_python() {
  local candidate homebrew
  homebrew=$(brew --prefix 2>/dev/null) || homebrew=/opt/homebrew
  for candidate in "${PYTHON:-}" "$homebrew/bin/python3" \
    python3.14 python3.13 python3.12 python3.11 python3.10 python3; do
    if command -v "$candidate" >/dev/null 2>&1 &&
      "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      printf '%s' "$candidate"
      return 0
    fi
  done
  return 1
}

summary() {
  printf '%s\n' "$*" >>"$folder/summary.txt"
}

end_group() {
  [ -z "$1" ] || kill "-$2" -- "-$1" 2>/dev/null
}

# step NAME LIMIT_IN_SECONDS COMMAND...
step() {
  local name=$1 limit=$2 log code began=$SECONDS
  shift 2
  number=$((number + 1))
  log=$folder/logs/$(printf '%02d' "$number")-$name.log
  printf '%2d %-28s' "$number" "$name"
  printf '$ %s\n' "$*" >"$log"
  "$@" >>"$log" 2>&1 </dev/null &
  running=$!
  (
    sleep "$limit"
    printf '\nEnded after %s s, which is too long.\n' "$limit" >>"$log"
    end_group "$running" TERM
    sleep 10
    end_group "$running" KILL
  ) >/dev/null 2>&1 &
  watchdog=$!
  wait "$running" 2>/dev/null
  code=$?
  running=
  end_group "$watchdog" KILL
  wait "$watchdog" 2>/dev/null
  watchdog=
  note "$name" "$code" "$((SECONDS - began))"
  return "$code"
}

note() {
  [ "$2" -eq 0 ] || failed=$((failed + 1))
  printf 'exit %3d, %4d s\n' "$2" "$3"
  summary "$(printf '%2d  exit %3d  %5d s  %s' "$number" "$2" "$3" "$1")"
}

# skip NAME WHY
skip() {
  number=$((number + 1))
  printf '%2d %-28sleft out: %s\n' "$number" "$1" "$2"
  summary "$(printf '%2d  left out            %s: %s' "$number" "$1" "$2")"
}

# pack [PART]
pack() {
  local archive=$folder${1:-}.tar.gz
  if tar -czf "$archive" -C "$(dirname "$folder")" "$(basename "$folder")"; then
    printf '\nSend back %s: attach it to an issue of the project.\n' "$archive"
  else
    printf '\nThe archive could not be written; send back the folder %s\n' "$folder"
  fi
}

interrupted() {
  trap '' INT TERM HUP
  end_group "$watchdog" KILL
  # As its own Ctrl-C, so that it keeps what it has; but not for ever.
  end_group "$running" INT
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    if [ -z "$running" ] || ! kill -0 -- "-$running" 2>/dev/null; then break; fi
    sleep 1
  done
  end_group "$running" KILL
  printf '\nInterrupted.\n'
  summary "interrupted in step $number"
  rm -rf "$work"
  pack
  exit 130
}

machine() {
  sw_vers
  uname -a
  sysctl -n machdep.cpu.brand_string hw.memsize hw.ncpu
  system_profiler SPHardwareDataType SPDisplaysDataType |
    grep -v -i -e serial -e uuid -e udid -e provisioning
  pmset -g batt
  pmset -g therm
  xcode-select -p
  xcrun --version
  "$python" --version
  git -C "$checkout" rev-parse HEAD
  git -C "$checkout" status --short
}

install() {
  "$venv/python" -m pip install "$checkout" && "$venv/python" -m pip freeze
}

install_tests() {
  "$venv/python" -m pip install "${checkout}[test]" && "$venv/python" -m pip freeze
}

pytest() {
  "$venv/python" -m pytest "$@"
}

metal_tests() {
  # A validation layer ends the process that breaks a rule: one worker, which is then replaced.
  pytest -n 1 --max-worker-restart 50 tests/test_tiny.py tests/metal "$@"
}

validated_metal_tests() {
  # A separate cache for compilations with checks.
  export MTL_DEBUG_LAYER=1 MTL_SHADER_VALIDATION=1 METALBENCH_CACHE=$work/validated
  metal_tests tests/device
}

# macOS may ignore a process's GPU work for minutes after such a test: each has a separate process.
faulting_tests() {
  local name code=0
  "$venv/python" -m pytest --gpu-faults -m gpu_fault --collect-only -q -n 0 tests/device \
    >"$work/faulting" || return
  while read -r name; do
    case $name in
    *::*) pytest --gpu-faults -m gpu_fault -n 0 "$name" </dev/null || code=1 ;;
    esac
  done <"$work/faulting"
  return "$code"
}

[ "$(uname -s)" = Darwin ] || give_up 'expected macOS; this is for a Mac with Apple silicon'
[ ! -e "$folder" ] || give_up "$folder exists already; name another folder"
python=$(find_python) ||
  give_up 'expected Python 3.10 or newer; "brew install python" brings one, or set PYTHON=FILE'
xcrun --find clang++ >/dev/null 2>&1 ||
  give_up 'expected the command line tools; "xcode-select --install" brings them'
mkdir -p "$folder/logs" || give_up "$folder cannot be made"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/first_mac.XXXXXX") || give_up 'no temporary folder can be made'
venv=$work/venv/bin
trap interrupted INT TERM HUP
export METALBENCH_HOME=$folder/home METALBENCH_CACHE=$work/cache
cd "$checkout" || give_up "$checkout cannot be entered"
if command -v caffeinate >/dev/null 2>&1; then
  caffeinate -dims -w $$ &
fi

cat <<END
This installs MetalBench into a virtual environment of its own. In ten minutes it runs three kernels
and the controls of the measurement, and packs what it has found. Then follow the tests of the Metal
device, the library of kernels (twice), two benchmarks, all other tests, and last what may make macOS
end or ignore GPU work. All of it takes about four hours. Connect the Mac to power, and close other
programs. A step that fails stops nothing. Ctrl-C ends it, and what there is by then is kept.
Logs: $folder/logs

END

step machine 120 machine
step venv 300 "$python" -m venv "$work/venv"
if step install 1800 install; then
  three='relu softmax sqr_mm'
  step doctor 300 "$venv/metalbench" doctor
  # shellcheck disable=SC2086 # three names
  step three-kernels 600 "$venv/metalbench" run $three --device metal -v --json "$folder/three.json"
  # shellcheck disable=SC2086
  step three-controls 600 "$venv/metalbench" run $three --device metal --ab-control \
    --json "$folder/three-controls.json"
  step reference-cost 600 "$venv/python" benchmarks/reference_cost.py --device metal
  pack -first
  if step install-tests 1800 install_tests; then
    step metal-tests 1800 metal_tests
  fi
  step run 7200 "$venv/metalbench" run --device metal -v --json "$folder/run.json"
  step run-again 7200 "$venv/metalbench" run --device metal -v --json "$folder/run-again.json"
  step compare 300 "$venv/metalbench" compare "$folder/run.json" "$folder/run-again.json"
  step control 3600 "$venv/metalbench" run --device metal --ab-control \
    --json "$folder/control.json"
  step encoding-cost 600 "$venv/python" benchmarks/encoding_cost.py
  if xcrun -sdk macosx --find metal >/dev/null 2>&1; then
    step xcrun-metal 1800 "$venv/python" tools/xcrun_metal.py
  else
    skip xcrun-metal 'xcrun has no metal here, which comes with the full Xcode'
  fi
  step all-tests 3600 pytest
  step metal-tests-validated 2400 validated_metal_tests
  step faulting-tests 2400 faulting_tests
else
  printf 'Nothing else can run. The end of its log:\n'
  tail -n 20 "$folder/logs/$(printf '%02d' "$number")-install.log"
fi

summary "$failed of $number steps failed"
printf '\n%s\n' "$failed of $number steps failed."
rm -rf "$work"
pack
[ "$failed" -eq 0 ]
