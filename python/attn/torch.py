"""PyTorch's scaled_dot_product_attention on libattn: signature, semantics, autograd, torch.compile.

    from attn.torch import scaled_dot_product_attention, swapped
    with swapped():                  # F.scaled_dot_product_attention is ours inside
        model(x)

What cannot be served (another device, a complex type) is an error, or with swapped(fallback=True)
PyTorch's own path: never silently anything else.
"""
import contextlib
import functools
import math
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import forward_ad

from . import _sdpa
from ._core import AttnError, AttnTypeError, choose, core, whole, wholes

__all__ = ["scaled_dot_product_attention", "sdpa", "swapped"]
_C = torch._C
_TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


# ---- Without the operator ----------------------------------------------------------------------------------

# What the dispatcher includes in every call where there is no trace, mode or transform; without the second in inference mode.
_PLAIN = {_C.DispatchKeySet(_C.DispatchKey.BackendSelect).raw_repr(),
          _C.DispatchKeySet(_C.DispatchKey.BackendSelect).add(_C.DispatchKey.ADInplaceOrView).raw_repr()}


def _eager(*tensors):
    """Whether the dispatcher would only cost time: PyTorch's own tensors, and no compiler, trace, mode, transform, dual
    number or profiler that would have to see the operator."""
    if torch.compiler.is_compiling():
        return False
    for t in tensors:
        if t is not None and type(t) is not Tensor and type(t) is not torch.nn.Parameter:
            return False
    return (_C._dispatch_tls_local_include_set().raw_repr() in _PLAIN and forward_ad._current_level < 0 and
            not _C._is_torch_function_mode_enabled() and not _C._autograd._profiler_enabled())


def _needs_graph(*tensors):
    return torch.is_grad_enabled() and _C._any_requires_grad(*tensors)


def _direct(body, operator, tensors, knobs):
    """body of these where that is enough. What it refuses is the operator's to judge, which takes tensors of more kinds
    and knows of gradients of gradients."""
    if _eager(*tensors):
        try:
            return body(*tensors, *knobs)
        except AttnError:
            pass
    return (_SEEN_BY_TRANSFORMS[operator].apply if _transformed() else operator)(*tensors, *knobs)


def _transformed():
    """Whether derivatives are taken by torch.func or in forward mode, where an operator's registered formula is of no use."""
    return not torch.compiler.is_compiling() and (forward_ad._current_level >= 0 or
                                                  _C._functorch.peek_interpreter_stack() is not None)


# ---- The operator: rank 4, everything explicit ---------------------------------------------------------

def _forward(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], sinks: Optional[Tensor], causal: bool,
             bottom_right: bool, left: int, right: int, scale: float, softcap: float, dropout: float,
             seed: int) -> tuple[Tensor, Tensor]:
    return _sdpa.sdpa(q, k, v, return_lse=True, **_features(mask, sinks, causal, bottom_right, left, right, scale, softcap,
                                                            dropout, seed))


_op = torch.library.custom_op("libattn::sdpa", mutates_args=())(_forward)


def _features(mask, sinks, causal, bottom_right, left, right, scale, softcap, dropout, seed):
    features = {"mask": mask, "sinks": sinks, "causal": causal, "align": "bottom-right" if bottom_right else None,
                "window": (left, right) if left >= 0 or right >= 0 else None, "scale": scale, "softcap": softcap or None}
    return {**features, "dropout": dropout, "seed": seed % 2**64} if dropout else features


def _one_device(**tensors):
    """A meta tensor among others would make the operator return memory that nobody wrote."""
    device = tensors["q"].device
    for name, t in tensors.items():
        if t is not None and t.device.type != device.type:
            raise AttnTypeError(f"{name} is on {t.device}, but q is on {device}; all must be on one device", "ATTN_ERR_TYPE",
                                name)


@_op.register_fake
def _(q, k, v, mask, sinks, *_):
    _one_device(q=q, k=k, v=v, mask=mask, sinks=sinks)
    if torch.compiler.is_compiling() and forward_ad._current_level >= 0:  # the compiler sees only the operator
        raise NotImplementedError("libattn::sdpa has no forward-mode derivative that could be compiled")
    kind = torch.float64 if q.dtype == torch.float64 else torch.float32
    return q.new_empty((*q.shape[:-1], v.shape[-1])), q.new_empty(q.shape[:-1], dtype=kind)


