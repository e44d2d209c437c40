"""attn.torch against PyTorch: its sample inputs, gradcheck, opcheck, torch.compile, random calls."""
import gc
import os
import weakref

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

import attn
from attn import AttnError, nn
from attn._core import view
from attn.torch import _backward_op, _op, scaled_dot_product_attention, sdpa, swapped

OPERATOR, = (op for op in op_db if op.name == "nn.functional.scaled_dot_product_attention")
SEED = int(os.environ.get("ATTN_SEED") or torch.seed() % 2**31)


def samples(dtype, gradients=False):
    """PyTorch's sample inputs without dropout, which cannot be compared."""
    for sample in OPERATOR.sample_inputs("cpu", dtype, requires_grad=gradients):
        if not sample.kwargs.get("dropout_p"):
            yield sample


def exact(q, k, v, **features):
    wide = lambda t: t.double() if torch.is_tensor(t) and t.is_floating_point() else t
    return F.scaled_dot_product_attention(wide(q), wide(k), wide(v), **{n: wide(x) for n, x in features.items()})


@pytest.mark.parametrize("dtype, unit", [(torch.float32, 2e-6), (torch.float64, 1e-14), (torch.float16, 2e-3),
                                         (torch.bfloat16, 1e-2)])
def test_pytorch_samples(dtype, unit):
    count = 0
    for sample in samples(dtype):
        got = scaled_dot_product_attention(sample.input, *sample.args, **sample.kwargs)
        want = exact(sample.input, *sample.args, **sample.kwargs)
        assert got.dtype == dtype and got.shape == want.shape
        assert (got.double() - want).abs().max() <= unit * (1 + want.abs().max())
        count += 1
    print(f"{count} samples of {dtype}")
    assert count >= 10


def test_gradcheck_on_pytorch_samples():
    count = 0
    for sample in samples(torch.float64, gradients=True):
        tensors = [sample.input, *sample.args]
        small = [t.detach()[..., :3, :4].requires_grad_() for t in tensors]
        features = dict(sample.kwargs)
        if features.get("attn_mask") is not None:
            features["attn_mask"] = features["attn_mask"].detach()[..., :3, :3]
        assert torch.autograd.gradcheck(lambda *t: scaled_dot_product_attention(*t, **features), small)
        count += 1
    print(f"gradcheck on {count} samples")
    assert count >= 10


@pytest.mark.parametrize("fill", [-1e9, 1e9, -1e30, 1e30, float(np.finfo("f4").min)])
def test_a_large_mask_fill_weighs_all_keys_equally(fill):
    """As padding masks do: every key gets 1 / n, in the output and in the gradients. Bounds: Theorems 2 and 3 of docs/accuracy.md
    without the scores' errors, ours and PyTorch's own float32."""
    n, width, u = 70, 8, 2.0**-24
    c, tau = np.ceil(np.log2(n)) + 1, n - 1
    budget = 2 * (1.39 * c + 15) + 3 * np.log(n)  # beta + lambda: equal scores have no distances
    recomputed = budget + tau + 2 * 64 + np.log(n) + 5
    difference = width + 1 + budget + 2 * tau + 4 + 2
    unit = np.expm1(u * (recomputed + difference + n + 1 + 3))
    torch.manual_seed(SEED)
    q, k, v, g = (torch.randn(2, 3, n, width, requires_grad=True) for _ in range(4))
    mask = torch.full((n, n), fill, requires_grad=True)
    scale, (x, y, z, d) = width**-0.5, (t.detach().double() for t in (q, k, v, g))
    o = z.mean(-2, keepdim=True).expand_as(z)
    dp, delta = d @ z.mT, (d * o).sum(-1, keepdim=True)
    ds, size = (dp - delta) / n, (d.abs() @ z.mT.abs() + (d * o).abs().sum(-1, keepdim=True)) / n
    exact = scale * ds @ y, scale * ds.mT @ x, d.mean(-2, keepdim=True).expand_as(z), ds.sum((0, 1))
    bounds = scale * size @ y.abs(), scale * size.mT @ x.abs(), d.abs().mean(-2, keepdim=True).expand_as(z), size.sum((0, 1))
    plain = torch.softmax(scale * q @ k.mT + mask, -1) @ v
    for result in (scaled_dot_product_attention(q, k, v, attn_mask=mask), plain):
        assert ((result - o).abs() <= unit * z.abs().mean(-2, keepdim=True)).all()
        for got, want, bound in zip(torch.autograd.grad(result, (q, k, v, mask), g), exact, bounds):
            assert ((got - want).abs() <= unit * bound).all()


