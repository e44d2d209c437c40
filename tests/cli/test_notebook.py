"""Results in notebooks: the pages of the command in frames of their own, the cell magic, and the notebook of examples/."""
import copy
import dataclasses
import html
import json
import pickle
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import attn as library
from conftest import LESSONS, SOURCE, address

FIRST, SLIP = LESSONS / "01-first-attention.md", LESSONS / "published-slip.md"
NOTEBOOK = SOURCE / "examples/python/attention.ipynb"
HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)> ]]> \u202e &quot; &#39;"
SHORT = "Q = [[1, 0], [0, 2]]\nK = [[1, 1], [0, 1]]\nscores = [[1, 0], [2, {}]]\n"


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def frame(result):
    (tag, attributes), = Tags(result._repr_html_()).found
    assert tag == "iframe" and attributes["sandbox"] == "allow-scripts"
    return attributes["srcdoc"]


def some_map(tokens=("a", "b", "c")):
    return library.attention_map(np.full((2, 2, len(tokens), len(tokens)), 1 / len(tokens)), tokens)


def embed(folder, *results):
    """A notebook's page: outputs one below the other, and styles of its own."""
    path = folder / "outer.html"
    path.write_text("<!DOCTYPE html><style>td{color:#fff;background:#fff}</style><title>t</title><p id='Q'></p>"
                    + "".join(result._repr_html_() for result in results))
    return path


# ---- Pages ----

@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("lesson", [FIRST, SLIP], ids=lambda path: path.stem)
def test_pages_are_those_of_the_command(attn, tmp_path, lesson, language):
    """There is one renderer: byte by byte the same page."""
    attn("explain", lesson, "--html", "e.html", "--lang", language)
    attn("check", lesson, "--html", "c.html", "--lang", language, status=None)
    explained, judged = library.explain(lesson, lang=language), library.check(lesson, lang=language)
    assert explained.html() == (tmp_path / "e.html").read_text() == frame(explained)
    assert judged.html() == (tmp_path / "c.html").read_text() == frame(judged)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_page_of_a_model_is_that_of_the_command(attn, tmp_path, language):
    small = {"d_model": 16, "num_heads": 2, "ffn_dim": 32, "encoder_layers": 2, "decoder_layers": 2}
    attn("train", "dates", "--steps", 2, "--quiet", "--test-examples", 0, "--max-validation-examples", 1, "-o", "dates.safetensors",
         "--config", json.dumps(small))
    for target in (None, "1991-05-12"):
        attn("show", "dates.safetensors", "--input", "12 May 1991", *(["--target", target] if target else []), "--html", "m.html",
             "--lang", language)
        found = library.show(tmp_path / "dates.safetensors", "12 May 1991", target=target, lang=language)
        assert found.html() == (tmp_path / "m.html").read_text()
    assert set(found.weights) == {"encoder", "decoder", "cross"} and set(found.weights["cross"]) == {(i, j) for i in (0, 1) for j in (0, 1)}
    with pytest.raises(library.AttnError, match="text"):
        library.show(tmp_path / "dates.safetensors")


@pytest.mark.parametrize("result", [library.explain(FIRST), library.check(SLIP, lang="ja", precision=2, width=60)],
                         ids=["explain", "check"])
def test_results_can_be_copied(result):
    """Pickled, copied and as a dictionary: the same fields and the same page."""
    page = result.html()
    for same in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), copy.copy(result)):
        assert same == result and same.html() == page
    assert json.loads(json.dumps(dataclasses.asdict(result))) == {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}


def test_what_has_no_page_is_text():
    for result in (library.explain(FIRST, cell="weights[0,0]"), library.explain(FIRST, gradients=True), library.explain("No numbers.\n")):
        assert result.html() is None and result._repr_html_() is None


def test_a_map_keeps_its_weights():
    """A buffer that is used for the next text does not change the page."""
    weights = np.full((2, 3, 3), 1 / 3, np.float32)
    found = library.attention_map(weights)
    page = found.html()
    weights[:] = np.eye(3)
    assert found.html() == page == pickle.loads(pickle.dumps(found)).html()


