"""attn show --html: the page's weights are those of attn show --json, and what its script does in Chromium, where it is installed."""
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from conftest import address, json_lines
from conftest import run as attn
from conftest import wait_until

SMALL = {"d_model": 16, "num_heads": 2, "ffn_dim": 32, "encoder_layers": 2, "decoder_layers": 2}
INPUT, OTHER = "2005年3月4日", "12 May 1991"
QUICK = ["--quiet", "--test-examples", 0, "--max-validation-examples", 1]
HOSTILE = "<script>alert(1)</script> <img/src=x/onerror=alert(1)> ]]> \u202egnp.exe\u2066 &amp; \x01 </div>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("model_page")


@pytest.fixture(scope="module")
def model(folder):
    attn("train", "dates", "--steps", 20, "--seed", 3, *QUICK, "-o", folder / "dates.safetensors", "--config", json.dumps(SMALL))
    return folder / "dates.safetensors"


@pytest.fixture(scope="module")
def page(model, folder):
    attn("show", model, "--input", INPUT, "--input", OTHER, "--num-beams", 4, "--max-new-tokens", 12, "--html", folder / "dates.html")
    return folder / "dates.html"


@pytest.fixture
def view(visit):
    """view(path, ...): the page of visit after its first view."""
    def view(path, *arguments, **options):
        page = visit(path, *arguments, **options)
        page.set_default_timeout(8000)
        wait_until(page, "performance.getEntriesByName('first-view').length")
        return page
    return view


# ---- What a person sees ----

def shown(view, selector):
    return view.locator(selector).inner_text()


def choose(view, kind, layer, head):
    """By the tab and the thumbnail, under the visible names of its row and column."""
    if kind:
        view.click(f"#kinds button:has-text('{kind}')")
        view.locator("#kinds [aria-selected=true]", has_text=kind).wait_for()
    row, column = view.evaluate("""([layer, head]) => [
        [...document.querySelectorAll('#grid tbody tr')].findIndex(tr => tr.cells[0].innerText === layer),
        [...document.querySelectorAll('#grid thead th')].find(th => th.innerText === head).cellIndex
    ]""", [layer, str(head)])
    thumbnail = f"#grid tbody tr:nth-child({row + 1}) > :nth-child({column + 1}) > button"
    view.click(thumbnail)
    view.wait_for_selector(f"{thumbnail}[aria-pressed=true]")  # when its weights are loaded


def title(view):
    return shown(view, "#title")


def table(view):
    """The text alternative: token names and weights; NaN where a query does not see the key."""
    view.click("label[for=view-table]")
    cells = view.evaluate("[...document.querySelectorAll('#table tr')].map(tr => [...tr.cells].map(cell => cell.textContent))")
    weights = [[float("nan") if text == "–" else float(text) for text in row[1:]] for row in cells[1:]]
    return [row[0] for row in cells[1:]], cells[0][1:], np.array(weights)


def test_the_page_shows_the_choice_before_until_the_weights_are_loaded(view, page):
    """What is drawn meanwhile finds its weights; of several choices the last one is shown."""
    shown_before, shown_after = view(page).evaluate("""async () => {
        chooseQuery(0, null)
        const before = [state.layer, state.head]
        drawing++, kind().levels = undefined  // and no thumbnail is drawn any more
        select({layer: 1, head: 1}), announce(), drawView()
        const last = select({head: 2}), meanwhile = [state.layer, state.head]
        announce(), drawView()
        await last
        return [String(before) === String(meanwhile), [state.layer, state.head, state.query]]
    }""")
    assert shown_before and shown_after == [1, 2, 0]


def stated(view):
    return float(re.search(r"at most (\S+)\. ", shown(view, "#accuracy"))[1])


def heads_of(model, kind, *words):
    """{(layer, head): weights} and the tokens."""
    heads = json_lines(attn("show", model, *words, "--kind", kind, "--all", "--json").stdout)[1:]
    number = lambda text: int(text.split()[-1])
    return ({(number(h["attention"]), number(h["title"])): np.array(h["weights"]) for h in heads},
            [[t.replace("\x01", "\ufffd") for t in heads[0][f"{side}_tokens"]] for side in ("query", "key")])


