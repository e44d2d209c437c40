"""Score functions of their own: the dot product, Luong's general score, the additive one, with gradients."""
from dataclasses import dataclass
from typing import Any, Optional

from ._core import AttnError, check, choose, core, empty_like, ffi, new_error
from ._sdpa import Gradients, _Call, _forward, _results, _wanted

_KINDS = {"dot": 0, "general": 1, "additive": 2}
_LEARNED = {"dot": "", "general": "w", "additive": "wua"}


def _score(call, kind, w, u, a):
    s = ffi.new("attn_score *")
    s.struct_size, s.kind = ffi.sizeof("attn_score"), choose(_KINDS, kind, "kind")
    for name, array in (("w", w), ("u", u), ("a", a)):
        if (array is not None) != (name in _LEARNED[kind]):
            says = "is missing: kind={0!r} needs it" if array is None else "is given, but kind={0!r} has none"
            raise AttnError(f"{name} {says.format(kind)}", "ATTN_ERR_ARGUMENT", name)
        if array is not None:
            setattr(s, name, call.view(array, name))
    return s


def score(q, k, v, *, kind: str = "dot", w: Any = None, u: Any = None, a: Any = None, return_lse: bool = False,
          return_weights: bool = False, out: Any = None, **features):
    """Attention whose score is of this kind:

    'dot'       scale q.k          scale 1/sqrt(E) unless given; 1: the unscaled product
    'general'   scale q^T w k      w (Eq, Ek) or (Hq, Eq, Ek)
    'additive'  scale a . tanh(w^T q + u^T k)   w (Eq, A) or (Hq, Eq, A), u (Ek, A) or (H, Ek, A), a (A) or (Hq, A)

    The scale of the last two is 1 unless given. q (B, Hq, L, Eq), k (B, H, S, Ek), v (B, H, S, Ev), of rank 4, 3 or 2;
    w, u, a of any float type. features, results and errors as in sdpa; no L x S array is made.
    """
    call = _Call(**features)
    return _forward(core.attn_score_forward, (_score(call, kind, w, u, a),), call, q, k, v, return_lse, return_weights,
                    out)


@dataclass
class ScoreGradients(Gradients):
    """Those of sdpa, and d_w, d_u, d_a as w, u, a, in float32 (of float64: float64); None where kind has none."""
    d_w: Optional[Any] = None
    d_u: Optional[Any] = None
    d_a: Optional[Any] = None


def score_backward(d_o, q, k, v, o, lse, *, kind: str = "dot", w: Any = None, u: Any = None, a: Any = None,
                   d_lse: Any = None, want_mask: bool = False, want_sinks: bool = False, **features) -> ScoreGradients:
    """Gradients of score(q, k, v, kind=kind, ..., return_lse=True, **features) given d_o (and d_lse). Deterministic."""
    call = _Call(**features)
    inputs = [call.view(x, n) for x, n in ((q, "q"), (k, "k"), (v, "v"), (o, "o"), (d_o, "d_o"))]
    described = _score(call, kind, w, u, a)
    made = ScoreGradients(*(empty_like(x, tuple(x.shape)) for x in (q, k, v)))
    learned = {"w": w, "u": u, "a": a}
    _wanted(made, {"mask": want_mask, "sinks": want_sinks}, features)
    _wanted(made, {name: x is not None for name, x in learned.items()}, learned)
    g, s = _results(call, made, lse, d_lse), ffi.new("attn_score_gradients *")
    s.struct_size = ffi.sizeof("attn_score_gradients")
    for name in ("d_w", "d_u", "d_a"):
        if getattr(made, name) is not None:
            setattr(s, name, call.view(getattr(made, name), name))
    error = new_error()
    check(core.attn_score_backward(call.desc, described, *inputs, g, s, error), error)
    return made
