"""The examples of the pages print what the pages show.

Blocks that begin with "$ attn check" or "$ attn explain" run in the root of the tree and are compared; a line
"[...]" matches any lines. ATTN_UPDATE_DOCS=1 writes the current output into the pages.
"""
import os
import re
import shlex
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


def test_the_manual_page_has_exactly_the_options_of_the_commands():
    page = (SOURCE / "docs/man/attn.1").read_text().replace("\\-", "-")
    helps = [printed(f"{command} --help") for command in COMMANDS]
    assert options(page) == set().union(*map(options, helps))
