"""sdpa, its gradients and its plan."""
from dataclasses import dataclass
from typing import Any, Optional

from ._core import (F64, AttnError, check, choose, core, dtype_name, empty_like, ffi, new_error, quick, ranks_at_least_2, real,
                    view, whole, wholes, written)

SCALE, CAUSAL, WINDOW, OFFSET, SOFTCAP, DROPOUT = 1, 2, 4, 8, 16, 32
ALIGNS = {"top-left": 0, "bottom-right": 1}
_EMPTY = {"zero": 0, "mean": 1, "nan": 2, "error": 3}

# What each system means where its call is silent; docs/semantics.md has the table.
PRESETS = {
    "torch": {"align": "top-left", "empty_row": "zero"},
    "onnx": {"align": "top-left", "empty_row": "zero"},
    "flash": {"align": "bottom-right", "empty_row": "zero"},
    "jax": {"align": "top-left", "empty_row": "mean"},
    "fill": {"align": "top-left", "empty_row": "mean"},
}


_SDPA, _SDPA_SIZE = ffi.typeof("attn_sdpa *"), ffi.sizeof("attn_sdpa")


class _Call:
    """A descriptor and the views it points to, kept alive together."""

    def __init__(self, *, mask=None, causal=False, align=None, offset=None, window=None, scale=None, softcap=None,
                 alibi=None, sinks=None, additive=None, key_lengths=None, dropout=0.0, seed=0, origin=(0, 0, 0), empty_row=None,
                 preset=None, threads=0):
        if preset is not None:
            defaults = choose(PRESETS, preset, "preset")
            align = defaults["align"] if align is None else align
            empty_row = defaults["empty_row"] if empty_row is None else empty_row
        d = self.desc = quick.new(_SDPA)
        d.struct_size, d.threads = _SDPA_SIZE, whole(threads, "threads", -2**31, 2**31 - 1)
        self.kept = []
        self._position(causal, align, offset, window)
        if empty_row is not None:
            d.empty_row = choose(_EMPTY, empty_row, "empty_row")
        if scale is not None:
            d.flags, d.scale = d.flags | SCALE, real(scale, "scale")
        if softcap is not None:
            d.flags, d.softcap = d.flags | SOFTCAP, real(softcap, "softcap")
        dropout = 0.0 if dropout is None else real(dropout, "dropout")
        if dropout:
            d.flags, d.dropout, d.seed = d.flags | DROPOUT, dropout, whole(seed, "seed", 0, 2**64 - 1)
            d.origin_batch, d.origin_head, d.origin_query = wholes(origin, "origin", 3)
        for name, array in (("mask", mask), ("alibi", alibi), ("sinks", sinks),
                            ("additive", additive), ("key_lengths", key_lengths)):
            if array is not None:
                setattr(d, name, self.view(array, name))

    def _position(self, causal, align, offset, window):
        d = self.desc
        if causal:
            d.flags |= CAUSAL
        if offset is not None:
            d.flags, d.align, d.offset = d.flags | OFFSET, 2, whole(offset, "offset")
        elif align is not None:
            d.align = choose(ALIGNS, align, "align")
        if window is not None:
            d.flags |= WINDOW
            d.window_left, d.window_right = wholes(window, "window", 2)

    def view(self, array, name, output=False):
        made = view(array, name, output)
        self.kept.append(made)
        return made


_PLAIN = _Call()  # of calls that say nothing, and write nothing into it


def _lse_type(view):
    return "float64" if view.dtype == F64 else "float32"


