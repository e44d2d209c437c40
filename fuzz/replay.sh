#!/bin/bash
# Runs a replay program on the seed corpus of a target.
#     fuzz/replay.sh PROGRAM TARGET CORPUS      CORPUS: a folder that fuzz/corpus.sh wrote; without it the corpus is written anew
set -euo pipefail
corpus=$3
if [ ! -e "$corpus/lesson/signs" ]; then
  corpus=$(mktemp -d)
  trap 'rm -rf "$corpus"' EXIT
  "$(dirname "$0")/corpus.sh" "$corpus"
fi
"$1" "$corpus/$2"/*
