"""attn explain --html: what follows when the reader changes the inputs, against the library on the changed document."""
import os
import random
from collections import defaultdict

import numpy as np
import pytest

from conftest import LESSONS, SOURCE, address, json_lines, softmax

EVERY = bool(os.environ.get("ATTN_ALL"))
DRAWN_LESSONS = ["01-first-attention.md", "02-first-attention.ja.md", "03-causal.md", "05-columns.md", "06-heads.md", "08-positions.md",
                 "alignments.md", "exponentials.md"]
LIVE = ["01-first-attention.md", "03-causal.md", "04-cross-attention.md", "05-columns.md", "06-heads.md", "07-why-scale.py",
        "08-positions.md", "alignments.md"] + ["02-first-attention.ja.md", "09-additive.md", "10-general.md"] * EVERY
FOLDERS = (LESSONS, SOURCE / "tests/lesson/graph")


def open_page(attn, tmp_path, visit, name, *options, **view):
    path = next((folder / name for folder in FOLDERS if (folder / name).exists()), name)
    attn("explain", path, "--html", "a.html", *options)
    view = visit(tmp_path / "a.html", **view)
    assert view.evaluate("isLive")
    return view


DRAWN = """html => {
  const document = html ? new DOMParser().parseFromString(html, 'text/html') : window.document
  const text = one => one.textContent.replace(/\\s+/g, '')
  return [...document.querySelectorAll('.step')].map(step => [step.id,
    [...step.querySelectorAll('h3, .words > p')].map(one => one.lang + text(one)),
    [...step.querySelectorAll('h3 math')].map(one => one.outerHTML.replace(/ xmlns="[^"]*"/g, '')),
    [...step.querySelectorAll('th, td')].map(text),
    [...step.querySelectorAll('td[id]')].map(one => [one.classList.contains('hidden'), one.style.getPropertyValue('--w')]),
    [...step.querySelectorAll('svg *')].map(one => one.tagName + [...one.attributes].filter(a => a.name !== 'fill' && a.name !== 'stroke').map(a => a.name + a.value).sort() + text(one))])
}"""


@pytest.mark.parametrize("name", DRAWN_LESSONS)
def test_the_script_writes_what_the_library_writes(attn, tmp_path, visit, name):
    """All headings, formulas, values, sentences and arrows, erased and written again by the script."""
    view = open_page(attn, tmp_path, visit, name)
    html = (tmp_path / "a.html").read_text()
    view.evaluate("""() => {
      for (const step of document.querySelectorAll('.step')) {
        step.heading = step.words = null
        step.querySelector('h3').replaceChildren()
        for (const one of step.querySelectorAll('.words > p')) one.remove()
        for (const one of step.querySelectorAll('.pair td[id], .pair th')) one.textContent = ''
        for (const figure of step.querySelectorAll('figure')) figure.key = null, figure.original.key = ''
      }
      draw()
    }""")
    for library, script in zip(view.evaluate(DRAWN, html), view.evaluate(DRAWN, "")):
        *library, arrows = library
        *script, drawn = script
        assert script == library
        assert len(drawn) == len(arrows)
        if len(arrows) < 60:  # the places of names depend on the widths of letters
            assert [a for a in drawn if not a.startswith("text")] == [a for a in arrows if not a.startswith("text")]
    print(len(html), "bytes")
    assert len(html) < 250_000


# ---- The law: after any edit, the page has the numbers of attn explain for its document ----

def shown(x, places=4):
    """As attn_number_text."""
    if x is None:
        return "-∞"
    if x == 0:
        return "0"
    if abs(x) >= 1e15 or abs(x) < 0.5 * 10.0 ** -places:
        digits, exponent = f"{x:.{places if abs(x) >= 1e15 else 1}e}".split("e")
        return (digits.rstrip("0").rstrip(".") if "." in digits else digits) + "e" + str(int(exponent))
    text, scaled = f"{x:.{places}f}", x * 10.0 ** places
    if abs(scaled) < 1e15 and abs(scaled - round(scaled)) <= 16e-16 * abs(scaled):
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def random_edit(draw, cells, masks, causal):
    """One change, as an argument of set(), or of withCell()."""
    kind = draw.randrange(10)
    if kind == 0:
        return {"temperature": draw.choice([0.5, 2, 1.41, 1])}
    if kind == 1:
        return {"scale": draw.choice([1, 3, 2.5, None])}
    if kind == 2:
        return {"scaled": draw.random() < 0.5}
    if kind == 3 and causal:
        return {"causal": draw.random() < 0.5}
    if kind == 4 and masks:
        return [draw.choice(masks), draw.randrange(2)]
    return [draw.choice(cells), draw.choice([draw.randint(-3, 3), draw.randint(-30, 30) / 10, draw.randint(-300, 300) / 100])]


