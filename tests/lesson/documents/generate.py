"""Writes documents/*, documents/key.json and printed.json (the printed numbers, for verify.py).

A page (pages_en.py, pages_ja.py) is a text with <<expressions>>; the numbers are drawn here, and every slip is planted here."""
import json, re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
import numpy as np
import layouts

ORDER = "positions Q K V scores scaled masked exponentials row_sum weights output concat projected".split()
PAGES, HERE = [], Path(__file__).parent


def page(file, layout, lang, kind, text, **spec):
    p = dict(n=3, m=None, D=4, dk=2, dv=None, heads=None, pool=(0, 1, 2), wpool=(0, 1), direct=False, P=False, mask=None, scale=True,
             score="dot", carry="exact", slip=None, goon="wrong", tok="", only=None, columns=False, bad=None, post=None, same=False, hide="0", steps="", seed=0, loose=False, unprinted="")
    assert not set(spec) - set(p), spec
    p.update(spec, file=file, layout=layout, lang=lang, kind=kind, text=text, id=len(PAGES))
    p["m"] = p["m"] or p["n"]
    p["dv"] = p["dv"] or p["dk"]
    p["print"] = dict(re.fullmatch(r"(\w+?):?(%?\d|[FR])", s).groups() for s in p["steps"].split())  # Q0 weights3 weights%1 scoresF scaledR
    PAGES.append(SimpleNamespace(**p))


# ---- the numbers

def draw(p, rng):
    a = lambda pool, *s: rng.choice(np.array(pool, float), s)
    g = {}
    if p.direct:
        return dict(Q=a(p.pool, p.n, p.dk), K=a(p.pool, p.m, p.dk), V=a(p.pool, p.m, p.dv))
    g["X"] = a(p.pool, p.n, p.D)
    if p.P:
        g["P"] = a(p.P, p.n, p.D)
    if "cross" in p.kind:
        g["Y"] = a(p.pool, p.m, p.D)
    if p.score == "general":
        return {**g, "Wa": a(p.wpool, p.D, p.D)}
    for h in [""] if not p.heads else range(1, p.heads + 1):
        for s, d in (("Q", p.dk), ("K", p.dk), ("V", p.dv)):
            if p.score == "dot" or s != "V":
                g[f"W{s}{h}"] = a(p.wpool, p.D, d)
    if p.heads:
        g["WO"] = a(p.wpool, p.heads * p.dv, p.D)
    if p.score == "additive":
        g["va"] = a((1, -1, 2, 0.5), 1, p.dk)
    return g


def allowed(p):
    if p.mask == "causal":
        return np.tril(np.ones((p.n, p.m), bool))
    return np.tile(np.arange(p.m) < p.m - (p.mask or 0), (p.n, 1))


def chain(p, g, edit=lambda h, s, v, a: a, settle=lambda s, a: a):
    """Every step: {(head, step): array}. edit plants the slip; settle is what the author carries on with."""
    out, top = {}, dict(g)
    def put(h, v, s, a):
        v[s] = out[h, s] = settle(s, edit(h, s, v, a))
    if "P" in g:
        put(None, top, "positions", g["X"] + g["P"])
    x = top.get("positions", top.get("X"))
    y = top.get("Y", x)
    for h in range(p.heads) if p.heads else [None]:
        v = dict(top, x=x, y=y, ok=allowed(p))
        for s, z in (("Q", x), ("K", y), ("V", y)):
            w = g.get(f"W{s}" + ("" if h is None else str(h + 1)))
            if w is not None:
                v["W" + s] = w
                put(h, v, s, z @ w)
            elif s not in v:
                v[s] = z
        Q, K = v["Q"], v["K"]
        put(h, v, "scores", {"dot": lambda: Q @ K.T, "general": lambda: Q @ g["Wa"] @ K.T,
                             "additive": lambda: np.tanh(Q[:, None] + K[None]) @ g["va"][0]}[p.score]())
        put(h, v, "scaled", v["scores"] / np.sqrt(Q.shape[1]) if p.scale else v["scores"])
        put(h, v, "masked", np.where(v["ok"], v["scaled"], -np.inf))
        put(h, v, "exponentials", np.exp(v["masked"]))
        put(h, v, "row_sum", v["exponentials"].sum(1, keepdims=True))
        put(h, v, "weights", v["exponentials"] / v["row_sum"])
        put(h, v, "output", v["weights"] @ v["V"])
    if p.heads:
        put(None, top, "concat", np.hstack([out[h, "output"] for h in range(p.heads)]))
        put(None, top, "projected", top["concat"] @ g["WO"])
    return out


