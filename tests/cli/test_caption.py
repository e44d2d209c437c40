"""attn caption and the training of captioners, with models too small to learn anything."""
import gzip
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


def test_occlusion_predicts_each_word_twice_more(attn, trained, tmp_path):
    few = ["caption", trained, "--examples", 2, "--max-new-tokens", 5, "--occlude"]
    captions = json_lines(attn(*few, "--json").stdout)
    words = [w for c in captions for w in c["words"]]
    assert len(words) == 2 * 5 and all(w["predicted"] and w["occluded"] and w["control"] for w in words)
    assert [w["predicted"] for w in words] == [w["word"] for w in words], "greedy captions are the predictions"
    lines = attn(*few, "--svg", "a.svg").stdout.splitlines()
    assert [line for line in lines if "covered" in line] == [
        f"  {w['word']}: {w['occluded']} if its place is covered, {w['control']} if another one is" for w in words]
    images = [e for e in xml.parse(tmp_path / "a.svg").getroot().iter() if e.tag.endswith("}image")]
    assert len(images) == 2 * (1 + 5 + 5)


def test_without_places_there_is_no_occlusion(attn):
    attn("train", "captions", "--config", SMALL.replace("{", '{"alignment": "uniform", '), *FEW[2:])
    done = attn("caption", "captions.safetensors", "--examples", 1, "--max-new-tokens", 3, "--occlude", status=2)
    assert "the model looks at all places equally" in done.stderr


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
    ('{"decoder_type": "transformer", "alignment": "none"}', "requires decoder_type"),
    ('{"image_size": 100000}', "\"image_size\" must be an integer between 1 and 4096"),
    ('{"image_size": 50}', "\"image_size\" must be a multiple of 2^num_stages"),
    ('{"max_positions": 100000}', "\"max_positions\" of a recurrent decoder must be at most 4096"),
])
def test_configurations_that_are_refused(attn, config, message):
    assert message in attn("train", "captions", "--config", config, "--steps", 1, status=2).stderr


def test_a_text_task_has_no_pictures(attn):
    done = attn("train", "copy", "--config", '{"kind": "vision-encoder-decoder"}', "--steps", 1, status=2)
    assert "the data have no pictures" in done.stderr


@pytest.mark.parametrize("alignment, options", [("additive", []), ("none", []), ("additive", ["--pretrain-encoder", "3"]),
                                                ("dot", ["--pretrain-encoder", "3", "--freeze-cnn"]),
                                                ("additive", ["--precision", "bf16"])])
def test_a_killed_run_resumes_with_the_same_bits(attn, tmp_path, alignment, options):
    few = [a.replace("{", '{"alignment": "%s", ' % alignment) for a in FEW] + options
    few[few.index("--steps") + 1] = "40"
    attn("train", "captions-ja", "-o", "whole.safetensors", *few)
    run = subprocess.Popen([ATTN, "train", "captions-ja", "-o", "part.safetensors", *few], cwd=tmp_path)
    while not (tmp_path / "part.last.safetensors").exists() and run.poll() is None:
        time.sleep(0.005)
    run.send_signal(signal.SIGKILL)
    run.wait()
    attn("train", "--resume", "part.last.safetensors", "-o", "part.safetensors", "--threads", 2, "--quiet")
    assert (tmp_path / "part.last.safetensors").read_bytes() == (tmp_path / "whole.last.safetensors").read_bytes()


def tensors(path, prefix):
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    spans = {name: t["data_offsets"] for name, t in json.loads(content[8:8 + size]).items() if name.startswith(prefix)}
    return {name: content[8 + size + begin:8 + size + end] for name, (begin, end) in spans.items()}


