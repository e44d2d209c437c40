#!/bin/bash
# The main job, end to end: attention on tensor files, held against double precision, beside the
# CPU's measured peak. `make demo` calls it.
set -euo pipefail
build=$(cd "${1:-build/release}" && pwd)
cd "$(dirname "$0")/.."
attn=$build/attn
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }
show() { # prints a command as one would type it, then runs it
  echo "\$ attn $*"
  "$attn" "$@"
}

say "1. Attention on tensor files: 8 heads, 2048 tokens, width 64, held against double precision"
cc -O1 -Iinclude -o "$scratch/tensors" examples/c/03_tensor_files.c -L"$build" -lattn-model -lattn \
  -Wl,-rpath,"$build"
"$scratch/tensors" 1 8 2048 64 "$scratch"
(cd "$scratch" && show run --q q.npy --k k.npy --v v.npy --causal -o out.npy --verify --peak)

say "2. 131072 tokens, causal, in memory that does not grow with their square"
"$scratch/tensors" 1 1 131072 64 "$scratch"
(cd "$scratch" && show run --q q.npy --k k.npy --v v.npy --causal -o out.npy --verify=64)
