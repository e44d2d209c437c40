"""Second computation of the key, without numpy and without generate.py: decimal intervals from the key's givens and printed.json.

Asserts that every printed number but the planted slip is right within rounding and stands in its document, that the first wrong step and its cells
are those of the key, and finds which other single slips explain a document (cause_also, written into the key)."""
import json, re
from decimal import Decimal as D, getcontext
from fractions import Fraction
from pathlib import Path

getcontext().prec = 40
HERE = Path(__file__).parent
TINY = D("1e-25")
ORDER = ["positions", "Q", "K", "V", "scores", "scaled", "masked", "exponentials", "row_sum", "weights", "output"]


class I:  # a closed interval
    def __init__(s, lo, hi=None): s.lo, s.hi = lo, lo if hi is None else hi
    def __add__(s, o): return I(s.lo + o.lo, s.hi + o.hi)
    def __mul__(s, o):
        p = [a * b for a in (s.lo, s.hi) for b in (o.lo, o.hi)]
        return I(min(p), max(p))
    def __neg__(s): return I(-s.hi, -s.lo)
    def over(s, o): return I(min(s.lo / o.lo, s.lo / o.hi), max(s.hi / o.lo, s.hi / o.hi))  # o has one sign
    def mono(s, f): return I(f(s.lo), f(s.hi))
    def gap(s, x): return max(s.lo - x, x - s.hi, D(0))


ZERO, ONE = I(D(0)), I(D(1))
tr = lambda M: [list(c) for c in zip(*M)]
total = lambda xs: sum(xs, ZERO)
dotp = lambda a, b: total(x * y for x, y in zip(a, b))
mul = lambda A, B: [[dotp(r, c) for c in tr(B)] for r in A]
tanh = lambda x: 1 - 2 / ((2 * x).exp() + 1)


def number(s):
    """A printed number, exactly: decimals, fractions and p/(q√d)."""
    if s == "-inf":
        return None
    m = re.fullmatch(r"(-?\d+)/\(?(\d*)√(\d+)\)?", s)
    if m:
        return D(m[1]) / (D(m[2] or 1) * D(m[3]).sqrt())
    f = Fraction(s)
    return D(f.numerator) / D(f.denominator)


class Lesson:
    """Computes any step of one head; `known` replaces steps by printed values, `twist` by a slip."""
    def __init__(s, r, head=None, known=None, twist=None):
        s.r, s.head, s.known, s.twist, s.memo = r, head, known or {}, twist or {}, {}
        s.g = {k: [[I(number(c)) for c in row] for row in M] for k, M in r["givens"].items()}

    def get(s, step):
        if step in s.known:
            return s.known[step]
        if step not in s.memo:
            s.memo[step] = s.twist[step](s) if step in s.twist else s.compute(step)
        return s.memo[step]

    def x(s): return s.get("positions") if "P" in s.g else s.g["X"]
    def y(s): return s.g["Y"] if "Y" in s.g else s.x()
    def w(s, n): return s.g.get(n + ("" if s.head is None else str(s.head + 1)))
    def dk(s): return D(len(s.get("Q")[0]))

    def operands(s, step):
        if step in "QKV":
            return (s.x() if step == "Q" else s.y()), s.w("W" + step)
        if step == "scores":
            return (s.get("Q") if s.r["score"] == "dot" else mul(s.get("Q"), s.g["Wa"])), tr(s.get("K"))
        return s.get("weights"), s.get("V")

    def open(s, i, j):
        mask = s.r["mask"]
        return j <= i if mask == "causal" else j < len(s.y() if s.g.get("X") else s.g["K"]) - (mask or 0)

    def compute(s, step):
        if step == "positions":
            return [[a + b for a, b in zip(p, q)] for p, q in zip(s.g["X"], s.g["P"])]
        if step in "QKV" and s.w("W" + step) is None:
            return s.g[step] if step in s.g else s.x() if step == "Q" else s.y()
        if step == "scores" and s.r["score"] == "additive":
            v = s.g["va"][0]
            return [[dotp(v, [(a + b).mono(tanh) for a, b in zip(q, k)]) for k in s.get("K")] for q in s.get("Q")]
        if step in ("Q", "K", "V", "scores", "output"):
            return mul(*s.operands(step))
        if step == "scaled":
            return [[x.over(I(s.dk().sqrt())) for x in r] for r in s.get("scores")] if s.r["scale"] else s.get("scores")
        if step == "masked":
            return [[x if s.open(i, j) else None for j, x in enumerate(r)] for i, r in enumerate(s.get("scaled"))]
        if step == "exponentials":
            return [[ZERO if x is None else x.mono(D.exp) for x in r] for r in s.get("masked")]
        if step == "row_sum":
            return [[total(r)] for r in s.get("exponentials")]
        if step == "weights":
            E = s.get("exponentials")
            if "row_sum" in s.known:
                return [[e.over(t[0]) for e in r] for r, t in zip(E, s.get("row_sum"))]
            return [normal(r) for r in E]
        raise KeyError(step)


