"""Layers around attention: rotary position embedding, layer and RMS normalization, the general attention layer; forward
and backward.

    cos, sin = attn.nn.rotary_tables(128, 64)
    q = attn.nn.rotary(q, cos, sin, positions)
    y = attn.nn.attention(x, q, w_k=w_k, w_v=w_v)

Arrays are NumPy, PyTorch or DLPack arrays of float32, float64, float16 or bfloat16, read in place with their strides.
Computation is in float64, rounded once, except in attention. Results are tensors if the first argument is one, otherwise
NumPy arrays; `out` must be writable. A tensor that requires grad is rejected while grad is enabled, because the result would
have no graph. Errors are attn.AttnError and name the argument. See attn/nn.h for accuracy and cost.
"""
from dataclasses import dataclass
from typing import Any, Optional, Tuple

import numpy as np

from ._attention import AttentionGradients, attention, attention_backward
from ._core import (AttnError, call, dtype_name, empty_like, ffi, integer, mark_written, model, new_struct, numpy_type,
                    real, view)

__all__ = ["AttentionGradients", "NormGradients", "attention", "attention_backward", "layer_norm", "layer_norm_backward",
           "rms_norm", "rms_norm_backward", "rotary", "rotary_backward", "rotary_tables"]

_INTERLEAVED, _EPSILON, _AXIS = 1, 1, 2
_INT32 = -2**31, 2**31 - 1


def _optional(array, name):
    return ffi.NULL if array is None else view(array, name)


def _input_and_result(x, name, out):
    """Returns the view of x, and the result array: out, or a new one like x."""
    return view(x, name), out if out is not None else empty_like(x, tuple(x.shape))


# ---- Rotary position embedding --------------------------------------------------------------------------------


