"""The lessons under examples/: correct by an independent computation here, and by attn check."""
import json
import re
import numpy as np
import pytest
from conftest import LESSONS, softmax

SLIP = LESSONS / "published-slip.md"
RIGHT = sorted(p for p in LESSONS.iterdir() if p != SLIP)
TOP = np.vstack([np.eye(2), np.eye(2)])
CROSSED = np.array([[1, 0], [0, 1], [0, 1], [1, 0]])


# ---- The numbers of a lesson from its given matrices ----

def tables(name):
    """{"X": (matrix, decimals), ...} of the pipe tables and bracketed lists of a lesson."""
    found, title = [], None
    for line in (LESSONS / name).read_text().splitlines():
        named = re.fullmatch(r"([\w +]+):", line)
        listed = re.fullmatch(r"(\w+) = (\[.*\])", line)
        if listed:
            matrix = np.atleast_2d(json.loads(listed[2])).astype(float)
            found.append((listed[1], [[f"{x:g}" for x in row] for row in matrix]))
        elif named:
            title = named[1]
            found.append((title, []))
        elif line.startswith("|") and not line.startswith("|-") and found:
            found[-1][1].append([cell.strip() for cell in line.strip("|").split("|")])
    out = []
    for title, rows in found:
        rows = [row[1:] if not re.match(r"^-?[\d.]", row[0]) else row for row in rows]
        rows = [row for row in rows if row and re.fullmatch(r"-?([\d.]+|inf)", row[0])]
        if rows:
            decimals = len(rows[0][0].partition(".")[2])
            out.append((title, np.array(rows, float), decimals))
    return out


def agree(printed, exact, decimals):
    same = np.isinf(printed) & (printed == exact)
    assert printed.shape == exact.shape
    with np.errstate(invalid="ignore"):
        assert np.all(same | (np.abs(printed - exact) <= 0.5 * 10.0 ** -decimals + 1e-9))


def attention(x, y, w, mask=None, transposed=False):
    """Every step by name. w: W_Q, W_K, W_V. transposed: queries in columns."""
    q, k, v = y @ w[0], x @ w[1], x @ w[2]
    s = {"Q": q, "K": k, "V": v}
    s["scores"] = (k @ q.T) if transposed else (q @ k.T)
    s["scaled"] = s["scores"] / np.sqrt(k.shape[1])
    s["masked"] = s["scaled"] if mask is None else np.where(mask > 0, s["scaled"], -np.inf)
    s["exponentials"] = np.exp(s["masked"])
    s["row sum"] = s["exponentials"].sum(axis=1, keepdims=True)
    s["weights"] = softmax(s["masked"], 0 if transposed else 1)
    s["output"] = (s["weights"].T if transposed else s["weights"]) @ v
    return s


def compare(lesson, exact, suffix=""):
    compared = 0
    for name, printed, decimals in lesson:
        if name.endswith(suffix) and name[:len(name) - len(suffix)] in exact:
            agree(printed, exact[name[:len(name) - len(suffix)]], decimals)
            compared += 1
    assert compared >= 3


def given(lesson, *names):
    return [next(m for n, m, _ in lesson if n == name) for name in names]


@pytest.mark.parametrize("name", ["01-first-attention.md", "03-causal.md", "04-cross-attention.md"])
def test_one_head_follows_from_its_givens(name):
    lesson = tables(name)
    x, *w = given(lesson, "X", "W_Q", "W_K", "W_V")
    named = {n: m for n, m, _ in lesson}
    compare(lesson, attention(x, named.get("Y", x), w, named.get("mask")))


def test_the_other_orientation_follows_from_its_givens():
    lesson = tables("05-columns.md")
    x, w = given(lesson, "X", "W_Q")
    see = np.triu(np.ones((len(x), len(x))))
    compare(lesson, attention(x, x, (w, np.eye(4), np.eye(4)), see, transposed=True))


def test_two_heads_follow_from_their_givens():
    lesson = tables("06-heads.md")
    x, w_o = given(lesson, "X", "W_O")
    outputs = []
    for head in "12":
        steps = attention(x, x, given(lesson, *(f"W_{m}_{head}" for m in "QKV")))
        compare(lesson, steps, f"_{head}")
        outputs.append(steps["output"])
    joined = np.hstack(outputs)
    for name, exact in (("concat", joined), ("projected", joined @ w_o)):
        agree(given(lesson, name)[0], exact, 4)


