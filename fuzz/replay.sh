#!/bin/bash
# Runs a replay program on the seed corpus of a target.
#     fuzz/replay.sh PROGRAM TARGET
set -euo pipefail
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
"$(dirname "$0")/corpus.sh" "$corpus"
"$1" "$corpus/$2"/*
