"""Generated worked examples in every notation, correct or with one planted error.

A Lesson holds what is right (`exact`) and what is printed (`m`). Each step is computed from the
exact numbers or from the printed ones, at random, as people do with a calculator.
"""
import math
import random

import numpy as np
from conftest import softmax

NOTATIONS = ("pipes", "latex", "single", "list", "lines", "columns", "headings", "vectors", "indented")

ENGLISH = {"W_Q": "W_Q", "W_K": "W_K", "W_V": "W_V", "W_O": "W_O", "scaled": "scaled scores",
           "masked": "masked scores", "weights": "attention weights", "row_sum": "row sums"}
SYMBOLS = {"W_Q": "W^Q", "W_K": "W^K", "W_V": "W^V", "W_O": "W^O", "scores": "S", "scaled": "S_scaled",
           "masked": "S_masked", "exponentials": "exp", "row_sum": "sum", "weights": "A", "output": "Z"}
JAPANESE = {"scores": "スコア", "scaled": "スケーリング後", "masked": "マスク後", "exponentials": "指数",
            "row_sum": "合計", "weights": "アテンション重み", "output": "出力"}
PLAIN = {}

PHRASES = {
    "heading": ("# Worked example", "# 計算例", "## Worked example 1"),
    "scaled": ("Divide by sqrt({0}).", "√{0} で割ります。", "Scaled by 1/√d_k with d_k = {0}:"),
    "unscaled": ("No scaling.", "Without scaling.", "スケーリングはしません。", "ここではスケーリングを省略します。"),
    "causal": ("Causal mask: no look at the future.", "因果マスクを適用します。", "mask: causal"),
}
TOKENS = (("I", "have", "cats", "here", "now"), ("私", "は", "猫", "です", "よ"),
          ("the", "red", "old", "house", "fell"), ("A", "B", "C", "D", "E"))


def text_of(x, digits):
    if x == -math.inf:
        return "-inf"
    text = f"{x:.{digits}f}"
    return text[1:] if text.startswith("-") and float(text) == 0 else text


