"""Layers without a public name against PyTorch: convolutions, LSTM and GRU cells, alignment; forward and gradients.

ATTN_DRIVE_LAYERS is the shared library of tests/nn/drive_layers.c. float32 is held against PyTorch in float64.
"""
import ctypes
import os

import numpy as np
import pytest
import torch
import torch.nn.functional as F

SEED = int(os.environ.get("ATTN_SEED") or torch.seed() % 2**31)
library = ctypes.CDLL(os.environ["ATTN_DRIVE_LAYERS"])


@pytest.fixture
def draw():
    print(f"ATTN_SEED={SEED}")
    rng = np.random.default_rng(SEED)
    return lambda *shape: rng.uniform(-1, 1, shape).astype("f4")


def pointer(array):
    return None if array is None else array.ctypes.data_as(ctypes.c_void_p)


def pointers(arrays):
    return (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))


def shape_of(*sizes):
    return (ctypes.c_int64 * len(sizes))(*sizes)


def twins(*arrays):
    return [torch.from_numpy(a).double().requires_grad_() for a in arrays]


def close(got, want, terms):
    """Sums of this many terms below about 1, each rounded to float32."""
    want = want.detach().numpy().reshape(got.shape)
    assert np.abs(got - want).max() <= 2.0 ** -23 * (terms + 8) * (1 + np.abs(want).max())


@pytest.mark.parametrize("size", [(2, 5, 7, 3, 4), (3, 8, 8, 16, 40), (1, 1, 1, 2, 3), (2, 16, 11, 33, 65), (1, 9, 300, 2, 3)])
@pytest.mark.parametrize("stride", [1, 2])
def test_convolution(size, stride, draw):
    n, h, w, c, o = size
    x, weight, b = draw(n, h, w, c), draw(3, 3, c, o), draw(o)
    tx, tw, tb = twins(x, weight, b)
    want = F.conv2d(tx.permute(0, 3, 1, 2), tw.permute(3, 2, 0, 1), tb, stride, 1).permute(0, 2, 3, 1)
    y, dy = np.empty(want.shape, "f4"), draw(*want.shape)
    want.backward(torch.from_numpy(dy).double())
    shape = shape_of(*size, stride)
    assert library.drive_convolution_forward(2, shape, *map(pointer, (x, weight, b, y))) == 0
    close(y, want, 9 * c)
    gradients = [np.zeros_like(a) for a in (x, weight, b)]
    assert library.drive_convolution_backward(2, shape, *map(pointer, (x, weight, dy, *gradients))) == 0
    for got, twin, terms in zip(gradients, (tx, tw, tb), (9 * o, dy.size // o, dy.size // o)):
        close(got, twin.grad, terms)


def test_gradients_of_convolutions_are_added(draw):
    x, weight, dy = draw(1, 4, 4, 2), draw(3, 3, 2, 3), draw(1, 4, 4, 3)
    once, twice = ([np.zeros_like(x), np.zeros_like(weight), np.zeros(3, "f4")] for _ in range(2))
    for gradients in (once, twice, twice):
        library.drive_convolution_backward(1, shape_of(1, 4, 4, 2, 3, 1), *map(pointer, (x, weight, dy, *gradients)))
    for a, b in zip(once, twice):
        np.testing.assert_allclose(2 * a, b, rtol=1e-5, atol=1e-5)
    only = np.zeros_like(weight)
    library.drive_convolution_backward(1, shape_of(1, 4, 4, 2, 3, 1), *map(pointer, (x, weight, dy, None, only, None)))
    np.testing.assert_array_equal(only, once[1])


@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell"])
@pytest.mark.parametrize("n, width, units", [(1, 1, 1), (3, 5, 7), (6, 40, 100)])
def test_cells(kind, n, width, units, draw):
    """PyTorch's weights, unchanged."""
    theirs = getattr(torch.nn, kind)(width, units, dtype=torch.float64)
    gates, is_gru = theirs.weight_ih.shape[0], kind == "GRUCell"
    names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    values = [draw(n, width), draw(n, units), draw(n, units), draw(gates, width), draw(gates, units), draw(gates), draw(gates)]
    for name, value in zip(names, values[3:]):
        getattr(theirs, name).data.copy_(torch.from_numpy(value))
    x, h, c = twins(*values[:3])
    want = [theirs(x, h)] if is_gru else theirs(x, (h, c))
    d = [draw(n, units) for _ in range(2)]
    torch.autograd.backward(want, [torch.from_numpy(t).double() for t, _ in zip(d, want)])
    results, gradients = [np.empty((n, units), "f4") for _ in range(2)], [np.zeros_like(v) for v in values]
    assert library.drive_cell(int(is_gru), shape_of(n, width, units), pointers(values), pointers(gradients),
                              pointers(results), pointers(d)) == 0
    for got, exact in zip(results, want):
        close(got, exact, width + units)
    leaves = [x, h, c, *(getattr(theirs, name) for name in names)]
    for number, (got, leaf) in enumerate(zip(gradients, leaves)):
        if not (is_gru and number == 2):
            close(got, leaf.grad, 2 * (width + units) + gates + n)


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("n, positions, units, width", [(1, 1, 1, 1), (3, 16, 5, 7), (2, 64, 300, 33)])
def test_alignment(kind, n, positions, units, width, draw):
    q, k, a, z = values = [draw(n, units), draw(n, positions, units), draw(units), draw(n, positions, width)]
    tq, tk, ta, tz = twins(*values)
    scale = units ** -0.5
    e = [lambda: torch.tanh(tq[:, None] + tk) @ ta, lambda: (tk @ tq[:, :, None])[..., 0] * scale,
         lambda: torch.zeros(n, positions, dtype=torch.float64)][kind]()
    weights = e.softmax(-1)
    want = (weights[:, None] @ tz)[:, 0]
    d, got, got_weights = draw(n, width), np.empty((n, width), "f4"), np.empty((n, positions), "f4")
    want.backward(torch.from_numpy(d).double())
    gradients = [np.zeros_like(v) for v in values]
    assert library.drive_alignment(kind, ctypes.c_float(scale), shape_of(n, positions, units, width), pointers(values),
                                   pointers(gradients), pointer(got), pointer(got_weights), pointer(d)) == 0
    close(got, want, units + positions)
    close(got_weights, weights, units + positions)
    for mine, twin in zip(gradients, (tq, tk, ta, tz)):
        exact = torch.zeros_like(twin) if twin.grad is None else twin.grad
        close(mine, exact, units + 2 * positions * n + width)
