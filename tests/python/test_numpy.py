"""attn.sdpa on NumPy arrays: values, layouts without a copy, types, errors, random arguments."""
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import attn
from attn import _core

RNG = np.random.default_rng(int(os.environ.get("ATTN_SEED", "0")))


def tensors(b=2, hq=4, h=2, l=9, s=11, e=8, ev=6, dtype="f4"):
    normal = lambda *shape: RNG.normal(size=shape).astype(dtype)
    return normal(b, hq, l, e), normal(b, h, s, e), normal(b, h, s, ev)


def reference(q, k, v, see=None, bias=0.0, scale=None, softcap=None):
    q, k, v = (x.astype("f8") for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    s = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    s = (softcap * np.tanh(s / softcap) if softcap else s) + bias
    s = s if see is None else np.where(see, s, -np.inf)
    top = s.max(-1, keepdims=True)
    p = np.exp(s - np.where(np.isfinite(top), top, 0))
    return p / np.maximum(p.sum(-1, keepdims=True), 1e-300) @ v


@pytest.mark.parametrize("dtype, tolerance", [("f4", 2e-6), ("f8", 1e-13), ("f2", 4e-3)])
def test_values(dtype, tolerance):
    q, k, v = tensors(dtype=dtype)
    np.testing.assert_allclose(attn.sdpa(q, k, v), reference(q, k, v), atol=tolerance)
    see = np.tril(np.ones((9, 11)), 2) > 0
    np.testing.assert_allclose(attn.sdpa(q, k, v, causal=True, align="bottom-right"), reference(q, k, v, see),
                               atol=tolerance)
    bias = RNG.normal(size=(4, 9, 11)).astype("f4")
    np.testing.assert_allclose(attn.sdpa(q, k, v, mask=bias, softcap=2.0, scale=0.5),
                               reference(q, k, v, None, bias, 0.5, 2.0), atol=tolerance)


def test_strided_inputs():
    q, k, v = tensors()
    want = attn.sdpa(q, k, v)
    sparse = np.zeros((2, 4, 18, 16), "f4")[:, :, ::2, ::2]
    sparse[...] = q
    other = np.ascontiguousarray(k.transpose(3, 2, 1, 0)).transpose(3, 2, 1, 0)
    assert not sparse.flags.c_contiguous and not other.flags.c_contiguous
    np.testing.assert_array_equal(attn.sdpa(sparse, other, v[:, :, ::-1][:, :, ::-1]), want)
    out = np.full((2, 4, 9, 12), 7, "f4")
    assert attn.sdpa(q, k, v, out=out[..., ::2]) is not None
    np.testing.assert_array_equal(out[..., ::2], want)
    assert (out[..., 1::2] == 7).all()


def test_log_sum_exp_and_weights():
    q, k, v = tensors()
    o, lse, weights = attn.sdpa(q, k, v, return_lse=True, return_weights=True)
    assert lse.shape == (2, 4, 9) and weights.shape == (2, 4, 9, 11)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)
    np.testing.assert_allclose(weights @ np.repeat(v, 2, 1), o, atol=1e-6)


def test_gradients_against_differences():
    q, k, v = tensors(1, 2, 1, 4, 5, 3, 3, "f8")
    features = {"causal": True, "softcap": 3.0, "sinks": np.array([0.3, -0.2])}
    o, lse = attn.sdpa(q, k, v, return_lse=True, **features)
    d_o = RNG.normal(size=o.shape)
    g = attn.sdpa_backward(d_o, q, k, v, o, lse, want_sinks=True, **features)
    for array, gradient in ((q, g.d_q), (k, g.d_k), (v, g.d_v), (features["sinks"], g.d_sinks)):
        at = tuple(RNG.integers(0, n) for n in array.shape)
        kept, h = array[at], 1e-6
        array[at] = kept + h
        up = (attn.sdpa(q, k, v, **features) * d_o).sum()
        array[at] = kept - h
        down = (attn.sdpa(q, k, v, **features) * d_o).sum()
        array[at] = kept
        assert gradient[at] == pytest.approx((up - down) / (2 * h), abs=1e-7)


def test_dropout_origin_of_a_slice():
    q, k, v = tensors(2, 4, 4)
    whole = attn.sdpa(q, k, v, dropout=0.4, seed=7)
    np.testing.assert_array_equal(attn.sdpa(q[1:], k[1:], v[1:], dropout=0.4, seed=7, origin=(1, 0, 0)), whole[1:])
    np.testing.assert_array_equal(attn.sdpa(q[:, 2:], k[:, 2:], v[:, 2:], dropout=0.4, seed=7, origin=(0, 2, 0)),
                                  whole[:, 2:])
    assert not np.array_equal(attn.sdpa(q, k, v, dropout=0.4, seed=8), whole)