def test_gradients_of_masks_and_sinks_and_the_log_sum_exp():
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 4, 5, 3, dtype=torch.double, requires_grad=True) for _ in range(3))
    for shape in ((5, 5), (2, 1, 1, 5), (1, 4, 5, 1), (2, 4, 5, 5)):
        mask = torch.randn(shape, dtype=torch.double, requires_grad=True)
        sinks = torch.randn(4, dtype=torch.double, requires_grad=True)
        assert torch.autograd.gradcheck(lambda *t: sdpa(*t[:3], mask=t[3], sinks=t[4], softcap=2.0, return_lse=True),
                                        (q, k, v, mask, sinks))


def random_call(rng):
    """Random arguments of one call."""
    pick = lambda *options: options[torch.randint(len(options), (), generator=rng)]
    b, h, group = pick(1, 2, 3), pick(1, 2), pick(1, 2, 4)
    l, s, e, ev = pick(1, 3, 17, 64, 70), pick(1, 5, 64, 97, 130), pick(1, 8, 33), pick(1, 8, 33)
    dtype = pick(torch.float32, torch.float32, torch.float64, torch.bfloat16)
    new = lambda *shape: torch.randn(*shape, generator=rng).to(dtype)
    q, k, v = new(b, h * group, l, e), new(b, h, s, e), new(b, h, s, ev)
    if pick(0, 1):
        q, k, v = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v))
    features = {"scale": pick(None, 0.3), "enable_gqa": True}
    kind = pick("none", "causal", "bool", "float")
    if kind == "causal":
        features["is_causal"] = True
    elif kind != "none":
        shape = (pick(1, b), pick(1, h * group), pick(1, l), s)
        mask = torch.randn(shape, generator=rng)
        features["attn_mask"] = mask > -0.5 if kind == "bool" else mask.to(dtype)
    return (q, k, v), features


def test_random_calls_forward_and_backward():
    print(f"seed {SEED}")
    for n in range(150):
        rng = torch.Generator().manual_seed(SEED + n)
        tensors, features = random_call(rng)
        ours = [t.detach().requires_grad_() for t in tensors]
        theirs = [t.detach().double().requires_grad_() for t in tensors]
        got, want = scaled_dot_product_attention(*ours, **features), exact(*theirs, **features)
        unit = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 3e-2}[got.dtype]
        repeat = f"ATTN_SEED={SEED + n}: {[tuple(t.shape) for t in tensors]} {got.dtype} {sorted(features)}"
        assert (got.double() - want).abs().max() <= unit * (1 + want.abs().max()), repeat
        d_o = torch.randn(got.shape, generator=rng).to(got.dtype)
        got.backward(d_o)
        want.backward(d_o.double())
        for a, b in zip(ours, theirs):
            assert (a.grad.double() - b.grad).abs().max() <= 3 * unit * (1 + b.grad.abs().max()), repeat


def test_opcheck_and_compile():
    q, k, v = (torch.randn(1, 2, 6, 4, requires_grad=True) for _ in range(3))
    knobs = (True, False, -1, -1, 0.5, 0.0, 0.0, 0)
    torch.library.opcheck(_op, (q, k, v, None, None, *knobs))
    o, lse = _op(q, k, v, None, None, *knobs)
    inputs = [t.detach() for t in (torch.randn(1, 2, 6, 4), q, k, v, o, lse)]
    torch.library.opcheck(_backward_op, (inputs[0], None, *inputs[1:], None, None, False, False, *knobs))
    compiled = torch.compile(lambda *t: scaled_dot_product_attention(*t, is_causal=True), backend="aot_eager",
                             fullgraph=True)
    torch.testing.assert_close(compiled(q, k, v), scaled_dot_product_attention(q, k, v, is_causal=True))
    compiled(q, k, v).sum().backward()
    assert q.grad is not None


