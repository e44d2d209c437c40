"""attn run: attention on tensor files, against NumPy in double precision."""
import json
import os
import pty
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import ATTN, safetensors
from safetensors.numpy import load_file, save_file


def attention(q, k, v, scale=None, visible=None, bias=0.0):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale) + bias
    if visible is not None:
        scores = np.where(visible, scores, -np.inf)
    with np.errstate(invalid="ignore"):
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
    return np.nan_to_num(p) @ v


@pytest.fixture
def tensors(tmp_path):
    rng = np.random.default_rng(7)
    x = {"q": rng.standard_normal((2, 4, 50, 16)), "k": rng.standard_normal((2, 2, 70, 16)),
         "v": rng.standard_normal((2, 2, 70, 12))}
    x = {name: a.astype(np.float32) for name, a in x.items()}
    for name, a in x.items():
        np.save(tmp_path / f"{name}.npy", a)
    return x


INPUTS = ["--q", "q.npy", "--k", "k.npy", "--v", "v.npy"]


def test_plain(attn, tensors, tmp_path):
    out = attn("run", *INPUTS, "-o", "o.npy", "--verify").stdout
    assert ": 0 of" in out and "outside the error bound" in out and "kernel" in out
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"), attention(**tensors), atol=3e-6)


def test_causal_window_offset_scale(attn, tensors, tmp_path):
    attn("run", *INPUTS, "--causal", "--offset", "20", "--window", "9,3", "--scale", "0.5",
         "-o", "o.npy", "--verify", "--quiet")
    i, j = np.arange(50)[:, None] + 20, np.arange(70)[None]
    visible = (j <= i) & (j >= i - 9) & (j <= i + 3)
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"),
                               attention(**tensors, scale=0.5, visible=visible), atol=3e-6)


def test_softcap_alibi_and_sinks(attn, tensors, tmp_path):
    slopes, sinks = np.array([.5, .25, .125, .0625], "f4"), np.array([0.5, -np.inf, 3, -1], "f8")
    np.save(tmp_path / "slopes.npy", slopes)
    np.save(tmp_path / "sinks.npy", sinks)
    attn("run", *INPUTS, "--softcap", "2.5", "--alibi", "slopes.npy", "--sinks", "sinks.npy", "-o", "o.npy", "--verify",
         "--quiet")
    q, k, v = (tensors[n].astype(np.float64) for n in "qkv")
    k, v = np.repeat(k, 2, 1), np.repeat(v, 2, 1)
    distance = np.abs(np.arange(50)[:, None] - np.arange(70)[None])
    s = 2.5 * np.tanh(q @ k.swapaxes(-1, -2) / 4 / 2.5) - slopes[:, None, None].astype("f8") * distance
    e = np.exp(s)
    want = e / (e.sum(-1, keepdims=True) + np.exp(sinks)[:, None, None]) @ v
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"), want, atol=3e-6)


def test_a_wrong_type_gets_a_hint(attn, tensors, tmp_path):
    np.save(tmp_path / "m.npy", np.ones((50, 70), np.int64))
    np.save(tmp_path / "l.npy", np.ones(2))
    assert "x.astype(bool)" in attn("run", *INPUTS, "--plan", "--mask", "m.npy", status=2).stderr
    assert "x.astype('int64')" in attn("run", *INPUTS, "--plan", "--key-lengths", "l.npy", status=2).stderr
    assert "--causal or --window" in attn("run", *INPUTS, "--plan", "--offset", "3", status=2).stderr


def test_bottom_right_and_lengths(attn, tensors, tmp_path):
    attn("run", *INPUTS, "--causal", "--align", "bottom-right", "--key-lengths", "70,60", "-o", "o.npy")
    i, j = np.arange(50)[:, None], np.arange(70)[None]
    visible = np.stack([(j <= i + n - 50) & (j < n) for n in (70, 60)])[:, None]
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"),
                               attention(**tensors, visible=visible), atol=3e-6)


@pytest.mark.parametrize("kind", ["bool", "float32", "float64", "float16"])
def test_masks(attn, tensors, tmp_path, kind):
    rng = np.random.default_rng(3)
    mask = rng.random((4, 1, 70)) < 0.7 if kind == "bool" else rng.standard_normal((4, 1, 70))
    np.save(tmp_path / "m.npy", mask.astype(kind))
    attn("run", *INPUTS, "--mask", "m.npy", "-o", "o.npy")
    expected = attention(**tensors, visible=mask) if kind == "bool" else attention(
        **tensors, bias=mask.astype(kind).astype(np.float64))
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"), expected, atol=5e-6)