STARTS, OTHERS = np.array([0, 4, 4, 5, 9]), np.array([0, 3, 5, 9, 11], "i4")


def packed(dtype="f4"):
    q, k, v = tensors(1, dtype=dtype)
    return q[0], k[0], v[0]


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_packed_sequences(dtype):
    q, k, v = packed(dtype)
    wide = "f8" if dtype == "f8" else "f4"
    bias, sinks = RNG.normal(size=(1, 9, 11)).astype(wide), RNG.normal(size=4)
    features = {"causal": True, "align": "bottom-right", "sinks": sinks, "dropout": 0.2, "seed": 3}
    o, lse = attn.sdpa_packed(q, k, v, STARTS, OTHERS, mask=bias, return_lse=True, **features)
    d_o, d_lse = RNG.normal(size=o.shape).astype(dtype), RNG.normal(size=lse.shape).astype(wide)
    g = attn.sdpa_packed_backward(d_o, q, k, v, o, lse, STARTS, OTHERS, d_lse=d_lse, mask=bias, want_mask=True,
                                  want_sinks=True, **features)
    outside, d_sinks = np.ones(bias.shape, bool), np.zeros(4)
    for n in range(4):
        i, j = slice(*STARTS[n:n + 2]), slice(*OTHERS[n:n + 2])
        one = {**features, "mask": bias[:, i, j], "origin": (n, 0, 0)}
        own_o, own_lse = attn.sdpa(q[:, i], k[:, j], v[:, j], return_lse=True, **one)
        own = attn.sdpa_backward(d_o[:, i], q[:, i], k[:, j], v[:, j], own_o, own_lse, d_lse=d_lse[:, i],
                                 want_mask=True, want_sinks=True, **one)
        for got, want in ((o[:, i], own_o), (lse[:, i], own_lse), (g.d_q[:, i], own.d_q), (g.d_k[:, j], own.d_k),
                          (g.d_v[:, j], own.d_v), (g.d_mask[:, i, j], own.d_mask)):
            np.testing.assert_array_equal(got, want)
        outside[:, i, j] = False
        d_sinks += own.d_sinks
    assert (g.d_mask[outside] == 0).all() and g.d_mask.shape == bias.shape
    # Sums in another order: 9 terms, none above |d_o| |o| + |d_lse|, for a sink's weight is at most 1.
    most = np.abs(d_o.astype("f8") * o).sum((1, 2)) + np.abs(d_lse).sum(1)
    assert (np.abs(g.d_sinks - d_sinks) <= 2 * 9 * 2.0**-53 * most).all()


@pytest.mark.parametrize("argument, change", [
    ("q", {"q": np.zeros((1, 4, 9, 8), "f4")}), ("v", {"v": np.zeros((2, 10, 6), "f4")}),
    ("cu_seqlens_q", {"cu_seqlens_q": np.array([0, 4, 3, 5, 9])}),
    ("cu_seqlens_q", {"cu_seqlens_q": np.array([0.0, 9.0])}), ("cu_seqlens_k", {"cu_seqlens_k": np.array([0, 11])}),
    ("mask", {"mask": np.zeros((9, 10), "f4")}), ("key_lengths", {"key_lengths": np.array([3, 2, 4, 3])}),
    ("alibi", {"alibi": np.zeros(3)})])
def test_invalid_packed_sequences(argument, change):
    q, k, v = packed()
    right = {"q": q, "k": k, "v": v, "cu_seqlens_q": STARTS, "cu_seqlens_k": OTHERS}
    with pytest.raises(attn.AttnError) as caught:
        attn.sdpa_packed(**{**right, **change})
    assert caught.value.argument == argument
    o, lse = attn.sdpa_packed(**right, return_lse=True)
    with pytest.raises(attn.AttnError) as caught:
        attn.sdpa_packed_backward(np.ones_like(o), o=o, lse=lse, **{**right, **change})
    assert caught.value.argument == argument


def test_gradient_of_a_missing_feature():
    q, k, v = tensors()
    o, lse = attn.sdpa(q, k, v, return_lse=True)
    with pytest.raises(attn.AttnError, match="want_mask requires mask"):
        attn.sdpa_backward(o, q, k, v, o, lse, want_mask=True)


