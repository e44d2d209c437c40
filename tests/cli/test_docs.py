"""The examples of the pages print what the pages show.

Blocks that begin with "$ attn check" or "$ attn explain" run in the root of the tree and are compared; a line
"[...]" matches any lines. ATTN_UPDATE_DOCS=1 writes the current output into the pages.
"""
import hashlib
import os
import re
import shlex
import shutil
import subprocess

import pytest
from conftest import ATTN, SOURCE

PAGES = ["README.md", "README.ja.md", "docs/tour.md"]
COMMANDS = ["learn", "caption", "check", "explain", "new", "run", "train", "generate", "show", "embed", "export", "info", "study", "bench"]
BLOCK = re.compile(r"(```console\n\$ attn ((?:check|explain) [^\n]*)\n)(.*?)(```)", re.S)


def printed(arguments):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run([ATTN, *shlex.split(arguments)], cwd=SOURCE, text=True,
                          capture_output=True, env=environment, timeout=60)
    return done.stdout + done.stderr


def pattern(shown):
    parts = [re.escape(part) for part in re.split(r"(?m)^\[\.\.\.\]\n", shown)]
    return r"(?:.*\n)*".join(parts)


@pytest.mark.parametrize("page", PAGES)
def test_the_page_shows_what_the_command_prints(page):
    path = SOURCE / page
    text = path.read_text()
    if os.environ.get("ATTN_UPDATE_DOCS"):
        text = BLOCK.sub(lambda m: m[0] if "[...]" in m[3] else
                         m[1] + printed(m[2]).rstrip("\n") + "\n" + m[4], text)
        path.write_text(text)
    blocks = BLOCK.findall(text)
    assert blocks, "no block to compare"
    for _, arguments, shown, _ in blocks:
        out = printed(arguments).rstrip("\n") + "\n"
        assert re.fullmatch(pattern(shown), out), f"attn {arguments} prints now:\n{out}"


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md", "docs/architecture.md", "docs/claims.md",
                                  "docs/course.md", "docs/semantics.md", "docs/accuracy.md", "docs/kernels.md", "docs/models.md", "docs/performance.md"])
def test_links_exist(page):
    path = SOURCE / page
    for link in re.findall(r"\]\(([^)#\s]+)\)", path.read_text()):
        assert "://" in link or (path.parent / link).exists(), link


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) - {"--help", "--version", "--output"}


def sections(page):
    """English name of each section: (hash that the page states, text). Those of the Japanese page have both in a comment."""
    text = (SOURCE / "docs/man" / page).read_text()
    found = re.findall(r'(?ms)^(?:\.\\" ([A-Z ]+): ([0-9a-f]{16})\n)?\.SH ([^\n]*)\n(.*?)(?=^\.\\" [A-Z ]+: |^\.SH |\Z)', text)
    return {english or name.strip('"'): (digest, body) for english, digest, name, body in found}


def tags(body):
    """Those of options and variables; what is in words is translated."""
    return [t for t in re.findall(r"(?m)^\.TP\n(.*)$", body) if re.search(r"\\-|[A-Z]{2}|\d", t)]


def test_the_japanese_manual_page_translates_the_english_one():
    """Section by section, of the current text: the same tags in the same order, the same examples and synopsis. After a change of attn.1,
    change attn.ja.1 and put the printed hashes into its comments."""
    english, japanese = sections("attn.1"), sections("attn.ja.1")
    assert list(english) == list(japanese)
    for name, (_, body) in english.items():
        digest, translated = japanese[name]
        assert digest == hashlib.sha256(body.encode()).hexdigest()[:16], f"attn.1 has changed: {name}: {hashlib.sha256(body.encode()).hexdigest()[:16]}"
        assert tags(body) == tags(translated) and body.count("\n.TP\n") == translated.count("\n.TP\n"), name
        assert (body == translated) if name in ("SYNOPSIS", "EXAMPLES") else re.search("[ぁ-ん一-鿿]", translated), name
        assert options(body) == options(translated), name


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("page", ["attn.1", "attn.ja.1"])
def test_manual_pages_are_formatted(page, columns):
    """Within the width. With .nh and ja.tmac, groff 1.22 repeats a line for ever."""
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    done = subprocess.run(["groff", "-mandoc", "-Tutf8", "-k", "-P-c", f"-rLL={columns}n", SOURCE / "docs/man" / page], text=True, capture_output=True, timeout=60)
    lines = [re.sub(".\\x08", "", line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and done.stderr == "" and len(lines) > 500
    assert all(sum(1 + (c > "\u2e7f") for c in line) <= columns or line.startswith("       attn ") for line in lines)


def test_the_manual_page_has_exactly_the_options_of_the_commands():
    page = (SOURCE / "docs/man/attn.1").read_text().replace("\\-", "-")
    helps = [printed(f"{command} --help") for command in COMMANDS]
    assert options(page) == set().union(*map(options, helps))
