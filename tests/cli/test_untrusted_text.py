"""Untrusted text (names in files, tokens, documents, arguments) is printed without control characters and direction
marks, and JSON preserves it exactly."""
import json
import os
import re
import subprocess

import numpy as np
import pytest
from conftest import ATTN, SOURCE, json_lines, safetensors
from safetensors.numpy import save_file

# C0, DEL, C1, direction marks, Unicode line and paragraph separators.
HIDDEN = "\x1b\x07\x08\r\x7f\x85\x9b\x9d\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u206f\ufff9"
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb]")
NAME = "a" + "b".join(HIDDEN) + "z"
TORN = b"n\x9b31m\xc3\xe2\x80\xff"  # C1 as a bare byte, and other bytes that are not UTF-8
MODEL = '{"d_model": 8, "num_heads": 2, "ffn_dim": 8, "encoder_layers": 1, "decoder_layers": 1, "max_positions": 512%s}'


def attn(*words, cwd=None, **options):
    done = subprocess.run([ATTN, *words], capture_output=True, cwd=cwd, timeout=120, **options)
    assert done.returncode in (0, 1, 2), done
    return done


def is_plain(data):
    text = data.decode()  # fails unless UTF-8
    found = RAW.search(text)
    assert not found, f"U+{ord(found[0]):04X} in {text[max(0, found.start() - 60):found.end() + 20]!r}"
    return text


def shown(*words, **options):
    """Checks both streams, returns standard output."""
    done = attn(*words, **options)
    is_plain(done.stderr)
    return is_plain(done.stdout)


