"""Claims of the source texts about learning, cost and PyTorch, listed in docs/claims.md, tested with attn's attention and
gradients. The page reports the figures of these settings; the tests require less."""
import os
import re
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import attn
from attn import nn
from attn.torch import scaled_dot_product_attention, sdpa

SEEDS = Path(os.environ.get("ATTN_SEEDS") or Path(__file__).resolve().parents[2].parent / "shared/seeds")
torch.set_num_threads(1)


@pytest.fixture
def numbers():
    return np.random.default_rng(20)


def drawer(seed):
    generator = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(*shape, generator=generator), lambda n, shape: torch.randint(n, shape, generator=generator)


# ---- Scores and their softmax ------------------------------------------------------------------

@pytest.mark.parametrize("width", [4, 64, 512])
def test_dot_products_spread_like_the_root_of_the_width(numbers, width):
    """With one key the log-sum-exp is the score: the dot product at scale 1, of standard deviation 1 by default."""
    for dtype in np.float32, np.float64:
        q, k, v = (numbers.standard_normal((20000, 1, 1, n)).astype(dtype) for n in (width, width, 1))
        plain, scaled = (attn.sdpa(q, k, v, return_lse=True, scale=scale)[1].std() for scale in (1.0, None))
        assert abs(plain / width ** 0.5 - 1) < 0.03 and abs(scaled - 1) < 0.03


def test_the_gradient_of_softmax_dies_out():
    """d weight 0 / d score 1 = -p (1 - p), as the backward gives it to a key of width 1."""
    slopes = []
    for difference in (512, 512 ** 0.5, 1):
        q, k, v = np.ones((1, 1)), np.array([[difference], [0.0]]), np.array([[1.0], [0.0]])
        o, lse = attn.sdpa(q, k, v, scale=1.0, return_lse=True)
        slopes.append(-attn.sdpa_backward(np.ones_like(o), q, k, v, o, lse, scale=1.0).d_k[1, 0])
    np.testing.assert_allclose(slopes, [4.3775e-223, 1.4895e-10, 0.19661], rtol=1e-4)


def test_weights_of_ones_are_one_hot_scaled_or_not():
    q, k = np.ones((1, 512)), np.array([np.ones(512), np.zeros(512)])
    for scale, small in ((1.0, 4.3775e-223), (None, 1.4895e-10)):
        weights = attn.sdpa(q, k, np.eye(2), scale=scale)[0]
        np.testing.assert_allclose(weights, [1, small], rtol=1e-4)


# ---- Learning ------------------------------------------------------------------------------------

def retrieval_loss(width, scale, rate, seed):
    """Trains the projections of queries and keys for 150 steps. Each query equals one of 16 keys; the target is its value."""
    normal, whole = drawer(seed)
    learned = [torch.nn.Parameter(normal(width, width) / width ** 0.5) for _ in range(2)]
    adam = torch.optim.Adam(learned, rate)
    for _ in range(150):
        x, v = normal(8, 1, 16, width), normal(8, 1, 16, 8)
        picked = whole(16, (8, 1, 16, 1))
        o = sdpa(x.gather(2, picked.expand_as(x)) @ learned[0], x @ learned[1], v, scale=scale)
        loss = ((o - v.gather(2, picked.expand_as(v))) ** 2).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    return loss.item()


@pytest.mark.parametrize("width", [64, 256])
def test_scaling_helps_learning_at_small_rates(width):
    for seed in 0, 1:
        scaled, plain = (retrieval_loss(width, scale, 3e-4, seed) for scale in (None, 1.0))
        assert scaled < 0.6 * plain, (seed, scaled, plain)


def test_learning_without_scaling_is_possible():
    assert max(retrieval_loss(64, 1.0, 3e-3, seed) for seed in (0, 1)) < 0.05


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return nn.layer_norm(x)

    @staticmethod
    def backward(ctx, d_y):
        return nn.layer_norm_backward(d_y.contiguous(), *ctx.saved_tensors).d_x


