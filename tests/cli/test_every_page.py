"""Each kind of page: axe-core finds nothing, in light and dark, in both languages, on a phone and on a wide screen; sizes and times.

tools/setup.sh axe, which make setup-test runs, fetches axe-core. ATTN_ALL=1: all combinations of scheme, language and width, and times
of several visits. ATTN_SCREENSHOTS=FOLDER writes pictures of all pages to look at.
"""
import itertools
import json
import os
from pathlib import Path

import pytest

from conftest import LESSONS, SOURCE, run, web_page

AXE = Path(os.environ.get("ATTN_AXE", SOURCE / "build/axe/package/axe.min.js"))
ALL = "ATTN_ALL" in os.environ
VIEWS = tuple(itertools.product(("light", "dark"), ("en", "ja"), (1280, 360))) if ALL else (("light", "en", 1280), ("dark", "ja", 360))
RULES = """() => axe.run(document, {iframes: false, resultTypes: ['violations']}).then(result => result.violations.flatMap(
  v => v.nodes.map(node => `${v.id}: ${node.html.slice(0, 120)}: ${node.failureSummary}`)))"""


@pytest.fixture(scope="session")
def axe():
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make setup-test")
    return AXE.read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


def lesson(folder):
    run("explain", LESSONS / "01-first-attention.md", "--html", folder / "lesson.html")
    return folder / "lesson.html"


def checked(folder):
    run("check", LESSONS / "published-slip.md", "--html", folder / "check.html", status=1)
    return folder / "check.html"


def index(folder):
    """Of documents that are correct, wrong and unreadable."""
    hand_ins = folder / "hand-ins"
    hand_ins.mkdir()
    for name in ("01-first-attention.md", "published-slip.md"):
        (hand_ins / name).write_text((LESSONS / name).read_text())
    (hand_ins / "ragged.md").write_text("Q = [[1, 2], [3]]\n")
    run("check", hand_ins, "--html", folder / "index", "--quiet", status=2)
    return folder / "index/index.html"


def model(folder):
    small = {"d_model": 16, "num_heads": 2, "ffn_dim": 32, "encoder_layers": 2, "decoder_layers": 2}
    run("train", "dates", "--steps", 2, "--quiet", "--test-examples", 0, "--max-validation-examples", 1, "-o", folder / "dates.safetensors",
        "--config", json.dumps(small))
    run("show", folder / "dates.safetensors", "--input", "12 May 1991", "--input", "2005年3月4日", "--num-beams", 2, "--html",
        folder / "model.html")
    return folder / "model.html"


def course(folder, name):
    if not (folder / "course").exists():
        run("learn", "--html", folder / "course")
    return folder / "course" / name


def open_model(view):
    view.set_input_files("#file", {"name": "<x>.safetensors", "mimeType": "", "buffer": b"12345678"})
    view.wait_for_selector("#report:visible:not(:empty)")


# ---- What a reader does first: all parts of a page are visible ----

def select_cell(view):
    view.click("#weights-1-0")
    assert view.is_visible(".working")


def point_at_number(view):
    view.hover("mark.wrong")
    view.click("summary")


def select_query(view):
    view.wait_for_selector("#rows button")
    view.click("#rows button >> nth=1")


def check_a_lesson(view):
    view.wait_for_selector("[data-state=ready]:visible, [data-state=done]:visible")
    view.select_option("#lesson", "published-slip.md")
    view.wait_for_selector("#report:visible:not(:empty)")


# How a page is made, what is done on it, and the most kilobytes that it may have.
PAGES = {
    "lesson": (lesson, select_cell, 150),
    "check": (checked, point_at_number, 50),
    "index": (index, None, 20),
    "model": (model, select_query, 150),
    "contents": (lambda folder: course(folder, "index.html"), None, 20),
    "chapter": (lambda folder: course(folder, "qkv.html"), select_cell, 150),
    "text": (lambda folder: course(folder, "dates.ja.html"), None, 20),
    "checker": (lambda folder: web_page("attn-check.html"), check_a_lesson, 2500),
    "live model": (lambda folder: web_page("attn-model.html"), open_model, 1800),
}


def set_view(view, scheme, language, width):
    view.emulate_media(color_scheme=scheme)
    view.set_viewport_size({"width": width, "height": 800})
    if view.is_visible(f"label[for=to-{language}]"):
        view.click(f"label[for=to-{language}]")
    view.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")  # its script has seen the size


def violations(view, scheme, language, width, axe):
    set_view(view, scheme, language, width)
    if not view.evaluate("Boolean(window.axe)"):
        view.evaluate(axe)
    return [f"{scheme}, {language}, {width}: {one}" for one in view.evaluate(RULES)]


def made(folder, name):
    """The page, made once."""
    if name not in MADE:
        MADE[name] = PAGES[name][0](folder)
    return MADE[name]


MADE = {}


def measure(view, visit, path):
    """Elements, pixels of height, and milliseconds to the first view."""
    views = [view, *(visit(path) for _ in range(2 if ALL else 0))]
    views[-1].wait_for_timeout(300)
    times = [one.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") for one in views]
    elements, height = view.evaluate("[document.querySelectorAll('*').length, document.documentElement.scrollHeight]")
    return f"{elements} elements, {height} pixels, first view after {min(times):.0f} ms"


@pytest.mark.parametrize("name", PAGES)
def test_size(folder, name):
    assert made(folder, name).stat().st_size < 1000 * PAGES[name][2]


@pytest.mark.parametrize("name", PAGES)
def test_no_violation(axe, folder, visit, name):
    path, act = made(folder, name), PAGES[name][1]
    view = visit(path, bypass_csp=True)
    print(f"{name}: {path.stat().st_size} bytes, {measure(view, visit, path)}")
    if act:
        act(view)
    found = []
    for settings in VIEWS:
        found += violations(view, *settings, axe)
        if "ATTN_SCREENSHOTS" in os.environ:
            view.screenshot(path=Path(os.environ["ATTN_SCREENSHOTS"], "-".join([name, *map(str, settings)]) + ".png"))
    assert found == []


def test_axe_finds_something(axe, folder, visit):
    """A page with a mistake of each kind that was found once."""
    (folder / "bad.html").write_text("<!DOCTYPE html><title>t</title><p style='color:#ccc'>faint</p><main><h1>h</h1>"
                                     "<a href='#x' aria-label='other'>name</a><a href='#y'></a></main>")
    view = visit(folder / "bad.html", bypass_csp=True)
    found = "".join(violations(view, "light", "en", 360, axe))
    assert all(rule in found for rule in ("color-contrast", "region", "label-content-name-mismatch", "link-name", "html-has-lang"))
