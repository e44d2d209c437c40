"""torch.nn.functional.scaled_dot_product_attention on libattn, with autograd and torch.compile.

    from attn.torch import scaled_dot_product_attention, swapped
    with swapped():                  # F.scaled_dot_product_attention is libattn's
        model(x)
    layer = attn.torch.Attention(512, 64)           # the general attention layer, a torch.nn.Module

Unsupported devices and types raise AttnTypeError, or use PyTorch's implementation with swapped(fallback=True).
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
from ._core import AttnError, AttnTypeError, choose, core, integer, integers
from ._torch_attention import Attention

__all__ = ["Attention", "scaled_dot_product_attention", "sdpa", "swapped"]
_C = torch._C
_TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


# ---- Direct calls, without the dispatcher ----------------------------------------------------------------------------------

# The dispatch keys without a trace, mode or transform: in inference mode and otherwise.
_PLAIN = {_C.DispatchKeySet(_C.DispatchKey.BackendSelect).raw_repr(),
          _C.DispatchKeySet(_C.DispatchKey.BackendSelect).add(_C.DispatchKey.ADInplaceOrView).raw_repr()}


def _eager(*tensors):
    """Tests whether the dispatcher can be skipped: plain tensors, and no compiler, trace, mode, transform, dual number
    or profiler that must see the operator."""
    if torch.compiler.is_compiling():
        return False
    for t in tensors:
        if t is not None and type(t) is not Tensor and type(t) is not torch.nn.Parameter:
            return False
    return (_C._dispatch_tls_local_include_set().raw_repr() in _PLAIN and forward_ad._current_level < 0 and
            not _C._is_torch_function_mode_enabled() and not _C._autograd._profiler_enabled())


def _needs_graph(*tensors):
    return torch.is_grad_enabled() and _C._any_requires_grad(*tensors)


def _direct(body, operator, tensors, settings):
    """Calls body if the dispatcher can be skipped, otherwise the operator. The operator also accepts some tensors that
    body rejects, and handles double backward."""
    if _eager(*tensors):
        try:
            return body(*tensors, *settings)
        except AttnError:
            pass
    return (_TRANSFORMABLE[operator].apply if _transformed() else operator)(*tensors, *settings)


def _transformed():
    """Tests for torch.func transforms and forward mode, which ignore an operator's registered autograd formula."""
    return not torch.compiler.is_compiling() and (forward_ad._current_level >= 0 or
                                                  _C._functorch.peek_interpreter_stack() is not None)


# ---- The operator: rank 4, all arguments explicit ---------------------------------------------------------

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
    """Rejects mixed devices: with a meta tensor the operator would return uninitialized memory."""
    device = tensors["q"].device
    for name, t in tensors.items():
        if t is not None and t.device.type != device.type:
            raise AttnTypeError(f"{name} is on {t.device}, but q is on {device}; expected one device", "ATTN_ERR_TYPE",
                                name)


@_op.register_fake
def _(q, k, v, mask, sinks, *_):
    _one_device(q=q, k=k, v=v, mask=mask, sinks=sinks)
    if torch.compiler.is_compiling() and forward_ad._current_level >= 0:  # the compiler only sees the operator
        raise NotImplementedError("libattn::sdpa: forward-mode derivatives are not supported")
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
    q, k, v, mask, sinks, *ctx.settings = inputs
    ctx.save_for_backward(q, k, v, mask, sinks, *output)
    ctx.set_materialize_grads(False)


def _differentiate(ctx, d_o, d_lse):
    q, k, v, mask, sinks, o, lse = ctx.saved_tensors
    if d_o is None and d_lse is None:
        return (None,) * (5 + len(ctx.settings))
    want_mask = ctx.needs_input_grad[3] and mask is not None
    want_sinks = ctx.needs_input_grad[4] and sinks is not None
    d_o = torch.zeros_like(o) if d_o is None else d_o
    tensors, settings = (d_o, d_lse, q, k, v, o, lse, mask, sinks), (want_mask, want_sinks, *ctx.settings)
    gradients = _direct(_backward, _backward_op, tensors, settings)
    return (*gradients[:3], gradients[3] if want_mask else None, gradients[4] if want_sinks else None, *(None for _ in ctx.settings))