class SeenByPython(TorchFunctionMode):
    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def __torch_function__(self, function, types, arguments=(), named=None):
        self.seen.append(str(function))
        return function(*arguments, **(named or {}))


class SeenByDispatcher(TorchDispatchMode):
    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        self.seen.append(str(function))
        return function(*arguments, **(named or {}))


def test_operator_is_visible_to_modes_and_traces():
    """Eager calls skip the dispatcher, but modes, traces, graphs, the profiler and transforms must see the operator."""
    x, call = torch.randn(1, 2, 5, 4), lambda t: scaled_dot_product_attention(t, t, t)
    for mode in (SeenByPython, SeenByDispatcher):
        seen = []
        with mode(seen):
            call(x)
        assert any("libattn" in name for name in seen), mode
    with torch.profiler.profile() as profile:
        call(x)
    assert any("libattn::sdpa" in event.key for event in profile.key_averages())
    assert "libattn" in str(torch.jit.trace(call, x, check_trace=False).graph)
    assert "libattn" in make_fx(call)(x).code
    assert torch.equal(torch.func.vmap(call)(x.expand(3, *x.shape))[2], call(x))
    with FakeTensorMode():
        assert call(torch.empty(1, 2, 5, 4)).shape == x.shape
    assert call(x.to("meta")).is_meta


def test_torch_func_reverse_mode():
    """grad, vjp and jacrev, alone and under vmap, of every differentiable tensor, against autograd."""
    q, k, v = (torch.randn(3, 1, 2, 5, 4, dtype=torch.float64) for _ in range(3))
    mask, sinks = torch.randn(5, 5, dtype=torch.float64), torch.randn(2, dtype=torch.float64)

    def loss(q, k, v, mask, sinks):
        o, lse = sdpa(q, k, v, mask=mask, sinks=sinks, causal=True, return_lse=True)
        return o.square().sum() + lse.sin().sum()
    each = torch.func.vmap(torch.func.grad(loss, tuple(range(5))), (0, 0, 0, None, None))(q, k, v, mask, sinks)
    for n in range(3):
        leaves = [t.clone().requires_grad_() for t in (q[n], k[n], v[n], mask, sinks)]
        want = torch.autograd.grad(loss(*leaves), leaves)
        for got, one, batched in zip(torch.func.grad(loss, tuple(range(5)))(q[n], k[n], v[n], mask, sinks), want, each):
            torch.testing.assert_close(got, one)
            torch.testing.assert_close(batched[n], one)
    call = lambda t: scaled_dot_product_attention(t, t, t)
    torch.testing.assert_close(torch.func.jacrev(call)(q[0]), torch.autograd.functional.jacobian(call, q[0]))


def test_unsupported_derivatives_raise():
    """Forward mode and double backward raise in any nesting of transforms; they never return zeros."""
    x, func = torch.randn(1, 2, 5, 4), torch.func
    call = lambda t: scaled_dot_product_attention(t, t, t)
    loss = lambda t: call(t).square().sum()
    refused = [lambda: func.jvp(call, (x,), (x,)), lambda: func.jacfwd(call)(x), lambda: func.hessian(loss)(x),
               lambda: func.jvp(func.grad(loss), (x,), (x,)), lambda: func.jvp(func.vmap(call), (x[None],), (x[None],)),
               lambda: func.vmap(lambda t: func.jvp(call, (t,), (t,)))(x[None]), lambda: func.jacrev(func.grad(loss))(x),
               lambda: func.linearize(call, x),
               lambda: torch.compile(lambda t: func.jvp(call, (t,), (t,)), backend="aot_eager")(x)]
    for derivative in refused:
        with pytest.raises(RuntimeError):
            derivative()
    with forward_ad.dual_level():
        for y in (x, x.clone().requires_grad_()):
            with pytest.raises(NotImplementedError, match="forward-mode"):
                call(forward_ad.make_dual(y, x))
        assert torch.equal(call(x), scaled_dot_product_attention(x, x, x))
    out, tangent = func.jvp(lambda w: w * call(x), (torch.ones(()),), (torch.ones(()),))  # not a tangent of ours
    torch.testing.assert_close(tangent, out)


