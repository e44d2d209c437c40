"""Runs the snippets of docs/python.md in order and compares their output with the page."""
import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def test_page_snippets():
    blocks = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", PAGE.read_text(), re.S)
    assert len(blocks) >= 5
    names = {}
    for code, shown in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(PAGE), "exec"), names)
        if shown:
            assert out.getvalue() == shown
