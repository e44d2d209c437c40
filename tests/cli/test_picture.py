"""attn explain --svg, --png, --html, read back by independent parsers."""
import html.parser
import json
import math
import re
import resource
import signal
import struct
import subprocess
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import numpy as np
import pytest

import worked
from conftest import ATTN, SEEDS
from conftest import LESSONS as FOLDER

LESSONS = sorted(FOLDER.iterdir())
FIRST = LESSONS[0]
SVG = "{http://www.w3.org/2000/svg}"


def steps_of(attn, path):
    """In the order of the pictures: given matrices first."""
    examples = json.loads(attn("explain", "--json", path).stdout)["examples"]
    return [s for e in examples for s in sorted(e["steps"], key=lambda s: s["op"] != "given")]


def number(text):
    return {"∞": math.inf, "-∞": -math.inf}.get(text) if "∞" in text else float(text)


def prints(text, value):
    """Is text the value rounded to 4 decimals, or to two digits and a power of ten below that?"""
    if value is None:  # not finite
        return "∞" in text or text == "NaN"
    return abs(number(text) - value) <= max(0.5e-4, 0.06 * abs(value) if "e" in text else 0) * (1 + 1e-9)


def texts(root):
    return ["".join(t.itertext()) for t in root.iter(SVG + "text")]


def assert_in_order(words, values):
    """The values of a matrix occur in order, with other words between."""
    at = 0
    for value in values:
        while at < len(words) and not (re.fullmatch(r"-?(\d.*|∞)|NaN", words[at]) and prints(words[at], value)):
            at += 1
        assert at < len(words), value
        at += 1


def cells(step):
    return [v for row in step["exact"] for v in row]


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.name)
def test_an_svg_is_xml_with_every_number(attn, tmp_path, path):
    attn("explain", path, "--svg", "a.svg")
    root = ET.parse(tmp_path / "a.svg").getroot()
    assert root.tag == SVG + "svg" and root.get("role") == "img" and root.find(SVG + "title").text
    width, height = float(root.get("width")), float(root.get("height"))
    for text in root.iter(SVG + "text"):
        assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height
    for shape in root.iter(SVG + "rect"):
        assert float(shape.get("x")) + float(shape.get("width")) <= width + 0.01
        assert float(shape.get("y")) + float(shape.get("height")) <= height + 0.01
    words = texts(root)
    for step in steps_of(attn, path):
        assert_in_order(words, cells(step))


def test_the_caption_of_the_arrows_is_an_identity(attn, tmp_path):
    """Neither the direction nor the length alone orders the scores: lesson 01 has a larger one at a wider angle."""
    attn("explain", FIRST, "--svg", "a.svg")
    words = texts(ET.parse(tmp_path / "a.svg").getroot())
    assert "q · k = length of q × length of k × cos(angle)" in words
    steps = {s["name"]: np.array(s["exact"]) for s in steps_of(attn, FIRST)}
    q, k = steps["Q"], steps["K"]
    lengths = np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(k, axis=1)
    angles = np.arctan2(q[:, 1], q[:, 0])[:, None] - np.arctan2(k[:, 1], k[:, 0])
    np.testing.assert_allclose(lengths * np.cos(angles), steps["scores"], atol=1e-12)


class Tables(html.parser.HTMLParser):
    """The cells of each table. Checks that tags nest."""
    VOID = {"meta", "input"}

    def __init__(self):
        super().__init__()
        self.tables, self.open, self.cell, self.fetches = [], [], None, []

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        self.cell = "" if tag == "td" else self.cell
        self.fetches += [a for a in attributes if a[0] in ("src", "href", "action", "data", "srcset") and not a[1].startswith("#")]

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag == "td":
            self.tables[-1].append(self.cell)
            self.cell = None


