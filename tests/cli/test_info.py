"""attn, attn --help and attn info."""
import json

import numpy as np


def test_help_and_version(attn):
    assert "attn COMMAND" in attn("--help").stdout
    assert attn("--version").stdout.startswith("attn 0.")
    assert "examples:" in attn("run", "--help").stdout
    assert attn("help", "info").stdout == attn("info", "--help").stdout
    assert "attn COMMAND" in attn(status=2).stderr


def test_a_near_miss_is_named(attn):
    assert 'did you mean "run"' in attn("rnu", status=2).stderr
    assert "did you mean --causal" in attn("run", "--casual", status=2).stderr


def test_the_machine(attn):
    out = attn("info").stdout
    assert "kernels" in out and "f32 scalar" in out
    assert json.loads(attn("info", "--json").stdout)["schema"] == "attn-info/1"
    assert "asked for" in attn("info", env={"ATTN_ISA": "scalar"}).stdout or "scalar" in out
    assert "calls will fail" in attn("info", env={"ATTN_ISA": "none"}).stdout


def test_a_tensor_file(attn, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 1, 2), np.float16))
    assert attn("info", "x.npy").stdout == "x.npy: float16 (3, 1, 2)\n"
    assert "No such file" in attn("info", "none.npy", status=2).stderr
