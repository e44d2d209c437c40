"""attn explain --html: what a page holds, and what its script does in a browser (Chromium, where it is installed)."""
import json
import re
import shutil
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from conftest import LESSONS

FIRST, CAUSAL, HEADS = (LESSONS / name for name in ("01-first-attention.md", "03-causal.md", "06-heads.md"))


def page(attn, tmp_path, lesson, *options):
    attn("explain", lesson, "--html", "a.html", *options)
    return ET.fromstring((tmp_path / "a.html").read_text().replace("<!DOCTYPE html>", ""))


def cells(root):
    return {td.get("id"): td for td in root.iter("td") if td.get("id")}


def ranges(td):
    return [tuple(map(int, one.split("."))) for one in td.get("data-from", "").split()]


def sections(root):
    return [s for s in root.iter("section") if "step" in s.get("class").split()]


@pytest.mark.parametrize("lesson", sorted(LESSONS.iterdir()), ids=lambda p: p.name)
def test_each_cell_is_worked_out_and_ends_with_its_value(attn, tmp_path, lesson):
    root = page(attn, tmp_path, lesson)
    assert cells(root)
    for td in cells(root).values():
        if td.get("class") != "hidden":
            working = re.sub(r" \(mask.*\)$", "", td.get("data-how"))  # "= 1.5 (mask[0,1] = 1)"
            assert working.endswith(f" = {td.text}")


def test_the_working_is_that_of_the_terminal(attn, tmp_path):
    root = page(attn, tmp_path, FIRST)
    for name in ("scores-1-2", "weights-2-0", "output-0-1"):
        step, row, col = name.split("-")
        lines = attn("explain", FIRST, "--cell", f"{step}[{row},{col}]", "--width", "10000").stdout.splitlines()
        assert cells(root)[name].get("data-how") in [line.strip() for line in lines]


def test_a_cell_names_the_cells_that_it_needs(attn, tmp_path):
    """Checked against the operands in the JSON: rows and columns of products, the same cell elsewhere."""
    root = page(attn, tmp_path, FIRST)
    steps = json.loads(attn("explain", "--json", FIRST).stdout)["examples"][0]["steps"]
    number = {s.get("id"): int(s.get("data-n")) for s in sections(root)}
    assert number == {s["name"]: n for n, s in enumerate(steps)}
    for s in steps:
        for i in range(s["rows"]):
            for j in range(s["cols"]):
                td, at = cells(root)[f"{s['name']}-{i}-{j}"], s["operands"]
                width = steps[at[0]]["cols"] - 1 if at else 0
                expected = {
                    "given": [], "matmul": [(*at[:1], i, 0, i, width), (*at[1:], 0, j, width, j)],
                    "matmul_nt": [(*at[:1], i, 0, i, width), (*at[1:], j, 0, j, width)],
                    "divide": [(*at[:1], i, j, i, j)], "exp": [(*at[:1], i, j, i, j)],
                    "sum": [(*at[:1], i, 0, i, width)],
                    "quotient": [(*at[:1], i, j, i, j), (*at[1:], i, 0, i, 0)]}[s["op"]]
                assert ranges(td) == expected, (s["name"], i, j)


def test_steps_of_several_heads_have_their_own_addresses(attn, tmp_path):
    ids = {s.get("id") for s in sections(page(attn, tmp_path, HEADS))}
    assert {"h1-Q", "h2-Q", "h1-weights", "h2-weights"} <= ids


def test_examples_have_their_own_cells(attn, tmp_path):
    """Every range of cells names cells that exist, of earlier steps of the same example."""
    (tmp_path / "two.md").write_text(FIRST.read_text() + "\n\n" + CAUSAL.read_text())
    root = page(attn, tmp_path, "two.md")
    by_number = {int(s.get("data-n")): s.get("id") for s in sections(root)}
    assert len(by_number) == len(sections(root)) and {"Q", "e2-Q"} <= set(by_number.values())
    for name, td in cells(root).items():
        for step, top, left, bottom, right in ranges(td):
            assert by_number[step].startswith("e2-") == name.startswith("e2-")
            assert f"{by_number[step]}-{bottom}-{right}" in cells(root) and top <= bottom and left <= right


def test_hidden_cells_look_hidden(attn, tmp_path):
    root = page(attn, tmp_path, CAUSAL)
    hidden = {name for name, td in cells(root).items() if td.get("class") == "hidden"}
    assert {"weights-0-1", "weights-0-2"} <= hidden and "weights-1-0" not in hidden
    assert all(cells(root)[name].text == "–" for name in hidden)


def test_wrong_numbers_are_marked(attn, tmp_path):
    text = FIRST.read_text()
    wrong = text.replace("0.4458", "0.4468", 1)
    assert wrong != text
    (tmp_path / "wrong.md").write_text(wrong)
    root = page(attn, tmp_path, "wrong.md")
    marked = [name for name, td in cells(root).items() if td.get("class") == "differs"]
    assert marked == ["weights-0-0"]
    assert any("0.4468" in "".join(p.itertext()) for p in root.iter("p"))
    assert not [td for td in cells(page(attn, tmp_path, FIRST)).values() if td.get("class") == "differs"]