def tables_of(text):
    parser = Tables()
    parser.feed(text)
    assert not parser.open and not parser.fetches
    return [[c for c in table if c] for table in parser.tables]


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.name)
def test_a_page_has_every_number_as_a_table(attn, tmp_path, path):
    attn("explain", path, "--html", "a.html")
    text = (tmp_path / "a.html").read_text()
    root = ET.fromstring(text.replace("<!DOCTYPE html>", ""))
    tables = tables_of(text)
    steps = steps_of(attn, path)
    assert len(tables) == len(steps) + len(root.findall(".//figure"))
    tables = [["0" if text == "–" else text for text in table] for table in tables]  # hidden by the mask
    found = 0
    for table in tables:  # in the order of the steps, arrows between them
        if found < len(steps) and len(table) == len(cells(steps[found])) and all(
                map(prints, table, cells(steps[found]))):
            found += 1
    assert found == len(steps)


def test_a_page_needs_no_network(attn, tmp_path):
    for path in LESSONS:
        attn("explain", path, "--html", "a.html", "--svg", "a.svg")
        for name in ("a.html", "a.svg"):
            text = (tmp_path / name).read_text()
            assert set(re.findall(r"\w+://[^\"'\s]*", text)) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}
            assert "url(" not in text and "@import" not in text and "fetch" not in text


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_page_has_both_languages(attn, tmp_path, lang):
    attn("explain", LESSONS[1], "--html", "a.html", "--lang", lang)
    text = (tmp_path / "a.html").read_text()
    root = ET.fromstring(text.replace("<!DOCTYPE html>", ""))
    assert root.get("lang") == lang
    chosen, = [i for i in root.iter("input") if i.get("checked")]
    assert chosen.get("type") == "radio" and chosen.get("id") == f"to-{lang}"
    assert {label.get("for"): label.text for label in root.iter("label") if label.get("for")} == {"to-ja": "日本語", "to-en": "English"}
    # CSS hides the other language, without a script.
    assert "header:has(#to-en:checked)~main [lang=ja],header:has(#to-ja:checked)~main [lang=en]{display:none}" in text
    for tag in ("span", "p"):
        by = {l: [e for e in root.iter(tag) if e.get("lang") == l] for l in ("en", "ja")}
        assert len(by["en"]) == len(by["ja"]) > 4
    assert "prefers-color-scheme:dark" in text


def test_a_page_is_accessible(attn, tmp_path):
    attn("explain", LESSONS[1], "--html", "a.html")
    root = ET.fromstring((tmp_path / "a.html").read_text().replace("<!DOCTYPE html>", ""))
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    for svg in root.iter(SVG + "svg"):
        assert svg.get("role") == "img" and svg.get("aria-labelledby") in ids
    for table in root.iter("table"):
        assert all(h.get("scope") in ("row", "col") for h in table.iter("th"))
    assert root.find(".//title").text and root.find(".//main/h1") is not None


