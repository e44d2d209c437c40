#!/bin/bash
# Speed of the attention core: against the CPU's measured limit and, where PyTorch is
# installed for PYTHON (default: build/venv, then python3), against PyTorch in one interleaved run.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset test >/dev/null && cmake --build --preset test --target bench_sdpa attn >/dev/null
build/test/bench_sdpa "$@"
for python in "${PYTHON:-}" build/venv/bin/python python3; do
  [ -n "$python" ] || continue
  if "$python" -c 'import torch' 2>/dev/null; then
    exec "$python" bench/compare_torch.py --library build/test/libattn.so
  fi
done
echo "bench: no PyTorch found; to compare: build/venv/bin/pip install torch==2.13.0"
