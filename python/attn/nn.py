"""Layers around attention: rotary positions, layer and RMS normalization, forward and backward.

    cos, sin = attn.nn.rotary_tables(128, 64)
    q = attn.nn.rotary(q, cos, sin, positions)

Arrays are NumPy's or come by DLPack, strided as they are, each float32, float64, float16 or bfloat16. All is
computed in double and rounded once. Results are PyTorch's where the first argument is and otherwise NumPy's; out, in
place of one, must be writable. A tensor that requires grad is refused while grad is enabled: there is no graph.
Errors are attn.AttnError and name the argument. The C header attn/nn.h says the rest.
"""
from dataclasses import dataclass
from typing import Any, Optional, Tuple

import numpy as np

from ._core import AttnError, check, dtype_name, empty_like, ffi, model, new_error, numpy_type, real, view, whole, written

__all__ = ["NormGradients", "layer_norm", "layer_norm_backward", "rms_norm", "rms_norm_backward", "rotary",
           "rotary_backward", "rotary_tables"]

_INTERLEAVED, _EPSILON, _AXIS = 1, 1, 2


_INT32 = -2**31, 2**31 - 1


def _call(function, *arguments, renamed=None):
    error = new_error()
    check(function(*arguments, error), error, renamed)


def _optional(array, name):
    return ffi.NULL if array is None else view(array, name)


def _and_result(x, name, out):
    """The view of x, and where the result goes: out, or a new array like x."""
    return view(x, name), out if out is not None else empty_like(x, tuple(x.shape))


# ---- Rotary positions --------------------------------------------------------------------------------


