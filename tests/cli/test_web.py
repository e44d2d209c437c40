"""make web: the checker in WebAssembly gives the answers of the command, and its page shows them."""
import base64
import hashlib
import json
import re
import subprocess

import pytest

from conftest import LESSONS, SEEDS, SOURCE, address, run, wait_until, web_page, write_foreign_documents

MODES = ("check", "explain")
SLIP = LESSONS / "published-slip.md"


@pytest.fixture(scope="session")
def web():
    return web_page("attn-check.html")


@pytest.fixture
def page(web, visit):
    """page(**options): the page, ready."""
    def page(**options):
        view = visit(web, **options)
        view.wait_for_selector("[data-state=ready]:visible, [data-state=done]:visible")
        return view
    return page


def answer(view, act):
    """The report after act(), which changes it."""
    view.evaluate("report.textContent = ''")
    act()
    view.wait_for_selector("#report:visible:not(:empty)")
    return view.inner_text("#report")


def paste(view, text):
    view.fill("#text", text)
    view.press("#text", "Control+a")
    view.press("#text", "Control+x")
    return answer(view, lambda: view.press("#text", "Control+v"))


def drop(view, name, content):
    """Drops a file on the page."""
    return answer(view, lambda: view.evaluate(
        """([name, content]) => {
          const data = new DataTransfer()
          data.items.add(new File([Uint8Array.from(atob(content), c => c.charCodeAt(0))], name))
          for (const type of ['dragenter', 'dragover', 'drop'])
            document.body.dispatchEvent(new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true}))
        }""", [name, base64.b64encode(content).decode()]))


def frame(view):
    view.wait_for_selector("#page:visible")
    inner = view.query_selector("#page").content_frame()
    inner.wait_for_url(re.compile("^about:srcdoc"))  # it begins as about:blank; the page of a model adds a fragment
    return inner


# ---- The same answers ----

@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """The lessons, the documents by other hands, those of this tree's pages; the open set where it is installed."""
    foreign = write_foreign_documents(tmp_path_factory.mktemp("foreign"))
    found = [*LESSONS.iterdir(), *foreign.iterdir(), *SOURCE.glob("README*.md")]
    more = sorted((SEEDS.parent / "lessons/docs").glob("d*"))
    if not more:
        print(f"the open set of documents is not in {SEEDS.parent}/lessons: not compared")
    return sorted(p for p in found + more if p.stat().st_size < 100_000)


# Of each document: the exit status, and the output or, of a page, its SHA-256.
COMPUTED = """async ([documents, wanted]) => {
  const hash = async text => [...new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))]
    .map(one => one.toString(16).padStart(2, '0')).join('')
  const results = []
  for (const [name, content] of documents) {
    const opened = await openDocument(module, Uint8Array.from(atob(content), c => c.charCodeAt(0)), name), result = []
    for (const [output, language] of wanted) {
      const {status, text} = opened.write(output, language)
      result.push([status, output.endsWith('Page') ? await hash(text) : text])
    }
    results.push(result)
  }
  return results
}"""


@pytest.fixture(scope="module")
def computed(web, browser, documents):
    """computed[output][path]: the exit status, and the output or a page's hash, by the page's module. A page has both languages."""
    wanted = [("check", "en"), ("checkPage", "en"), ("explain", "ja"), ("explainPage", "ja")]
    context = browser.new_context(bypass_csp=True)
    view = context.new_page()
    view.goto(f"file://{web}")
    view.wait_for_selector("[data-state=ready]:visible")
    for script in "wasi.js", "check_module.js":
        view.add_script_tag(path=SOURCE / "web" / script)
    contents = [[str(path), base64.b64encode(path.read_bytes()).decode()] for path in documents]
    results = view.evaluate(COMPUTED, [contents, wanted])
    context.close()
    return {what: {path: result[n] for path, result in zip(documents, results)} for n, (what, _) in enumerate(wanted)}


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("mode, language", [("check", "en"), ("explain", "ja")])
def test_the_text_of_the_command(documents, computed, mode, language):
    """To the byte, with its errors and its exit status."""
    found = computed[mode]
    native = run(mode, *documents, "--width", 80, "--lang", language, status=max(status for status, _ in found.values()))
    texts = [text for _, text in found.values()]
    assert "".join(text for text in texts if not text.startswith("attn: ")) == native.stdout
    assert "".join(text for text in texts if text.startswith("attn: ")) == native.stderr