def test_mixed_devices_are_rejected():
    """PyTorch would run the shape function and return uninitialized memory."""
    x, see = torch.randn(1, 2, 5, 4), torch.ones(5, 5, dtype=torch.bool)
    meta = lambda t: t.to("meta")
    for given in ((meta(x), x, x), (x, meta(x), x), (x, x, meta(x)), (x, x, x, meta(see)), (meta(x), meta(x), meta(x), see)):
        with pytest.raises(TypeError, match="one device"):
            scaled_dot_product_attention(*given)
    with pytest.raises(TypeError, match="sinks is on meta"):
        sdpa(x, x, x, sinks=torch.zeros(2, device="meta"))


def test_results_are_on_the_cpu_whatever_the_default_device():
    x, y = torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 3)
    want = attn.sdpa(x, x, y)
    with torch.device("meta"):
        assert torch.equal(attn.sdpa(x, x, y, return_lse=True)[0], want)
        assert torch.equal(scaled_dot_product_attention(x, x, y), want)
        assert scaled_dot_product_attention(x, x, y, dropout_p=0.5).is_cpu


@pytest.mark.parametrize("lead", [(), (2,), (2, 3, 2)])
@pytest.mark.parametrize("rows, keys", [(0, 3), (3, 0), (0, 0)])
def test_empty_tensors(lead, rows, keys):
    q, k = torch.randn(*lead, rows, 4, requires_grad=True), torch.randn(*lead, keys, 4)
    o = scaled_dot_product_attention(q, k, k)
    assert torch.equal(o, F.scaled_dot_product_attention(q, k, k))
    assert torch.equal(*(torch.autograd.grad(f(q, k, k).sum(), q)[0] for f in
                         (scaled_dot_product_attention, F.scaled_dot_product_attention)))


def test_wrapper_tensors():
    """Zero tensors without storage, wrappers, subclasses: the dispatcher unwraps them or raises."""
    x = torch.randn(1, 2, 5, 4)
    zeros = torch._efficientzerotensor((1, 2, 5, 4))
    assert torch.equal(sdpa(zeros, zeros, zeros), torch.zeros(1, 2, 5, 4))
    inside = torch._to_functional_tensor(x)
    assert torch.equal(torch._from_functional_tensor(sdpa(inside, inside, inside)), sdpa(x, x, x))
    with pytest.raises(TypeError, match="layout"):
        sdpa(*[x.to_sparse()] * 3)
    with torch.inference_mode():
        assert sdpa(x, x, x).is_inference()


def test_repeated_and_double_backward():
    q, k, v = (torch.randn(1, 2, 5, 4, requires_grad=True) for _ in range(3))
    o = sdpa(q, k, v)
    many = torch.randn(3, *o.shape)
    got = torch.autograd.grad(o, (q, k, v), many, is_grads_batched=True, retain_graph=True)
    for n in range(3):
        for batched, alone in zip(got, torch.autograd.grad(o, (q, k, v), many[n], retain_graph=True)):
            assert torch.equal(batched[n], alone)
    first, = torch.autograd.grad(o.sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="no autograd formula"):  # not zeros
        first.sum().backward()


def test_view_keeps_memory_alive():
    """Another thread may replace a tensor's storage during a call."""
    tensor, array = torch.zeros(2, 4), np.zeros((2, 4), "f4")
    memory, kept = weakref.ref(tensor.untyped_storage()), weakref.ref(array)
    views = [view(tensor, "tensor"), view(array, "array")]
    tensor.set_(torch.zeros(1))
    del array
    gc.collect()
    assert memory() is not None and kept() is not None
    del views
    gc.collect()
    assert memory() is None and kept() is None


