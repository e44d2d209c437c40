"""Errors are attn: FILE:LINE:COLUMN: error: MESSAGE, without error codes and without repeated file names. Text outside
the vocabulary is a warning in the same style, and a member of --json."""
import json
import re

import pytest
from conftest import LESSONS, SOURCE, json_lines

FEW = ["--steps", 1, "--quiet", "--config", '{"d_model": 8, "num_heads": 2, "ffn_dim": 8, "encoder_layers": 1, "decoder_layers": 1, "max_positions": 64}']


@pytest.fixture
def model(attn):
    attn("train", "dates", *FEW, "--test-examples", 0, "--max-validation-examples", 2, "-o", "m.safetensors")
    return "m.safetensors"


@pytest.fixture
def words(attn, tmp_path):
    (tmp_path / "w.tsv").write_text("the cat sat\tA B C\nthe dog ran\tA D E\n")
    attn("train", "--data", "w.tsv", "--validation-data", "w.tsv", *FEW, "--tokenizer", "words", "-o", "w.safetensors")
    return "w.safetensors"


def wrong(attn, *arguments, **options):
    message = attn(*arguments, status=2, **options).stderr
    assert "ATTN_ERR" not in message
    return message


@pytest.mark.parametrize("arguments", [
    ["info", "FILE"], ["info", "FILE:x"], ["check", "FILE"], ["explain", "FILE"], ["explain", "FILE", "--input", "x"],
    ["run", "--q", "FILE", "--k", "FILE", "--v", "FILE", "--plan"], ["train", "--data", "FILE", "-o", "x.safetensors"],
    ["train", "--resume", "FILE", "-o", "x.safetensors"], ["train", "dates", "--config", "FILE"],
    ["generate", "FILE", "x"], ["show", "FILE", "--input", "x"],
    ["embed", "FILE", "x"]])
@pytest.mark.parametrize("name", ["none.safetensors", "nowhere/none.safetensors"])
def test_a_missing_file_is_named_once(attn, arguments, name):
    message = wrong(attn, *[a.replace("FILE", name) for a in arguments])
    assert re.match(rf"attn: {name}: error: cannot open: No such file", message) and message.count(name) == 1, message


def test_a_line_of_data_is_named(attn, tmp_path):
    """The error that docs/models.md shows."""
    (tmp_path / "pairs.tsv").write_text("a\tb\n" * 16 + "no tab\n")
    assert wrong(attn, "train", "--data", "pairs.tsv", "-o", "x.safetensors") == "attn: pairs.tsv:17:1: error: line has no tab; expected source<TAB>target\n"
    assert "attn: pairs.tsv:17:1: error: line has no tab; expected source<TAB>target" in (SOURCE / "docs/models.md").read_text()


def test_a_line_of_a_document_is_named(attn, tmp_path):
    (tmp_path / "x.md").write_text("X\n1 2\n3\n")
    assert re.match(r"attn: x\.md:\d+:\d+: error: ", wrong(attn, "check", "x.md"))


def test_a_written_picture_is_named(attn, model):
    assert attn("explain", LESSONS / "03-causal.md", "--svg", "a.svg", "--html", "a.html").stdout == "wrote a.svg\nwrote a.html\n"
    assert attn("show", model, "--input", "12 May 1991", "--html", "b.html").stdout == "wrote b.html\n"


def test_a_byte_of_a_file_is_named(attn, tmp_path):
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY")
    assert re.match(r"attn: x\.npy: byte \d+: error: ", wrong(attn, "info", "x.npy"))


@pytest.mark.parametrize("text, place", [("ab\0cd", "1:3"), ("ab\n猫犬\0\n", "2:3"), ("\0", "1:1"), ("a\nb\n\0", "3:1")])
def test_a_nul_byte_is_refused(attn, model, tmp_path, text, place):
    """With its location. A C string would end there."""
    (tmp_path / "c.json").write_text(text)
    assert f"attn: -:{place}: error: contains a NUL byte" in wrong(attn, "embed", model, input=text)
    assert f"attn: -:{place}: error: contains a NUL byte" in wrong(attn, "generate", model, input=text)
    assert f"attn: c.json:{place}: error: contains a NUL byte" in wrong(attn, "train", "dates", "--config", "c.json", "-o", "x.safetensors")
    (tmp_path / "c.tsv").write_text("a\tb\n" + text.replace("\n", "\t\n"))
    assert "error: " in wrong(attn, "train", "--data", "c.tsv", "-o", "x.safetensors")
    for command in ("check", "explain"):
        assert "error: " in wrong(attn, command, "c.json")
    assert not (tmp_path / "x.safetensors").exists()


# ---- Text outside the vocabulary ----

def test_unknown_characters_are_reported(attn, model):
    """A warning each, with line and character. The output is still generated, and --json has the member."""
    done = attn("generate", model, input="5月\n1Zé2猫\n")
    assert done.stderr.splitlines() == [f'attn: -:2:{at}: warning: "{part}" is not in the model\'s vocabulary and is read as <unk>'
                                        for at, part in ((2, "Z"), (3, "é"), (5, "猫"))]
    assert len(done.stdout.splitlines()) == 2
    results = json_lines(attn("generate", model, "5月", "1Zé2猫", "--json").stdout)
    expected = [{"text": "Z", "character": 2}, {"text": "é", "character": 3}, {"text": "猫", "character": 5}]
    assert [r["unknown"] for r in results] == [[], expected]
    assert "attn: text 2:1:2: warning: " in attn("generate", model, "5月", "1Z").stderr
    many = attn("generate", model, "Z" * 9).stderr.splitlines()
    assert len(many) == 3 and many[2].endswith("(and 6 more)")


def test_unknown_words_are_reported(attn, words):
    done = attn("generate", words, "the  catt sat  <unk>", "--json")
    assert json.loads(done.stdout)["unknown"] == [{"text": "catt", "character": 6}, {"text": "<unk>", "character": 16}]
    assert '"catt" is not in' in done.stderr


def test_every_command_that_reads_a_text_reports_them(attn, model):
    warning = 'warning: "Z" is not in the model\'s vocabulary'
    shown = attn("show", model, "--input", "5Z", "--target", "Z", "--json")
    assert f"attn: --input:1:2: {warning}" in shown.stderr and f"attn: --target:1:1: {warning}" in shown.stderr
    head = json_lines(shown.stdout)[0]
    assert head["input"]["unknown"] == [{"text": "Z", "character": 2}] and head["target"]["unknown"] == [{"text": "Z", "character": 1}]
    assert f"attn: --input:1:2: {warning}" in attn("explain", model, "--input", "5Z").stderr
    vectors = attn("embed", model, "5", "5Z", "--json")
    assert [v["unknown"] for v in json_lines(vectors.stdout)] == [[], [{"text": "Z", "character": 2}]]
    assert f"attn: text 2:1:2: {warning}" in vectors.stderr
    assert f"attn: -:2:2: {warning}" in attn("embed", model, input="5\n5Z\n").stderr
