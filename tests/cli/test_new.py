"""attn new: every kind and level, solved and blank, in both languages."""
import functools
import json
import re

import numpy as np
import pytest
from conftest import json_lines, run

KINDS = ("self", "causal", "cross", "heads", "positions", "scaling", "columns", "question")
SEEDS = range(1, 4)
WORDS = "aa bb cc dd ee ff gg hh ii jj kk ll".split()
BLANK_ROW = re.compile(r"(?<=\|)( *)…(?= \|)")


@functools.cache
def documents(kind, blank=False):
    """{"LEVEL LANGUAGE SEED": text}"""
    return {f"{level} {lang} {seed}": run("new", "--kind", kind, "--level", level, "--lang", lang, "--seed", seed,
                                          *(["--blank"] if blank else [])).stdout
            for level in (1, 2, 3) for lang in ("en", "ja") for seed in SEEDS}


def verdicts(attn, tmp_path, texts, status):
    names = []
    for n, text in enumerate(texts):
        names.append(f"{n}.md")
        (tmp_path / names[-1]).write_text(text)
    return [r["verdict"] for r in json_lines(attn("check", "--json", *names, status=status).stdout)]


def tables(text):
    """[(name, numbers, decimals), ...]"""
    found = []
    for line in text.splitlines():
        if re.fullmatch(r"[\w+ ]{1,12}:", line):
            found.append((line[:-1], []))
        elif line.startswith("|") and not line.startswith("|--"):
            found[-1][1].append([cell.strip() for cell in line.strip("|").split("|")][1:])
    return [(name, np.array(rows[1:], float), len(rows[1][0].partition(".")[2])) for name, rows in found]


def table(text, name):
    return next(m for n, m, _ in tables(text) if n == name)


def is_plain(kind, text):
    """No two keys are equal, no two weights of a query, and none is nearly 0 or 1."""
    for name, m, _ in tables(text):
        if name.split("_")[0] == "K":
            assert len(np.unique(m, axis=0)) == len(m), f"{name} in\n{text}"
        if name.split("_")[0] == "weights":
            for i, row in enumerate(m.T if kind == "columns" else m):
                row = row[:i + 1] if kind == "causal" else row
                assert len(row) == 1 or (len(set(row)) == len(row) and 0.001 <= row.min() and row.max() <= 0.98), f"{row} in\n{text}"


def changed(text, n):
    """With the n-th number moved by more than any rounding, a mask's from 1 to 0 or back."""
    spots = list(re.finditer(r"(?<=\| )( *)(-inf|-?\d+(?:\.\d+)?)(?= \|)", text))
    spot = spots[n % len(spots)]
    number, before = spot[2], text[:spot.start()]
    decimals = len(number.partition(".")[2])
    moved = 1.0 if number == "-inf" else float(number) + (0.3 if decimals else 1)
    if "mask:" in before and "masked:" not in before and number in "01":
        moved = 1 - float(number)
    return text[:spot.start(2)] + f"{moved:.{decimals}f}" + text[spot.end():]


