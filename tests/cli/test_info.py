"""attn, attn --help and attn info."""
import json

import numpy as np
import pytest
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
    assert machine["isa"] == "scalar" and machine["isa_invalid"] is False and machine["threads"] >= 1
    assert any("scalar" in kernel for kernel in machine["kernels"])
    assert machine["gflops"] > 0 and machine["gbytes"] > 0
    assert json.loads(attn("info", "--json", env={"ATTN_ISA": "none"}).stdout)["isa_invalid"] is True
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


SMALL = '{"d_model": 16, "num_heads": 4, "num_kv_heads": 2, "ffn_dim": 32, "encoder_layers": 1, "decoder_layers": 3, "max_positions": 40%s}'


def train(attn, name, *words, extra=""):
    attn("train", *words, "-o", name, "--quiet", "--config", SMALL % extra)
    return json.loads(attn("info", "--json", name).stdout)


def metadata(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8:8 + size])["__metadata__"], data, size


def test_a_checkpoint_says_what_it_is(attn, tmp_path):
    """Kind, sizes, how it was trained, and the figure of its own last validation: as its metadata say."""
    told = train(attn, "d.safetensors", "dates", "--steps", 7, "--validate-every", 3, "--examples", 5, "--examine", 0)
    assert told["tensors"] == []
    model, = told["models"]
    words, _, _ = metadata(tmp_path / "d.safetensors")
    run, training = json.loads(words["run"]), json.loads(words["training"])
    assert (model["kind"], model["encoder_layers"], model["decoder_layers"]) == ("encoder-decoder", 1, 3)
    assert (model["heads"], model["kv_heads"], model["width"], model["hidden"], model["length"]) == (4, 2, 16, 32, 40)
    assert model["vocabulary"] == len(json.loads(words["tokenizer"])["model"]["vocab"]) and model["tokenizer"] == "characters"
    weights = [t for t in json.loads(attn("info", "--json", "--tensors", "d.safetensors").stdout)["tensors"] if not t["name"].startswith("adamw.")]
    assert model["parameters"] == sum(int(np.prod(t["shape"])) for t in weights)
    assert model["training"] == {"step": training["step"], "task": "dates", "data": None, "precision": "float32",
                                 "held_out": {"step": training["step"], "examples_at_most": 5, "exact": run["validation_exact_match"], "loss": run["validation_loss"]}}
    out = attn("info", "d.safetensors").stdout
    for part in ("encoder-decoder", "1 of the encoder, 3 of the decoder; 4 heads, 2 of keys", "characters", "task dates",
                 f"{100 * run['validation_exact_match']:.2f} % of replies right, loss {run['validation_loss']:.4f}", "on up to 5 examples", f"at step {training['step']}"):
        assert part in out, part
    assert "adamw" not in out and len(out.splitlines()) < 10


def test_other_checkpoints(attn, tmp_path):
    (tmp_path / "pairs.tsv").write_text("".join(f"{n} a\t{n} b\n" for n in range(30)))
    one = train(attn, "one.safetensors", "--data", "pairs.tsv", "--steps", 2, "--precision", "bf16", extra=', "kind": "decoder"')["models"][0]
    assert (one["kind"], one["encoder_layers"], one["training"]["precision"], one["training"]["data"]) == ("decoder", 0, "bf16", "pairs.tsv")
    out = attn("info", "one.safetensors").stdout
    assert "layers      3; 4 heads" in out and "in bf16, on the file pairs.tsv" in out


@pytest.mark.parametrize("gone", [["run"], ["training"], ["run", "training"]])
def test_a_checkpoint_of_another_writer(attn, tmp_path, gone):
    """What nobody says of training is not known; the model opens all the same."""
    train(attn, "d.safetensors", "dates", "--steps", 1, "--examples", 2, "--examine", 0)
    words, data, size = metadata(tmp_path / "d.safetensors")
    header = json.loads(data[8:8 + size])
    header["__metadata__"] = {k: "[" if k in gone and len(gone) == 1 else v for k, v in words.items() if k not in gone or len(gone) == 1}
    text = json.dumps(header).encode()
    (tmp_path / "e.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size:])
    told = json.loads(attn("info", "--json", "e.safetensors").stdout)["models"][0]
    assert told["kind"] == "encoder-decoder" and (told["training"] is None) == ("run" in gone)
    assert ("says nothing of it" in attn("info", "e.safetensors").stdout) == ("run" in gone)


def test_tensors_of_a_checkpoint(attn, tmp_path):
    """On request, the optimizer's last; one by its name as in any file. Damage is an error, not a list."""
    train(attn, "d.safetensors", "dates", "--steps", 1, "--examples", 2, "--examine", 0)
    names = [line.split(":")[1] for line in attn("info", "--tensors", "d.safetensors").stdout.splitlines()]
    first = next(n for n, name in enumerate(names) if name.startswith("adamw."))
    assert first == len(names) // 3 and all(name.startswith("adamw.") for name in names[first:])
    assert attn("info", "d.safetensors:output.bias").stdout.startswith("d.safetensors:output.bias: float32 (")
    words, data, size = metadata(tmp_path / "d.safetensors")
    (tmp_path / "cut.safetensors").write_bytes(data.replace(b'\\"num_heads\\":4', b'\\"num_heads\\":5', 1))
    assert attn("info", "cut.safetensors", status=2).stderr.startswith("attn: cut.safetensors: error: ")
    assert "output.bias" in attn("info", "--tensors", "cut.safetensors").stdout


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