def generated(model):
    """The hypotheses on the page."""
    return json.loads(attn("generate", model, INPUT, "--num-beams", 4, "--num-return-sequences", 4, "--max-new-tokens", 12,
                           "--json").stdout)["results"]


# ---- The weights ----

@pytest.mark.parametrize("kind, tab", [("encoder", "Encoder"), ("decoder", "Decoder"), ("cross", "Cross-attention")])
def test_weights_and_what_combines_them(model, page, view, kind, tab):
    """Every head, the mean, the maximum and the rollout, to the accuracy that the page states."""
    best = generated(model)[0]["text"]
    heads, tokens = heads_of(model, kind, "--input", INPUT, "--target", best)
    one = view(page)
    error = stated(one) * (1 + 1e-9)
    assert error < 1e-4

    def same(layer, head, expected):
        choose(one, tab, layer, head)
        rows, columns, weights = table(one)
        assert [rows, columns] == tokens
        hidden = np.triu(np.ones_like(weights, bool), 1) if kind == "decoder" else np.zeros_like(weights, bool)
        assert (np.isnan(weights) == hidden).all() and (expected[hidden] == 0).all()
        assert np.abs(weights - expected)[~hidden].max() <= error, (layer, head)
    for (layer, head), weights in heads.items():
        same(f"layer {layer}", head, weights)
    roll = np.eye(len(tokens[1])) if kind != "cross" else None
    for layer in (1, 2):
        of_layer = np.array([w for (n, _), w in heads.items() if n == layer])
        same(f"layer {layer}", "mean", of_layer.mean(0))
        same(f"layer {layer}", "max", of_layer.max(0))
        if roll is not None:
            roll = (of_layer.mean(0) + np.eye(len(roll))) / 2 @ roll
            same(f"layer {layer}", "rollout", roll)
    same("all", "mean", np.array(list(heads.values())).mean(0))
    same("all", "max", np.array(list(heads.values())).max(0))
    assert (one.locator("#grid th", has_text="rollout").count() == 0) == (kind == "cross")


def test_the_first_view_is_the_mean(model, page, view):
    """It is drawn from an element of its own, before the other weights are parsed."""
    best = generated(model)[0]["text"]
    heads, _ = heads_of(model, "cross", "--input", INPUT, "--target", best)
    one = view(page)
    assert title(one) == "Mean of all layers and heads"
    assert np.abs(table(one)[2] - np.array(list(heads.values())).mean(0)).max() <= stated(one)


def test_measures_of_a_head(model, page, view):
    best = generated(model)[0]["text"]
    heads, (queries, keys) = heads_of(model, "cross", "--input", INPUT, "--target", best)
    one = view(page)
    choose(one, "Cross", "layer 2", 1)
    w = heads[2, 1]
    entropy = -(w * np.log(np.where(w > 0, w, 1))).sum(1).mean()
    assert f"{entropy:.2f} nats of at most {np.log(len(keys)):.2f}" in shown(one, "#detail")
    largest = [np.unravel_index(n, w.shape) for n in np.argsort(-w, axis=None)[:3]]
    texts = one.locator("#detail li").all_inner_texts()
    assert [text.split("\n") for text in texts] == [[f"{queries[i]} → {keys[j]}", f"{w[i, j]:.4f}"] for i, j in largest]
    one.locator("#detail li button").first.click()
    assert f"= {w.max():.4f}" in shown(one, "#detail .cell")


