"""preset="jax" against JAX's own dot_product_attention: positions, masks, empty rows, grouped heads."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attn

RNG = np.random.default_rng(0)
CASES = {
    "plain": ({}, {}),
    "causal, fewer keys than queries": ({"is_causal": True}, {"causal": True}),
    "scale": ({"scale": 0.3}, {"scale": 0.3}),
    "window": ({"local_window_size": (2, 1)}, {"window": (2, 1)}),
    "lengths": ({"key_value_seq_lengths": np.array([4, 7])}, {"key_lengths": np.array([4, 7])}),
}


def tensors(hq=4, h=2, rows=9, keys=7):
    """(B, length, heads, width), JAX's layout."""
    normal = lambda *shape: RNG.normal(size=shape).astype("f4")
    return normal(2, rows, hq, 8), normal(2, keys, h, 8), normal(2, keys, h, 8)


def ours(q, k, v, **features):
    """A view as (B, heads, length, width)."""
    turned = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    return attn.sdpa(*turned, preset="jax", **features).transpose(0, 2, 1, 3)


@pytest.mark.parametrize("name", CASES)
def test_matches_jax(name):
    theirs, features = CASES[name]
    q, k, v = tensors()
    want = jax.nn.dot_product_attention(*(jnp.asarray(x) for x in (q, k, v)), **theirs)
    np.testing.assert_allclose(ours(q, k, v, **features), want, atol=2e-6)


def test_masks_and_empty_rows():
    q, k, v = tensors()
    mask = RNG.random((2, 4, 9, 7)) > 0.4
    mask[0, :, 3] = False
    want = jax.nn.dot_product_attention(*(jnp.asarray(x) for x in (q, k, v)), mask=jnp.asarray(mask))
    np.testing.assert_allclose(ours(q, k, v, mask=mask), want, atol=2e-6)
    bias = RNG.normal(size=(1, 4, 9, 7)).astype("f4")
    want = jax.nn.dot_product_attention(*(jnp.asarray(x) for x in (q, k, v)), bias=jnp.asarray(bias))
    np.testing.assert_allclose(ours(q, k, v, mask=bias), want, atol=2e-6)


def test_jax_inputs():
    q, k, v = (jnp.asarray(x.transpose(0, 2, 1, 3)) for x in tensors())
    np.testing.assert_allclose(attn.sdpa(q, k, v), attn.sdpa(*(np.asarray(x) for x in (q, k, v))), atol=0)


def test_jax_arrays_are_read_only():
    x = np.ones((2, 4), "f4")
    for call in (attn.nn.rms_norm, lambda x, out: attn.sdpa(x, x, x, out=out)):
        out = jnp.zeros((2, 4), jnp.float32)
        with pytest.raises(attn.AttnError, match="JAX") as caught:
            call(x, out=out)
        assert caught.value.argument == "out" and not np.asarray(out).any()


def test_results_are_numpy_arrays():
    x = jnp.ones((2, 4), jnp.bfloat16)
    assert type(attn.sdpa(x, x, x)) is type(attn.nn.rms_norm(x)) is type(attn.summary(x, x).entropy) is np.ndarray
