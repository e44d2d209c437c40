#!/bin/bash
# Runs fuzzers in parallel for some seconds, on the seed corpus and what they add to it.
#     fuzz/run.sh BUILD-FOLDER SECONDS [NAME...]      default: all; WORKERS=n: n processes of each
set -euo pipefail
build=$(realpath "$1")
seconds=${2:-60}
here=$(cd "$(dirname "$0")" && pwd)
corpus=$build/corpus
"$here/corpus.sh" "$corpus"

names=("${@:3}")
[ ${#names[@]} -gt 0 ] || names=($(basename -s .c -a "$here"/fuzz_*.c | sed s/^fuzz_//))
status=0
running=()
# Larger allocations fail, and the libraries must report it.
export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=256
for name in "${names[@]}"; do
  case $name in png | idx | lesson | sdpa | cache | data) dictionary=() ;; *) dictionary=(-dict="$here/json.dict") ;; esac
  rm -f "$build/fuzz_$name".*.log
  for ((worker = 0; worker < ${WORKERS:-1}; worker++)); do
    "$build/fuzz_$name" "${dictionary[@]}" -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=1024 -malloc_limit_mb=257 -timeout=20 \
      -print_final_stats=1 -artifact_prefix="$build/crash-$name-" "$corpus/$name" >"$build/fuzz_$name.$worker.log" 2>&1 &
    running+=($!)
  done
done
for pid in "${running[@]}"; do wait "$pid" || status=1; done
for name in "${names[@]}"; do
  runs=$(sed -n 's/.*number_of_executed_units: *//p' "$build/fuzz_$name".*.log | awk '{n += $1} END {print n + 0}')
  echo "fuzz_$name: $runs inputs in $seconds s"
  [ "$runs" -gt 0 ] || status=1
done
[ $status = 0 ] || for name in "${names[@]}"; do tail -n 40 "$build/fuzz_$name".*.log; done
exit $status
