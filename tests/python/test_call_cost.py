"""The overhead of a small call: the number of functions it calls, which does not depend on the load of the machine.

bench/call_cost.py measures the time. A limit is what a call needs today and a few more, for other versions of PyTorch.
"""
import sys
import types

import numpy as np
import pytest
import torch

import attn
import attn.hf
from attn.onnx import attention
from attn.torch import scaled_dot_product_attention, sdpa


def calls(call):
    """Returns the number of Python and C functions that a call runs."""
    found = []
    call()
    sys.setprofile(lambda frame, event, argument: found.append(argument if event == "c_call" else frame.f_code)
                   if event in ("call", "c_call") else None)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found[1:-1]  # without the lambda and setprofile


RNG = np.random.default_rng(0)
Q, K, V = (RNG.normal(size=(1, 1, 16, 16)).astype("f4") for _ in range(3))
TENSORS = [torch.from_numpy(x) for x in (Q, K, V)]
LEAVES = [t.clone().requires_grad_() for t in TENSORS]
MASKS = torch.ones(16, 16, dtype=torch.bool), torch.zeros(16, 16)
CACHE = attn.KVCache(num_kv_heads=1, head_dim=16, capacity=64)
MODULE = types.SimpleNamespace(is_causal=True)
CALLS = {
    "NumPy": (lambda: attn.sdpa(Q, K, V), 45),
    "NumPy, causal, lse": (lambda: attn.sdpa(Q, K, V, causal=True, return_lse=True), 68),
    "tensors": (lambda: attn.sdpa(*TENSORS), 70),
    "attn.torch.sdpa": (lambda: sdpa(*TENSORS), 88),
    "PyTorch's signature": (lambda: scaled_dot_product_attention(*TENSORS), 96),
    "causal": (lambda: scaled_dot_product_attention(*TENSORS, is_causal=True), 96),
    "bool mask": (lambda: scaled_dot_product_attention(*TENSORS, MASKS[0]), 125),
    "float mask": (lambda: scaled_dot_product_attention(*TENSORS, MASKS[1]), 125),
    "grouped heads": (lambda: scaled_dot_product_attention(TENSORS[0].expand(1, 4, 16, 16), *TENSORS[1:], enable_gqa=True), 97),
    "with a graph": (lambda: scaled_dot_product_attention(*LEAVES), 185),
    "forward and backward": (lambda: torch.autograd.grad(scaled_dot_product_attention(*LEAVES).sum(), LEAVES), 480),
    "Hugging Face": (lambda: attn.hf.attention_forward(MODULE, *TENSORS, None), 92),
    "ONNX": (lambda: attention(Q, K, V, is_causal=1, want_qk=False), 70),
    "cache, append": (lambda: CACHE.append(K[:, :, :1], V[:, :, :1]), 25),
    "cache, attend": (lambda: CACHE.attend(Q[:, :, :1]), 38),
}


@pytest.mark.parametrize("name", CALLS)
def test_function_calls_per_call(name):
    call, most = CALLS[name]
    found = calls(call)
    print(f"{name}: {len(found)}")
    assert len(found) <= most, "\n".join(map(str, found))