def decode(data):
    """The size of an RGB PNG, by the specification."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, idat, header = 8, b"", None
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body)
        header = struct.unpack(">IIBBBBB", body) if kind == b"IHDR" else header
        idat += body if kind == b"IDAT" else b""
        at += 12 + size
    assert kind == b"IEND" and header[2:] == (8, 2, 0, 0, 0)
    raw, stride = zlib.decompress(idat), 3 * header[0] + 1
    assert len(raw) == stride * header[1]
    assert all(raw[y * stride] <= 4 for y in range(header[1]))
    return header[:2]


@pytest.mark.parametrize("path", LESSONS[:6], ids=lambda p: p.name)
def test_a_png_is_as_large_as_the_svg(attn, tmp_path, path):
    attn("explain", path, "--png", "a.png", "--svg", "a.svg")
    width, height = decode((tmp_path / "a.png").read_bytes())
    assert "ja" in path.name or abs(
        width - 2 * float(ET.parse(tmp_path / "a.svg").getroot().get("width"))) <= 2  # two pixels per unit
    assert 400 < width < 2600 and 400 < height


def test_hostile_names_are_escaped(attn, tmp_path):
    tokens = ["a<b", "&amp;", "<i>", "\u0600<i>"]
    (tmp_path / "a.md").write_text(
        f"# 1 < 2 && \"3'\n\ntokens: {' '.join(tokens)}\n\nX\n1 0\n0 1\n1 1\n2 0\n\nW_Q\n1 0\n0 1\n\n"
        "W_K\n1 0\n0 1\n\nW_V\n1 0\n0 1\n\nQ\n\nweights\n")
    shown = json.loads(attn("explain", "--json", "a.md").stdout)["examples"][0]["key_tokens"]
    assert shown == tokens
    attn("explain", "a.md", "--html", "a.html", "--svg", "a.svg")
    for name in ("a.html", "a.svg"):
        root = ET.fromstring((tmp_path / name).read_text().replace("<!DOCTYPE html>", ""))
        assert not list(root.iter("i")) and {*shown} <= {*texts(root), *(h.text for h in root.iter("th"))}


def test_pictures_exclude_text(attn, tmp_path):
    for options in (["--json"], ["--cell", "weights[0,0]"]):
        assert "leave out" in attn("explain", FIRST, "--svg", "a.svg", *options, status=2).stderr
    assert "one file" in attn("explain", FIRST, LESSONS[1], "--png", "a.png", status=2).stderr
    assert "needs a value" in attn("explain", FIRST, "--html", status=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_a_document_without_numbers_has_no_picture(attn, tmp_path):
    (tmp_path / "a.md").write_text("Nothing here.\n")
    assert "cannot draw" in attn("explain", "a.md", "--svg", "a.svg", status=2).stderr
    assert not (tmp_path / "a.svg").exists()


def test_a_picture_goes_to_its_file_which_is_named(attn, tmp_path):
    done = attn("explain", FIRST, "--svg", "a.svg", "--html", "a.html", "--png", "a.png")
    assert done.stdout == "wrote a.svg\nwrote a.png\nwrote a.html\n" and done.stderr == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "a.png", "a.svg"]


@pytest.mark.parametrize("where", ["nowhere/a.svg", "", "folder/", "/dev/null", "file/a.svg"])
def test_a_failed_output_leaves_nothing(attn, tmp_path, where):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    for option in ("--svg", "--html", "--png"):
        message = attn("explain", FIRST, option, where, status=2).stderr
        assert "error: " in message and str(FIRST) not in message, "the error is about the picture"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "kept"


def test_a_full_disk_leaves_the_old_picture(attn, tmp_path):
    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
    (tmp_path / "a.svg").write_text("before")
    done = subprocess.run([ATTN, "explain", FIRST, "--svg", "a.svg"], cwd=tmp_path,
                          preexec_fn=small, restore_signals=False, capture_output=True, text=True)
    assert done.returncode == 2 and "File too large" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["a.svg"]
    assert (tmp_path / "a.svg").read_text() == "before"


def test_the_same_picture_each_time(attn, tmp_path):
    for name in ("a", "b"):
        attn("explain", LESSONS[5], "--svg", f"{name}.svg", "--html", f"{name}.html", "--png", f"{name}.png")
    for kind in ("svg", "html", "png"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_published_texts_can_be_drawn(attn, tmp_path):
    if not SEEDS.is_dir():
        pytest.skip(f"the published texts are not in {SEEDS}")
    for path in sorted(SEEDS.iterdir()):
        if subprocess.run([ATTN, "explain", path], capture_output=True).returncode:
            continue  # prose without numbers
        attn("explain", path, "--svg", "a.svg", "--html", "a.html", "--png", "a.png")
        words = texts(ET.parse(tmp_path / "a.svg").getroot())
        for step in steps_of(attn, path):
            assert_in_order(words, cells(step))
        decode((tmp_path / "a.png").read_bytes())


def test_any_lesson_can_be_drawn(attn, tmp_path):
    for n in range(25):
        (tmp_path / "a.md").write_text(worked.Lesson(n).text())
        attn("explain", "a.md", "--svg", "a.svg", "--html", "a.html")
        words = texts(ET.parse(tmp_path / "a.svg").getroot())
        for step in steps_of(attn, "a.md"):
            assert_in_order(words, cells(step))
        tables_of((tmp_path / "a.html").read_text())
        if n % 5 == 0:
            attn("explain", "a.md", "--png", "a.png")
            decode((tmp_path / "a.png").read_bytes())