EDIT = """([fresh, edit]) => {
  if (fresh) set(unchanged())
  if (Array.isArray(edit)) { const td = document.getElementById(edit[0]); if (td) set(withCell(td, edit[1])) } else set(edit)
  return [documentText(), examples.flatMap(e => documentSteps(e).map(s => [s.name, s.name === 'mask' ? -1 : s.head,
    [...document.querySelectorAll('#' + CSS.escape(s.id) + ' td[id]')].map(td => td.textContent)]))]
}"""


def values_of(explained):
    values = defaultdict(list)
    for example in explained["examples"]:
        for s in example["steps"]:
            head = -1 if s["name"] == "mask" else s.get("head", -1)
            values[s["name"], head].append([shown(x) for row in s["exact"] for x in row])
    return values


def differences(steps, explained, by_name):
    """Steps of the page that the library computes otherwise; a hidden cell is an exact 0. A variable of a snippet is not one
    of the roles, so that there only the values can be compared."""
    values, every = values_of(explained), []
    for own in values.values():
        every += own
    return [name for name, head, cells in steps if not any(
        len(own) == len(cells) and all(a == b or (a == "–" and b == "0") for a, b in zip(cells, own))
        for own in (values[name, head] if by_name else every))]


@pytest.mark.parametrize("name", LIVE)
def test_each_edit_gives_the_numbers_of_the_library(attn, tmp_path, visit, name):
    """To the last printed digit; and the documents are correct. 56 random edits of each lesson (616) with ATTN_ALL=1."""
    view, draw, results = open_page(attn, tmp_path, visit, name), random.Random(name), []
    ids = view.evaluate("[...document.querySelectorAll('td.given')].map(td => td.id)")
    masks = [one for one in ids if one.startswith("mask")]
    causal, suffix = view.evaluate("has.causal"), name.rpartition(".")[2]
    for n in range(57 if EVERY else 9):
        edit = random_edit(draw, [one for one in ids if one not in masks], masks, causal) if n else {}
        results.append(view.evaluate(EDIT, [n % 8 == 0, edit]))
        (tmp_path / f"{n}.{suffix}").write_text(results[-1][0])
    files = [f"{n}.{suffix}" for n in range(len(results))]
    explained = json_lines(attn("explain", "--json", *files).stdout)
    wrong = {n: differences(steps, one, suffix == "md") for n, ((_, steps), one) in enumerate(zip(results, explained))}
    assert not {n: w for n, w in wrong.items() if w}
    if suffix == "md":  # of a snippet the comments alone are judged
        verdicts = [one["verdict"] for one in json_lines(attn("check", "--json", *files).stdout)]
        assert set(verdicts) == {"correct"}


def test_operations_of_no_lesson_here(attn, tmp_path, visit):
    view = open_page(attn, tmp_path, visit, "03-causal.md")
    assert view.evaluate("Array.from(evaluate({op: 'tanh', from: [{value: matrix(1, 3, (i, j) => j - 0.5)}]}).at)") == pytest.approx(np.tanh([-0.5, 0.5, 1.5]))


# ---- By hand ----

def value(view, cell):
    return float(view.inner_text("#" + cell))


