"""attn learn: chapters, exercises and their hints, progress, pages."""
import functools
import json
import random
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import ATTN, SOURCE, json_lines, read_safetensors, run, safetensors

CHAPTERS = 12
SHEETS = range(1, 10)  # chapters whose exercises are tables; the others have questions
KIND = {1: "question", 2: "question", 3: "question", 4: "self", 5: "scaling", 6: "causal", 7: "heads", 8: "positions", 9: "cross"}
SECOND = {1: ("question", 2), 2: ("self", 2), 3: ("self", 2), 4: ("self", 2), 5: ("scaling", 2), 6: ("causal", 2), 7: ("heads", 2), 8: ("positions", 2),
          9: ("columns", 1)}
CELL = re.compile(r"(?<=\|) *…(?= \|)")


@pytest.fixture
def learn(attn, tmp_path):
    """learn(*arguments): attn learn with its own progress."""
    def call(*arguments, **options):
        return attn("learn", "--progress", "progress.tsv", *arguments, **options)
    return call


@functools.cache
def exercises(chapter, seed, lang):
    """The texts of both exercises of a chapter."""
    with tempfile.TemporaryDirectory() as to:
        run("learn", chapter, "--seed", seed, "--lang", lang, "-o", to)
        return [Path(to, f"{chapter}-{n}.md").read_text() for n in (1, 2)]


def kind_and_level(chapter, n):
    return (KIND[chapter], 1) if n == 1 else SECOND[chapter]


def solved(chapter, n, seed, lang):
    """The exercise filled in with the numbers of attn new."""
    text = exercises(chapter, seed, lang)[n - 1]
    kind, level = kind_and_level(chapter, n)
    whole = run("new", "--kind", kind, "--level", level, "--seed", seed, "--lang", lang).stdout
    rows = iter([line for line in whole.splitlines() if line.startswith("|")])
    return "\n".join(next(rows) if line.startswith("|") else line for line in text.splitlines()) + "\n"


def answer_cells(chapter, n, seed, lang):
    """(offset, text) of each number that was open, in the solved text."""
    text, full = exercises(chapter, seed, lang)[n - 1].splitlines(), solved(chapter, n, seed, lang)
    found, at = [], 0
    for line, own in zip(text, full.splitlines()):
        if line.startswith("|") and "…" in line:
            cells = line.split("|")
            for k, m in enumerate(re.finditer(r"(?<=\|)([^|]*)(?=\|)", own), 1):
                if cells[k].strip() == "…":
                    found.append((at + m.start() + len(m[0]) - len(m[0].lstrip()), m[0].strip()))
        at += len(own) + 1
    return found


def checked(learn, tmp_path, texts, *options):
    """The JSON of each text's check."""
    names = []
    for n, text in enumerate(texts):
        names.append(f"t{n}.md")
        (tmp_path / names[-1]).write_text(text)
    return json_lines(learn("--check", "--json", *options, *names, status=None).stdout)


# ---- Chapters ----

@pytest.mark.parametrize("lang", ["en", "ja"])
def test_every_number_of_a_chapter_is_right(attn, lang):
    """Each chapter is a document that attn check reads completely."""
    texts = sorted((SOURCE / "cli/learn/chapters").glob(f"*.{lang}.md"))
    assert len(texts) == CHAPTERS
    for r in json_lines(attn("check", "--json", *texts, status=None).stdout):
        assert r["verdict"] == ("nothing_to_check" if re.search(r"(dates|inside)\.", r["file"]) else "correct"), r["file"]


def test_a_chapter_prints_its_text_and_its_weights(learn):
    shown = learn(3, "--lang", "en").stdout
    assert shown.startswith("3. Softmax: from scores to weights\n") and "▓" in shown and "0.6285" in shown and "wrote 3-2.md" in shown
    assert "kept 3-1.md, which exists" in learn(3).stdout
    assert learn(3, "--lang", "ja").stdout.startswith("3. ソフトマックス：スコアから重みへ\n")


