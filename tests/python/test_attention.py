"""attn.nn.attention and attn.torch.Attention against the formula under autograd and torch.nn.MultiheadAttention."""
import os

import numpy as np
import pytest
import torch

import attn
from attn import nn
from attn.torch import Attention

SEED = int(os.environ.get("ATTN_SEED") or torch.seed() % 2**31)
NAMES = ("w_q", "w_k", "w_v", "w_o", "w", "u", "a")


def formula(x, q, w_q=None, w_k=None, w_v=None, w_o=None, kind="dot", w=None, u=None, a=None, heads=1, scale=None,
            see=None):
    """The layer of (B, N, Dx) and (B, M, Dq) in PyTorch; returns y and the weights."""
    by_heads = lambda t: t.unflatten(-1, (heads, -1)).transpose(1, 2)
    project = lambda t, matrix: by_heads(t if matrix is None else t @ matrix)
    q, k, v = project(q, w_q), project(x, w_k), project(x, w_v)
    if kind == "dot":
        e = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    elif kind == "general":
        e = q @ w @ k.mT * (1 if scale is None else scale)
    else:
        e = torch.tanh((q @ w)[:, :, :, None] + (k @ u)[:, :, None]) @ a * (1 if scale is None else scale)
    weights = e.masked_fill(~see, -torch.inf).softmax(-1)
    y = (weights @ v).transpose(1, 2).flatten(2)
    return (y if w_o is None else y @ w_o), weights


def random_call(kind, dtype, seed):
    """Shapes, tensors and options; some matrices are left out."""
    rng = torch.Generator().manual_seed(seed)
    below = lambda low, high: int(torch.randint(low, high, (), generator=rng))
    new = lambda *shape: (torch.randn(shape, generator=rng, dtype=torch.float64) * 0.7).to(dtype)
    b, n, m, heads, e, ev, units = below(1, 4), below(1, 20), below(1, 20), below(1, 4), below(1, 6), below(1, 6), below(1, 9)
    ek = e if kind == "dot" else below(1, 6)
    has = {name: below(0, 2) for name in NAMES[:4]}
    if not has["w_k"] and not has["w_v"]:
        ev = ek
    dx = below(1, 9) if has["w_k"] and has["w_v"] else heads * (ev if has["w_k"] else ek)
    dq = below(1, 9) if has["w_q"] else heads * e
    shapes = {"w_q": (dq, heads * e), "w_k": (dx, heads * ek), "w_v": (dx, heads * ev), "w_o": (heads * ev, below(1, 9))}
    given = {"x": new(b, n, dx), "q": new(b, m, dq), **{name: new(*shapes[name]) for name in shapes if has[name]}}
    if kind == "general":
        given["w"] = new(e, ek)
    if kind == "additive":
        given.update(w=new(e, units), u=new(ek, units), a=new(units))
    see = torch.rand(m, n, generator=rng) < 0.7
    see[:, 0] = True
    return given, see, {"kind": kind, "heads": heads, "scale": (None, 1.0, -0.3)[below(0, 3)]}


@pytest.mark.parametrize("kind", ["dot", "general", "additive"])
@pytest.mark.parametrize("dtype, unit", [(torch.float64, 1e-12), (torch.float32, 2e-5)])
def test_random_calls_against_autograd(kind, dtype, unit):
    print(f"seed {SEED}")
    for n in range(25):
        given, see, options = random_call(kind, dtype, SEED + n)
        exact = {name: t.detach().double().clone().requires_grad_() for name, t in given.items()}
        want, want_weights = formula(**exact, **options, see=see)
        array = {name: t.numpy() for name, t in given.items()}
        y, weights = nn.attention(**array, **options, mask=see.numpy(), return_weights=True)
        repeat = f"ATTN_SEED={SEED + n}: {dtype} {sorted(given)} {options}"
        assert np.abs(y - want.detach().numpy()).max() <= unit * (1 + want.abs().max()), repeat
        assert np.abs(weights - want_weights.detach().numpy()).max() <= unit, repeat
        d_y = torch.randn(want.shape, generator=torch.Generator().manual_seed(n), dtype=torch.float64).to(dtype)
        want.backward(d_y.double())
        g = nn.attention_backward(d_y.numpy(), **array, **options, mask=see.numpy())
        for name in ("x", "q", *NAMES):
            got = getattr(g, "d_" + name)
            if name not in exact:
                assert got is None
                continue
            exact_gradient = exact[name].grad
            difference = np.abs(got - exact_gradient.numpy()).max()
            assert difference <= 5 * unit * (1 + exact_gradient.abs().max()), f"{repeat}: d_{name} is off by {difference}"


