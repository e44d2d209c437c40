#!/bin/bash
# attn bench with the options given; without options, small calls from Python as well.
# If PYTHON (default: build/venv, then python3) lacks a peer, it is left out.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-build/venv/bin/python}
command -v "$python" >/dev/null || python=python3
build/release/attn bench --python "$python" "$@"
if [ $# = 0 ] && "$python" -c 'import torch, cffi' 2>/dev/null; then
  ATTN_LIBRARY_PATH=build/release ATTN_INCLUDE_PATH=include/attn PYTHONPATH=python "$python" bench/call_cost.py
fi