@pytest.mark.parametrize("lang, name", [("en", "question"), ("ja", "質問")])
@pytest.mark.parametrize("chapter", [1, 2, 3])
def test_the_figure_names_the_query_as_the_text_does(learn, chapter, lang, name):
    """In the terminal, and on the page, where a row without a name is #1."""
    figure = learn(chapter, "--lang", lang).stdout.partition({"en": "The weights of the example:", "ja": "例の重み："}[lang])[2]
    assert re.search(rf"(?m)^ +{name} *[█▓▒░]? *\d", figure), figure


def test_the_exercise_files_are_never_replaced(learn, tmp_path):
    (tmp_path / "2-1.md").write_text("mine")
    learn(2)
    assert (tmp_path / "2-1.md").read_text() == "mine" and "attn learn 2.2" in (tmp_path / "2-2.md").read_text()
    assert "cannot write" in learn(2, "-o", "nowhere", status=2).stderr


# ---- Exercises with tables ----

@pytest.mark.parametrize("chapter", SHEETS)
def test_a_solution_is_correct_and_a_blank_is_open(learn, tmp_path, chapter):
    for seed in (1, 2, 5):
        for lang in ("en", "ja"):
            texts = exercises(chapter, seed, lang) + [solved(chapter, n, seed, lang) for n in (1, 2)]
            results = checked(learn, tmp_path, texts)
            assert [r["done"] for r in results] == [False, False, True, True], results
            assert [r["open"] for r in results] == [len(answer_cells(chapter, n, seed, lang)) for n in (1, 2)] + [0, 0]
            assert all(r["report"] for r in results[:2]) and not any(r["report"] for r in results[2:])


@pytest.mark.parametrize("chapter", SHEETS)
def test_a_planted_slip_gets_hints_that_do_not_give_it_away(learn, tmp_path, chapter):
    """Hint 1 does not contain the right number, hint 3 does. A slip in any table is found, also where other cells are still open."""
    draw = random.Random(chapter)
    for n in (1, 2):
        cells = answer_cells(chapter, n, 4, "en")
        at, number = draw.choice(cells)
        if number == "-inf":
            at, number = next(c for c in cells if c[1] != "-inf")
        decimals = len(number.partition(".")[2])
        wrong = f"{float(number) + 1.25:.{max(decimals, 2)}f}"
        text = solved(chapter, n, 4, "en")
        text = text[:at] + wrong + text[at + len(number):]
        hints = [checked(learn, tmp_path, [text], "--hint", level)[0] for level in (1, 2, 3)]
        assert all(not h["done"] and h["wrong"] >= 1 for h in hints), text
        shown = re.escape(f"{float(number):g}" if float(number) == int(float(number)) else number.rstrip("0"))
        right = rf"(?<![\d.]){shown}0*(?!\d|\.\d)"
        lines = [re.sub(r".*row \d+, column \d+.*\n", "", h["report"]) for h in hints]
        first = lines[0].replace("Hint 1 of 3", "")
        assert "." not in shown or not re.search(right, first), f"{number} in {first}"
        assert re.search(right, lines[2]), f"{number} not in {lines[2]}"
        assert len({*lines}) == 3


def test_a_repeated_check_shows_the_next_hint(learn, tmp_path):
    (tmp_path / "a.md").write_text(exercises(3, 1, "en")[0])
    levels = [json.loads(learn("--check", "--json", "a.md", status=1).stdout)["level"] for _ in range(5)]
    assert levels == [1, 2, 3, 3, 3]
    text = solved(3, 1, 1, "en")
    (at, number), *_ = answer_cells(3, 1, 1, "en")
    (tmp_path / "a.md").write_text(CELL.sub(f" {number}", exercises(3, 1, "en")[0], count=1))
    assert json.loads(learn("--check", "--json", "a.md", status=1).stdout)["level"] == 1  # another value
    (tmp_path / "a.md").write_text(text)
    assert learn("--check", "a.md").stdout == "a.md: exercise 3.1 is correct.\n"


