"""sdpa, packed sequences, gradients and plans."""
from dataclasses import dataclass
from typing import Any, Optional

from ._core import (F64, AttnError, call, check, choose, core, dtype_name, empty_like, ffi, new_error, new_struct, quick,
                    check_rank_2, real, integer, integers, mark_written, view)

SCALE, CAUSAL, WINDOW, OFFSET, SOFTCAP, DROPOUT = 1, 2, 4, 8, 16, 32
ALIGNS = {"top-left": 0, "bottom-right": 1}
_EMPTY = {"zero": 0, "mean": 1, "nan": 2, "error": 3}

# Defaults of other systems; see docs/semantics.md.
PRESETS = {
    "torch": {"align": "top-left", "empty_row": "zero"},
    "onnx": {"align": "top-left", "empty_row": "zero"},
    "flash": {"align": "bottom-right", "empty_row": "zero"},
    "jax": {"align": "top-left", "empty_row": "mean"},
    "fill": {"align": "top-left", "empty_row": "mean"},
}


_SDPA, _SDPA_SIZE = ffi.typeof("attn_sdpa *"), ffi.sizeof("attn_sdpa")


class _Descriptor:
    """An attn_sdpa and the views it points to."""

    def __init__(self, *, mask=None, causal=False, align=None, offset=None, window=None, scale=None, softcap=None,
                 alibi=None, sinks=None, additive=None, key_lengths=None, dropout=0.0, seed=0, origin=(0, 0, 0), empty_row=None,
                 preset=None, threads=0):
        if preset is not None:
            defaults = choose(PRESETS, preset, "preset")
            align = defaults["align"] if align is None else align
            empty_row = defaults["empty_row"] if empty_row is None else empty_row
        d = self.desc = quick.new(_SDPA)
        d.struct_size, d.threads = _SDPA_SIZE, integer(threads, "threads", -2**31, 2**31 - 1)
        self.views = []
        self._position(causal, align, offset, window)
        if empty_row is not None:
            d.empty_row = choose(_EMPTY, empty_row, "empty_row")
        if scale is not None:
            d.flags, d.scale = d.flags | SCALE, real(scale, "scale")
        if softcap is not None:
            d.flags, d.softcap = d.flags | SOFTCAP, real(softcap, "softcap")
        dropout = 0.0 if dropout is None else real(dropout, "dropout")
        if dropout:
            d.flags, d.dropout, d.seed = d.flags | DROPOUT, dropout, integer(seed, "seed", 0, 2**64 - 1)
            d.origin_batch, d.origin_head, d.origin_query = integers(origin, "origin", 3)
        for name, array in (("mask", mask), ("alibi", alibi), ("sinks", sinks),
                            ("additive", additive), ("key_lengths", key_lengths)):
            if array is not None:
                setattr(d, name, self.view(array, name))

    def _position(self, causal, align, offset, window):
        d = self.desc
        if causal:
            d.flags |= CAUSAL
        if offset is not None:
            d.flags, d.align, d.offset = d.flags | OFFSET, 2, integer(offset, "offset")
        elif align is not None:
            d.align = choose(ALIGNS, align, "align")
        if window is not None:
            d.flags |= WINDOW
            d.window_left, d.window_right = integers(window, "window", 2)

    def view(self, array, name, output=False):
        result = view(array, name, output)
        self.views.append(result)
        return result

    def view_all(self, **arrays):
        return [self.view(array, name) for name, array in arrays.items()]

    def results(self, o, q, lse, weights):
        """Returns o and what the call computes with it; lse, weights: shape, and type if not q's, or False."""
        results = [o]
        for name, form in ("lse", lse), ("weights", weights):
            if form:
                results.append(empty_like(q, *form))
                setattr(self.desc, name, self.view(results[-1], name))
        return results

    def gradients(self, kind, gradients, names, **members):
        """Returns a structure that points to the allocated gradients of these names."""
        g = new_struct(kind, **members)
        for name in names:
            array = getattr(gradients, name)
            if array is not None:
                setattr(g, name, self.view(array, name))
        return g


_DEFAULT = _Descriptor()  # shared by calls without features, never written to


def _lse_type(view):
    return "float64" if view.dtype == F64 else "float32"