def test_maps_of_arrays(tmp_path):
    """Layers, heads, kinds and tokens, whatever holds the weights."""
    rng = np.random.default_rng(2)
    weights = rng.random((2, 3, 4, 5)).astype(np.float32)
    weights /= weights.sum(-1, keepdims=True)
    found = library.attention_map(weights, list("abcd"), list("vwxyz"))
    assert set(found.weights) == {"cross"} and all((found.weights["cross"][at] == weights[at]).all() for at in np.ndindex(2, 3))
    layers = library.attention_map(tuple(one[None] for one in weights), list("abcd"), list("vwxyz"))
    assert layers.html() == found.html()
    assert "2 x 3 heads" in str(found) and "v" in str(found)
    square = weights[..., :4]
    assert set(library.attention_map(square).weights) == {"encoder"} and set(library.attention_map(np.tril(square)).weights) == {"decoder"}
    assert set(library.attention_map(square[0, 0], kind="cross").weights) == {"cross"}
    for wrong, name in (({"weights": weights[0, 0, 0]}, "weights"), ({"weights": weights, "tokens": "abc"}, "tokens"),
                        ({"weights": weights, "key_tokens": "abc"}, "key_tokens"), ({"weights": weights, "kind": "x"}, "kind"),
                        ({"weights": [np.ones((2, 1, 3, 3))]}, "weights"), ({"weights": weights, "lang": "de"}, "lang"),
                        ({"weights": "text"}, "weights"), ({"weights": weights[:, :, :0]}, "weights")):
        with pytest.raises(library.AttnError) as error:
            library.attention_map(**wrong)
        assert error.value.argument == name


@pytest.mark.parametrize("text, message", [("12\0 May", "a NUL character"), ("12\ud800", "a lone surrogate at index 2")])
def test_texts_that_c_cannot_read_are_refused(text, message):
    """No part of a text is dropped; the error names the argument."""
    square = np.eye(2)
    for name, call in (("text", lambda: library.show("no model", text)), ("target", lambda: library.show("no model", "a", target=text)),
                       ("path", lambda: library.show(text)), ("path", lambda: library.Captioner(text)),
                       ("tokens", lambda: library.attention_map(square, ["a", text])), ("name", lambda: library.attention_map(square, name=text)),
                       ("key_tokens", lambda: library.attention_map(square, key_tokens=["a", text])),
                       ("cell", lambda: library.explain(FIRST, cell=text)), ("loss", lambda: library.explain(FIRST, loss=text)),
                       ("document", lambda: library.check(text))):
        with pytest.raises(library.AttnError, match=f"^{name} has {message}") as error:
            call()
        assert error.value.argument == name
    with pytest.raises(library.AttnError, match="NUL|binary file|surrogate"):
        library.check(f"Q = [[1, 2]]\n{text}\n")


