"""attn check on documents that leave out steps: every set of steps from the scores to the output, in every kind of attention."""
import itertools
import json
import random
import re
import subprocess

import numpy as np
import pytest

from conftest import ATTN

STEPS = ["scores", "scaled scores", "masked scores", "shifted scores", "exponentials", "row sums", "weights", "output"]
NAMES = {"scaled scores": "scaled", "masked scores": "masked", "row sums": "row_sum"}  # of the report; shifted scores have none
KINDS = {  # what the document states
    "self": "Self-attention. Scores are divided by sqrt(d_k).",
    "cross": "Cross-attention: the queries come from Y, the keys and values from X. Scores are divided by sqrt(d_k).",
    "one query": "Attention for one query. Scores are divided by sqrt(d_k).",
    "columns": "Tokens are columns: Q = W_Q X, S = K^T Q, softmax down each column, output = V A. Scores are divided by sqrt(d_k).",
    "causal": "Causal self-attention: a token sees itself and the tokens before it. Scores are divided by sqrt(d_k).",
    "padding": "Self-attention; the third token is padding and is masked. Scores are divided by sqrt(d_k).",
    "general": "Luong's general attention: the score of s and h is s^T W h.",
    "additive": "Additive attention: the score of s and h is v^T tanh(W s + U h).",
}
ALIGNMENTS = ("general", "additive")
GIVENS = {"projections": ["Q", "K", "V"], "inputs": ["X", "Y", "W_Q", "W_K", "W_V"], "both": ["X", "Y", "W_Q", "W_K", "W_V", "Q", "K", "V"]}


def differ(*matrices):
    """No two rows are equal, and none is zero: each number has one explanation."""
    return all(len({tuple(row) for row in m.tolist()}) == len(m) and np.abs(m).sum(1).min() > 0 for m in matrices)


def alignment_inputs(kind, rng):
    while True:
        s, h, w, u, v = (rng.integers(-1, 3, size) for size in ((1, 2), (3, 2), (2, 2), (2, 2), (1, 2)))
        m = {"s": s, "h": h, "W": w, **({"U": u, "v": v} if kind == "additive" else {})}
        if differ(h, w, u) and differ(s, v) and len(set(alignment(m).ravel().tolist())) == 3:
            return m


def alignment(m):
    return np.tanh(m["s"] @ m["W"].T + m["h"] @ m["U"].T) @ m["v"].T if "U" in m else (m["s"] @ m["W"] @ m["h"].T).T


def inputs(kind, rng):
    if kind in ALIGNMENTS:
        return alignment_inputs(kind, rng)
    queries, keys = (2 if kind == "cross" else 3), 3
    while True:
        x, y = rng.integers(-1, 3, (keys, 3)), rng.integers(-1, 3, (queries, 3))
        w = {f"W_{name}": rng.integers(-1, 2, (3, 2)) for name in "QKV"}
        q, k, v = (y if kind == "cross" else x) @ w["W_Q"], x @ w["W_K"], x @ w["W_V"]
        scores = q @ k.T
        if differ(q, k, v) and np.abs(scores).max() <= 5 and all(len(set(row)) == len(row) for row in scores.tolist()):
            if kind == "one query":
                q = q[1:2]
            return {"X": x, **({"Y": y} if kind == "cross" else {}), **w, "Q": q, "K": k, "V": v}


def compute(kind, m, steps, slip=None):
    """The steps; slip: what the author forgot."""
    scores, values = (alignment(m).T, m["h"]) if kind in ALIGNMENTS else (m["Q"] @ m["K"].T, m["V"])
    scaled = scores / (1 if slip == "scale" or kind in ALIGNMENTS else np.sqrt(values.shape[1]))
    masked = scaled.astype(float)
    if kind == "causal" and slip != "mask":
        masked[np.triu_indices(len(masked), 1)] = -np.inf
    if kind == "padding" and slip != "mask":
        masked[:, 2] = -np.inf
    shifted = masked - masked.max(1, keepdims=True)
    exponentials = np.exp(shifted if "shifted scores" in steps else masked)
    sums = exponentials.sum(1, keepdims=True)
    weights = exponentials / sums
    return dict(zip(STEPS, [scores, scaled, masked, shifted, exponentials, sums, weights, weights @ values]))


