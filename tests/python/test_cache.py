"""attn.KVCache: contents, attention, page sharing, and errors that change nothing."""
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import attn

RNG = np.random.default_rng(0)


def tokens(t, count=2, h=2, e=8, ev=6, dtype="f4"):
    return RNG.normal(size=(count, h, t, e)).astype(dtype), RNG.normal(size=(count, h, t, ev)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8"])
@pytest.mark.parametrize("page_size", [0, 4])
def test_decoding_equals_prefill(dtype, page_size):
    cache = attn.KVCache(num_kv_heads=2, head_dim=8, value_head_dim=6, sequences=2, capacity=20, page_size=page_size, dtype=dtype)
    q = RNG.normal(size=(2, 4, 15, 8)).astype("f4")
    steps = []
    for i in range(15):
        cache.append(*tokens(1))
        steps.append(cache.attend(q[:, :, i:i + 1]))
    assert cache.lengths == [15, 15]
    kept = [np.stack(x) for x in zip(cache.read(0), cache.read(1))]
    np.testing.assert_allclose(np.concatenate(steps, 2), attn.sdpa(q, *kept, causal=True), atol=2e-6)
    o, lse = cache.attend(q, return_lse=True, softcap=3.0, window=(5, 0))
    dense = attn.sdpa(q, *kept, causal=True, softcap=3.0, window=(5, 0), return_lse=True)
    np.testing.assert_array_equal(o, dense[0])
    np.testing.assert_array_equal(lse, dense[1])


@pytest.mark.parametrize("dtype, bound", [("float32", 0), ("float16", 2.0 ** -11), ("bfloat16", 2.0 ** -8)])
def test_read_returns_appended_tokens(dtype, bound):
    cache = attn.KVCache(num_kv_heads=2, head_dim=8, value_head_dim=6, capacity=30, page_size=7, dtype=dtype)
    k, v = tokens(19, count=1)
    cache.append(k[:, :, :4], v[:, :, :4])
    cache.append(k[0, :, 4:], v[0, :, 4:])          # one sequence of rank 3, strided
    for got, exact in zip(cache.read(0), (k[0], v[0])):
        assert np.all(np.abs(got - exact) <= bound * np.abs(exact) + 2.0 ** -25 * (bound > 0))


def test_int8_rounding():
    cache = attn.KVCache(num_kv_heads=2, head_dim=8, value_head_dim=6, capacity=30, dtype="int8")
    k, v = tokens(30, count=1)
    cache.append(k, v)
    for got, exact in zip(cache.read(0), (k[0], v[0])):
        step = np.abs(exact).max(-1, keepdims=True) / 127
        assert np.all(np.abs(got - exact) <= step / 2 * 1.00001 + 2.0 ** -23 * np.abs(exact))


def test_fork_shares_pages():
    cache = attn.KVCache(num_kv_heads=2, head_dim=8, value_head_dim=6, sequences=3, capacity=40, page_size=8, pages=6)
    cache.append(*tokens(20, count=1))
    cache.fork(0, 1)
    cache.fork(0, 2)
    assert cache.pages_free == 3 and cache.lengths == [20, 20, 20]
    before = cache.read(0)[0]
    cache.append(*tokens(1, count=2), sequences=[1, 2])
    assert cache.pages_free == 1
    np.testing.assert_array_equal(cache.read(0)[0], before)
    np.testing.assert_array_equal(cache.read(2)[0][:, :20], before)
    o = cache.attend(RNG.normal(size=(4, 4, 1, 8)).astype("f4"), sequences=[2, 2, 0, 1])
    assert o.shape == (4, 4, 1, 6)
    cache.truncate(1, 0)
    cache.truncate(2, 3)
    assert cache.lengths == [20, 0, 3] and cache.pages_free == 3
    assert "lengths [20, 0, 3]" in repr(cache)


def test_torch_tensors_in_place():
    torch = pytest.importorskip("torch")
    cache = attn.KVCache(num_kv_heads=2, head_dim=8, value_head_dim=6, sequences=2, capacity=9, dtype="bfloat16")
    k, v = (torch.from_numpy(x).bfloat16() for x in tokens(5))
    cache.append(k, v)
    q = torch.randn(2, 4, 1, 8).bfloat16()
    assert torch.equal(cache.attend(q), attn.sdpa(q, k, v))


@pytest.mark.parametrize("change, argument", [
    (dict(num_kv_heads=0), "num_kv_heads"), (dict(head_dim=-1), "head_dim"), (dict(capacity=0), "capacity"), (dict(sequences=0), "sequences"),
    (dict(page_size=-1), "page_size"), (dict(pages=-1), "pages"), (dict(dtype="float64"), "dtype"),
    (dict(capacity=2 ** 62), "capacity")])
def test_invalid_caches(change, argument):
    with pytest.raises(attn.AttnError) as error:
        attn.KVCache(**{**dict(num_kv_heads=2, head_dim=8, capacity=4), **change})
    assert error.value.argument == argument


def test_errors_name_the_argument_and_change_nothing():
    cache = attn.KVCache(num_kv_heads=2, head_dim=8, value_head_dim=6, sequences=2, capacity=6, page_size=2, pages=4)
    k, v = tokens(3)
    cache.append(k, v)
    held = [cache.read(n)[0] for n in range(2)]
    refusals = [
        (lambda: cache.append(k[..., :7], v), "k"), (lambda: cache.append(k, v[:, :1]), "v"),
        (lambda: cache.append(k, v, sequences=[0, 0]), "sequences"), (lambda: cache.append(k, v, sequences=[0, 2]), "sequences"),
        (lambda: cache.append(k, v, sequences=[0]), "k"), (lambda: cache.append(k.astype("i4"), v), "k"),
        (lambda: cache.append(np.repeat(k, 2, 2), np.repeat(v, 2, 2)), "capacity"),
        (lambda: cache.attend(k[:, :, :, :5]), "k"), (lambda: cache.attend(k, sequences=[0, 7]), "sequences"),
        (lambda: cache.attend(k, key_lengths=np.array([1, 1])), "key_lengths"),
        (lambda: cache.attend(k.astype("f8")), "q"), (lambda: cache.attend(k, scale=float("nan")), "scale"),
        (lambda: cache.truncate(0, 4), "length"), (lambda: cache.truncate(5, 0), "sequence"), (lambda: cache.fork(0, 9), "to"),
        (lambda: cache.length(2), "sequence"), (lambda: cache.read(-1), "sequence")]
    for refused, argument in refusals:
        with pytest.raises(attn.AttnError) as error:
            refused()
        assert error.value.argument == argument, str(error.value)
    with pytest.raises(MemoryError):
        cache.append(k, v)                            # three pages more where none is free
    for n in range(2):
        np.testing.assert_array_equal(cache.read(n)[0], held[n])


ACTIONS = st.lists(st.tuples(st.sampled_from(["append", "fork", "truncate", "attend"]), st.integers(-1, 4), st.integers(-1, 9)),
                   max_size=25)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(actions=ACTIONS, page_size=st.integers(0, 5), pages=st.integers(0, 12), dtype=st.sampled_from(["float32", "int8"]))
def test_random_operations(actions, page_size, pages, dtype):
    """Random operations give results or typed errors, and consistent lengths."""
    cache = attn.KVCache(num_kv_heads=1, head_dim=4, sequences=3, capacity=9, page_size=page_size, pages=pages, dtype=dtype)
    lengths = [0, 0, 0]
    for what, a, b in actions:
        try:
            if what == "append":
                cache.append(*tokens(max(b, 0), 1, 1, 4, 4), sequences=[a])
                lengths[a] += max(b, 0)
            elif what == "fork":
                cache.fork(a, b)
                lengths[b] = lengths[a]
            elif what == "truncate":
                cache.truncate(a, b)
                lengths[a] = b
            else:
                cache.attend(np.ones((1, 1, 1, 4), "f4"), sequences=[a])
        except (attn.AttnError, MemoryError):
            pass
        assert cache.lengths == lengths


def test_queries_are_the_last_tokens():
    cache, q = attn.KVCache(num_kv_heads=2, head_dim=8, value_head_dim=6, capacity=12), RNG.normal(size=(1, 4, 3, 8)).astype("f4")
    k, v = tokens(9, count=1)
    cache.append(k, v)
    last = {"align": "bottom-right"}
    calls = [({}, {"causal": True}), ({"align": None}, {"causal": True}), ({"preset": "torch"}, {"causal": True}),
             ({"causal": False, "window": (2, 0)}, {"window": (2, 0)}),
             ({"causal": False, "alibi": np.array([.1, .2, .3, .4])}, {"alibi": np.array([.1, .2, .3, .4])}),
             ({"align": "top-left"}, {"causal": True, "align": "top-left"}),
             ({"offset": 2}, {"causal": True, "offset": 2, "align": None})]
    for given, dense in calls:
        np.testing.assert_array_equal(cache.attend(q, **given), attn.sdpa(q, k, v, **{**last, **dense}), str(given))


def test_weights_are_0_after_the_end():
    cache, q = attn.KVCache(num_kv_heads=2, head_dim=8, value_head_dim=6, sequences=3, capacity=12), RNG.normal(size=(3, 4, 2, 8)).astype("f4")
    for n, length in enumerate((5, 9, 0)):
        cache.append(*tokens(length, count=1), sequences=[n])
    o, lse, weights = cache.attend(q, sequences=[1, 0, 2], return_lse=True, return_weights=True)
    assert weights.shape == (3, 4, 2, 9)
    for row, n in enumerate((1, 0, 2)):
        want = attn.sdpa(q[row], *cache.read(n), causal=True, align="bottom-right", return_lse=True, return_weights=True)
        length = cache.lengths[n]
        for got, exact in zip((o[row], lse[row], weights[row, ..., :length]), want):
            np.testing.assert_array_equal(got, exact)
        assert (weights[row, ..., length:] == 0).all()
    assert cache.attend(q, return_weights=True)[1].shape == (3, 4, 2, 9)
    assert cache.attend(q[0], sequences=2, return_weights=True)[1].shape == (4, 2, 0)
    with pytest.raises(attn.AttnError, match="sequences"):
        cache.attend(q[0], sequences=7, return_weights=True)


@pytest.mark.parametrize("sequences", [[0.9], ["1"], [True], [float("nan")], [None], [2**63], [2**70], [[0]], "0", {0}, {0: 1},
                                       np.array([[0]]), np.array([0.0]), np.array([True]), np.array([2**64 - 1], "u8"), 0.5])
def test_invalid_sequences(sequences):
    cache = attn.KVCache(num_kv_heads=2, head_dim=8, value_head_dim=6, sequences=2, capacity=4)
    k, v = tokens(1, count=1)
    for call in (lambda: cache.append(k, v, sequences=sequences), lambda: cache.attend(k, sequences=sequences)):
        with pytest.raises(attn.AttnError) as error:
            call()
        assert error.value.argument == "sequences" and cache.lengths == [0, 0]


@pytest.mark.parametrize("sequences", [1, np.int64(1), [1], (1,), range(1, 2), np.array([1]), np.array(1), iter([1])])
def test_sequences_of_any_kind(sequences):
    cache = attn.KVCache(num_kv_heads=2, head_dim=8, value_head_dim=6, sequences=2, capacity=4)
    cache.append(*tokens(1, count=1), sequences=sequences)
    assert cache.lengths == [0, 1]


def test_wrong_types_name_the_argument():
    cache = attn.KVCache(num_kv_heads=2, head_dim=8, value_head_dim=6, capacity=4)
    k, v = tokens(1, count=1)
    q = np.ones((1, 4, 1, 8), "f4")
    cache.append(k, v)
    for argument, call in [
            ("k", lambda: cache.append(None, None)), ("v", lambda: cache.append(k, [1])), ("q", lambda: cache.attend(None)),
            ("q", lambda: cache.attend([1.0])), ("window", lambda: cache.attend(q, window=3)),
            ("out", lambda: cache.attend(q, out=np.ones((1, 4, 1, 5), "f4"))), ("sequence", lambda: cache.length(0.5)),
            ("length", lambda: cache.truncate(0, None)), ("target", lambda: cache.fork(0, 1.5)),
            ("num_kv_heads", lambda: attn.KVCache(num_kv_heads="a", head_dim=8, capacity=4)),
            ("head_dim", lambda: attn.KVCache(num_kv_heads=1, head_dim=1.5, capacity=4)),
            ("capacity", lambda: attn.KVCache(num_kv_heads=1, head_dim=1, capacity=2**63)),
            ("dtype", lambda: attn.KVCache(num_kv_heads=1, head_dim=1, capacity=4, dtype=None))]:
        with pytest.raises(attn.AttnError) as error:
            call()
        assert error.value.argument == argument, str(error.value)
    assert cache.lengths == [1]