def test_frozen_convolutions_are_those_of_the_pretraining(attn, tmp_path):
    """They do not depend on the steps that follow; trained ones do. The checkpoint records both options."""
    for name, steps, options in [("a", 3, ["--freeze-cnn"]), ("b", 6, ["--freeze-cnn"]), ("c", 6, [])]:
        attn("train", "captions", *FEW[:2], "--steps", steps, *FEW[4:], "--pretrain-encoder", 2, *options, "-o", name + ".safetensors")
    a, b, c = (tensors(tmp_path / f"{n}.last.safetensors", "encoder.stages.") for n in "abc")
    assert a and a == b and all(b[n] != c[n] for n in b if n.endswith("weight"))
    for prefix in "adamw.m.encoder.stages.", "adamw.v.encoder.stages.":
        assert not any(map(any, tensors(tmp_path / "b.last.safetensors", prefix).values()))
    content = (tmp_path / "b.last.safetensors").read_bytes()
    metadata = json.loads(content[8:8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    assert json.loads(metadata["training"])["frozen"] == "cnn"
    assert json.loads(metadata["run"])["pretrain_encoder_steps"] == 2


@pytest.mark.parametrize("options, message", [
    (["copy", "--freeze-cnn"], "freeze_cnn requires pictures"),
    (["copy", "--pretrain-encoder", 3], "pretrain_encoder_steps requires a task with pictures"),
    (["captions", "--pretrain-encoder", -1], "pretrain_encoder_steps must be at least 1"),
])
def test_options_of_the_encoder_that_are_refused(attn, options, message):
    assert message in attn("train", *options, "--steps", 1, status=2).stderr


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


# ---- Photos ----

def idx(path, array):
    """An IDX file, compressed."""
    path.write_bytes(gzip.compress(struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()))


@pytest.fixture
def photos(tmp_path, rng, monkeypatch):
    for part, count in ("train", 40), ("t10k", 20):
        idx(tmp_path / f"{part}-images-idx3-ubyte.gz", rng.integers(0, 256, (count, 28, 28), dtype=np.uint8))
        idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", (np.arange(count) % 10).astype(np.uint8))
    monkeypatch.setenv("ATTN_FASHION_MNIST", str(tmp_path))


def test_photos_are_captioned_and_counted_by_objects(attn, photos):
    done = attn("train", "photos-ja", *FEW, "--json")
    test = json.loads(done.stdout.splitlines()[-1])["test"]
    assert test["examples"] == 2 == sum(test[f"{n}_examples"] for n in ("one_object", "two_objects", "three_objects"))
    assert test["unseen_examples"] == 0
    assert "unseen" not in attn("train", "photos", *FEW).stdout
    captions = json_lines(attn("caption", "photos.safetensors", "--examples", 2, "--json").stdout)
    assert len(captions) == 2


def test_a_resumed_run_notices_other_photos(attn, photos, tmp_path):
    attn("train", "photos", *FEW[:-3])
    idx(tmp_path / "train-labels-idx1-ubyte.gz", (np.arange(40) // 4).astype(np.uint8))
    done = attn("train", "--resume", "photos.last.safetensors", "-o", "photos.safetensors", status=2)
    assert "photos: the data have changed since the run began" in done.stderr


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


def test_a_resumed_run_notices_a_changed_picture(attn, folder):
    attn(*FOLDER, *FEW[:-3], "--quiet")
    resume = ["train", "--resume", "mine.last.safetensors", "-o", "mine.safetensors", "--quiet"]
    attn(*resume)
    (folder / "pictures" / "7.png").write_bytes((folder / "pictures" / "8.png").read_bytes())
    assert "the data have changed since the run began" in attn(*resume, status=2).stderr


def test_a_damaged_picture_is_named(attn, folder):
    path = folder / "pictures" / "7.png"
    path.write_bytes(path.read_bytes()[:40])
    done = attn(*FOLDER, *FEW[:2], *FEW[4:-3], "--steps", 40, status=2)
    assert "captions.tsv:8:1: error: " in done.stderr
    path.unlink()
    assert "captions.tsv:8:1: error: " in attn(*FOLDER, *FEW[:-3], "--overwrite", status=2).stderr
    assert "--data FILE" in attn("train", "--images", "pictures", "-o", "x.safetensors", status=2).stderr
