#!/bin/bash
# Benchmarks of the attention core, of small calls from Python and of whole models, against the measured limits
# of the CPU. If PYTHON (default: build/venv, then python3) has PyTorch and CTranslate2, their steps are
# interleaved. STEPS=n: steps of each model (default 3).
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset release -DATTN_BENCH=ON >/dev/null && cmake --build --preset release --target bench_sdpa bench_model attn attn-model >/dev/null
build/release/bench_sdpa "$@"
for python in "${PYTHON:-}" build/venv/bin/python python3; do
  [ -n "$python" ] || continue
  if "$python" -c 'import torch' 2>/dev/null; then
    "$python" bench/compare_torch.py --library build/release/libattn.so
    "$python" bench/compare_masks.py --library build/release/libattn.so
    ATTN_LIBRARY_PATH=build/release ATTN_INCLUDE_PATH=include/attn PYTHONPATH=python "$python" bench/call_cost.py
    exec "$python" bench/compare_model.py --program build/release/bench_model --steps "${STEPS:-3}"
  fi
done
python3 bench/compare_model.py --program build/release/bench_model --steps "${STEPS:-3}"
echo "bench: PyTorch is not installed; to compare with it: build/venv/bin/pip install torch==2.13.0 ctranslate2==4.8.0"