def sdpa(q, k, v, *, return_lse: bool = False, return_weights: bool = False, out: Any = None, **features):
    """Scaled dot-product attention: softmax(scale q k^T + mask) v.

    q (B, Hq, L, E), k (B, H, S, E), v (B, H, S, Ev); also rank 3 or 2. float32, float64, float16 or bfloat16.
    Returns o (B, Hq, L, Ev), a tensor where q is PyTorch's and otherwise NumPy's (JAX's and other input by DLPack,
    too); with return_lse also lse (B, Hq, L), with return_weights also weights (B, Hq, L, S), in that order.

    out: where o goes, NumPy's or PyTorch's, or of a library whose DLPack says that it is writable. Gradients of
    tensors are in attn.torch; here a tensor that requires grad is refused while grad is enabled.

    features: mask (bool: True attends; float: added; broadcasts), causal, align ('top-left', 'bottom-right')
    or offset, window (left, right; -1: no limit), scale (default 1/sqrt(E); 1 with additive), softcap, alibi (Hq) or (B, Hq),
    sinks (Hq), additive (E) or (Hq, E): a, for the score sum_e a_e tanh(q_e + k_e), key_lengths (B), dropout with seed and origin (b, h, i), empty_row ('zero', 'mean', 'nan',
    'error'), preset ('torch', 'onnx', 'flash', 'jax', 'fill'), threads.

    Raises AttnError (a ValueError; also a TypeError for types and devices) that names the argument.
    """
    call = _Call(**features) if features or return_lse or return_weights else _PLAIN
    return _forward(core.attn_sdpa_forward, (), call, q, k, v, return_lse, return_weights, out)


def _forward(function, first, call, q, k, v, return_lse, return_weights, out):
    """function(desc, *first, q, k, v, o): sdpa, or one with a score of its own."""
    tq, tk, tv = view(q, "q"), view(k, "k"), view(v, "v")
    ranks_at_least_2(q=tq, k=tk, v=tv)
    o = out if out is not None else empty_like(q, (*q.shape[:-1], v.shape[-1]))
    results = [o]
    if return_lse:
        results.append(empty_like(q, tuple(q.shape[:-1]), _lse_type(tq)))
        call.desc.lse = call.view(results[-1], "lse")
    if return_weights:
        results.append(empty_like(q, (*q.shape[:-1], k.shape[-2])))
        call.desc.weights = call.view(results[-1], "weights")
    error = new_error()
    check(function(call.desc, *first, tq, tk, tv, view(o, "out", out is not None), error), error, {"o": "out"})
    if out is not None:
        written(out)
    return results[0] if len(results) == 1 else tuple(results)


@dataclass
class Gradients:
    """d_q, d_k, d_v as q, k, v; d_mask as the float mask, d_sinks and d_additive likewise, where asked for."""
    d_q: Any
    d_k: Any
    d_v: Any
    d_mask: Optional[Any] = None
    d_sinks: Optional[Any] = None
    d_additive: Optional[Any] = None


def sdpa_backward(d_o, q, k, v, o, lse, *, d_lse: Any = None, want_mask: bool = False, want_sinks: bool = False,
                  want_additive: bool = False, **features) -> Gradients:
    """Gradients of sdpa(q, k, v, return_lse=True, **features) given d_o (and d_lse). Deterministic."""
    call = _Call(**features)
    inputs = [call.view(a, n) for a, n in ((q, "q"), (k, "k"), (v, "v"), (o, "o"), (d_o, "d_o"))]
    made = Gradients(*(empty_like(a, tuple(a.shape)) for a in (q, k, v)))
    _wanted(made, {"mask": want_mask, "sinks": want_sinks, "additive": want_additive}, features)
    g = _results(call, made, lse, d_lse)
    error = new_error()
    check(core.attn_sdpa_backward(call.desc, *inputs, g, error), error)
    return made