def rotary_tables(length: int, rotary_dim: int, *, base: float = 10000.0, first: int = 0,
                  dtype: Any = "float32") -> Tuple[Any, Any]:
    """cos and sin of the angles (first + p) base^(-2k / rotary_dim): two NumPy arrays (length, rotary_dim / 2)."""
    length, rotary_dim = whole(length, "length", 0), whole(rotary_dim, "rotary_dim", 0)
    if rotary_dim % 2:
        raise AttnError(f"rotary_dim is {rotary_dim}; it must be even", "ATTN_ERR_ARGUMENT", "rotary_dim")
    kind = numpy_type(dtype, "dtype")
    cos, sin = (np.empty((length, rotary_dim // 2), kind) for _ in range(2))
    _call(model().attn_rotary_tables, real(base, "base"), whole(first, "first"), view(cos, "cos"), view(sin, "sin"))
    return cos, sin


def _rotary_descriptor(positions, interleaved, rotary_dim, heads, threads):
    d = ffi.new("attn_rotary *")
    d.struct_size, d.flags = ffi.sizeof("attn_rotary"), _INTERLEAVED if interleaved else 0
    d.rotary_dim, d.heads = whole(rotary_dim, "rotary_dim"), whole(heads, "heads")
    d.threads = whole(threads, "threads", *_INT32)
    held = _optional(positions, "positions")
    d.positions = held
    return d, held


def rotary(x: Any, cos: Any, sin: Any, positions: Any = None, *, interleaved: bool = False, rotary_dim: int = 0,
           heads: int = 0, out: Any = None, threads: int = 0) -> Any:
    """x turned by its positions: y1 = cos x1 - sin x2, y2 = sin x1 + cos x2 for each pair (x1, x2).

    x (B, H, L, E), or (B, L, H * E) with heads. cos and sin (P, R/2) with positions (B, L), int32 or int64 in
    0 .. P-1; else (B, L, R/2). R = rotary_dim, 0 for E: the first R numbers of a head are turned, in pairs
    (k, k + R/2), or (2k, 2k + 1) if interleaved. out may be x. Returns y of x's shape and type.
    """
    d, held = _rotary_descriptor(positions, interleaved, rotary_dim, heads, threads)
    tx, y = _and_result(x, "x", out)
    _call(model().attn_rotary_forward, d, tx, view(cos, "cos"), view(sin, "sin"), view(y, "out", True),
          renamed={"y": "out"})
    written(out)
    return y


def rotary_backward(d_y: Any, cos: Any, sin: Any, positions: Any = None, *, interleaved: bool = False,
                    rotary_dim: int = 0, heads: int = 0, out: Any = None, threads: int = 0) -> Any:
    """d_x of rotary(x, cos, sin, ...) given d_y of its shape: the turn the other way. out may be d_y."""
    d, held = _rotary_descriptor(positions, interleaved, rotary_dim, heads, threads)
    td_y, d_x = _and_result(d_y, "d_y", out)
    _call(model().attn_rotary_backward, d, view(cos, "cos"), view(sin, "sin"), td_y, view(d_x, "out", True),
          renamed={"d_x": "out"})
    written(out)
    return d_x


# ---- Normalization -----------------------------------------------------------------------------------


def _norm_descriptor(axis, epsilon, threads):
    d = ffi.new("attn_norm *")
    d.struct_size, d.flags = ffi.sizeof("attn_norm"), _EPSILON | _AXIS
    d.axis, d.epsilon = whole(axis, "axis", *_INT32), real(epsilon, "epsilon")
    d.threads = whole(threads, "threads", *_INT32)
    return d


def layer_norm(x: Any, scale: Any = None, bias: Any = None, *, axis: int = -1, epsilon: float = 1e-5,
               return_stats: bool = False, stats_dtype: Optional[str] = None, out: Any = None,
               threads: int = 0) -> Any:
    """(x - mean) / sqrt(var + epsilon) * scale + bias over dimensions axis .. of x.

    scale and bias broadcast to x's shape as in NumPy. out may be x, or of another float type. Returns y (x's
    shape); with return_stats also mean and inv_std_dev, of x's shape with 1 from axis on and of stats_dtype
    (default: float64 for float64, else float32).
    """
    d = _norm_descriptor(axis, epsilon, threads)
    tx, y = _and_result(x, "x", out)
    stats = [None, None]
    if return_stats:
        rank, kind = len(x.shape), stats_dtype or ("float64" if dtype_name(x) == "float64" else "float32")
        kept = axis if axis >= 0 else max(axis + rank, 0)
        stats = [empty_like(x, (*x.shape[:kept], *[1] * (rank - kept)), kind) for _ in range(2)]
    _call(model().attn_layer_norm_forward, d, tx, _optional(scale, "scale"), _optional(bias, "bias"),
          view(y, "out", True), *(_optional(s, "stats") for s in stats), renamed={"y": "out"})
    written(out)
    return (y, *stats) if return_stats else y


def rms_norm(x: Any, scale: Any = None, *, axis: int = -1, epsilon: float = 1e-5, out: Any = None,
             threads: int = 0) -> Any:
    """x / sqrt(mean(x^2) + epsilon) * scale over dimensions axis .. of x; otherwise as layer_norm. Returns y."""
    d = _norm_descriptor(axis, epsilon, threads)
    tx, y = _and_result(x, "x", out)
    _call(model().attn_rms_norm_forward, d, tx, _optional(scale, "scale"), view(y, "out", True), renamed={"y": "out"})
    written(out)
    return y


@dataclass
class NormGradients:
    """d_x as x; d_scale and d_bias as scale and bias, None where there were none."""
    d_x: Any
    d_scale: Optional[Any] = None
    d_bias: Optional[Any] = None


def _norm_backward(name, d_y, x, scale, bias, axis, epsilon, threads):
    d, g = _norm_descriptor(axis, epsilon, threads), ffi.new("attn_norm_gradients *")
    g.struct_size = ffi.sizeof("attn_norm_gradients")
    tx, tscale, td_y = view(x, "x"), _optional(scale, "scale"), view(d_y, "d_y")
    _optional(bias, "bias")
    made = NormGradients(*(None if a is None else empty_like(a, tuple(a.shape)) for a in (x, scale, bias)))
    held = {n: view(getattr(made, n), n) for n in ("d_x", "d_scale", "d_bias") if getattr(made, n) is not None}
    for field, its_view in held.items():
        setattr(g, field, its_view)
    _call(getattr(model(), name), d, tx, tscale, td_y, g)
    return made


def layer_norm_backward(d_y: Any, x: Any, scale: Any = None, bias: Any = None, *, axis: int = -1,
                        epsilon: float = 1e-5, threads: int = 0) -> NormGradients:
    """Gradients of layer_norm(x, scale, bias, ...) given d_y of x's shape. Of bias only shape and type count."""
    return _norm_backward("attn_layer_norm_backward", d_y, x, scale, bias, axis, epsilon, threads)


def rms_norm_backward(d_y: Any, x: Any, scale: Any = None, *, axis: int = -1, epsilon: float = 1e-5,
                      threads: int = 0) -> NormGradients:
    """Gradients of rms_norm(x, scale, ...) given d_y of x's shape."""
    return _norm_backward("attn_rms_norm_backward", d_y, x, scale, None, axis, epsilon, threads)