def test_the_marked_documents_of_the_command(documents, computed, tmp_path):
    run("check", "--quiet", *documents, "--html", tmp_path / "pages", "--lang", "en", status=None)
    pages = {int(path.name[:3]): sha256(path) for path in (tmp_path / "pages").glob("[0-9]*")}
    assert len(pages) > 80
    for n, (path, (_, found)) in enumerate(computed["checkPage"].items(), 1):
        assert n not in pages or found == pages[n], path


def test_the_explanations_of_the_command(documents, computed, tmp_path):
    compared = 0
    for path, (status, found) in computed["explainPage"].items():
        if status == 0:
            run("explain", path, "--html", tmp_path / "a.html", "--lang", "ja")
            assert found == sha256(tmp_path / "a.html"), path
            compared += 1
    assert compared > 70


# ---- The page ----

def test_a_pasted_document(page):
    view = page()
    report = paste(view, SLIP.read_text())
    assert report.startswith("document.md: wrong") and view.get_attribute("#report", "data-status") == "1"
    inner = frame(view)
    assert inner.query_selector("pre mark.wrong") and inner.is_hidden(".report") and inner.is_hidden("h1")
    inner.hover("pre mark.wrong")
    assert inner.inner_text(".working")
    report = answer(view, lambda: view.click("label[for=to-ja]"))
    assert report.startswith("document.md：誤り") and view.inner_text("h1") == "アテンションの計算例を確認する"
    view.fill("#text", "")
    view.wait_for_selector("#report", state="hidden")
    assert view.is_hidden("#marked")


def test_the_explanation_follows_edits(page):
    view = page()
    answer(view, lambda: view.select_option("#lesson", "01-first-attention.md"))
    entries = view.evaluate("history.length")
    report = answer(view, lambda: view.check("#mode-explain"))
    assert report.startswith("Example 1: A first attention")
    assert view.evaluate("history.length") == entries
    inner = frame(view)
    assert inner.is_hidden("#x-share")
    inner.click("#X-0-0")
    view.keyboard.type("5")
    view.keyboard.press("Enter")
    assert inner.inner_text("#Q-0-0") == "10"
    inner.click(".rail a[href='#output']")
    wait_until(inner, "scrollY > 0")
    assert address(view).endswith(".html")


def test_dropped_files(page):
    view = page()
    assert drop(view, "a.md", SLIP.read_bytes()).startswith("a.md: wrong") and view.input_value("#text") == SLIP.read_text()
    notebook = b'{"cells": [{"cell_type": "markdown", "source": ["Q = [[1, 2]]\\n", "K = [[3, 4]]\\n", "scores = [[11]]"]}]}'
    assert drop(view, "b.ipynb", notebook).startswith("b.ipynb: correct")
    assert drop(view, "c.txt", b"\xff\xfe").startswith("attn: c.txt:1:1: error: byte 0xFF is not UTF-8")
    assert view.is_hidden("#marked")
    assert drop(view, "d.txt", b"prose").startswith("d.txt: nothing to check")


HOSTILE = """# <script>parent.hacked = hacked = 1</script></pre></title></style></script><img src=x onerror="hacked = 1">

tokens: <img/src=x/onerror=hacked=1> </script><script>hacked=1</script> "onload="hacked=1

Q = [[1, 2], [3, 4], [5, 6]]

K = [[1, 0], [0, 1], [1, 1]]

scores = [[1, 2, 3], [3, 4, 7], [5, 6, 12]]
"""


