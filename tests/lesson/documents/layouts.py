"""How people write matrices: each function turns rows of number strings into text."""
import numpy as np


def width(s):  # full-width characters take two columns
    return sum(2 if ord(c) > 0x2fff else 1 for c in s)


def pad(s, w, left=False):
    return s + " " * (w - width(s)) if left else " " * (w - width(s)) + s


def table(M, rows=None, cols=None, corner=""):
    """The cells of a table with its labels."""
    body = [([r] if rows else []) + list(m) for m, r in zip(M, rows or M)]
    return ([([corner] if rows else []) + list(cols)] if cols else []) + body


def named(stem, n):
    return [f"{stem}{i + 1}" for i in range(n)]


def dims(n, stem=""):
    return named(stem, n)


def pipe(M, rows=None, cols=None, corner=""):
    t = table(M, rows, cols or [""] * len(M[0]), corner)
    lines = ["| " + " | ".join(r) + " |" for r in t]
    return "\n".join([lines[0], "|" + "---|" * len(t[0])] + lines[1:])


def columns(M, indent=4, rows=None, cols=None):
    t = table(M, rows, cols)
    w = [max(width(r[j]) for r in t if j < len(r)) for j in range(len(t[0]))]
    return "\n".join(" " * indent + "  ".join(pad(c, w[j], bool(rows) and not j) for j, c in enumerate(r)).rstrip() for r in t)


def tex(M, env="bmatrix"):
    return "\\begin{%s} %s \\end{%s}" % (env, r" \\ ".join(" & ".join(r) for r in M), env)


