"""Plain words (docs/style.md): words and phrases that are nearly always wrong in comments, strings and pages.

Each pattern comes with what to write instead. A hit is mended, not exempted, unless the text is data.
"""
import os
import re
import tokenize
from pathlib import Path

import pytest

SOURCE = Path(os.environ["ATTN_SOURCE"])

FOLDERS = ["src", "cli", "include", "python", "docs", "tests", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
EXEMPT = ["src/lesson", "tests/lesson",   # being redesigned
          "docs/style.md", "tests/house/test_style.py"]  # they list the words
# Files whose string literals are data (vocabulary, sentences of a data set), not text of ours.
DATA_STRINGS = ["src/train/tasks/task_questions.c", "tests/python/test_embed.py", "tests/io/tokenizers.h", "tests/python/test_huggingface.py"]

PATTERNS = {
    r"\bsays?\b|\bsaid\b": "specifies, states, reports; tokens are generated",
    r"(?<!Attend and )\btells?\b|\btold\b": "reports, shows, notifies, distinguishes",
    r"\bspeaks?\b|\bspoken\b|\bhears?\b|\b(un)?heard\b|\blistens?\b": "reads, accepts, ignores",
    r"\bstands?\b(?!-)|\bstood\b": "is, is stored, represents, is unchanged",
    r"\blives\b|\blived\b": "is valid for the lifetime of",
    r"\bmeets\b": "overlaps, is combined with",
    r"\bbehind\b": "after, following, in front of",
    r"\bbeside\b": "next to, with, in addition to",
    r"(?<!\bonce )\bupon\b": "on",
    r"\basks?\b|\basked\b": "requests, calls, requires",
    r"\bwish(es|ed)?\b": "request, option",
    r"\bnone of\b": "no, outside",
    r"(?<!\bthere )\b(is|are|was|were) no (?!(longer|more|less|fewer|better|worse|larger|smaller|greater|later|wider|higher|lower|slower|faster)\b)": "is not a",
    r"\bno way of\b": "unknown",
    r"\bwhere there (is|are|was|were) (no|none)\b": "if absent, if out of memory, without",
    r"\b(is|are|was|were) to be\b": "must be",
    r"\b(go|goes|going|went|gone) on\b": "continues, resumes",
    r"\bnothing at all\b": "nothing",
    r"\bnobody\b|\bsomebody\b|\banybody\b": "unused, another process, no caller",
    r"\bwhom\b|\b(by|for|of|to|matter|and) who\b|\bwho (adds|asks|writes|reads|wants|calls|sees|looks)\b": "the caller; which tokens attend to which",
    r"\bthe house\b|\brooms?\b|\bthe doors?\b": "the project; module, capacity; the public function",
    r"\banew\b": "again, from scratch",
    r"\bbut for\b": "except",
    r"\ball the same\b": "anyway, still, identical",
    r"\bhand(s|ed|ing)?\b (out|over|to|back|on|it|them)\b": "passes, returns, dispatches",
    r"\brobbed\b|\bborn\b|\bhonest(ly)?\b": "lost; created; ordinary, correctly rounded",
    r"(?:[.;:] |\* |^)[Nn]or\b": "and ... not",
    r"\b(whence|thereof|herein|therein|wherein|hitherto|whilst|amongst|unto)\b": "plain English",
}
PLAIN = re.compile("|".join(f"(?:{p})" for p in PATTERNS), re.I)


def c_text(source):
    """Comments and string literals of C, with their offsets and whether each is a string."""
    for m in re.finditer(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', source, re.S):
        if m[0][0] != "'":
            yield m.start(), m[0], m[0][0] == '"'


def python_text(source, path):
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    kinds = {tokenize.COMMENT: False, tokenize.STRING: True, getattr(tokenize, "FSTRING_MIDDLE", -1): True}
    with open(path, "rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type in kinds:
                yield starts[token.start[0] - 1] + token.start[1], token.string, kinds[token.type]


def page_text(source):
    """Prose of a page, without code blocks and code spans: those are names and printed output."""
    blank = lambda m: re.sub(r"[^\n]", " ", m[0])
    yield 0, re.sub(r"`[^`\n]*`", blank, re.sub(r"(?ms)^ {0,3}```.*?^ {0,3}```", blank, source)), False


def hits(path):
    source = path.read_text()
    if path.suffix == ".py":
        texts = python_text(source, path)
    elif path.suffix in {".md", ".txt", ".html"}:
        texts = page_text(source)
    else:
        texts = c_text(source)
    data = str(path.relative_to(SOURCE)) in DATA_STRINGS if path.is_relative_to(SOURCE) else False
    for offset, text, is_string in texts:
        if data and is_string:
            continue
        # One line: a phrase may be broken across lines. Newlines and comment margins become spaces, one for one.
        text = re.sub(r"\n[ \t]*(?:\*(?!/)|#|//)?", lambda m: " " * len(m[0]), text)
        text = re.sub(r" {2,}", lambda m: " " + "\x00" * (len(m[0]) - 1), text)
        squeezed = text.replace("\x00", "")
        for m in PLAIN.finditer(squeezed):
            seen = -1
            for position, character in enumerate(text):
                seen += character != "\x00"
                if seen == m.start():
                    break
            number = source.count("\n", 0, offset + position) + 1
            yield f"{path.relative_to(SOURCE) if path.is_relative_to(SOURCE) else path}:{number}: {m[0].strip()!r}"


def scanned(folder):
    root = SOURCE / folder
    paths = [root] if root.is_file() else sorted(root.rglob("*"))
    for path in paths:
        name = str(path.relative_to(SOURCE))
        is_text = path.suffix in {".c", ".h", ".inc", ".py", ".md", ".html"} or (path.suffix == ".txt" and name.startswith("cli/"))
        if is_text and not any(name == e or name.startswith(e + "/") for e in EXEMPT):
            yield path


@pytest.mark.parametrize("folder", FOLDERS)
def test_plain_words(folder):
    found = [hit for path in scanned(folder) for hit in hits(path)]
    assert found == [], f"{len(found)} hits; tests/house/test_style.py lists what to write instead\n" + "\n".join(found)


@pytest.mark.parametrize("name, text, expected", [
    ("a.c", '/* What is told, and\n * to whom. */\nint said; // none\n * of them', ["a.c:1: 'told'", "a.c:2: 'whom'"]),
    ("a.c", '/* nothing is none\n   of it */ char *s = "token 9 is no word", c = \'"\';', ["a.c:1: 'none of'", "a.c:2: 'is no'"]),
    ("a.py", 'said = 1  # goes on\n"""there is no file, it is no longer here"""\n', ["a.py:1: 'goes on'"]),
    ("a.md", "A page\nbehind the `behind` page.\n```\ntold\n```\nit is\n  no list\n", ["a.md:2: 'behind'", "a.md:6: 'is no'"]),
    ("a.c", "/* a plain comment: there is no memory; the value is stored after it */", []),
])
def test_the_scan_finds_each_kind_of_text(tmp_path, name, text, expected):
    path = tmp_path / name
    path.write_text(text)
    assert [h.replace(str(tmp_path) + "/", "") for h in hits(path)] == expected


def test_bf16_is_not_called_half():
    """half is float16 everywhere else. Strings and comments may have it: `sinusoidal_halves`, half of a row."""
    found = []
    for folder in ("src/nn", "src/model", "src/train"):
        for path in scanned(folder):
            if path.suffix == ".md":
                continue
            code = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', lambda m: re.sub(r"[^\n]", " ", m[0]), path.read_text(), flags=re.S)
            for m in re.finditer(r"\b\w*(?:half|halves|HALF|HALVES)\b", code):
                if m[0] != "ATTN_POSITIONS_SINUSOIDAL_HALVES":
                    found.append(f"{path.relative_to(SOURCE)}:{code.count(chr(10), 0, m.start()) + 1}: {m[0]}")
    assert found == [], "\n" + "\n".join(found)


def anchors(page):
    """GitHub's anchors of a page's headings."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text())
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in re.findall(r"(?m)^#+ (.*)$", text)}


@pytest.mark.parametrize("page", sorted(str(p.relative_to(SOURCE)) for p in [*SOURCE.glob("*.md"), *SOURCE.glob("docs/*.md")]))
def test_links_of_a_page_exist(page):
    path = SOURCE / page
    for link in re.findall(r"\]\(([^)\s]+)\)", next(page_text(path.read_text()))[1]):
        file, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = path.parent / file if file else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


PLACEHOLDERS = {"attn_noun", "attn_noun_verb", "attn_task_NAME", "task_NAME.c", "cmd_x.c", "test_x.py"}


@pytest.fixture(scope="module")
def tree():
    """Base names of the tree's files, and all identifiers in its code."""
    paths = [p for folder in ("src", "cli", "include", "tests", "python", "tools", "bench", "fuzz", "examples", "cmake", "web")
             for p in (SOURCE / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    return {p.name for p in paths}, set(re.findall(r"\w+", "\n".join(p.read_text(errors="replace") for p in paths)))


@pytest.mark.parametrize("page", sorted(str(p.relative_to(SOURCE)) for p in [*SOURCE.glob("*.md"), *SOURCE.glob("docs/*.md")] if p.name != "CHANGELOG.md"))
def test_a_page_names_only_what_exists(page, tree):
    files, names = tree
    for span in set(re.findall(r"`([^`\n]+)`", (SOURCE / page).read_text())):
        mentioned = set(re.findall(r"\b(?:attn_|ATTN_|test_)\w+(?![\w.*])", span)) - PLACEHOLDERS
        assert {n for n in mentioned if n not in names and f"{n}.c" not in files} == set(), span
        mentioned = {f.split("/")[-1] for f in re.findall(r"[\w./-]+\.(?:c|h|inc|py|sh)\b", span) if "<" not in span and "*" not in span}
        assert mentioned - files - PLACEHOLDERS == set(), span
