"""attn show, and attn explain of a model: the same attention weights in every form."""
import json
import re

import pytest
from conftest import json_lines
from conftest import run as attn

SMALL = {"d_model": 16, "num_heads": 2, "ffn_dim": 32, "encoder_layers": 1, "decoder_layers": 2}
INPUT = "2005年3月4日"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model that has learned almost nothing: its attention must still be shown correctly."""
    path = tmp_path_factory.mktemp("show") / "dates.safetensors"
    attn("train", "dates", "--steps", 20, "--seed", 3, "--quiet", "--test-examples", 0, "--max-validation-examples", 4, "-o", path,
         "--config", json.dumps(SMALL))
    return path


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    path = tmp_path_factory.mktemp("show") / "sums.safetensors"
    attn("train", "addition", "--steps", 5, "--quiet", "--test-examples", 0, "--max-validation-examples", 4, "-o", path,
         "--config", json.dumps(SMALL | {"kind": "decoder", "positions": "rotary"}))
    return path


def shown(*words):
    return json_lines(attn("show", *words, "--json").stdout)


def test_every_row_is_a_distribution(model):
    """Of every kind, layer and head. The decoder attends to no later token."""
    for kind, layers in (("encoder", 1), ("decoder", 2), ("cross", 2)):
        heads = shown(model, "--input", INPUT, "--kind", kind, "--all")
        assert len(heads) == 1 + layers * 2
        for head in heads:
            for i, row in enumerate(head["weights"]):
                assert len(row) == len(head["key_tokens"])
                assert abs(sum(row) - 1) < 1e-5 and min(row) >= 0
                if kind == "decoder":
                    assert all(p == 0 for p in row[i + 1:])


def test_rows_and_columns_are_the_tokens(model):
    result = json.loads(attn("generate", model, INPUT, "--json").stdout)["results"][0]
    cross = shown(model, "--input", INPUT)[0]
    assert cross["key_tokens"] == list(INPUT) + ["</s>"]
    assert cross["query_tokens"] == list(result["text"]) + ["</s>"] * result["finished"]
    forced = shown(model, "--input", INPUT, "--target", "2005-03-04", "--kind", "decoder")[0]
    assert forced["query_tokens"] == forced["key_tokens"] == ["<s>"] + list("2005-03-04")


def test_the_mean_is_the_mean(model):
    all_heads = shown(model, "--input", INPUT, "--all")
    mean, heads = all_heads[0], all_heads[1:]
    for i, row in enumerate(mean["weights"]):
        for j, p in enumerate(row):
            assert p == pytest.approx(sum(h["weights"][i][j] for h in heads) / len(heads), abs=1e-12)
    one = shown(model, "--input", INPUT, "--layer", 2, "--head", 1)
    assert one == [h for h in heads if h["attention"].endswith("layer 2") and h["title"] == "head 1"]


def test_a_head_as_a_lesson_is_correct(model, tmp_path):
    """attn check recomputes the weights of the model in double precision from q and k. The target is given: how much this
    model generates, and so whether the lesson is short enough to be read whole, depends on the CPU."""
    for kind, layer in (("encoder", 1), ("decoder", 2), ("cross", 2)):
        for head in (1, 2):
            where = ["--input", INPUT, "--target", "2005-03-04", "--kind", kind, "--layer", layer, "--head", head]
            lesson = tmp_path / "head.md"
            lesson.write_text(attn("explain", model, *where, "--lesson").stdout)
            # float32 may round the last of five digits differently: that is doubtful, never wrong.
            assert " weights " in attn("check", lesson).stdout
            before, weights = lesson.read_text().split("weights:\n")
            lesson.write_text(before + "weights:\n" + re.sub(r"0\.(\d)", lambda m: f"0.{(int(m[1]) + 5) % 10}", weights, 1))
            attn("check", lesson, status=1)


def test_heads_of_other_alignments(tmp_path):
    """Every alignment is trained, generates and is shown. The lesson of general alignment has W in Q and is correct."""
    for alignment, message in (("dot", None), ("general", None), ("additive", "got additive"), ("uniform", "got uniform")):
        path, lesson = tmp_path / f"{alignment}.safetensors", tmp_path / "head.md"
        attn("train", "dates", "--steps", 5, "--quiet", "--test-examples", 0, "--max-validation-examples", 4, "-o", path,
             "--config", json.dumps(SMALL | {"alignment": alignment}))
        weights = shown(path, "--input", INPUT, "--layer", 2, "--head", 1)[0]["weights"]
        assert all(abs(sum(row) - 1) < 1e-5 for row in weights)
        assert (max(map(max, weights)) - min(map(min, weights)) < 1e-7) == (alignment == "uniform")
        assert f"heads, alignment {alignment}" in attn("info", path).stdout
        done = attn("explain", path, "--input", INPUT, "--layer", 2, "--head", 1, "--lesson", status=2 if message else 0)
        if message:
            assert f"lessons require alignment dot, scaled or general, {message}" in done.stderr
            continue
        assert ("Q is multiplied by the matrix" in done.stdout) == (alignment == "general")
        lesson.write_text(done.stdout)
        assert " weights " in attn("check", lesson).stdout


def test_a_cell_is_the_weight_that_is_shown(model):
    weights = shown(model, "--input", INPUT, "--layer", 2, "--head", 2)[0]["weights"]
    out = attn("explain", model, "--input", INPUT, "--layer", 2, "--head", 2, "--cell", "weights[3,1]",
                "--precision", 7).stdout
    first = out.split("Scaled scores")[0]
    assert float(first.split("=")[-1]) == pytest.approx(weights[3][1], abs=2e-7)
    assert "Scores: scores = Q K^T" in out and "√8" in out


def test_a_decoder_alone(decoder):
    """It reads --input and then --target: the same as one text of both."""
    whole = shown(decoder, "--input", "12+30\t42", "--all")
    assert whole[0]["query_tokens"] == ["<s>"] + list("12+30\t42")
    for words in (["--target", "12+30\t42"], ["--input", "12+30\t", "--target", "42"]):
        assert [(h["query_tokens"], h["weights"]) for h in shown(decoder, *words, "--all")] == [(h["query_tokens"], h["weights"]) for h in whole]
        attn("explain", decoder, *words, "--cell", "weights[2,1]")
    assert attn("show", decoder, "--input", "12+30").stdout.splitlines()[0] == "12+30", "it generates nothing"
    assert "positions" in attn("show", decoder, "--input", "1" * 40, "--target", "1" * 40, status=2).stderr
    assert "no such kind" in attn("show", decoder, "--input", "1", "--kind", "cross", status=2).stderr


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """Byte-level BPE of almost no Japanese: its tokens end within characters."""
    folder = tmp_path_factory.mktemp("pieces")
    (folder / "pairs.tsv").write_text("".join(f"{n}日は{n}本\t{n} day\n" for n in range(20)))
    attn("train", "--data", folder / "pairs.tsv", "-o", folder / "p.safetensors", "--tokenizer", "bpe:262", "--steps", 2, "--quiet",
         "--config", json.dumps(SMALL))
    return folder / "p.safetensors"


def test_a_token_that_is_a_part_of_a_character_has_a_name(pieces):
    """A byte that is not UTF-8 by itself is <0xE6>, in show and in explain."""
    source = "日は猫é"
    tokens = shown(pieces, "--input", source, "--kind", "encoder")[0]["key_tokens"]
    assert "<0xE7>" in tokens and "\ufffd" not in "".join(tokens)
    bytes_of = lambda t: bytes(int(n, 16) for n in re.findall("<0x(..)>", t)) if "<0x" in t else t.encode()
    assert b"".join(bytes_of(t) for t in tokens[:-1]).decode() == source
    lesson = json.loads(attn("explain", pieces, "--input", source, "--kind", "encoder", "--json").stdout)
    assert [t.strip('"') for t in lesson["examples"][0]["key_tokens"]] == tokens
    attn("explain", pieces, "--input", source, "--kind", "encoder", "--cell", "weights[<0xE7>,0]")


def test_bare_digits_are_indices_and_names_may_have_quotes(model):
    """Digits are an index from 0, anything else is a token, and quotes make a token of digits."""
    source = "3月21日"

    def first(cell, status=0):
        return attn("explain", model, "--input", source, "--kind", "encoder", "--cell", cell, status=status)

    for same in (["weights[月,0]", 'weights["月",0]', "weights[1,0]"], ['weights["2",日]', "weights[2,4]"]):
        values = {re.search(r"= ([-0-9.]+)\nScaled", first(cell).stdout)[1] for cell in same}
        assert len(values) == 1, same
    message = first("weights[9,0]", status=2).stderr
    assert "has no row 9; expected 0 to 5" in message and 'in quotes where it is digits: "2"' in message
    assert "no column 火" in first("weights[0,火]", status=2).stderr
    assert "no row \"7\"" in first('weights["7",0]', status=2).stderr


def test_the_same_rule_in_lessons(tmp_path):
    lesson = tmp_path / "l.md"
    lesson.write_text("tokens: 2 1 x\n\nQ\n1 0\n0 1\n1 1\n\nK\n1 2\n0 1\n3 1\n\nscores = Q K^T\n")
    explain = lambda cell, status=0: attn("explain", lesson, "--cell", cell, status=status)
    assert explain("scores[0,1]").stdout == explain('scores["2","1"]').stdout == explain('scores["2",1]').stdout
    assert 'scores["2","1"]' in explain("scores[0,1]").stdout, "a printed address can be used as --cell"
    assert explain("scores[x,0]").stdout == explain('scores["x",0]').stdout == explain("scores[2,0]").stdout


@pytest.mark.parametrize("cell, message", [("wieghts[0,0]", "did you mean weights?"), ("q[0,0]", None), ("softmax[0,0]", None), ("重み[0,0]", None),
                                        ("output[0,0]", "the steps are: Q "), ("Qq[0,0]", "did you mean Q?"), ("zzz[0,0]", "the steps are: Q ")])
def test_steps_by_other_names(model, cell, message):
    """Other names of documents are accepted. A typing error gets the nearest name, anything else the list of steps."""
    done = attn("explain", model, "--input", INPUT, "--cell", cell, status=2 if message else 0)
    assert message is None or message in done.stderr


def test_hostile_text_is_escaped(model, tmp_path):
    """Unknown characters, quotes, bars, markup."""
    hostile = 'a|"b" `<script>alert(1)</script>'
    attn("explain", model, "--input", hostile, "--kind", "encoder", "--cell", "weights[0,0]")
    path = tmp_path / "page.html"
    attn("show", model, "--input", hostile, "--html", path)
    assert "<script>alert" not in path.read_text()


@pytest.mark.parametrize("before", ["", "a", "bc"])
def test_a_long_title_ends_between_characters(tmp_path, before):
    path = tmp_path / "long.safetensors"
    attn("train", "dates", "--steps", 1, "--quiet", "--test-examples", 0, "--max-validation-examples", 1, "--batch-size", 2, "-o", path,
         "--config", json.dumps(SMALL | {"max_positions": 256}))
    shown = attn("show", path, "--input", before + "年" * 100, "--target", "月" * 100).stdout
    title = "".join(shown.split("Cross-attention")[0].split())
    assert title == before + "年" * 66 + "→" + "月" * 66, "200 bytes hold 66 of them and the prefix"


@pytest.mark.parametrize("words", [["--lesson", "--json"], ["--lesson", "--cell", "weights[0,0]"],
                                   ["--lesson", "--svg", "x.svg"]])
def test_options_that_exclude_each_other(model, words):
    assert "leave out" in attn("explain", model, "--input", INPUT, *words, status=2).stderr


def test_layers_need_a_model(tmp_path):
    lesson = tmp_path / "l.md"
    lesson.write_text("weights = softmax(Q K^T)")
    for words in (["--layer", 2], ["--head", 2], ["--threads", 1]):
        assert "--input" in attn("explain", lesson, *words, status=2).stderr


@pytest.mark.parametrize("words, message", [
    (["--input", "x", "--kind", "crosss"], "--kind"),
    (["--input", "x", "--layer", 9], "no such kind, layer or head"),
    (["--input", "x", "--layer", -1], "--layer must be between"),
    (["--all"], "--input"),
    (["--input", "x" * 100], "positions"),
])
def test_errors(model, words, message):
    assert message in attn("show", model, *words, status=2).stderr


def test_files_that_are_not_models(tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"nonsense")
    for command in (["show", path, "--input", "x"], ["explain", path, "--input", "x"], ["generate", path, "x"]):
        assert "x.safetensors" in attn(*command, status=2).stderr
