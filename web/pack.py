#!/usr/bin/env python3
"""Writes a page: everything in one file.

    pack.py check PAGE MODULE SCRIPT... -- LESSON...
    pack.py model PAGE MODULE SCRIPT... -- [CHECKPOINT [TEXT]]

SCRIPT: the scripts of the pages that the module writes, each a list of files joined by "+". CHECKPOINT: of attn train; the page
gets its weights, without the state of the optimizer. TEXT: the page begins with it.
"""
import base64
import hashlib
import html
import json
import struct
import sys
from pathlib import Path

HERE = Path(__file__).parent


def hash_of(script):
    return "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"


def written(files):
    """As attn_html_end and lesson_page.c write it."""
    return "//<![CDATA[\n" + "".join(Path(file).read_text() for file in files.split("+")) + "//]]>"


def joined(*files):
    return "".join((HERE / file).read_text() for file in files)


def weights_of(path):
    """The bytes of a safetensors file without the tensors "adamw.*"."""
    content = Path(path).read_bytes()
    size, = struct.unpack("<Q", content[:8])
    header, kept, at = json.loads(content[8:8 + size]), [], 0
    for name, tensor in sorted(((name, one) for name, one in header.items() if name != "__metadata__"), key=lambda one: one[1]["data_offsets"]):
        if name.startswith("adamw."):
            del header[name]
            continue
        begin, end = tensor["data_offsets"]
        kept.append(content[8 + size + begin:8 + size + end])
        tensor["data_offsets"] = [at, at + end - begin]
        at += end - begin
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(kept)


def parts_of_check(files):
    lessons = {Path(file).name: Path(file).read_text() for file in files}
    return {"lessons": json.dumps(lessons, ensure_ascii=False).replace("<", "\\u003c")}


def parts_of_model(files):
    path, text = [*files, "", ""][:2]
    return {"name": html.escape(Path(path).name), "example": html.escape(text),
            "checkpoint": base64.b64encode(weights_of(path)).decode() if path else ""}


def main(kind, target, module, *arguments):
    split = arguments.index("--")
    script = joined("common.js", f"{kind}.js")
    parts = {
        "hashes": " ".join(map(hash_of, [script, *map(written, arguments[:split])])),
        "title": {"check": "attn check", "model": "attn show"}[kind],
        "style": joined("page.css"),
        "worker": joined("wasi.js", f"{kind}_module.js", f"{kind}_worker.js"),
        "module": base64.b64encode(Path(module).read_bytes()).decode(),
        "script": script,
        **{"check": parts_of_check, "model": parts_of_model}[kind](arguments[split + 1:]),
    }
    page = joined("page.html").replace("{{body}}", joined(f"{kind}.html").rstrip("\n"))
    for name, part in parts.items():
        assert page.count("{{" + name + "}}") == 1 and (name == "style" or "</script" not in part), name
        page = page.replace("{{" + name + "}}", part)
    Path(target).write_text(page)


main(*sys.argv[1:])
