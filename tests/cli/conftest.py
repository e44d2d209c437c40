"""Helpers that all tests of the command line share."""
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ATTN = os.environ["ATTN_BIN"]
SOURCE = Path(__file__).resolve().parents[2]
LESSONS = SOURCE / "examples" / "lessons"
SEEDS = Path(os.environ.get("ATTN_SEEDS") or SOURCE.parent / "shared" / "seeds")


def run(*arguments, status=0, **options):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", **options.pop("env", {})}
    done = subprocess.run([ATTN, *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=120,
                          **options)
    assert status is None or done.returncode == status, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


@pytest.fixture
def attn(tmp_path):
    """attn(*arguments, status=0): runs the command in tmp_path."""
    def call(*arguments, **options):
        return run(*arguments, cwd=tmp_path, **options)
    return call


def write_foreign_documents(folder, *more):
    """Writes the documents of tests/lesson/documents, by other hands, to folder/documents; runs more of its programs."""
    for source in (SOURCE / "tests/lesson/documents").glob("*.py"):
        shutil.copy(source, folder)
    for program in ("generate.py", *more):
        subprocess.run([sys.executable, program], cwd=folder, check=True, capture_output=True, timeout=120)
    return folder / "documents"


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()]


def source_text(number):
    """The path of a published text of docs/claims.md."""
    found = sorted(SEEDS.glob(f"{number}_*.txt"))
    if not found:
        pytest.skip(f"the published texts are not in {SEEDS}")
    return found[0]


def read_safetensors(path):
    """header, data"""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8:8 + size]), content[8 + size:]


def safetensors(header, data=b""):
    """The bytes of a file. header: a dictionary, or the bytes of one."""
    if isinstance(header, dict):
        header = json.dumps(header).encode()
    return len(header).to_bytes(8, "little") + header + data


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.fixture
def preload(tmp_path):
    """preload(source): the environment of a command in which C functions replace those of its libraries."""
    def build(source):
        (tmp_path / "preload.c").write_text("#define _GNU_SOURCE\n#include <dlfcn.h>\n" + source)
        subprocess.run(["cc", "-shared", "-fPIC", f"-I{SOURCE}/include", "-o", "preload.so", "preload.c", "-ldl"],
                       cwd=tmp_path, check=True)
        return {"LD_PRELOAD": str(tmp_path / "preload.so")}
    return build


def web_page(name):
    """The path of a page of `make web`, built from the tree as it is. With ATTN_NO_WEB its tests are skipped."""
    if "ATTN_NO_WEB" in os.environ:
        pytest.skip("ATTN_NO_WEB is set")
    built = subprocess.run([SOURCE / "tools/web.sh"], capture_output=True, text=True)
    if built.returncode == 3:
        pytest.skip(built.stderr.strip())
    assert built.returncode == 0, built.stdout + built.stderr
    return SOURCE / "build/web" / name


# ---- Pages in a browser: Chromium, where it is installed ----

@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    path or pytest.skip("chromium is not installed: apt-get install chromium-headless-shell")
    with api.sync_playwright() as p:
        yield p.chromium.launch(executable_path=path, args=["--no-sandbox"])


def address(view):
    """The page's address, as its script sees it: view.url follows a change of the fragment only after a while."""
    return view.evaluate("location.href")


def wait_until(view, expression, seconds=30):
    """Waits until a JavaScript expression is true. The policy of the pages forbids wait_for_function."""
    late = time.monotonic() + seconds
    while not view.evaluate(expression):
        assert time.monotonic() < late, expression
        view.wait_for_timeout(10)


@pytest.fixture
def visit(browser):
    """visit(path, width=1280, scheme="light", **context): the page; the test fails if its script writes an error or a warning, opens a dialog or loads anything.

    Pages scroll at once: a click on a control that still moves with a smooth scroll can miss it."""
    problems, contexts = [], []

    def visit(path, width=1280, scheme="light", **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
        page.on("dialog", lambda dialog: problems.append("a dialog"))
        page.on("request", lambda r: None if r.url.startswith(("file:", "blob:")) else problems.append(r.url))
        page.goto(f"file://{path}")
        return page
    yield visit
    for context in contexts:
        context.close()
    assert problems == []