def test_notes_do_not_matter_but_given_numbers_do(learn, tmp_path):
    text = solved(2, 1, 1, "en")
    noted = text.replace("scores:", "My notes: 2*3 = 6\n\n| my | table |\n|----|---|\n| a | 7 |\n\nscores:")
    assert checked(learn, tmp_path, [noted])[0]["done"]
    row = next(line for line in text.splitlines() if line.startswith("| question"))
    (tmp_path / "g.md").write_text(text.replace(row, re.sub(r"\d+", "9", row, count=1), 1))
    assert 'row "question": the given value 2 was changed to 9; write it back' in learn("--check", "g.md", status=2).stderr
    (tmp_path / "g.md").write_text(text.replace(row + "\n", "", 1).replace("| question |        6", "|", 1))
    assert "is missing" in learn("--check", "g.md", status=2).stderr or "was changed" in learn("--check", "g.md", status=2).stderr


def test_a_value_rounded_too_far_is_not_correct(learn, tmp_path):
    """0 is a rounding of 0.3: the checker alone would accept it."""
    text = solved(3, 1, 1, "en")
    at, number = answer_cells(3, 1, 1, "en")[0]
    coarse, fine = (text[:at] + f"{float(number):.{d}f}" + text[at + len(number):] for d in (0, 2))
    r = checked(learn, tmp_path, [coarse, fine])
    assert (r[0]["done"], r[0]["coarse"], r[1]["done"]) == (False, 1, True)


def test_the_report_is_in_both_languages(learn, tmp_path):
    (tmp_path / "a.md").write_text(exercises(5, 1, "ja")[1])
    shown = learn("--check", "a.md", "--lang", "ja", status=1).stdout
    assert "練習問題 5.2 はまだ終わっていません" in shown and "ヒント 1/3" in shown and "ソフトマックス" in shown


# ---- Questions ----

def fields(text, answer, model="dates.safetensors"):
    return text.replace("answer: …", f"answer: {answer}").replace("model: dates.safetensors", f"model: {model}")


