#!/bin/bash
# The long suite, in parts of less than an hour each on two cores:
#     tools/long.sh              runs every part that has not passed for the current tree, in order
#     tools/long.sh PART...      runs these parts, passed or not
#     tools/long.sh --list       lists the parts with their results and times
# An interrupted part (Ctrl-C) has to run again; the results of finished parts are kept in build/long. They count
# for one state of the tree: the contents of all files that git tracks or does not ignore. A changed file is another
# state; a commit alone is not. Exit status: 0 if all requested parts passed, 1 if one failed.
set -euo pipefail
cd "$(dirname "$0")/.."
notes=build/long
mkdir -p "$notes"

parts=(rounds rare floats) # tools/test.sh defines each part
for fuzzer in fuzz/fuzz_*.c; do parts+=("$(basename -s .c "$fuzzer")"); done
parts+=(mutations-1 mutations-2 mutations-3 mutations-4)

state() { git ls-files -coz --exclude-standard | sort -z | xargs -0 sha256sum 2>/dev/null | sha256sum | cut -c1-16; }

result() { # result PART: its seconds and its result, marked as old if it is of another state
  local of end seconds
  read -r of end seconds 2>/dev/null <"$notes/$1" || { echo "- -"; return; }
  [ "$of" = "$tree" ] || end="old ($end)"
  echo "$seconds $end"
}

table() {
  local all=0 seconds end
  printf '%-20s %6s  %s\n' part seconds "tree $tree"
  for part in "${parts[@]}"; do
    read -r seconds end <<<"$(result "$part")"
    printf '%-20s %6s  %s\n' "$part" "$seconds" "$end"
    [ "$seconds" = - ] || all=$((all + seconds))
  done
  printf '%-20s %6s\n' total "$all"
}

run() { # run PART: in its own process, so that a failure does not end the later parts
  local start=$SECONDS end=passed
  rm -f "$notes/$1"
  tools/test.sh long-part "$1" 2>&1 | tee "$notes/$1.log" || end=failed
  [ "$(state)" = "$tree" ] || { echo "long: the tree changed during the run: the result of $1 is not recorded" >&2; return 1; }
  echo "$tree $end $((SECONDS - start))" >"$notes/$1"
  [ $end = passed ]
}

tree=$(state)
[ "${1:-}" != --list ] || { table; exit; }
for part; do
  [[ " ${parts[*]} " = *" $part "* ]] || { echo "long: unknown part $part; the parts are ${parts[*]}" >&2; exit 2; }
done
trap 'echo; table; exit 130' INT TERM
status=0
for part in "${@:-${parts[@]}}"; do
  [ $# = 0 ] && [[ "$(result "$part")" = *" passed" ]] && continue
  run "$part" || status=1
done
table
exit $status