def test_presets():
    q, k, v = tensors(1, 1, 1, 2, 5)
    flash = attn.sdpa(q, k, v, causal=True, preset="flash")
    np.testing.assert_array_equal(flash, attn.sdpa(q, k, v, causal=True, align="bottom-right"))
    torch = attn.sdpa(q, k, v, causal=True, preset="torch")
    np.testing.assert_array_equal(torch, attn.sdpa(q, k, v, causal=True))
    none = np.zeros((2, 5), bool)
    assert (attn.sdpa(q, k, v, mask=none, preset="torch") == 0).all()
    np.testing.assert_allclose(attn.sdpa(q, k, v, mask=none, preset="fill")[0, 0, 0], v[0, 0].mean(0), atol=1e-6)


@pytest.mark.parametrize("argument, change", [
    ("k", lambda a: a.update(k=a["k"][..., :4])), ("v", lambda a: a.update(v=a["v"][:, :, 1:])),
    ("mask", lambda a: a.update(mask=np.zeros((3, 3), "f4"))), ("scale", lambda a: a.update(scale=float("nan"))),
    ("softcap", lambda a: a.update(softcap=-1.0)), ("dropout", lambda a: a.update(dropout=1.0)),
    ("window_left", lambda a: a.update(window=(-2, 0))), ("sinks", lambda a: a.update(sinks=np.zeros(3, "f4"))),
    ("key_lengths", lambda a: a.update(key_lengths=np.array([3, 99]))), ("align", lambda a: a.update(align="middle")),
    ("preset", lambda a: a.update(preset="tf")), ("empty_row", lambda a: a.update(empty_row="one")),
    ("out", lambda a: a.update(out=np.zeros((1, 1), "f4")))])
def test_invalid_arguments(argument, change):
    q, k, v = tensors()
    arguments = {"q": q, "k": k, "v": v}
    change(arguments)
    with pytest.raises(ValueError) as caught:
        attn.sdpa(**arguments)
    assert caught.value.argument == argument


@pytest.mark.parametrize("bad", [np.zeros((2, 4, 9, 8), "i4"), np.zeros((2, 4, 9, 8), ">f4"), [[1.0]], "q"])
def test_type_errors(bad):
    _, k, v = tensors()
    with pytest.raises(TypeError):
        attn.sdpa(bad, k, v)


SHAPES = st.lists(st.integers(0, 5), min_size=0, max_size=5)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(shapes=st.tuples(SHAPES, SHAPES, SHAPES), dtype=st.sampled_from(["f4", "f8", "f2", "i8"]),
       mask=st.none() | SHAPES, features=st.fixed_dictionaries({}, optional={
           "causal": st.booleans(), "align": st.sampled_from(["top-left", "bottom-right", "x"]),
           "offset": st.integers(-2**63, 2**63 - 1), "scale": st.floats(), "softcap": st.floats(),
           "window": st.tuples(st.integers(-2**63, 2**63 - 1), st.integers(-2**63, 2**63 - 1)),
           "dropout": st.floats(), "seed": st.integers(0, 2**64 - 1), "threads": st.integers(-2, 9),
           "empty_row": st.sampled_from(["zero", "mean", "nan", "error"]),
           "return_lse": st.booleans(), "return_weights": st.booleans()}))
def test_random_arguments(shapes, dtype, mask, features):
    arrays = [np.ones(shape, dtype) for shape in shapes]
    if mask is not None:
        features["mask"] = np.zeros(mask, "f4")
    try:
        attn.sdpa(*arrays, **features)
    except (attn.AttnError, MemoryError):
        pass


def test_plan():
    q, k, v = tensors()
    plan = attn.plan(q, k, v, causal=True)
    assert plan.kernel.startswith("f32") and "float32" in str(plan) and plan.flops > 0


def test_lessons():
    text = "Q = [[1, 0], [0, 1]]\nK = [[1, 0], [0, 1]]\nscores = [[1, 0], [0, 2]]\n"
    judged = attn.check(text)
    assert judged.verdict == "wrong" and not judged and "correct is 1" in " ".join(str(judged).split())
    assert [b["role"] for b in judged.reading] == ["Q", "K", "scores"] and judged.unread == []
    assert judged.examples[0]["first_wrong"]["row"] == 1
    assert "scores" in str(attn.explain(text)) and "1×1" in attn.explain(text, cell="scores[1,1]").text
    with pytest.raises(ValueError, match="line 3"):
        attn.check("X\n1 2\n3\n")