# ---- the slips, planted on purpose

def terms(s, v):
    """The operands of a product step."""
    return {"Q": lambda: (v["x"], v["WQ"]), "K": lambda: (v["y"], v["WK"]), "V": lambda: (v["y"], v["WV"]), "scores": lambda: (v["Q"], v["K"].T),
            "output": lambda: (v["weights"], v["V"]), "projected": lambda: (v["concat"], v["WO"])}[s]()


def planted(p, rng):
    """A function for chain(edit=...): p.slip is 'step[@head] name'."""
    where, name = p.slip.split()
    step, _, head = where.partition("@")
    head = int(head) if head else None
    soft = lambda s, axis: (e := np.exp(s)) / e.sum(axis, keepdims=True)

    def edit(h, s, v, a):
        if s != step or (head is not None and h != head):
            return a
        a = a.copy()
        i, j = (p.only if p.only is not None else rng.integers(a.shape[0])), rng.integers(a.shape[1])
        other = (i + 1 + rng.integers(max(a.shape[0] - 1, 1))) % a.shape[0]
        if name == "arithmetic-slip":
            unit = {"0": 1, "F": 0.25}.get(p.print[s], 0.1)
            a[i, j] += unit * rng.choice([-2, -1, 1, 2, 3])
        elif name == "sign-slip":
            A, B = terms(s, v)
            k = rng.choice(np.flatnonzero(A[i] * B[:, j])) if (A[i] * B[:, j]).any() else 0
            a[i, j] -= 2 * A[i, k] * B[k, j]
        elif name == "digits-swapped":
            t = text(a[i, j], p.print[s])
            k = rng.integers(len(t) - 1) if len(t) > 1 else 0
            if t[k:k + 2].isdigit() and len(t) > 1:
                a[i, j] = float(t[:k] + t[k + 1] + t[k] + t[k + 2:])
        elif name == "wrong-row-or-column":
            A, B = terms(s, v)
            a[i, j] = A[i] @ B[:, (j + 1 + rng.integers(B.shape[1] - 1)) % B.shape[1]]
        elif name == "transposed-weight":
            a = v["Q"] @ v["Wa"].T @ v["K"].T if s == "scores" else terms(s, v)[0] @ terms(s, v)[1].T
        elif name == "qk-swapped":
            a = v["K"] @ v["Q"].T
        elif name == "scaled-by-dk":
            a = v["scores"] / p.dk
        elif name == "scaled-wrong-dim":
            a = v["scores"] / np.sqrt(p.D)
        elif name == "no-scaling":
            a = v["scores"].copy()
        elif name == "mask-off-by-one":
            a = np.where(np.tri(p.n, p.m, 1, dtype=bool), v["scaled"], -np.inf)
        elif name == "mask-ignored-row":
            i = rng.integers(a.shape[0] - 1)
            a[i] = v["scaled"][i]
        elif name == "softmax-over-columns":
            a = soft(v["masked"], 0)
        elif name == "softmax-without-exp":
            a = v["scaled"] / v["scaled"].sum(1, keepdims=True)
        elif name == "softmax-one-row":  # a spreadsheet divides by another row's sum; by hand: one row not scaled
            a[i] = v["exponentials"][i] / v["row_sum"][other] if "row_sum" in p.print else soft(v["scores"], 1)[i]
        elif name == "output-with-K":
            a = v["weights"] @ v["K"]
        elif name == "other-row-weights":
            a[i] = a[other]
        elif name == "rounding-too-coarse":
            a = np.round(v["weights"], 1) @ v["V"]
        else:
            raise KeyError(name)
        return a
    return edit


# ---- printing

def places(f):
    return int(f[1:]) + 2 if f[0] == "%" else int(f) if f.isdigit() else None


def text(x, f):
    if not np.isfinite(x):
        return "-inf"
    if f in "FR":
        return str(Fraction(float(x)).limit_denominator(500))
    t = f"{x:.{places(f)}f}"
    return t.replace("-", "") if float(t) == 0 else t


def plain(a):
    return [[f"{x:g}" for x in r] for r in a]


def root(x, d):
    """A score over √d, as written by hand."""
    f = Fraction(float(x)).limit_denominator(500)
    if not f or d in (1, 4):
        return str(f / (2 if d == 4 else 1))
    return f"{f.numerator}/√{d}" if f.denominator == 1 else f"{f.numerator}/({f.denominator}√{d})"


