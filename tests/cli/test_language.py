"""Help and messages in Japanese (--lang ja, or a Japanese locale). English is the default and the text of the source.

The translations are entries of po/ja.po with the English text as the key, so a changed text has none until it is
translated again: every help text and every format of a message that a user can meet must have an entry, and every
entry must come from a text of the source.
"""
import os
import re
import shutil
import subprocess
import unicodedata
from functools import cache

import pytest
from conftest import SOURCE, run

COMMANDS = [line.split("\t")[0] for line in run("--complete").stdout.splitlines()]
JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
LITERALS = re.compile(rf"{LITERAL}(?:\s*{LITERAL})*")
CONVERSION = re.compile(r"%%|%(?:(\d+)\$)?[-+ #0-9.*hlzjt]*([a-zA-Z])")


def width(text):
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def unescape(text):
    return re.sub(r"\\(x[0-9a-f]{2}|.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text)


# ---- The source ----

def without_comments(text):
    return re.sub(rf"/\*.*?\*/|//[^\n]*|({LITERAL})", lambda m: m[1] or " ", text, flags=re.S)


@cache
def sources():
    """Path below the root: text without comments."""
    paths = sorted(p for folder in ("src", "cli") for p in (SOURCE / folder).rglob("*.[ch]"))
    return {str(p.relative_to(SOURCE)): without_comments(p.read_text()) for p in paths}


def texts(expression):
    """The string literals of an expression; adjacent ones are one."""
    return [unescape("".join(s[1:-1] for s in re.findall(LITERAL, m[0]))) for m in LITERALS.finditer(expression)]


def arguments(text, at):
    """Of the call whose ( is at that place."""
    found, depth, start = [], 0, at + 1
    for m in re.compile(rf"{LITERAL}|'(?:[^'\\]|\\.)*'|[(){{}}\[\],]").finditer(text, at):
        depth += (m[0] in "([{") - (m[0] in ")]}")
        if depth == 0 or (m[0] == "," and depth == 1):
            found.append(text[start:m.start()].strip())
            start = m.end()
        if depth == 0:
            return found
    return found


def calls(names):
    """(path, name, arguments) of the calls of functions, whose definitions are left out."""
    for path, text in sources().items():
        for m in re.finditer(rf"\b({names})\s*\(", text):
            found = arguments(text, m.end() - 1)
            if not any(re.match(r"(const )?\w+ \*?\w+$", a) for a in found[:1]):
                yield path, m[1], found


# Functions that take a format, and its argument.
FORMATS = {"attn_fail": 3, "attn_fail_at": 4, "attn_fail_offset": 3, "attn_cli_print_error": 0, "attn_cli_print_usage_error": 0,
           "attn_cli_print_message": 1, "attn_cli_fail": 2, "attn_scan_fail": 2, "attn_scan_add_misprint": 2, "attn_python_fail": 2, "attn_cli_print_line": 0}
# Functions that take a phrase, its argument, and the message that has it.
PHRASES = [("src/io/npy.c", "broken", 1, "npy header: {}; rewrite the file with numpy.save"), ("src/io/idx.c", "invalid", 1, "x: idx: {}"),
           ("src/io/safetensors.c", "wrong", 2, 'safetensors header: tensor "x": {}; write the file again'),
           ("", "attn_fail_errno", 1, "x: cannot {}: No such file or directory"), ("src/lesson/eval.c", "misfit", 3, "{}: shapes 1x2 and 3x4 do not match"),
           ("src/model/config.c", "wrong", 2, 'model configuration: "x" {}'),
           ("src/model/config.c", "expected", 2, 'model configuration: "x" must be {}, got 1'),
           ("src/model/generate/generation_defaults.c", "reject", 2, 'x.json: "x" must be {}, got 1'),
           ("src/model/generate/token_search.c", "reject_real", 2, "top_p must be {}, got 3"), ("", "attn_tokenizer_invalid", 2, "tokenizer.json: x: {}"),
           ("src/train/captions/photos.c", "invalid", 0, "Fashion-MNIST: {}"), ("src/train/train_setup.c", "invalid", 2, "{name} {}"),
           ("src/sdpa/validate.c", "mismatch", 5, "k is (1, 2), but q is (3, 4): {} must be the same"),
           ("cli/run/run_tensors.c", "print_hint", 0, "hint: {}"), ("cli/run/run_tensors.c", "refuse_type", 2, "is int8; it must be {}"), ("cli/console.c", "fail_errno", 1, "{}: Permission denied"),
           ("", "attn_cli_fail_file", 2, "x: {}: Permission denied"), ("", "attn_cli_progress_begin", 0, "{} 10 %, 3 s left"),
           ("", "attn_cli_progress_restart", 1, "{} 10 %, 3 s left"), ("", "attn_cli_print_wrapped", 0, "{}"),
           ("cli/cmd_train.c", "print_row", 0, "{}"), ("cli/cmd_train.c", "print_row", 3, "- of 0 {}"),
           *((path, "print_label", 0, "{}") for path in ("cli/cmd_info.c", "cli/model_info.c", "cli/run/run_report.c")),
           *((path, "attn_cli_print_cell", 0, "{}") for path in ("cli/bench/", "cli/cmd_train.c"))]
# Formats of messages about misuse of the C interface, which the command does not cause: they stay English.
API = set((SOURCE / "tests/cli/english_messages.txt").read_text().splitlines())


def formats():
    """(path, format, its other arguments) of every message."""
    for path, name, found in calls("|".join(FORMATS)):
        for text in texts(found[FORMATS[name]]) if len(found) > FORMATS[name] else []:
            yield path, text, found[FORMATS[name] + 1:]
    for path, text in sources().items():
        for m in re.finditer(rf"\.message = ({LITERAL})|snprintf\(\s*(?:err->|err\.|warning\.|cause\.)message,[^,]*,\s*({LITERALS.pattern})", text):
            for literal in texts(m[0]):
                yield path, literal, []


def messages(text, others):
    """What a format prints; a literal among its arguments is printed as it is, once with each of them."""
    choices = [texts(o) or [None] for o in others]
    for n in range(max(map(len, choices), default=1)):
        left = [c[min(n, len(c) - 1)] for c in choices]

        def value(m):
            if m[0] == "%%":
                return "%"
            for _ in range(m[0].count("*") * bool(left)):
                left.pop(0)
            given = left.pop(0) if left else None
            return given if m[2] == "s" and given is not None else {"s": "NAME", "c": ")", "g": "0.5", "f": "0.500000"}.get(m[2], "7")
        yield CONVERSION.sub(value, text)


# ---- The entries, read without the command ----

def pattern(msgid):
    parts, at = [], 0
    for m in CONVERSION.finditer(msgid):
        parts += [re.escape(msgid[at:m.start()]), "%" if m[0] == "%%" else "(.*?)" if m[2] in "sc" else r"([-+ 0-9.aefinx]+?)"]
        at = m.end()
    return re.compile("".join(parts) + re.escape(msgid[at:]), re.S)


@cache
def entries():
    """(msgid, msgstr, pattern)"""
    found = re.findall(r'^msgid "(.+)"\nmsgstr "(.*)"$', (SOURCE / "po/ja.po").read_text(), re.M)
    return [(unescape(a), unescape(b), pattern(unescape(a))) for a, b in found]


def translation(text):
    """None if the text, or a phrase in it, has no entry."""
    best = max(((len(CONVERSION.sub("", msgid)), m, msgstr) for msgid, msgstr, p in entries() if (m := p.fullmatch(text))),
               key=lambda e: e[0], default=None)
    if best is None:
        return None
    missing, n = [], 0

    def value(m):
        nonlocal n
        if m[0] == "%%":
            return "%"
        n = int(m[1]) if m[1] else n + 1
        given = best[1][n]
        phrase = translation(given) if m[2] == "S" and given else given
        missing.extend([given] if phrase is None and re.search("[a-z]+ [a-z]+", given) else [])
        return phrase or given
    result = CONVERSION.sub(value, best[2])
    return None if missing else result


def test_every_message_that_a_user_can_meet_has_its_japanese():
    total, missing = set(), {}
    for path, text, others in formats():
        if re.fullmatch(r"(%\S+|\W|byte|attn)*", text):
            continue
        total.add(text)
        if not all(translation(m) for m in messages(text, others)):
            missing.setdefault(text, path)
    print(f"\n{len(total - set(missing))} of {len(total)} formats are translated")
    assert {text: path for text, path in missing.items() if text not in API} == {}
    assert API <= set(missing), "no longer in the source, or translated"
    assert len(total - set(missing)) > 400


@pytest.mark.parametrize("path, name, index, message", PHRASES, ids=lambda p: str(p)[:24])
def test_every_phrase_in_a_message_has_its_japanese(path, name, index, message):
    found = {t for p, _, a in calls(name) if p.startswith(path) and len(a) > index for t in texts(a[index])}
    assert found
    names = {t for p, _, a in calls(name) if p.startswith(path) for t in texts(a[1])} if "{name}" in message else [""]
    for text in found - {"", "attn", "x"}:
        whole = [message.replace("{name}", n).replace("{}", CONVERSION.sub("7", text)) for n in names]
        assert any(translation(w) for w in whole), text


def test_every_entry_is_a_text_of_the_source():
    """Its fixed parts are; one of an older English text is found here."""
    known = "\n".join(t for text in sources().values() for t in texts(text)) + "\n" + "\n".join(help_parts())
    known += (SOURCE / "cli/bench/bench_peers.py").read_text()
    system = {os.strerror(n) for n in range(1, 134)}
    for msgid, _, _ in entries():
        parts = re.split("\0|[:;] ", CONVERSION.sub(lambda m: "%" if m[0] == "%%" else "\0", msgid))
        assert msgid in system or all(p.strip() in known or p.strip().replace("%", "%%") in known for p in parts), msgid


def test_translations_have_the_values_of_the_english():
    """Each once, of the same type; by number where the order differs. Messages about memory may drop what it is for."""
    with_header = (SOURCE / "po/ja.po").read_text().count("\nmsgid ")
    assert len(entries()) == with_header - 1 and all(msgstr for _, msgstr, _ in entries())
    for msgid, msgstr, _ in entries():
        given = [m[2] for m in CONVERSION.finditer(msgid) if m[2]]
        taken = [(int(m[1]) if m[1] else None, m[2].replace("S", "s")) for m in CONVERSION.finditer(msgstr) if m[2]]
        numbers = [n for n, _ in taken]
        assert len(set(map(bool, numbers))) < 2, f"numbered and not: {msgid}"
        if re.match("no memory (for|to) %s$|out of memory: %s$|cannot allocate %s$", msgid):
            continue
        order = [n - 1 for n in numbers] if numbers and numbers[0] else range(len(taken))
        assert sorted(order) == list(range(len(given))) and all(given[n] == kind for n, (_, kind) in zip(order, taken)), msgid
        assert JAPANESE.search(msgstr) or not re.search("[a-z]+ [a-z]+", CONVERSION.sub("", msgid)) or msgstr.isascii() is False, msgid


def test_the_file_is_valid():
    if not shutil.which("msgfmt"):
        pytest.skip("msgfmt is not installed: apt-get install gettext")
    done = subprocess.run(["msgfmt", "-o", os.devnull, SOURCE / "po/ja.po"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr


# ---- Help ----

def help_parts():
    return [p for command in ["", *COMMANDS] for p in parts_of(run(*[command] * bool(command), "--help", env=C).stdout)]


def parts_of(text):
    """The parts of a help text that have a translation."""
    lines, found = text.split("\n"), []

    def joined(first, condition):
        whole = first
        while lines and condition(lines[0]):
            whole = f"{whole} {lines.pop(0).strip()}".strip()
        found.append(whole)
    joined(lines.pop(0), bool)
    found = [found[0].split(" - ", 1)[1]]
    while lines:
        line = lines.pop(0)
        if line == "examples:":
            return [*found, line]
        if line.startswith(("usage: ", "       attn")):
            found += re.split("  +", line[7:], maxsplit=1)[1:]
        elif line.startswith(" "):
            joined("".join(re.split("  +", line[2:], maxsplit=1)[1:]), lambda t: t.startswith("    "))
        elif line:
            joined(line, lambda t: t and t[0] != " " and not t.startswith("exit status:"))
    return found


C = {"LC_ALL": "C.UTF-8"}
JA = {"LC_ALL": "", "LC_MESSAGES": "", "LANG": "ja_JP.UTF-8"}


def english(command):
    return run(*[command] * bool(command), "--help", env=C).stdout


def japanese(command):
    return run(*[command] * bool(command), "--help", "--lang", "ja", env=C).stdout


def entry_lines(text):
    """(indentation and name, column of the description) of each option or command, before the examples."""
    return [(m[1], width(m[0])) for m in re.finditer(r"(?m)^(  --?[a-z]\S*(?: \S+)*)(  +)?", re.split("\n(?:examples|使用例).*\n", text)[0])]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_japanese(command):
    """Every part of it; the options, their columns and the examples are those of the English help."""
    en, ja = english(command), japanese(command)
    assert ja != en and ja == run(*[command] * bool(command), "--help", env=JA).stdout
    for part in parts_of(en):
        assert not re.search("[A-Za-z]{2}", part) or JAPANESE.search(translation(part) or ""), part
        assert not re.search("[a-z]{3} [a-z]{2}", part) or part not in " ".join(ja.split()), part
    assert entry_lines(en) == entry_lines(ja) and (command or all(f"\n  {c:<10} " in ja for c in COMMANDS))
    assert en.partition("\nexamples:\n")[2] == ja.partition("\n使用例：\n")[2]
    assert [line for line in ja.splitlines() if width(line) > 100] == []
    assert not re.search(r"(?m)^ *[、。）」ーっょ]|[（「]$", ja)
    flat = "".join(ja.split())
    for part in parts_of(en):
        assert "".join((translation(part) or part).split()) in flat, part


@pytest.mark.parametrize("command", COMMANDS)
def test_english_help_is_the_text_of_the_source(command):
    """Byte for byte, in every locale but the Japanese ones."""
    found = (SOURCE / f"cli/help/{command}.txt").read_text()
    assert found == english(command)
    for value in ("fr_FR.UTF-8", "C", "POSIX", "", "en_US.UTF-8", "xx"):
        assert run(command, "--help", env={"LC_ALL": value, "LC_MESSAGES": "", "LANG": ""}).stdout == found, value
    assert run(command, "--help", "--lang", "en", env=JA).stdout == found


# ---- The choice of the language ----

def is_japanese(*words, env=None, **options):
    done = run(*words, status=None, env={"LC_ALL": "", "LC_MESSAGES": "", "LANG": "", **(env or {})}, **options)
    return bool(JAPANESE.search(done.stdout + done.stderr))


def test_the_environment_chooses_as_in_posix():
    """LC_ALL, then LC_MESSAGES, then LANG; --lang before all of them."""
    assert is_japanese("--help", env={"LANG": "ja_JP.UTF-8"}) and is_japanese("--help", env={"LC_MESSAGES": "ja", "LANG": "C"})
    assert is_japanese("--help", env={"LC_ALL": "ja", "LC_MESSAGES": "en", "LANG": "C"})
    assert not is_japanese("--help", env={"LC_ALL": "C", "LANG": "ja"}) and not is_japanese("--help", env={"LC_MESSAGES": "de", "LANG": "ja"})
    assert is_japanese("--complete", env={"LANG": "ja"}) and not is_japanese("--complete")
    assert not is_japanese("--help", "--lang", "en", env={"LANG": "ja"}) and not is_japanese("--help")


def test_lang_is_an_option_of_every_command():
    for words in (["--lang", "ja", "--help"], ["--lang=ja", "check"], ["--help", "--lang=ja"], ["help", "run", "--lang", "ja"], ["info", "--help", "--lang=ja"],
                  ["--lang", "ja"]):
        assert is_japanese(*words), words
    assert run("--lang", "ja", "info", "--help").stdout == run("--lang=ja", "info", "--help").stdout == japanese("info")
    assert not is_japanese("check", "--", "--lang", "ja")  # operands
    for command in COMMANDS:
        assert "--lang" in run("--complete", command).stdout
        assert '--lang must be en or ja, got "fr"' in run(command, "--lang", "fr", status=2).stderr
        assert "--lang is given twice" in run(command, "--lang", "en", "--lang=en", status=2).stderr


@pytest.mark.parametrize("words, message", [
    (["--lang=fr", "check"], '--lang must be en or ja, got "fr"'),
    (["--lang", "fr", "--version"], '--lang must be en or ja, got "fr"'),
    (["--lang=ja", "--lang=en", "--version"], "--lang is given twice"),
    (["--lang"], "--lang needs a value"),
    (["--lang", "--version"], "--lang needs a value"),
])
def test_lang_before_the_command_is_checked(words, message):
    """As after it; the command does not run."""
    done = run(*words, status=2)
    assert (done.stdout, done.stderr) == ("", f"attn: {message}\n")


# ---- Messages ----

@pytest.mark.parametrize("words, message", [
    (["chekc"], 'attn: 不明なコマンドです："chekc"（"check" の間違いではありませんか）\n使い方：attn --help\n'),
    (["xyzzy"], 'attn: 不明なコマンドです："xyzzy"\n使い方：attn --help\n'),
    (["check", "--wdith", "3"], "attn check: 不明なオプションです：--wdith（--width の間違いではありませんか）\n使い方：attn check --help\n"),
    (["check", "--width", "3", "x"], "attn check: --width は 20 以上 10000 以下で指定してください（指定値：3）\n"),
    (["new", "--level", "a number"], 'attn new: --level には整数を指定してください（指定値："a number"）\n'),
    (["new", "--kind", "no memory"],
     'attn new: --kind には self、causal、cross、heads、positions、scaling、columns、question のいずれかを指定してください（指定値："no memory"）\n'),
    (["train", "date"], 'attn train: 不明なタスクです："date"（"dates" の間違いではありませんか）\n一覧：attn train --list\n'),
    (["train", "dates", "--quiet", "-o", "x.safetensors", "--config", '{"num_heads": 4, "num_kv_heads": 3}'],
     'attn train: エラー: モデルの構成："num_kv_heads" は num_heads の約数にしてください\n'),
    (["train", "dates", "--quiet", "-o", "x.safetensors", "--config", '{"d_model": 0}'],
     'attn train: エラー: モデルの構成："d_model" には 1 以上 16777216 以下の整数を指定してください（指定値：0）\n'),
    (["check", "none.md"], "attn: none.md: エラー: 開けません：ファイルまたはフォルダーがありません\n"),
    (["check", "ragged.md"], "attn: ragged.md:3:1: エラー: この行の数値は 1 個ですが、隣の行は 2 個です：行列のすべての行を同じ長さにしてください\n"),
    (["check", "twice.md"], "attn: twice.md:5:5: エラー: 一つの計算例に X が 2 回あります：ここでは 2x3、1 行目では 2x2 です。一方を直すか、見出しを付けて別の計算例にしてください\n"),
    (["train", "--data", "no memory.tsv", "-o", "x.safetensors"], "attn: no memory.tsv:2:1: エラー: 行にタブがありません。「入力<TAB>出力」の形にしてください\n"),
    (["info", "cut.npy"], "attn: cut.npy: バイト位置 0: エラー: "),
    (["run", "--q", "none.npy", "--k", "q.npy", "--v", "q.npy", "--plan"], "attn: none.npy: エラー: 開けません：ファイルまたはフォルダーがありません\n"),
])
def test_messages_are_japanese(attn, tmp_path, words, message):
    """With the command, the position and the values of the English message."""
    (tmp_path / "ragged.md").write_text("X\n1 2\n3\n")
    (tmp_path / "twice.md").write_text("X = [[1, 2], [3, 4]]\nW_Q = [[1, 0], [0, 1]]\nQ = [[1, 2], [3, 4]]\n\nX = [[1, 2, 3], [4, 5, 6]]\n")
    (tmp_path / "no memory.tsv").write_text("a\tb\nno tab\n")
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY")
    shutil.copy(tmp_path / "cut.npy", tmp_path / "q.npy")
    printed = attn(*words, status=2, env=JA).stderr
    assert printed.startswith(message) and (not message.endswith("\n") or printed == message), printed
    assert not JAPANESE.search(attn(*words, status=2).stderr)


def test_progress_is_japanese(attn):
    few = ["--steps", 2, "--config", '{"d_model": 8, "num_heads": 2, "ffn_dim": 8, "encoder_layers": 1, "decoder_layers": 1}', "--max-validation-examples", 2]
    done = attn("train", "dates", *few, "-o", "x.safetensors", "--test-examples", 0, "--lang", "ja").stderr
    assert re.match(r"パラメーター \d+ 個、語彙 \d+、学習用メモリ [\d.]+ MiB。Ctrl-C で停止し、チェックポイントを残します\n", done)
    assert re.search(r"\nステップ 2/2  損失 [\d.]+  検証 +[\d.]+ %  \d+ トークン/秒  残り 0:00\n", done), done
    again = attn("generate", "x.safetensors", "Z", "--lang", "ja").stderr
    assert 'attn: text 1:1:1: 警告: "Z" はモデルの語彙にないため、<unk> として読みます\n' in again


def test_json_is_english(attn, tmp_path):
    (tmp_path / "ragged.md").write_text("X\n1 2\n3\n")
    assert attn("info", "--json", env=JA).stdout == attn("info", "--json").stdout
    assert attn("check", "--json", "ragged.md", status=2, env=JA).stdout == attn("check", "--json", "ragged.md", status=2).stdout
