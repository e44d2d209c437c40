"""attn.score and sdpa(additive=...) against the formulas written in PyTorch, and their gradients against autograd."""
import os

import numpy as np
import pytest
import torch

import attn

SEED = int(os.environ.get("ATTN_SEED") or torch.seed() % 2**31)


def formula(q, k, v, kind, w, u, a, scale, see, bias, softcap, sinks):
    """The equations of the papers, with an (L, S, A) tensor."""
    group = q.shape[1] // k.shape[1]
    heads = lambda m, n: m if m.dim() > (2 if m is not a else 1) else m.expand(n, *m.shape)
    if kind == "additive":
        k = torch.einsum("bhse,hea->bhsa", k, heads(u, k.shape[1]))
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    if kind == "dot":
        s = q @ k.mT * q.shape[-1] ** -0.5 if scale is None else q @ k.mT
    elif kind == "general":
        s = torch.einsum("bhle,hef,bhsf->bhls", q, heads(w, q.shape[1]), k)
    else:
        x = torch.einsum("bhle,hea->bhla", q, heads(w, q.shape[1]))
        s = (torch.tanh(x[:, :, :, None] + k[:, :, None]) * heads(a, q.shape[1])[None, :, None, None]).sum(-1)
    s = s * (1 if scale is None else scale)
    s = (softcap * torch.tanh(s / softcap) if softcap else s) + (0 if bias is None else bias)
    s = s.masked_fill(~see, -torch.inf)
    if sinks is not None:
        s = torch.cat([s, sinks[None, :, None, None].expand(*s.shape[:3], 1)], -1)
    return s.softmax(-1)[..., :k.shape[2]] @ v


def random_call(kind, dtype, rng):
    pick = lambda *options: options[torch.randint(len(options), (), generator=rng)]
    b, h, group, l, s = pick(1, 2), pick(1, 2), pick(1, 3), pick(1, 7, 70), pick(1, 9, 100)
    eq, ek, ev, width, own = pick(3, 8), pick(4, 8), pick(1, 5), pick(1, 12, 33), pick(False, True)
    new = lambda *shape: torch.randn(*shape, generator=rng, dtype=dtype)
    each = lambda n, *shape: new(n, *shape) if own else new(*shape)
    ek = eq if kind == "dot" else ek
    given = {"q": new(b, h * group, l, eq), "k": new(b, h, s, ek), "v": new(b, h, s, ev)}
    if kind != "dot":
        given["w"] = each(h * group, eq, ek if kind == "general" else width) * 0.4
    if kind == "additive":
        given |= {"u": each(h, ek, width) * 0.4, "a": each(h * group, width)}
    if pick(False, True):
        given["mask"] = new(l, s)
    if pick(False, True):
        given["sinks"] = new(h * group)
    plain = {"causal": pick(False, True), "scale": pick(None, 1.0, -0.3), "softcap": pick(None, 2.0)}
    return given, plain


@pytest.mark.parametrize("kind", ["dot", "general", "additive"])
@pytest.mark.parametrize("dtype, unit", [(torch.float64, 1e-12), (torch.float32, 2e-5)])
def test_random_calls_against_autograd(kind, dtype, unit):
    print(f"seed {SEED}")
    for n in range(25):
        given, plain = random_call(kind, dtype, torch.Generator().manual_seed(SEED + n))
        array = {name: t.numpy() for name, t in given.items()}
        exact = {name: t.double().requires_grad_() for name, t in given.items()}
        l, s = given["q"].shape[2], given["k"].shape[2]
        see = torch.ones(l, s, dtype=torch.bool).tril() if plain["causal"] else torch.ones(l, s, dtype=torch.bool)
        want = formula(*(exact.get(x) for x in "qkv"), kind, *(exact.get(x) for x in "wua"), plain["scale"], see,
                       exact.get("mask"), plain["softcap"], exact.get("sinks"))
        features = {"kind": kind, **plain, **{x: array[x] for x in array if x not in "qkv"}}
        o, lse = attn.score(array["q"], array["k"], array["v"], return_lse=True, **features)
        d_o = torch.randn(want.shape, generator=torch.Generator().manual_seed(n)).to(dtype)
        want.backward(d_o.double())
        g = attn.score_backward(d_o.numpy(), array["q"], array["k"], array["v"], o, lse, want_mask="mask" in array,
                                want_sinks="sinks" in array, **features)
        repeat = f"ATTN_SEED={SEED + n}: {kind} {dtype} {sorted(given)} {plain}"
        assert np.abs(o - want.detach().numpy()).max() <= unit * (1 + want.abs().max()), repeat
        for name, t in exact.items():
            difference = np.abs(getattr(g, "d_" + name) - t.grad.numpy()).max()
            assert difference <= 5 * unit * (1 + t.grad.abs().max()), f"{repeat}: d_{name} is off by {difference}"


def test_additive_in_sdpa():
    rng = np.random.default_rng(3)
    q, k, v, a = (rng.normal(size=shape) for shape in ((2, 4, 6, 5), (2, 2, 8, 5), (2, 2, 8, 3), (4, 5)))
    eye = np.eye(5)
    o, lse = attn.sdpa(q, k, v, additive=a, return_lse=True)
    np.testing.assert_array_equal(attn.score(q, k, v, kind="additive", w=eye, u=eye, a=a), o)
    g = attn.sdpa_backward(np.ones_like(o), q, k, v, o, lse, additive=a, want_additive=True)
    other = attn.score_backward(np.ones_like(o), q, k, v, o, lse, kind="additive", w=eye, u=eye, a=a)
    np.testing.assert_array_equal(g.d_additive, other.d_a)
    np.testing.assert_array_equal(g.d_q, other.d_q)


def test_unscaled_dot_product():
    rng = np.random.default_rng(4)
    q, k, v = (rng.normal(size=(1, 2, 5, 4)) for _ in range(3))
    np.testing.assert_array_equal(attn.score(q, k, v, scale=1.0), attn.sdpa(q, k, v, scale=1.0))
    np.testing.assert_allclose(attn.score(q, k, v, scale=1.0), attn.score(q, k, v, kind="general", w=np.eye(4)),
                               atol=1e-15)


def test_missing_parameters():
    q = np.ones((1, 2, 5, 4))
    with pytest.raises(attn.AttnError, match="w is required with kind='general'"):
        attn.score(q, q, q, kind="general")
    with pytest.raises(attn.AttnError, match="u is not a parameter of kind='general'"):
        attn.score(q, q, q, kind="general", w=np.eye(4), u=np.eye(4))


@pytest.mark.parametrize("argument, features", [
    ("kind", {"kind": "cosine"}), ("kind", {"kind": []}), ("kind", {"kind": None}), ("out", {"out": np.ones((1, 2, 5, 3))}),
    ("w", {"kind": "general"}), ("w", {"w": np.eye(4)}),
    ("u", {"kind": "general", "w": np.eye(4), "u": np.eye(4)}), ("w", {"kind": "general", "w": np.eye(3)}),
    ("a", {"kind": "additive", "w": np.eye(4), "u": np.eye(4), "a": np.ones(3)}),
    ("additive", {"additive": np.ones(4)})])
def test_invalid_arguments(argument, features):
    q = np.ones((1, 2, 5, 4))
    with pytest.raises(ValueError) as caught:
        attn.score(q, q, q, **features)
    assert caught.value.argument == argument
