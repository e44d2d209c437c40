"""Where printed numbers stand in a document."""
import re
from decimal import Decimal
from fractions import Fraction

ASCII = {ord(c) + 0xfee0: c for c in "0123456789.,-"} | {ord("−"): "-"}
MINUS = ("&minus;", "\\u2212", "{-}")


def numbers(text, comma=False):
    """(start, end, value) of every number: ASCII or full-width digits, any minus sign; comma: with decimal commas."""
    text = text.translate(ASCII)
    for sign in MINUS:
        text = text.replace(sign, "-".rjust(len(sign)))
    if comma:
        text = re.sub(r"(?<=\d),(?=\d)", ".", text)
    return [(m.start(), m.end(), Decimal(m[0])) for m in re.finditer(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?", text, re.A)]


def values(cell):
    """The numbers of a cell: one, none (-∞), or two of a fraction or a root."""
    return [x for _, _, x in numbers(cell)]


def lines(row, hide):
    """The ways to print a row, as values; None is a masked cell."""
    for masked in ([], [Decimal(0)], values(hide)):
        line = sum((masked if c is None else values(c) for c in row), [])
        yield line
        yield [100 * x for x in line]
        yield sum((masked if c is None else values(c if "/" in c else str(Fraction(c))) for c in row), [])  # 0.5 as 1/2


def spans(text, rows, hide="", loose=False):
    """The places of a matrix, or None: all its rows, or all its columns, each in one piece; or, loose, each number anywhere."""
    for comma in (False, True):
        found = numbers(text, comma)
        order = [x for _, _, x in found]
        for M in [[[c] for r in rows for c in r]] if loose else [rows, [list(c) for c in zip(*rows)]]:
            at = []
            for row in M:
                ways = list(lines(row, hide))
                here = [found[i:i + len(w)] for w in ways if w for i in range(len(found)) if order[i:i + len(w)] == w]
                if not here and all(ways):
                    break
                at += [(a, b) for piece in here for a, b, _ in piece if len(piece) > 1 or "." in text[a:b]]
            else:
                return at
    return None
