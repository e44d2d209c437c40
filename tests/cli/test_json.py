"""The output of --json against the schemas in docs/, for lessons, documents with errors and bad input."""
import json
import subprocess

import pytest
from conftest import ATTN, LESSONS, SOURCE, json_lines
from jsonschema import Draft202012Validator

import worked

FILES = sorted(LESSONS.iterdir())


def validator(name):
    schema = json.loads((SOURCE / "docs" / f"{name}.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def lines(*arguments):
    return json_lines(subprocess.run([ATTN, *map(str, arguments)], capture_output=True, text=True).stdout)


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """Correct, wrong, unreadable, and without numbers."""
    folder = tmp_path_factory.mktemp("documents")
    texts = [worked.Lesson(n).text() for n in range(40)]
    texts += [p[0].text() for p in (worked.planted(c, 3) for c in worked.ERRORS) if p]
    texts += ["X\n1 2\n3\n", "Nothing here.\n"]
    for n, text in enumerate(texts):
        (folder / f"{n}.md").write_text(text)
    return [*FILES, *sorted(folder.iterdir())]


@pytest.mark.parametrize("command", ["check", "explain"])
def test_every_line_follows_its_schema(command, documents):
    schema = validator(command)
    written = lines(command, "--json", *documents)
    assert len(written) >= len(documents) - 1  # explain writes none for the unreadable one
    for line in written:
        errors = [f"{e.json_path}: {e.message}" for e in schema.iter_errors(line)]
        assert not errors, (line["file"], errors[:3])


def test_every_printed_matrix_of_a_lesson_is_in_its_reading():
    line, = lines("check", "--json", LESSONS / "published-slip.md")
    blocks = [(b["line"], b["role"], b.get("relation"), b["cells"], b.get("explained")) for b in line["reading"]]
    assert blocks == sorted(blocks) and len(blocks) == 11
    assert blocks[4] == (49, "Q", "Q = X W_Q", 8, 4) and blocks[8] == (87, "scaled", "scaled = scores / √2", 16, 16)
    for b in blocks:
        assert (b[2] is None) == (b[4] is None) == (b[1] in ("X", "W_Q", "W_K", "W_V"))
    shown = subprocess.run([ATTN, "check", "--explain-reading", LESSONS / "published-slip.md"], capture_output=True, text=True,
                           env={"LC_ALL": "C.UTF-8"}).stdout
    assert "\n  line 49: Queries: Q = X W_Q (4×2): 4 of 8 values agree\n" in shown


def test_the_schemas_refuse_unknown_values():
    line, = lines("check", "--json", LESSONS / "published-slip.md")
    line["examples"][0]["first_wrong"]["cause"] = "bad_luck"
    assert list(validator("check").iter_errors(line))
    line, = lines("check", "--json", LESSONS / "published-slip.md")
    assert line["unread"] == [] and not list(validator("check").iter_errors(line))
    line["unread"] = [{"line": 1, "col": 1, "rows": 2, "cols": 2}]
    assert list(validator("check").iter_errors(line))
    line["unread"], line["reading"][0]["role"] = [], "cushion"
    assert list(validator("check").iter_errors(line))
    line, = lines("explain", "--json", FILES[0])
    line["examples"][0]["steps"][0]["op"] = "magic"
    assert list(validator("explain").iter_errors(line))
