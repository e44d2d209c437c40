#!/usr/bin/env python3
"""Writes the page: everything in one file.

    pack.py PAGE MODULE SCRIPT... [-- LESSON...]

SCRIPT: the scripts of the pages that the module writes, each a list of files joined by "+".
"""
import base64
import hashlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent


def hash_of(script):
    return "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"


def written(files):
    """As attn_html_end and lesson_page.c write it."""
    return "//<![CDATA[\n" + "".join(Path(file).read_text() for file in files.split("+")) + "//]]>"


def main(target, module, arguments):
    split = arguments.index("--")
    script = (HERE / "page.js").read_text()
    lessons = {Path(file).name: Path(file).read_text() for file in arguments[split + 1:]}
    parts = {
        "hashes": " ".join(map(hash_of, [script, *map(written, arguments[:split])])),
        "style": (HERE / "page.css").read_text(),
        "lessons": json.dumps(lessons, ensure_ascii=False).replace("<", "\\u003c"),
        "worker": (HERE / "checker.js").read_text() + (HERE / "worker.js").read_text(),
        "module": base64.b64encode(Path(module).read_bytes()).decode(),
        "script": script,
    }
    page = (HERE / "page.html").read_text()
    for name, part in parts.items():
        assert page.count("{{" + name + "}}") == 1 and (name == "style" or "</script" not in part), name
        page = page.replace("{{" + name + "}}", part)
    Path(target).write_text(page)


main(sys.argv[1], sys.argv[2], sys.argv[3:])
