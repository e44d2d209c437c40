#!/usr/bin/env python3
"""draw.py FOLDER: writes FOLDER/docs and FOLDER/key.json from FOLDER/pages.py, each page in three draws of numbers, and checks every document
with a second computation. Prints what is wrong, page by page, then PASSED or what is still missing."""
import copy, importlib, json, multiprocessing, os, shutil, sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("ATTN_SOURCE") or HERE.parents[2])
sys.path[:0] = [str(HERE), str(SOURCE / "tests/lesson/documents")]
import numpy as np
import generate, printed, verify

SLIPS = """arithmetic-slip sign-slip digits-swapped wrong-row-or-column transposed-weight qk-swapped scaled-by-dk scaled-wrong-dim no-scaling
mask-off-by-one mask-ignored-row softmax-over-columns softmax-without-exp softmax-one-row output-with-K other-row-weights rounding-too-coarse""".split()
KINDS = {"cross": lambda p: "cross" in p.kind, "Q, K, V given": lambda p: p.direct, "causal mask": lambda p: p.mask == "causal",
         "padding mask": lambda p: isinstance(p.mask, int), "several heads": lambda p: p.heads, "positions": lambda p: p.P,
         "additive": lambda p: p.score == "additive", "general": lambda p: p.score == "general", "columns": lambda p: p.columns,
         "one query": lambda p: p.only is not None, "scores given": lambda p: {"Q", "K"} <= set(p.unprinted.split())}


def printed_rows(p, entry, side):
    """{name: rows} of all that the document must show; a masked cell is None."""
    out = {k: M for k, M in entry["recipe"]["givens"].items() if k not in p.unprinted.split()}
    for name, s in side.items():
        hidden = {"masked": lambda c: c == "-inf", "exponentials": lambda c: not float(c), "weights": lambda c: not float(c)}.get(name.split(".")[-1])
        out[name] = [[None if p.mask and hidden and hidden(c) else c for c in row] for row in s["rows"]]
    return out


def examine(p, body, entry, side):
    """Raises ValueError where the document differs from its key."""
    if "<<" in body:
        raise ValueError("'<<' is left in the text")
    if p.bad:
        return
    try:
        verify.check(p.file, entry, side)
    except AssertionError as e:
        raise ValueError(f"the second computation disagrees: {e}; other numbers (pool, wpool, n, decimals) may help") from e
    entry["printed"], entry["hide"] = printed_rows(p, entry, side), p.hide
    for name, rows in entry["printed"].items():
        if name in side or p.only is None:
            if printed.spans(body, rows, p.hide, p.loose) is None:
                where = "somewhere" if p.loose else "with each row, or each column, in one piece (if it is legible all the same: loose=True)"
                raise ValueError(f"{name} is not in the text {where}: {rows}" + ("" if name in side else f" (not printed on purpose: unprinted='{name}')"))


def draws(index):
    """The three documents of a page, or what is wrong with it."""
    np.seterr(all="ignore")
    out, page = [], generate.PAGES[index]
    for d in (1, 2, 3):
        for attempt in range(4):
            p = copy.copy(page)
            p.id += 1000 * d + 10000 * attempt
            stem, dot, end = page.file.rpartition(".")
            p.file = f"{stem}_d{d}{dot}{end}"
            error = None
            try:
                body, entry, side = generate.document(p)
                examine(p, body, entry, side)
                break
            except SystemExit:
                return "no numbers found in 20000 draws: try a wider pool or wpool, fewer decimals or steps, scores below 9, weights below 0.93"
            except ValueError as e:
                error = str(e)
                if "second computation" not in error:
                    return error
            except Exception as e:
                return f"{type(e).__name__}: {e}"
        if error:
            return error
        out.append((p.file, body, entry))
    return out if len({body for _, body, _ in out}) == 3 else "the three draws are alike: print drawn numbers with <<...>>, also in a bad page"


def missing(pages):
    """What a full set still needs."""
    count = Counter("bad" if p.bad else "slip" if p.slip else "right" for p in pages)
    used = Counter(p.slip.split()[-1] for p in pages if p.slip)
    need = [f"{count[k]} of {n} {what}" for k, n, what in (("right", 30, "right pages"), ("slip", 30, "pages with a slip"), ("bad", 6, "bad pages")) if count[k] != n]
    need += [f"the slip {s}" for s in SLIPS if not used[s]]
    need += [f"{sum(map(bool, map(f, pages)))} of 2 pages of the kind: {k}" for k, f in KINDS.items() if sum(map(bool, map(f, pages))) < 2]
    layouts, en = len({p.layout for p in pages}), sum(p.lang == "en" for p in pages)
    need += [f"{layouts} of 30 layouts"] * (layouts < 30) + [f"half the pages in each language: {en} of {len(pages)} are English"] * (abs(2 * en - len(pages)) > 6)
    return need


def main():
    folder = Path(sys.argv[1])
    sys.path.insert(0, str(folder))
    importlib.import_module("pages")
    pages, key, bad = generate.PAGES, {}, 0
    twice = [f for f, n in Counter(p.file for p in pages).items() if n > 1]
    shutil.rmtree(folder / "docs", ignore_errors=True)
    (folder / "docs").mkdir()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for p, result in zip(pages, pool.imap(draws, range(len(pages)))):
            error = "two pages have this file name" if p.file in twice else result if isinstance(result, str) else None
            if error:
                bad += 1
                print(f"{p.file}: {error}", flush=True)
                continue
            for file, body, entry in result:
                (folder / "docs" / file).write_text(body, encoding="utf-8")
                key[file] = entry
    (folder / "key.json").write_text(json.dumps(key, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    need, layouts = missing(pages), len({p.layout for p in pages})
    for n in need:
        print("to do:", n)
    print(f"{'PASSED' if not bad and not need else 'NOT YET'}: {len(pages)} pages, {layouts} layouts, {len(key)} documents, {bad} pages with errors")
    sys.exit(bool(bad or need))


main()
