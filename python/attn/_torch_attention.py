"""The general attention layer as a torch.nn.Module."""
import torch
from torch.autograd.function import once_differentiable

from ._attention import attention, attention_backward
from ._core import AttnError, choose, integer
from ._score import _KINDS

_NAMES = ("w_q", "w_k", "w_v", "w_o", "w", "u", "a")


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, features, need_weights, x, q, *parameters):
        ctx.features = features
        ctx.save_for_backward(x, q, *parameters)
        result = attention(x, q, return_weights=need_weights, **dict(zip(_NAMES, parameters)), **features)
        if need_weights:
            ctx.mark_non_differentiable(result[1])
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx, d_y, *_):
        x, q, *parameters = ctx.saved_tensors
        g = attention_backward(d_y, x, q, **dict(zip(_NAMES, parameters)), **ctx.features)
        learned = (None if p is None else getattr(g, "d_" + name).to(p.dtype) for name, p in zip(_NAMES, parameters))
        return None, None, g.d_x, g.d_q, *learned


_apply = torch.compiler.disable(_Layer.apply)


class Attention(torch.nn.Module):
    """The general attention layer: M queries q attend to N inputs x.

        y = softmax(score(q w_q, x w_k)) (x w_v) w_o

    The parameters have the names and shapes of attn.nn.attention and attn/nn.h; state_dict holds them as they are.

    Parameters
    ----------
    input_dim : int
        Dx, the width of x.
    key_dim : int
        The width of keys and queries, of all heads.
    value_dim : int, optional
        The width of values, of all heads; defaults to key_dim.
    query_dim : int, optional
        The width of q, which w_q (query_dim, key_dim) projects. By default there is no w_q, and q is key_dim wide.
    out_dim : int, optional
        The width of y, by w_o (value_dim, out_dim). By default there is no w_o, and y is value_dim wide.
    heads : int
    kind : {'dot', 'general', 'additive'}
        The score: scale q.k, q^T w k with w (E, E), or a . tanh(w^T q + u^T k) with w, u (E, A), a (A); E is key_dim / heads.
    scale : float, optional
        Defaults to 1/sqrt(E) for 'dot', otherwise to 1.
    score_dim : int, optional
        A, for 'additive'; defaults to E.
    dropout : float
        Probability of dropping a weight while training; the seed is drawn from PyTorch's generator.
    device, dtype
        Of the parameters.
    """

    def __init__(self, input_dim, key_dim, value_dim=None, *, query_dim=None, out_dim=None, heads=1, kind="dot",
                 scale=None, score_dim=None, dropout=0.0, device=None, dtype=None):
        super().__init__()
        choose(_KINDS, kind, "kind")
        self.heads, self.kind, self.scale, self.dropout = integer(heads, "heads", 1), kind, scale, dropout
        value_dim = key_dim if value_dim is None else value_dim
        for name, width in (("key_dim", key_dim), ("value_dim", value_dim)):
            if integer(width, name, 1) % self.heads:
                raise AttnError(f"{heads} heads do not divide {name}, {width}", "ATTN_ERR_ARGUMENT", name)
        each = key_dim // self.heads
        width = each if score_dim is None else integer(score_dim, "score_dim", 1)
        shapes = {"w_k": (input_dim, key_dim), "w_v": (input_dim, value_dim)}
        if query_dim is not None:
            shapes["w_q"] = (query_dim, key_dim)
        if out_dim is not None:
            shapes["w_o"] = (value_dim, out_dim)
        if kind == "general":
            shapes["w"] = (each, each)
        if kind == "additive":
            shapes.update(w=(each, width), u=(each, width), a=(width,))
        for name in _NAMES:
            shape = shapes.get(name)
            parameter = shape and torch.nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws all parameters uniformly from +-1/sqrt(rows), as torch.nn.Linear."""
        for p in self.parameters():
            torch.nn.init.uniform_(p, -p.shape[0] ** -0.5, p.shape[0] ** -0.5)

    def forward(self, x, q=None, *, need_weights=False, **features):
        """Computes the layer of x (N, Dx) or (B, N, Dx) and q (M, Dq) or (B, M, Dq); q defaults to x.

        Parameters
        ----------
        need_weights : bool
            Also returns the attention weights, (heads, M, N) or (B, heads, M, N), without gradient.
        **features
            See attn.sdpa: mask, causal, key_lengths, ... A mask has no gradient.

        Returns
        -------
        y : torch.Tensor
            (M, Do) or (B, M, Do)
        weights : torch.Tensor, with need_weights
        """
        for name, t in features.items():
            if torch.is_tensor(t) and t.requires_grad:
                raise AttnError(f"{name} requires grad, but has no gradient here; use attn.torch.sdpa",
                                "ATTN_ERR_ARGUMENT", name)
        features.update(heads=self.heads, kind=self.kind)
        features.setdefault("scale", self.scale)
        if self.dropout and self.training:
            features.update(dropout=self.dropout, seed=int(torch.randint(1 << 62, (), device="cpu").item()))
        return _apply(features, need_weights, x, x if q is None else q, *(getattr(self, name) for name in _NAMES))
