"""What the commands print to standard output, in Japanese (--lang ja): reports, tables, lists and closing lines.

Every word of a line is Japanese, a name (of an option, a type, a unit, a token) or a value; JSON is English. Of texts
that a short run does not print, the translations are looked up.
"""
import re
from functools import cache

import numpy as np
import pytest
from conftest import SOURCE, run
from test_language import C, CONVERSION, JA, JAPANESE, LITERAL, sources, texts, translation, width

SMALL = '{"d_model": 8, "num_heads": 2, "ffn_dim": 8, "encoder_layers": 1, "decoder_layers": 1}'
CAPTIONER = '{"d_model": 8, "stage_channels": 4, "num_stages": 3}'
FEW = ["--steps", 2, "--batch-size", 4, "--max-validation-examples", 2, "--quiet"]
# Words that are the same in both languages.
NAMES = set("""ALiBi AMX ATTN AVX BF BW CPU Ctrl DD DQ FMA GB GFLOP GPT Gtanh ISA LSTM MM MiB Norm Ev PE Pre Post RMS RoPE SVG VL YYYY additive attn
    alignment avx bf bool characters captions concat cos dates decoder dot encoder exp f16 f32 f64 false float ffn general GHz head
    inf int libattn log lstm ms output positions reference scalar scaled scores self sin softcap sqrt sum true uniform vision weights words""".split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("output")
    rng = np.random.default_rng(1)
    for name in "qkv":
        np.save(path / f"{name}.npy", rng.normal(size=(1, 2, 40, 8)).astype(np.float32))
    run("train", "dates", *FEW, "--config", SMALL, "-o", "d.safetensors", "--test-examples", 0, cwd=path)
    run("train", "captions", *FEW, "--config", CAPTIONER, "-o", "c.safetensors", "--test-examples", 0, cwd=path)
    return path


COMMANDS = {
    "run": "run --q q.npy --k k.npy --v v.npy -o o.npy --weights w.npy --verify=7 --plan --peak",
    "run float64": "run --q d.npy --k d.npy --v d.npy --verify --plan",
    "info": "info",
    "info measured": "info --measure",
    "info model": "info d.safetensors",
    "info captioner": "info c.safetensors",
    "info empty": "info empty.safetensors",
    "train": "train dates -o 1.safetensors --test-examples 9",
    "train captioner": "train captions -o 2.safetensors --test-examples 9",
    "train resumed": "train --resume d.last.safetensors -o d.safetensors --quiet --overwrite",
    "train list": "train --list",
    "bench": "bench --quick --quiet --peers none --work forward,decode,short",
    "bench list": "bench --list",
    "show": "show d.safetensors",
    "show all": "show d.safetensors --input 1/2/1991 --all",
    "caption": "caption c.safetensors --examples 2 --max-new-tokens 3 --occlude",
    "caption shown": "caption c.safetensors --examples 1 --max-new-tokens 2 --show --color never",
    "export": "export e.safetensors -o hf",
    "study list": "study --list",
    **{f"study {name}": f"study {name} --seeds {2 - (name in ('bottleneck', 'alignment'))} --steps 1 --test-examples 1 --quiet"
       for name in ("scaling", "residual", "norm", "heads", "positions", "bottleneck", "alignment", "permutation")},
    **{f"new {kind}": f"new --kind {kind} --seed 3" for kind in ("self", "causal", "cross", "heads", "positions", "scaling", "columns", "question")},
}


@cache
def printed(folder, name, language="ja"):
    """Standard output of the command."""
    words = COMMANDS[name].split()
    if words[0] == "train" and "-o" in words and "--resume" not in words:
        words += [*FEW, "--config", CAPTIONER if "captions" in words else SMALL, "--overwrite"]
    if name == "run float64":
        np.save(folder / "d.npy", np.ones((3, 4)))
    if name == "info empty":
        (folder / "empty.safetensors").write_bytes(b"\2\0\0\0\0\0\0\0{}")
    if name == "export":
        config = SMALL.replace("{", '{"norm_first": false, "final_norm": false, "tie_word_embeddings": true, "output_bias": true, '
                                    '"positions": "sinusoidal_halves", ')
        run("train", "dates", *FEW, "--config", config, "-o", "e.safetensors", "--test-examples", 0, "--overwrite", cwd=folder)
    return run(*words, cwd=folder, env=JA if language == "ja" else C).stdout


def without_values(text):
    """Without names of files, commands to type, examples of tasks, captions and tokens, and what the CPU is."""
    text = re.sub(r"(?m)^(CPU|機能|環境変数) .*|^AMD.*?、|^Intel.*?、", "", text)
    text = re.sub(r"(?m)\battn (generate|show|explain|caption|embed|check|new|study|train) .*|\S+ -> .*|^ +(?!画像).* -> .*", "", text)
    text = re.sub(r"(?m)(?<=^  正解：).*|^  \S+：見て|(隠すと )[a-z<>/]+", "", text)
    return re.sub(r"(?m)\S+\.(npy|safetensors|html|svg|md)\S*|^[a-z-]+(:| {2,})|<[^ ]*>|(?<=：)hf/|\b(like|cats)\b", "", text)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_line_is_japanese(folder, name):
    japanese = printed(folder, name)
    if name == "show all":
        japanese = "".join(line for line in japanese.splitlines()[1:] if JAPANESE.search(line))
    if name.startswith("caption"):
        japanese = re.sub(r"(?m)^( +|)([a-z]+ ?)+$|^ +画像( +[a-z]+)*$", "", japanese)
    words = set(re.findall("(?<![A-Za-z_])[A-Za-z]{2,}(?![A-Za-z_])", without_values(japanese)))
    assert JAPANESE.search(japanese) and words <= NAMES, words - NAMES


# ---- Columns ----

def columns_before(line, part):
    return width(line[:line.index(part)])


def test_values_begin_in_one_column(folder):
    for name, label in (("run", 10), ("info", 10), ("info model", 12)):
        for language in ("ja", "en"):
            for line in printed(folder, name, language).splitlines()[1:]:
                at = next(n for n in range(len(line) + 1) if width(line[:n]) >= label)
                assert width(line[:at]) == label and line[at - 1] == " " != line[at], line


def test_columns_of_tables_are_aligned(folder):
    for line in (lines := printed(folder, "study residual").splitlines())[-2:]:
        assert [m.start() for m in re.finditer(r"\.", line)] == [m.start() for m in re.finditer(r"\.", lines[-1])]
    heads = printed(folder, "study heads").splitlines()
    assert columns_before(heads[6], "1") == columns_before(heads[7], "0.0") + 4 == columns_before(heads[10], "2") - 20
    bench = printed(folder, "bench").splitlines()
    first = next(n for n, line in enumerate(bench) if line.startswith("順伝播"))
    shape = columns_before(bench[first], "形状")
    assert columns_before(bench[first], "型") == columns_before(bench[first + 1], "f32")
    for line in bench[first + 1:first + 10]:
        assert columns_before(line, "1x2x128x") == shape, line
    for line in bench[first + 1:first + 10]:
        assert " - " in line or width(bench[first].split("限界比")[0] + "限界比") == width(line.split("%")[0] + "%")
    listed = printed(folder, "bench list").splitlines()
    assert {columns_before(line, m[0]) for line in listed if (m := re.search(r"(f32|bf16|f16|int8) +\d", line))} == {31}


def test_text_of_a_study_fits(folder):
    for name in COMMANDS:
        if name.startswith("study "):
            assert max(width(line) for line in printed(folder, name).splitlines() if re.search("[。、]", line)) <= 92, name


# ---- What a short run does not print ----

def literals(path, pattern):
    found = {m[1] for m in re.finditer(pattern, sources()[path])}
    assert found, pattern
    return {texts(f)[0] for f in found}


def has_translation(text):
    """Or is made of names and numbers."""
    return translation(text) is not None or set(re.findall("[A-Za-z]{2,}", text)) <= NAMES


def test_tables_have_japanese_for_every_name():
    known = {t for n in re.findall(rf"attn_cli_study_table\(((?:[^()]|\([^()]*\))*)\)", "".join(sources().values())) for t in texts(n)[1:]}
    for path in ("cli/study/trained_studies.c", "cli/study/computed_studies.c", "cli/study/caption_studies.c"):
        for array in re.findall(r"(?:char \*const|\*const) (?:rows|columns|same|largest|exact|distance|measures|objects|parts)\[\] = \{([^;]*)\}", sources()[path]):
            known |= set(texts(array))
        for rows in re.findall(r"struct variant \w+\[\] = \{(.*?)\};", sources()[path], re.S):
            known |= {texts(row)[0] for row in re.findall(rf"\{{({LITERAL})", rows)}
    assert len(known) > 40
    assert {k for k in known if not has_translation(k)} - {"key", "sublayer", "normalization"} == set()


@pytest.mark.parametrize("path, pattern", [
    ("cli/bench/bench_cases.c", rf"WORK\({LITERAL}, ({LITERAL})\)"),
    ("cli/bench/bench_cases.c", rf"WORK\(({LITERAL}), {LITERAL}\)"),
    ("cli/bench/bench_rounds.c", rf"snprintf\(r->result->skipped, BENCH_REASON, ({LITERAL})"),
    ("cli/bench/bench_peers.c", rf"snprintf\(peer->reason, BENCH_REASON,\s*({LITERAL})"),
    ("cli/cmd_train.c", rf'\{{"(?!one_|two_|three_)\w+", ({LITERAL})\}}'),
    ("src/sdpa/machine.c", rf'\n    ("[^"]*:[^"]*"),?\n'),
    ("src/train/tasks/task.c", rf"\{{{LITERAL}, ({LITERAL}), attn_task"),
    ("cli/study/cmd_study.c", rf'\{{"\w+", ({LITERAL}),'),
], ids=lambda p: p[:24])
def test_every_name_and_reason_has_its_japanese(path, pattern):
    for text in literals(path, pattern):
        assert has_translation(CONVERSION.sub("7", text)), text


def test_reasons_of_a_kernel_have_their_japanese():
    source = sources()["src/sdpa/plan.c"].partition("static void explain(")[2].partition("\n}")[0]
    found = {t.removeprefix("; ") for t in texts(source)}
    parts = {t for t in found if re.search("[a-z]{2} [a-z]{2}", t)}
    assert len(parts) > 8
    for text in parts - {"the best instruction set of this CPU", "selected by ATTN_ISA", "%s on %s: %s%s%s%s%s%s%s"}:
        assert translation(CONVERSION.sub("7", text)), text
    for by in ("the best instruction set of this CPU", "selected by ATTN_ISA"):
        assert by in found and translation(f"16-bit in float32 on avx2: {by}")


def test_goals_have_their_japanese():
    of = texts(re.search(r"of\[\] = \{(.*?)\};", sources()["cli/bench/bench_table.c"], re.S)[1])
    for goal in filter(None, of):
        for text in (f"97 % {goal} (95 %)", f"1.92 x {goal} (1.9)"):
            assert JAPANESE.search(translation(text)) and width(translation(text)) <= 24, text


def test_reasons_of_other_programs_have_their_japanese():
    source = (SOURCE / "cli/bench/bench_peers.py").read_text()
    for text in re.findall(r'Cannot\("([^"{]+)"\)|: "(no [a-z ]+)"', source):
        assert translation("".join(text)), text


def test_output_is_translated_before_it_is_printed():
    """No words in the text of a call that prints to a stream: attn_cli_print_message and attn_cli_print_cell translate."""
    allowed = {"attn", "bench"}
    for path, text in sources().items():
        if not path.startswith("cli/") or path in ("cli/json_output.c", "cli/cmd_completion.c"):
            continue
        for m in re.finditer(rf"\b(?:printf|puts|fputs|fprintf)\((?:\w+, )?((?:\w+ \? )?{LITERAL}(?:\s*:?\s*{LITERAL})*)", text):
            words = {w for t in texts(m[1]) for w in re.findall("[a-z]{2,}", CONVERSION.sub("", t))}
            assert words <= allowed, (path, m[0])


def test_json_is_english(folder):
    for words in (["info"], ["info", "d.safetensors"], ["show", "d.safetensors", "--input", "1/2/91"],
                  ["study", "permutation", "--seeds", 1], ["caption", "c.safetensors", "--examples", 1, "--max-new-tokens", 2]):
        english, japanese = (run(*words, "--json", cwd=folder, env=env).stdout for env in (C, JA))
        assert english == japanese, words
