"""attn explain --html: what a page holds, and what its script does in a browser (Chromium, where it is installed)."""
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from conftest import LESSONS, address

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


def test_steps_of_several_heads_have_their_own_addresses(attn, tmp_path):
    ids = {s.get("id") for s in sections(page(attn, tmp_path, HEADS))}
    assert {"h1-Q", "h2-Q", "h1-weights", "h2-weights"} <= ids


def test_examples_have_their_own_cells(attn, tmp_path):
    """No address occurs twice, of steps and cells of two examples."""
    (tmp_path / "two.md").write_text(FIRST.read_text() + "\n\n" + CAUSAL.read_text())
    root = page(attn, tmp_path, "two.md")
    ids = [one.get("id") for one in root.iter() if one.get("id")]
    assert len(set(ids)) == len(ids) and {"Q", "e2-Q", "Q-0-0", "e2-Q-0-0"} <= set(ids)


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
    assert formula == ["Q", "=", "X\u00a0WQ"] and [len(list(heading.iter(tag))) for tag in ("msub", "msup")] == [1, 0]


def test_large_matrices_are_cut(attn, tmp_path):
    x = np.fromfunction(lambda i, j: (i * j) % 3, (160, 70), dtype=int)
    w = np.fromfunction(lambda i, j: (i * j + i) % 3, (70, 70), dtype=int)
    text = ("\n".join(" ".join(map(str, row)) for row in m) for m in (x, w, x @ w))
    (tmp_path / "a.md").write_text("X\n{}\n\nW_Q\n{}\n\nQ = X W_Q\n{}\n".format(*text))
    root = page(attn, tmp_path, "a.md")
    assert len(cells(root)) == 64 * 64 + 70 * 70 + 64 * 64 and "64×64 / 160×70" in [p.text for p in root.iter("p")]
    assert (tmp_path / "a.html").stat().st_size < 3 << 20


# ---- In a browser ----

def lit(view, *names):
    return [set(view.evaluate(f"[...document.querySelectorAll('td.{name}')].map(td => td.id)")) for name in names]


def how(view):
    return view.inner_text(".working .how") if view.is_visible(".working") else ""


VIEWS = pytest.mark.parametrize("view", [("light", 1280), ("dark", 360)], ids=str)


@VIEWS
def test_pointing_and_keys(attn, tmp_path, visit, view):
    page(attn, tmp_path, FIRST)
    view = visit(tmp_path / "a.html", scheme=view[0], width=view[1])
    assert how(view) == ""
    view.hover("#scores-1-2")
    assert how(view) == "scores[feeds,cats] = Q[feeds,:]·K[cats,:] = 1×1 + 1×2 = 3"
    assert lit(view, "from", "to") == [{"Q-1-0", "Q-1-1", "K-2-0", "K-2-1"}, {"scaled-1-2"}]
    view.hover("h1")
    assert how(view) == "" and lit(view, "from") == [set()]
    view.focus("#scores-0-0")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "Enter"):  # stops at the edge
        view.keyboard.press(key)
    assert view.evaluate("document.activeElement.id") == "scores-1-2" and address(view).endswith("#scores-1-2")
    view.hover("h1")
    assert lit(view, "chosen") == [{"scores-1-2"}]  # kept
    view.keyboard.press("Escape")
    assert how(view) == "" and "#" not in address(view)
    view.click("#V-0-0")
    assert lit(view, "chosen", "to") == [{"V-0-0"}, {f"output-{i}-0" for i in range(3)}]


@pytest.mark.parametrize("height", [500, 800])
def test_what_a_cell_shows_covers_no_control(attn, tmp_path, visit, height):
    """A selected cell's line leaves every control of the rail within reach; without it the rail is as before."""
    page(attn, tmp_path, FIRST)
    view = visit(tmp_path / "a.html")
    view.set_viewport_size({"width": 1280, "height": height})
    content = "document.querySelector('.rail').scrollHeight"
    before = view.evaluate(content)
    view.click("#weights-1-0")
    assert view.is_visible(".working")
    view.click("#x-document", timeout=5000)
    view.click("#x-close")
    view.keyboard.press("Escape")
    assert view.evaluate(content) == before and view.is_hidden(".working")


