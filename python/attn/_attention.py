"""The general attention layer: queries attend to inputs through the layer's matrices."""
from dataclasses import dataclass
from typing import Any, Optional

from ._core import call, dtype_name, empty_like, integer, mark_written, model, new_struct, view
from ._score import _score, _score_gradients
from ._sdpa import _Descriptor, _allocate_wanted

_MATRICES = ("w_q", "w_k", "w_v", "w_o")


class _Layer:
    """An attn_attention_layer and the views it points to."""

    def __init__(self, x, q, matrices, kind, learned, heads, features):
        self.call = _Descriptor(**features)
        self.score = _score(self.call, kind, *learned)
        self.inputs = self.call.view_all(x=x, q=q)
        self.c = new_struct("attn_attention_layer", heads=integer(heads, "heads", 1), sdpa=self.call.desc, score=self.score)
        for name, w in zip(_MATRICES, matrices):
            if w is not None:
                setattr(self.c, name, self.call.view(w, name))
        self.wide = any(dtype_name(t) == "float64" for t in (x, q, *matrices) if t is not None)


def _last(array):
    """Returns the last dimension. A wrong rank is rejected by the library."""
    return array.shape[-1] if len(array.shape) else 0


def attention(x, q, *, w_q: Any = None, w_k: Any = None, w_v: Any = None, w_o: Any = None, kind: str = "dot",
              w: Any = None, u: Any = None, a: Any = None, heads: int = 1, return_lse: bool = False,
              return_weights: bool = False, out: Any = None, **features):
    """Applies the general attention layer: softmax(score(q w_q, x w_k)) (x w_v) w_o.

    Matrices that are None are left out. Self-attention is attention(x, x, ...).

    Parameters
    ----------
    x : array
        The inputs, (N, Dx) or (B, N, Dx).
    q : array
        The queries, (M, Dq) or (B, M, Dq).
    w_q, w_k, w_v, w_o : array, optional
        (Dq, heads Eq), (Dx, heads Ek), (Dx, heads Ev), (heads Ev, Do).
    kind, w, u, a
        The score of rows of q w_q and x w_k, see attn.score: 'dot' scaled by 1/sqrt(E), with scale=1.0 not scaled.
    heads : int
    return_lse, return_weights : bool
        Also returns the log-sum-exp and the attention weights, in float64 if x, q or a matrix is, else in float32.
    out : array, optional
        Where to write the result, of any float type.
    **features
        See sdpa: mask, causal, key_lengths, scale, dropout, ... mask broadcasts to (B, heads, M, N).

    Returns
    -------
    y : array
        (M, Do) or (B, M, Do), of q's type.
    lse : array, with return_lse
        (heads, M) or (B, heads, M)
    weights : array, with return_weights
        (heads, M, N) or (B, heads, M, N)
    """
    layer = _Layer(x, q, (w_q, w_k, w_v, w_o), kind, (w, u, a), heads, features)
    precise, by_head = "float64" if layer.wide else "float32", (*q.shape[:-2], int(heads), *q.shape[-2:-1])
    width = _last(next(w for w in (w_o, w_v, x) if w is not None))
    y = out if out is not None else empty_like(q, (*q.shape[:-1], width))
    results = layer.call.results(y, q, return_lse and (by_head, precise),
                                 return_weights and ((*by_head, *x.shape[-2:-1]), precise))
    call(model().attn_attention_layer_forward, layer.c, *layer.inputs, view(y, "out", out is not None), renamed={"y": "out"})
    mark_written(out)
    return results[0] if len(results) == 1 else tuple(results)


@dataclass
class AttentionGradients:
    """Gradients of the arguments of attention; None for those not given."""
    d_x: Any
    d_q: Any
    d_w_q: Optional[Any] = None
    d_w_k: Optional[Any] = None
    d_w_v: Optional[Any] = None
    d_w_o: Optional[Any] = None
    d_w: Optional[Any] = None
    d_u: Optional[Any] = None
    d_a: Optional[Any] = None


def attention_backward(d_y, x, q, *, w_q: Any = None, w_k: Any = None, w_v: Any = None, w_o: Any = None,
                       kind: str = "dot", w: Any = None, u: Any = None, a: Any = None, heads: int = 1,
                       **features) -> AttentionGradients:
    """Computes the gradients of attention(x, q, ...) from d_y. Deterministic; the forward is recomputed.

    Parameters are those of attention. With q = x the gradient of both is d_x + d_q. d_w, d_u and d_a are float32, or
    float64 for float64 parameters.
    """
    matrices = (w_q, w_k, w_v, w_o)
    layer = _Layer(x, q, matrices, kind, (w, u, a), heads, features)
    gradients = AttentionGradients(*(None if t is None else empty_like(t, tuple(t.shape)) for t in (x, q, *matrices)))
    learned = {"w": w, "u": u, "a": a}
    _allocate_wanted(gradients, {name: t is not None for name, t in learned.items()}, learned)
    score = _score_gradients(layer.call, gradients)
    names = ["d_" + name for name in ("x", "q", *_MATRICES)]
    g = layer.call.gradients("attn_attention_layer_gradients", gradients, names, score=score)
    call(model().attn_attention_layer_backward, layer.c, *layer.inputs, layer.call.view(d_y, "d_y"), g)
    return gradients
