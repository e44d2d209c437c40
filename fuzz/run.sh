#!/bin/bash
# Runs every fuzzer for some seconds, all at a time, from a small corpus that it makes itself.
#     fuzz/run.sh BUILD-FOLDER SECONDS
set -euo pipefail
build=$(realpath "$1")
seconds=${2:-60}
here=$(cd "$(dirname "$0")" && pwd)
corpus=$build/corpus
"$here/corpus.sh" "$corpus"

names=(${ATTN_FUZZERS:-npy safetensors tokenizer lesson sdpa cache config checkpoint folder data})
status=0
running=()
# A machine that has no large blocks: more than that is refused, and must be told.
export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=256
for name in "${names[@]}"; do
  case $name in lesson | sdpa | cache | data) words=() ;; *) words=(-dict="$here/json.dict") ;; esac
  "$build/fuzz_$name" "${words[@]}" -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=1024 -malloc_limit_mb=257 -timeout=20 \
    -print_final_stats=1 -artifact_prefix="$build/crash-$name-" "$corpus/$name" >"$build/fuzz_$name.log" 2>&1 &
  running+=($!)
done
for pid in "${running[@]}"; do wait "$pid" || status=1; done
for name in "${names[@]}"; do
  runs=$(grep -o 'number_of_executed_units: *[0-9]*' "$build/fuzz_$name.log" | grep -o '[0-9]*$' | tail -n 1 || true)
  echo "fuzz_$name: $runs inputs in $seconds s"
  [ "${runs:-0}" -gt 0 ] || status=1
done
[ $status = 0 ] || tail -n 40 "$build"/fuzz_*.log
exit $status