def json_of(*words, **options):
    return json_lines(shown(*words, "--json", **options))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Tensors, lessons and data with such names, and models trained on such text."""
    folder = tmp_path_factory.mktemp("untrusted")
    save_file({NAME: np.zeros((2, 2), np.float32)}, folder / "t.safetensors")
    header = {"x": {"dtype": NAME, "shape": [1], "data_offsets": [0, 1]}}
    (folder / "type.safetensors").write_bytes(safetensors(header, b"\0"))
    np.save(folder / f"{NAME}.npy", np.zeros((3, 2), np.float32))
    (folder / os.fsdecode(TORN + b".npy")).write_bytes((folder / f"{NAME}.npy").read_bytes())
    label = "".join(c for c in NAME if c >= " ")  # C0 in a document is refused
    (folder / "control.md").write_text(f"# {NAME}\n\nX\n1 2\n")
    table = "| | c1 | c2 |\n|--|--|--|\n" + f"| {label} | 1 | 0 |\n| b{label} | 0 | 1 |\n\n"
    lesson = f"# {label}\n\nQ{label}\n\nX:\n\n{table}W_Q:\n\n| 1 | 0 |\n|--|--|\n| 0 | 1 |\n\nQ:\n\n{table}scores = Q K^T\n"
    (folder / "lesson.md").write_bytes(lesson.encode())
    (folder / f"{NAME}.md").write_text("X\n1 2\n3\n")
    line = NAME.replace("\r", "")
    (folder / "pairs.tsv").write_text("".join(f"{n}{line}\t{line}{n}\n" for n in range(8)), newline="")
    (folder / "bad.tsv").write_text(f"{line}{NAME}\n", newline="")
    for name, extra, tokenizer in (("two", "", "characters"), ("one", ', "kind": "decoder"', "characters"),
                                   ("pieces", "", "bpe:270")):
        done = attn("train", "--data", "pairs.tsv", "--validation-data", "pairs.tsv", "-o", f"{name}.safetensors", "--config", MODEL % extra,
                    "--tokenizer", tokenizer, "--steps", "3", "--quiet", cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def test_names_in_tensor_files(files):
    shown("info", "t.safetensors", "type.safetensors", f"{NAME}.npy", cwd=files)
    shown("info", TORN + b".npy", cwd=files)
    shown("info", f"t.safetensors:{NAME}x", cwd=files)
    listed, = json_of("info", "t.safetensors", f"{NAME}.npy", cwd=files)
    assert [t["name"] for t in listed["tensors"]] == [NAME, ""]
    assert listed["tensors"][1]["file"] == f"{NAME}.npy"
    assert json_of("info", TORN + b".npy", cwd=files)[0]["tensors"][0]["file"].startswith("n\ufffd31m")


def test_names_of_files_that_are_computed_with(files):
    q = f"{NAME}.npy"
    inputs = ["run", "--q", q, "--k", q, "--v", q]
    shown(*inputs, "-o", f"out{NAME}.npy", "--verify", cwd=files)
    json_of(*inputs, "-o", f"out{NAME}.npy", "--verify", cwd=files)
    for wrong in (["-o", q], ["-o", f"{NAME}/x.npy"], ["--plan", "--mask", NAME], ["--plan", "--window", NAME], ["--plan", "--align", NAME],
                  ["--plan", "--scale", NAME], [f"--{NAME}"], [NAME], ["--plan", "--key-lengths", NAME]):
        shown(*inputs, *wrong, cwd=files)
    attn("run", "--q", b"no" + TORN, "--k", q, "--v", q, "--plan", cwd=files)
    is_plain(attn("run", "--q", b"no" + TORN, "--k", q, "--v", q, "--plan", cwd=files).stderr)


def test_names_of_checkpoints(files):
    """The output of training and of a resumed run."""
    tiny = ["--config", MODEL % "", "--steps", "1", "--max-validation-examples", "1", "--batch-size", "1", "--test-examples", "1"]
    shown("train", "reverse", *tiny, "-o", f"t{NAME}", cwd=files)
    results = json_of("train", "--resume", f"t{NAME}.last.safetensors", "-o", f"t{NAME}", cwd=files)
    assert results[-1]["output"] == f"t{NAME}"
    shown("train", "--resume", f"t{NAME}.last.safetensors", "-o", f"t{NAME}", cwd=files)


def test_documents(files):
    for command in ("check", "explain"):
        for path in ("lesson.md", "control.md", f"{NAME}.md", f"no{NAME}", b"no" + TORN):
            shown(command, path, cwd=files)
            json_of(command, path, cwd=files)
    for cell in ("Q[0,0]", f"Q[{NAME},0]", f"{NAME}[0,0]", NAME):
        shown("explain", "lesson.md", "--cell", cell, cwd=files)
    written, = json_of("explain", "lesson.md", cwd=files)
    assert "\u202e" in json.dumps(written, ensure_ascii=False), "JSON preserves the tokens"


def test_pictures(files):
    attn("explain", "lesson.md", "--svg", "l.svg", "--html", "l.html", cwd=files)
    attn("show", "two.safetensors", "--input", NAME, "--svg", "s.svg", "--html", "s.html", cwd=files)
    for name in ("l.svg", "l.html", "s.svg", "s.html"):
        is_plain((files / name).read_bytes())


def test_new_lessons(files):
    for tokens in (NAME, f"ab {NAME} cd", "ab\x9bcd ef", "ab\u202ecd ef", TORN):
        shown("new", "--tokens", tokens, cwd=files)
    shown("new", NAME, cwd=files)


@pytest.mark.parametrize("model", ["two", "one", "pieces"])
def test_model_input_and_output(files, model):
    path = f"{model}.safetensors"
    shown("info", path, cwd=files), shown("info", "--tensors", path, cwd=files), json_of("info", path, cwd=files)
    shown("generate", path, NAME, cwd=files)
    shown("generate", path, cwd=files, input=(NAME.replace("\r", "") + "\n").encode())
    result, = json_of("generate", path, NAME, cwd=files)
    assert result["source"] == NAME
    shown("generate", path, TORN, cwd=files)
    shown("show", path, "--input", NAME, cwd=files)
    rows = json_of("show", path, "--input", NAME, cwd=files)[0]
    if model != "pieces":
        assert set(rows["key_tokens"]) - {"<s>", "</s>", "<unk>"} <= set(NAME) and NAME[1] in rows["key_tokens"]
    for extra in ([], ["--lesson"], ["--cell", "weights[0,0]"], ["--cell", f"weights[{NAME},0]"], ["--json"]):
        shown("explain", path, "--input", NAME, *extra, cwd=files)
    for command in ("show", "explain"):
        shown(command, path, "--input", TORN, cwd=files)


def test_embeddings(files):
    shown("embed", "two.safetensors", NAME, "ab", cwd=files)
    one, two = json_of("embed", "two.safetensors", NAME, "ab", cwd=files)
    assert one["text"] == NAME and two["text"] == "ab"
    shown("embed", "two.safetensors", TORN, cwd=files)
    shown("embed", f"{NAME}.npy", "ab", cwd=files)
    shown("embed", "two.safetensors", "ab", "-o", f"{NAME}/x.npy", cwd=files)


@pytest.mark.parametrize("words", [
    [NAME], ["train", NAME], ["train", "--data", NAME, "-o", "x.safetensors"], ["train", "--data", "bad.tsv", "-o", "x.safetensors"],
    ["train", "dates", "--config", NAME], ["train", "dates", "--config", '{"' + NAME + '": 1}', "-o", "x.safetensors"],
    ["train", "dates", "--tokenizer", NAME, "-o", "x.safetensors"], ["train", "dates", "--lr-schedule", NAME, "-o", "x.safetensors"],
    ["train", "--resume", NAME, "-o", "x.safetensors"], ["train", "dates", "-o", f"{NAME}/x.safetensors"],
    ["generate", NAME, "x"], ["generate", "two.safetensors", "x", "--precision", NAME], ["show", NAME, "--input", "x"],
    ["show", "two.safetensors", "--input", "x", "--kind", NAME], ["explain", NAME, "--input", "x"], ["embed", NAME, "x"],
    ["info", NAME], ["info", "--threads", NAME], ["check", "--lang", NAME, "lesson.md"], ["help", NAME],
    [b"no" + TORN], ["info", b"no" + TORN], ["train", b"no" + TORN], ["generate", b"no" + TORN, "x"]])
def test_arguments_in_messages(files, words):
    done = attn(*words, cwd=files)
    assert done.returncode == 2 and done.stderr
    is_plain(done.stderr + done.stdout)


def test_the_environment(files):
    for name in ("ATTN_ISA", "ATTN_THREADS"):
        environment = {**os.environ, name: NAME}
        is_plain(attn("info", env=environment).stdout)
        json.loads(is_plain(attn("info", "--json", env=environment).stdout))


def test_only_the_console_writes_messages():
    """No other source file of the command writes "attn: .." to standard error."""
    for path in sorted((SOURCE / "cli").glob("*.c")):
        assert path.name == "console.c" or 'fprintf(stderr, "attn' not in path.read_text(), path.name