def test_positions_follow_from_their_formula():
    lesson = tables("08-positions.md")
    pes = [t for t in lesson if t[0] == "PE"]
    for first, (_, printed, decimals) in enumerate(pes):
        t, c = np.indices((4, 4))
        angle = t / 10000.0 ** (2 * (first + c // 2) / 4)
        agree(printed, np.where(c % 2, np.cos(angle), np.sin(angle)), decimals)
        x = given(lesson, "X")[0]
        table = np.where(c % 2, np.cos(angle), np.sin(angle))
        name, exact = ("X_pos", np.hstack([x, table])) if first else ("X + PE", x + table)
        agree(given(lesson, name)[0], exact, decimals)


@pytest.mark.parametrize("name", ["09-additive.md", "10-general.md"])
def test_other_alignments_follow_from_their_givens(name):
    lesson = tables(name)
    x, q, w = given(lesson, "X", "Q", "W")
    if name.startswith("09"):
        u, v = given(lesson, "U", "v")
        e = np.tanh((q @ w.T)[:, None, :] + (x @ u.T)[None, :, :]) @ v[0]
    else:
        e = q @ w @ x.T
    weights = softmax(e, 1)
    compare(lesson, {"scores": e, "weights": weights, "output": weights @ x})


def rows_in_order(text, matrices):
    """Each matrix is in the text as LaTeX prints it, in order."""
    at = 0
    for matrix, decimals in matrices:
        rows = " \\\\\n".join(" & ".join(f"{v:.{decimals}f}" for v in row) for row in matrix)
        at = text.find(rows, at)
        assert at >= 0, rows
        at += len(rows)


EXAMPLES = [
    ("02-first-attention.ja.md", [[1, 0, 2, 0], [0, 1, 0, 1], [1, 1, 0, 0]],
     ([[1, 0], [0, 1], [0, 1], [1, 0]], TOP, [[1, 0], [0, 1], [1, 0], [0, 2]])),
    ("corrected-one-head.ja.md", [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1]],
     (TOP, TOP, TOP)),
    ("corrected-four-sentences.ja.md", [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1]],
     (TOP, CROSSED, TOP)),
    ("corrected-four-sentences.ja.md", [[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]],
     (TOP, CROSSED, TOP)),
    ("corrected-four-sentences.ja.md", [[1, 0, 1, 0], [0, 1, 0, 1], [2, 0, 0, 2], [0, 0, 2, 2]],
     (TOP, CROSSED, TOP)),
    ("corrected-four-sentences.ja.md",
     [[1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1], [1] * 6, [2, 0, 2, 0, 2, 0], [0, 2, 0, 2, 0, 2],
      [1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1]], (np.vstack([np.eye(3)] * 2),) * 3),
]


@pytest.mark.parametrize("name, x, w", EXAMPLES, ids=[str(n) for n in range(len(EXAMPLES))])
def test_latex_lessons_follow_from_their_givens(name, x, w):
    s = attention(np.array(x), np.array(x), [np.array(m) for m in w])
    rows_in_order((LESSONS / name).read_text(),
                  [(s["scores"], 0), (s["scaled"], 4), (s["weights"], 4), (s["output"], 4)])


# ---- The command ----

def test_there_are_lessons():
    assert len(RIGHT) >= 13 and SLIP.exists()


@pytest.mark.parametrize("lesson", RIGHT, ids=lambda p: p.name)
def test_each_lesson_is_correct(attn, lesson):
    report = json.loads(attn("check", "--json", lesson).stdout)
    assert report["verdict"] == "correct", report
    statuses = [s["status"] for e in report["examples"] for s in e["steps"]]
    assert statuses.count("ok") >= 1 and set(statuses) <= {"ok", "not_given"}


def test_every_printed_number_is_checked(attn):
    """A lesson of which no step is recognized would also be correct."""
    for lesson, min_steps in (("01-first-attention.md", 8), ("03-causal.md", 8), ("06-heads.md", 16),
                          ("04-cross-attention.md", 7), ("05-columns.md", 6), ("09-additive.md", 3),
                          ("corrected-one-head.ja.md", 7), ("08-positions.md", 4)):
        report = json.loads(attn("check", "--json", LESSONS / lesson).stdout)
        steps = [s for e in report["examples"] for s in e["steps"] if s["status"] == "ok"]
        assert len(steps) >= min_steps, (lesson, [s["name"] for s in steps])


def test_the_other_orientation_is_reported_and_is_not_an_error(attn):
    report = json.loads(attn("check", "--json", LESSONS / "05-columns.md").stdout)
    assert report["verdict"] == "correct"
    plain = json.loads(attn("check", "--json", LESSONS / "01-first-attention.md").stdout)
    assert report["examples"][0]["orientation"] != plain["examples"][0]["orientation"]


def test_the_published_error_is_found(attn):
    report = json.loads(attn("check", "--json", SLIP, status=1).stdout)
    first = report["examples"][0]["first_wrong"]
    assert report["verdict"] == "wrong"
    assert (first["step"], first["row"], first["col"]) == ("Q", 0, 0)
    assert (first["printed"], first["expected"]) == (1, 2)


