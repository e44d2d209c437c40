"""Results as text and as pages, and how notebooks show them."""
from html import escape

import numpy as np

from ._core import c_string, call, choose, core, ffi, integer, model, new_struct

_LANGUAGES = {"en": core.ATTN_LANGUAGE_ENGLISH, "ja": core.ATTN_LANGUAGE_JAPANESE}
_KINDS = {"matrix": core.ATTN_PANEL_MATRIX, "heat": core.ATTN_PANEL_HEAT, "image": core.ATTN_PANEL_IMAGE}
_FORMATS = {"text": core.ATTN_PICTURE_TEXT, "html": core.ATTN_PICTURE_HTML}

# A document of its own, with an opaque origin: its ids, styles and scripts meet no others, and nothing in it reaches the notebook.
_FRAME = ('<iframe title="attn" sandbox="allow-scripts" style="width:100%;height:32rem;resize:vertical;overflow:auto;'
          'border:1px solid #8888;border-radius:.5rem" srcdoc="{}"></iframe>')


class Page:
    """A result with a page: notebooks show it, html() returns it."""

    def html(self):
        """Returns one HTML page that needs no network, in English and Japanese; None if there is nothing to draw."""
        raise NotImplementedError

    def _repr_html_(self):
        page = self.html()
        return page and _FRAME.format(escape(page))

    def _repr_pretty_(self, printer, cycle):
        printer.text(str(self))

    def __init_subclass__(cls):
        cls._repr_pretty_ = Page._repr_pretty_  # IPython prefers the __repr__ of a class to what the class inherits


@ffi.callback("int(void *, const char *, size_t)")
def _append(context, text, count):
    ffi.from_handle(context).append(ffi.unpack(text, count))
    return 0


def text_of(function, *arguments):
    """Calls function(*arguments, sink, error) and returns the text written to the sink."""
    parts = []
    handle = ffi.new_handle(parts)
    call(function, *arguments, ffi.new("attn_sink *", {"context": handle, "write": _append}))
    return b"".join(parts).decode("utf-8", "replace")


def new_style(lang="en", precision=4, width=80):
    return new_struct("attn_style", language=choose(_LANGUAGES, lang, "lang"),
                      precision=integer(precision, "precision", -2**31, 2**31 - 1),
                      width=integer(width, "width", -2**31, 2**31 - 1))


class Memory(list):
    """What C structures point to: alive as long as this list."""

    def text(self, value, name="text"):
        self.append(ffi.new("char[]", c_string(value, name)))
        return self[-1]

    def texts(self, values):
        self.append(ffi.new("const char *[]", [self.text(value) for value in values]))
        return self[-1]

    def bilingual(self, english, japanese):
        return {"english": self.text(english), "japanese": self.text(japanese)}

    def array(self, values, kind):
        """kind: 'double *', 'float *'. Returns a pointer to a dense copy."""
        self.append(np.ascontiguousarray(values, {"double *": np.float64, "float *": np.float32}[kind]))
        return ffi.cast(kind, self[-1].ctypes.data)


def _set_panel(panel, memory, kind, title, values=None, rows=None, columns=None, note=None, **members):
    panel.struct_size, panel.kind = ffi.sizeof("attn_panel"), _KINDS[kind]
    panel.title = memory.bilingual(*title)
    if note:
        panel.note = memory.bilingual(*note)
    if values is not None:
        panel.rows, panel.cols = values.shape
        panel.at = memory.array(values, "double *")
    if rows is not None:
        panel.row_label = memory.texts(rows)
    if columns is not None:
        panel.col_label = memory.texts(columns)
    for name, value in members.items():
        setattr(panel, name, memory.bilingual(*value) if name.endswith("axis") else value)


def draw_panels(panels, title, form="html", style=None):
    """Draws panels, dictionaries of the arguments of _set_panel, as 'html' or 'text'."""
    memory, array = Memory(), ffi.new("attn_panel[]", len(panels))
    for panel, arguments in zip(array, panels):
        _set_panel(panel, memory, **arguments)
    heading = ffi.new("attn_bilingual_text *", memory.bilingual(*title))
    return text_of(model().attn_panels_draw, array, len(panels), heading, _FORMATS[form], style or new_style())