def rounded(p, jitter=None):
    """settle for chain: the printed value, jittered by half a unit where jitter is a generator."""
    def settle(s, a):
        f = p.print.get(s, "")
        d = places(f) if f else None
        if d is None or (p.carry == "exact" and jitter is None):
            return a
        r = np.round(a, d)
        return r if jitter is None or np.allclose(r, a, atol=1e-9) else r + jitter.choice([-.5, .5], a.shape) * 10.0 ** -d * (r != 0)
    return settle


def dull(p, g, right):
    """Numbers that no author would choose, or that ordinary rounding leaves open (ties)."""
    for (h, s), a in right.items():
        if s in p.print and places(p.print[s]) is not None:
            fin = a[np.isfinite(a)] * 10.0 ** places(p.print[s])
            frac = np.abs(fin - np.floor(fin) - .5)
            if (frac < .03).any():
                return True
        if s == "weights":
            w = a[:, :][allowed(p)]
            if not w.min() >= .01 or (a.max(1)[1 if p.mask == "causal" else 0:] > .93).any() or np.ptp(a[-1][allowed(p)[-1]]) < .15:
                return True
        if s == "scores" and (np.abs(a).max() > 9 or len(np.unique(a, axis=0)) < len(a) or len(np.unique(a.T, axis=0)) < a.shape[1]):
            return True
            if any(np.ptp(r[k]) == 0 for r, k in zip(a, allowed(p)) if k.sum() > 1):
                return True
        if s in "QKV" and not a.any(1).all():
            return True
    for (h, s), a in [((None, "V"), g.get("V", g.get("Y", np.eye(2))))] + list(right.items()):
        if s == "V" and (np.ptp(a, axis=0).min() == 0 or len(np.unique(np.abs(a.T), axis=0)) < a.shape[1]):
            return True
    rows = [g[n] for n in ("X", "Y", "P", "Q", "K", "V") if n in g]
    full = [a for (h, s), a in right.items() if s in "QKV"] + [a for n, a in g.items() if n in "XYQKV"]
    if any(np.linalg.matrix_rank(a) < min(a.shape) for a in full):
        return True
    return any(not a.any(1).all() or len(np.unique(a, axis=0)) < len(a) for a in rows) or any(not a.any(0).all() for n, a in g.items() if n[0] == "W")


def strings(p, vals):
    return {k: [[text(x, p.print[k[1]]) for x in r] for r in a] for k, a in vals.items() if k[1] in p.print}


def build(p):
    """Draws until the numbers are good; returns givens, printed strings, exactness, truth. A page's seed spares the long searches."""
    for seed in range(p.seed, 20000):
        rng = np.random.default_rng([p.id, seed])
        g = draw(p, rng)
        right = chain(p, g, settle=rounded(p))
        if dull(p, g, right):
            continue
        if not p.slip:
            return g, strings(p, right), right, None
        wrong = chain(p, g, planted(p, rng), rounded(p))
        if any((np.abs(a[np.isfinite(a)]) > 30).any() for k, a in wrong.items() if k[1] in p.print and k[1] not in ("exponentials", "row_sum")):
            continue
        rs, ws = strings(p, right), strings(p, wrong)
        keys = sorted(rs, key=lambda k: (k[1] in ("concat", "projected"), 0 if k[0] is None else k[0], ORDER.index(k[1])))
        first = next((k for k in keys if rs[k] != ws[k]), None)
        if first is None:
            continue
        jit = [chain(p, g, settle=rounded(p, rng))[first] for _ in range(80)]
        lo, hi = np.min(jit, 0), np.max(jit, 0)
        d = places(p.print[first[1]])
        u = 0 if d is None or np.allclose(right[first], np.round(right[first], d), atol=1e-9) else 10.0 ** -d
        cells, doubt, between = [], [], False
        for i, j in np.ndindex(*lo.shape):
            w, r = wrong[first][i, j], rs[first][i][j]
            if ws[first][i][j] == r:
                continue
            w = -np.inf if ws[first][i][j] == "-inf" else float(Fraction(ws[first][i][j]))
            gap = max(lo[i, j] - w, w - hi[i, j]) if np.isfinite(w) and np.isfinite(lo[i, j]) else np.inf
            if gap <= u * .5:
                doubt.append((i, j))
            elif gap < 3 * u + 1e-9:
                between = True
            else:
                cells.append((i, j))
        single = p.slip.split()[1] in ("arithmetic-slip", "sign-slip", "digits-swapped", "wrong-row-or-column")
        if between or not (len(cells) == 1 if single else len(cells) > 1):
            continue
        i, j = cells[0]
        swap = lambda c: [int(c[1]), int(c[0])] if p.columns else [int(c[0]), int(c[1])]
        cut = lambda c: c if p.only is None or first[1] in "KV" else [c for c in c if c[0] == p.only]
        if not cut(cells):
            continue
        i, j = cut(cells)[0] if not p.columns else min(cells, key=lambda c: c[::-1])
        truth = dict(step=first[1], head=first[0], row=swap((i, j))[0], col=swap((i, j))[1], cells=sorted(swap(c) for c in cut(cells)), doubtful_cells=sorted(swap(c) for c in cut(doubt)),
                     written=ws[first][i][j], correct=rs[first][i][j], cause=p.slip.split()[1])
        if truth["head"] is None:
            del truth["head"]
        if p.only is not None and first[1] not in "KV":
            truth["row_printed"] = 0
        tail = ws if p.goon == "wrong" else rs
        shown = {k: ws[k] if keys.index(k) <= keys.index(first) else tail[k] for k in keys}
        return g, shown, wrong if p.goon == "wrong" else right, truth
    raise SystemExit(f"{p.file}: no numbers found")