_op.register_autograd(_differentiate, setup_context=_save)


class _Function(torch.autograd.Function):
    """The operator's autograd function, without the dispatcher."""

    @staticmethod
    def forward(ctx, *inputs):
        output = _forward(*inputs)
        _save(ctx, inputs, output)
        return output

    backward = staticmethod(_differentiate)


class _Transformable(torch.autograd.Function):
    """The operator for torch.func and forward mode. Without its jvp a tangent would be lost silently."""
    generate_vmap_rule = True
    forward = staticmethod(lambda *inputs: _op(*inputs))
    backward = staticmethod(_differentiate)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _save(ctx, inputs, output)
        ctx.save_for_forward(*inputs[:5], *output)  # vmap requires them

    @staticmethod
    def jvp(ctx, *tangents):
        raise NotImplementedError("libattn::sdpa: forward-mode derivatives are not supported; use torch.func.vjp, grad or jacrev")


class _TransformableBackward(torch.autograd.Function):
    """The backward operator for torch.func. It is not differentiable."""
    generate_vmap_rule = True
    forward = staticmethod(lambda *inputs: _backward_op(*inputs))

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, *gradients):
        raise NotImplementedError("libattn::sdpa_backward: no autograd formula for double backward")

    @staticmethod
    def jvp(ctx, *tangents):
        raise NotImplementedError("libattn::sdpa_backward: forward-mode derivatives are not supported")


_TRANSFORMABLE = {_op: _Transformable, _backward_op: _TransformableBackward}


def _forward_direct(*inputs):
    return (_Function.apply if _needs_graph(*inputs[:5]) else _forward)(*inputs)


@functools.lru_cache(256)
def _descriptor(*settings):
    """Caches descriptors without tensors, which are never written to."""
    return _sdpa._Descriptor(**_features(None, None, *settings))


def _forward_without_lse(q, k, v, mask, sinks, *settings):
    """Computes o alone, and skips the log-sum-exp unless autograd needs it."""
    if _needs_graph(q, k, v, mask, sinks):
        return _Function.apply(q, k, v, mask, sinks, *settings)
    if mask is None and sinks is None:
        return _sdpa._forward(core.attn_sdpa_forward, (), _descriptor(*settings), q, k, v, False, False, None), None
    return _sdpa.sdpa(q, k, v, **_features(mask, sinks, *settings)), None


# ---- All features ---------------------------------------------------------------------------------

def _window(window):
    if window is None:
        return -1, -1
    left, right = integers(window, "window", 2)
    if min(left, right) < -1:
        raise AttnError(f"window must be two integers of at least -1, got {(left, right)}", "ATTN_ERR_ARGUMENT", "window")
    return left, right


def sdpa(q, k, v, *, mask=None, sinks=None, causal=False, align="top-left", window=None, scale=None, softcap=None,
         dropout=0.0, seed=None, return_lse=False):
    """Computes attn.sdpa of tensors, with gradients for q, k, v, mask and sinks.

    Parameters
    ----------
    q, k, v : torch.Tensor
        q (B, Hq, L, E), k (B, H, S, E), v (B, H, S, Ev).
    seed : int, optional
        Of the dropout mask; drawn from PyTorch's generator by default.
    mask, sinks, causal, align, window, scale, softcap, dropout, return_lse
        See attn.sdpa.

    Returns
    -------
    o : torch.Tensor
        (B, Hq, L, Ev)
    lse : torch.Tensor, with return_lse
        (B, Hq, L)
    """
    if seed is None:
        seed = int(torch.randint(1 << 62, (), device="cpu").item()) if dropout else 0
    else:  # operator arguments are int64
        seed = (integer(seed, "seed", 0, 2**64 - 1) + 2**63) % 2**64 - 2**63
    bottom_right = align is not None and choose(_sdpa.ALIGNS, align, "align") == _sdpa.ALIGNS["bottom-right"]
    left, right = _window(window)
    if softcap is not None and softcap == 0:  # which the operator reads as none
        raise AttnError("softcap must be finite and above 0, got 0", "ATTN_ERR_ARGUMENT", "softcap")
    scale = float(scale) if scale is not None else q.shape[-1] ** -0.5 if q.shape[-1] else 1.0
    tensors = q, k, v, mask, sinks
    settings = bool(causal), bottom_right, left, right, scale, float(softcap or 0), float(dropout), seed
    o, lse = _direct(_forward_direct if return_lse else _forward_without_lse, _op, tensors, settings)
    return (o, lse) if return_lse else o