def test_weights_and_lse(attn, tensors, tmp_path):
    attn("run", *INPUTS, "--weights", "w.npy", "--lse", "l.npy", "--verify")
    weights, lse = np.load(tmp_path / "w.npy"), np.load(tmp_path / "l.npy")
    assert weights.shape == (2, 4, 50, 70) and lse.shape == (2, 4, 50)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    k = np.repeat(tensors["k"], 2, axis=1).astype(np.float64)
    scores = tensors["q"].astype(np.float64) @ k.swapaxes(-1, -2) / 4
    np.testing.assert_allclose(lse, np.log(np.exp(scores).sum(-1)), atol=1e-5)


def test_safetensors_both_ways_keeps_the_others(attn, tensors, tmp_path):
    save_file({**tensors, "other": np.arange(5)}, tmp_path / "a.safetensors", metadata={"a": "b"})
    attn("run", "--q", "a.safetensors:q", "--k", "a.safetensors:k", "--v", "a.safetensors:v",
         "-o", "a.safetensors:o")
    back = load_file(tmp_path / "a.safetensors")
    assert set(back) == {"q", "k", "v", "other", "o"}
    np.testing.assert_array_equal(back["other"], np.arange(5))
    np.testing.assert_allclose(back["o"], attention(**tensors), atol=3e-6)


@pytest.mark.parametrize("how", ["fortran", "big-endian", "float16", "float64", "version 2"])
def test_npy_as_numpy_writes_it(attn, tensors, tmp_path, how):
    q = tensors["q"]
    if how == "fortran":
        q = np.asfortranarray(q)
    if how == "big-endian":
        q = q.astype(">f4")
    if how in ("float16", "float64"):
        q = q.astype(how)
    with open(tmp_path / "q.npy", "wb") as file:
        np.lib.format.write_array(file, q, version=(2, 0) if how == "version 2" else None)
    attn("run", *INPUTS, "-o", "o.npy")
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"),
                               attention(q, tensors["k"], tensors["v"]), atol=3e-6)


def test_float64_is_computed_in_double(attn, tensors, tmp_path):
    for name, x in tensors.items():
        np.save(tmp_path / f"{name}.npy", x.astype(np.float64))
    assert "reference f64" in attn("run", *INPUTS, "-o", "o.npy", "--verify").stdout
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"), attention(**tensors), atol=1e-14)


@pytest.mark.parametrize("wide", ["q", "k", "v"])
def test_one_float64_makes_all_float64(attn, tensors, tmp_path, wide):
    x = tensors[wide].astype(np.float64) * (1 + 2.0 ** -40)
    np.save(tmp_path / f"{wide}.npy", x)
    attn("run", *INPUTS, "-o", "o.npy")
    got = np.load(tmp_path / "o.npy")
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, attention(**{**tensors, wide: x}), atol=1e-14)


def test_bfloat16_is_widened(attn, tensors, tmp_path):
    bits = {name: (x.view(np.uint32) >> 16).astype("<u2") for name, x in tensors.items()}
    header, data = {}, b""
    for name, x in bits.items():
        header[name] = {"dtype": "BF16", "shape": x.shape, "data_offsets": [len(data), len(data) + x.nbytes]}
        data += x.tobytes()
    (tmp_path / "b.safetensors").write_bytes(safetensors(header, data))
    attn("run", *(w for n in "qkv" for w in (f"--{n}", f"b.safetensors:{n}")), "-o", "o.npy")
    wide = {name: (x.astype(np.uint32) << 16).view(np.float32) for name, x in bits.items()}
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"), attention(**wide), atol=3e-6)


@pytest.mark.parametrize("rank", [2, 3])
def test_the_output_has_the_rank_of_q(attn, tensors, tmp_path, rank):
    cut = {name: x[0, :2] if rank == 3 else x[0, 0] for name, x in tensors.items()}
    for name, x in cut.items():
        np.save(tmp_path / f"{name}.npy", x)
    attn("run", *INPUTS, "-o", "o.npy", "--weights", "w.npy", "--lse", "l.npy", "--verify", "--quiet")
    full = {name: x.reshape((1,) * (4 - rank) + x.shape) for name, x in cut.items()}
    got = np.load(tmp_path / "o.npy")
    assert got.ndim == rank
    np.testing.assert_allclose(got, attention(**full).reshape(got.shape), atol=3e-6)
    assert np.load(tmp_path / "w.npy").shape == cut["q"].shape[:-1] + (70,)
    assert np.load(tmp_path / "l.npy").shape == cut["q"].shape[:-1]


