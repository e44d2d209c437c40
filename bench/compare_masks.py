#!/usr/bin/env python3
"""Masks, ALiBi, windows and 16-bit types against PyTorch's scaled_dot_product_attention: one thread, interleaved, in CPU
time. PyTorch gets ALiBi and windows as masks.

    bench/compare_masks.py --library build/release/libattn.so [--repetitions 20] [--length 2048]
"""
import argparse
import ctypes
import statistics
import time

import torch
import torch.nn.functional as F
from compare_torch import Sdpa, view
from timing import cpu_name, timed

CAUSAL, WINDOW = 2, 4


def cases(length):
    """Name, dtype, our options, PyTorch's mask, whether it is causal, and the share of pairs that is counted."""
    i, j = torch.arange(length)[:, None], torch.arange(length)
    lengths = torch.tensor([3 * length // 4, length // 2]).view(2, 1, 1, 1)
    random, causal, padding = torch.rand(length, length) > 0.1, j <= i, j < lengths
    slopes = torch.tensor([0.5, 0.5 / 16])
    alibi = -slopes.view(2, 1, 1) * (i - j).abs()
    window = causal & (j > i - 256)
    half = (length + 1) / 2 / length
    f32, bf16, f16 = torch.float32, torch.bfloat16, torch.float16
    return [("full", f32, {}, None, False, 1), ("causal", f32, {"flags": CAUSAL}, None, True, half),
            ("bool random", f32, {"mask": random}, random, False, 1),
            ("bool causal", f32, {"mask": causal}, causal, False, half),
            ("bool padding", f32, {"mask": padding}, padding, False, 0.625),
            ("float random", f32, {"mask": torch.randn(length, length)}, None, False, 1),
            ("float causal", f32, {"mask": torch.zeros(length, length).masked_fill(~causal, -torch.inf)}, None, False, half),
            ("alibi", f32, {"alibi": slopes}, alibi, False, 1),
            ("alibi causal", f32, {"alibi": slopes, "flags": CAUSAL}, alibi.masked_fill(~causal, -torch.inf), False, half),
            ("window 256", f32, {"flags": CAUSAL | WINDOW, "window": (255, -1)}, window, False,
             window.sum().item() / length**2),
            ("bf16 full", bf16, {}, None, False, 1), ("bf16 causal", bf16, {"flags": CAUSAL}, None, True, half),
            ("bf16 bool random", bf16, {"mask": random}, random, False, 1), ("f16 full", f16, {}, None, False, 1)]


def compare(library, case, length, width, repetitions):
    name, dtype, ours, mask, causal, share = case
    q, k, v = (torch.randn(2, 2, length, width).to(dtype) for _ in range(3))
    o = torch.empty_like(q)
    desc = Sdpa(struct_size=ctypes.sizeof(Sdpa), flags=ours.get("flags", 0), threads=1)
    desc.window[:] = ours.get("window", (0, 0))
    kept = [view(t) for t in (q, k, v, o)]
    if "mask" in ours:
        mask = ours["mask"]
        kept.append(view(mask))
        desc.mask = ctypes.addressof(kept[-1])
    if "alibi" in ours:
        kept.append(view(ours["alibi"]))
        desc.alibi = ctypes.addressof(kept[-1])

    def libattn():
        status = library.attn_sdpa_forward(ctypes.byref(desc), *(ctypes.byref(t) for t in kept[:4]), None)
        assert status == 0, status

    def pytorch():
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    libattn()
    assert torch.allclose(o, pytorch(), atol=1e-4 if dtype == torch.float32 else 3e-2), f"{name}: different results"
    a, b = [], []
    for _ in range(repetitions):
        a.append(timed(libattn, time.thread_time))
        b.append(timed(pytorch, time.thread_time))
    flops = 4 * 4 * length**2 * width * share * 1e-9
    rate = lambda times: f"{flops / min(times):6.1f} ({flops / statistics.median(times):6.1f})"
    print(f"d {width:3} {name:16}  libattn {rate(a)}  PyTorch {rate(b)}  "
          f"ratio {min(b) / min(a):.2f} ({statistics.median(b) / statistics.median(a):.2f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--length", type=int, default=2048)
    options = parser.parse_args()
    library = ctypes.CDLL(options.library)
    torch.set_num_threads(1)
    print(f"# {cpu_name()}, PyTorch {torch.__version__}, one thread, B 2, H 2, L = S = {options.length}; GFLOP/s of visible "
          f"pairs, minimum (median) time of {options.repetitions}")
    for width in (64, 128):
        for case in cases(options.length):
            compare(library, case, options.length, width, options.repetitions)


if __name__ == "__main__":
    main()