def normal(r):
    """e / (e + the others): tight, since e stands above and below."""
    others = [total(r[:j] + r[j + 1:]) for j in range(len(r))]
    return [I(e.lo / (e.lo + o.hi) if e.lo else D(0), e.hi / (e.hi + o.lo) if e.hi else D(0)) for e, o in zip(r, others)]


def soft(row): return normal([ZERO if x is None else x.mono(D.exp) for x in row])
def one(M, i, j, x): return [[x if (a, b) == (i, j) else c for b, c in enumerate(r)] for a, r in enumerate(M)]
def coarse(M): return [[None if x is None else I(round(x.lo, 1), round(x.hi, 1)) for x in r] for r in M]


def slips(step, base):
    """All single slips of a step: (name, function of the lesson giving the step)."""
    M = base.get(step)
    n, m = len(M), len(M[0])
    cells = [(i, j) for i in range(n) for j in range(m)]
    if step in ("Q", "K", "V", "scores", "output") and not (step == "scores" and base.r["score"] == "additive"):
        A, B = base.operands(step)
        for i, j in cells:
            for k in range(len(B)):
                t = A[i][k] * B[k][j]
                if t.lo or t.hi:
                    yield "sign-slip", one(M, i, j, M[i][j] + I(D(-2)) * t)
            for o in range(n):
                if o != i: yield "wrong-row-or-column", one(M, i, j, dotp(A[o], tr(B)[j]))
            for o in range(m):
                if o != j: yield "wrong-row-or-column", one(M, i, j, dotp(A[i], tr(B)[o]))
        yield "rounding-too-coarse", mul(coarse(A), B)
        yield "rounding-too-coarse", mul(A, coarse(B))
        if step in "QKV" and len(B) == len(B[0]):
            yield "transposed-weight", mul(A, tr(B))
        if step == "scores":
            Q, K = base.get("Q"), base.get("K")
            if base.r["score"] == "general":
                yield "transposed-weight", mul(mul(Q, tr(base.g["Wa"])), tr(K))
            elif len(Q) == len(K):
                yield "qk-swapped", mul(K, tr(Q))
        if step == "output":
            K = base.get("K")
            if len(K[0]) == len(B[0]):
                yield "output-with-K", mul(A, K)
            for i in range(n):
                for o in range(n):
                    if o != i: yield "other-row-weights", M[:i] + [M[o]] + M[i + 1:]
    if step == "scaled" and base.r["scale"]:
        S, root = base.get("scores"), base.dk().sqrt()
        by = lambda d: [[x.over(I(d)) for x in r] for r in S]
        yield "scaled-by-dk", by(base.dk())
        yield "no-scaling", by(D(1))
        yield "rounding-too-coarse", by(round(root, 1))
        for d in {len(base.g["X"][0]) if "X" in base.g else 0, n, m, len(base.get("V")[0])} - {int(base.dk()), 0}:
            yield "scaled-wrong-dim", by(D(d).sqrt())
    if step == "masked":
        S = base.get("scaled")
        if base.r["mask"] == "causal":
            yield "mask-off-by-one", [[x if j <= i + 1 else None for j, x in enumerate(r)] for i, r in enumerate(S)]
        for i in range(n):
            yield "mask-ignored-row", M[:i] + [S[i]] + M[i + 1:]
    if step == "weights":
        L = base.get("masked")
        yield "softmax-over-columns", tr([soft(c) for c in tr(L)])
        yield "rounding-too-coarse", [soft(r) for r in coarse(L)]
        if all(x is None or x.lo >= 0 for r in L for x in r):
            yield "softmax-without-exp", [[ZERO if x is None else I(x.lo / t.lo) if t.lo else x for x in r] for r in L for t in [total(x for x in r if x)]]
        E = [[ZERO if x is None else x.mono(D.exp) for x in r] for r in L]
        for i in range(n):
            yield "softmax-one-row", M[:i] + [soft(base.get("scores")[i])] + M[i + 1:]
            for o in range(n):
                if o != i: yield "softmax-one-row", M[:i] + [[e.over(total(E[o])) for e in E[i]]] + M[i + 1:]


