#!/bin/bash
# The main job, end to end: a published example checked, one explained, attention on tensor files
# held against double precision beside the CPU's measured peak. `make demo` calls it.
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

say "1. A worked example as it was published: which number is the first wrong one?"
show check examples/lessons/published-slip.md || [ $? = 1 ]

say "2. The same example, put right; and one number of it written out"
show check examples/lessons/corrected-one-head.ja.md
show explain examples/lessons/corrected-one-head.ja.md --cell 'weights[0,1]' | sed -n 1,12p

say "3. An example explained, from X to the output"
show explain examples/lessons/01-first-attention.md

say "4. Attention on tensor files: 8 heads, 2048 tokens, width 64, held against double precision"
cc -O1 -Iinclude -o "$scratch/tensors" examples/c/03_tensor_files.c -L"$build" -lattn-model -lattn \
  -Wl,-rpath,"$build"
"$scratch/tensors" 1 8 2048 64 "$scratch"
(cd "$scratch" && show run --q q.npy --k k.npy --v v.npy --causal -o out.npy --verify --peak)

say "5. 131072 tokens, causal, in memory that does not grow with their square"
"$scratch/tensors" 1 1 131072 64 "$scratch"
(cd "$scratch" && show run --q q.npy --k k.npy --v v.npy --causal -o out.npy --verify=64)
