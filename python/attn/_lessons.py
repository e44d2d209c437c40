"""Worked examples: explain and check, as the command attn does."""
import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from ._core import AttnTypeError, check as check_status, choose, ffi, integer, model, new_error

_LANGUAGES = {"en": 0, "ja": 1}


@ffi.callback("int(void *, const char *, size_t)")
def _append(context, text, count):
    ffi.from_handle(context).append(ffi.unpack(text, count))
    return 0


def _text_of(function, *arguments):
    """Calls function(*arguments, sink, error) and returns the text written to the sink."""
    parts, error = [], new_error()
    handle = ffi.new_handle(parts)
    check_status(function(*arguments, ffi.new("attn_sink *", {"context": handle, "write": _append}), error), error)
    return b"".join(parts).decode("utf-8", "replace")


class _Lesson:
    """A parsed document."""

    def __init__(self, document):
        if not isinstance(document, (str, PathLike)):
            raise AttnTypeError(f"document must be a str or a path, got {type(document).__name__}", "ATTN_ERR_TYPE",
                                "document")
        path = None if isinstance(document, str) and "\n" in document else Path(document)
        data = path.read_bytes() if path else document.encode()
        self.name = str(path) if path else "<text>"
        handle, error = ffi.new("attn_lesson **"), new_error()
        check_status(model().attn_lesson_read(data, len(data), self.name.encode(), handle, error), error)
        self.lesson = ffi.gc(handle[0], model().attn_lesson_free)


def _style(lang, precision, width):
    style = ffi.new("attn_style *")
    style.struct_size, style.language = ffi.sizeof("attn_style"), choose(_LANGUAGES, lang, "lang")
    style.precision = integer(precision, "precision", -2**31, 2**31 - 1)
    style.width = integer(width, "width", -2**31, 2**31 - 1)
    return style


@dataclass
class Explanation:
    """The steps of a worked example.

    Attributes
    ----------
    text : str
        What print() shows.
    examples : list
        The steps as data; see docs/explain.schema.json.
    """
    text: str
    examples: list

    def __str__(self):
        return self.text


@dataclass
class Judgement:
    """The result of a check. True if the verdict is 'correct'.

    Attributes
    ----------
    text : str
        What print() shows.
    verdict : {'correct', 'wrong', 'doubtful', 'nothing_to_check'}
    examples : list
        The steps as data; see docs/check.schema.json.
    unread : list
        The numbers of the document that were not read.
    reading : list
        How each printed matrix was read.
    """
    text: str
    verdict: str
    examples: list
    unread: list
    reading: list

    def __str__(self):
        return self.text

    def __bool__(self):
        return self.verdict == "correct"


def _gradients_of(it, loss):
    """The lesson with the gradients of a loss, a cell or the sum of the output; it must be kept alive."""
    address, handle, error = ffi.new("attn_cell_address *"), ffi.new("attn_lesson **"), new_error()
    if loss is not None:
        check_status(model().attn_lesson_find_cell(it.lesson, loss.encode(), address, error), error)
    check_status(model().attn_lesson_gradients(it.lesson, ffi.NULL if loss is None else address, handle, error), error)
    return ffi.gc(handle[0], model().attn_lesson_free)


def explain(document, *, cell=None, gradients=False, loss=None, lang="en", precision=4, width=80) -> Explanation:
    """Explains every step of a worked example, or the computation of one cell.

    Parameters
    ----------
    document : str or path
        The name of a file, or the text itself if it contains a newline.
    cell : str, optional
        A matrix element, such as 'weights[2,0]'; with gradients also 'd_q[2,0]'.
    gradients : bool
        Explains the gradients of a loss by each step: of the sum of the output, or of loss.
    loss : str, optional
        The matrix element that is the loss; implies gradients.
    lang : {'en', 'ja'}
    precision : int
        Decimal places.
    width : int
        Columns of the text.

    Returns
    -------
    Explanation

    Raises
    ------
    AttnError
        Names line and column of a document that cannot be parsed.
    OSError
        The file cannot be read.
    """
    for name, value in (("cell", cell), ("loss", loss)):
        if value is not None and not isinstance(value, str):
            raise AttnTypeError(f"{name} must be a str, got {type(value).__name__}", "ATTN_ERR_TYPE", name)
    it, library, style = _Lesson(document), model(), _style(lang, precision, width)
    lesson = _gradients_of(it, loss) if gradients or loss is not None else it.lesson
    if cell is None:
        text = _text_of(library.attn_lesson_explain, lesson, style)
    else:
        text = _text_of(library.attn_lesson_explain_cell, lesson, cell.encode(), style)
    return Explanation(text, json.loads(_text_of(library.attn_lesson_explain_json, lesson))["examples"])


def check(document, *, lang="en", precision=4, width=80) -> Judgement:
    """Checks the numbers of a worked example. Parameters and errors are those of explain.

    Returns
    -------
    Judgement
    """
    it, library, style = _Lesson(document), model(), _style(lang, precision, width)
    handle, error = ffi.new("attn_check **"), new_error()
    check_status(library.attn_lesson_check(it.lesson, handle, error), error)
    result = ffi.gc(handle[0], library.attn_check_free)
    text = _text_of(library.attn_check_print, it.lesson, result, style)
    report = json.loads(_text_of(library.attn_check_print_json, it.name.encode(), it.lesson, result, ffi.NULL))
    return Judgement(text, report["verdict"], report["examples"], report["unread"], report["reading"])
