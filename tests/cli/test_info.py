"""attn, attn --help and attn info."""
import json

import numpy as np
from safetensors.numpy import save_file


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


def test_the_machine_as_json(attn):
    machine = json.loads(attn("info", "--json", "--measure", env={"ATTN_ISA": "scalar"}).stdout)
    assert machine["isa"] == "scalar" and machine["isa_unknown"] is False and machine["threads"] >= 1
    assert any("scalar" in kernel for kernel in machine["kernels"])
    assert machine["gflops"] > 0 and machine["gbytes"] > 0
    assert json.loads(attn("info", "--json", env={"ATTN_ISA": "none"}).stdout)["isa_unknown"] is True
    out = attn("info", env={"ATTN_THREADS": "3", "ATTN_ISA": "scalar"}).stdout
    assert "3 threads" in out and "ATTN_THREADS=3" in out and "ATTN_ISA=scalar" in out


def test_the_tensors_of_a_file(attn, tmp_path):
    save_file({"layer.0.q": np.zeros((2, 3), np.float32), "n": np.arange(4), "b": np.zeros(2, np.int8)},
              tmp_path / "m.safetensors")
    np.save(tmp_path / "x.npy", np.zeros(5, ">f8"))
    out = attn("info", "m.safetensors", "x.npy").stdout
    assert sorted(out.splitlines()) == ["m.safetensors:b: int8 (2,)", "m.safetensors:layer.0.q: float32 (2, 3)",
                                        "m.safetensors:n: int64 (4,)", "x.npy: float64 (5,)"]
    assert attn("info", "m.safetensors:n").stdout == "m.safetensors:n: int64 (4,)\n"
    assert "no tensor of that name" in attn("info", "m.safetensors:z", status=2).stderr
    listed = json.loads(attn("info", "--json", "m.safetensors:n", "x.npy").stdout)["tensors"]
    assert [(t["file"], t["name"], t["dtype"], t["shape"]) for t in listed] == [
        ("m.safetensors", "n", "int64", [4]), ("x.npy", "", "float64", [5])]
    save_file({}, tmp_path / "none.safetensors")
    assert attn("info", "none.safetensors").stdout == "none.safetensors: no tensors\n"


def test_only_the_header_is_read(attn, tmp_path):
    """A file of 64 GiB, nearly all of it a hole, is listed at once and in little memory."""
    size = 1 << 36
    header = b'{"big":{"dtype":"F32","shape":[%d],"data_offsets":[0,%d]}}' % (size // 4, size)
    with open(tmp_path / "big.safetensors", "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + size)
    assert attn("info", "big.safetensors").stdout == f"big.safetensors:big: float32 ({size // 4},)\n"


def test_a_tensor_file(attn, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 1, 2), np.float16))
    assert attn("info", "x.npy").stdout == "x.npy: float16 (3, 1, 2)\n"
    assert "No such file" in attn("info", "none.npy", status=2).stderr