def test_a_judgement_is_true_only_if_correct():
    right = "Q = [[1, 0], [0, 1]]\nK = [[1, 0], [0, 1]]\nscores = [[1, 0], [0, 1]]\n"
    unread = "T = [[8, 3, 5], [4, 9, 7]]\n"
    assert attn.check(right)
    assert attn.check(right + unread).verdict == "doubtful" and not attn.check(right + unread)
    assert attn.check("no numbers\n").verdict == "nothing_to_check" and not attn.check("no numbers\n")


@pytest.mark.parametrize("argument,call", [
    ("document", lambda: attn.check(7)), ("document", lambda: attn.explain(b"X\n")), ("cell", lambda: attn.explain("X\n", cell=3)),
    ("lang", lambda: attn.check("X\n", lang="fr")), ("precision", lambda: attn.check("X\n", precision="4")),
    ("precision", lambda: attn.explain("X\n", precision=2**40)), ("width", lambda: attn.explain("X\n", width=1.5))])
def test_invalid_lesson_arguments(argument, call):
    with pytest.raises(attn.AttnError) as caught:
        call()
    assert caught.value.argument == argument


class ByDLPack:
    """An array with DLPack only. Version 1 has a read-only flag."""

    def __init__(self, array, versioned=True):
        self.array, self.versioned = array, versioned
        self.shape, self.dtype = array.shape, array.dtype

    def __dlpack__(self, **version):
        return self.array.__dlpack__(**version if self.versioned else {})


def outputs_that_cannot_be(tmp_path):
    """Outputs of shape (2, 4) in float32 that must be rejected, and their memory."""
    kept = bytes(32)
    yield np.frombuffer(kept, "f4").reshape(2, 4), lambda: kept
    np.save(tmp_path / "m.npy", np.zeros((2, 4), "f4"))
    yield np.load(tmp_path / "m.npy", mmap_mode="r"), lambda: (tmp_path / "m.npy").read_bytes()[-32:]
    row = np.zeros((1, 4), "f4")
    yield np.broadcast_to(row, (2, 4)), row.tobytes
    yield np.lib.stride_tricks.as_strided(row, (2, 4), (0, 4)), row.tobytes
    yield np.lib.stride_tricks.as_strided(row, (2, 4), (4, 4)), row.tobytes
    read_only, array = np.zeros((2, 4), "f4"), np.zeros((2, 4), "f4")
    read_only.flags.writeable = False
    yield ByDLPack(read_only), read_only.tobytes
    yield ByDLPack(array, versioned=False), array.tobytes


@pytest.mark.filterwarnings("ignore:.*writeable")
def test_read_only_outputs(tmp_path):
    cache, x = attn.KVCache(num_kv_heads=2, head_dim=4, capacity=4), RNG.normal(size=(2, 4)).astype("f4")
    cache.append(x[:, None], x[:, None])
    cos, sin = attn.nn.rotary_tables(2, 4)
    calls = [lambda out: attn.sdpa(x, x, x, out=out), lambda out: attn.score(x, x, x, out=out),
             lambda out: attn.nn.rms_norm(x, out=out), lambda out: attn.nn.layer_norm(x, out=out)]
    deeper = [lambda out: cache.attend(x[:, None], out=out[:, None]),
              lambda out: attn.nn.rotary(x[None, None], cos, sin, np.zeros((1, 2), "i4"), out=out[None, None]),
              lambda out: attn.nn.rotary_backward(x[None, None], cos, sin, np.zeros((1, 2), "i4"), out=out[None, None])]
    for out, memory in outputs_that_cannot_be(tmp_path):
        for call in calls + deeper * isinstance(out, np.ndarray):
            with pytest.raises(attn.AttnError, match="cannot be written") as caught:
                call(out)
            assert caught.value.argument == "out" and memory() == bytes(len(memory()))


def test_strided_outputs():
    x = RNG.normal(size=(2, 3)).astype("f4")
    want = attn.nn.rms_norm(x)
    for steps in ((16, -4), (4, 8), (12, 8)):                  # the last: interleaved, and still each has its own
        room = np.zeros(40, "f4")[8:]
        out = np.lib.stride_tricks.as_strided(room, (2, 3), steps)
        assert attn.nn.rms_norm(x, out=out) is out
        np.testing.assert_array_equal(out, want)
    array = np.zeros((2, 3), "f4")
    attn.nn.rms_norm(x, out=ByDLPack(array))
    np.testing.assert_array_equal(array, want)
    nothing = np.broadcast_to(np.zeros((0, 1), "f4"), (0, 4)).copy()
    assert attn.nn.rms_norm(nothing, out=nothing).shape == (0, 4)