@pytest.mark.parametrize("look", [("light", 1280), ("dark", 360)], ids=str)
def test_editing_undo_and_links(attn, tmp_path, visit, look):
    view = open_page(attn, tmp_path, visit, "01-first-attention.md", scheme=look[0], width=look[1])
    old = value(view, "weights-0-0")
    view.click("#X-0-1")
    view.keyboard.type("2.5")
    assert view.inner_text("#Q-0-0") == "2" and value(view, "K-0-1") == 5 and value(view, "weights-0-0") != old  # before Enter
    view.keyboard.press("Enter")
    assert view.inner_text("#X-0-1") == "2.5" and address(view).endswith("#X-0-1?X-0-1=2.5")
    view.keyboard.press("ArrowRight")
    view.keyboard.press("7")  # typing begins an edit
    view.keyboard.press("ArrowUp")
    view.keyboard.press("Enter")
    assert view.inner_text("#X-0-2") == "8"
    view.keyboard.press("Enter")
    view.keyboard.type("x")
    assert view.get_attribute(".editor", "aria-invalid") == "true"
    view.keyboard.press("Escape")
    assert view.inner_text("#X-0-2") == "8"
    link = address(view)
    view.keyboard.press("Control+z")
    assert view.inner_text("#X-0-2") == "0" and view.inner_text("#X-0-1") == "2.5"
    view.keyboard.press("Control+z")
    assert value(view, "weights-0-0") == old and view.evaluate("!isChanged()")
    view.keyboard.press("Control+Shift+z")
    assert view.inner_text("#X-0-1") == "2.5"
    view.goto("about:blank")
    view.goto(link)
    assert view.inner_text("#X-0-1") == "2.5" and view.inner_text("#X-0-2") == "8"
    assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_tokens_controls_and_slips(attn, tmp_path, visit):
    view = open_page(attn, tmp_path, visit, "01-first-attention.md")
    view.click("#X tbody th >> nth=0")
    view.keyboard.type("Tom")
    view.keyboard.press("Enter")
    assert view.inner_text("#scores thead th >> nth=0") == "Tom" and "Tom" in view.inner_text("#weights .words")
    scores = [[value(view, f"scores-{i}-{j}") for j in range(3)] for i in range(3)]
    view.click("[data-slip=unscaled]")
    assert view.get_attribute("[data-slip=unscaled]", "aria-pressed") == "true" and not view.is_checked("#x-scaled")
    assert value(view, "weights-0-1") == pytest.approx(softmax(np.array(scores))[0, 1], abs=5e-5)
    view.click("[data-slip=unscaled]")
    view.check("#x-axis-columns")
    assert sum(value(view, f"weights-{i}-0") for i in range(3)) == pytest.approx(1, abs=2e-4)
    assert view.inner_text("#row_sum h3 .note:visible").startswith("(1×3")
    view.click("#x-reset")
    view.check("#x-causal")
    assert view.inner_text("#weights-0-1") == "–" and value(view, "weights-0-0") == 1 and view.is_visible("#masked")
    view.uncheck("#x-causal")
    assert not view.query_selector("#mask")
    view.evaluate("document.getElementById('x-temperature').value = 2; document.getElementById('x-temperature').dispatchEvent(new Event('input'))")
    assert value(view, "scaled-0-0") == pytest.approx(scores[0][0] / 2 ** 0.5 / 4, abs=1e-4)


def test_a_key_that_is_not_transposed(attn, tmp_path, visit):
    """Only where the shapes allow it: as many keys as components."""
    (tmp_path / "n.md").write_text(attn("new", "--tokens", "I sleep", "--seed", 3).stdout)
    view = open_page(attn, tmp_path, visit, "n.md")
    q, k = ([[value(view, f"{name}-{i}-{j}") for j in range(2)] for i in range(2)] for name in "QK")
    view.click("[data-slip=plain]")
    assert [[value(view, f"scores-{i}-{j}") for j in range(2)] for i in range(2)] == [
        [sum(q[i][n] * k[n][j] for n in range(2)) for j in range(2)] for i in range(2)]
    view = open_page(attn, tmp_path, visit, "01-first-attention.md")
    assert view.is_hidden("[data-slip=plain]")


def test_the_check_finds_the_slips(attn, tmp_path, visit):
    """The document of a slip states the usual formula and prints the slip's numbers."""
    causes = {"columns": "softmax_over_columns", "unscaled": "missing_scale"}
    for name, slips in (("02-first-attention.ja.md", causes), ("03-causal.md", ["columns"])):
        view = open_page(attn, tmp_path, visit, name)
        for slip in slips:
            view.click(f"[data-slip={slip}]")
            (tmp_path / "s.md").write_text(view.evaluate("documentText()"))
            found = json_lines(attn("check", "--json", "s.md", status=1).stdout)[0]["examples"][0]["first_wrong"]
            assert found["cause"] == causes[slip] and found["step"] == "weights", name
            view.click("#x-reset")
    (tmp_path / "n.md").write_text(attn("new", "--tokens", "I sleep", "--seed", 3).stdout)
    view = open_page(attn, tmp_path, visit, "n.md")
    view.click("[data-slip=plain]")
    (tmp_path / "s.md").write_text(view.evaluate("documentText()"))
    assert json_lines(attn("check", "--json", "s.md", status=1).stdout)[0]["examples"][0]["first_wrong"]["step"] == "scores"