def test_a_hostile_document_is_text(page):
    view = page()
    for mode in MODES:
        view.check(f"#mode-{mode}")
        assert "<img" in paste(view, HOSTILE) or mode == "check"
        inner = frame(view)
        for one in view, inner:
            assert one.evaluate("typeof hacked") == "undefined" and not one.query_selector("img")
        assert "onerror" in inner.inner_text("body")
        assert inner.evaluate("(() => { try { return parent.document.title } catch { return 'sandboxed' } })()") == "sandboxed"


def test_the_page_survives_a_lack_of_memory(page):
    """A document that does not fit: the worker's allocation fails."""
    view = page()
    paste(view, SLIP.read_text())
    view.evaluate("isBusy = true, worker.postMessage({bytes: {length: 2 ** 30}, name: 'large.md'})")
    view.wait_for_selector("[data-state=failed]:visible")
    assert view.is_hidden("#report") and view.is_hidden("#marked")
    assert paste(view, SLIP.read_text()).startswith("document.md: wrong")
    assert view.is_hidden("[data-state=failed]")


@pytest.mark.parametrize("width, scheme", [(360, "dark"), (1920, "light")])
def test_it_fits(page, width, scheme):
    """A phone and a large screen: nothing is wider than the page; the keyboard reaches each control in order."""
    view = page(width=width, scheme=scheme)
    paste(view, SLIP.read_text())
    frame(view)
    assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert view.evaluate("report.scrollWidth <= report.clientWidth")
    view.focus("#to-en")
    for control in "text", "open", "lesson", "clear", "mode-check", "report", "page":
        view.keyboard.press("Tab")
        wait_until(view, f"document.activeElement.id === '{control}'")  # a frame is focused later


def test_one_file(web):
    """Below 3 MB, and no address in it leads anywhere."""
    content = web.read_text()
    assert len(content.encode()) < 3_000_000
    head = content[:content.index("<script")]
    assert "src=" not in head and "href=" not in head and "unsafe-eval'" in head and " 'unsafe-eval'" not in head
    assert "script-src 'wasm-unsafe-eval' 'sha256-" in head


# ---- The page of a model ----

SCRIPTS = ["+".join(str(SOURCE / "src" / folder / f"{prefix}_{name}.js") for name in names)
           for folder, prefix, names in [("report/model_page", "model", ("data", "map", "page")), ("graphics", "page", ("language", "links", "scroll"))]]
INPUTS = ["12 May 1991", "平成三年五月十二日", "Z?<b>12</b>"]


def generated(checkpoint, text):
    """By the command on the portable kernel, with a position for the end token, as on a page."""
    return run("generate", checkpoint, text, "--max-new-tokens", 63, env={"ATTN_ISA": "scalar"}).stdout


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "<i>dates.safetensors"
    config = '{"d_model": 16, "num_heads": 2, "ffn_dim": 32, "encoder_layers": 1, "decoder_layers": 1}'
    run("train", "dates", "--steps", 60, "--batch-size", 16, "--config", config, "--threads", 1, "--quiet", "--test-examples", 1, "-o", path)
    return path


@pytest.fixture
def live(web, visit, checkpoint, tmp_path):
    """live(text): the page with the model in it."""
    def live(text="", **options):
        path = tmp_path / "live.html"
        subprocess.run([SOURCE / "web/pack.py", "model", path, web.parent / "attn-model.wasm", *SCRIPTS, "--", checkpoint, text], check=True)
        view = visit(path, **options)
        view.wait_for_selector("[data-state=ready]:visible, [data-state=done]:visible")
        return view
    return live


def attention_of(page):
    """Entropy and largest weights of each head, and the texts of the page."""
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    heads = [head for one in data["inputs"] for kind in one["kinds"] for head in kind["maps"]]
    assert len(heads) == 6  # encoder, decoder, cross; two heads each
    numbers = [number for head in heads for number in (head["entropy"], *(weight for _, _, weight in head["largest"]))]
    tokens = [(kind["queries"], kind["keys"]) for one in data["inputs"] for kind in one["kinds"]]
    return numbers, tokens, [(one["source"], [r["text"] for r in one["results"]]) for one in data["inputs"]]