def test_multihead_attention():
    """PyTorch's layer with the same weights: its rows are our columns."""
    torch.manual_seed(SEED)
    theirs = torch.nn.MultiheadAttention(12, 3, bias=False, kdim=7, vdim=7, batch_first=True, dtype=torch.float64)
    ours = Attention(7, 12, query_dim=12, out_dim=12, heads=3, dtype=torch.float64)
    ours.load_state_dict({"w_q": theirs.q_proj_weight.T, "w_k": theirs.k_proj_weight.T, "w_v": theirs.v_proj_weight.T,
                          "w_o": theirs.out_proj.weight.T})
    x, q = (torch.randn(2, n, d, dtype=torch.float64, requires_grad=True) for n, d in ((9, 7), (5, 12)))
    want, want_weights = theirs(q, x, x, average_attn_weights=False)
    got, weights = ours(x, q, need_weights=True)
    torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(weights, want_weights, rtol=1e-12, atol=1e-14)
    leaves = [x, q, theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight, theirs.out_proj.weight]
    d = torch.randn_like(want)
    theirs_gradients = torch.autograd.grad(want, leaves, d)
    ours_gradients = torch.autograd.grad(got, [x, q, *(getattr(ours, n) for n in NAMES[:4])], d)
    for n, (a, b) in enumerate(zip(ours_gradients, theirs_gradients)):
        torch.testing.assert_close(a, b.T if n > 1 else b, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("options", [{}, {"kind": "general", "heads": 2}, {"kind": "additive", "score_dim": 5},
                                     {"query_dim": 3, "out_dim": 4, "heads": 2, "value_dim": 2}])
def test_module_gradcheck(options):
    torch.manual_seed(SEED)
    layer = Attention(5, 6, **options, dtype=torch.float64)
    x, q = torch.randn(2, 4, 5, dtype=torch.float64), torch.randn(2, 3, options.get("query_dim", 6), dtype=torch.float64)
    names = [name for name, _ in layer.named_parameters()]

    def call(x, q, *parameters):
        return torch.func.functional_call(layer, dict(zip(names, parameters)), (x, q))
    inputs = [t.detach().requires_grad_() for t in (x, q, *layer.parameters())]
    assert torch.autograd.gradcheck(call, inputs)


def test_module_and_function_share_weights():
    torch.manual_seed(SEED)
    layer = Attention(5, 6, kind="additive", query_dim=4, heads=2, score_dim=3)
    shapes = {"w_q": (4, 6), "w_k": (5, 6), "w_v": (5, 6), "w": (3, 3), "u": (3, 3), "a": (3,)}
    assert {name: tuple(p.shape) for name, p in layer.state_dict().items()} == shapes
    x, q = torch.randn(7, 5), torch.randn(3, 4)
    arrays = {name: p.numpy() for name, p in layer.state_dict().items()}
    np.testing.assert_array_equal(layer(x, q).detach().numpy(),
                                  nn.attention(x.numpy(), q.numpy(), kind="additive", heads=2, **arrays))


def test_self_attention():
    """The gradient of x is that of inputs and queries."""
    torch.manual_seed(SEED)
    layer = Attention(6, 4, query_dim=6, out_dim=6, dtype=torch.float64)
    x = torch.randn(2, 5, 6, dtype=torch.float64, requires_grad=True)
    see = torch.ones(5, 5, dtype=torch.bool).tril()
    want, _ = formula(x, x, layer.w_q, layer.w_k, layer.w_v, layer.w_o, see=see)
    d = torch.randn_like(want)
    got = layer(x, causal=True)
    torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(*(torch.autograd.grad(y, x, d)[0] for y in (got, want)), rtol=1e-11, atol=1e-13)


def test_dropout_only_while_training():
    layer = Attention(6, 4, dropout=0.5)
    x, q = torch.randn(40, 6), torch.randn(3, 4)
    assert not torch.equal(layer(x, q), layer(x, q))
    torch.manual_seed(1)
    first = layer(x, q)
    torch.manual_seed(1)
    assert torch.equal(first, layer(x, q))
    layer.eval()
    assert torch.equal(layer(x, q), layer(x, q))


def test_bfloat16_module():
    torch.manual_seed(SEED)
    layer, x, q = Attention(6, 4, kind="general"), torch.randn(2, 9, 6), torch.randn(2, 3, 4)
    narrow = Attention(6, 4, kind="general", dtype=torch.bfloat16)
    narrow.load_state_dict(layer.state_dict())
    layer.load_state_dict(narrow.state_dict())
    x, q = x.bfloat16(), q.bfloat16()
    got = narrow(x, q)
    assert got.dtype == torch.bfloat16
    torch.testing.assert_close(got, layer(x.float(), q.float()).bfloat16(), rtol=0, atol=0)
    got.sum().backward()
    assert all(p.grad.dtype == torch.bfloat16 for p in narrow.parameters())


def test_out_and_lse():
    rng = np.random.default_rng(SEED)
    x, q, w_k = rng.normal(size=(9, 5)).astype("f4"), rng.normal(size=(3, 4)).astype("f4"), rng.normal(size=(5, 4))
    out = np.empty((3, 5), "f8")
    y, lse, weights = nn.attention(x, q, w_k=w_k, out=out, return_lse=True, return_weights=True)
    assert y is out and lse.shape == (1, 3) and lse.dtype == weights.dtype == "f8" and weights.shape == (1, 3, 9)
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-14)
    e = q @ (x @ w_k).T / 2
    np.testing.assert_allclose(lse[0], np.log(np.exp(e).sum(-1)), rtol=1e-12)