def sdpa(q, k, v, *, return_lse: bool = False, return_weights: bool = False, out: Any = None, **features):
    """Computes scaled dot-product attention, softmax(scale q k^T + mask) v.

    Parameters
    ----------
    q, k, v : array
        q (B, Hq, L, E), k (B, H, S, E), v (B, H, S, Ev), or rank 3 or 2; float32, float64, float16 or bfloat16.
        NumPy, PyTorch or DLPack. Hq must be a multiple of H. A tensor that requires grad is rejected while grad is
        enabled; use attn.torch.
    return_lse : bool
        Also returns the log-sum-exp of the scores.
    return_weights : bool
        Also returns the attention weights.
    out : array, optional
        Where to write the result. Must be writable.
    mask : array, optional
        Broadcasts to (B, Hq, L, S). bool: True attends; float: added to the scores.
    causal : bool
        Query i sees keys up to i, counted as given by `align` or `offset`.
    align : {'top-left', 'bottom-right'}, optional
        Alignment of queries and keys for causal, window and alibi.
    offset : int, optional
        Position of query 0 among the keys, instead of align.
    window : (int, int), optional
        Keys visible to the left and right; -1 for no limit.
    scale : float, optional
        Defaults to 1/sqrt(E), or 1 with additive.
    softcap : float, optional
        Scores become softcap tanh(score / softcap).
    alibi : array, optional
        Slopes, (Hq) or (B, Hq).
    sinks : array, optional
        Logits (Hq) of an additional key without value.
    additive : array, optional
        a, (E) or (Hq, E), for the score sum_e a_e tanh(q_e + k_e).
    key_lengths : array, optional
        Valid keys of each sequence, (B), int32 or int64.
    dropout : float
        Probability of dropping a weight.
    seed : int
        Of the dropout mask.
    origin : (int, int, int)
        Batch, head and query index of element 0 in the dropout mask.
    empty_row : {'zero', 'mean', 'nan', 'error'}, optional
        The result of a query that sees no key.
    preset : {'torch', 'onnx', 'flash', 'jax', 'fill'}, optional
        Sets align and empty_row as another system does.
    threads : int
        At most this many; 0 for all.

    Returns
    -------
    o : array
        (B, Hq, L, Ev). A tensor if q is one, otherwise a NumPy array.
    lse : array, with return_lse
        (B, Hq, L)
    weights : array, with return_weights
        (B, Hq, L, S)

    Raises
    ------
    AttnError
        A ValueError that names the argument; a TypeError too for types and devices.
    """
    descriptor = _Descriptor(**features) if features or return_lse or return_weights else _DEFAULT
    return _forward(core.attn_sdpa_forward, (), descriptor, q, k, v, return_lse, return_weights, out)


def _forward(function, first, descriptor, q, k, v, return_lse, return_weights, out):
    """Calls function(desc, *first, q, k, v, o), which is sdpa or attention with another score."""
    tq, tk, tv = view(q, "q"), view(k, "k"), view(v, "v")
    check_rank_2(q=tq, k=tk, v=tv)
    o = out if out is not None else empty_like(q, (*q.shape[:-1], v.shape[-1]))
    results = descriptor.results(o, q, return_lse and (tuple(q.shape[:-1]), _lse_type(tq)),
                                 return_weights and ((*q.shape[:-1], k.shape[-2]),))
    error = new_error()
    check(function(descriptor.desc, *first, tq, tk, tv, view(o, "out", out is not None), error), error, {"o": "out"})
    if out is not None:
        mark_written(out)
    return results[0] if len(results) == 1 else tuple(results)


@dataclass
class Gradients:
    """Gradients of the arguments of the same name. d_mask, d_sinks and d_additive are None unless requested."""
    d_q: Any
    d_k: Any
    d_v: Any
    d_mask: Optional[Any] = None
    d_sinks: Optional[Any] = None
    d_additive: Optional[Any] = None


def sdpa_backward(d_o, q, k, v, o, lse, *, d_lse: Any = None, want_mask: bool = False, want_sinks: bool = False,
                  want_additive: bool = False, **features) -> Gradients:
    """Computes the gradients of sdpa(q, k, v, return_lse=True, **features). Deterministic.

    Parameters
    ----------
    d_o : array
        Gradient of o.
    q, k, v, o, lse : array
        Inputs and results of the forward.
    d_lse : array, optional
        Gradient of lse.
    want_mask, want_sinks, want_additive : bool
        Also computes the gradient of this feature.
    **features
        Those of the forward; see sdpa.

    Returns
    -------
    Gradients
    """
    wants = {"mask": want_mask, "sinks": want_sinks, "additive": want_additive}
    return _backward(core.attn_sdpa_backward, features, wants, lse, d_lse, q=q, k=k, v=v, o=o, d_o=d_o)


def _backward(function, features, wants, lse, d_lse, **arrays):
    """Calls function(desc, *arrays, gradients)."""
    descriptor = _Descriptor(**features)
    inputs = descriptor.view_all(**arrays)
    gradients = _gradients_of(Gradients, arrays["q"], arrays["k"], arrays["v"])
    _allocate_wanted(gradients, wants, features)
    call(function, descriptor.desc, *inputs, _gradients_struct(descriptor, gradients, lse, d_lse))
    return gradients