def sdpa_packed(q, k, v, cu_seqlens_q, cu_seqlens_k, *, return_lse: bool = False, **features):
    """sdpa of sequences of different lengths, end to end: no padding, and none sees another.

    q (Hq, T, E), k (H, U, E), v (H, U, Ev) with T queries and U keys in all. cu_seqlens_q and cu_seqlens_k
    (sequences + 1), int32 or int64: where each sequence begins, 0 first and T or U last.
    Returns o (Hq, T, Ev); with return_lse also lse (Hq, T). Each sequence has the same bits as sdpa of it alone.

    features: those of sdpa. A mask broadcasts to (Hq, T, U) and is read where a sequence meets itself; alibi
    is (Hq), key_lengths (sequences); dropout draws for sequence n as for origin (b + n, h, i).
    """
    call = _Call(**features)
    inputs = [call.view(a, n) for a, n in ((q, "q"), (k, "k"), (v, "v"))]
    starts = [call.view(a, n) for a, n in ((cu_seqlens_q, "cu_seqlens_q"), (cu_seqlens_k, "cu_seqlens_k"))]
    ranks_at_least_2(q=inputs[0], v=inputs[2])
    o = empty_like(q, (*q.shape[:-1], v.shape[-1]))
    lse = empty_like(q, tuple(q.shape[:-1]), _lse_type(inputs[0])) if return_lse else None
    if return_lse:
        call.desc.lse = call.view(lse, "lse")
    error = new_error()
    check(core.attn_sdpa_forward_packed(call.desc, *inputs, call.view(o, "o"), *starts, error), error)
    return (o, lse) if return_lse else o


def sdpa_packed_backward(d_o, q, k, v, o, lse, cu_seqlens_q, cu_seqlens_k, *, d_lse: Any = None,
                         want_mask: bool = False, want_sinks: bool = False, want_additive: bool = False,
                         **features) -> Gradients:
    """Gradients of sdpa_packed(q, k, v, cu_seqlens_q, cu_seqlens_k, return_lse=True, **features) given d_o (and d_lse).

    Shapes as q, k, v, and as the mask, the sinks and additive where wanted: these are summed over the sequences that share
    them, and pairs of different sequences get 0. Deterministic.
    """
    call = _Call(**features)
    arrays = [call.view(a, n) for a, n in ((q, "q"), (k, "k"), (v, "v"), (o, "o"), (d_o, "d_o"),
                                           (cu_seqlens_q, "cu_seqlens_q"), (cu_seqlens_k, "cu_seqlens_k"))]
    made = Gradients(*(empty_like(a, tuple(a.shape)) for a in (q, k, v)))
    _wanted(made, {"mask": want_mask, "sinks": want_sinks, "additive": want_additive}, features)
    g = _results(call, made, lse, d_lse)
    error = new_error()
    check(core.attn_sdpa_backward_packed(call.desc, *arrays, g, error), error)
    return made


def _wanted(made, wants, arrays):
    """Room for the gradients that are wanted of these, in float32 or float64."""
    for name in (name for name, want in wants.items() if want):
        array = arrays.get(name)
        if array is None:
            raise AttnError(f"want_{name} is set, but there is no {name}", "ATTN_ERR_ARGUMENT", name)
        kind = "float64" if dtype_name(array) == "float64" else "float32"
        setattr(made, "d_" + name, empty_like(array, tuple(array.shape), kind))


def _results(call, made, lse, d_lse):
    """attn_sdpa_gradients that point to what was made."""
    g = ffi.new("attn_sdpa_gradients *")
    g.struct_size = ffi.sizeof("attn_sdpa_gradients")
    call.desc.lse = call.view(lse, "lse")
    if d_lse is not None:
        g.d_lse = call.view(d_lse, "d_lse")
    for name in ("d_q", "d_k", "d_v", "d_mask", "d_sinks", "d_additive"):
        array = getattr(made, name)
        if array is not None:
            setattr(g, name, call.view(array, name))
    return g


@dataclass(frozen=True)
class Plan:
    """What a call would do, and why."""
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
    """The plan of sdpa(q, k, v, **features): same checks, nothing computed."""
    call = _Call(**features)
    p = ffi.new("attn_plan *")
    p.struct_size = ffi.sizeof("attn_plan")
    error = new_error()
    check(core.attn_sdpa_plan(call.desc, call.view(q, "q"), call.view(k, "k"), call.view(v, "v"), ffi.NULL, p, error),
          error)
    text = lambda field: ffi.string(field).decode()
    return Plan(text(p.kernel), text(p.reason), p.workspace_bytes, p.row_block, p.key_block, p.tasks, p.workers, p.flops)