def test_swapped_replaces_the_function_within_the_context():
    layer = torch.nn.MultiheadAttention(16, 4, batch_first=True)
    x = torch.randn(2, 5, 16)
    want, _ = layer(x, x, x, need_weights=False)
    original = F.scaled_dot_product_attention
    with swapped():
        assert F.scaled_dot_product_attention is not original
        got = F.scaled_dot_product_attention(*(x.view(2, 5, 4, 4).transpose(1, 2) for _ in range(3)))
        again, _ = layer(x, x, x, need_weights=False)
    assert F.scaled_dot_product_attention is original and got.shape == (2, 4, 5, 4)
    torch.testing.assert_close(again, want, atol=1e-6, rtol=1e-5)


def test_only_fallback_gives_unsupported_types_to_pytorch():
    q = torch.randn(1, 1, 3, 4, dtype=torch.complex64)
    with pytest.raises(TypeError, match="complex64"):
        scaled_dot_product_attention(q, q, q)
    with pytest.raises(AttnError):
        scaled_dot_product_attention(torch.randn(3), torch.randn(3), torch.randn(3))
    with swapped(), pytest.raises(TypeError, match="complex64"):
        F.scaled_dot_product_attention(q, q, q)
    with swapped(fallback=True), pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        F.scaled_dot_product_attention(q, q, q)  # PyTorch's own error


def test_grouped_heads_need_enable_gqa():
    q, k = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 5, 8)
    for attention in (scaled_dot_product_attention, F.scaled_dot_product_attention):
        with pytest.raises(RuntimeError):  # 2 heads do not broadcast to 4
            attention(q, k, k)
        assert attention(q, k, k, enable_gqa=True).shape == q.shape


def test_a_mask_excludes_is_causal():
    q = torch.randn(1, 4, 3, 8)
    with pytest.raises(RuntimeError, match="is_causal"):
        scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(3, 3), is_causal=True)


def test_dropout_is_seeded_by_pytorch_and_unbiased():
    q, k, v = (torch.randn(1, 2, 40, 8) for _ in range(3))
    torch.manual_seed(3)
    one = scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    torch.manual_seed(3)
    same = scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    assert torch.equal(one, same) and not torch.equal(one, scaled_dot_product_attention(q, k, v, dropout_p=0.5))
    mean = torch.stack([scaled_dot_product_attention(q, k, v, dropout_p=0.5) for _ in range(400)]).mean(0)
    torch.testing.assert_close(mean, scaled_dot_product_attention(q, k, v), atol=0.12, rtol=0)


# ---- attn itself on tensors ---------------------------------------------------------------------------------

def negative(*shape):
    """A view with the negative bit, and an equal tensor without it."""
    view = torch.imag(torch.complex(torch.randn(shape), torch.randn(shape)).conj())
    assert view.is_neg()
    return view, view.clone().resolve_neg()


def test_the_negative_bit_is_resolved():
    (n, plain), k, v = negative(1, 2, 3, 4), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4)
    assert torch.equal(attn.sdpa(n, k, v), attn.sdpa(plain, k, v))
    assert torch.equal(scaled_dot_product_attention(n, k, v), attn.sdpa(plain, k, v))
    assert torch.equal(nn.rms_norm(n), nn.rms_norm(plain))
    cache = attn.KVCache(num_kv_heads=2, head_dim=4, capacity=4)
    cache.append(n, n)
    np.testing.assert_array_equal(cache.read(0)[0], plain[0].numpy())


def test_read_only_tensors_are_not_written():
    k = torch.randn(2, 4)
    leaf, scaled = torch.zeros(2, 4, requires_grad=True), torch.zeros(2, 4, requires_grad=True) * 1
    for out in (leaf, scaled, negative(2, 4)[0], torch.zeros(1, 4).expand(2, 4)):
        before = out.detach().clone()
        for call in (lambda: attn.sdpa(k, k, k, out=out), lambda: nn.rms_norm(k, out=out),
                     lambda: attn.score(k, k, k, out=out)):
            with pytest.raises(AttnError, match="cannot be written") as caught:
                call()
            assert caught.value.argument == "out" and torch.equal(out, before)