@pytest.mark.parametrize("batched", [True, False])
def test_heads_side_by_side(attn, tensors, tmp_path, batched):
    expected = attention(**tensors).transpose(0, 2, 1, 3).reshape(2, 50, 4 * 12)
    for name, x in tensors.items():
        flat = x.transpose(0, 2, 1, 3).reshape(2, x.shape[2], -1)
        np.save(tmp_path / f"{name}.npy", flat if batched else flat[1])
    attn("run", *INPUTS, "--num-heads", "4", "--num-kv-heads", "2", "-o", "o.npy", "--weights", "w.npy",
         "--verify", "--quiet")
    got = np.load(tmp_path / "o.npy")
    np.testing.assert_allclose(got, expected if batched else expected[1], atol=3e-6)
    assert np.load(tmp_path / "w.npy").shape == (2 if batched else 1, 4, 50, 70)


@pytest.mark.parametrize("what, value", [("zero", 0), ("nan", np.nan), ("mean", None), ("error", None)])
def test_rows_without_keys(attn, tensors, tmp_path, what, value):
    status = 2 if what == "error" else 0
    done = attn("run", *INPUTS, "--key-lengths", "0,70", "--empty-row", what, "-o", "o.npy", status=status)
    if status:
        assert "sees no key" in done.stderr and "hint: --empty-row" in done.stderr
        assert not (tmp_path / "o.npy").exists()
        return
    got = np.load(tmp_path / "o.npy")[0]
    mean = np.repeat(tensors["v"][0].mean(1, keepdims=True), 2, axis=0)
    np.testing.assert_allclose(got, np.broadcast_to(mean if value is None else value, got.shape), atol=1e-6)


def test_lengths_from_a_file(attn, tensors, tmp_path):
    np.save(tmp_path / "n.npy", np.array([33, 70], np.int32))
    attn("run", *INPUTS, "--key-lengths", "n.npy", "-o", "a.npy")
    attn("run", *INPUTS, "--key-lengths", "33,70", "-o", "b.npy")
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_threads_do_not_change_the_file(attn, tensors, tmp_path):
    for n in (1, 2, 5):
        attn("run", *INPUTS, "--threads", str(n), "-o", f"{n}.npy")
    assert len({(tmp_path / f"{n}.npy").read_bytes() for n in (1, 2, 5)}) == 1


def test_a_wrong_value_is_found(attn, tensors, preload):
    """One wrong value of attn_sdpa_forward: --verify reports it, and the exit status."""
    wrong = preload("""
        #include "attn/attn.h"
        typedef attn_status forward(const attn_sdpa *, const attn_tensor *, const attn_tensor *,
                                    const attn_tensor *, const attn_tensor *, attn_error *);
        attn_status attn_sdpa_forward(const attn_sdpa *d, const attn_tensor *q, const attn_tensor *k,
                                      const attn_tensor *v, const attn_tensor *o, attn_error *e) {
          attn_status s = ((forward *)dlsym(RTLD_NEXT, "attn_sdpa_forward"))(d, q, k, v, o, e);
          ((float *)o->data)[((1 * 4 + 2) * 50 + 49) * 12 + 7] += 1e-3f;
          return s;
        }""")
    out = attn("run", *INPUTS, "--verify", status=1, env=wrong).stdout
    assert ": 1 of 4800 values outside" in out and "worst at [1, 2, 49, 7]" in out
    report = json.loads(attn("run", *INPUTS, "--verify", "--json", status=1, env=wrong).stdout)["verify"]
    assert report["outside"] == 1 and report["worst_index"] == [1, 2, 49, 7]
    assert report["worst_got"] - report["worst_exact"] == pytest.approx(1e-3, rel=1e-2)
    assert report["worst_of_bound"] > 1 and report["worst_bound"] < 1e-4


def test_plan_alone_writes_nothing(attn, tensors, tmp_path):
    before = sorted(os.listdir(tmp_path))
    assert "bytes of workspace" in attn("run", *INPUTS, "--plan").stdout
    assert sorted(os.listdir(tmp_path)) == before


