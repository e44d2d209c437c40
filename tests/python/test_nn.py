"""attn.nn against PyTorch and Hugging Face, forward and backward; types, layouts and errors.

Where both compute in float64 they agree to its rounding. float32 and less is held against PyTorch in float64: one
rounding of the result, nothing more (docs/accuracy.md).
"""
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

import attn
from attn import nn

SEED = int(os.environ.get("ATTN_SEED", "0"))
UNIT = {torch.float32: 2.0 ** -24, torch.float16: 2.0 ** -11, torch.bfloat16: 2.0 ** -8, torch.float64: 2.0 ** -53}
TYPES = list(UNIT)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(SEED)


def once_rounded(got, exact, sizes=1.0):
    """Checks that got is exact rounded once to its type. sizes: of the terms, which bound float64's own error."""
    exact = exact.detach()
    error, smallest = (got.double() - exact).abs(), 2.0 ** -25 if got.dtype == torch.float16 else 0.0
    bound = UNIT[got.dtype] * exact.abs() + smallest + 1e-13 * sizes
    assert (error <= bound).all(), f"{(error / bound).max().item()} of the bound"


def exact_twins(*tensors):
    return [t.detach().double().requires_grad_() for t in tensors]


CASES = [((4, 7, 33), 1), ((5, 700), 1), ((2, 3, 4, 5), 3), ((3, 1), 1), ((2, 3, 4, 5), 4)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape, dims", CASES)
def test_layer_norm(dtype, shape, dims):
    inner = shape[-dims:]
    x, d_y = (torch.randn(shape).mul(2).add(5).to(dtype) for _ in range(2))
    scale, bias = torch.randn(inner).to(dtype), torch.randn(inner).to(dtype)
    exact = exact_twins(x, scale, bias)
    want = torch.nn.functional.layer_norm(exact[0], inner, *exact[1:], eps=1e-3)
    want.backward(d_y.double())
    once_rounded(nn.layer_norm(x, scale, bias, axis=-dims, epsilon=1e-3), want, 10.0)
    g = nn.layer_norm_backward(d_y, x, scale, bias, axis=-dims, epsilon=1e-3)
    for got, twin in zip((g.d_x, g.d_scale, g.d_bias), exact):
        assert got.shape == twin.shape and got.dtype == dtype
        once_rounded(got, twin.grad, 1000.0)  # sums of up to 120 terms of size 8, divided by a deviation


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape, dims", CASES)
def test_rms_norm(dtype, shape, dims):
    inner = shape[-dims:]
    x, d_y, scale = torch.randn(shape).to(dtype), torch.randn(shape).to(dtype), torch.randn(inner).to(dtype)
    exact = exact_twins(x, scale)
    want = torch.nn.functional.rms_norm(exact[0], inner, exact[1], eps=1e-3)
    want.backward(d_y.double())
    once_rounded(nn.rms_norm(x, scale, axis=-dims, epsilon=1e-3), want)
    g = nn.rms_norm_backward(d_y, x, scale, axis=-dims, epsilon=1e-3)
    once_rounded(g.d_x, exact[0].grad, 1000.0)
    once_rounded(g.d_scale, exact[1].grad, 1000.0)
    assert g.d_bias is None


def test_statistics_match_pytorch():
    x = torch.randn(3, 4, 50, dtype=torch.float64)
    y, mean, inverse = nn.layer_norm(x, return_stats=True)
    want = torch.native_layer_norm(x, (50,), None, None, 1e-5)
    for got, exact in zip((y, mean, inverse), want):
        assert got.shape == exact.shape
        torch.testing.assert_close(got, exact, rtol=1e-12, atol=1e-13)


def test_mixed_types():
    x, scale = torch.randn(6, 40).bfloat16(), torch.randn(40)
    out = torch.empty(6, 40)
    once_rounded(nn.rms_norm(x, scale, out=out), torch.nn.functional.rms_norm(x.double(), (40,), scale.double(), 1e-5))


# ---- Rotary positions --------------------------------------------------------------------------------


def hugging_face(length, width, theta=10000.0):
    config = LlamaConfig(hidden_size=width, num_attention_heads=1, rope_theta=theta, max_position_embeddings=length)
    positions = torch.arange(length)[None]
    return [t[0, :, : width // 2].contiguous() for t in LlamaRotaryEmbedding(config)(torch.zeros(1), positions)]


def test_rotary_tables_match():
    """Hugging Face computes frequency and angle in float32: up to four roundings of the angle."""
    theirs, ours = hugging_face(200, 64), nn.rotary_tables(200, 64)
    angle = np.arange(200)[:, None] * 10000.0 ** (-np.arange(32) / 32)
    for a, b in zip(theirs, ours):
        assert (np.abs(a.numpy() - b) <= 2.0 ** -24 * (4 * angle + 2)).all()


def test_rotary_matches():
    """Hugging Face rounds two products and a sum to float32: 3 roundings of the terms, and one of ours."""
    half_cos, half_sin = hugging_face(40, 16)
    cos, sin = (torch.cat((t, t), -1)[None] for t in (half_cos, half_sin))
    q, k = torch.randn(2, 3, 40, 16, requires_grad=True), torch.randn(2, 1, 40, 16)
    want, want_k = apply_rotary_pos_emb(q, k, cos, sin)
    turned = torch.cat((q[..., 8:], q[..., :8]), -1).detach()
    size = (q.detach() * cos[:, None]).abs() + (turned * sin[:, None]).abs()
    positions = torch.arange(40).expand(2, 40)
    got = nn.rotary(q.detach(), half_cos, half_sin, positions)
    assert ((got - want.detach()).abs() <= 4 * 2.0 ** -24 * size).all()
    by_token = nn.rotary(k, half_cos.expand(2, 40, 8), half_sin.expand(2, 40, 8))  # without positions, stride 0
    torch.testing.assert_close(by_token, want_k, rtol=1e-5, atol=1e-6)
    d = torch.randn_like(want)
    want.backward(d)
    torch.testing.assert_close(nn.rotary_backward(d, half_cos, half_sin, positions), q.grad, rtol=1e-5, atol=1e-6)


def test_interleaved_rotary():
    cos, sin = (torch.from_numpy(t) for t in nn.rotary_tables(30, 12, dtype="float64"))
    x = torch.randn(2, 4, 30, 20, dtype=torch.float64)
    numbers = torch.view_as_complex(x[..., :12].reshape(2, 4, 30, 6, 2))
    want = torch.cat((torch.view_as_real(numbers * torch.complex(cos, sin)).flatten(3), x[..., 12:]), -1)
    positions = np.tile(np.arange(30, dtype="i4"), (2, 1))
    got = nn.rotary(x, cos, sin, positions, interleaved=True, rotary_dim=12)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-15 * 20)
    flat = x.transpose(1, 2).reshape(2, 30, 80)  # (B, L, H * E)
    by_heads = nn.rotary(flat, cos, sin, positions, interleaved=True, rotary_dim=12, heads=4)
    assert torch.equal(by_heads.reshape(2, 30, 4, 20).transpose(1, 2), got)


@pytest.mark.parametrize("dtype", TYPES)
def test_rotary_rounds_once_and_works_in_place(dtype):
    cos, sin = nn.rotary_tables(25, 8)
    x, positions = torch.randn(2, 3, 25, 8).to(dtype), np.tile(np.arange(25), (2, 1))
    c, s = (torch.from_numpy(t).double() for t in (cos, sin))
    a, b = x.double().split(4, -1)
    exact = torch.cat((a * c - b * s, a * s + b * c), -1)
    got = nn.rotary(x, cos, sin, positions)
    once_rounded(got, exact, 10.0)
    assert nn.rotary(x, cos, sin, positions, out=x) is x and torch.equal(x, got)


# ---- NumPy, errors -----------------------------------------------------------------------------------


def test_numpy_strided_and_in_place():
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(40, 12)).astype("f4").T[::2]
    want = (x - x.mean(1, keepdims=True, dtype="f8")) / np.sqrt(x.var(1, keepdims=True, dtype="f8") + 1e-5)
    np.testing.assert_allclose(nn.layer_norm(x), want, atol=1e-6)
    kept = nn.layer_norm(x)
    nn.layer_norm(x, out=x)
    np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("argument, call", [
    ("axis", lambda x: nn.layer_norm(x, axis=3)), ("axis", lambda x: nn.layer_norm(x, axis=-3, return_stats=True)),
    ("epsilon", lambda x: nn.rms_norm(x, epsilon=-1.0)), ("epsilon", lambda x: nn.layer_norm(x, epsilon=float("nan"))),
    ("scale", lambda x: nn.rms_norm(x, x[:, :3])), ("bias", lambda x: nn.layer_norm(x, None, x[:1, :1, None])),
    ("out", lambda x: nn.rms_norm(x[1:], out=x[:-1])), ("out", lambda x: nn.rms_norm(x, out=x[1:])), ("d_y", lambda x: nn.rms_norm_backward(x[1:], x)),
    ("threads", lambda x: nn.rms_norm(x, threads=-1)), ("x", lambda x: nn.rms_norm(x[0, 0])),
    ("x", lambda x: nn.rotary(x, x, x)), ("rotary_dim", lambda x: nn.rotary_tables(4, 5)),
    ("base", lambda x: nn.rotary_tables(4, 4, base=0.0)),
    ("positions", lambda x: nn.rotary(x[None, None], *nn.rotary_tables(3, 8), np.array([[0, 1, 2, 3]]))),
    ("rotary_dim", lambda x: nn.rotary(x[None, None], *nn.rotary_tables(4, 8), np.zeros((1, 4), "i8"), rotary_dim=10))])
def test_invalid_arguments(argument, call):
    with pytest.raises(attn.AttnError) as caught:
        call(np.ones((4, 8), "f4"))
    assert caught.value.argument == argument


@pytest.mark.parametrize("call", [lambda: nn.rms_norm(np.ones((2, 3), "i4")), lambda: nn.layer_norm([1.0]),
                                  lambda: nn.rotary(np.ones((1, 1, 2, 4), "f4"), *nn.rotary_tables(3, 4), np.zeros((1, 2)))])
def test_type_errors(call):
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize("argument, call", [
    ("axis", lambda x: nn.layer_norm(x, axis=1.5)), ("axis", lambda x: nn.rms_norm(x, axis=2**40)),
    ("epsilon", lambda x: nn.rms_norm(x, epsilon=None)), ("threads", lambda x: nn.rms_norm(x, threads=2**31)),
    ("x", lambda x: nn.rms_norm(None)), ("x", lambda x: nn.layer_norm(np.ma.masked_array(x), return_stats=True)),
    ("heads", lambda x: nn.rotary(x, x, x, heads=1.5)), ("rotary_dim", lambda x: nn.rotary_tables(2, 4.0)),
    ("rotary_dim", lambda x: nn.rotary_tables(2, -4)), ("length", lambda x: nn.rotary_tables(-1, 4)),
    ("base", lambda x: nn.rotary_tables(2, 4, base="x")), ("first", lambda x: nn.rotary_tables(2, 4, first=0.5)),
    ("dtype", lambda x: nn.rotary_tables(2, 4, dtype="float31"))])
def test_wrong_types_name_the_argument(argument, call):
    with pytest.raises(attn.AttnError) as caught:
        call(np.ones((4, 8), "f4"))
    assert caught.value.argument == argument


@pytest.mark.parametrize("hide, shown", [("", "bfloat16"), ("sys.modules['ml_dtypes'] = None;", "AttnTypeError dtype")])
def test_bfloat16_tables_without_ml_dtypes_imported(hide, shown):
    code = (f"import sys; {hide} import attn\n"
            "try: print(attn.nn.rotary_tables(2, 4, dtype='bfloat16')[0].dtype)\n"
            "except attn.AttnError as e: print(type(e).__name__, e.argument)")
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == shown


def test_out_of_wrong_shape():
    x, (cos, sin) = np.ones((1, 2, 3, 4), "f4"), nn.rotary_tables(3, 4)
    for call in (nn.rotary, nn.rotary_backward):
        with pytest.raises(attn.AttnError, match="^out is") as caught:
            call(x, cos, sin, np.zeros((1, 3), "i4"), out=np.ones((1, 2, 3, 5), "f4"))
        assert caught.value.argument == "out"
