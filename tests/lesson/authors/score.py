#!/usr/bin/env python3
"""score.py ATTN FOLDER [-v] [-n]: how `ATTN check --json` does on FOLDER/docs against FOLDER/key.json.

-v: every document that is judged otherwise than its key, and the numbers that were moved unnoticed. -n: without the moved numbers.
Moved numbers: in each right document that is called correct, up to 40 numbers, spread evenly, are moved one at a time, by 1.37 or by 7 if whole."""
import json, re, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from printed import spans

CAUSES = {"arithmetic-slip": "arithmetic_cell", "sign-slip": "sign_slip", "digits-swapped": "transcription", "scaled-by-dk": "scale_by_dk",
          "wrong-row-or-column": "wrong_row_or_column", "scaled-wrong-dim": "scale_wrong_dim", "rounding-too-coarse": "rounding_too_coarse",
          "other-row-weights": "wrong_weight_row", "mask-off-by-one": "mask_off_by_one", "softmax-over-columns": "softmax_over_columns",
          "qk-swapped": "swapped_qk", "softmax-without-exp": "softmax_without_exp", "no-scaling": "missing_scale", "softmax-one-row": "softmax_cell",
          "transposed-weight": "transposed_weights", "output-with-K": "k_instead_of_v", "mask-ignored-row": "mask_ignored"}
NUMBER = re.compile(r"(?<![\w.^_{\\])-?\d+\.\d+|(?<![\w.^_{\\])-?\d+(?![\w.}])")


def check(path):
    """The report and the exit status."""
    try:
        r = subprocess.run([ATTN, "check", "--json", path], capture_output=True, text=True, timeout=20, errors="replace")
        return json.loads(r.stdout.strip().splitlines()[0]), r.returncode
    except Exception as e:
        return {"verdict": "none: " + type(e).__name__}, None


def judge(truth, report, status):
    """Is the document judged as its key has it, is the cause named, and the first wrong value of the report."""
    got = report["verdict"]
    if truth["verdict"] == "correct":
        return got == "correct" and status == 0, False, {}
    if truth["verdict"] == "bad_input":
        return (truth["reason"] == "missing-matrix" and got != "wrong") or status == 2 or got in ("bad_input", "nothing_to_check"), False, {}
    first = next((e["first_wrong"] for e in report.get("examples", []) if e.get("first_wrong")), {}) if got == "wrong" else {}
    cells = [tuple(c) for c in truth["cells"] + truth["doubtful_cells"]] + [(truth["row"], truth["col"]), (truth.get("row_printed"), truth["col"])]
    placed = first.get("step") == truth["step"] and (first.get("row"), first.get("col")) in cells
    causes = {CAUSES[c] for c in [truth["cause"], *truth["cause_also"]]}
    if truth["step"] == "weights" and "arithmetic_cell" in causes:
        causes.add("softmax_cell")  # "an arithmetic error in the softmax"
    named = placed and first.get("cause") in causes
    return placed, named, first


def candidates(text, number):
    """Up to 40 numbers of a document, spread evenly; of a line with one whole number, none."""
    at, position = [], 0
    for line in text.splitlines(True):
        found = list(NUMBER.finditer(line))
        at += [(position + m.start(), position + m.end()) for m in found if "." in m[0] or len(found) > 1]
        position += len(line)
    n = min(40, len(at))
    return [at[(i * len(at) + number * len(at) // 3) // n % len(at)] for i in range(n)]


def moves(file):
    """(line, belongs to a worked step, unnoticed) for each moved number of a right document."""
    text, truth, out = (DOCS / file).read_text(encoding="utf-8"), KEY[file], []
    worked = [s for name, rows in truth["printed"].items() for s in spans(text, rows, truth["hide"]) or spans(text, rows, truth["hide"], True) or []]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        for a, b in candidates(text, int(re.search(r"_d(\d)", file)[1]) - 1):
            digits = len(text[a:b].partition(".")[2])
            path.write_text(text[:a] + f"{float(text[a:b]) + (1.37 if digits else 7):.{digits}f}" + text[b:], encoding="utf-8")
            out.append((text.count("\n", 0, a) + 1, any(a < d and c < b for c, d in worked), check(path)[0]["verdict"] == "correct"))
    return out


def main():
    n, ok = dict(correct=0, wrong=0, bad_input=0), dict(correct=0, wrong=0, bad_input=0)
    causes = alarms = silent = 0
    right = []
    with ThreadPoolExecutor(2) as pool:
        for (f, truth), (report, status) in zip(KEY.items(), pool.map(check, [DOCS / f for f in KEY])):
            v, got, tags = truth["verdict"], report["verdict"], []
            good, named, first = judge(truth, report, status)
            n[v] += 1
            ok[v] += good
            causes += named
            if v == "correct" and good:
                right.append(f)
            if v == "correct" and got == "wrong":
                alarms += 1
                tags = ["FALSE ALARM"]
            if v == "wrong" and got == "correct":
                silent += 1
                tags = ["SLIP CALLED CORRECT"]
            if v == "wrong" and good and not named:
                tags = ["another cause"]
            if VERBOSE and (not good or tags):
                print(f, f"({truth['layout']})", v, *(truth.get(k, "") for k in ("step", "row", "col", "cause", "reason")), "->", got,
                      *(first.get(k, "") for k in ("step", "row", "col", "cause")), *tags, (report.get("error") or {}).get("message", ""))
        moved = dict(zip(right, pool.map(moves, right))) if MOVE else {}
    every = [m for ms in moved.values() for m in ms]
    if VERBOSE:
        for f, ms in moved.items():
            if any(m[2] for m in ms):
                print(f, "moved unnoticed in lines", *sorted({m[0] for m in ms if m[2]}))
    share = lambda ms: f"{sum(m[2] for m in ms)} of {len(ms)} ({100 * sum(m[2] for m in ms) / max(len(ms), 1):.1f} %)"
    layouts = len({truth["layout"] for truth in KEY.values()})
    print(f"| NN | {layouts} | {ok['correct']} of {n['correct']} | {ok['wrong']} of {n['wrong']} | {causes} of {n['wrong']} "
          f"| {ok['bad_input']} of {n['bad_input']} | {alarms}; {silent} | {share(every) if MOVE else '-'} |")
    if MOVE:
        print(f"of worked steps and givens: {share([m for m in every if m[1]])}; others: {share([m for m in every if not m[1]])}")


ATTN, FOLDER = [a for a in sys.argv[1:] if a not in ("-v", "-n")]
VERBOSE, MOVE = "-v" in sys.argv, "-n" not in sys.argv
DOCS, KEY = Path(FOLDER) / "docs", json.loads((Path(FOLDER) / "key.json").read_text(encoding="utf-8"))
main()