def test_out_increments_the_version():
    k, (cos, sin) = torch.randn(2, 4), nn.rotary_tables(2, 4)
    cache = attn.KVCache(num_kv_heads=1, head_dim=4, capacity=2)
    cache.append(k[None], k[None])
    where = np.zeros((1, 2), "i4")
    for call in (lambda out: attn.sdpa(k, k, k, out=out), lambda out: attn.score(k, k, k, out=out),
                 lambda out: nn.rms_norm(k, out=out), lambda out: nn.layer_norm(k, out=out),
                 lambda out: nn.rotary(k[None, None], cos, sin, where, out=out[None, None]),
                 lambda out: nn.rotary_backward(k[None, None], cos, sin, where, out=out[None, None]),
                 lambda out: cache.attend(k[None], out=out[None])):
        y = torch.ones(2, 4, requires_grad=True).exp()
        call(y.detach())
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
    with torch.inference_mode():
        out = torch.zeros(2, 4)
        assert attn.sdpa(k, k, k, out=out) is out


def test_attn_rejects_inputs_that_require_grad():
    q, k = torch.randn(1, 2, 3, 4, requires_grad=True), torch.randn(1, 2, 3, 4)
    cache = attn.KVCache(num_kv_heads=2, head_dim=4, capacity=4)
    cache.append(k, k)
    calls = [("q", lambda q: attn.sdpa(q, k, k)), ("v", lambda q: attn.sdpa(k, k, q)), ("q", lambda q: attn.score(q, k, k)),
             ("q", lambda q: cache.attend(q)), ("k", lambda q: cache.append(q[:, :, :1], k[:, :, :1])),
             ("x", lambda q: nn.rms_norm(q)), ("scale", lambda q: nn.layer_norm(k, q)), ("q", lambda q: attn.summary(q, k)),
             ("mask", lambda q: attn.sdpa(k, k, k, mask=q[..., :1]))]
    for argument, call in calls:
        with pytest.raises(AttnError, match="attn.torch") as caught:
            call(q)
        assert caught.value.argument == argument
        call(q.detach())
        cache.truncate(0, 3)
        with torch.no_grad():
            call(q)
        cache.truncate(0, 3)
    assert sdpa(q, k, k).requires_grad


def test_tensor_subclasses_are_accepted():
    class Own(torch.Tensor):
        pass

    x = torch.randn(2, 4)
    for kind in (lambda t: t.as_subclass(Own), torch.nn.Parameter):
        with torch.no_grad():
            assert torch.equal(attn.sdpa(kind(x), x, x), attn.sdpa(x, x, x))
            assert torch.is_tensor(nn.rms_norm(kind(x)))


@pytest.mark.parametrize("argument, knobs", [
    ("align", {"align": "bottom_right"}), ("align", {"align": "bogus"}), ("align", {"align": []}), ("window", {"window": (-5, -5)}),
    ("window", {"window": (-1, -7)}), ("window", {"window": 3}), ("window", {"window": (1.5, 0)}), ("softcap", {"softcap": 0}),
    ("softcap", {"softcap": -1.0}), ("seed", {"seed": -1}), ("seed", {"seed": 2**64}), ("scale", {"scale": float("nan")})])
def test_invalid_features_are_rejected_by_name(argument, knobs):
    q = torch.randn(1, 1, 2, 4)
    for call in (sdpa, attn.sdpa):
        with pytest.raises(AttnError) as caught:
            call(q, q, q, dropout=0.5, **knobs)
        assert caught.value.argument.startswith(argument)


def test_seeds_have_64_bits():
    q = torch.randn(1, 1, 9, 4)
    for seed in (0, 2**63 - 1, 2**63, 2**64 - 1):
        assert torch.equal(sdpa(q, q, q, dropout=0.5, seed=seed), attn.sdpa(q, q, q, dropout=0.5, seed=seed))
