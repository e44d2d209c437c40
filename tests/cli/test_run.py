"""attn run: attention on tensor files, against NumPy in double precision."""
import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

ATTN = os.environ["ATTN_BIN"]


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
    made = {"q": rng.standard_normal((2, 4, 50, 16)), "k": rng.standard_normal((2, 2, 70, 16)),
            "v": rng.standard_normal((2, 2, 70, 12))}
    made = {name: x.astype(np.float32) for name, x in made.items()}
    for name, x in made.items():
        np.save(tmp_path / f"{name}.npy", x)
    return made


INPUTS = ["--q", "q.npy", "--k", "k.npy", "--v", "v.npy"]


def test_plain(attn, tensors, tmp_path):
    out = attn("run", *INPUTS, "-o", "o.npy", "--verify").stdout
    assert "0 of" in out and "outside the promised bound" in out and "kernel" in out
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"), attention(**tensors), atol=3e-6)


def test_causal_window_offset_scale(attn, tensors, tmp_path):
    attn("run", *INPUTS, "--causal", "--offset", "20", "--window", "9,3", "--scale", "0.5",
         "-o", "o.npy", "--verify", "--quiet")
    i, j = np.arange(50)[:, None] + 20, np.arange(70)[None]
    visible = (j <= i) & (j >= i - 9) & (j <= i + 3)
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"),
                               attention(**tensors, scale=0.5, visible=visible), atol=3e-6)


def test_bottom_right_and_lengths(attn, tensors, tmp_path):
    attn("run", *INPUTS, "--causal", "--align", "bottom-right", "--lengths", "70,60", "-o", "o.npy")
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


def test_plan_alone_writes_nothing(attn, tensors, tmp_path):
    before = sorted(os.listdir(tmp_path))
    assert "bytes of workspace" in attn("run", *INPUTS, "--plan").stdout
    assert sorted(os.listdir(tmp_path)) == before


def test_json(attn, tensors):
    report = json.loads(attn("run", *INPUTS, "-o", "o.npy", "--verify=10", "--json").stdout)
    assert report["schema"] == "attn-run/1"
    assert report["verify"]["rows"] == 10 and report["verify"]["outside"] == 0


@pytest.mark.parametrize("edit, words", [
    (dict(k=np.zeros((2, 2, 70, 15), np.float32)), ["k is (2, 2, 70, 15)", "q is (2, 4, 50, 16)"]),
    (dict(k=np.zeros((2, 3, 70, 16), np.float32)), ["v", "heads"]),
    (dict(v=np.zeros((2, 2, 71, 12), np.float32)), ["v is (2, 2, 71, 12)", "keys"]),
    (dict(q=np.zeros((2, 4), complex)), ["c16", "not supported"]),
])
def test_shapes_that_do_not_fit(attn, tensors, tmp_path, edit, words):
    for name, x in edit.items():
        np.save(tmp_path / f"{name}.npy", x)
    message = attn("run", *INPUTS, "-o", "o.npy", status=2).stderr
    assert all(word in message for word in words), message
    assert not (tmp_path / "o.npy").exists()


@pytest.mark.parametrize("arguments", [
    ["--scale", "nan"], ["--scale", "1e999"], ["--scale", "0.5x"], ["--window", "-5,0"],
    ["--window", "3"], ["--lengths", "1"], ["--lengths", "70,99"], ["--lengths", "3,x"],
    ["--threads", "0"], ["--align", "left"], ["--offset", "3", "--align", "top-left"],
    ["--mask", "v.npy"], ["--mask", "none.npy"], ["--nonsense"], ["stray"], ["--empty-row", "one"],
    ["--verify=0"], ["--scale"]])
def test_bad_arguments(attn, tensors, tmp_path, arguments):
    assert attn("run", *INPUTS, "-o", "o.npy", *arguments, status=2).stderr
    assert not (tmp_path / "o.npy").exists()


def hostile_files():
    good = b"\x93NUMPY\x01\x00"

    def npy(header, data=b"\0" * 16):
        return good + len(header).to_bytes(2, "little") + header + data

    def tensors(header, data=b""):
        return len(header).to_bytes(8, "little") + header + data
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
    yield "safetensors", tensors(b"[]")
    yield "safetensors", tensors(b"{" * 100000)
    yield "safetensors", tensors(b'{"a":' * 5000)
    for shape, span in (("[2]", "[0,4]"), ("[2]", "[8,0]"), ("[2]", "[0,99]"), ("[-1]", "[0,8]"),
                        ("[4611686018427387904,4]", "[0,0]"), ("[1.5]", "[0,8]"), ("[2]", "[4,12]")):
        yield "safetensors", tensors(b'{"a":{"dtype":"F32","shape":%s,"data_offsets":%s}}' % (
            shape.encode(), span.encode()), b"\0" * 8)
    yield "safetensors", tensors(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
                                 b'"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', b"\0" * 4)
    yield "safetensors", tensors(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
                                 b'"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}', b"\0" * 8)


@pytest.mark.parametrize("number", range(len(list(hostile_files()))))
def test_hostile_files(attn, tensors, tmp_path, number):
    kind, content = list(hostile_files())[number]
    (tmp_path / f"bad.{kind}").write_bytes(content)
    message = attn("run", "--q", f"bad.{kind}", "--k", "k.npy", "--v", "v.npy", "-o", "o.npy",
                   status=2).stderr
    assert "ATTN_ERR_" in message and f"bad.{kind}" in message
    assert not (tmp_path / "o.npy").exists()


def test_every_truncation_is_refused(attn, tmp_path):
    np.save(tmp_path / "whole.npy", np.ones((1, 2), np.float32))
    whole = (tmp_path / "whole.npy").read_bytes()
    for cut in range(0, len(whole), 7):
        (tmp_path / "cut.npy").write_bytes(whole[:cut])
        attn("info", "cut.npy", status=2)


def test_no_file_where_the_disk_is_full(attn, tensors):
    assert attn("run", *INPUTS, "-o", "/dev/full/o.npy", status=2).stderr
    with open("/dev/full", "w") as full:
        done = subprocess.run([ATTN, "info"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and "No space" in done.stderr


def test_ctrl_c_leaves_no_file(tmp_path):
    x = np.zeros((1, 1, 60000, 64), np.float32)
    np.save(tmp_path / "x.npy", x)
    run = subprocess.Popen([ATTN, "run", "--q", "x.npy", "--k", "x.npy", "--v", "x.npy", "-o", "o.npy"],
                           cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                           env={**os.environ, "ATTN_ISA": "scalar"})
    time.sleep(1)
    assert run.poll() is None, "it ended before it could be interrupted: nothing is shown"
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == 130
    assert sorted(os.listdir(tmp_path)) == ["x.npy"]
