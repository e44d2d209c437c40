"""attn.Captioner against attn caption: the same captions, places and weights, whatever the array's type and strides."""
import html
import json
import os
import pickle
import re
import struct
import subprocess
import zlib

import numpy as np
import pytest

import attn

ATTN = os.environ["ATTN_BIN"]
SMALL = {"d_model": 8, "stage_channels": 4, "num_stages": 3}
GRID, SIDE = 6, 48


def train(folder, name, task="captions", **config):
    path = folder / f"{name}.safetensors"
    subprocess.run([ATTN, "train", task, "-o", path, "--config", json.dumps(config), "--steps", "6", "--batch-size", "4",
                    "--validate-every", "6", "--max-validation-examples", "2", "--test-examples", "0", "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return train(tmp_path_factory.mktemp("captions"), "a", **SMALL)


@pytest.fixture
def image():
    return np.random.default_rng(4).integers(0, 256, (30, 40, 3), dtype=np.uint8)


def png(rgb):
    """A PNG file, by the specification."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">2I5B", rgb.shape[1], rgb.shape[0], 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in rgb)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("beams, most, precision", [(1, 5, "float32"), (1, 0, "float32"), (3, 7, "bf16"), (1, 5, "bf16")])
def test_captions_are_those_of_the_command(path, image, tmp_path, beams, most, precision):
    (tmp_path / "a.png").write_bytes(png(image))
    done = subprocess.run([ATTN, "caption", path, tmp_path / "a.png", "--json", "--num-beams", str(beams), "--max-new-tokens",
                           str(most), "--precision", precision], check=True, capture_output=True)
    expected = json.loads(done.stdout)
    model = attn.Captioner(path)
    found = model(image, num_beams=beams, max_new_tokens=most, precision=precision)
    assert (found.log_prob == model(image, num_beams=beams, max_new_tokens=most).log_prob) == (precision == "float32")
    assert (found.text, found.log_prob) == (expected["caption"], expected["log_prob"]) and str(found) == found.text
    assert found.tokens == [w["word"] for w in expected["words"]]
    for word, weights in zip(expected["words"], found.weights if found.tokens else []):
        row, column = np.unravel_index(weights.argmax(), weights.shape)
        assert (row + 1, column + 1) == (word["row"], word["column"])
        assert weights.max() == word["weight"]


def test_weights_are_a_distribution(path, image):
    model = attn.Captioner(str(path))
    assert (model.image_size, model.grid_size) == (SIDE, GRID)
    found = model(image, max_new_tokens=4)
    assert found.weights.shape == (len(found.tokens), GRID, GRID) and (found.weights >= 0).all()
    assert np.allclose(found.weights.sum((1, 2)), 1, atol=1e-5)


def assert_same(a, b):
    assert (a.text, a.log_prob, a.tokens) == (b.text, b.log_prob, b.tokens) and (a.weights == b.weights).all()


def test_types_and_strides_do_not_matter(path, image):
    model = attn.Captioner(path)
    expected = model(image, max_new_tokens=4)
    other = np.zeros((60, 40, 6), np.uint8)[::2, :, ::2]
    other[:] = image
    for same in other, np.asfortranarray(image):
        assert_same(model(same, max_new_tokens=4), expected)
    scaled = np.random.default_rng(5).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)  # not scaled again: exact in float
    assert_same(model(scaled.astype(np.float32) / 255, max_new_tokens=4), model(scaled, max_new_tokens=4))


def test_a_caption_is_shown_with_its_places(path, image):
    """The image, then one picture per token; the same for bytes and floats, whatever the strides."""
    model = attn.Captioner(path)
    found = model(np.asfortranarray(image), max_new_tokens=4)
    page = found.html()
    assert page.count("<figure>") == 1 + len(found.tokens) > 1 and page == model(image, max_new_tokens=4).html()
    assert all(f">{token}</" in page for token in map(html.escape, found.tokens))
    float_page = model(image.astype(np.float32) / 255, max_new_tokens=4).html()
    assert re.findall("<image[^>]*>", float_page)[:1] == re.findall("<image[^>]*>", page)[:1] != []


def test_a_caption_keeps_its_image(path, image):
    """A buffer that is used for the next image does not change the page."""
    model, pixels = attn.Captioner(path), image.astype(np.float32) / 255
    for buffer in image, pixels:
        found = model(buffer, max_new_tokens=4)
        page = found.html()
        buffer[:] = 0
        assert found.html() == page == pickle.loads(pickle.dumps(found)).html()


def test_without_attention_there_are_no_weights(tmp_path, image):
    found = attn.Captioner(train(tmp_path, "none", alignment="none", **SMALL))(image, max_new_tokens=3)
    assert found.html().count("<figure>") == 1
    assert found.weights is None and found.tokens == [] and isinstance(found.text, str)


def test_errors(path, image, tmp_path):
    model = attn.Captioner(path)
    for wrong, error in ((image.astype(np.float64), TypeError), ([[1]], TypeError), (image[0], attn.AttnError),
                         (image[..., :2], attn.AttnError), (image[:0], attn.AttnError)):
        with pytest.raises(error, match="image"):
            model(wrong)
    with pytest.raises(attn.AttnError, match="precision must be"):
        model(image, precision="int8")
    with pytest.raises(attn.AttnError, match="num_beams"):
        model(image, num_beams=0)
    with pytest.raises(attn.AttnError, match="missing.safetensors"):
        attn.Captioner(tmp_path / "missing.safetensors")
    text = train(tmp_path, "copy", "copy", d_model=8, num_heads=2, encoder_layers=1, decoder_layers=1)
    with pytest.raises(attn.AttnError, match="the model reads texts, not images"):
        attn.Captioner(text)


def test_weights_are_the_mean_over_heads(tmp_path, image):
    """Of a Transformer decoder with two layers of four heads; the command's weight is that of the mean."""
    path = train(tmp_path, "t", decoder_type="transformer", d_model=16, head_dim=4, ffn_dim=16, stage_channels=4, num_stages=3)
    (tmp_path / "a.png").write_bytes(png(image))
    done = subprocess.run([ATTN, "caption", path, tmp_path / "a.png", "--json", "--max-new-tokens", "4"], check=True,
                          capture_output=True)
    found = attn.Captioner(path)(image, max_new_tokens=4)
    assert np.allclose(found.weights.sum((1, 2)), 1, atol=1e-5)
    assert np.allclose([w["weight"] for w in json.loads(done.stdout)["words"]], found.weights.max((1, 2)), rtol=1e-12)
