#!/bin/bash
# A demonstration: checks a published example and explains another, computes attention on tensor files and
# verifies it in float64, trains a Transformer for about a minute, generates with it and shows its attention; trains a
# captioner for about a minute and shows where it looks.
# `make demo` calls it.
set -euo pipefail
build=$(cd "${1:-build/release}" && pwd)
cd "$(dirname "$0")/.."
attn=$build/attn
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

title() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || title() { printf '\n%s\n' "$*"; }
run() { # prints a command, then runs it
  echo "\$ attn $*"
  "$attn" "$@"
}

title "1. A published worked example: which number is the first wrong one?"
run check examples/lessons/published-slip.md || [ $? = 1 ]

title "2. The corrected example, and how one of its numbers is computed"
run check examples/lessons/corrected-one-head.ja.md
run explain examples/lessons/corrected-one-head.ja.md --cell 'weights[0,1]' | sed -n 1,12p

title "3. An example explained, from X to the output"
run explain examples/lessons/01-first-attention.md

title "4. Attention on tensor files: 8 heads, 2048 tokens, width 64, verified in float64"
cc -O1 -Iinclude -o "$scratch/tensors" examples/c/03_tensor_files.c -L"$build" -lattn-model -lattn \
  -Wl,-rpath,"$build"
"$scratch/tensors" 1 8 2048 64 "$scratch"
(cd "$scratch" && run run --q q.npy --k k.npy --v v.npy --causal -o out.npy --verify --peak)

title "5. 131072 tokens, causal, in memory that is linear in their number"
"$scratch/tensors" 1 1 131072 64 "$scratch"
(cd "$scratch" && run run --q q.npy --k k.npy --v v.npy --causal -o out.npy --verify=64)

title "6. A Transformer trained from scratch to normalize dates, for about a minute"
cd "$scratch"
run train dates --steps 1500 --seed 1 -o dates.safetensors
run generate dates.safetensors '平成三年五月十二日' '12 May 1991' 'Sunday, 12 May 1991'

title "7. The attention of each output character; one weight in full; a page with every head"
run show dates.safetensors --input '12 May 1991'
run explain dates.safetensors --input '12 May 1991' --layer 2 --cell 'weights[0,7]' | sed -n 1,8p
run show dates.safetensors --input '平成三年五月十二日' --html attention.html

title "8. A captioner trained on drawn pictures, for about a minute: what is there, and where it looks for each word"
run train captions --steps 500 --config '{"num_stages": 3}' --test-examples 100 -o captions.safetensors
run caption captions.safetensors --examples 2 --seed 3
run caption captions.safetensors --examples 1 --seed 3 --show | sed -n 1,20p
run caption captions.safetensors --examples 8 --html captions.html >/dev/null
mkdir -p "$build/demo" && mv attention.html captions.html "$build/demo/"
echo "the pages: ${build#"$OLDPWD"/}/demo/attention.html, captions.html"
