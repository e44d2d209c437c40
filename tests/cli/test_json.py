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


def test_the_schemas_refuse_unknown_values():
    line, = lines("check", "--json", LESSONS / "published-slip.md")
    line["examples"][0]["first_wrong"]["cause"] = "bad_luck"
    assert list(validator("check").iter_errors(line))
    line, = lines("explain", "--json", FILES[0])
    line["examples"][0]["steps"][0]["op"] = "magic"
    assert list(validator("explain").iter_errors(line))