def test_a_summary_shows_its_numbers():
    """The measures, and the share of each key or group of keys; a group that receives most is 1."""
    rng = np.random.default_rng(3)
    for keys, names in ((5, ["0", "1", "2", "3", "4"]), (130, ["0–2", "3–5", "129–129"])):
        found = library.summary(rng.normal(size=(2, 7, 4)), rng.normal(size=(2, keys, 4)))
        text = html.unescape(found.html())
        assert all(f">{name}<" in text for name in names) and f"{found.entropy[1].mean():.4f}" in text
        size = -(-keys // 64)
        sums = np.array([found.column_sums[0, at:at + size].sum() for at in range(0, keys, size)])
        assert f"{sums[0] / sums.max():.4f}".rstrip("0") in text
    assert library.summary(np.ones((2, 3, 4)), np.ones((2, 3, 4)), column_sums=False, top=0, entropy=False, max_logit=False).html() is None


# ---- Frames ----

@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_results_of_one_notebook_do_not_clash(tmp_path, visit, scheme):
    """Ids, styles, scripts and links of a page affect neither the other pages nor the notebook."""
    view = visit(embed(tmp_path, library.explain(FIRST), library.explain(FIRST), library.check(SLIP), some_map()), scheme=scheme)
    first, second, third, fourth = view.frames[1:]
    before, shown = second.inner_text("#Q-1-0"), address(view)
    first.click("#X-1-0")
    view.keyboard.type("9")
    view.keyboard.press("Enter")
    assert first.inner_text("#Q-1-0") != before == second.inner_text("#Q-1-0")
    first.click(".rail a[href='#output']")
    assert address(view) == shown and first.evaluate("location.hash.split('?')[0]") == "#output" and first.is_visible("#output")
    fourth.wait_for_selector("#grid button")
    fourth.locator("#grid button").first.click()
    fourth.wait_for_selector("#grid tbody tr:first-child > :nth-child(2) > button[aria-pressed=true]")  # when its weights are loaded
    assert fourth.evaluate("location.hash").startswith("#1-encoder-1-1")
    for one in (first, second, third, fourth):
        dark = one.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every(x => x < 64)")
        assert dark == (scheme == "dark") and one.evaluate("origin") == "null"
        assert one.evaluate("(() => { try { parent.document.body; return false } catch { return true } })()")
    assert first.evaluate("getComputedStyle(document.querySelector('#Q-1-0')).color") != "rgb(255, 255, 255)" or scheme == "dark"
    assert view.evaluate("document.querySelectorAll('body *').length") == 1 + 4


def test_hostile_text_is_inert(tmp_path, visit):
    """visit fails for a dialog, a request or an error; the notebook's page gets no element but the frames."""
    document = f"{HOSTILE}\n\n{SHORT.format(2)}\n{HOSTILE}\n"
    results = [library.check(document), library.explain(document), some_map([HOSTILE, "b", HOSTILE]),
               library.attention_map(np.ones((1, 1)), name=HOSTILE)]
    assert all("<script>alert" not in frame(result) and "<img" not in frame(result) for result in results)
    view = visit(embed(tmp_path, *results))
    view.wait_for_timeout(200)
    assert view.evaluate("document.querySelectorAll('body *').length") == 1 + len(results)


# ---- The cell magic, and the notebook ----

@pytest.fixture
def shell():
    interactive = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed: pip install ipykernel")
    shell = interactive.InteractiveShell.instance()
    shell.run_line_magic("load_ext", "attn")
    yield shell
    interactive.InteractiveShell.clear_instance()


def test_the_magic_is_check_and_explain(shell):
    for line, expected in (("", library.check), ("check", library.check), ("explain", library.explain)):
        assert shell.run_cell_magic("attn", line, SHORT.format(2)) == expected(SHORT.format(2) + "\n")
    text = shell.run_cell_magic("attn", "explain --lang ja --precision 2", SHORT.format(2)).text
    assert text == library.explain(SHORT.format(2) + "\n", lang="ja", precision=2).text != library.explain(SHORT.format(2) + "\n").text
    assert shell.run_cell_magic("attn", "check", SHORT.format(3)).verdict == "wrong"
    data, _ = shell.display_formatter.format(library.check(SHORT.format(2)))
    assert data["text/plain"] == library.check(SHORT.format(2)).text and data["text/html"].startswith("<iframe")


@pytest.mark.parametrize("line, cell, message", [("explain --lang de", "1", "invalid choice"), ("show", "1", "invalid choice"),
                                                 ("check", "Q = [[1, 2], [3]]", "line 1, column"), ("check", "", "empty")])
def test_mistakes_are_one_line(shell, line, cell, message):
    from IPython.core.error import UsageError
    with pytest.raises(UsageError, match=message):
        shell.run_cell_magic("attn", line, cell)


def test_the_notebook_runs(tmp_path):
    """In a kernel, as Jupyter runs it; it is stored without outputs."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install nbclient ipykernel")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install ipykernel")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, 4)
    assert all(cell.outputs == [] and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
    nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": tmp_path}}).execute()
    shown = [output.data for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("text/html" in data for data in shown) == 4 and "'wrong'" in [data["text/plain"] for data in shown]
    for data in shown:
        assert "text/html" not in data or re.match('<iframe title="attn" sandbox="allow-scripts" ', data["text/html"])
        assert "object at 0x" not in data["text/plain"]
