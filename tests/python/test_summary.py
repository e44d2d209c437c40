"""attn.summary against NumPy in float64: features, layouts, types, PyTorch tensors, errors, random arguments."""
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import attn

RNG = np.random.default_rng(int(os.environ.get("ATTN_SEED", "0")))


def inputs(b=2, hq=4, h=2, l=9, s=11, e=8, dtype="f4"):
    return RNG.normal(size=(b, hq, l, e)).astype(dtype), RNG.normal(size=(b, h, s, e)).astype(dtype)


def logits_of(q, k, bias=0.0, softcap=None):
    q, k = q.astype("f8"), np.repeat(k.astype("f8"), q.shape[1] // k.shape[1], 1)
    s = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    return (softcap * np.tanh(s / softcap) if softcap else s) + bias


def weights_of(s, sinks=None):
    """The weights of the keys and of the sink."""
    own = np.full((*s.shape[:-1], 1), -np.inf) if sinks is None else np.broadcast_to(
        sinks[:, None, None], (*s.shape[:-1], 1)).astype("f8")
    p = np.exp(np.concatenate([s, own], -1) - np.maximum(s.max(-1, keepdims=True), own))
    p /= p.sum(-1, keepdims=True)
    return p[..., :-1], p


def entropy_of(p):
    return -(p * np.log(np.where(p > 0, p, 1))).sum(-1)


@pytest.mark.parametrize("dtype, tolerance", [("f4", 5e-6), ("f8", 1e-13), ("f2", 5e-6)])
@pytest.mark.parametrize("sinks", [None, np.array([0.5, -1, 3, -np.inf], "f4")])
def test_values(dtype, tolerance, sinks):
    q, k = inputs(dtype=dtype)
    see = np.tril(np.ones((9, 11)), 2) > 0
    bias = np.where(see, RNG.normal(size=(4, 9, 11)), -np.inf).astype("f4")
    logits = logits_of(q, k, bias, 2.0)
    p, all_of_it = weights_of(logits, sinks)
    got = attn.summary(q, k, top=4, mask=bias, softcap=2.0, dropout=0.5, sinks=sinks)
    np.testing.assert_allclose(got.column_sums, p.sum(2), atol=10 * tolerance)
    np.testing.assert_allclose(got.entropy, entropy_of(all_of_it), atol=tolerance)
    np.testing.assert_allclose(got.max_logit, logits.max(-1), atol=tolerance)
    order = np.argsort(-p, -1, kind="stable")[..., :4]
    seen = np.take_along_axis(np.broadcast_to(see, p.shape), order, -1)
    np.testing.assert_array_equal(got.top_keys, np.where(seen, order, -1))
    np.testing.assert_allclose(got.top_weights, np.where(seen, np.take_along_axis(p, order, -1), 0), atol=tolerance)
    assert got.entropy.dtype == ("f8" if dtype == "f8" else "f4") and got.top_keys.dtype == "i8"


def test_memory_of_long_sequences():
    q, k = RNG.normal(size=(6000, 4)).astype("f4"), np.zeros((6000, 4), "f4")
    got = attn.summary(q, k, top=2)  # all keys alike: 6000 x 6000 equal weights
    np.testing.assert_allclose(got.entropy, np.log(6000), rtol=1e-6)
    np.testing.assert_allclose(got.column_sums, 1, rtol=1e-5)
    assert (got.top_keys == [0, 1]).all()


def test_optional_results_and_ranks():
    q, k = inputs()
    got = attn.summary(q[0, 0], k[0, 0], column_sums=False, top=0, entropy=False)
    assert got.column_sums is got.top_keys is got.top_weights is got.entropy is None
    np.testing.assert_array_equal(got.max_logit, attn.summary(q, k).max_logit[0, 0])
    assert attn.summary(q[0], k[0], top=20).top_keys.shape == (4, 9, 20)
    assert (attn.summary(q, k, top=20).top_keys[..., 11:] == -1).all()
    nothing = attn.summary(q, k, column_sums=False, top=0, entropy=False, max_logit=False)
    assert str(nothing) == "9 queries by 11 keys; means over the queries of a head"


def test_str():
    q, k = np.ones((3, 4, 2, 5), "f4"), np.ones((3, 4, 2, 5), "f4")
    lines = str(attn.summary(q, k, causal=True, scale=1.0)).split("\n")
    assert lines[0] == "2 queries by 2 keys; means over the queries of a head"
    assert lines[1] == "head  entropy  largest weight  largest logit  most attended keys"
    assert lines[2] == "0, 0  0.3466   0.75            5              key 0 (75.0%), key 1 (25.0%)"
    assert len(lines) == 11 and lines[-1] == "..."
    assert "-inf           -" in str(attn.summary(q, k, mask=np.zeros(2, bool)))
    assert "nan            -" in str(attn.summary(q, k, mask=np.zeros(2, bool), empty_row="nan"))
    for shape in ((0, 11), (9, 0), (0, 0)):
        assert str(attn.summary(np.ones((2, shape[0], 4)), np.ones((2, shape[1], 4))))


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    q, k = inputs()
    got = attn.summary(torch.from_numpy(q).bfloat16(), torch.from_numpy(k).bfloat16())
    assert got.entropy.dtype == torch.float32 and got.top_keys.dtype == torch.int64
    want = attn.summary(torch.from_numpy(q).bfloat16().float().numpy(), torch.from_numpy(k).bfloat16().float().numpy())
    np.testing.assert_array_equal(got.top_keys.numpy(), want.top_keys)
    np.testing.assert_array_equal(got.entropy.numpy(), want.entropy)  # 16 bits in, none lost on the way
    assert "most attended keys" in str(got)


@pytest.mark.parametrize("argument, change", [
    ("k", {"k": np.zeros((2, 2, 11, 7), "f4")}), ("k", {"k": np.zeros(3, "f4")}), ("q", {"q": np.zeros((), "f4")}),
    ("top", {"top": -1}), ("top", {"top": 2.5}), ("top", {"top": True}), ("top", {"top": 2**63}), ("mask", {"mask": np.zeros((3, 3), "f4")}),
    ("softcap", {"softcap": 0.0}), ("key_lengths", {"key_lengths": np.array([3, 99])})])
def test_invalid_arguments(argument, change):
    q, k = inputs()
    with pytest.raises(ValueError) as caught:
        attn.summary(**{"q": q, "k": k, **change})
    assert caught.value.argument == argument


SHAPES = st.lists(st.integers(0, 5), min_size=0, max_size=5)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(shapes=st.tuples(SHAPES, SHAPES), dtype=st.sampled_from(["f4", "f8", "f2", "i8"]), mask=st.none() | SHAPES,
       top=st.integers(-2, 9), features=st.fixed_dictionaries({}, optional={
           "causal": st.booleans(), "offset": st.integers(-2**63, 2**63 - 1), "scale": st.floats(),
           "window": st.tuples(st.integers(-2**63, 2**63 - 1), st.integers(-2**63, 2**63 - 1)),
           "threads": st.integers(-2, 9), "empty_row": st.sampled_from(["zero", "mean", "nan", "error"]),
           "column_sums": st.booleans(), "entropy": st.booleans(), "max_logit": st.booleans()}))
def test_random_summaries(shapes, dtype, mask, top, features):
    if mask is not None:
        features["mask"] = np.zeros(mask, "f4")
    try:
        str(attn.summary(*(np.ones(shape, dtype) for shape in shapes), top=top, **features))
    except (attn.AttnError, MemoryError):
        pass