def test_many_files_give_the_highest_status(attn):
    files = [*RIGHT, SLIP]
    lines = attn("check", "--json", *files, status=1).stdout.splitlines()
    assert [json.loads(line)["verdict"] for line in lines] == ["correct"] * len(RIGHT) + ["wrong"]


@pytest.mark.parametrize("lesson", [*RIGHT, SLIP], ids=lambda p: p.name)
def test_each_lesson_can_be_explained_in_both_languages(attn, lesson):
    english = attn("explain", "--lang", "en", lesson).stdout
    japanese = attn("explain", "--lang", "ja", lesson).stdout
    assert len(english) > 200 and re.search(r"[\u3040-\u30ff]", japanese)


@pytest.mark.parametrize("weights, output, names", [
    ("question", "question", ["question"]),
    ("question", "", []),            # the name of one matrix may be its own
    ("weights", "output", []),
    ("q1", "q1", []),                # a number
])
def test_rows_of_two_matrices_name_the_queries(attn, tmp_path, weights, output, names):
    """Where Q is not given."""
    (tmp_path / "a.md").write_text(f"tokens: Mia met Ken\n\nweights:\n\n|  | Mia | met | Ken |\n|--|--|--|--|\n| {weights} | 0.2 | 0.7 | 0.1 |\n\n"
                                   "V:\n\n|  | c1 | c2 |\n|--|--|--|\n| Mia | 3 | 1 |\n| met | 1 | 4 |\n| Ken | 0 | 2 |\n\n"
                                   f"output:\n\n|  | c1 | c2 |\n|--|--|--|\n| {output} | 1.3 | 3.2 |\n")
    example, = json.loads(attn("explain", "--json", "a.md").stdout)["examples"]
    assert (example["query_tokens"], example["key_tokens"]) == (names, ["Mia", "met", "Ken"])
    assert example["steps"][-1]["exact"] == [[1.3, 3.2]]


def test_a_comment_and_the_title_are_read_as_a_person_reads_them(attn, tmp_path):
    """The numbers of an HTML comment are not of the document; a title keeps its Japanese punctuation."""
    attn("learn", 1, "--lang", "ja", "--progress", "progress.tsv")
    text = (tmp_path / "1-1.md").read_text().replace("…", "1.5")
    assert re.match("<!-- attn learn 1.1, seed 1, ja -->\n\n# 文への質問：.*？\n", text)
    (tmp_path / "a.md").write_text(text)
    report = json.loads(attn("check", "--json", "a.md", status=1).stdout)
    assert report["unread"] == [] and report["examples"][0]["title"] == text.splitlines()[2][2:]


def test_sums_printed_as_a_row_are_printed(attn, tmp_path):
    (tmp_path / "softmax.md").write_text(
        "scores = [[1, 2], [0, 0]]\nexp = [[2.718, 7.389], [1, 1]]\nrow sum = [10.107, 2]\n"
        "weights = [[0.2689, 0.7311], [0.5, 0.5]]\n")
    text = attn("check", tmp_path / "softmax.md").stdout
    assert text.count("row_sum") == 1 and "not printed" not in text


def test_weights_of_row_vectors_are_printed(attn, tmp_path):
    (tmp_path / "a.md").write_text(
        "s = [[1, -1, 0.5], [1, -1, 1]]\nh = [[0.5, 0.5, -1], [-1, 0.5, 0], [-1, -1, 1]]\nW_s = [[0.5, 0], [-1, 1], [0, 1]]\n"
        "W_h = [[-1, 0.5], [0.5, 1], [0.5, 1]]\nv = [2, 0.5]\n\nscores = v tanh(s W_s + h W_h) =\n"
        "[[0.953, 1.753, 1.592], [1.148, 1.984, 1.742]]\n\nweights = softmax(scores) =\n[[0.195, 0.435, 0.370], [0.195, 0.451, 0.354]]\n")
    text = attn("check", "a.md").stdout
    assert "a.md: correct" in text and "not printed" not in text


def test_a_folder_has_documents_of_all_kinds(attn, tmp_path):
    sheet = "Q,,\n,1,0\n,0,2\nK,,\n,1,1\n,0,2\nscores,,\n,1,0\n,2,4\n"
    (tmp_path / "a.csv").write_text(sheet)
    (tmp_path / "b.tex").write_text(r"$Q = \begin{pmatrix}1&0\\0&2\end{pmatrix}$" "\n\n" r"$K = \begin{pmatrix}1&1\\0&2\end{pmatrix}$"
                                    "\n\n" r"$QK^T = \begin{pmatrix}1&0\\2&4\end{pmatrix}$" "\n")
    (tmp_path / "c.bin").write_text("1 2\n")
    text = attn("check", tmp_path).stdout
    assert "a.csv: correct" in text and "b.tex: correct" in text and "c.bin" not in text