def test_json(attn, tensors):
    report = json.loads(attn("run", *INPUTS, "-o", "o.npy", "--verify=10", "--json").stdout)
    assert report["schema"] == "attn-run/1"
    assert report["verify"]["rows"] == 10 and report["verify"]["outside"] == 0
    assert report["verify"]["rows_total"] == 400 and report["gflops"] > 0
    assert report["q"] == {"dtype": "float32", "shape": [2, 4, 50, 16]}
    assert report["output"]["shape"] == [2, 4, 50, 12]
    plan = json.loads(attn("run", *INPUTS, "--plan", "--peak", "--json").stdout)
    assert "seconds" not in plan and plan["workspace_bytes"] > 0


def test_a_sample_is_stated_and_repeatable(attn, tensors):
    one, two, three = (attn("run", *INPUTS, "--verify=7", "--seed", n, "--json").stdout for n in "334")
    assert json.loads(one)["verify"] == json.loads(two)["verify"] != json.loads(three)["verify"]
    assert "7 of 400 rows (a random sample, seed 5)" in attn("run", *INPUTS, "--verify=7", "--seed", "5").stdout


@pytest.mark.parametrize("edit, words", [
    (dict(k=np.zeros((2, 2, 70, 15), np.float32)), ["k is (2, 2, 70, 15)", "q is (2, 4, 50, 16)"]),
    (dict(k=np.zeros((2, 3, 70, 16), np.float32)), ["v", "heads"]),
    (dict(v=np.zeros((2, 2, 71, 12), np.float32)), ["v is (2, 2, 71, 12)", "keys"]),
    (dict(q=np.zeros((2, 4), complex)), ["c16", "not supported"]),
    (dict(q=np.zeros((2, 4, 50, 16), np.int32)), ["int32", "must be", "hint:"]),
    (dict(q=np.zeros(16, np.float32)), ["rank", "hint:"]),
])
def test_shapes_that_do_not_fit(attn, tensors, tmp_path, edit, words):
    for name, x in edit.items():
        np.save(tmp_path / f"{name}.npy", x)
    message = attn("run", *INPUTS, "-o", "o.npy", status=2).stderr
    assert all(word in message for word in words), message
    assert not (tmp_path / "o.npy").exists()


@pytest.mark.parametrize("arguments", [
    ["--scale", "nan"], ["--scale", "1e999"], ["--scale", "0.5x"], ["--window", "-5,0"],
    ["--window", "3"], ["--key-lengths", "1"], ["--key-lengths", "70,99"], ["--key-lengths", "3,x"],
    ["--threads", "0"], ["--align", "left"], ["--offset", "3", "--align", "top-left"],
    ["--mask", "v.npy"], ["--mask", "none.npy"], ["--nonsense"], ["stray"], ["--empty-row", "one"],
    ["--verify=0"], ["--scale"], ["--scale", "0x10"], ["--scale", "1,5"], ["--scale", " 1"],
    ["--scale", "inf"], ["--scale", "1e-999"], ["--scale", "--causal"], ["--scale=1", "--scale=1"],
    ["--q", "q.npy"], ["-o", "p.npy"], ["--output", "o.npy"], ["--causal=1"], ["--offset", "1.5"],
    ["--offset", "9223372036854775808"], ["--offset", ""], ["--threads", "99999999999"], ["--key-lengths", ""],
    ["--key-lengths", "3,,5"], ["--num-heads", "3"], ["--num-heads", "0"], ["--num-kv-heads", "2"], ["--verify=x"],
    ["--mask", "."], ["--window", "1,2,3"], ["--window", "1," + "9" * 40], ["--weights", "o.npy"],
    ["--weights", "./o.npy"], ["--weights", "none/w.npy"], ["--lse", "l.safetensors"], ["--lse", "."],
    ["--weights", "q.npy"], ["--lse", "/dev/null"]])
def test_bad_arguments(attn, tensors, tmp_path, arguments):
    assert attn("run", *INPUTS, "-o", "o.npy", *arguments, status=2).stderr
    assert not (tmp_path / "o.npy").exists()


def test_an_integer_mask_is_refused(attn, tensors, tmp_path):
    np.save(tmp_path / "m.npy", np.ones((50, 70), np.uint8))
    message = attn("run", *INPUTS, "--mask", "m.npy", "-o", "o.npy", status=2).stderr
    assert "m.npy: error: is uint8; it must be bool" in message


