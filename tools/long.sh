#!/bin/bash
# What takes too long for each change, in parts, none of them over an hour on two cores:
#     tools/long.sh              every part that has not passed yet for the tree as it is, in order
#     tools/long.sh PART...      these, passed or not
#     tools/long.sh --list       every part, how it ended and how long it took
# A part that has begun and was stopped (Ctrl-C) is lost, and no other: what ended is noted in build/long, with
# the state of the tree, which is all files that git tracks or does not ignore. A change of any of them is another
# state, a commit alone is not. Exit status: 0 where all parts that were asked for passed, 1 where one failed.
set -euo pipefail
cd "$(dirname "$0")/.."
notes=build/long
mkdir -p "$notes"

parts=(rounds rare floats)
for fuzzer in fuzz/fuzz_*.c; do parts+=("$(basename -s .c "$fuzzer")"); done
parts+=(mutations-1 mutations-2 mutations-3 mutations-4) # tools/test.sh knows what each is

state() { git ls-files -coz --exclude-standard | sort -z | xargs -0 sha256sum 2>/dev/null | sha256sum | cut -c1-16; }

ended() { # ended PART: how it ended and its seconds, of this state; of another one, that it is old
  local of end seconds
  read -r of end seconds 2>/dev/null <"$notes/$1" || { echo "- -"; return; }
  [ "$of" = "$tree" ] || end="old ($end)"
  echo "$seconds $end"
}

table() {
  local all=0 seconds end
  printf '%-20s %6s  %s\n' part seconds "tree $tree"
  for part in "${parts[@]}"; do
    read -r seconds end <<<"$(ended "$part")"
    printf '%-20s %6s  %s\n' "$part" "$seconds" "$end"
    [ "$seconds" = - ] || all=$((all + seconds))
  done
  printf '%-20s %6s\n' together "$all"
}

run() { # run PART: its own process, so that its first failure ends it and not the parts after it
  local start=$SECONDS end=passed
  rm -f "$notes/$1"
  tools/test.sh long-part "$1" 2>&1 | tee "$notes/$1.log" || end=failed
  [ "$(state)" = "$tree" ] || { echo "long: the tree has changed meanwhile: $1 is not noted" >&2; return 1; }
  echo "$tree $end $((SECONDS - start))" >"$notes/$1"
  [ $end = passed ]
}

tree=$(state)
[ "${1:-}" != --list ] || { table; exit; }
for part; do
  [[ " ${parts[*]} " = *" $part "* ]] || { echo "long: there is no part $part; these are: ${parts[*]}" >&2; exit 2; }
done
trap 'echo; table; exit 130' INT TERM
status=0
for part in "${@:-${parts[@]}}"; do
  [ $# = 0 ] && [[ "$(ended "$part")" = *" passed" ]] && continue
  run "$part" || status=1
done
table
exit $status