def test_a_query_lists_its_weights_in_order(model, page, view):
    one = view(page)
    choose(one, "Encoder", "layer 1", 2)
    heads, (queries, keys) = heads_of(model, "encoder", "--input", INPUT)
    row = heads[1, 2][3]
    one.hover("#rows button:nth-child(4)")
    lines = [text.split("\n") for text in one.locator("#detail li").all_inner_texts()]
    order = np.argsort(-row, kind="stable")
    assert [line[0] for line in lines] == [f"{keys[j]}{j + 1}" for j in order]
    assert [float(line[-1]) for line in lines] == pytest.approx(row[order], abs=stated(one))
    one.hover("h1")
    assert one.locator("#detail .bar").count() == 0
    box = one.locator("#cells").bounding_box()
    one.mouse.click(box["x"] + box["width"] * 5.5 / len(keys), box["y"] + box["height"] * 3.5 / len(queries))
    cell = re.search(r"(\S+) → (\S+) = (\S+)", shown(one, "#detail .cell"))
    assert cell.groups()[:2] == (queries[3], keys[5]) and float(cell[3]) == pytest.approx(row[5], abs=stated(one))


def test_lines_are_those_above_the_threshold(page, view):
    one = view(page)
    choose(one, "Encoder", "layer 1", 2)
    weights = table(one)[2]
    one.click("label[for=view-lines]")
    blank = one.evaluate("document.createElement('canvas').toDataURL()")
    for share in (0, 40, 90):
        one.evaluate(f"the('threshold').value = {share}; the('threshold').dispatchEvent(new Event('input'))")
        least = float(shown(one, "#threshold-value"))
        assert least == pytest.approx(weights.max() * share / 100, abs=2e-4)
        count = one.evaluate("joinsOf(kind(), current()).length")
        assert ((weights > 0) & (weights >= least + 2e-4)).sum() <= count <= (weights >= least - 2e-4).sum()
    one.click("#left button:nth-child(2)")
    assert one.evaluate("joinsOf(kind(), current()).map(join => join[0])") == [1] * (weights[1] > 0).sum(), "all of the selected query"
    assert one.evaluate("the('joins').toDataURL()") != blank


# ---- Keyboard, touch, links, languages ----

def test_keyboard(page, view):
    one = view(page)
    one.focus("#kinds button[aria-selected=true]")
    one.keyboard.press("ArrowLeft")
    one.locator("#kinds [aria-selected=true]:focus", has_text="Decoder").wait_for()
    choose(one, None, "layer 1", 1)
    assert title(one) == "Layer 1, head 1"
    for key, expected in [("ArrowRight", "Layer 1, head 2"), ("ArrowDown", "Layer 2, head 2"), ("ArrowRight", "Layer 2, mean of its heads"),
                          ("ArrowDown", "Mean of all layers and heads"), ("ArrowLeft", "Mean of all layers and heads"),
                          ("ArrowRight", "Largest weight over all layers and heads"), ("ArrowUp", "Layer 2, largest weight over its heads"),
                          ("ArrowRight", "Attention rollout, layers 1 to 2"), ("ArrowRight", "Attention rollout, layers 1 to 2")]:
        one.keyboard.press(key)
        assert title(one) == expected, key
        assert one.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true" and expected in shown(one, "#status")
    one.focus("#rows button[tabindex='0']")
    assert one.locator("#detail .bar").count() > 0, "the focused query"
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowRight", "ArrowRight"):
        one.keyboard.press(key)
    queries, keys, _ = table(one)
    assert one.evaluate("[state.query, state.key]") == [1, 1]
    assert f"{queries[1]} → {keys[1]}" in shown(one, "#detail .cell") and keys[1] in shown(one, "#status")
    one.click("label[for=view-map]")
    one.focus("#rows button[tabindex='0']")
    one.keyboard.press("Escape")
    assert one.locator("#detail .bar").count() == 0


def test_touch(page, view):
    one = view(page, 360, "dark", has_touch=True)
    choose(one, "Encoder", "layer 1", 1)
    one.locator("#cells").scroll_into_view_if_needed()
    box = one.locator("#cells").bounding_box()
    one.touchscreen.tap(box["x"] + 5, box["y"] + 5)
    assert one.evaluate("[state.query, state.key]") == [0, 0] and one.locator("#detail .bar").count() > 0