# ---- PyTorch's signature ----------------------------------------------------------------------------------

def _check_types(query, key, value, attn_mask):
    for name, t in (("query", query), ("key", key), ("value", value), ("attn_mask", attn_mask)):
        if t is None:
            continue
        if not t.is_cpu and t.device.type != "meta":
            raise AttnTypeError(f"{name} must be on the CPU, got {t.device}", "ATTN_ERR_TYPE", name)
        if t.dtype not in _TYPES and not (name == "attn_mask" and t.dtype == torch.bool):
            raise AttnTypeError(f"{name} must be float32, float64, float16 or bfloat16, got {t.dtype}", "ATTN_ERR_TYPE",
                                name)


def _flat(t, lead):
    """Broadcasts the leading dimensions of (..., H, L, E) to lead and flattens them to rank 4."""
    return t.expand(*lead, *t.shape[-3:]).reshape(math.prod(lead), *t.shape[-3:])


def _mask4(mask, lead):
    """Expands a mask to rank 4, without a copy if its leading dimensions allow it."""
    if mask.dim() > len(lead) + 3:
        raise AttnError(f"attn_mask of rank {mask.dim()} does not broadcast to the scores", "ATTN_ERR_SHAPE", "attn_mask")
    while mask.dim() < 4:
        mask = mask.unsqueeze(0)
    return mask if len(lead) <= 1 else _flat(mask, lead)


def _fits(query, key, value, attn_mask, is_causal, enable_gqa):
    """Tests whether sdpa accepts these tensors of rank 4 as they are."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing() or attn_mask is not None and (
            is_causal or not 2 <= attn_mask.dim() <= 4 or attn_mask.requires_grad):
        return False
    (b, h), (bk, hk), (bv, hv) = query.shape[:2], key.shape[:2], value.shape[:2]
    return b == bk == bv and (enable_gqa or h == hk == hv)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    """Computes torch.nn.functional.scaled_dot_product_attention on libattn, with the same arguments.

    A query that sees no key gives 0.

    Parameters
    ----------
    query, key, value : torch.Tensor
        (..., Hq, L, E), (..., H, S, E), (..., H, S, Ev).
    attn_mask : torch.Tensor, optional
        Broadcasts to (..., Hq, L, S). bool: True attends; float: added to the scores.
    dropout_p : float
        Probability of dropping a weight; the seed is drawn from PyTorch's generator.
    is_causal : bool
        Causal mask, aligned to the top left.
    scale : float, optional
        Defaults to 1/sqrt(E).
    enable_gqa : bool
        Allows Hq to be a multiple of H.

    Returns
    -------
    torch.Tensor
        (..., Hq, L, Ev)
    """
    _check_types(query, key, value, attn_mask)
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
        mask = _mask4(attn_mask, lead)
        if mask.dtype not in (torch.bool, torch.float32, torch.float64) and mask.requires_grad:
            mask = mask.float()
    o = sdpa(q, k, v, mask=mask, causal=is_causal, scale=scale, dropout=dropout_p)
    o = o.reshape(*lead, *o.shape[-3:])
    return o.squeeze(0) if rank == 2 else o


@contextlib.contextmanager
def swapped(fallback=False):
    """Replaces F.scaled_dot_product_attention by libattn's within a with statement.

    With fallback, unsupported devices and types use PyTorch's implementation.
    """
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