def test_counting_weights(learn, tmp_path):
    for seed in range(1, 6):
        for lang in ("en", "ja"):
            cross, causal = exercises(10, seed, lang)
            numbers = [int(x) for x in re.findall(r"\d+", cross.split("-->")[1])]
            layers, heads, source, target = (numbers[0], numbers[2], numbers[3], numbers[4])
            heads_, tokens = (int(x) for x in re.findall(r"\d+", causal.split("-->")[1])[:2])
            right = [layers * heads * source * target, heads_ * tokens * (tokens + 1) // 2]
            texts = [fields(t, a) for t, a in zip((cross, causal), right)] + [fields(cross, right[0] + 1), causal]
            results = checked(learn, tmp_path, texts)
            assert [r["done"] for r in results] == [True, True, False, False]
            assert str(right[0]) not in results[2]["report"]
            assert f"= {right[0]}" in checked(learn, tmp_path, texts[2:3], "--hint", 3)[0]["report"]


SMALL = '{"d_model": 16, "ffn_dim": 32, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}'


@pytest.fixture(scope="session")
def untrained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    run("train", "dates", "--steps", 2, "--batch-size", 4, "--config", SMALL, "--test-examples", 0, "--max-validation-examples", 4, "--quiet",
        "-o", "m.safetensors", cwd=folder)
    return folder / "m.safetensors"


def test_a_model_must_be_trained(learn, tmp_path, untrained):
    (tmp_path / "a.md").write_text(fields(exercises(11, 1, "en")[0], 1, untrained))
    assert "not trained far enough: 0 % of its validation dates" in learn("--check", "a.md", status=1).stdout
    (tmp_path / "a.md").write_text(fields(exercises(11, 1, "en")[0], 1, "none.safetensors"))
    assert "none.safetensors" in learn("--check", "a.md", status=2).stderr
    (tmp_path / "a.md").write_text(exercises(11, 1, "en")[0])
    assert "There is an answer to write" in learn("--check", "a.md", status=1).stdout


@pytest.fixture(scope="session")
def trained(untrained):
    """The same weights in a checkpoint that records another share of right dates."""
    header, data = read_safetensors(untrained)
    record = json.loads(header["__metadata__"]["run"])
    record["validation_exact_match"] = 0.95
    header["__metadata__"]["run"] = json.dumps(record)
    path = untrained.parent / "trained.safetensors"
    path.write_bytes(safetensors(header, data))
    return path


def test_questions_to_a_model(learn, tmp_path, trained):
    """Each answer is what another command prints."""
    for lang in ("en", "ja"):
        for seed in (1, 2, 3):
            texts = exercises(11, seed, lang) + exercises(12, seed, lang)
            dates = [re.search(r"(\d+ [A-Z]\w+ \d+|\d+年\d+月\d+日)", t)[0] for t in texts[1:]]
            maps = {}
            for date in dates[1:]:
                shown = [run("show", trained, "--input", date, "--json", "--layer", 1, "--head", h).stdout for h in (1, 2)]
                maps[date] = [json.loads(text)["weights"][0] for text in shown]
            index = int(re.search(r"(?:index|添字) (\d+)", texts[2])[1])
            head = int(re.search(r"(?:head|ヘッド) (\d+)", texts[3])[1])
            layer = int(re.search(r"(?:layer|層) (\d+)", texts[3])[1])
            right = [json.loads(run("info", trained, "--json").stdout)["models"][0]["parameter_count"], run("generate", trained, dates[0]).stdout.rstrip("\n"),
                     f"{maps[dates[1]][0][index]:.4f}", np.argmax(maps[dates[2]][head - 1]) if layer == 1 else None]
            for n, (text, answer) in enumerate(zip(texts, right)):
                (tmp_path / "a.md").write_text(fields(text, answer, trained))
                if answer is None:  # the model of this test has one layer
                    assert "no such head" in learn("--check", "a.md", status=2).stderr
                    continue
                assert learn("--check", "a.md").returncode == 0
                (tmp_path / "a.md").write_text(fields(text, "1.25", trained))
                assert "The answer 1.25 is wrong" in learn("--check", "a.md", status=1).stdout
                assert str(answer) in learn("--check", "a.md", "--hint", "3", status=1).stdout


# ---- Progress ----

def test_progress_is_kept(learn, tmp_path):
    (tmp_path / "a.md").write_text(solved(1, 1, 1, "en"))
    (tmp_path / "b.md").write_text(exercises(1, 1, "en")[1])
    learn("--check", "a.md", "b.md", status=1)
    listed = json.loads(learn("--json").stdout)
    assert [e["done"] for e in listed["chapters"][0]["exercises"]] == [True, False] and listed["next"] == 1
    shown = learn("--lang", "en").stdout
    assert "1 of 24 exercises done" in shown and "✓·  1  The value of looking" in shown and "Next: attn learn 1\n" in shown


def test_the_progress_file_is_found(attn, tmp_path):
    (tmp_path / "a.md").write_text(solved(1, 1, 1, "en"))
    attn("learn", "--check", "a.md", env={"XDG_STATE_HOME": str(tmp_path / "state")})
    assert (tmp_path / "state/attn/learn.tsv").read_text().startswith("attn learn 1\n1.1\t1\t1\t1\t")
    attn("learn", "--check", "a.md", env={"XDG_STATE_HOME": "", "HOME": str(tmp_path)})
    assert (tmp_path / ".local/state/attn/learn.tsv").exists()
    assert "--progress FILE" in attn("learn", status=2, env={"XDG_STATE_HOME": "", "HOME": ""}).stderr


@pytest.mark.parametrize("content", ["", "hello\n", "attn learn 1\n1.1\n", "attn learn 1\n1.1\t1\t1\t1\t0\t0", "attn learn 1\n99.1\t1\t1\t1\t0\t0\n",
                                     "attn learn 1\n1.3\t1\t1\t1\t0\t0\n", "attn learn 1\n1.1\t1\t1\t2\t0\t0\n", "attn learn 1\n1.1\t1\t1\t1\t9\t0\n",
                                     "attn learn 1\n1.1\t1\t0\t1\t0\t0\n", "attn learn 1\n1.1\t1\t1\t1\t0\t0 x\n", "attn learn 2\n"])
def test_a_broken_progress_file_is_an_error_and_unchanged(learn, tmp_path, content):
    (tmp_path / "progress.tsv").write_text(content)
    (tmp_path / "a.md").write_text(solved(1, 1, 1, "en"))
    for arguments in ([], ["--check", "a.md"]):
        message = learn(*arguments, status=2).stderr
        assert message.startswith("attn: progress.tsv:") and "move " in message
    assert (tmp_path / "progress.tsv").read_text() == content


def test_progress_survives_a_kill(learn, tmp_path):
    (tmp_path / "a.md").write_text(solved(1, 1, 1, "en"))
    learn("--check", "a.md")
    draw = random.Random(0)
    for _ in range(30):
        p = subprocess.Popen([ATTN, "learn", "--progress", "progress.tsv", "--check", "a.md"], cwd=tmp_path, stdout=subprocess.DEVNULL)
        time.sleep(draw.random() * 0.012)
        p.send_signal(signal.SIGKILL)
        p.wait()
        assert json.loads(learn("--json").stdout)["chapters"][0]["exercises"][0]["done"]


# ---- Mistakes in the command line ----

@pytest.mark.parametrize("arguments, message", [
    (["0"], "CHAPTER must be between 1 and 12, got 0"), (["3-1.md"], "expected a chapter's number, got \"3-1.md\"; --check FILE checks a file"),
    (["--check"], "expected a file to check"), (["1", "2"], "expected one chapter"), (["--hint", "1"], "--hint applies to --check"),
    (["--check", "--hint", "4", "a.md"], "--hint must be between 1 and 3, got 4"), (["--html", "d", "1"], "--html writes all chapters"),
    (["--check", "none.md"], "none.md"), (["--lang", "de"], "--lang must be en or ja")])
def test_a_wrong_argument_is_explained(learn, arguments, message):
    assert message in learn(*arguments, status=2).stderr


@pytest.mark.parametrize("text", ["", "# notes\n", "<!-- attn learn -->", "<!-- attn learn 1.1, seed x, en -->", "<!-- attn learn 13.1, seed 1, en -->",
                                  "<!-- attn learn 0.1, seed 1, en -->", "<!-- attn learn 1.3, seed 1, en -->", "<!-- attn learn 1.1, seed 1, en -->"])
def test_a_file_that_is_not_an_exercise(learn, tmp_path, text):
    (tmp_path / "a.md").write_text(text)
    message = learn("--check", "a.md", status=2).stderr
    assert message.startswith("attn: a.md: error: ")
    assert not (tmp_path / "progress.tsv").exists()


# ---- Pages ----

@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    run("learn", "--html", "course", cwd=folder)
    assert "exists; name a new folder" in run("learn", "--html", "course", cwd=folder, status=2).stderr
    return folder / "course"


def test_no_partial_folder_of_pages(tmp_path):
    """Nothing is left where a page cannot be written: the first ones can be, a later one is larger than the limit."""
    limited = subprocess.run(["bash", "-c", f"ulimit -f 120; {ATTN} learn --html course"], cwd=tmp_path, capture_output=True, text=True)
    assert limited.returncode == 2 and "cannot write" in limited.stderr and not list(tmp_path.iterdir())


def test_the_pages_are_linked_in_both_languages(pages):
    names = {p.name for p in pages.iterdir()}
    assert len(names) == 26
    for name in names:
        text = (pages / name).read_text()
        ElementTree.fromstring(text.replace("<!DOCTYPE html>", "", 1).replace("&nbsp;", " "))
        links = {link for link in re.findall(r'href="([^"#]+)"', text)}
        assert links <= names and len(links) >= 2
        assert f'lang="{"ja" if ".ja." in name else "en"}"' in text[:60]


@pytest.mark.parametrize("name", ["index.html", "softmax.html", "mask.ja.html", "dates.ja.html"])
def test_a_page_has_no_error_and_a_live_figure(pages, visit, name):
    view = visit(pages / name)
    assert view.locator("article.course").is_visible() and view.locator("label[for=to-ja]").is_hidden()
    if name.startswith(("softmax", "mask")):
        assert view.evaluate("isLive") and view.locator("#weights td").count() >= 3
    if name.startswith("index"):
        view.get_by_text("Softmax: from scores to weights").click()
        view.wait_for_url("**/softmax.html")
    assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("name, query", [("value.html", "question"), ("value.ja.html", "質問")])
def test_the_figure_of_a_page_names_the_query(pages, visit, name, query):
    view = visit(pages / name)
    assert view.locator("#weights tbody th").first.inner_text() == query and "#1" not in view.locator("main").inner_text()
