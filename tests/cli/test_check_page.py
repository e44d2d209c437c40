"""attn check --html: the author's document with its numbers marked."""
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from conftest import LESSONS, SOURCE

FIRST = LESSONS / "01-first-attention.md"
RIGHT = [p for p in sorted(LESSONS.iterdir()) if p.name != "published-slip.md"]


def page(attn, tmp_path, document, status=0):
    attn("check", document, "--html", "a.html", status=status)
    return ET.fromstring((tmp_path / "a.html").read_text().replace("<!DOCTYPE html>", ""))


def document_of(root):
    return root.find(".//main/pre")


def marks(root):
    return [(m.get("class"), m.text, m.get("data-how")) for m in document_of(root).iter("mark")]


@pytest.mark.parametrize("path", RIGHT, ids=lambda p: p.name)
def test_a_lesson_is_whole_and_each_number_is_marked(attn, tmp_path, path):
    """As many numbers as the JSON prints of each kind; those of computed steps with their computation."""
    root = page(attn, tmp_path, path)
    assert "".join(document_of(root).itertext()) == path.read_text()
    printed = Counter()
    for example in json.loads(attn("explain", "--json", path).stdout)["examples"]:
        for step in example["steps"]:
            for block in step["printed"]:
                printed["given" if step["op"] == "given" else "ok"] += sum(
                    v is not None for row in block["rows"] for v in row)
    found = Counter(kind for kind, _, _ in marks(root))
    assert found["wrong"] == found["carried"] == 0 and found["given"] <= printed["given"]
    assert found["ok"] + found["doubtful"] >= 0.95 * printed["ok"] > 0  # sums of terms are several words
    assert all(how for kind, _, how in marks(root) if kind == "ok")


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """The documents of tests/lesson/documents, by other hands."""
    folder = tmp_path_factory.mktemp("foreign")
    for source in (SOURCE / "tests/lesson/documents").glob("*.py"):
        shutil.copy(source, folder)
    subprocess.run([sys.executable, "generate.py"], cwd=folder, check=True, capture_output=True, timeout=120)
    return sorted(p for p in (folder / "documents").iterdir() if p.name != "key.json")


def test_a_mark_is_a_whole_number(attn, tmp_path, foreign):
    """In documents by other hands: a mark neither begins nor ends within a number."""
    marked = 0
    for path in foreign:
        if attn("check", path, "--html", "a.html", status=None).returncode == 2:
            continue
        root = ET.fromstring((tmp_path / "a.html").read_text().replace("<!DOCTYPE html>", ""))
        assert "".join(document_of(root).itertext()) == path.read_text().removeprefix("\ufeff"), path.name
        before = document_of(root).text or ""
        for mark in document_of(root):
            assert re.search(r"[\d∞√]|(?i:inf)", mark.text) or len(mark.text) <= 2, (path.name, mark.text)  # ×, –, 〃
            assert not re.search(r"[\d.]$", before[-1:]) and not re.match(r"\d", mark.tail or ""), (path.name, before[-9:], mark.text)
            before = mark.tail or ""
            marked += 1
    assert marked > 1000


def test_a_wrong_number_is_marked_and_corrected(attn, tmp_path):
    text = FIRST.read_text()
    (tmp_path / "w.md").write_text(text.replace("0.4458", "0.4468", 1))
    root = page(attn, tmp_path, "w.md", status=1)
    wrong, = [m for m in marks(root) if m[0] == "wrong"]
    assert wrong[1] == "0.4468" and wrong[2].endswith("= 0.4458")
    corrected, = [p for p in root.iter("pre") if p.get("id") == "corrected"]
    assert corrected.text == text
    assert not [p for p in page(attn, tmp_path, FIRST).iter("pre") if p.get("id") == "corrected"]


def test_what_was_not_read_is_marked(attn, tmp_path):
    (tmp_path / "u.md").write_text(FIRST.read_text() + "\n\nIn the end: 77.125 and 3.\n")
    assert ("unread", "77.125", None) in marks(page(attn, tmp_path, "u.md"))


def test_markup_of_the_document_is_text(attn, tmp_path):
    text = "<script>alert(1)</script> & ]]> <b>\t\x7f\n\n" + FIRST.read_text()
    (tmp_path / "h.md").write_text(text)
    root = page(attn, tmp_path, "h.md")
    assert "".join(document_of(root).itertext()) == text.replace("\x7f", "\ufffd")
    assert len(list(root.iter("script"))) == 1


def test_other_outputs_are_refused(attn, tmp_path):
    assert "one document" in attn("check", FIRST, FIRST, "--html", "a.html", status=2).stderr
    assert "leave out --json" in attn("check", FIRST, "--json", "--html", "a.html", status=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_in_a_browser(attn, tmp_path, visit):
    (tmp_path / "w.md").write_text(FIRST.read_text().replace("0.4458", "0.4468", 1))
    page(attn, tmp_path, "w.md", status=1)
    view = visit(tmp_path / "a.html", width=360)
    view.focus("mark.wrong[data-how]")
    assert view.text_content(".working").endswith("= 0.4458")
    view.hover("mark.ok[data-how] >> nth=0")
    assert view.text_content(".working").startswith("Q[")
    view.keyboard.press("Escape")
    assert view.is_hidden(".working")