@pytest.mark.parametrize("argument, change", [
    ("window", {"window": 5}), ("window", {"window": (1,)}), ("window", {"window": (1.5, 2)}), ("window", {"window": (None, 0)}),
    ("origin", {"origin": 5}), ("origin", {"origin": (1, 2)}), ("seed", {"seed": -1}), ("seed", {"seed": None}),
    ("seed", {"seed": 2**64}), ("threads", {"threads": 2**31}), ("threads", {"threads": 1.5}), ("offset", {"offset": 1.5}),
    ("offset", {"offset": 2**63}), ("offset", {"offset": True}), ("scale", {"scale": "x"}), ("scale", {"scale": "1"}),
    ("softcap", {"softcap": [1.0, 2.0]}), ("dropout", {"dropout": "x"}), ("preset", {"preset": []}), ("preset", {"preset": ""}),
    ("align", {"align": []}), ("empty_row", {"empty_row": 5}), ("out", {"out": 3}), ("out", {"out": np.zeros((2, 4, 9, 5), "f4")}),
    ("q", {"q": None}), ("q", {"q": np.ma.masked_array(np.ones((2, 4, 9, 8), "f4"), mask=True)}),
    ("v", {"v": np.array(1.0, "f4")}), ("v", {"v": np.ones(6, "f4")}), ("k", {"k": np.ones(8, "f4"), "return_weights": True}),
    ("q", {"q": np.array(1.0, "f4"), "return_weights": True}), ("mask", {"mask": [[1]]})])
def test_wrong_types_name_the_argument(argument, change):
    q, k, v = tensors()
    with pytest.raises(attn.AttnError) as caught:
        attn.sdpa(**{"q": q, "k": k, "v": v, "dropout": 0.5, **change})
    assert caught.value.argument == argument, str(caught.value)


def test_backward_wrong_types():
    q, k, v = tensors()
    o, lse = attn.sdpa(q, k, v, return_lse=True)
    whole = {"d_o": o, "q": q, "k": k, "v": v, "o": o, "lse": lse}
    for name in whole:
        for wrong in (None, [1.0]):
            for backward in (attn.sdpa_backward, attn.score_backward):
                with pytest.raises(attn.AttnError) as caught:
                    backward(**{**whole, name: wrong})
                assert caught.value.argument == name
    parts = {**{n: x[0] for n, x in whole.items()}, "cu_seqlens_q": np.array([0, 9]), "cu_seqlens_k": np.array([0, 11])}
    for name in parts:
        with pytest.raises(attn.AttnError) as caught:
            attn.sdpa_packed_backward(**{**parts, name: None})
        assert caught.value.argument == name


def test_packed_gradient_of_the_additive_vector():
    q, k, v = (x.astype("f8") for x in packed())
    a = RNG.normal(size=(4, 8))
    o, lse = attn.sdpa_packed(q, k, v, STARTS, OTHERS, additive=a, return_lse=True)
    d_o = RNG.normal(size=o.shape)
    g = attn.sdpa_packed_backward(d_o, q, k, v, o, lse, STARTS, OTHERS, additive=a, want_additive=True)
    want = np.zeros_like(a)
    for n in range(4):
        i, j = slice(*STARTS[n:n + 2]), slice(*OTHERS[n:n + 2])
        want += attn.sdpa_backward(d_o[:, i], q[:, i], k[:, j], v[:, j], o[:, i], lse[:, i], additive=a,
                                   want_additive=True).d_additive
    np.testing.assert_allclose(g.d_additive, want, atol=1e-13)
    with pytest.raises(attn.AttnError, match="want_additive requires additive"):
        attn.sdpa_packed_backward(d_o, q, k, v, o, lse, STARTS, OTHERS, want_additive=True)


def test_strides_between_two_elements_are_refused():
    x = np.ndarray((2, 3), np.float32, bytes(64), strides=(13, 4))
    with pytest.raises(attn.AttnError) as caught:
        attn.sdpa(x, x, x)
    assert caught.value.argument == "q"


class Shifted:
    """An array by DLPack whose data pointer lies before its first element, by byte_offset."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __dlpack__(self, **_):
        capsule = self.array.__dlpack__()
        t = _core._tensor(capsule, "q", False)
        t.data, t.byte_offset = t.data - 8, t.byte_offset + 8
        return capsule


def test_the_byte_offset_of_dlpack_counts():
    x = np.arange(12, dtype=np.float32).reshape(3, 4) / 8
    np.testing.assert_array_equal(attn.sdpa(Shifted(x), Shifted(x), Shifted(x)), attn.sdpa(x, x, x))
