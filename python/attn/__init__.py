"""Exact attention on the CPU: attn.sdpa, its gradients, its plan, a summary of its weights; worked examples explained and checked.

Shapes follow PyTorch: q (B, Hq, L, E), k (B, H, S, E), v (B, H, S, Ev), all of rank 4, 3 (heads, length,
width) or 2. NumPy arrays come in by the buffer protocol, everything else by DLPack, without a copy,
strided as they are; results are PyTorch's where the first argument is and otherwise NumPy's. What a call
means is written in docs/semantics.md.
"""
from . import nn
from ._cache import KVCache
from ._core import AttnError, library_version
from ._lessons import check, explain
from ._score import ScoreGradients, score, score_backward
from ._sdpa import Gradients, Plan, plan, sdpa, sdpa_backward, sdpa_packed, sdpa_packed_backward
from ._summary import Summary, summary

__all__ = ["AttnError", "Gradients", "KVCache", "Plan", "ScoreGradients", "Summary", "check", "explain", "library_version",
           "nn", "plan", "score", "score_backward", "sdpa", "sdpa_backward", "sdpa_packed", "sdpa_packed_backward",
           "summary"]
__version__ = "0.1.0"
