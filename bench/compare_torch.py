#!/usr/bin/env python3
"""libattn against PyTorch's scaled_dot_product_attention: float32, one thread, interleaved.

    bench/compare_torch.py --library build/release/libattn.so [--repetitions 20]
"""
import argparse
import ctypes
import statistics

import torch
import torch.nn.functional as F
from timing import cpu_name, timed


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 8), ("strides", ctypes.c_int64 * 8)]


class Sdpa(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("flags", ctypes.c_uint64), ("scale", ctypes.c_double),
                ("align", ctypes.c_int32), ("empty_row", ctypes.c_int32), ("offset", ctypes.c_int64),
                ("window", ctypes.c_int64 * 2), ("pointers", ctypes.c_void_p * 7),
                ("workspace_bytes", ctypes.c_size_t), ("threads", ctypes.c_int32),
                ("reserved", ctypes.c_int32), ("progress", ctypes.c_void_p * 2)]


def view(t):
    out = Tensor(t.data_ptr(), 0x00012002, t.dim())
    for n in range(t.dim()):
        out.shape[n], out.strides[n] = t.shape[n], t.stride(n)
    return ctypes.byref(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--repetitions", type=int, default=20)
    options = parser.parse_args()
    library = ctypes.CDLL(options.library)
    torch.set_num_threads(1)
    print(f"# {cpu_name()}, PyTorch {torch.__version__}, float32, one thread, B 1, H 2, L = S = 2048; GFLOP/s, "
          f"minimum (median) time of {options.repetitions}")
    for width in (64, 128):
        q, k, v = (torch.randn(1, 2, 2048, width) for _ in range(3))
        o = torch.empty_like(q)
        for causal in (False, True):
            desc = Sdpa(struct_size=ctypes.sizeof(Sdpa), flags=2 if causal else 0, threads=1)

            def ours():
                status = library.attn_sdpa_forward(ctypes.byref(desc), view(q), view(k), view(v), view(o), None)
                assert status == 0, status

            def theirs():
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            ours()
            assert torch.allclose(o, theirs(), atol=1e-4), "different results"
            a, b = [], []
            for _ in range(options.repetitions):
                a.append(timed(ours))
                b.append(timed(theirs))
            flops = 4 * 2 * 2048 * (2049 / 2 if causal else 2048) * width * 1e-9
            rate = lambda times: f"{flops / min(times):6.1f} ({flops / statistics.median(times):6.1f})"
            print(f"d {width:3} {'causal' if causal else 'full  '}  libattn {rate(a)}  PyTorch {rate(b)}  "
                  f"ratio {min(b) / min(a):.2f} ({statistics.median(b) / statistics.median(a):.2f})")


main()