def test_links(page, view):
    one = view(f"{page}#2-encoder-2-1-3")
    assert title(one) == "Layer 2, head 1" and shown(one, "#source") == OTHER and one.evaluate("state.query") == 2
    choose(one, "Decoder", "layer 1", 2)
    assert address(one).endswith("#2-decoder-1-2")
    for wrong in ("9-encoder-1-1", "1-encoder-9-1", "1-encoder-1-mode", "%3Cscript%3E"):
        one.evaluate(f"location.hash = '{wrong}'")
        assert title(one) in ("Layer 1, head 2", "Mean of all layers and heads")
    assert title(view(f"{page}#1-encoder-9-1")) == "Mean of all layers and heads"


@pytest.mark.parametrize("language, other", [("en", "ja"), ("ja", "en")])
def test_both_languages(page, view, language, other):
    """No text of the other language is visible, whatever is open; names of controls follow."""
    one = view(page)
    one.click(f"label[for=to-{language}]")
    one.click("#grid button >> nth=1")
    one.click("#rows button:nth-child(2)")
    for name in ("lines", "table", "map"):
        one.click(f"label[for=view-{name}]")
        assert one.evaluate(f"[...document.querySelectorAll('main [lang={other}]')].filter(e => e.offsetParent).length") == 0
        assert one.evaluate(f"[...document.querySelectorAll('main [lang={language}]')].filter(e => e.offsetParent).length") > 20
        texts = one.evaluate("[...document.querySelectorAll('main [lang=en]')].map(e => e.textContent)")
        assert not [text for text in texts if re.search("[ぁ-ヿ一-龥]", text)]
    assert one.get_attribute("html", "lang") == language
    label = one.get_attribute("#grid button >> nth=1", "aria-label")
    assert ("エントロピー" in label) == (language == "ja") and ("entropy" in label) == (language == "en")


def test_everything_has_a_name(page, view):
    """Controls have labels, the table has scopes, one thumbnail, tab and query can be reached by Tab."""
    one = view(page)
    assert one.evaluate("[...document.querySelectorAll('main button')].filter(b => !b.textContent.trim() && !b.ariaLabel).length") == 0
    assert one.evaluate("[...document.querySelectorAll('main input, main select')].filter(i => !i.labels.length).length") == 0
    for place in ("#grid button", "#kinds button", "#rows button"):
        assert one.locator(f"{place}[tabindex='0']").count() == 1
    table(one)
    assert one.locator("#table th[scope=col]").count() > 5 and one.locator("#table th[scope=row]").count() > 5


# ---- Texts and results ----

def test_several_texts(model, folder, view):
    (folder / "texts.txt").write_text(f"{OTHER}\r\n\n3月\n")
    attn("show", model, "--input", INPUT, "--input-file", folder / "texts.txt", "--html", folder / "texts.html")
    one = view(folder / "texts.html")
    assert one.locator("#input option").all_inner_texts() == [INPUT, OTHER, "3月"]
    one.select_option("#input", "2")
    one.locator("#source", has_text="3月").wait_for()
    heads, tokens = heads_of(model, "cross", "--input", "3月")
    choose(one, "Cross", "layer 1", 1)
    rows, columns, weights = table(one)
    assert [rows, columns] == tokens and np.abs(weights - heads[1, 1]).max() <= stated(one)


def test_hypotheses_of_the_beam_search(model, page, view):
    results = generated(model)
    one = view(page)
    assert shown(one, "#output") == results[0]["text"]
    one.click("#results summary")
    rows = [text.split("\t") for text in one.locator("#results tbody tr").all_inner_texts()]
    assert [row[1].removesuffix(" …").strip() for row in rows] == [r["text"].strip() for r in results]
    assert [float(row[2]) for row in rows] == pytest.approx([r["score"] for r in results], abs=1e-4)


def test_the_given_head_is_first(model, folder, view):
    attn("show", model, "--input", INPUT, "--kind", "encoder", "--layer", 2, "--head", 1, "--lang", "ja", "--html", folder / "head.html")
    one = view(folder / "head.html")
    assert title(one) == "第2層 ヘッド1"
    heads, _ = heads_of(model, "encoder", "--input", INPUT)
    one.click("label[for=to-en]")
    assert np.abs(table(one)[2] - heads[2, 1]).max() <= stated(one)


