"""attn, attn --help and attn info."""
import json

import numpy as np
import pytest
from conftest import read_safetensors, safetensors
from safetensors.numpy import save_file


def test_help_and_version(attn):
    assert "attn COMMAND" in attn("--help").stdout
    assert attn("--version").stdout.startswith("attn 0.")
    assert "examples:" in attn("run", "--help").stdout
    assert attn("help", "info").stdout == attn("info", "--help").stdout
    assert "attn COMMAND" in attn(status=2).stderr


def test_the_nearest_name_is_suggested(attn):
    assert 'did you mean "run"' in attn("rnu", status=2).stderr
    assert "did you mean --causal" in attn("run", "--casual", status=2).stderr


RENAMED = {
    "run": {"--heads": "--num-heads", "--kv-heads": "--num-kv-heads", "--lengths": "--key-lengths"},
    "train": {"--accumulate": "--gradient-accumulation-steps", "--batch": "--batch-size", "--clip": "--max-grad-norm",
              "--decay": "--weight-decay", "--examine": "--test-examples", "--examples": "--max-validation-examples",
              "--held-out": "--validation-data", "--rate": "--learning-rate", "--replace": "--overwrite",
              "--schedule": "--lr-schedule", "--smoothing": "--label-smoothing", "--until": "--target-exact-match",
              "--warm-up": "--warmup-steps"},
    "generate": {"--beams": "--num-beams", "--most": "--max-new-tokens", "--n-best": "--num-return-sequences",
                 "--together": "--batch-size"},
    "embed": {"--raw": "--no-normalize", "--together": "--batch-size"},
}


@pytest.mark.parametrize("command", RENAMED)
def test_a_renamed_option_names_the_new_one(attn, command):
    options = attn(command, "--help").stdout
    for old, new in RENAMED[command].items():
        assert new in options
        for given in ([old, "1"], [old + "=1"]):
            assert attn(command, *given, status=2).stderr == f"attn {command}: {old} is now {new}\nTry: attn {command} --help\n"
    assert "unknown option --clip" in attn("run", "--clip", status=2).stderr, "run has no --max-grad-norm"


@pytest.mark.parametrize("arguments, message", [
    (["train", "dates", "--threads", 5000], "--threads must be between 0 and 1024, got 5000"),
    (["train", "dates", "--steps", "many"], '--steps must be an integer, got "many"'),
    (["run", "--scale", "1,5"], '--scale must be a number, got "1,5"'),
    (["generate", "m", "--num-beams", -1], "--num-beams must be between 0 and 4096, got -1"),
    (["generate", "m", "--precision", "int8"], '--precision must be float32 or bf16, got "int8"'),
    (["show", "m", "--input", "x", "--kind", "self"], '--kind must be encoder, decoder or cross, got "self"'),
    (["check", "--lang", "fr", "x.md"], '--lang must be en or ja, got "fr"'),
    (["explain", "--width", 5, "x.md"], "--width must be between 20 and 10000, got 5")])
def test_a_wrong_value_is_named_with_the_accepted_ones(attn, arguments, message):
    assert attn(*arguments, status=2).stderr.splitlines()[0] == f"attn {arguments[0]}: {message}"


def test_the_machine(attn):
    out = attn("info").stdout
    assert "kernels" in out and "f32 scalar" in out
    assert json.loads(attn("info", "--json").stdout)["schema"] == "attn-info/1"
    is_best = json.loads(attn("info", "--json").stdout)["isa_best"] == "scalar"
    assert ("scalar (selected by ATTN_ISA)" in attn("info", env={"ATTN_ISA": "scalar"}).stdout) != is_best
    assert "calls will fail" in attn("info", env={"ATTN_ISA": "none"}).stdout


def test_the_machine_as_json(attn):
    machine = json.loads(attn("info", "--json", "--measure", env={"ATTN_ISA": "scalar"}).stdout)
    assert machine["isa"] == "scalar" and machine["isa_invalid"] is False and machine["threads"] >= 1
    assert any("scalar" in kernel for kernel in machine["kernels"])
    assert machine["gflops"] > 0 and machine["gbytes"] > 0 and machine["bf16_gflops"] == 0
    best = json.loads(attn("info", "--json", "--measure").stdout)
    # dot products: 2 times float32 (Zen 4) or half; tiles: 16 times
    low, high = {"avx512_bf16": (0.4, 3), "amx_bf16": (8, 20)}.get(best["isa"], (0, 0))
    assert low * best["gflops"] <= best["bf16_gflops"] <= high * best["gflops"]
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
    assert "has no tensor \"z\"; attn info --tensors" in attn("info", "m.safetensors:z", status=2).stderr
    listed = json.loads(attn("info", "--json", "m.safetensors:n", "x.npy").stdout)["tensors"]
    assert [(t["file"], t["name"], t["dtype"], t["shape"]) for t in listed] == [
        ("m.safetensors", "n", "int64", [4]), ("x.npy", "", "float64", [5])]
    save_file({}, tmp_path / "none.safetensors")
    assert attn("info", "none.safetensors").stdout == "none.safetensors: no tensors\n"


