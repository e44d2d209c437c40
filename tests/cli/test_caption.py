"""attn caption and the training of captioners, with models too small to learn anything."""
import json
import math
import signal
import struct
import subprocess
import time
import xml.etree.ElementTree as xml
import zlib

import numpy as np
import pytest
from conftest import ATTN, json_lines

SMALL = '{"d_model": 8, "stage_channels": 4, "num_stages": 3}'
FEW = ["--config", SMALL, "--steps", "6", "--batch-size", "4", "--validate-every", "3", "--max-validation-examples", "4",
       "--threads", "2", "--test-examples", "2", "--quiet"]
GRID = 6


def png(rgb):
    """A PNG file, by the specification."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    height, width, _ = rgb.shape
    rows = b"".join(b"\0" + row.tobytes() for row in rgb)
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("captioner") / "captions.safetensors"
    subprocess.run([ATTN, "train", "captions", "-o", path, *FEW], check=True, stdout=subprocess.DEVNULL)
    return path


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_words_have_places_and_weights(attn, trained):
    for one in json_lines(attn("caption", trained, "--examples", 3, "--json", "--max-new-tokens", 9).stdout):
        assert one["grid_size"] == GRID and one["expected"].startswith("a ") and one["log_prob"] < 0
        words = [w["word"] for w in one["words"]]
        assert [w for w in words if w != "</s>"] == one["caption"].split() or not words
        for word in one["words"]:
            assert 1 <= word["row"] <= GRID and 1 <= word["column"] <= GRID
            assert 1 / GRID**2 <= word["weight"] <= 1 and 0 <= word["entropy"] <= math.log(GRID**2) + 1e-6


def test_a_picture_is_scaled(attn, trained, tmp_path, rng):
    """Each pixel as 3 x 2 equal ones is the same picture."""
    rgb = rng.integers(0, 256, (48, 48, 3), dtype=np.uint8)
    (tmp_path / "a.png").write_bytes(png(rgb))
    (tmp_path / "b.png").write_bytes(png(rgb.repeat(3, 0).repeat(2, 1)))
    a, b = json_lines(attn("caption", trained, "a.png", "b.png", "--json").stdout)
    assert a.pop("picture") == "a.png" and b.pop("picture") == "b.png" and a == b
    assert attn("caption", trained, "a.png").stdout.strip() == a["caption"]
    assert attn("caption", trained, "a.png", "b.png").stdout.splitlines() == [f"{n}.png: {a['caption']}" for n in "ab"]


def test_beams_find_no_less_likely_caption(attn, trained):
    likely = [[c["log_prob"] for c in json_lines(attn("caption", trained, "--examples", 8, "--json", "--num-beams", n,
                                                      "--max-new-tokens", 6).stdout)] for n in (1, 8)]
    assert np.mean(likely[1]) >= np.mean(likely[0])


def test_pictures_have_a_panel_for_each_word(attn, trained, tmp_path):
    few = ["caption", trained, "--examples", 2, "--max-new-tokens", 5]
    attn(*few, "--svg", "a.svg", "--html", "a.html", "--png", "a.png")
    words = sum(len(c["words"]) for c in json_lines(attn(*few, "--json").stdout))
    assert words == 2 * 5, "no end token, which was not generated"
    svg = xml.parse(tmp_path / "a.svg").getroot()
    images = [e for e in svg.iter() if e.tag.endswith("}image")]
    assert len(images) == words + 2
    assert "<html" in (tmp_path / "a.html").read_text() and (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    shown = attn(*few, "--show", "--color", "never").stdout
    assert shown.count("picture") == 2 and "max " in shown


@pytest.mark.parametrize("arguments, message", [
    ([], "expected a model"),
    (["{model}"], "expected PICTURE.png or --examples N"),
    (["{model}", "a.png", "--examples", "3"], "pictures and --examples exclude each other"),
    (["{model}", "--examples", "2000"], "--examples must be"),
    (["{model}", "--examples", "2", "--json", "--show"], "--json and pictures exclude each other"),
    (["{model}", "missing.png"], "missing.png: error: "),
    (["{model}", "bad.png"], "bad.png: byte 8: error: "),
    (["bad.png", "bad.png"], "bad.png: "),
])
def test_errors(attn, trained, tmp_path, arguments, message):
    (tmp_path / "bad.png").write_bytes(b"GIF89a, not a PNG file")
    done = attn("caption", *(str(trained) if a == "{model}" else a for a in arguments), status=2)
    assert message in done.stderr and done.stdout == ""


def test_models_of_texts_and_of_images_are_told_apart(attn, trained, tmp_path):
    text = ["--config", '{"d_model": 8, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}']
    attn("train", "copy", *text, *FEW[2:])
    assert "the model reads texts, not pictures" in attn("caption", "copy.safetensors", "--examples", 1, status=2).stderr
    for command in (["generate", trained, "abc"], ["show", trained, "--input", "abc"], ["embed", trained, "abc"]):
        assert "the model reads images, not texts" in attn(*command, status=2).stderr
    assert "transformers has no architecture for kind" in attn("export", trained, "-o", "folder", status=2).stderr
    info = attn("info", trained).stdout
    assert "vision-encoder-decoder" in info and "images      48 x 48 pixels, grid 6 x 6; decoder lstm, alignment additive" in info


@pytest.mark.parametrize("config, message", [
    ('{"kind": "encoder"}', "must have kind \"vision-encoder-decoder\": the sources are pictures"),
    ('{"decoder_type": "rnn"}', "\"decoder_type\" must be one of transformer, lstm, gru"),
    ('{"decoder_type": "transformer", "alignment": "dot"}', "\"alignment\" requires decoder_type"),
    ('{"image_size": 100000}', "\"image_size\" must be an integer between 1 and 4096"),
    ('{"image_size": 50}', "\"image_size\" must be a multiple of 2^num_stages"),
    ('{"max_positions": 100000}', "\"max_positions\" of a recurrent decoder must be at most 4096"),
])
def test_configurations_that_are_refused(attn, config, message):
    assert message in attn("train", "captions", "--config", config, "--steps", 1, status=2).stderr


def test_a_text_task_has_no_pictures(attn):
    done = attn("train", "copy", "--config", '{"kind": "vision-encoder-decoder"}', "--steps", 1, status=2)
    assert "the data have no pictures" in done.stderr


@pytest.mark.parametrize("alignment", ["additive", "none"])
def test_a_killed_run_resumes_with_the_same_bits(attn, tmp_path, alignment):
    few = [a.replace("{", '{"alignment": "%s", ' % alignment) for a in FEW]
    few[few.index("--steps") + 1] = "40"
    attn("train", "captions-ja", "-o", "whole.safetensors", *few)
    run = subprocess.Popen([ATTN, "train", "captions-ja", "-o", "part.safetensors", *few], cwd=tmp_path)
    while not (tmp_path / "part.last.safetensors").exists() and run.poll() is None:
        time.sleep(0.005)
    run.send_signal(signal.SIGKILL)
    run.wait()
    attn("train", "--resume", "part.last.safetensors", "-o", "part.safetensors", "--threads", 2, "--quiet")
    assert (tmp_path / "part.last.safetensors").read_bytes() == (tmp_path / "whole.last.safetensors").read_bytes()


def test_a_checkpoint_with_the_data_of_another_kind_is_refused(attn, trained, tmp_path):
    content = (trained.parent / "captions.last.safetensors").read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + size])
    run = json.loads(header["__metadata__"]["run"]) | {"task": "copy"}
    header["__metadata__"]["run"] = json.dumps(run)
    text = json.dumps(header).encode()
    (tmp_path / "false.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size:])
    done = attn("train", "--resume", "false.safetensors", "-o", "x.safetensors", status=2)
    assert "the model reads pictures, its data have texts" in done.stderr or "the model reads texts" in done.stderr


# ---- Folders ----

@pytest.fixture
def folder(tmp_path, rng):
    (tmp_path / "pictures").mkdir()
    lines = []
    for n in range(30):
        color = n % 3
        rgb = np.zeros((20, 30, 3), np.uint8)
        rgb[..., color] = rng.integers(100, 256)
        (tmp_path / "pictures" / f"{n}.png").write_bytes(png(rgb))
        lines.append(f"{n}.png\tall {['red', 'green', 'blue'][color]}\n")
    (tmp_path / "captions.tsv").write_text("".join(lines))
    return tmp_path


FOLDER = ["train", "--images", "pictures", "--captions", "captions.tsv", "-o", "mine.safetensors"]


def test_a_folder_of_pictures_is_learned(attn, folder):
    config = '{"image_size": 8, "num_stages": 1, "stage_channels": 8, "d_model": 32}'
    done = attn(*FOLDER, "--config", config, "--steps", 60, "--batch-size", 8, "--tokenizer", "words", "--threads", 2,
                "--learning-rate", 0.01, "--target-exact-match", 1, "--json", "--quiet")
    assert json.loads(done.stdout.splitlines()[-1])["validation_exact_match"] == 1
    captions = attn("caption", "mine.safetensors", "pictures/0.png", "pictures/1.png", "pictures/2.png").stdout.splitlines()
    assert [c.split(": ")[1] for c in captions] == ["all red", "all green", "all blue"]


def test_a_damaged_picture_is_named(attn, folder):
    path = folder / "pictures" / "7.png"
    path.write_bytes(path.read_bytes()[:40])
    done = attn(*FOLDER, *FEW[:2], *FEW[4:-3], "--steps", 40, status=2)
    assert "captions.tsv:8:1: error: " in done.stderr
    path.unlink()
    assert "captions.tsv:8:1: error: " in attn(*FOLDER, *FEW[:-3], "--overwrite", status=2).stderr
    assert "--data FILE" in attn("train", "--images", "pictures", "-o", "x.safetensors", status=2).stderr