def type_text(view, text):
    return answer(view, lambda: view.fill("#text", text))


def test_a_model_answers_as_the_command(live, checkpoint, tmp_path):
    """What it generates is that of the command on the portable kernel; attention differs by the last bits of libm."""
    view = live(INPUTS[0])
    view.wait_for_selector("#report:visible:not(:empty)")
    view.evaluate("worker.addEventListener('message', ({data}) => { window.kept = data.page })")
    for text in [*INPUTS[1:], INPUTS[0]]:
        report = type_text(view, text)
        page = tmp_path / "page.html"
        run("show", checkpoint, "--input", text, "--threads", 1, "--html", page, "--lang", "en", env={"ATTN_ISA": "scalar"})
        assert report + "\n" == generated(checkpoint, text)
        (numbers, *texts), (expected, *native) = attention_of(view.evaluate("kept")), attention_of(page.read_text())
        assert texts == native and numbers == pytest.approx(expected, abs=1e-5)
        page.unlink()
    inner = frame(view)
    inner.click("#kinds button:has-text('Encoder')")
    inner.wait_for_selector("#kinds [aria-selected=true]:has-text('Encoder')")  # when its weights are loaded
    assert inner.query_selector("#grid button")
    assert answer(view, lambda: view.click("label[for=to-ja]")) and view.inner_text("h1") == "学習済みモデルを試す"


def test_a_checkpoint_is_dropped_on_the_page(web, visit, checkpoint):
    view = visit(web.parent / "attn-model.html")
    view.wait_for_selector("[data-state=empty]:visible")
    assert drop(view, "x.safetensors", b"12345678").startswith("attn: x.safetensors: error: ")
    view.fill("#text", INPUTS[0])
    assert "error" in view.inner_text("#report")
    content = checkpoint.read_bytes()
    assert drop(view, "dates.safetensors", content) + "\n" == generated(checkpoint, INPUTS[0])
    assert drop(view, "cut.safetensors", content[:-1]).startswith("attn: cut.safetensors: error: ")


def test_a_model_survives_a_lack_of_memory(live):
    """After a text that does not fit the checkpoint is opened again."""
    view = live(INPUTS[0])
    view.wait_for_selector("#report:visible:not(:empty)")
    view.evaluate("answer({state: 'failed'})")  # the worker's message; a text of 200 MB takes a minute
    view.wait_for_selector("[data-state=failed]:visible")
    assert view.is_hidden("#report") and view.is_hidden("#marked")
    assert type_text(view, INPUTS[1])


def test_texts_of_a_model_are_text(live):
    view = live("<img src=x onerror='hacked = 1'>")
    view.wait_for_selector("#report:visible:not(:empty)")
    inner = frame(view)
    for one in view, inner:
        assert one.evaluate("typeof hacked") == "undefined" and not one.query_selector("img, main i")
    assert view.inner_text("#name") == "<i>dates.safetensors" and view.input_value("#text").startswith("<img")


@pytest.mark.parametrize("width, scheme", [(360, "dark"), (1920, "light")])
def test_the_page_of_a_model_fits(live, width, scheme):
    view = live(INPUTS[0], width=width, scheme=scheme)
    view.wait_for_selector("#report:visible:not(:empty)")
    frame(view)
    assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_page_of_a_model_is_one_file(live, web, tmp_path, checkpoint):
    """It has the weights, not the optimizer's state; no address in it leads anywhere."""
    live()
    content, empty = (tmp_path / "live.html").read_text(), (web.parent / "attn-model.html").read_text()
    assert len(empty.encode()) < 1_800_000 and len(content.encode()) - len(empty.encode()) < 0.5 * checkpoint.stat().st_size
    head = content[:content.index("<script")]
    assert "src=" not in head and "href=" not in head and "script-src 'wasm-unsafe-eval' 'sha256-" in head