def printed(name, matrix, columns):
    decimals = 0 if matrix.dtype.kind == "i" else 3
    cell = lambda x: "-inf" if np.isneginf(x) else f"{x + 0:.{decimals}f}"
    rows = matrix.T if columns else matrix
    return f"{name} = [" + ", ".join("[" + ", ".join(map(cell, row)) + "]" for row in rows) + "]"


def document(kind, given, steps, slip=None, seed=0):
    m = inputs(kind, np.random.default_rng(seed))
    shown = [(name, m[name]) for name in (m if kind in ALIGNMENTS else GIVENS[given]) if name in m]
    shown += [(name, step) for name, step in compute(kind, m, steps, slip).items() if name in steps]
    lines = [KINDS[kind], *(printed(name, matrix, kind == "columns") for name, matrix in shown)]
    return "\n\n".join(lines) + "\n"


def cases(kinds):
    """(kind, what is given, the steps that are printed), all there are."""
    for kind, given in itertools.product(kinds, GIVENS):
        possible = [s for s in STEPS if s != "masked scores" or kind in ("causal", "padding")]
        possible = [s for s in possible if s != "scaled scores" or kind not in ALIGNMENTS]
        if kind in ("one query", *ALIGNMENTS) and given != "projections":
            continue
        for count in range(1, len(possible) + 1):
            for steps in itertools.combinations(possible, count):
                if "row sums" not in steps or "exponentials" in steps:
                    yield kind, given, steps


def a_third(all_cases):
    return random.Random(2).sample(drawn := list(all_cases), len(drawn) // 3)


def reports(folder, texts):
    files = [folder / f"{n}.md" for n in range(len(texts))]
    for file, text in zip(files, texts):
        file.write_text(text)
    done = subprocess.run([ATTN, "check", "--json", *files], capture_output=True, text=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_printed_is_correct(kind, tmp_path):
    all_cases = list(cases([kind]))
    verdicts = [r["verdict"] for r in reports(tmp_path, [document(*case, seed=n) for n, case in enumerate(all_cases)])]
    other = [(v, case) for v, case in zip(verdicts, all_cases) if v != "correct"]
    assert len(all_cases) > 20 and not other


def moved(text, step, rng):
    """The text with one number of a step moved far, and where it is."""
    lines = text.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith(step + " ="))
    numbers = list(re.finditer(r"-?\d+(\.\d+)?", lines[at]))
    number = rng.choice([m for m in numbers if float(m[0]) not in (0, 1)] or numbers)
    value = float(number[0]) + (.4 + .1 * abs(float(number[0])) if number[1] else 3)
    front = lines[at][:number.start()]
    lines[at] = front + (f"{value:.3f}" if number[1] else f"{value:.0f}") + lines[at][number.end():]
    return "\n".join(lines) + "\n", (front.count("], ["), front.split("[")[-1].count(","))


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_that_is_moved_is_placed(kind, tmp_path):
    """Of the last step that is printed: no other step follows from it."""
    rng, texts, places = random.Random(1), [], []
    for n, case in enumerate(a_third(cases([kind]))):
        text, place = moved(document(*case, seed=n), case[2][-1], rng)
        texts.append(text), places.append((case[2][-1], *place))
    found = []
    for report, (step, row, col) in zip(reports(tmp_path, texts), places):
        first = next((e["first_wrong"] for e in report.get("examples", []) if e.get("first_wrong")), None)
        found.append((report["verdict"], bool(first) and (first["row"], first["col"]) == (row, col) and (step == "shifted scores" or first["step"] == NAMES.get(step, step))))
    assert ("correct", False) not in found
    assert sum(is_placed for _, is_placed in found) > .97 * len(found)


@pytest.mark.parametrize("slip, kinds", [("scale", ["self", "cross", "columns", "causal", "padding"]), ("mask", ["causal", "padding"])])
def test_what_is_stated_and_not_done_is_never_correct(slip, kinds, tmp_path):
    later = {"scale": STEPS[1:], "mask": STEPS[2:]}[slip]
    shown = a_third(case for case in cases(kinds) if set(case[2]) & set(later))
    verdicts = [r["verdict"] for r in reports(tmp_path, [document(*case, slip, seed=n) for n, case in enumerate(shown)])]
    silent = [case for verdict, case in zip(verdicts, shown) if verdict == "correct"]
    assert len(shown) > 100 and not silent
