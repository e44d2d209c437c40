#!/bin/bash
# Runs a replay program over a target's first inputs.
#     fuzz/replay.sh PROGRAM TARGET
set -euo pipefail
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
"$(dirname "$0")/corpus.sh" "$corpus"
"$1" "$corpus/$2"/*
