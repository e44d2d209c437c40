"""What README and tour show is what the command prints.

Blocks that begin with "$ attn check" or "$ attn explain" are run from the top of the tree and compared; a
line "[...]" stands for any lines. ATTN_UPDATE_DOCS=1 writes what is printed now into the pages.
"""
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "README.ja.md", "docs/tour.md"]
BLOCK = re.compile(r"(```console\n\$ attn ((?:check|explain) [^\n]*)\n)(.*?)(```)", re.S)


def printed(arguments):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run([os.environ["ATTN_BIN"], *shlex.split(arguments)], cwd=SOURCE, text=True,
                          capture_output=True, env=environment, timeout=60)
    return done.stdout + done.stderr


def pattern(shown):
    parts = [re.escape(part) for part in re.split(r"(?m)^\[\.\.\.\]\n", shown)]
    return r"(?:.*\n)*".join(parts)


@pytest.mark.parametrize("page", PAGES)
def test_what_the_page_shows_is_what_the_command_prints(page):
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
                                  "docs/semantics.md", "docs/accuracy.md", "docs/kernels.md", "docs/models.md"])
def test_links_lead_somewhere(page):
    path = SOURCE / page
    for link in re.findall(r"\]\(([^)#\s]+)\)", path.read_text()):
        assert "://" in link or (path.parent / link).exists(), link


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) - {"--help", "--version", "--output"}


def test_the_manual_page_has_every_option_and_no_other():
    page = (SOURCE / "docs/man/attn.1").read_text().replace("\\-", "-")
    helps = [printed(f"{command} --help") for command in ("check", "explain", "new", "run", "info", "train", "generate", "show", "embed")]
    assert options(page) == set().union(*map(options, helps))