def _backward(d_o: Tensor, d_lse: Optional[Tensor], q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor,
              mask: Optional[Tensor], sinks: Optional[Tensor], want_mask: bool, want_sinks: bool, causal: bool,
              bottom_right: bool, left: int, right: int, scale: float, softcap: float, dropout: float,
              seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    g = _sdpa.sdpa_backward(d_o, q, k, v, o, lse, d_lse=d_lse, want_mask=want_mask, want_sinks=want_sinks,
                            **_features(mask, sinks, causal, bottom_right, left, right, scale, softcap, dropout, seed))
    return (g.d_q, g.d_k, g.d_v, q.new_empty(0) if g.d_mask is None else g.d_mask.to(mask.dtype),
            q.new_empty(0) if g.d_sinks is None else g.d_sinks.to(sinks.dtype))


_backward_op = torch.library.custom_op("libattn::sdpa_backward", mutates_args=())(_backward)


@_backward_op.register_fake
def _(d_o, d_lse, q, k, v, o, lse, mask, sinks, want_mask, want_sinks, *_):
    _one_device(q=q, k=k, v=v, o=o, lse=lse, d_o=d_o, d_lse=d_lse, mask=mask, sinks=sinks)
    dense = lambda t: t.new_empty(t.shape)
    return (dense(q), dense(k), dense(v), dense(mask) if want_mask else q.new_empty(0),
            dense(sinks) if want_sinks else q.new_empty(0))


def _save(ctx, inputs, output):
    q, k, v, mask, sinks, *ctx.knobs = inputs
    ctx.save_for_backward(q, k, v, mask, sinks, *output)
    ctx.set_materialize_grads(False)


def _differentiate(ctx, d_o, d_lse):
    q, k, v, mask, sinks, o, lse = ctx.saved_tensors
    if d_o is None and d_lse is None:
        return (None,) * (5 + len(ctx.knobs))
    want_mask = ctx.needs_input_grad[3] and mask is not None
    want_sinks = ctx.needs_input_grad[4] and sinks is not None
    d_o = torch.zeros_like(o) if d_o is None else d_o
    tensors, knobs = (d_o, d_lse, q, k, v, o, lse, mask, sinks), (want_mask, want_sinks, *ctx.knobs)
    made = _direct(_backward, _backward_op, tensors, knobs)
    return (*made[:3], made[3] if want_mask else None, made[4] if want_sinks else None, *(None for _ in ctx.knobs))


_op.register_autograd(_differentiate, setup_context=_save)


class _Function(torch.autograd.Function):
    """What register_autograd makes of the operator, without it."""

    @staticmethod
    def forward(ctx, *inputs):
        output = _forward(*inputs)
        _save(ctx, inputs, output)
        return output

    backward = staticmethod(_differentiate)


class _Transformable(torch.autograd.Function):
    """The operator where torch.func or forward mode takes derivatives: without a rule of its own, a tangent would be lost."""
    generate_vmap_rule = True
    forward = staticmethod(lambda *inputs: _op(*inputs))
    backward = staticmethod(_differentiate)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _save(ctx, inputs, output)
        ctx.save_for_forward(*inputs[:5], *output)  # vmap asks for as many before it asks jvp

    @staticmethod
    def jvp(ctx, *tangents):
        raise NotImplementedError("libattn::sdpa has no forward-mode derivative: use torch.func.vjp, grad or jacrev")


class _TransformableBackward(torch.autograd.Function):
    """Its gradients, whose own derivatives are refused."""
    generate_vmap_rule = True
    forward = staticmethod(lambda *inputs: _backward_op(*inputs))

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, *gradients):
        raise NotImplementedError("libattn::sdpa_backward: no autograd formula for gradients of gradients")

    @staticmethod
    def jvp(ctx, *tangents):
        raise NotImplementedError("libattn::sdpa_backward: no forward-mode derivative")


_SEEN_BY_TRANSFORMS = {_op: _Transformable, _backward_op: _TransformableBackward}


def _forward_direct(*inputs):
    return (_Function.apply if _needs_graph(*inputs[:5]) else _forward)(*inputs)


@functools.lru_cache(256)
def _descriptor(*knobs):
    """Of knobs alone, which nobody writes into."""
    return _sdpa._Call(**_features(None, None, *knobs))


def _forward_alone(q, k, v, mask, sinks, *knobs):
    """o where nobody asks for the log-sum-exp, not even a graph."""
    if _needs_graph(q, k, v, mask, sinks):
        return _Function.apply(q, k, v, mask, sinks, *knobs)
    if mask is None and sinks is None:
        return _sdpa._forward(core.attn_sdpa_forward, (), _descriptor(*knobs), q, k, v, False, False, None), None
    return _sdpa.sdpa(q, k, v, **_features(mask, sinks, *knobs)), None


# ---- With our own knobs ---------------------------------------------------------------------------------

def _window(window):
    if window is None:
        return -1, -1
    left, right = wholes(window, "window", 2)
    if min(left, right) < -1:
        raise AttnError(f"window is {(left, right)}; each must be 0 or more, or -1 for no limit", "ATTN_ERR_ARGUMENT", "window")
    return left, right