@pytest.mark.parametrize("kind", ["GPT-2", "Marian", "encoder"])
def test_other_models(folder, view, kind):
    """Hugging Face folders, a decoder, and an encoder with labels."""
    (folder / "pairs.tsv").write_text("".join(f"a b {n}\tb a {n}\n" for n in range(20)))
    config = {"GPT-2": {"kind": "decoder", "positions": "learned", "scale_embedding": False, "output_bias": False}, "encoder": {"kind": "encoder"},
              "Marian": {"norm_first": False, "final_norm": False, "positions": "sinusoidal_halves", "tie_word_embeddings": True, "output_bias": True}}
    path, to = folder / f"{kind}.safetensors", folder / f"{kind}.html"
    attn("train", "--data", folder / "pairs.tsv", "--steps", 2, *QUICK, "-o", path, "--config", json.dumps(SMALL | config[kind]))
    if kind != "encoder":
        attn("export", path, "-o", folder / kind)
        path = folder / kind
    attn("show", path, "--input", "a b 3", *["--num-beams", 2, "--max-new-tokens", 6] * (kind != "encoder"), "--html", to)
    one = view(to)
    assert one.locator("#kinds button").count() == {"Marian": 3}.get(kind, 1)
    assert one.locator("#grid button").count() == {"Marian": 2 * 4 + 2}.get(kind, 2 * 5 + 2)
    _, _, weights = table(one)
    assert np.nansum(weights, 1) == pytest.approx(1, abs=1e-3)
    if kind == "GPT-2":
        assert len(weights) > len("a b 3"), "the continuation is read too"


# ---- Hostile text, narrow screens, large models ----

def test_hostile_tokens_are_inert(folder, view):
    (folder / "hostile.tsv").write_text("".join(f"{HOSTILE} w{n}\tx\n" for n in range(8)))
    path = folder / "<b>hostile'\u202e.safetensors"
    attn("train", "--data", folder / "hostile.tsv", "--tokenizer", "words", "--steps", 1, *QUICK, "-o", path,
         "--config", json.dumps(SMALL | {"kind": "encoder"}))
    attn("show", path, "--input", HOSTILE, "--html", folder / "hostile.html")
    one = view(folder / "hostile.html")
    tokens = table(one)[0]
    assert "<script>alert(1)</script>" in tokens and "<img/src=x/onerror=alert(1)>" in tokens and "&amp;" in tokens
    assert not re.search("[\x00-\x08\u200e\u200f\u202a-\u202e\u2066-\u2069]", one.evaluate("document.documentElement.textContent"))
    for kind in ("lines", "map"):
        one.click(f"label[for=view-{kind}]")
    one.click("#rows button:nth-child(2)")
    assert one.evaluate("document.querySelectorAll('img, main script:not([type]) ~ script:not([type])').length") == 0
    assert one.evaluate("document.querySelectorAll('b').length") == 0
    one.locator("#rows button").first.wait_for()


