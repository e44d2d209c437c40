"""attn explain --gradients: the gradients of a lesson's steps are those of PyTorch's autograd through the same operations,
and of queries, keys and values those of the core's backward. The computation of a cell, evaluated, gives its value."""
import json
import math
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import attn

ATTN = os.environ["ATTN_BIN"]
LESSONS = Path(__file__).resolve().parents[2] / "examples" / "lessons"
KINDS = [["--kind", kind, "--level", level] for kind in ("self", "causal", "cross", "heads", "columns", "question") for level in ("1", "3")]


def run(*arguments, status=0):
    done = subprocess.run([ATTN, *map(str, arguments)], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def examples(path, *options):
    return [e["steps"] for e in json.loads(run("explain", path, "--gradients", "--json", *options))["examples"]]


def matrix(s):
    return torch.tensor([[-math.inf if x is None else x for x in row] for row in s["exact"]], dtype=torch.float64)


OPERATIONS = {
    "matmul": lambda s, a, b: a @ b, "matmul_nt": lambda s, a, b: a @ b.T, "matmul_tn": lambda s, a, b: a.T @ b,
    "transpose": lambda s, a: a.T, "divide": lambda s, a: a / s["scalar"],
    "mask": lambda s, a, b: torch.where(b != 0, a, -math.inf if s["scalar"] is None else s["scalar"]),
    "softmax": lambda s, a: a.softmax(s["axis"]), "exp": lambda s, a: a.exp(),
    "sum": lambda s, a: a.sum(s["axis"], keepdim=True), "quotient": lambda s, a, b: a / b, "add": lambda s, a, b: a + b,
    "append": lambda s, *parts: torch.cat(parts, 1), "general": lambda s, q, k, w: q @ w @ k.T,
    "shift": lambda s, a: a - a.amax(s["axis"], keepdim=True)}


def forward(steps):
    """The steps of the document as tensors of autograd."""
    values = []
    for s in steps:
        if s["op"] == "given":
            values.append(matrix(s).requires_grad_())
        elif s["op"] == "positions":
            values.append(matrix(s))
        else:
            values.append(OPERATIONS[s["op"]](s, *(values[n] for n in s["operands"])))
            values[-1].retain_grad()
    return values


def final(steps):
    """The last step of each gradient: not one of its contributions."""
    return {s["gradient_of"]: s for s in steps if "gradient_of" in s}


def check(steps, loss=None):
    """loss: of the values, the cell; None: all outputs that nothing reads."""
    count = next((n for n, s in enumerate(steps) if s["symbol"].startswith("d_") and "gradient_of" in s), len(steps))
    if count == len(steps):
        return 0
    values, read = forward(steps[:count]), {n for s in steps[:count] for n in s["operands"]}
    ends = [v for n, v in enumerate(values) if n not in read and steps[n]["name"] in ("output", "concat", "projected")]
    (loss(steps, values) if loss else sum(v.sum() for v in ends)).backward()
    found = final(steps)
    # Softmax's parts have gradients of their own in autograd only.
    inner = {n for s in steps[:count] if s["op"] == "quotient" for n in s["operands"]}
    inner |= {n for s in steps[:count] if s["op"] == "exp" for n in s["operands"] if steps[n]["op"] == "shift"}
    for n, v in enumerate(values):
        exact = torch.zeros_like(v) if v.grad is None else v.grad
        if n in found:
            ours = matrix(found[n])
            visible = torch.isfinite(exact)  # autograd has NaN where a masked score is -inf
            assert torch.allclose(ours[visible], exact[visible], rtol=1e-12, atol=1e-12), steps[n]["symbol"]
            assert (ours[~visible] == 0).all(), steps[n]["symbol"]
        elif n not in inner and steps[n]["name"] != "mask" and steps[n]["op"] != "positions":
            assert (exact == 0).all(), f"{steps[n]['symbol']} has a gradient"
    return len(found)


@pytest.mark.parametrize("lesson", sorted(p for p in LESSONS.iterdir() if p.name not in ("07-why-scale.py", "08-positions.md", "09-additive.md")),
                         ids=lambda p: p.name)
def test_lessons(lesson):
    assert sum(check(steps) for steps in examples(lesson)) >= 3


@pytest.mark.parametrize("options", KINDS, ids=" ".join)
def test_generated_lessons(options, tmp_path):
    for seed in range(3):
        (tmp_path / "l.md").write_text(run("new", *options, "--seed", seed))
        assert sum(check(steps) for steps in examples(tmp_path / "l.md")) >= 3


@pytest.mark.parametrize("kind", ["self", "causal", "cross"])
def test_the_engines_backward(kind, tmp_path):
    """d_Q, d_K and d_V for a loss of one value of the output."""
    (tmp_path / "l.md").write_text(run("new", "--kind", kind, "--level", "3", "--seed", 5))
    for cell in ((0, 0), (1, 1)):
        steps, = examples(tmp_path / "l.md", "--loss", "output[%d,%d]" % cell)
        named = {s["symbol"]: matrix(s).numpy() for s in steps}
        q, k, v = (matrix(next(s for s in steps if s["name"] == name)).numpy() for name in "QKV")
        o, lse = attn.sdpa(q, k, v, causal=kind == "causal", return_lse=True)
        d_o = np.zeros_like(o)
        d_o[cell] = 1
        g = attn.sdpa_backward(d_o, q, k, v, o, lse, causal=kind == "causal")
        for name, exact in (("d_Q", g.d_q), ("d_K", g.d_k), ("d_V", g.d_v), ("d_output", d_o)):
            assert np.allclose(named[name], exact, rtol=1e-9, atol=1e-12), name


@pytest.mark.parametrize("loss", ["scores[0,1]", "weights[1,0]", "scaled[2,2]"])
def test_a_loss_in_the_middle(loss):
    """Steps after it have no gradients."""
    name, row, column = re.fullmatch(r"(\w+)\[(\d),(\d)\]", loss).groups()
    steps, = examples(LESSONS / "01-first-attention.md", "--loss", loss)
    check(steps, lambda steps, values: values[next(n for n, s in enumerate(steps) if s["name"] == name)][int(row), int(column)])
    assert not any(s["symbol"] in ("d_output", "d_V") for s in steps)


def test_a_cell_is_computed_as_printed():
    """Every line of the computation of a gradient, evaluated: the right sides agree with the values."""
    text = run("explain", LESSONS / "03-causal.md", "--cell", "d_q[2,0]", "--precision", 12, "--width", 10000)
    assert text.startswith("Gradient: d_Q = d_scores K\n") and "The loss is L = the sum of all values of output" in text
    lines = [line for line in text.splitlines() if re.match(r"  d_\w+\[", line)]
    assert len(lines) >= 10
    for line in lines:
        *worked, result = line.split(" = ")
        arithmetic = worked[-1].replace("×", "*").replace("√2", "math.sqrt(2)")
        if re.fullmatch(r"[-\d.e*+/() ]+", arithmetic):
            assert eval(arithmetic) == pytest.approx(float(result.split(" (")[0]), abs=1e-9), line
    assert sum("weights[" in line and "×(" in line for line in lines) >= 3, "the softmax's rule is worked out"
    assert run("explain", LESSONS / "03-causal.md", "--cell", "d_Q[2,0]") == run("explain", LESSONS / "03-causal.md", "--cell", "d_q[2,0]")


def test_names_and_errors():
    heads = LESSONS / "06-heads.md"
    for head in (1, 2):
        assert run("explain", heads, "--cell", f"head {head}: d_q[0,1]").startswith(f"Gradient (head {head}): d_Q = ")
    assert "d_X by Q" in run("explain", heads, "--gradients")
    japanese = run("explain", heads, "--cell", "d_q[0,1]", "--lang", "ja")
    assert "勾配" in japanese and "損失" in japanese
    for arguments, message in ((["09-additive.md", "--gradients"], "gradient of scores cannot be computed"),
                               (["08-positions.md", "--gradients"], "no output to sum up"),
                               (["01-first-attention.md", "--loss", "output[9,9]"], "output has no row 9"),
                               (["01-first-attention.md", "--cell", "d_z[0,0]"], "no step is called d_z"),
                               (["01-first-attention.md", "--gradients", "--html", "x.html"], "leave out --svg"),
                               (["01-first-attention.md", "--loss", "output[0,0]", "--lesson", "--input", "a"], "leave out")):
        assert message in run("explain", LESSONS / arguments[0], *arguments[1:], status=2), arguments


def test_python_gives_what_the_command_gives():
    path = LESSONS / "01-first-attention.md"
    assert attn.explain(path, gradients=True).text == run("explain", path, "--gradients", "--width", 80)
    found = attn.explain(path, cell="d_k[1,0]", loss="output[0,1]")
    assert found.text == run("explain", path, "--cell", "d_k[1,0]", "--loss", "output[0,1]", "--width", 80)
    assert [e["steps"] for e in found.examples] == examples(path, "--loss", "output[0,1]")
    with pytest.raises(attn.AttnError, match="no row 7"):
        attn.explain(path, loss="output[7,7]")
    with pytest.raises(TypeError, match="loss must be a str"):
        attn.explain(path, loss=3)