def swaps(s):
    for k in range(len(s)):
        for l in range(k + 1, len(s)):
            if s[k].isdigit() and s[l].isdigit() and s[k] != s[l]:
                yield s[:k] + s[l] + s[k + 1:l] + s[k] + s[l + 1:]


def half(ref, places):
    """Half a unit of the last digit; nothing where the right values need no rounding."""
    exact = places is None or all(x is None or (x.lo == x.hi and abs(x.lo - round(x.lo, places)) < TINY) for r in ref for x in r)
    return D(0) if exact else D(5).scaleb(-places - 1)


def off(p, x, h):
    """Is the printed number p out of the interval x, widened by h?"""
    return (p is None) != (x is None) if p is None or x is None else x.gap(p) > h + TINY


def check_head(f, e, r, head, side):
    """Judges one head; returns the causes that explain its first wrong step."""
    steps = [s for s in ORDER if s in side]
    only, causes = r["only"], None
    prints = {s: [[number(c) for c in row] for row in side[s]["rows"]] for s in steps}
    part = lambda s, M: M if only is None or s in "KV" or s == "positions" else [M[only]]
    full = lambda s, M: M if only is None or s in "KV" or s == "positions" else [M[0]] * (only + 1)  # the row stands where it belongs
    exact = Lesson(r, head)
    points, loose, clean = {}, {}, e["verdict"] == "correct" or e.get("head") not in (None, head)
    after = False
    for s in steps:
        without = lambda d: {k: v for k, v in d.items() if k != s and ORDER.index(k) < ORDER.index(s)}
        carried, wide = Lesson(r, head, without(points)), Lesson(r, head, without(loose))
        ref = carried if r["carry"] == "rounded" else wide if after and r["goes_on_with"] == "wrong" else exact
        want = part(s, ref.get(s))
        h = half(want, side[s]["places"])
        diff = [(i, j) for i, row in enumerate(prints[s]) for j, p in enumerate(row) if off(p, want[i][j], h)]
        keep = prints[s]
        if diff:
            assert not clean and not after and s == e["step"], (f, s, diff, "unplanned")
            after, wt = True, part(s, wide.get(s))
            sure = [c for c in diff if off(prints[s][c[0]][c[1]], wt[c[0]][c[1]], h)]
            at = lambda c: [c[1], c[0]] if r["columns"] else [c[0] if only is None or s in "KV" else only, c[1]]
            assert sorted(map(at, sure)) == e["cells"] and sorted(at(c) for c in diff if c not in sure) == e["doubtful_cells"], (f, s, sure, diff, e)
            first = min(map(at, sure))
            assert first == [e["row"], e["col"]], (f, first)
            i, j = next(c for c in sure if at(c) == first)
            assert side[s]["rows"][i][j] == e["written"] and (want[i][j] is None) == (e["correct"] == "-inf"), f
            assert want[i][j] is None or not off(number(e["correct"]), want[i][j], h), (f, e["correct"])
            causes = explain(side[s]["rows"], s, steps, ref, part, h, diff, want)
            if r["goes_on_with"] == "right":
                keep = [[p if x is None or (i, j) not in diff else (x.lo if h == 0 else round(x.lo, side[s]["places"])) for j, (p, x) in enumerate(zip(a, b))]
                        for i, (a, b) in enumerate(zip(prints[s], want))]
        points[s] = full(s, [[None if p is None else I(p) for p in row] for row in keep])
        loose[s] = full(s, [[None if p is None else I(p - h, p + h) for p in row] for row in keep])
        if s == "row_sum" and r["carry"] == "exact":
            del loose[s]
    return causes


