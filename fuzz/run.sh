#!/bin/bash
# Runs every fuzzer for some seconds from a small corpus that it makes itself, two at a time.
#     fuzz/run.sh BUILD-FOLDER SECONDS
set -euo pipefail
build=$(realpath "$1")
seconds=${2:-60}
here=$(cd "$(dirname "$0")" && pwd)
corpus=$build/corpus
mkdir -p "$corpus"/{npy,safetensors,lesson}

printf "\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }            \n\0\0\x80\x3f\0\0\0\x40" >"$corpus/npy/two"
printf "\x93NUMPY\x02\x00\x3d\x00\0\0{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }   \n\x3f\xf0\0\0\0\0\0\0" >"$corpus/npy/one"
printf '\x3a\0\0\0\0\0\0\0{"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}    \x80\x3f\0\x40' >"$corpus/safetensors/two"
printf '\x36\0\0\0\0\0\0\0{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}\0\0\x80\x3f' >"$corpus/safetensors/one"
cp "$here"/../examples/lessons/* "$corpus/lesson/" 2>/dev/null || true
cp "$here"/../tests/lesson/reader/*.md "$corpus/lesson/" 2>/dev/null || true
cat >"$corpus/lesson/one" <<'T'
# Example 1
tokens: 私 は
\[ W^Q = \begin{bmatrix} 1 & 0 \ 0.5 & \frac{1}{2} \end{bmatrix} \]
X
1 0
0 1
| は | [1, 0] |
q = torch.tensor([[1.0, 0.0]])
s = q @ q.T / np.sqrt(2)  # → tensor([[0.7071]])
T

status=0
running=()
for name in npy safetensors lesson; do
  "$build/fuzz_$name" -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=1024 -timeout=20 \
    -print_final_stats=1 -artifact_prefix="$build/crash-$name-" "$corpus/$name" >"$build/fuzz_$name.log" 2>&1 &
  running+=($!)
done
for n in 0 1 2; do wait "${running[$n]}" || status=1; done
for name in npy safetensors lesson; do
  runs=$(grep -o 'number_of_executed_units: *[0-9]*' "$build/fuzz_$name.log" | grep -o '[0-9]*$' | tail -n 1 || true)
  echo "fuzz_$name: $runs inputs in $seconds s"
  [ "${runs:-0}" -gt 0 ] || status=1
done
[ $status = 0 ] || tail -n 40 "$build"/fuzz_*.log
exit $status