def sdpa(q, k, v, *, mask=None, sinks=None, causal=False, align="top-left", window=None, scale=None, softcap=None,
         dropout=0.0, seed=None, return_lse=False):
    """attn.sdpa for tensors with gradients; q (B, Hq, L, E), k (B, H, S, E), v (B, H, S, Ev)."""
    if seed is None:
        seed = int(torch.randint(1 << 62, (), device="cpu").item()) if dropout else 0
    else:  # an operator's numbers have 63 bits and a sign
        seed = (whole(seed, "seed", 0, 2**64 - 1) + 2**63) % 2**64 - 2**63
    bottom_right = align is not None and choose(_sdpa.ALIGNS, align, "align") == _sdpa.ALIGNS["bottom-right"]
    left, right = _window(window)
    if softcap is not None and softcap == 0:  # the operator's word for none
        raise AttnError("softcap is 0; it must be finite and above 0", "ATTN_ERR_ARGUMENT", "softcap")
    scale = float(scale) if scale is not None else q.shape[-1] ** -0.5 if q.shape[-1] else 1.0
    tensors = q, k, v, mask, sinks
    knobs = bool(causal), bottom_right, left, right, scale, float(softcap or 0), float(dropout), seed
    o, lse = _direct(_forward_direct if return_lse else _forward_alone, _op, tensors, knobs)
    return (o, lse) if return_lse else o


# ---- PyTorch's signature ----------------------------------------------------------------------------------

def _refuse(query, key, value, attn_mask):
    for name, t in (("query", query), ("key", key), ("value", value), ("attn_mask", attn_mask)):
        if t is None:
            continue
        if not t.is_cpu and t.device.type != "meta":
            raise AttnTypeError(f"{name} is on {t.device}; libattn computes on the CPU", "ATTN_ERR_TYPE", name)
        if t.dtype not in _TYPES and not (name == "attn_mask" and t.dtype == torch.bool):
            raise AttnTypeError(f"{name} is {t.dtype}; it must be float32, float64, float16 or bfloat16", "ATTN_ERR_TYPE",
                                name)


def _flat(t, lead):
    """(..., H, L, E) with the leading dimensions broadcast to lead, as rank 4."""
    return t.expand(*lead, *t.shape[-3:]).reshape(math.prod(lead), *t.shape[-3:])


def _mask4(mask, lead, heads, rows, keys):
    """Broadcast to rank 4 without a copy where its leading dimensions allow it."""
    if mask.dim() > len(lead) + 3:
        raise AttnError(f"attn_mask has rank {mask.dim()}; it does not broadcast", "ATTN_ERR_SHAPE", "attn_mask")
    while mask.dim() < 4:
        mask = mask.unsqueeze(0)
    if mask.dim() == 4 and len(lead) <= 1:
        return mask
    return _flat(mask, lead)


def _fits(query, key, value, attn_mask, is_causal, enable_gqa):
    """Whether tensors of rank 4 are as sdpa takes them: nothing to broadcast, to convert or to refuse."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing() or attn_mask is not None and (
            is_causal or not 2 <= attn_mask.dim() <= 4 or attn_mask.requires_grad):
        return False
    (b, h), (bk, hk), (bv, hv) = query.shape[:2], key.shape[:2], value.shape[:2]
    return b == bk == bv and (enable_gqa or h == hk == hv)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    """torch.nn.functional.scaled_dot_product_attention: same arguments, same meaning, on libattn.

    query (..., Hq, L, E), key (..., H, S, E), value (..., H, S, Ev), attn_mask broadcasting to
    (..., Hq, L, S): bool (True attends) or float (added). is_causal counts from the top left. A row that sees
    no key gives 0. Dropout draws its seed from PyTorch's generator.
    """
    _refuse(query, key, value, attn_mask)
    if query.dim() == key.dim() == value.dim() == 4 and _fits(query, key, value, attn_mask, is_causal, enable_gqa):
        return sdpa(query, key, value, mask=attn_mask, causal=is_causal, scale=scale, dropout=dropout_p)
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise AttnError("query, key and value must have at least 2 dimensions", "ATTN_ERR_SHAPE", "query")
    if attn_mask is not None and is_causal:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    rank = query.dim()
    three = [t.unsqueeze(0) if t.dim() == 2 else t for t in (query, key, value)]
    heads = [t.shape[-3] for t in three]
    if not enable_gqa and len(set(heads)) > 1:
        three = [t.expand(*t.shape[:-3], max(heads), *t.shape[-2:]) for t in three]
    lead = torch.broadcast_shapes(*(t.shape[:-3] for t in three))
    q, k, v = (_flat(t, lead) for t in three)
    mask = None
    if attn_mask is not None:
        mask = _mask4(attn_mask, lead, q.shape[1], q.shape[2], k.shape[2])
        if mask.dtype not in (torch.bool, torch.float32, torch.float64) and mask.requires_grad:
            mask = mask.float()
    o = sdpa(q, k, v, mask=mask, causal=is_causal, scale=scale, dropout=dropout_p)
    o = o.reshape(*lead, *o.shape[-3:])
    return o.squeeze(0) if rank == 2 else o


@contextlib.contextmanager
def swapped(fallback=False):
    """F.scaled_dot_product_attention is libattn's inside. fallback: what it refuses goes PyTorch's own way."""
    original = F.scaled_dot_product_attention

    def ours(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        try:
            return scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        except AttnTypeError:
            if not fallback:
                raise
            return original(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)

    F.scaled_dot_product_attention = ours
    try:
        yield
    finally:
        F.scaled_dot_product_attention = original