def environment(p, g, shown):
    env = {"Fraction": Fraction, "re": re, **{k: f for k, f in vars(layouts).items() if not k.startswith("_")}}
    env.update(tok=p.tok.split(), inf="∞", **{k: plain(a) for k, a in g.items()})
    hd = [SimpleNamespace() for _ in range(p.heads or 0)]
    for (h, s), M in shown.items():
        f = p.print[s]
        if f[0] == "%":
            M = [[f"{float(c) * 100:.{f[1:]}f}" for c in r] for r in M]
        if s in ("masked", "exponentials", "weights") and p.mask and p.hide != "0":
            zero = lambda c: p.hide if s == "masked" else "0" if re.search("∞|inf|oo", p.hide) else c if re.search(r"\d", p.hide) else p.hide  # exp(-∞) is 0
            M = [[zero(c) if c == "-inf" or (s != "masked" and float(c) == 0) else c for c in r] for r in M]
        if h is None:
            env[s] = M
        else:
            setattr(hd[h], s, M)
    return {**env, "hd": hd}


def fill(text, env):
    """The text with its <<expressions>> computed."""
    def value(m):
        try:
            return str(eval(m[1], env))
        except Exception as e:
            raise ValueError(f"<<{m[1]}>>: {type(e).__name__}: {e}") from e
    return re.sub("<<(.+?)>>", value, text, flags=re.S)


def document(p):
    """The text of a page, its entry of the key, and its printed numbers."""
    entry, body, side = dict(verdict="bad_input" if p.bad else "wrong" if p.slip else "correct"), p.text, None
    if p.steps:
        g, shown, vals, truth = build(p)
        if p.print.get("scaled") == "R":
            shown[None, "scaled"] = [[root(Fraction(x), p.dk) for x in r] for r in shown[None, "scores"]]
        body = fill(body, environment(p, g, shown))
        entry.update(truth or {})
        side = {("" if h is None else f"{h}.") + s: dict(places=places(p.print[s]), rows=rows if p.only is None or s in "KV" else [rows[p.only]])
                for (h, s), rows in shown.items()}
    entry.update(kind=p.kind, lang=p.lang, layout=p.layout)
    if p.bad:
        entry["reason"], side = p.bad, None
    else:
        entry["recipe"] = dict(givens={k: plain(a) for k, a in g.items()}, carry=p.carry, mask=p.mask, score=p.score, scale=p.scale, heads=p.heads, only=p.only,
                               columns=p.columns, goes_on_with=p.goon if p.slip else None)
    if p.post:
        body = p.post(body)
    return body.lstrip("\n"), entry, side


def main():
    import pages_en, pages_ja, pages_more
    key, side = {}, {}
    docs = HERE / "documents"
    docs.mkdir(exist_ok=True)
    for p in PAGES:
        body, key[p.file], printed = document(p)
        if printed is not None:
            side[p.file] = printed
        (docs / p.file).write_text(body, encoding="utf-8")
    old = docs / "key.json"
    seen = json.loads(old.read_text()) if old.exists() else {}
    for f, e in key.items():  # cause_also is found by verify.py
        if e["verdict"] == "wrong":
            e["cause_also"] = seen.get(f, {}).get("cause_also", [])
    old.write_text(json.dumps(key, ensure_ascii=False, indent=1) + "\n")
    (HERE / "printed.json").write_text(json.dumps(side, ensure_ascii=False, indent=0) + "\n")


if __name__ == "__main__":
    import sys
    np.seterr(invalid="ignore")  # a draw whose rounded exponentials are all 0 is dull
    sys.modules["generate"] = sys.modules["__main__"]
    main()
