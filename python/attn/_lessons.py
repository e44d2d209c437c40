"""Worked examples: explain and check, as the command attn does."""
import json
from dataclasses import dataclass
from functools import partial
from os import PathLike, fsencode
from pathlib import Path

from ._core import AttnTypeError, c_string, call, core, encoded, ffi, model, new_handle
from ._pages import Page, new_style, text_of


def _bytes_of(document):
    """Returns a document's bytes and its name."""
    if not isinstance(document, (str, PathLike)):
        raise AttnTypeError(f"document must be a str or a path, got {type(document).__name__}", "ATTN_ERR_TYPE", "document")
    if isinstance(document, str) and "\n" in document:
        return encoded(document, "document"), b"<text>"
    path = Path(document)
    name = c_string(path, "document", fsencode)
    return path.read_bytes(), name


def _read(data, name):
    """Returns the parsed document."""
    return new_handle("attn_lesson", model().attn_lesson_free, model().attn_lesson_read, data, len(data), name)


@dataclass
class _Report(Page):
    text: str
    _draw = None  # makes the page; not annotated: not a field

    def __str__(self):
        return self.text

    def html(self):
        return self._draw() if self._draw else None


@dataclass
class Explanation(_Report):
    """The steps of a worked example. A notebook shows the page of attn explain --html; of cell and gradients, the text.

    Attributes
    ----------
    text : str
        What print() shows.
    examples : list
        The steps as data; see docs/explain.schema.json.
    """
    examples: list


@dataclass
class Judgement(_Report):
    """The result of a check. True if the verdict is 'correct'. A notebook shows the page of attn check --html.

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
    verdict: str
    examples: list
    unread: list
    reading: list

    def __bool__(self):
        return self.verdict == "correct"


def _gradients_of(lesson, loss):
    """The lesson with the gradients of a loss, a cell or the sum of the output. The given lesson must be kept alive."""
    address = ffi.NULL if loss is None else ffi.new("attn_cell_address *")
    if address:
        call(model().attn_lesson_find_cell, lesson, loss, address)
    return new_handle("attn_lesson", model().attn_lesson_free, model().attn_lesson_gradients, lesson, address)


def _check_of(lesson):
    return new_handle("attn_check", model().attn_check_free, model().attn_lesson_check, lesson)


# A result keeps no handle, so that it can be copied and pickled: its page reads the document again.
def _lesson_page(data, name, style):
    return text_of(model().attn_lesson_draw, _read(data, name), core.ATTN_PICTURE_HTML, new_style(*style))


def _check_page(data, name, style):
    lesson = _read(data, name)
    return text_of(model().attn_check_draw, lesson, _check_of(lesson), data, len(data), new_style(*style))


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
    cell, loss = (None if one is None else c_string(one, name) for one, name in ((cell, "cell"), (loss, "loss")))
    (data, source), library, style = _bytes_of(document), model(), new_style(lang, precision, width)
    forward = _read(data, source)
    lesson = _gradients_of(forward, loss) if gradients or loss is not None else forward
    if cell is None:
        text = text_of(library.attn_lesson_explain, lesson, style)
    else:
        text = text_of(library.attn_lesson_explain_cell, lesson, cell, style)
    result = Explanation(text, json.loads(text_of(library.attn_lesson_explain_json, lesson))["examples"])
    if lesson == forward and cell is None and result.examples:
        result._draw = partial(_lesson_page, data, source, (lang, precision, width))
    return result


def check(document, *, lang="en", precision=4, width=80) -> Judgement:
    """Checks the numbers of a worked example. Parameters and errors are those of explain.

    Returns
    -------
    Judgement
    """
    (data, name), library, style = _bytes_of(document), model(), new_style(lang, precision, width)
    lesson = _read(data, name)
    checked = _check_of(lesson)
    text = text_of(library.attn_check_print, lesson, checked, style)
    report = json.loads(text_of(library.attn_check_print_json, name, lesson, checked, ffi.NULL))
    result = Judgement(text, report["verdict"], report["examples"], report["unread"], report["reading"])
    result._draw = partial(_check_page, data, name, (lang, precision, width))
    return result