X, Q = np.ones((2, 5, 6), "f4"), np.ones((2, 3, 4), "f4")


@pytest.mark.parametrize("argument, call", [
    ("x", lambda: nn.attention(X[0, 0], Q)), ("q", lambda: nn.attention(X, Q[0])), ("x", lambda: nn.attention(X, Q)),
    ("w_k", lambda: nn.attention(X, Q, w_k=np.ones((5, 4), "f4"))), ("w_q", lambda: nn.attention(X, Q, w_q=np.ones(4, "f4"))),
    ("heads", lambda: nn.attention(X, X, heads=4)), ("heads", lambda: nn.attention(X, X, heads=0)),
    ("w", lambda: nn.attention(X, X, kind="general")), ("kind", lambda: nn.attention(X, X, kind="cosine")),
    ("out", lambda: nn.attention(X, X, out=np.ones((2, 5, 5), "f4"))), ("out", lambda: nn.attention(X, X, out=X)),
    ("d_y", lambda: nn.attention_backward(Q, X, X)), ("mask", lambda: nn.attention(X, X, mask=np.ones((4, 5), bool))),
    ("value_dim", lambda: Attention(6, 4, 3, heads=2)), ("key_dim", lambda: Attention(6, 3, heads=2)),
    ("kind", lambda: Attention(6, 4, kind="cosine")), ("heads", lambda: Attention(6, 4, heads=0)),
    ("mask", lambda: Attention(6, 4)(torch.ones(2, 6), torch.ones(1, 4), mask=torch.ones(1, 2, requires_grad=True)))])
def test_errors_name_the_argument(argument, call):
    with pytest.raises(attn.AttnError) as caught:
        call()
    assert caught.value.argument == argument