def drawn(name, M):
    """⎡ ⎤ brackets, the name before the middle row."""
    inner = columns(M, 0).split("\n")
    w = max(map(len, inner))
    n = len(inner)
    ends = [("[", "]")] if n == 1 else [("⎡", "⎤")] + [("⎢", "⎥")] * (n - 2) + [("⎣", "⎦")]
    return "\n".join((name + " = " if i == n // 2 else " " * (width(name) + 3)) + f"{a} {x.ljust(w)} {b}"
                     for i, ((a, b), x) in enumerate(zip(ends, inner)))


def inline(M, out="[]", sep=", "):
    return out[0] + sep.join(vec(r, out) for r in M) + out[1]


def vec(r, out="()", sep=", "):
    return out[0] + sep.join(r) + out[1]


def dot(a, b, times="×", plus=" + "):
    p = lambda s: f"({s})" if s.startswith("-") else s
    return plus.join(p(x) + times + p(y) for x, y in zip(a, b))


def col(M, j):
    return [r[j] for r in M]


def T(M):
    return [list(r) for r in zip(*M)]


def sheet(M, rows=None, cols=None, corner="", sep=","):
    return "\n".join(sep.join(r) for r in table(M, rows, cols, corner))


def html(M, rows=None, cols=None, corner="", attr=""):
    t = table(M, rows, cols, corner)
    out = [f"<table{attr}>"]
    for i, r in enumerate(t):
        tag = lambda j: "th" if (cols and not i) or (rows and not j) else "td"
        out.append("  <tr>" + "".join(f"<{tag(j)}>{c}</{tag(j)}>" for j, c in enumerate(r)) + "</tr>")
    return "\n".join(out + ["</table>"])


def npy(M):
    return repr(np.array([[float(c) for c in r] for r in M]))


def npi(M):
    return repr(np.array([[int(c) for c in r] for r in M]))


def numpy_code(name, M):
    return f"{name} = np." + npi(M).replace("\n", "\n" + " " * (len(name) + 6))


def torch(M, places=4):
    if all("." not in c or set(c.split(".")[1]) == {"0"} for r in M for c in r):
        t = [[c.split(".")[0] + "." for c in r] for r in M]
    else:
        t = [[("-inf" if "inf" in c else f"{float(c):.{places}f}") for c in r] for r in M]
    w = max(len(c) for r in t for c in r)
    return "tensor([" + (",\n" + " " * 8).join("[" + ", ".join(c.rjust(w) for c in r) + "]" for r in t) + "])"


def trim(c):
    return c.rstrip("0").rstrip(".") if "." in c else c


def common(c):  # R and Octave: the decimals that the longest number of a column needs
    k = max(len(trim(x).split(".")[1]) if "." in trim(x) else 0 for x in c)
    return [f"{float(x):.{k}f}" for x in c]


def rmat(M, rows=None, cols=None):
    cs = [common(c) for c in zip(*M)]
    head = cols or [f"[,{j + 1}]" for j in range(len(cs))]
    ws = [max(map(len, [h] + c)) for h, c in zip(head, cs)]
    rn = rows or [f"[{i + 1},]" for i in range(len(M))]
    w0 = max(map(len, rn))
    return "\n".join([" " * w0 + " " + " ".join(h.rjust(w) for h, w in zip(head, ws))] +
                     [rn[i].ljust(w0) + " " + " ".join(c[i].rjust(w) for c, w in zip(cs, ws)) for i in range(len(M))])


def octave(name, M, gap=3):
    M = [["0" if c == "0.0000" else c for c in r] for r in M]
    w = max(len(c.lstrip("-")) for r in M for c in r) + gap
    return f"{name} =\n\n" + "\n".join("".join(c.rjust(w) for c in r) for r in M) + "\n"


def julia(M, kind="Float64"):
    cs = [[trim(x) + (".0" if kind == "Float64" and "." not in trim(x) else "") for x in c] for c in zip(*M)]
    def align(c):
        a = [x.partition(".") for x in c]
        l, r = max(len(x[0]) for x in a), max(len(x[1] + x[2]) for x in a)
        return [x[0].rjust(l) + (x[1] + x[2]).ljust(r) for x in a]
    cs = [align(c) for c in cs]
    return f"{len(M)}×{len(M[0])} Matrix{{{kind}}}:\n" + "\n".join((" " + "  ".join(c[i] for c in cs)).rstrip() for i in range(len(M)))


def mma(M):
    return "{" + ", ".join("{" + ", ".join(trim(c) + ("." if "." in c and "." not in trim(c) else "") for c in r) + "}" for r in M) + "}"


def adoc(M, rows=None, cols=None, corner=""):
    t = table(M, rows, cols, corner)
    return ('[options="header"]\n' if cols else "") + "|===\n" + "\n".join(" ".join("|" + c for c in r) + ("\n" if cols and not i else "") for i, r in enumerate(t)) + "\n|==="


def rst(M, rows=None, cols=None, corner="\\"):
    t = table(M, rows, cols, corner)
    w = [max(width(r[j]) for r in t) for j in range(len(t[0]))]
    bar = "  ".join("=" * x for x in w)
    lines = ["  ".join(pad(c, w[j], True) for j, c in enumerate(r)).rstrip() for r in t]
    return "\n".join([bar] + ([lines[0], bar] + lines[1:] if cols else lines) + [bar])


def grid(M, rows=None, cols=None, corner=""):
    t = table(M, rows, cols, corner)
    w = [max(width(r[j]) for r in t) for j in range(len(t[0]))]
    line = lambda ch: "+" + "+".join(ch * (x + 2) for x in w) + "+"
    out = [line("-")]
    for i, r in enumerate(t):
        out += ["|" + "|".join(" " + pad(c, w[j], True) + " " for j, c in enumerate(r)) + "|", line("=" if cols and not i else "-")]
    return "\n".join(out)


def org(M, rows=None, cols=None, corner=""):
    t = table(M, rows, cols, corner)
    w = [max(width(r[j]) for r in t) for j in range(len(t[0]))]
    lines = ["| " + " | ".join(pad(c, w[j], bool(rows) and not j) for j, c in enumerate(r)) + " |" for r in t]
    return "\n".join(lines[:1] + (["|" + "+".join("-" * (x + 2) for x in w) + "|"] if cols else []) + lines[1:])


def wiki(M, rows=None, cols=None, corner=""):
    t = table(M, rows, cols, corner)
    out = ['{| class="wikitable"']
    for i, r in enumerate(t):
        if i:
            out.append("|-")
        if cols and not i:
            out.append("! " + " !! ".join(r))
        elif rows:
            out += ["! " + r[0], "| " + " || ".join(r[1:])]
        else:
            out.append("| " + " || ".join(r))
    return "\n".join(out + ["|}"])


def typ(M):
    return "mat(" + "; ".join(", ".join(r) for r in M) + ")"


def quoted(M):
    return "\n".join(">" + line for line in columns(M, 6).split("\n"))


def rows(M):
    return r" \\ ".join(" & ".join(r) for r in M)


def yaml(M):
    return "\n".join(f"  - {inline([r])[1:-1]}" for r in M)


def tabular(labels, M):
    return "\n".join(" & ".join([t, *r]) + r" \\" for t, r in zip(labels, M))