def test_text_to_copy(attn, tmp_path, visit):
    view = open_page(attn, tmp_path, visit, "03-causal.md")
    view.click("#x-document")
    text = view.input_value("dialog textarea")
    assert view.is_visible("dialog") and "weights = softmax(masked)" in text
    view.keyboard.press("Escape")
    assert view.is_hidden("dialog")
    view.click("#x-share")
    assert view.input_value("dialog textarea") == address(view)


def test_addresses_of_others_change_nothing_else(attn, tmp_path, visit):
    """What a link may hold: known cells, finite numbers, tokens as text."""
    attn("explain", LESSONS / "03-causal.md", "--html", "a.html")
    view = visit(f"{tmp_path}/a.html#Q-0-0?X-0-0=1e999&X-9-9=3&Q-0-0=4&X-0-1=alert(1)&temperature=-1&__proto__=1&k.0.0=%3Cb%3E&k.7.0=x&other=1")
    assert view.evaluate("JSON.stringify(changes.cells)") == "{}" and view.evaluate("changes.temperature") == 1
    assert view.inner_text("#Q tbody th >> nth=0") == "<b>" and view.evaluate("document.querySelectorAll('td b, th b').length") == 0


def test_a_page_that_cannot_compute_says_so(attn, tmp_path, visit):
    """An unknown operation: the numbers stay, and one line is shown."""
    attn("explain", LESSONS / "03-causal.md", "--html", "a.html")
    page = (tmp_path / "a.html").read_text()
    (tmp_path / "a.html").write_text(page.replace('"op": "softmax"', '"op": "sparsemax"'))
    view = visit(tmp_path / "a.html")
    assert not view.evaluate("isLive") and view.is_visible(".still") and view.is_hidden(".live")
    view.click("#X-0-0")
    assert not view.query_selector(".editor")


def test_many_tokens(attn, tmp_path, visit):
    """10^4 of them: the page is cut and still."""
    words = " ".join(f"w{n}" for n in range(10000))
    rows = "\n".join(f"{n % 7} {n % 5}" for n in range(10000))
    (tmp_path / "m.md").write_text(f"tokens: {words}\n\nX\n{rows}\n\nW_Q\n1 0\n0 1\n\nQ = X W_Q\n{rows}\n")
    attn("explain", "m.md", "--html", "a.html")
    assert (tmp_path / "a.html").stat().st_size < 2 << 20
    visit(tmp_path / "a.html")


@pytest.mark.parametrize("name", ["01-first-attention.md", "03-causal.md", "08-positions.md"])
def test_reversed_tokens(attn, tmp_path, visit, name):
    """Self-attention alone is equivariant: outputs move with their tokens. A mask and positions are not. Twice changes nothing."""
    view = open_page(attn, tmp_path, visit, name)
    rows = "s => examples[0].steps.filter(one => one.name === s).map(one => [one.value.rows, [...one.value.at]])"
    last = "positions" if "positions" in name else "output"
    take = lambda what: [np.array(x).reshape(n, -1) for n, x in view.evaluate(rows, what)]
    tokens, before, x = view.evaluate("examples[0].k"), take(last)[-1], take("X")[0]
    view.click("#x-reverse")
    assert view.evaluate("examples[0].k") == tokens[::-1] and np.array_equal(take("X")[0], x[::-1])
    assert np.allclose(take(last)[-1], before[::-1], atol=1e-12) == (name == "01-first-attention.md")
    view.click("#x-reverse")
    assert view.evaluate("examples[0].k") == tokens and np.array_equal(take(last)[-1], before) and not view.evaluate("isChanged()")


def test_positions_in_binary(attn, tmp_path, visit):
    """Each row of the table of positions shows its number in binary, lowest digit first, and its values as heat."""
    view = open_page(attn, tmp_path, visit, "08-positions.md")
    bits = "[...document.querySelectorAll('th[data-bits]')].slice(0, 4).map(th => getComputedStyle(th, '::after').content)"
    assert view.evaluate(bits) == ['"00"', '"10"', '"01"', '"11"']
    cell = view.locator("td[style]").nth(1)  # cos(0) = 1
    assert cell.inner_text() == "1" and cell.evaluate("td => td.style.getPropertyValue('--w')") == "1.000"
