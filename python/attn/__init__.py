"""Exact attention on the CPU: forward, backward, KV cache, plans, summaries; worked examples explained and checked; attention maps; captioners.

Shapes follow PyTorch: q (B, Hq, L, E), k (B, H, S, E), v (B, H, S, Ev), or rank 3 (heads, length, width) or 2. NumPy
arrays and DLPack arrays are read in place, with their strides. Results are PyTorch tensors if the first argument is
one, otherwise NumPy arrays. docs/semantics.md defines every feature.
"""
from . import nn
from ._cache import KVCache
from ._captioner import Caption, Captioner
from ._core import AttnError, library_version
from ._lessons import check, explain
from ._maps import AttentionMap, attention_map, show
from ._score import ScoreGradients, score, score_backward
from ._sdpa import Gradients, Plan, plan, sdpa, sdpa_backward, sdpa_packed, sdpa_packed_backward
from ._summary import Summary, summary

__all__ = ["AttentionMap", "AttnError", "Caption", "Captioner", "Gradients", "KVCache", "Plan", "ScoreGradients", "Summary",
           "attention_map", "check", "explain", "library_version", "nn", "plan", "score", "score_backward", "sdpa",
           "sdpa_backward", "sdpa_packed", "sdpa_packed_backward", "show", "summary"]
__version__ = "0.1.0"


def load_ipython_extension(shell):
    """%load_ext attn: adds the cell magic %%attn."""
    from ._magic import attn
    shell.register_magic_function(attn, "cell")
