#!/bin/bash
# The main job, end to end: a published example checked, one explained, attention on tensor files
# held against double precision beside the CPU's measured peak, and a Transformer from nothing: trained
# for about a minute, asked for what it never saw, looked into. `make demo` calls it.
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

say "6. A Transformer from nothing: dates as people write them, for about a minute"
cd "$scratch"
show train dates --steps 1500 --seed 1 -o dates.safetensors
show generate dates.safetensors '平成三年五月十二日' '12 May 1991' 'Sunday, 12 May 1991'

say "7. What each character that it says looks at; one weight in full; a page of every head"
show show dates.safetensors --input '12 May 1991'
show explain dates.safetensors --input '12 May 1991' --layer 2 --cell 'weights[0,7]' | sed -n 1,8p
show show dates.safetensors --input '平成三年五月十二日' --html attention.html
mkdir -p "$build/demo" && mv attention.html "$build/demo/attention.html"
echo "the page: ${build#"$OLDPWD"/}/demo/attention.html"