def test_names_are_set_as_mathematics(attn, tmp_path):
    root = page(attn, tmp_path, FIRST)
    heading, = [s.find("h3") for s in sections(root) if s.get("id") == "Q"]
    formula = ["".join(m.itertext()) for m in heading.iter("math")]
    assert formula == ["Q", "=", "XWQ"] and [len(list(heading.iter(tag))) for tag in ("msub", "msup")] == [1, 0]


def test_large_matrices_are_cut(attn, tmp_path):
    x = np.fromfunction(lambda i, j: (i * j) % 3, (160, 70), dtype=int)
    w = np.fromfunction(lambda i, j: (i * j + i) % 3, (70, 70), dtype=int)
    text = ("\n".join(" ".join(map(str, row)) for row in m) for m in (x, w, x @ w))
    (tmp_path / "a.md").write_text("X\n{}\n\nW_Q\n{}\n\nQ = X W_Q\n{}\n".format(*text))
    root = page(attn, tmp_path, "a.md")
    assert len(cells(root)) == 64 * 64 + 70 * 70 + 64 * 64 and "64×64 / 160×70" in [p.text for p in root.iter("p")]
    assert (tmp_path / "a.html").stat().st_size < 3 << 20


# ---- In a browser ----

@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    path = shutil.which("chromium") or pytest.skip("chromium is not installed: apt-get install chromium")
    with api.sync_playwright() as p:
        yield p.chromium.launch(executable_path=path, args=["--no-sandbox"])


@pytest.fixture(params=[("light", 1280), ("dark", 360)], ids=str)
def view(request, browser):
    """open(path): the page; fails if the script writes an error."""
    scheme, width = request.param
    one = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    problems = []
    one.on("pageerror", lambda error: problems.append(str(error)))
    one.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    one.on("request", lambda r: None if r.url.startswith("file:") else problems.append(r.url))
    yield one
    assert problems == []
    one.close()


def lit(view, name):
    return set(view.evaluate(f"[...document.querySelectorAll('td.{name}')].map(td => td.id)"))


def how(view):
    return view.evaluate("document.querySelector('.working').hidden ? '' : document.querySelector('.how').textContent")


def test_pointing_and_keys(attn, tmp_path, view):
    root = page(attn, tmp_path, FIRST)
    view.goto(f"file://{tmp_path}/a.html")
    assert how(view) == ""
    view.hover("#scores-1-2")
    assert how(view) == cells(root)["scores-1-2"].get("data-how")
    assert lit(view, "from") == {"Q-1-0", "Q-1-1", "K-2-0", "K-2-1"} and lit(view, "to") == {"scaled-1-2"}
    view.hover("h1")
    assert how(view) == "" and not lit(view, "from")
    view.focus("#scores-0-0")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "Enter"):  # stops at the edge
        view.keyboard.press(key)
    assert view.evaluate("document.activeElement.id") == "scores-1-2" and view.url.endswith("#scores-1-2")
    view.hover("h1")
    assert lit(view, "chosen") == {"scores-1-2"}  # kept
    view.keyboard.press("Escape")
    assert how(view) == "" and "#" not in view.url
    view.click("#V-0-0")
    assert lit(view, "chosen") == {"V-0-0"} and lit(view, "to") == {f"output-{i}-0" for i in range(3)}


def test_links_and_steps(attn, tmp_path, view):
    page(attn, tmp_path, FIRST)
    view.goto(f"file://{tmp_path}/a.html#weights-2-0")
    assert lit(view, "chosen") == {"weights-2-0"} and "0.1400" in how(view)
    view.goto("about:blank")
    view.goto(f"file://{tmp_path}/a.html")
    view.click("#next")
    assert view.url.endswith("#W_Q")
    view.keyboard.press("ArrowRight")
    assert view.url.endswith("#W_K")
    view.click("#previous")
    assert view.url.endswith("#W_Q")
    view.click("#play")
    assert view.get_attribute("#play", "aria-pressed") == "true"
    view.click("#play")
    assert view.get_attribute("#play", "aria-pressed") == "false"
    assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_hostile_names_are_inert(attn, tmp_path, view):
    (tmp_path / "a.md").write_text(
        "# <script>alert(1)</script>\n\ntokens: <img/src=x/onerror=alert(1)> \"'><b> ]]>\n\nX\n1 0\n0 1\n1 1\n\n"
        "W_Q\n1 0\n0 1\n\nW_K\n1 0\n0 1\n\nW_V\n1 0\n0 1\n\nQ\n\nK\n\nV\n\nweights\n")
    page(attn, tmp_path, "a.md")
    view.on("dialog", lambda dialog: pytest.fail("a script of the document ran"))
    view.goto(f"file://{tmp_path}/a.html")
    view.hover("td[id^=Q]")
    assert how(view).startswith("Q[") and view.evaluate("document.querySelectorAll('img, b:not(figcaption b), main script').length") == 0
