"""The tool for authors of new documents (tests/lesson/authors): the examples of its instructions are drawn, computed twice and scored."""
import json
import os
import re
import subprocess
import sys
import textwrap

import pytest

from conftest import ATTN, SOURCE

TOOL = SOURCE / "tests/lesson/authors"


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120, env={**os.environ, "ATTN_SOURCE": str(SOURCE)})


def write_pages(folder, pages):
    assert run("sh", TOOL / "new.sh", folder).returncode == 0
    (folder / "pages.py").write_text("from generate import page\n" + pages)
    return run(sys.executable, TOOL / "draw.py", folder)


@pytest.fixture(scope="module")
def examples():
    section = (TOOL / "TASK.md").read_text().split("## Three examples\n")[1].split("\n(In `pages.py`")[0]
    return textwrap.dedent(section)


def test_the_examples_of_the_instructions_are_drawn_and_scored(tmp_path, examples):
    drawn = write_pages(tmp_path / "set", examples)
    assert "3 pages, 3 layouts, 9 documents, 0 pages with errors" in drawn.stdout
    key = json.loads((tmp_path / "set/key.json").read_text())
    assert sorted({e["verdict"] for e in key.values()}) == ["correct", "wrong"] and len(key) == len(list((tmp_path / "set/docs").iterdir())) == 9
    scored = run(sys.executable, TOOL / "score.py", ATTN, tmp_path / "set", "-v")
    right, placed, named = re.search(r"\| (\d) of 3 \| (\d) of 6 \| (\d) of 6 \|", scored.stdout).groups()
    assert (right, placed, named) == ("3", "6", "6") and "0; 0" in scored.stdout


@pytest.mark.parametrize("was, now, error", [('<<pipe(output, tok, ["z1", "z2"], "A·V")>>', "", "output is not in the text"), ("<<pipe(WQ)>>", "<<pipe(WZ)>>", "NameError")])
def test_a_number_that_is_not_printed_is_an_error(tmp_path, examples, was, now, error):
    assert was in examples
    drawn = write_pages(tmp_path, examples.replace(was, now))
    assert error in drawn.stdout and "1 pages with errors" in drawn.stdout and drawn.returncode == 1