def rotary_tables(length: int, rotary_dim: int, *, base: float = 10000.0, first: int = 0,
                  dtype: Any = "float32") -> Tuple[Any, Any]:
    """Computes the cosines and sines of the angles (first + p) base^(-2k / rotary_dim).

    Returns
    -------
    cos, sin : numpy.ndarray
        (length, rotary_dim / 2)
    """
    length, rotary_dim = integer(length, "length", 0), integer(rotary_dim, "rotary_dim", 0)
    if rotary_dim % 2:
        raise AttnError(f"rotary_dim must be even, got {rotary_dim}", "ATTN_ERR_ARGUMENT", "rotary_dim")
    kind = numpy_type(dtype, "dtype")
    cos, sin = (np.empty((length, rotary_dim // 2), kind) for _ in range(2))
    call(model().attn_rotary_tables, real(base, "base"), integer(first, "first"), view(cos, "cos"), view(sin, "sin"))
    return cos, sin


def _rotary_descriptor(positions, interleaved, rotary_dim, heads, threads):
    d = new_struct("attn_rotary", flags=_INTERLEAVED if interleaved else 0, rotary_dim=integer(rotary_dim, "rotary_dim"),
                   heads=integer(heads, "heads"), threads=integer(threads, "threads", *_INT32))
    d.positions = positions_view = _optional(positions, "positions")
    return d, positions_view  # which d does not keep alive


def rotary(x: Any, cos: Any, sin: Any, positions: Any = None, *, interleaved: bool = False, rotary_dim: int = 0,
           heads: int = 0, out: Any = None, threads: int = 0) -> Any:
    """Rotates each pair (x1, x2) by the angle of its position: y1 = cos x1 - sin x2, y2 = sin x1 + cos x2.

    Parameters
    ----------
    x : array
        (B, H, L, E), or (B, L, H * E) with heads.
    cos, sin : array
        (P, R/2) with positions, otherwise (B, L, R/2), where R is rotary_dim.
    positions : array, optional
        (B, L), int32 or int64, each in 0 .. P-1.
    interleaved : bool
        Pairs are (2k, 2k + 1) instead of (k, k + R/2).
    rotary_dim : int
        The number of leading elements of a head to rotate; 0 for all E.
    heads : int
        H, for x of rank 3.
    out : array, optional
        The result array; may be x.
    threads : int
        At most this many; 0 for all.

    Returns
    -------
    y : array
        Shape and type of x.
    """
    d, _positions = _rotary_descriptor(positions, interleaved, rotary_dim, heads, threads)
    tx, y = _input_and_result(x, "x", out)
    call(model().attn_rotary_forward, d, tx, view(cos, "cos"), view(sin, "sin"), view(y, "out", True),
         renamed={"y": "out"})
    mark_written(out)
    return y


def rotary_backward(d_y: Any, cos: Any, sin: Any, positions: Any = None, *, interleaved: bool = False,
                    rotary_dim: int = 0, heads: int = 0, out: Any = None, threads: int = 0) -> Any:
    """Computes the gradient of x in rotary(x, cos, sin, ...) from d_y, the inverse rotation. out may be d_y."""
    d, _positions = _rotary_descriptor(positions, interleaved, rotary_dim, heads, threads)
    td_y, d_x = _input_and_result(d_y, "d_y", out)
    call(model().attn_rotary_backward, d, view(cos, "cos"), view(sin, "sin"), td_y, view(d_x, "out", True),
         renamed={"d_x": "out"})
    mark_written(out)
    return d_x


# ---- Normalization -----------------------------------------------------------------------------------


def _norm_descriptor(axis, epsilon, threads):
    return new_struct("attn_norm", flags=_EPSILON | _AXIS, axis=integer(axis, "axis", *_INT32),
                      epsilon=real(epsilon, "epsilon"), threads=integer(threads, "threads", *_INT32))


def layer_norm(x: Any, scale: Any = None, bias: Any = None, *, axis: int = -1, epsilon: float = 1e-5,
               return_stats: bool = False, stats_dtype: Optional[str] = None, out: Any = None,
               threads: int = 0) -> Any:
    """Computes (x - mean) / sqrt(var + epsilon) * scale + bias over dimensions axis .. of x.

    Parameters
    ----------
    x : array
    scale, bias : array, optional
        Broadcast to x's shape.
    axis : int
        The first dimension to normalize.
    epsilon : float
    return_stats : bool
        Also returns mean and inv_std_dev.
    stats_dtype : str, optional
        Their type; defaults to float64 for float64 and to float32 otherwise.
    out : array, optional
        The result array; may be x, or of another float type.
    threads : int
        At most this many; 0 for all.

    Returns
    -------
    y : array
        Shape of x.
    mean, inv_std_dev : array, with return_stats
        Shape of x, with 1 from axis on.
    """
    d = _norm_descriptor(axis, epsilon, threads)
    tx, y = _input_and_result(x, "x", out)
    stats = [None, None]
    if return_stats:
        rank, kind = len(x.shape), stats_dtype or ("float64" if dtype_name(x) == "float64" else "float32")
        kept = axis if axis >= 0 else max(axis + rank, 0)
        stats = [empty_like(x, (*x.shape[:kept], *[1] * (rank - kept)), kind) for _ in range(2)]
    call(model().attn_layer_norm_forward, d, tx, _optional(scale, "scale"), _optional(bias, "bias"),
         view(y, "out", True), *(_optional(s, "stats") for s in stats), renamed={"y": "out"})
    mark_written(out)
    return (y, *stats) if return_stats else y


def rms_norm(x: Any, scale: Any = None, *, axis: int = -1, epsilon: float = 1e-5, out: Any = None,
             threads: int = 0) -> Any:
    """Computes x / sqrt(mean(x^2) + epsilon) * scale over dimensions axis .. of x. Parameters as in layer_norm."""
    d = _norm_descriptor(axis, epsilon, threads)
    tx, y = _input_and_result(x, "x", out)
    call(model().attn_rms_norm_forward, d, tx, _optional(scale, "scale"), view(y, "out", True), renamed={"y": "out"})
    mark_written(out)
    return y


@dataclass
class NormGradients:
    """Gradients of x, scale and bias; None for those not given."""
    d_x: Any
    d_scale: Optional[Any] = None
    d_bias: Optional[Any] = None


def _norm_backward(function, d_y, x, scale, bias, axis, epsilon, threads):
    d = _norm_descriptor(axis, epsilon, threads)
    tx, tscale, td_y = view(x, "x"), _optional(scale, "scale"), view(d_y, "d_y")
    _optional(bias, "bias")
    gradients = NormGradients(*(None if a is None else empty_like(a, tuple(a.shape)) for a in (x, scale, bias)))
    views = {n: view(getattr(gradients, n), n) for n in ("d_x", "d_scale", "d_bias") if getattr(gradients, n) is not None}
    call(getattr(model(), function), d, tx, tscale, td_y, new_struct("attn_norm_gradients", **views))
    return gradients


def layer_norm_backward(d_y: Any, x: Any, scale: Any = None, bias: Any = None, *, axis: int = -1,
                        epsilon: float = 1e-5, threads: int = 0) -> NormGradients:
    """Computes the gradients of layer_norm(x, scale, bias, ...) from d_y. Only the shape and type of bias are used."""
    return _norm_backward("attn_layer_norm_backward", d_y, x, scale, bias, axis, epsilon, threads)


def rms_norm_backward(d_y: Any, x: Any, scale: Any = None, *, axis: int = -1, epsilon: float = 1e-5,
                      threads: int = 0) -> NormGradients:
    """Computes the gradients of rms_norm(x, scale, ...) from d_y."""
    return _norm_backward("attn_rms_norm_backward", d_y, x, scale, None, axis, epsilon, threads)