def table(form, name, cells, rows):
    """The matrix `cells` (of strings) under its name; rows: names of its rows, or None."""
    if form == "pipes":
        head = ([""] if rows else []) + [f"c{j + 1}" for j in range(len(cells[0]))]
        lines = ["| " + " | ".join(([rows[i]] if rows else []) + r) + " |" for i, r in enumerate(cells)]
        return "\n".join([f"{name}:", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + lines)
    if form == "latex":
        return "$$\n" + name + r" = \begin{bmatrix} " + r" \\ ".join(" & ".join(r) for r in cells) + " \\end{bmatrix}\n$$"
    if form == "single":
        return "\\[\n" + name + " = \\begin{pmatrix}\n" + " \\\n".join(" & ".join(r) for r in cells) + "\n\\end{pmatrix}\n\\]"
    if form == "list":
        return name + " = [" + ", ".join("[" + ", ".join(r) + "]" for r in cells) + "]"
    if form == "lines":
        return name + " = [\n" + ",\n".join("  [" + ", ".join(r) + "]" for r in cells) + "\n]"
    if form == "columns":
        return name + "\n" + "\n".join(" ".join(r) for r in cells)
    if form == "headings":
        return f"### {name}\n\n" + "\n".join("  ".join(r) for r in cells)
    if form == "vectors" and rows:
        return f"{name}:\n" + "\n".join(f"- {rows[i]}: [{', '.join(r)}]" for i, r in enumerate(cells))
    if form == "vectors":
        return table("list", name, cells, rows)
    return f"{name}:\n\n    " + "\n    ".join("  ".join(f"{c:>7}" for c in r) for r in cells)


class Lesson:
    """One head. kind: self, causal, cross, given (Q, K, V themselves), columns (queries in columns)."""

    def __init__(self, seed, kind=None, scaled=None):
        self.rng = random.Random(seed)
        rng = self.rng
        self.kind = kind or rng.choice(("self", "self", "causal", "cross", "given", "columns"))
        self.scaled = rng.random() < 0.8 if scaled is None else scaled
        self.form = rng.choice(NOTATIONS)
        self.names = rng.choice((PLAIN, ENGLISH, SYMBOLS, JAPANESE))
        self.digits = rng.randint(2, 4)
        self.whole = rng.random() < 0.6  # integers to begin with
        self.steps = rng.random() < 0.3  # exponentials and their sums shown
        self.tokens = rng.choice(TOKENS)
        self.n, self.d, self.k = rng.randint(2, 5), rng.randint(2, 4), rng.randint(2, 4)
        self.m, self.exact, self.order = {}, {}, []
        self.give()
        self.solve()

    def matrix(self, rows, cols):
        one = (lambda: self.rng.randint(-1, 2)) if self.whole else (lambda: self.rng.randint(-15, 15) / 10)
        return np.array([[float(one()) for _ in range(cols)] for _ in range(rows)])

    def give(self):
        queries = 2 if self.kind == "cross" else self.n
        if self.kind == "given":
            sizes = {"Q": (queries, self.k), "K": (self.n, self.k), "V": (self.n, self.k)}
        else:
            sizes = {"X": (self.n, self.d), **({"Y": (queries, self.d)} if self.kind == "cross" else {}),
                     "W_Q": (self.d, self.k), "W_K": (self.d, self.k), "W_V": (self.d, self.k)}
        for name, size in sizes.items():
            self.m[name] = self.exact[name] = self.matrix(*size)
            self.order.append(name)

    def digits_of(self, name):
        early = name in ("Q", "K", "V", "scores", "masked" if not self.scaled else "")
        if name in ("X", "Y", "W_Q", "W_K", "W_V") or (self.kind == "given" and name in "QKV"):
            return 0 if self.whole else 1
        return 0 if self.whole and early else self.digits

    def carry(self, name):
        """What the next step is computed from: the exact values or the printed ones."""
        return self.exact[name] if self.rng.random() < 0.5 else self.m[name]

    def put(self, name, value):
        if name not in self.order:
            self.order.append(name)
        self.exact[name] = value
        digits = self.digits_of(name)
        self.m[name] = np.array([[float(text_of(x, digits)) for x in row] for row in value.tolist()])

    def solve(self):
        if self.kind != "given":
            for name in "QKV":
                self.put(name, self.m["Y" if name == "Q" and self.kind == "cross" else "X"] @ self.m["W_" + name])
        last = "scores"
        self.put("scores", self.carry("Q") @ self.carry("K").T)
        if self.scaled:
            self.put("scaled", self.carry("scores") / self.k ** 0.5)
            last = "scaled"
        if self.kind == "causal":
            see = np.tril(np.ones(self.m[last].shape)) > 0
            self.put("masked", np.where(see, self.carry(last), -np.inf))
            last = "masked"
        self.last = last
        in_hand = self.carry(last)
        self.put("weights", softmax(in_hand))
        if self.steps and np.exp(self.m[last]).max() < 1e5:
            self.put("exponentials", np.exp(in_hand))
            self.put("row_sum", self.carry("exponentials").sum(1, keepdims=True))
            if (self.m["row_sum"] > 0).all():
                self.put("weights", self.carry("exponentials") / self.carry("row_sum"))
            else:
                del self.m["exponentials"], self.m["row_sum"]
        self.put("output", self.carry("weights") @ self.carry("V"))

    def printed(self, name):
        m = self.m[name]
        transposed = self.kind == "columns" and name in ("scores", "scaled", "exponentials", "weights", "row_sum")
        return m.T if transposed else m

    def rows_of(self, name):
        if self.kind == "columns" and name in ("scores", "scaled", "exponentials", "weights", "row_sum"):
            return self.tokens[:self.n] if name != "row_sum" else None
        if name.startswith("W_") or self.kind == "cross" and name not in ("X", "K", "V"):
            return None
        return self.tokens[:self.n]

    def phrase(self, kind):
        return self.rng.choice(PHRASES[kind]).format(self.k)

    def text(self):
        parts = [self.phrase("heading")]
        if self.rng.random() < 0.5:
            parts.append("tokens: " + " ".join(self.tokens[:self.n]))
        if self.kind == "columns":
            parts.append("Softmax along each column (各列), y_j = sum_i a_ij v_i.")
        order = [s for s in ("exponentials", "row_sum") if s in self.m]
        listed = [s for s in self.order if s not in ("exponentials", "row_sum", "weights", "output")]
        for name in listed + order + ["weights", "output"]:
            if name == "scaled":
                parts.append(self.phrase("scaled"))
            if name == "masked":
                parts.append(self.phrase("causal"))
            cells = [[text_of(x, self.digits_of(name)) for x in row] for row in self.printed(name).tolist()]
            parts.append(table(self.form, self.names.get(name, name), cells, self.rows_of(name)))
            if name == "scores" and not self.scaled:
                parts.append(self.phrase("unscaled"))
        return "\n\n".join(parts) + "\n"


# ---- Planted errors: each returns the wrong step, or None if it would not show in this lesson ----

def cell(lesson, name):
    m = lesson.m[name]
    return m, lesson.rng.randrange(m.shape[0]), lesson.rng.randrange(m.shape[1])


def transposed_weights(l):
    if l.kind not in ("self", "causal") or l.d != l.k:
        return None
    return l.put("Q", l.m["X"] @ l.m["W_Q"].T) or "Q"


def wrong_row_or_column(l):
    if l.kind == "given" or l.n < 2:
        return None
    m = l.m["V"].copy()
    m[0] = l.m["V"][1]
    return l.put("V", m) or "V"


def swapped_qk(l):
    return None if l.kind in ("given", "cross") else l.put("Q", l.exact["K"]) or "Q"


def missing_scale(l):
    return l.put("scaled", l.exact["scores"]) or "scaled" if l.scaled else None


def scale_by_dk(l):
    return l.put("scaled", l.exact["scores"] / l.k) or "scaled" if l.scaled else None


def scale_wrong_dim(l):
    if not l.scaled or l.kind == "given" or l.d in (l.k, l.k ** 2):
        return None
    return l.put("scaled", l.exact["scores"] / l.d ** 0.5) or "scaled"


def softmax_over_columns(l):
    if l.kind == "columns" or l.kind == "causal" or l.m["scores"].shape[0] != l.m["scores"].shape[1]:
        return None
    if np.allclose(l.exact["scores"], l.exact["scores"].T):
        return None  # such a document may have its queries in columns
    return l.put("weights", softmax(l.exact[l.last], 0)) or "weights"


def softmax_without_exp(l):
    scores = l.exact[l.last]
    if l.kind == "causal" or (scores < 0).any() or (np.abs(scores.sum(1)) < 0.5).any() or "exponentials" in l.m:
        return None
    return l.put("weights", scores / scores.sum(1, keepdims=True)) or "weights"


def softmax_cell(l):
    if "exponentials" in l.m:
        return None
    m, i, j = cell(l, "weights")
    m[i, j] += 0.13 if m[i, j] < 0.5 else -0.13
    return "weights"


def arithmetic_cell(l):
    m, i, j = cell(l, "scores")
    m[i, j] += l.rng.choice((-7, 7))
    return "scores"


def sign_slip(l):
    m, i, j = cell(l, "scores")
    m[i, j] = -m[i, j]
    return "scores"


def mask_ignored(l):
    return l.put("masked", l.exact["scaled" if l.scaled else "scores"]) or "masked" if l.kind == "causal" else None


def mask_off_by_one(l):
    if l.kind != "causal" or l.n < 3:
        return None
    before = l.exact["scaled" if l.scaled else "scores"]
    return l.put("masked", np.where(np.tril(np.ones(before.shape), 1) > 0, before, -np.inf)) or "masked"


def k_instead_of_v(l):
    return l.put("output", l.exact["weights"] @ l.exact["K"]) or "output"


def wrong_weight_row(l):
    a = l.exact["weights"]
    if a.shape[0] < 2:
        return None
    m = l.exact["output"].copy()
    m[0] = a[1] @ l.exact["V"]
    return l.put("output", m) or "output"


def transcription(l):
    m, i, j = cell(l, "output")
    units, tenths = text_of(m[i, j], l.digits).split(".")
    m[i, j] = float(units + "." + tenths[1] + tenths[0] + tenths[2:])
    return "output"


def rounding_too_coarse(l):
    if l.digits < 3 or "exponentials" in l.m:
        return None
    l.m["weights"] = np.round(l.exact["weights"], 1)
    return "weights"


ERRORS = {f.__name__: f for f in (
    transposed_weights, wrong_row_or_column, swapped_qk, missing_scale, scale_by_dk, scale_wrong_dim,
    softmax_over_columns, softmax_without_exp, softmax_cell, arithmetic_cell, sign_slip, mask_ignored,
    mask_off_by_one, k_instead_of_v, wrong_weight_row, transcription, rounding_too_coarse)}


def planted(cause, seed):
    """A lesson with one error larger than any rounding, and its step; or None."""
    kind = "causal" if cause.startswith("mask_") else None
    lesson = Lesson(seed, kind, True if cause.startswith(("scale", "missing")) else None)
    before = {name: m.copy() for name, m in lesson.m.items()}
    step = ERRORS[cause](lesson)
    if step is None:
        return None
    with np.errstate(invalid="ignore"):
        moved = np.abs(lesson.m[step] - before[step])
    moved = np.nan_to_num(moved, posinf=9.0)
    smallest = 5 * 10 ** -lesson.digits if cause == "rounding_too_coarse" else 0.1
    return (lesson, step) if moved.max() > smallest else None


# ---- Other changes of a step, which have no name as a slip: each returns the steps that it changes ----

def changed_step(l):
    return l.rng.choice([name for name in ("scores", "scaled", "weights", "output") if name in l.m])


def rows_exchanged(l):
    name = changed_step(l)
    l.m[name] = l.m[name][::-1]
    return [name]


def columns_exchanged(l):
    name = changed_step(l)
    l.m[name] = l.m[name][:, ::-1]
    return [name]


def row_copied(l):
    name = changed_step(l)
    l.m[name] = np.repeat(l.m[name][:1], len(l.m[name]), 0)
    return [name]


def steps_exchanged(l):
    if "scaled" not in l.m:
        return []
    l.m["scaled"], l.m["weights"] = l.m["weights"], l.m["scaled"]
    return ["scaled", "weights"]


CHANGES = {f.__name__: f for f in (rows_exchanged, columns_exchanged, row_copied, steps_exchanged)}


def changed(change, seed):
    """A lesson without a mask and with queries in rows, with a change larger than any rounding; or None."""
    lesson = Lesson(seed, random.Random(seed).choice(("self", "cross", "given")))
    before = {name: m.copy() for name, m in lesson.m.items()}
    names = CHANGES[change](lesson)
    return lesson if any(np.abs(lesson.m[n] - before[n]).max() > 0.1 for n in names) else None