def sdpa_packed(q, k, v, cu_seqlens_q, cu_seqlens_k, *, return_lse: bool = False, **features):
    """Computes sdpa of sequences of different lengths, concatenated without padding.

    Each sequence attends to itself only, and its result has the same bits as from sdpa on the sequence alone.

    Parameters
    ----------
    q, k, v : array
        q (Hq, T, E), k (H, U, E), v (H, U, Ev), with T queries and U keys in all.
    cu_seqlens_q, cu_seqlens_k : array
        (sequences + 1), int32 or int64: the first row of each sequence; starts with 0 and ends with T or U.
    return_lse : bool
        Also returns the log-sum-exp of the scores.
    **features
        See sdpa. A mask broadcasts to (Hq, T, U); entries between different sequences are not read. alibi is (Hq),
        key_lengths (sequences). The dropout mask of sequence n is that of origin (b + n, h, i).

    Returns
    -------
    o : array
        (Hq, T, Ev)
    lse : array, with return_lse
        (Hq, T)
    """
    descriptor = _Descriptor(**features)
    inputs = descriptor.view_all(q=q, k=k, v=v)
    starts = descriptor.view_all(cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)
    check_rank_2(q=inputs[0], v=inputs[2])
    o = empty_like(q, (*q.shape[:-1], v.shape[-1]))
    results = descriptor.results(o, q, return_lse and (tuple(q.shape[:-1]), _lse_type(inputs[0])), False)
    call(core.attn_sdpa_forward_packed, descriptor.desc, *inputs, descriptor.view(o, "o"), *starts)
    return tuple(results) if return_lse else o


def sdpa_packed_backward(d_o, q, k, v, o, lse, cu_seqlens_q, cu_seqlens_k, *, d_lse: Any = None,
                         want_mask: bool = False, want_sinks: bool = False, want_additive: bool = False,
                         **features) -> Gradients:
    """Computes the gradients of sdpa_packed(q, k, v, cu_seqlens_q, cu_seqlens_k, return_lse=True, **features).

    Parameters are those of sdpa_backward and sdpa_packed. Gradients of the mask, the sinks and additive are summed over
    the sequences; mask entries between different sequences get 0. Deterministic.

    Returns
    -------
    Gradients
    """
    wants = {"mask": want_mask, "sinks": want_sinks, "additive": want_additive}
    return _backward(core.attn_sdpa_backward_packed, features, wants, lse, d_lse, q=q, k=k, v=v, o=o, d_o=d_o,
                     cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)


def _gradients_of(kind, q, k, v):
    return kind(*(empty_like(a, tuple(a.shape)) for a in (q, k, v)))


def _allocate_wanted(gradients, wants, arrays):
    """Allocates the requested gradients, in float64 for float64 arrays and in float32 otherwise."""
    for name in (name for name, want in wants.items() if want):
        array = arrays.get(name)
        if array is None:
            raise AttnError(f"want_{name} requires {name}", "ATTN_ERR_ARGUMENT", name)
        kind = "float64" if dtype_name(array) == "float64" else "float32"
        setattr(gradients, "d_" + name, empty_like(array, tuple(array.shape), kind))


def _gradients_struct(descriptor, gradients, lse, d_lse):
    """Returns an attn_sdpa_gradients that points to the allocated gradients."""
    descriptor.desc.lse = descriptor.view(lse, "lse")
    g = descriptor.gradients("attn_sdpa_gradients", gradients, ("d_q", "d_k", "d_v", "d_mask", "d_sinks", "d_additive"))
    if d_lse is not None:
        g.d_lse = descriptor.view(d_lse, "d_lse")
    return g


@dataclass(frozen=True)
class Plan:
    """How a call is computed. Sizes are in bytes, blocks in rows."""
    kernel: str
    reason: str
    workspace_bytes: int
    row_block: int
    key_block: int
    tasks: int
    workers: int
    flops: float

    def __str__(self):
        return (f"{self.kernel}: {self.reason}\n{self.tasks} tasks on {self.workers} threads, blocks of {self.row_block} "
                f"queries by {self.key_block} keys, {self.workspace_bytes} bytes of workspace, {self.flops:.4g} operations")


def plan(q, k, v, **features) -> Plan:
    """Returns the Plan of sdpa(q, k, v, **features), after the same checks and without computing anything."""
    descriptor, p = _Descriptor(**features), new_struct("attn_plan")
    call(core.attn_sdpa_plan, descriptor.desc, *descriptor.view_all(q=q, k=k, v=v), ffi.NULL, p)
    text = lambda field: ffi.string(field).decode()
    return Plan(text(p.kernel), text(p.reason), p.workspace_bytes, p.row_block, p.key_block, p.tasks, p.workers, p.flops)