@pytest.mark.parametrize("kind", KINDS)
def test_a_lesson_is_correct_and_not_degenerate(attn, tmp_path, kind):
    texts = documents(kind)
    assert len(set(texts.values())) == len(texts)
    for text in texts.values():
        is_plain(kind, text)
    assert set(verdicts(attn, tmp_path, texts.values(), 0)) == {"correct"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_lesson_with_one_number_changed_is_not_correct(attn, tmp_path, kind):
    texts = documents(kind)
    planted = [changed(text, 7 * n) for n, text in enumerate(texts.values())]
    found = verdicts(attn, tmp_path, planted, 1)
    assert "correct" not in found and found.count("wrong") >= 0.9 * len(found)


@pytest.mark.parametrize("kind", KINDS)
def test_an_exercise_is_open_until_it_is_filled_in(attn, tmp_path, kind):
    """Its given numbers are those of the solution, and filled in as in the solution it is correct."""
    solved, blank = documents(kind), documents(kind, blank=True)
    assert set(verdicts(attn, tmp_path, blank.values(), 2)) == {"nothing_to_check"}
    filled = []
    for name, text in blank.items():
        rows = iter([line for line in solved[name].splitlines() if line.startswith("|")])
        lines = []
        for line in text.splitlines():
            row = next(rows) if line.startswith("|") else line
            assert row == line or BLANK_ROW.search(line)
            lines.append(row)
        filled.append("\n".join(lines) + "\n")
    assert set(verdicts(attn, tmp_path, filled, 0)) == {"correct"}


def test_every_number_of_two_given_matrices_counts(attn, tmp_path):
    """Q and K are given: a change of any shows in the scores."""
    for seed in range(1, 9):
        text = attn("new", "--kind", "scaling", "--level", 3, "--seed", seed).stdout
        assert "correct" not in verdicts(attn, tmp_path, [changed(text, n) for n in range(16)], 1)


def test_the_levels_differ_in_their_numbers(attn):
    decimals = {level: {name: d for name, _, d in tables(attn("new", "--level", level).stdout)} for level in (1, 2, 3)}
    first = ("X", "W_Q", "Q", "scores", "weights")
    assert [[decimals[level][name] for name in first] for level in (1, 2, 3)] == [[0, 0, 0, 0, 4], [1, 0, 1, 2, 4], [1, 1, 2, 4, 4]]
    assert [table(attn("new", "--level", level).stdout, "K").shape for level in (1, 2, 3)] == [(3, 2), (3, 2), (3, 3)]
    assert [table(attn("new", "--kind", "scaling", "--level", level).stdout, "Q").shape for level in (1, 2, 3)] == [(1, 4), (1, 9), (1, 16)]
    assert "weights" not in attn("new", "--kind", "positions", "--level", 2).stdout
    assert "weights:" in attn("new", "--kind", "positions", "--level", 3).stdout


@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_tokens(attn, tmp_path, kind):
    extra = ["--question", "which is it?", "--answer", "bb"] if kind == "question" else []
    texts = []
    for n in (2, 4, 5, 6, 9, 12):
        for level in (1, 2, 3):
            if kind == "scaling" and n > 5:
                continue
            heads = ["--num-heads", 2 + n % 3] if kind == "heads" else []
            queries = ["--query-tokens", " ".join(WORDS[:1 + n // 2])] if kind == "cross" else []
            text = attn("new", "--kind", kind, "--level", level, "--tokens", " ".join(WORDS[:n]), *extra, *heads, *queries).stdout
            is_plain(kind, text)
            texts.append(text)
    assert set(verdicts(attn, tmp_path, texts, 0)) == {"correct"}


@pytest.mark.parametrize("options, given, open_tables", [
    (["--kind", "self", "--from", "scores"], "X W_Q W_K W_V Q K V", "scores scaled weights output"),
    (["--kind", "self", "--to", "V"], "X W_Q W_K W_V", "Q K V"),
    (["--kind", "question", "--from", "weights", "--to", "weights"], "Q K V scores scaled", "weights"),
    (["--kind", "causal", "--from", "masked", "--to", "weights"], "X W_Q W_K W_V Q K V scores scaled mask", "masked weights"),
    (["--kind", "positions", "--level", "3", "--from", "Q"], "X W_Q W_K W_V PE X+PE", "Q K V scores scaled weights output"),
    (["--kind", "positions", "--level", "3", "--to", "positions"], "X W_Q W_K W_V", "PE X+PE"),
    (["--kind", "heads", "--from", "concat", "--to", "concat"],
     "X W_O W_Q_1 W_K_1 W_V_1 Q_1 K_1 V_1 scores_1 scaled_1 weights_1 output_1 W_Q_2 W_K_2 W_V_2 Q_2 K_2 V_2 scores_2 scaled_2 weights_2 output_2", "concat"),
    (["--kind", "scaling", "--from", "scaled"], "Q K scores Q K scores", "scaled weights weights")])
def test_a_part_of_the_steps_is_open(attn, options, given, open_tables):
    found = {False: [], True: []}
    for part in re.split(r"\n(?=[\w+ ]{1,12}:\n\n\|)", attn("new", "--blank", *options).stdout)[1:]:
        name = part.split(":")[0].replace(" ", "")
        rows = [line for line in part.splitlines() if line.startswith("|")][2:]
        assert all("…" in row for row in rows) or not any("…" in row for row in rows)
        found["…" in rows[0]].append(name)
    assert sorted(found[False]) == sorted(given.split()) and sorted(found[True]) == sorted(open_tables.split())


def test_the_answer_has_the_largest_weight(attn):
    asked = set()
    for seed in range(1, 31):
        for lang, mark in (("en", r"“(.*)”: it answers"), ("ja", r"大きいのは「(.*)」")):
            text = attn("new", "--kind", "question", "--seed", seed, "--lang", lang).stdout
            words = [line.split("|")[1].strip() for line in text.split("K:")[1].split("V:")[0].splitlines() if line.startswith("|")][2:]
            weights = table(text, "weights")[0]
            assert words[weights.argmax()] == re.findall(mark, text)[-1] and np.sort(weights)[-1] > 1.4 * np.sort(weights)[-2]
            asked.add(text.splitlines()[0])
    assert len(asked) > 14 and "# 文への質問：誰と行ったの？" in asked  # of 9 in each language
    own = attn("new", "--kind", "question", "--tokens", "Ann works in Rome", "--question", "Who works in Rome?", "--answer", "Ann", "--level", 2).stdout
    assert own.startswith("# A question to a sentence: Who works in Rome?\n") and table(own, "weights")[0].argmax() == 0
    assert "“Ann”" in own and "Ann" not in attn("new", "--kind", "question", "--blank").stdout.splitlines()[-2]


def test_tokens_name_the_rows(attn):
    text = attn("new", "--kind", "cross", "--tokens", "le chat", "--query-tokens", "the black cat").stdout
    assert table(text, "weights").shape == (3, 2) and "| black |" in text
    assert attn("new", "--tokens", "猫が　好き").stdout == attn("new", "--tokens", "猫が  好き").stdout  # an ideographic space
    assert table(attn("new", "--kind", "heads", "--num-heads", 4).stdout, "concat").shape == (3, 8)


def test_a_document_does_not_depend_on_the_terminal(attn):
    assert attn("new", "--kind", "cross", env={"COLUMNS": "40"}).stdout == attn("new", "--kind", "cross").stdout
    assert attn("new").stdout == attn("new", "--kind", "self", "--level", "1", "--seed", "1").stdout


def test_an_untouched_exercise_names_its_first_step(attn, tmp_path):
    (tmp_path / "b.md").write_text(attn("new", "--blank").stdout)
    shown = attn("check", "b.md", status=2).stdout
    assert "0 of 7 steps filled in: begin with Q = X W_Q." in shown and "No worked example" not in shown
    assert "7 個のステップはすべて未記入です。Q = X W_Q から始めてください。" in attn("check", "--lang", "ja", "b.md", status=2).stdout
    row = "| Mia   |  … |  … |"
    assert json.loads(attn("explain", "--json", "b.md").stdout)["examples"][0]["steps"]
    text = (tmp_path / "b.md").read_text()
    assert row in text
    q = table(attn("new").stdout, "Q")[0]
    (tmp_path / "b.md").write_text(text.replace(row, f"| Mia | {q[0]:.0f} | {q[1]:.0f} |", 1))
    assert "correct" in attn("check", "b.md").stdout  # one row is enough to begin with


@pytest.mark.parametrize("options, message", [
    (["--kind", "slef"], "--kind must be self, causal, cross, heads, positions, scaling, columns or question, got \"slef\""),
    (["--level", "4"], "--level must be between 1 and 3, got 4"),
    (["--level", "4294967297"], "--level must be between 1 and 3"),
    (["--kind", "heads", "--num-heads", "5"], "--num-heads must be between 2 and 4, got 5"),
    (["--num-heads", "2"], "num_heads applies to kind heads, got kind self"),
    (["--query-tokens", "a"], "query_tokens applies to kind cross, got kind self"),
    (["--question", "why?"], "question applies to kind question"), (["--answer", "a"], "answer applies to kind question"),
    (["--kind", "question", "--tokens", "a b"], "kind question needs tokens, a question and its answer; or leave all three out"),
    (["--kind", "question", "--question", "a?", "--answer", "b"], "kind question needs tokens, a question and its answer"),
    (["--kind", "question", "--tokens", "a b", "--question", "c?", "--answer", "c"], "answer must be one of the tokens, got \"c\""),
    (["--kind", "question", "--tokens", "a b", "--question", "$x$", "--answer", "a"], "question: \"$x$\" is not usable"),
    (["--tokens", "cat"], "tokens: 1 given, at least 2 needed, separated by spaces; a single key always has weight 1"),
    (["--tokens", " ".join(WORDS + ["mm"])], "tokens: at most 12 are supported"),
    (["--kind", "scaling", "--tokens", " ".join(WORDS[:6])], "tokens: at most 5 are supported"),
    (["--kind", "cross", "--query-tokens", " "], "query_tokens: 0 given, at least 1 needed, separated by spaces"),
    (["--tokens", "a 1"], "\"1\" is not usable: it needs a letter"),
    (["I", "have", "cats"], "unexpected operand \"I\"; quote the words: --tokens 'I have cats'")])
def test_a_wrong_option_is_explained(attn, options, message):
    assert message in attn("new", *options, status=2).stderr