def test_the_page_is_a_static_file(page):
    """Well-formed XML, no address but namespaces, a policy that forbids requests."""
    text = page.read_text()
    root = ET.fromstring(text.replace("<!DOCTYPE html>", ""))
    assert "://" not in re.sub(r"http://www.w3.org/\S+", "", text)
    policy, = [m.get("content") for m in root.iter("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy and not [e for e in root.iter() if e.get("src") or e.get("href")]


@pytest.mark.parametrize("width", [360, 800, 1920])
def test_nothing_overflows(page, view, width):
    one = view(page, width, "dark" if width == 800 else "light")
    one.click("#rows button:nth-child(3)")
    for name in ("lines", "table", "map"):
        one.click(f"label[for=view-{name}]")
        assert one.evaluate("document.documentElement.scrollWidth <= innerWidth"), name


@pytest.fixture(scope="module")
def large(folder):
    """An untrained encoder of 12 layers x 12 heads, and 200 tokens."""
    words = [f"w{n}" for n in range(40)]
    (folder / "large.tsv").write_text("".join(" ".join(words[n % 37:n % 37 + 3]) + "\tw1\n" for n in range(200)))
    attn("train", "--data", folder / "large.tsv", "--tokenizer", "words", "--steps", 1, "--batch-size", 2, *QUICK, "-o", folder / "large.safetensors",
         "--config", json.dumps({"kind": "encoder", "d_model": 96, "num_heads": 12, "ffn_dim": 96, "encoder_layers": 12, "max_positions": 256}))
    rng = np.random.default_rng(0)
    return folder / "large.safetensors", " ".join(words[n] for n in rng.integers(0, 36, 199))


def test_a_large_model(large, folder, view):
    """200 tokens x 12 layers x 12 heads: below 2 MB, with the stated accuracy; labels stay in view and readable. Weights that are harder
    to compress: tests/report/test_model_page.c."""
    path, text = large
    to = folder / "large.html"
    attn("show", path, "--input", text, "--html", to)
    assert to.stat().st_size < 2_000_000
    one = view(to)
    first = one.evaluate("performance.getEntriesByName('first-view')[0].startTime")
    print(f"{to.stat().st_size} bytes, first view after {first:.0f} ms, steps of 1/{one.evaluate('input().levels')}")
    choose(one, None, "layer 7", 5)
    expected, = json_lines(attn("show", path, "--input", text, "--layer", 7, "--head", 5, "--json").stdout)
    shape = (200, 200)
    page_weights = np.array(one.evaluate("[...current()].map(level => level / input().levels)")).reshape(shape)
    assert np.abs(page_weights - expected["weights"]).max() <= stated(one)
    one.evaluate("document.querySelector('#map').scrollTo(900, 900)")
    at = one.evaluate("""[...document.querySelectorAll('#map, #rows, #columns, #rows button:nth-child(70), #columns span:nth-child(70)')]
        .map(e => [e.id, e.getBoundingClientRect().x, e.getBoundingClientRect().y, parseFloat(getComputedStyle(e).fontSize)])""")
    place = {name: (x, y) for name, x, y, _ in at if name}
    assert abs(place["rows"][0] - place["map"][0]) < 1 and abs(place["columns"][1] - place["map"][1]) < 1, "frozen"
    assert all(size >= 11 for name, _, _, size in at if not name)
    one.click("#fit")
    assert one.evaluate("the('map').scrollWidth <= the('map').clientWidth + 1"), "all columns"


# ---- What a model is, and pictures ----

def test_a_model_alone(model):
    """The same facts as attn info, and commands that work."""
    text = attn("show", model).stdout
    assert text == attn("info", model).stdout and "layers      2 encoder, 2 decoder; 2 heads" in text
    import shlex
    commands = [shlex.split(line[12:]) for line in text.splitlines() if line[12:17] == "attn "]
    assert [words[1] for words in commands] == ["generate", "show", "explain"]
    for words in commands:
        attn(*words[1:], cwd=model.parent)


@pytest.mark.parametrize("words, message", [
    (["--input", "x", "--input", "y"], "require --html"), (["--input-file", "x"], "require --html"), (["--input", "x", "--num-beams", 2], "require --html"),
    (["--input", "x", "--input", "y", "--target", "z", "--html", "a.html"], "single --input"),
    (["--input", "x", "--input", "y", "--png", "a.png", "--html", "a.html"], "--html FILE alone"),
    (["--input", "x", "--layer", 3, "--html", "a.html"], "no such kind, layer or head"),
    (["--input-file", "nofile", "--html", "a.html"], "nofile"), (["--json"], "--input")])
def test_errors(model, words, message, tmp_path):
    assert message in attn("show", model, *words, status=2, cwd=tmp_path).stderr


def test_a_png_is_a_grid(large, model, folder):
    """At most 4000 pixels wide; a label that the font lacks is a warning."""
    path, text = large
    done = attn("show", path, "--input", " ".join(text.split()[:20]), "--png", folder / "large.png")
    width = int.from_bytes((folder / "large.png").read_bytes()[16:20], "big")
    assert 2400 < width <= 4000 and "warning" not in done.stderr
    assert 'no "年"' in attn("show", model, "--input", INPUT, "--png", folder / "a.png").stderr
    assert "warning" not in attn("show", model, "--input", INPUT, "--svg", folder / "a.svg").stderr
