"""attn check --html: the author's document with its numbers marked."""
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from conftest import LESSONS, write_foreign_documents

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


def test_a_page_is_not_written_over_its_document(attn, tmp_path):
    lesson = tmp_path / "lesson.md"
    text = FIRST.read_text()
    lesson.write_text(text)
    (tmp_path / "link.html").symlink_to(lesson)
    for arguments in (["check", "lesson.md", "--html", "lesson.md"], ["check", "lesson.md", "--html", "link.html"],
                      ["explain", "lesson.md", "--svg", "./lesson.md"], ["explain", "lesson.md", "--html", "link.html"]):
        assert "is the document itself" in attn(*arguments, status=2).stderr
    assert lesson.read_text() == text


def test_names_in_a_computation_are_escaped(attn, tmp_path):
    (tmp_path / "a.md").write_text(
        "tokens: a<b &amp;\n\nQ\n1 0\n0 1\n\nK\n1 2\n3 4\n\nscores = Q K^T\n1 3\n2 4\n")
    computations = [how for _, _, how in marks(page(attn, tmp_path, "a.md")) if how]
    assert any("a<b" in how and "&amp;" in how for how in computations)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """The documents of tests/lesson/documents, by other hands."""
    documents = write_foreign_documents(tmp_path_factory.mktemp("foreign"))
    return sorted(p for p in documents.iterdir() if p.name != "key.json")


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
    assert "leave out --json" in attn("check", FIRST, "--json", "--html", "a.html", status=2).stderr
    assert list(tmp_path.iterdir()) == []


# ---- Several documents ----

@pytest.fixture
def hand_ins(tmp_path):
    folder = tmp_path / "hand-ins"
    folder.mkdir()
    (folder / "b.md").write_text(FIRST.read_text())
    (folder / "a.md").write_text(FIRST.read_text().replace("0.4458", "0.4468", 1))
    (folder / '<c> "&\u202e.md').write_text((LESSONS / "03-causal.md").read_text())
    (folder / "empty.txt").write_text("Hello.\n")
    (folder / "bad.py").write_bytes(b"x = 1\0\n")
    (folder / "picture.png").write_bytes(b"no document")
    return folder


def rows(folder):
    root = ET.fromstring((folder / "index.html").read_text().replace("<!DOCTYPE html>", ""))
    return [["".join(cell.itertext()) for cell in row] + [a.get("href") for a in row.iter("a")] for row in root.find(".//tbody")]


def test_an_index_of_hand_ins(attn, tmp_path, hand_ins):
    """Each file once, with the verdict of the JSON, the first wrong value, and a page that is that of the file alone."""
    result = attn("check", "hand-ins", "--html", "out", "--quiet", status=2)
    assert result.stdout == "wrote out/index.html\n" and "bad.py:1:6" in result.stderr
    table = {row[0]: row[1:] for row in rows(tmp_path / "out")}
    assert list(table) == ["hand-ins/" + n for n in ('<c> "&\ufffd.md', "a.md", "b.md", "bad.py", "empty.txt")]
    assert table["hand-ins/b.md"][:3] == ["correctすべて正しい", "", ""]
    _, wrong, cause, page = table["hand-ins/a.md"]
    assert "weights[Mia,Mia] " in wrong and "line 124" in wrong and wrong.endswith(" 0.4468 0.4458") and cause
    assert "binary" in table["hand-ins/bad.py"][1] and len(table["hand-ins/bad.py"]) == 3  # no page
    attn("check", "hand-ins/a.md", "--html", "alone.html", status=1)
    assert (tmp_path / "out" / page).read_text() == (tmp_path / "alone.html").read_text()
    assert len(list((tmp_path / "out").iterdir())) == 5


def test_files_and_folders_are_the_same(attn, tmp_path, hand_ins):
    names = sorted(str(p.relative_to(tmp_path)) for p in hand_ins.iterdir() if p.suffix != ".png")
    attn("check", *names, "--html", "one", "--quiet", status=2)
    attn("check", "hand-ins", "--html", "two", "--quiet", status=2)
    assert {p.name: p.read_bytes() for p in (tmp_path / "one").iterdir()} == {p.name: p.read_bytes() for p in (tmp_path / "two").iterdir()}
    assert attn("check", "hand-ins", "--json", status=2).stdout == attn("check", *names, "--json", status=2).stdout


def test_no_partial_folder(attn, tmp_path, hand_ins):
    """An existing folder is not touched; nothing is left where a page cannot be written."""
    (tmp_path / "out").mkdir()
    assert "out: exists" in attn("check", "hand-ins", "--html", "out", status=2).stderr
    assert "cannot create" in attn("check", "hand-ins", "--html", "none/out", status=2).stderr
    (tmp_path / "no").mkdir()
    assert "no .md" in attn("check", "no", "--html", "new", status=2).stderr
    limited = subprocess.run(["bash", "-c", f"ulimit -f 16; {os.environ['ATTN_BIN']} check hand-ins --html new --quiet"],
                             cwd=tmp_path, capture_output=True, text=True)
    assert limited.returncode == 2 and "cannot write" in limited.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["hand-ins", "no", "out"] and not list((tmp_path / "out").iterdir())


def test_the_index_in_a_browser(attn, tmp_path, hand_ins, visit):
    attn("check", "hand-ins", "--html", "out", "--quiet", status=2)
    view = visit(tmp_path / "out/index.html", width=360)
    names = "[...document.querySelectorAll('.index th[scope=row]')].map(th => th.textContent.split('/')[1][0])"
    assert view.evaluate(names) == ["<", "a", "b", "b", "e"] and view.evaluate("document.querySelectorAll('c').length") == 0
    view.click("text=Verdict")
    assert view.evaluate(names)[0] == "a" and view.get_attribute("th >> nth=1", "aria-sort") == "ascending"
    view.keyboard.press("Enter")
    assert view.evaluate(names)[-1] == "a" and view.evaluate("document.documentElement.scrollWidth <= innerWidth")
    view.click("text=hand-ins/a.md")
    assert view.inner_text("mark.wrong >> nth=0")


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
