#!/usr/bin/env python3
"""The cost of a small call of each Python function, in microseconds, interleaved with PyTorch's; minimum of many.

    ATTN_LIBRARY_PATH=build/release ATTN_INCLUDE_PATH=include/attn PYTHONPATH=python bench/call_cost.py

1 batch, 1 head, 16 queries, 16 keys, width 16, float32, one thread.
"""
import argparse
import os
import types

os.environ.setdefault("ATTN_THREADS", "1")

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention as theirs

import attn
from attn.onnx import attention
from attn.torch import scaled_dot_product_attention, sdpa
from timing import timed


def functions():
    """name, our call, PyTorch's call or None."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(1, 1, 16, 16)).astype("f4") for _ in range(3))
    tensors = [torch.from_numpy(x) for x in (q, k, v)]
    leaves, four = [t.clone().requires_grad_() for t in tensors], torch.randn(1, 4, 16, 16)
    mask, bias, d_o = torch.rand(16, 16) > 0.3, torch.randn(16, 16), torch.randn(1, 1, 16, 16)
    both = lambda name, ours, *arguments, **named: (name, lambda: ours(*arguments, **named),
                                                    lambda: theirs(*arguments, **named))
    yield both("attn.sdpa, tensors", attn.sdpa, *tensors)
    yield "attn.sdpa, NumPy", lambda: attn.sdpa(q, k, v), lambda: theirs(*tensors)
    yield both("attn.torch.sdpa", sdpa, *tensors)
    yield both("PyTorch's signature", scaled_dot_product_attention, *tensors)
    yield both("  is_causal", scaled_dot_product_attention, *tensors, is_causal=True)
    yield both("  bool attn_mask", scaled_dot_product_attention, *tensors, mask)
    yield both("  float attn_mask", scaled_dot_product_attention, *tensors, bias)
    yield both("  enable_gqa, 4 heads to 1", scaled_dot_product_attention, four, *tensors[1:], enable_gqa=True)
    yield both("  requires_grad, forward", scaled_dot_product_attention, *leaves)
    backward = lambda f: lambda: torch.autograd.grad(f(*leaves), leaves, d_o)
    yield "  requires_grad, and backward", backward(scaled_dot_product_attention), backward(theirs)
    yield "attn.onnx.attention", lambda: attention(q, k, v, is_causal=1, want_qk=False), None
    try:
        from attn.hf import attention_forward
        module = types.SimpleNamespace(is_causal=True)
        yield "attn.hf", lambda: attention_forward(module, *tensors, None), lambda: theirs(*tensors, is_causal=True)
    except ImportError:
        pass
    cache, one = attn.KVCache(num_kv_heads=1, head_dim=16, capacity=64), [x[:, :, :1].copy() for x in (q, k, v)]
    cache.append(k, v)

    def step():
        cache.append(*one[1:])
        cache.attend(one[0])
        cache.truncate(0, 16)
    yield "KVCache: append, attend, truncate", step, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    repetitions = parser.parse_args().repetitions
    torch.set_num_threads(1)
    print(f"# PyTorch {torch.__version__}, 16 queries, 16 keys, width 16, one thread; microseconds, minimum of {repetitions}")
    for name, ours, other in functions():
        a, b = [], []
        for _ in range(repetitions):
            a.append(timed(ours))
            b.append(timed(other) if other else 0)
        print(f"{name:34}  libattn {min(a) * 1e6:6.1f}" + (f"  PyTorch {min(b) * 1e6:6.1f}" if other else ""))


main()