def test_a_cell_shows_what_it_reaches(attn, tmp_path, visit):
    """Checked with numbers: exactly the later values that change with the cell, all inputs being random."""
    page(attn, tmp_path, CAUSAL)
    view = visit(tmp_path / "a.html")
    view.evaluate("""() => set({cells: Object.fromEntries([...document.querySelectorAll('td.given')]
      .filter(td => !td.id.startsWith('mask')).map((td, n) => [td.id, ((n * 37) % 19 - 8.5) / 7]))})""")
    for cell in ("X-1-0", "W_V-0-1", "X-3-1", "scaled-2-1", "scaled-0-3"):
        view.evaluate("id => show(document.getElementById(id))", cell)
        direct, further = lit(view, "to", "reached")
        changed = view.evaluate("""id => {
          const values = () => Object.fromEntries(examples.flatMap(e => e.steps.flatMap(s => [...s.value.at].map((x, n) =>
            [`${s.id}-${Math.floor(n / s.value.cols)}-${n % s.value.cols}`, x]))))
          const old = values(), [s, i, j] = [stepOf(document.getElementById(id)).s, ...placeOf(document.getElementById(id))]
          const {e} = stepOf(document.getElementById(id))
          s.value.at[i * s.value.cols + j] += 0.3712
          for (const one of e.steps.slice(e.steps.indexOf(s) + 1)) if (one.op !== 'given') one.value = evaluate(one)
          const now = values()
          draw()
          return Object.keys(old).filter(key => key !== id && old[key] !== now[key])
        }""", cell)
        hidden = {f"output-{row}-{col}" for row in range(int(cell.split("-")[1])) for col in range(2) if cell[0] == "X"}
        assert not direct & further and set(changed) == (direct | further) - hidden, cell  # 0 times a value of a hidden key
        assert bool(direct) == (cell != "scaled-0-3")  # masked
    assert "no later value" in view.inner_text(".reach")


def test_every_value_is_worked_out_as_in_the_library(attn, tmp_path, visit):
    """The workings of all cells, against those of the checked document, which the library writes."""
    compared = 0
    for name in ("02-first-attention.ja.md", "05-columns.md", "06-heads.md", "08-positions.md", "09-additive.md", "10-general.md"):
        lesson = LESSONS / name
        page(attn, tmp_path, lesson)
        view = visit(tmp_path / "a.html")
        ours = view.evaluate("""[0, 1].map(language => examples.flatMap(e => e.steps.flatMap(s => [...s.value.at].map((x, n) =>
          working(e, s, Math.floor(n / s.value.cols), n % s.value.cols, language)))))""")
        for language, own in zip(("en", "ja"), ours):
            attn("check", lesson, "--html", "c.html", "--lang", language)
            root = ET.fromstring((tmp_path / "c.html").read_text().replace("<!DOCTYPE html>", ""))
            library = {m.get("data-how") for m in root.iter("mark") if m.get("data-how")}
            assert library and library <= set(own), (lesson.name, sorted(library - set(own))[:3])
            compared += len(library)
    print(compared, "workings")


@VIEWS
def test_links_and_steps(attn, tmp_path, visit, view):
    page(attn, tmp_path, FIRST)
    scheme, width = view
    view = visit(f"{tmp_path}/a.html#weights-2-0", scheme=scheme, width=width)
    assert lit(view, "chosen") == [{"weights-2-0"}] and "0.1400" in how(view)
    view.goto("about:blank")
    view.goto(f"file://{tmp_path}/a.html")
    view.click("#next")
    assert address(view).endswith("#W_Q")
    view.keyboard.press("ArrowRight")
    assert address(view).endswith("#W_K")
    view.click("#previous")
    assert address(view).endswith("#W_Q")
    view.click("#play")
    assert view.get_attribute("#play", "aria-pressed") == "true"
    view.click("#play")
    assert view.get_attribute("#play", "aria-pressed") == "false"
    assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_hostile_names_are_inert(attn, tmp_path, visit):
    (tmp_path / "a.md").write_text(
        "# <script>alert(1)</script> \u202e\n\ntokens: <img/src=x/onerror=alert(1)> \"'><b> ]]>\n\nX\n1 0\n0 1\n1 1\n\n"
        "W_Q\n1 0\n0 1\n\nW_K\n1 0\n0 1\n\nW_V\n1 0\n0 1\n\nQ\n\nK\n\nV\n\nweights\n")
    page(attn, tmp_path, "a.md")
    view = visit(tmp_path / "a.html")
    view.on("dialog", lambda dialog: pytest.fail("a script of the document ran"))
    view.hover("td[id^=Q]")
    assert how(view).startswith("Q[") and view.evaluate("document.querySelectorAll('img, b:not(figcaption b), main script[src]').length") == 0
    view.click("#X tbody th")
    view.fill(".editor", "</td><img src=x onerror=alert(1)>\u202e")
    view.keyboard.press("Enter")
    assert view.inner_text("#Q tbody th >> nth=0") == "</td><img src=x onerror=alert(1)>\ufffd"
    assert "\u202e" not in view.content() and view.evaluate("document.querySelectorAll('img').length") == 0
    text = view.evaluate("displayable(changes.tokens['k.0.0'] = 'a|b`\\\\*'), draw(), documentText()")
    assert "a·b···" in text and "a|b" not in text