SMALL = '{"d_model": 16, "num_heads": 4, "num_kv_heads": 2, "ffn_dim": 32, "encoder_layers": 1, "decoder_layers": 3, "max_positions": 40%s}'


def train(attn, name, *words, extra=""):
    attn("train", *words, "-o", name, "--quiet", "--config", SMALL % extra)
    return json.loads(attn("info", "--json", name).stdout)


def test_a_checkpoint(attn, tmp_path):
    """Kind, sizes, training and its last validation, as in the metadata."""
    info = train(attn, "d.safetensors", "dates", "--steps", 7, "--validate-every", 3, "--max-validation-examples", 5, "--test-examples", 0)
    assert info["tensors"] == []
    model, = info["models"]
    metadata = read_safetensors(tmp_path / "d.safetensors")[0]["__metadata__"]
    run, training = json.loads(metadata["run"]), json.loads(metadata["training"])
    assert (model["kind"], model["encoder_layers"], model["decoder_layers"]) == ("encoder-decoder", 1, 3)
    assert (model["num_heads"], model["num_kv_heads"], model["d_model"], model["ffn_dim"], model["max_positions"]) == (4, 2, 16, 32, 40)
    assert model["vocab_size"] == len(json.loads(metadata["tokenizer"])["model"]["vocab"]) and model["tokenizer"] == "characters"
    weights = [t for t in json.loads(attn("info", "--json", "--tensors", "d.safetensors").stdout)["tensors"] if not t["name"].startswith("adamw.")]
    assert model["parameter_count"] == sum(int(np.prod(t["shape"])) for t in weights)
    assert model["training"] == {"step": training["step"], "task": "dates", "data": None, "precision": "float32",
                                 "validation": {"step": training["step"], "max_examples": 5, "exact_match": run["validation_exact_match"], "loss": run["validation_loss"]}}
    out = attn("info", "d.safetensors").stdout
    for part in ("encoder-decoder", "1 encoder, 3 decoder; 4 heads, 2 key/value heads", "characters", "on the task dates",
                 f"exact match {100 * run['validation_exact_match']:.2f} %, loss {run['validation_loss']:.4f}", "of at most 5 held-out examples", f"at step {training['step']}"):
        assert part in out, part
    assert "adamw" not in out and len(out.splitlines()) < 13


def test_other_checkpoints(attn, tmp_path):
    (tmp_path / "pairs.tsv").write_text("".join(f"{n} a\t{n} b\n" for n in range(30)))
    one = train(attn, "one.safetensors", "--data", "pairs.tsv", "--steps", 2, "--precision", "bf16", extra=', "kind": "decoder"')["models"][0]
    assert (one["kind"], one["encoder_layers"], one["training"]["precision"], one["training"]["data"]) == ("decoder", 0, "bf16", "pairs.tsv")
    out = attn("info", "one.safetensors").stdout
    assert "layers      3; 4 heads" in out and "in bf16 on the file pairs.tsv" in out


@pytest.mark.parametrize("gone", [["run"], ["training"], ["run", "training"]])
def test_a_checkpoint_of_another_writer(attn, tmp_path, gone):
    """Without metadata of training the model opens, and the training is unknown."""
    train(attn, "d.safetensors", "dates", "--steps", 1, "--max-validation-examples", 2, "--test-examples", 0)
    header, data = read_safetensors(tmp_path / "d.safetensors")
    metadata = header["__metadata__"]
    for name in gone:
        metadata[name] = "["
        if len(gone) > 1:
            del metadata[name]
    (tmp_path / "e.safetensors").write_bytes(safetensors(header, data))
    model = json.loads(attn("info", "--json", "e.safetensors").stdout)["models"][0]
    assert model["kind"] == "encoder-decoder" and (model["training"] is None) == ("run" in gone)
    assert ("not recorded" in attn("info", "e.safetensors").stdout) == ("run" in gone)


def test_tensors_of_a_checkpoint(attn, tmp_path):
    """Those of the optimizer last; one by its name, as in any file. A damaged checkpoint is an error, not a list."""
    train(attn, "d.safetensors", "dates", "--steps", 1, "--max-validation-examples", 2, "--test-examples", 0)
    names = [line.split(":")[1] for line in attn("info", "--tensors", "d.safetensors").stdout.splitlines()]
    first = next(n for n, name in enumerate(names) if name.startswith("adamw."))
    assert first == len(names) // 3 and all(name.startswith("adamw.") for name in names[first:])
    assert attn("info", "d.safetensors:output.bias").stdout.startswith("d.safetensors:output.bias: float32 (")
    data = (tmp_path / "d.safetensors").read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(data.replace(b'\\"num_heads\\":4', b'\\"num_heads\\":5', 1))
    assert attn("info", "cut.safetensors", status=2).stderr.startswith("attn: cut.safetensors: error: ")
    assert "output.bias" in attn("info", "--tensors", "cut.safetensors").stdout


def test_only_the_header_is_read(attn, tmp_path):
    """A sparse file of 64 GiB is listed at once and in little memory."""
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