def test_an_input_is_never_overwritten(attn, tensors, tmp_path):
    before = {name: (tmp_path / f"{name}.npy").read_bytes() for name in tensors}
    os.symlink("k.npy", tmp_path / "link.npy")
    os.link(tmp_path / "v.npy", tmp_path / "hard.npy")
    for output in ("q.npy", "./q.npy", "link.npy", "hard.npy"):
        assert "is an input" in attn("run", *INPUTS, "-o", output, status=2).stderr
    assert before == {name: (tmp_path / f"{name}.npy").read_bytes() for name in tensors}
    save_file(tensors, tmp_path / "a.safetensors")
    same = [w for n in "qkv" for w in (f"--{n}", f"a.safetensors:{n}")]
    assert "is an input" in attn("run", *same, "-o", "a.safetensors:q", status=2).stderr


def test_outputs_appear_together_or_not_at_all(attn, tensors, tmp_path):
    before = sorted(os.listdir(tmp_path))
    for bad in ("none/w.npy", "a.safetensors", "/dev/full", "a.safetensors:__metadata__"):
        assert attn("run", *INPUTS, "-o", "o.npy", "--weights", bad, status=2).stderr
        assert sorted(os.listdir(tmp_path)) == before
    attn("run", *INPUTS, "-o", "a.safetensors:o", "--weights", "a.safetensors:w", "--lse", "a.safetensors:l")
    assert set(load_file(tmp_path / "a.safetensors")) == {"o", "w", "l"}


def test_no_space_leaves_no_file(tensors, tmp_path):
    """A full disk, as a limit on file sizes."""
    before = sorted(os.listdir(tmp_path))
    done = subprocess.run(["bash", "-c", 'trap "" XFSZ; ulimit -f 4; exec "$@"', "bash", ATTN, "run", *INPUTS,
                           "-o", "o.npy"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "cannot write" in done.stderr, done
    assert sorted(os.listdir(tmp_path)) == before


def hostile_files():
    good = b"\x93NUMPY\x01\x00"

    def npy(header, data=b"\0" * 16):
        return good + len(header).to_bytes(2, "little") + header + data
    f4 = b"{'descr': '<f4', 'fortran_order': False, 'shape': "
    yield "npy", b""
    yield "npy", b"\x93NUMPY"
    yield "npy", os.urandom(100)
    yield "npy", good + b"\xff\xff{"
    yield "npy", npy(f4 + b"(99999999999, 99999999999), }")
    yield "npy", npy(f4 + b"(4000000000,), }")
    yield "npy", npy(f4 + b"(2, 2), ")
    yield "npy", npy(f4 + b"(2, -2), }")
    yield "npy", npy(f4 + b"(1,1,1,1,1,1,1,1,1,4), }")
    yield "npy", npy(f4 + b"(4,), 'x': 1}")
    yield "npy", npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (4,), }")
    yield "npy", npy(b"__import__('os').system('true')")
    yield "safetensors", b""
    yield "safetensors", (2 ** 63).to_bytes(8, "little") + b"{}"
    yield "safetensors", safetensors(b"[]")
    yield "safetensors", safetensors(b"{" * 100000)
    yield "safetensors", safetensors(b'{"a":' * 5000)
    for shape, span in (("[2]", "[0,4]"), ("[2]", "[8,0]"), ("[2]", "[0,99]"), ("[-1]", "[0,8]"),
                        ("[4611686018427387904,4]", "[0,0]"), ("[1.5]", "[0,8]"), ("[2]", "[4,12]")):
        yield "safetensors", safetensors(b'{"a":{"dtype":"F32","shape":%s,"data_offsets":%s}}' % (
            shape.encode(), span.encode()), b"\0" * 8)
    yield "safetensors", safetensors(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
                                 b'"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', b"\0" * 4)
    yield "safetensors", safetensors(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
                                 b'"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}', b"\0" * 8)


@pytest.mark.parametrize("number", range(len(list(hostile_files()))))
def test_hostile_files(attn, tensors, tmp_path, number):
    kind, content = list(hostile_files())[number]
    (tmp_path / f"bad.{kind}").write_bytes(content)
    message = attn("run", "--q", f"bad.{kind}", "--k", "k.npy", "--v", "v.npy", "-o", "o.npy",
                   status=2).stderr
    assert "error: " in message and message.startswith(f"attn: bad.{kind}: ")
    assert not (tmp_path / "o.npy").exists()


def test_every_truncation_is_refused(attn, tmp_path):
    np.save(tmp_path / "whole.npy", np.ones((1, 2), np.float32))
    whole = (tmp_path / "whole.npy").read_bytes()
    for cut in range(0, len(whole), 7):
        (tmp_path / "cut.npy").write_bytes(whole[:cut])
        attn("info", "cut.npy", status=2)


def test_closed_and_full_streams(attn, tensors, tmp_path):
    def shell(line):
        return subprocess.run(["bash", "-c", line, "bash", ATTN, *INPUTS], cwd=tmp_path,
                              capture_output=True, text=True, timeout=60)
    for redirect, words in ((">/dev/full", "No space"), (">&-", "Bad file")):
        done = shell(f'attn=$1; shift; "$attn" run "$@" -o o.npy {redirect}')
        assert done.returncode == 2 and words in done.stderr
        assert np.load(tmp_path / "o.npy").shape == (2, 4, 50, 12)
    # With all streams closed, the output file must not become one of them.
    done = shell('attn=$1; shift; "$attn" run "$@" -o p.npy --quiet <&- >&- 2>&-')
    assert done.returncode == 0
    assert (tmp_path / "p.npy").read_bytes() == (tmp_path / "o.npy").read_bytes()
    done = shell('"$1" run --help | head -c 1; echo ${PIPESTATUS[0]}')
    assert done.stderr == ""


def test_control_characters_do_not_reach_the_terminal(attn, tensors, tmp_path):
    save_file({"a\x1b[31m": tensors["q"], "b\x9b2J": tensors["k"]}, tmp_path / "e.safetensors")
    done = attn("info", "e.safetensors")
    assert "a\ufffd[31m: float32" in done.stdout and "b\ufffd2J" in done.stdout
    message = attn("run", "--q", "e.safetensors:q", "--k", "k.npy", "--v", "v.npy", "-o", "o.npy", status=2).stderr
    assert "it has" in message
    for text in (done.stdout, message):
        assert "\x1b" not in text and "\x9b" not in text


@pytest.fixture
def long_run(tmp_path):
    """A run of many seconds, in plain C."""
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 60000, 64), np.float32))
    return subprocess.Popen([ATTN, "run", "--q", "x.npy", "--k", "x.npy", "--v", "x.npy", "-o", "o.npy"], cwd=tmp_path,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "ATTN_ISA": "scalar"})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_file(long_run, tmp_path, number):
    run = long_run
    time.sleep(1)
    assert run.poll() is None, "it ended before the interrupt"
    run.send_signal(number)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 130 and not out and b"interrupted; nothing was written" in err
    assert sorted(os.listdir(tmp_path)) == ["x.npy"]