def deep_loss(residual, norm, seed, layers=6, width=32, heads=4, length=8, batch=16, words=4):
    """Trains six layers for 100 steps to predict the previous token. Chance is ln 4 = 1.39."""
    normal, whole = drawer(seed)
    matrix = lambda i, o: torch.nn.Parameter(normal(i, o) / i ** 0.5)
    embedding, places, out = matrix(words, width), torch.nn.Parameter(normal(length, width)), matrix(width, words)
    stack = [[matrix(width, width) for _ in range(4)] + [matrix(width, 2 * width), matrix(2 * width, width)]
             for _ in range(layers)]
    adam = torch.optim.Adam([embedding, places, out, *(w for layer in stack for w in layer)], 2e-3)
    normed = Norm.apply if norm else lambda x: x
    split = lambda x: x.view(batch, length, heads, -1).transpose(1, 2)
    for _ in range(100):
        tokens = whole(words, (batch, length))
        x = embedding[tokens] + places
        for w_q, w_k, w_v, w_o, w_1, w_2 in stack:
            h = normed(x)
            o = scaled_dot_product_attention(*(split(h @ w) for w in (w_q, w_k, w_v)))
            x = o.transpose(1, 2).reshape(x.shape) @ w_o + (x if residual else 0)
            x = torch.relu(normed(x) @ w_1) @ w_2 + (x if residual else 0)
        loss = torch.nn.functional.cross_entropy((normed(x) @ out).flatten(0, 1), tokens.roll(1, 1).flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
    return loss.item()


def test_norms_and_residuals_steady_the_training():
    both, *others = (deep_loss(*which, seed=0) for which in ((1, 1), (1, 0), (0, 1), (0, 0)))
    assert both < 0.1 and min(others) > 1, (both, others)


@pytest.mark.parametrize("learns", ["w", "u", "a", "wua"])
def test_alignments_over_an_image_sum_to_one_and_can_be_learned(numbers, learns):
    """Additive attention of a state over 7 x 7 features; each of its weights can be trained to select a region."""
    h = w = 7
    features, state = numbers.standard_normal((h * w, 12)), numbers.standard_normal((1, 10))
    network = {"w": numbers.standard_normal((10, 8)), "u": numbers.standard_normal((12, 8)), "a": numbers.standard_normal(8)}
    region = np.zeros((h, w))
    region[2:4, 3:5] = 1
    shares = []
    for _ in range(60):
        o, lse, weights = attn.score(state, features, region.reshape(-1, 1), kind="additive", return_lse=True,
                                     return_weights=True, **network)
        assert weights.reshape(h, w).min() >= 0 and abs(weights.sum() - 1) < 1e-12
        shares.append(o.item())
        g = attn.score_backward(np.ones_like(o), state, features, region.reshape(-1, 1), o, lse, kind="additive", **network)
        network.update({name: network[name] + 0.5 * getattr(g, f"d_{name}") for name in learns})
    context, weights = attn.score(state, features, features, kind="additive", return_weights=True, **network)
    np.testing.assert_allclose(context, weights @ features, atol=1e-12)
    print(f"{learns}: {shares[0]:.2f} of the weight is in the region, {shares[-1]:.2f} after 60 steps")
    assert shares[-1] > (0.9 if learns == "wua" else 1.3 * shares[0])


# ---- Cost ------------------------------------------------------------------------------------------

def test_eight_heads_take_about_the_time_of_one(numbers):
    """CPU time of h heads of width 512 / h, interleaved, minimum of ten: far from eightfold."""
    def call(heads):
        tensors = [numbers.standard_normal((1, heads, 512, 512 // heads), np.float32) for _ in range(3)]
        def once():
            start = time.process_time()
            attn.sdpa(*tensors, threads=1)
            return time.process_time() - start
        return once
    calls = {heads: call(heads) for heads in (1, 8, 64)}
    turns = [{heads: once() for heads, once in calls.items()} for _ in range(10)]
    best = {heads: min(turn[heads] for turn in turns) for heads in calls}
    print({heads: f"{best[heads] / best[1]:.2f} of the time of one head" for heads in calls})
    assert best[8] < 2.5 * best[1] and best[1] < 2.5 * best[8] and best[64] < 5 * best[1]


# ---- The texts' own programs -----------------------------------------------------------------------

def program(number, *patterns):
    """Runs the program printed in a text and returns its variables."""
    found = sorted(SEEDS.glob(f"{number}_*.txt")) if SEEDS.is_dir() else []
    if not found:
        pytest.skip(f"the source texts are not in {SEEDS}")
    names = {}
    for pattern in patterns:
        exec(re.search(pattern, found[0].read_text(), re.S)[0], names)
    return names


def test_the_program_of_000_is_right_and_is_another_example():
    names = program("000", r"import torch\n.*?print\(\"Output[^\n]*")
    q, k, v = (names[name] for name in "QKV")
    o, weights = attn.sdpa(q, k, v, return_weights=True)
    torch.testing.assert_close(names["attention_weights"], weights)
    torch.testing.assert_close(names["output"], o)
    assert (weights - 0.25).abs().max() < 1e-6 and (o - 1).abs().max() < 1e-6


def test_the_function_of_004_is_attention():
    names = program("004", r"import torch\nimport torch.nn.functional as F\s+def scaled.*?return output, attn\n",
                    r"q = torch\.tensor\(\[\[\[.*?attn = [^\n]*")
    o, weights = attn.sdpa(*(names[name] for name in "qkv"), return_weights=True)
    torch.testing.assert_close(names["output"], o)
    torch.testing.assert_close(names["attn"], weights)
    np.testing.assert_allclose(o[0], [[6.3348, 3.6652, 0, 0], [3.6652, 6.3348, 0, 0], [5, 5, 0, 0]], atol=5e-5)
    np.testing.assert_allclose(weights[0, [0, 2]], [[0.4223, 0.1554, 0.4223], [0.2119, 0.2119, 0.5761]], atol=5e-5)
    theirs = names["scaled_dot_product_attention"]
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 5, 4) for _ in range(3))
    mask = torch.ones(5, 5).tril()
    mask[3] = 0  # which sees nothing: the fill gives the mean of v
    o, weights = theirs(q, k, v, mask)
    torch.testing.assert_close(o, attn.sdpa(q, k, v, mask=mask.bool(), empty_row="mean"))
    torch.testing.assert_close(o[:, 3], v.mean(1))