def explain(rows, s, steps, ref, part, h, diff, want):
    P = [[number(c) for c in row] for row in rows]
    # unprinted steps between the last printed one and this one: there the slip may have happened
    path = [s]
    for q in reversed(ORDER[4:ORDER.index(s)] if s not in ("Q", "K", "V", "positions") else []):
        if q in steps: break
        path.append(q)
    fits = lambda M: len(M) == len(P) and all(not off(p, x, h) for a, b in zip(P, M) for p, x in zip(a, b))
    found = set()
    for q in path:
        for name, M in slips(q, ref):
            try:
                T = Lesson(ref.r, ref.head, {k: v for k, v in ref.known.items()}, {q: lambda _, M=M: M})
                if fits(part(s, T.get(s))):
                    found.add(name)
            except (ArithmeticError, TypeError):
                pass  # such as a row without any open key
    if len(diff) == 1:
        found.add("arithmetic-slip")
        i, j = diff[0]
        if any(not off(number(t), want[i][j], h) for t in swaps(rows[i][j])):
            found.add("digits-swapped")
    return found


def in_document(f, e, sides):
    """Every printed number stands in the document (full-width digits, commas and percent allowed)."""
    text = (HERE / "documents" / f).read_text(encoding="utf-8")
    text = text.translate({ord(c) + 0xfee0: c for c in "0123456789.-"}).replace("−", "-")
    if e["layout"] == "decimal commas":
        text = re.sub(r"(?<=\d),(?=\d)", ".", text)
    found = [D(x) for x in re.findall(r"-?\d+(?:\.\d+)?", text)]
    seen = set(found)
    loose = e["recipe"]["mask"] or e["layout"] in ("one product per pair", "every sum shown", "narrative, one token", "fractions and roots", "a row per query and key",
                                            "column vectors in LaTeX")
    for step, s in sides.items():
        for row in [] if loose else tr(s["rows"]) if e["recipe"]["columns"] else s["rows"]:  # a row stands in one piece
            want = [[D(c) * k for c in row] for k in (1, 100)]
            assert any(found[i:i + len(row)] in want for i in range(len(found))), (f, step, row)
        for c in sum(s["rows"], []):
            c = re.split("[/(√]", c)[0]
            assert c == "-inf" or D(c) in seen or D(c) * 100 in seen or D(c) == 0, (f, step, c)


def check(f, e, printed):
    """Judges a document by its entry of the key and its printed numbers; writes cause_also into the entry."""
    r, causes = e["recipe"], None
    for h in range(r["heads"]) if r["heads"] else [None]:
        c = check_head(f, e, r, h, {k.split(".")[-1]: v for k, v in printed.items() if (k[0].isdigit() and int(k.split(".")[0]) == h) or (h is None)})
        causes = c if c is not None else causes
    if r["heads"]:  # concat and projected; these authors carry exact, right values
        assert r["carry"] == "exact" and r["goes_on_with"] != "wrong", f
        cat = [sum(rows, []) for rows in zip(*(Lesson(r, h).get("output") for h in range(r["heads"])))]
        wo = [[I(number(c)) for c in row] for row in r["givens"]["WO"]]
        for name, M in (("concat", cat), ("projected", mul(cat, wo))):
            if name in printed:
                h = half(M, printed[name]["places"])
                assert not any(off(number(p), x, h) for a, b in zip(printed[name]["rows"], M) for p, x in zip(a, b)), (f, name)
    if e["verdict"] == "wrong":
        assert causes is not None, (f, "the slip is invisible")
        assert e["cause"] in causes, (f, e["cause"], causes)
        e["cause_also"] = sorted(causes - {e["cause"]})


def main():
    path = HERE / "documents" / "key.json"
    key, printed = json.loads(path.read_text()), json.loads((HERE / "printed.json").read_text())
    for f, e in key.items():
        assert (HERE / "documents" / f).exists(), f
        if e["verdict"] == "bad_input":
            continue
        in_document(f, e, printed[f])
        check(f, e, printed[f])
        print(f"{f:26} {e['verdict']:8} {e.get('step', ''):10} {e.get('cause', ''):22} {' '.join(e.get('cause_also', []))}")
    path.write_text(json.dumps(key, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
