"""Attention with another score: scaled dot product, general [Luong15] or additive [Bahdanau14]."""
from dataclasses import dataclass
from typing import Any, Optional

from ._core import AttnError, call, choose, core, new_struct
from ._sdpa import Gradients, _Descriptor, _allocate_wanted, _forward, _gradients_of, _gradients_struct

_KINDS = {"dot": core.ATTN_SCORE_DOT, "general": core.ATTN_SCORE_GENERAL, "additive": core.ATTN_SCORE_ADDITIVE}
_PARAMETERS = {"dot": "", "general": "w", "additive": "wua"}


def _score(descriptor, kind, w, u, a):
    s = new_struct("attn_score", kind=choose(_KINDS, kind, "kind"))
    for name, array in (("w", w), ("u", u), ("a", a)):
        if (array is not None) != (name in _PARAMETERS[kind]):
            problem = "is required with" if array is None else "is not a parameter of"
            raise AttnError(f"{name} {problem} kind={kind!r}", "ATTN_ERR_ARGUMENT", name)
        if array is not None:
            setattr(s, name, descriptor.view(array, name))
    return s


def score(q, k, v, *, kind: str = "dot", w: Any = None, u: Any = None, a: Any = None, return_lse: bool = False,
          return_weights: bool = False, out: Any = None, **features):
    """Computes attention with a score of this kind.

        'dot'       scale q.k          scale defaults to 1/sqrt(E)
        'general'   scale q^T w k      scale defaults to 1
        'additive'  scale a . tanh(w^T q + u^T k)        likewise

    Parameters
    ----------
    q, k, v : array
        q (B, Hq, L, Eq), k (B, H, S, Ek), v (B, H, S, Ev), or rank 3 or 2.
    kind : {'dot', 'general', 'additive'}
    w : array, optional
        'general': (Eq, Ek) or (Hq, Eq, Ek); 'additive': (Eq, A) or (Hq, Eq, A).
    u : array, optional
        'additive': (Ek, A) or (H, Ek, A).
    a : array, optional
        'additive': (A) or (Hq, A).
    return_lse, return_weights, out, **features
        See sdpa. No L x S array is allocated.

    Returns
    -------
    Those of sdpa.
    """
    descriptor = _Descriptor(**features)
    return _forward(core.attn_score_forward, (_score(descriptor, kind, w, u, a),), descriptor, q, k, v, return_lse,
                    return_weights, out)


@dataclass
class ScoreGradients(Gradients):
    """Those of sdpa, and d_w, d_u and d_a in float32 (float64 for float64); None for unused parameters."""
    d_w: Optional[Any] = None
    d_u: Optional[Any] = None
    d_a: Optional[Any] = None


def _score_gradients(descriptor, gradients):
    """Returns an attn_score_gradients that points to d_w, d_u and d_a where they are allocated."""
    return descriptor.gradients("attn_score_gradients", gradients, ("d_w", "d_u", "d_a"))


def score_backward(d_o, q, k, v, o, lse, *, kind: str = "dot", w: Any = None, u: Any = None, a: Any = None,
                   d_lse: Any = None, want_mask: bool = False, want_sinks: bool = False, **features) -> ScoreGradients:
    """Computes the gradients of score(q, k, v, kind=kind, ..., return_lse=True, **features). Deterministic.

    Parameters are those of score and sdpa_backward.

    Returns
    -------
    ScoreGradients
    """
    descriptor, parameters = _Descriptor(**features), {"w": w, "u": u, "a": a}
    inputs = descriptor.view_all(q=q, k=k, v=v, o=o, d_o=d_o)
    described, gradients = _score(descriptor, kind, w, u, a), _gradients_of(ScoreGradients, q, k, v)
    _allocate_wanted(gradients, {"mask": want_mask, "sinks": want_sinks}, features)
    _allocate_wanted(gradients, {name: x is not None for name, x in parameters.items()}, parameters)
    g, s = _gradients_struct(descriptor, gradients, lse, d_lse), _score_gradients(descriptor, gradients)
    call(core.attn_score_backward, descriptor.desc, described, *inputs, g, s)
    return gradients
