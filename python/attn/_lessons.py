"""Worked examples: explain and check, as the command does."""
import json
from dataclasses import dataclass
from pathlib import Path

from ._core import AttnError, check as raise_for, ffi, model


@ffi.callback("int(void *, const char *, size_t)")
def _write(context, text, count):
    ffi.from_handle(context).append(ffi.unpack(text, count))
    return 0


class _Told:
    """Where the library's text goes."""

    def __init__(self):
        self.parts = []
        self.handle = ffi.new_handle(self.parts)
        self.sink = ffi.new("attn_sink *", {"context": self.handle, "write": _write})

    def text(self):
        return b"".join(self.parts).decode("utf-8", "replace")


class _Lesson:
    def __init__(self, document):
        path = Path(document) if isinstance(document, Path) or "\n" not in str(document) else None
        data = path.read_bytes() if path else str(document).encode()
        self.name = str(path) if path else "<text>"
        handle, error = ffi.new("attn_lesson **"), ffi.new("attn_error *")
        raise_for(model().attn_lesson_read(data, len(data), self.name.encode(), handle, error), error)
        self.lesson = ffi.gc(handle[0], model().attn_lesson_free)

    def tell(self, function, *arguments):
        told, error = _Told(), ffi.new("attn_error *")
        raise_for(function(*arguments, told.sink, error), error)
        return told.text()


def _style(lang, precision, width):
    if lang not in ("en", "ja"):
        raise AttnError(f"lang is {lang!r}; it must be 'en' or 'ja'", "ATTN_ERR_ARGUMENT", "lang")
    style = ffi.new("attn_style *")
    style.struct_size, style.language = ffi.sizeof("attn_style"), lang == "ja"
    style.precision, style.width = precision, width
    return style


@dataclass
class Explanation:
    """Every step of a lesson. print(it), or look into it.examples (docs/explain.schema.json)."""
    text: str
    examples: list

    def __str__(self):
        return self.text


@dataclass
class Judgement:
    """What check found. verdict: correct, wrong, doubtful or nothing_to_check; docs/check.schema.json."""
    text: str
    verdict: str
    examples: list

    def __str__(self):
        return self.text

    def __bool__(self):
        return self.verdict == "correct"


def explain(document, *, cell=None, lang="en", precision=4, width=80) -> Explanation:
    """Every step of a worked example, or with cell ('weights[2,0]') the whole sum behind one number.

    document: a pathlib.Path, a file's name, or (where it holds line ends) the text itself.
    """
    it, library, style = _Lesson(document), model(), _style(lang, precision, width)
    if cell is None:
        text = it.tell(library.attn_lesson_explain, it.lesson, style)
    else:
        text = it.tell(library.attn_lesson_explain_cell, it.lesson, cell.encode(), style)
    return Explanation(text, json.loads(it.tell(library.attn_lesson_explain_json, it.lesson))["examples"])


def check(document, *, lang="en", precision=4, width=80) -> Judgement:
    """Judges the numbers of a worked example; document as for explain."""
    it, library, error = _Lesson(document), model(), ffi.new("attn_error *")
    handle = ffi.new("attn_check **")
    raise_for(library.attn_lesson_check(it.lesson, handle, error), error)
    judged = ffi.gc(handle[0], library.attn_check_free)
    text = it.tell(library.attn_check_print, it.lesson, judged, _style(lang, precision, width))
    told = json.loads(it.tell(library.attn_check_print_json, it.name.encode(), it.lesson, judged, ffi.NULL))
    return Judgement(text, told["verdict"], told["examples"])