@pytest.fixture
def clock(tensors, preload):
    """clock(seconds): an environment in which time advances by as much at each look at the clock, so that progress
    does not depend on the speed of the CPU. One thread computes, so that it looks as often in each run."""
    def environment(seconds):
        return {"ATTN_ISA": "scalar", "ATTN_THREADS": "1", **preload("""
            #include <time.h>
            int clock_gettime(clockid_t id, struct timespec *t) {
              static long long now;
              (void)id;
              now += %d;
              *t = (struct timespec){now / 1000000000, now %% 1000000000};
              return 0;
            }""" % round(seconds * 1e9))}
    return environment


def test_progress_is_a_line_for_each_tenth(attn, clock):
    lines = attn("run", *INPUTS, "-o", "o.npy", env=clock(0.4)).stderr.splitlines()
    found = [re.fullmatch(r"computing (\d+) %, \d+ s left", line) for line in lines]
    assert all(found) and 2 <= len(lines) <= 10, lines
    percents = [int(m[1]) for m in found]
    assert percents == sorted(set(percents)) and percents[-1] == 100 and all(p % 10 == 0 for p in percents)


def test_a_run_of_less_than_a_second_shows_no_progress(attn, clock):
    assert attn("run", *INPUTS, "-o", "o.npy", env=clock(0)).stderr == ""


def test_progress_is_redrawn_on_a_terminal(clock, tmp_path):
    host, guest = pty.openpty()
    run = subprocess.Popen([ATTN, "run", *INPUTS, "-o", "o.npy"], cwd=tmp_path, stdout=subprocess.DEVNULL,
                           stderr=guest, env={**os.environ, **clock(0.4)})
    os.close(guest)
    shown = ""
    try:
        while piece := os.read(host, 4096):
            shown += piece.decode()
    except OSError:  # Linux: the last writer has closed the terminal
        pass
    os.close(host)
    assert run.wait(timeout=120) == 0
    assert "s left" in shown and "[" in shown and "\n" not in shown and shown.count("\r") > 2
    assert shown.endswith("\r\033[K"), "the bar is erased at the end"
