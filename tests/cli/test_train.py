"""attn train and attn generate, as a person types them: models so small that they learn nothing."""
import json
import os
import random
import resource
import signal
import struct
import subprocess
import time

import pytest
from conftest import ATTN
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

SMALL = '{"d_model": 8, "num_heads": 2, "ffn_dim": 16, "encoder_layers": 1, "decoder_layers": 1}'
DECODER = '{"kind": "decoder", "d_model": 8, "num_heads": 2, "ffn_dim": 16, "decoder_layers": 1}'
ENCODER = '{"kind": "encoder", "d_model": 32, "num_heads": 4, "ffn_dim": 64, "encoder_layers": 1}'
FEW = ["--config", SMALL, "--steps", "6", "--batch", "4", "--validate-every", "3", "--examples", "4", "--threads", "2"]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{a}+{b}\t{a + b}\n" for a in range(8) for b in range(8)))
    return path


@pytest.fixture
def model(attn, pairs, tmp_path):
    attn("train", "--data", pairs, "-o", "m.safetensors", *FEW, "--quiet")
    return tmp_path / "m.safetensors"


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_help_and_tasks(attn):
    for command in "train", "generate":
        assert "usage: attn " + command in attn(command, "--help").stdout
        assert attn(command, status=2).stderr.startswith(f"attn {command}: which ")
    tasks = attn("train", "--list").stdout
    assert "dates" in tasks and " -> " in tasks
    assert 'did you mean "dates"?' in attn("train", "datse", status=2).stderr
    assert "did you mean --steps?" in attn("train", "dates", "--stesp", "3", status=2).stderr


def test_a_task_from_beginning_to_end(attn, tmp_path):
    done = attn("train", "addition", *FEW, "--examine", 10)
    assert "all steps made after 6 steps" in done.stdout and "of 10 other unseen examples right" in done.stdout
    assert "Ctrl-C keeps" in done.stderr and done.stderr.count("\nstep ") == 2
    assert sorted(os.listdir(tmp_path)) == ["addition.last.safetensors", "addition.safetensors"]
    assert attn("generate", "addition.safetensors", "1+1", "2+2", "--most", 5).stdout.count("\n") == 2
    again = attn("train", "addition", *FEW, status=2).stderr
    assert "addition.safetensors exists" in again
    attn("train", "addition", *FEW, "--replace", "--quiet", "--examine", 1)


def test_json_is_json(attn, pairs, model):
    out = lines(attn("train", "--data", pairs, "-o", "j.safetensors", *FEW, "--json", "--quiet").stdout)
    assert [line["step"] for line in out] == [3, 6, 6]
    assert out[-1]["end"] == "all steps made" and out[-1]["output"] == "j.safetensors"
    replies = lines(attn("generate", model, '1"+\\1\n', "2", "--json", "--beams", 3, "--n-best", 3).stdout)
    assert [r["source"] for r in replies] == ['1"+\\1\n', "2"]
    for r in replies:
        scores = [reply["score"] for reply in r["replies"]]
        assert len(scores) == 3 and scores == sorted(scores, reverse=True) and max(scores) <= 0


@pytest.mark.parametrize("text,says", [
    (b"", "bad.tsv: no lines to train on"),
    (b"a\tb\n", "bad.tsv: no lines to validate on"),
    (b"a\tb\nab\n", "attn: bad.tsv:2:1: error: line has no tab"),
    (b"a\tb\nc\td\te\n", "attn: bad.tsv:2:1: error: line has two tabs"),
    (b"a\tb\n\0\tc\n", "attn: bad.tsv:2:1: error: line contains a NUL byte"),
    (b"a\tb\n\xff\tc\n", "attn: bad.tsv:2:1: error: line is not UTF-8"),
    (b"a\tb\n" + b"x" * 10_000_000, "attn: bad.tsv:2:1: error: line is longer than 65536 bytes")])
def test_bad_lines_are_named(attn, pairs, tmp_path, text, says):
    (tmp_path / "bad.tsv").write_bytes(text)
    assert says in attn("train", "--data", "bad.tsv", "-o", "b.safetensors", *FEW, status=2).stderr
    if b"\n" in text and text.count(b"\n") + (not text.endswith(b"\n")) > 1:
        assert says in attn("train", "--data", pairs, "--held-out", "bad.tsv", "-o", "b.safetensors", *FEW, status=2).stderr
    assert sorted(os.listdir(tmp_path)) == ["bad.tsv", "pairs.tsv"]


@pytest.mark.parametrize("arguments,says", [
    (["--data", "."], "not a regular file"), (["--data", "none"], "attn: none: error: cannot open"), (["--data", "pipe"], "not a regular file"),
    (["-o", "/nowhere/m"], "attn: /nowhere/m: error: cannot create"), (["-o", "."], "is not a regular file"), (["-o", ""], "empty"),
    (["--steps", "-1"], "steps must be at least 1, got -1"), (["--batch", str(2**63 - 1)], "batch_size must be between 1 and 1048576, got 9223372036854775807"),
    (["--rate", "nan"], "learning_rate"), (["--rate", "inf"], "learning_rate"), (["--until", "2"], "target_exact_match"), (["--threads", "-1"], "--threads"),
    (["--examine", "-1"], "--examine"), (["--precision", "half"], 'precision must be "float32" or "bf16"'),
    (["--tokenizer", "wordz"], "characters, words, bpe:SIZE"),
    (["--tokenizer", "bpe:3"], "vocab_size must be between 260"), (["--config", "["], "attn: [: error: cannot open: No such file"), (["--config", "{"], "line 1"),
    (["--config", '{"num_heads": 0}'], '"num_heads" must be'), (["--config", '{"decoder_layers": 0}'], "has no decoder"),
    (["--config", '{"encoder_layers": 0}'], "no encoder layers"),
    (["--config", '{"kind": "encoder", "head": "none"}'], "no output head"),
    (["--config", '{"length": 3}'], "tokens; the model has positions for 2")])
def test_what_cannot_be_is_refused_at_once(attn, pairs, tmp_path, arguments, says):
    os.mkfifo(tmp_path / "pipe")
    given = {"--data": "pairs.tsv", "-o": "m.safetensors", "--config": SMALL, "--steps": "2"}
    given.update(zip(arguments[::2], arguments[1::2]))
    done = attn("train", *[word for pair in given.items() for word in pair], status=2)
    assert says in done.stderr and not list(tmp_path.glob("*.safetensors"))


@pytest.mark.parametrize("config", [SMALL, DECODER])
@pytest.mark.parametrize("tokenizer", ["characters", "words", "bpe:270"])
def test_every_kind_of_model_and_words(attn, tmp_path, config, tokenizer):
    (tmp_path / "t.tsv").write_text("".join(f"{a} and\t  {a}\n" for a in range(30)) + "\t\n")
    attn("train", "--data", "t.tsv", "-o", "t.safetensors", *FEW[2:], "--config", config, "--tokenizer", tokenizer, "--quiet")
    for text in "3 and", "", "☃ \x01", " ":
        said = attn("generate", "t.safetensors", text, "--most", 3, errors="replace")  # half a character, maybe
        assert said.stdout.endswith("\n")
    assert "max_positions" in attn("generate", "t.safetensors", "1 " * 70, status=2).stderr


def test_a_decoder_learns_any_lines(attn, tmp_path):
    (tmp_path / "t.txt").write_text("so it goes\nand so on\n\tand\ton\nand on\n")
    out = attn("train", "--data", "t.txt", "-o", "t.safetensors", *FEW[2:], "--config", DECODER, "--json", "--quiet").stdout
    assert lines(out)[-1]["validation_loss"] > 0


def test_an_encoder_learns_a_token_for_each_place(attn, tmp_path):
    out = attn("train", "copy", "--config", ENCODER, "--steps", 600, "--rate", 0.01, "--until", 0.95, "--validate-every", 50,
               "--examples", 64, "--examine", 100, "--threads", 1, "--json", "--quiet").stdout
    end = lines(out)[-1]
    assert end["end"] == "good enough" and end["step"] < 600 and end["exact"] > 80 and end["aligned"] == 0
    sources = ["=" + text for text in ("maple", "copper", "lantern", "window", "quilt")]
    replies = lines(attn("generate", "copy.safetensors", *sources, "--json").stdout)
    said = [r["replies"][0] for r in replies]
    assert sum("=" + reply["text"] == source for reply, source in zip(said, sources)) >= 4
    for reply in said:
        assert reply["ended"] and -1 < reply["log_p"] < 0 and abs(reply["log_p"] - reply["score"]) < 1e-6
    few = attn("generate", "copy.safetensors", sources[0], "--most", 2).stdout.strip()
    assert said[0]["text"].startswith(few) and len(few) < len("maple")
    assert attn("generate", "copy.safetensors", input=sources[0] + "\n\n").stdout.startswith(said[0]["text"] + "\n")
    for bad in ["--beams", 2], ["--beams", 2, "--n-best", 2], ["--temperature", 1]:
        assert "an encoder predicts" in attn("generate", "copy.safetensors", sources[0], *bad, status=2).stderr
    shown = json.loads(attn("show", "copy.safetensors", "--input", "=abc", "--json").stdout)
    assert "takes no target" in attn("show", "copy.safetensors", "--input", "=abc", "--target", "x", status=2).stderr
    assert shown["rows"] == shown["columns"] == [*"=abc", "</s>"]
    assert "softmax" in attn("explain", "copy.safetensors", "--input", "=abc", "--cell", "weights[0,1]").stdout
    assert "nothing was left to do" in attn("train", "--resume", "copy.last.safetensors", "-o", "n.safetensors").stdout


def test_bf16_learns_too(attn, tmp_path):
    """Copying letters; and a run that is to go on knows its precision."""
    how = ["copy", "--config", ENCODER, "--rate", 0.01, "--validate-every", 50, "--examples", 64, "--threads", 1, "--precision", "bf16"]
    done = attn("train", *how, "--steps", 600, "--until", 0.95, "--examine", 100, "--json")
    assert "for training in bf16; Ctrl-C" in done.stderr
    end = lines(done.stdout)[-1]
    assert end["end"] == "good enough" and end["step"] < 600 and end["exact"] > 80
    sources = ["=" + text for text in ("maple", "copper", "lantern", "window", "quilt")]
    said = [r["replies"][0]["text"] for r in lines(attn("generate", "copy.safetensors", *sources, "--json").stdout)]
    assert sum("=" + text == source for text, source in zip(said, sources)) >= 4
    head = (tmp_path / "copy.last.safetensors").read_bytes()[:1 << 16]
    assert b'\\"precision\\":\\"bf16\\"' in head


def test_an_encoder_has_no_place_for_more(attn, tmp_path):
    few = [*FEW[2:], "--config", ENCODER, "--quiet"]
    (tmp_path / "t.tsv").write_text("".join(f"{n} is\t{n}\n" for n in range(20)) + "\t\n7\t7 7\n")
    assert ("attn: t.tsv:22:1: error: the target has 3 tokens, its source 1: an encoder predicts one token per position"
            in attn("train", "--data", "t.tsv", "-o", "t.safetensors", *few, status=2).stderr)
    attn("train", "--data", "t.tsv", "-o", "t.safetensors", *few[:-2], SMALL, "--quiet")  # another kind has
    for task in "dates", "numerals", "translation":
        assert "an encoder predicts one token per position" in attn("train", task, *few, status=2).stderr
    (tmp_path / "t.tsv").write_text("so\n")
    assert "attn: t.tsv:1:1: error: line has no tab" in attn("train", "--data", "t.tsv", "-o", "n.safetensors", *few, status=2).stderr


def test_what_is_drawn_is_the_seeds(attn, model):
    def draw(*more):
        return attn("generate", model, "1+1", "--temperature", "5", "--most", "20", *more).stdout
    assert draw("--seed", 1) == draw("--seed", 1, "--threads", 1) and len({draw("--seed", s) for s in range(5)}) > 1
    greedy = attn("generate", model, "1+1", "--most", "20").stdout
    assert draw("--top-k", 1) == greedy
    for bad in (["--temperature", "nan"], ["--temperature", "-1"], ["--top-p", "2"], ["--n-best", "2"], ["--beams", "5000"],
                ["--most", "-1"], ["--length-penalty", "inf"], ["--precision", "int8"], ["--together", "-1"], ["--beams", "2", "--temperature", "1"]):
        attn("generate", model, "1+1", *bad, status=2)


def test_replies_in_bf16_are_nearly_those_in_float32(attn, model):
    def score(*more):
        return json.loads(attn("generate", model, "1+1", "--json", "--most", 2, *more).stdout)["replies"][0]["log_p"]
    assert score("--precision", "float32") == score()
    assert 0 < abs(score("--precision", "bf16") - score()) < 0.1


def test_lines_of_standard_input(attn, model):
    one = attn("generate", model, "1+1", "2+2", "1\r1").stdout
    assert attn("generate", model, input="1+1\r\n2+2\n1\r1").stdout == one
    assert attn("generate", model, input="").stdout == ""
    for together in 2, 3, 50:
        assert attn("generate", model, "--together", together, input="1+1\n2+2\n1\r1").stdout == one
        bad = attn("generate", model, "--together", together, input="1+1\n" + "1" * 99 + "\n2\n", status=2)
        assert bad.stdout == one.splitlines(True)[0] and "attn: -:2:1: error: the text has 99 tokens" in bad.stderr
        bad = attn("generate", model, "--together", together, input="1+1\n2+2\n1\0\n", status=2)
        assert bad.stdout == "".join(one.splitlines(True)[:2]) and "-:3:2: error: holds a byte 0" in bad.stderr
    bad = attn("generate", model, input="1+1\n" + "1" * 99 + "\n2\n", status=2)
    assert bad.stdout == one.splitlines(True)[0] and "attn: -:2:1: error: the text has 99 tokens" in bad.stderr
    assert "-:1:2: error: holds a byte 0" in attn("generate", model, input="1\0+1\n", status=2).stderr


def test_a_reader_that_goes_away_ends_it(model):
    """Lines without end, of which only the first is read."""
    talk = subprocess.Popen([ATTN, "generate", model, "--most", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    talk.stdin.write(b"1+1\n"), talk.stdin.flush()
    assert talk.stdout.readline()
    talk.stdout.close()
    with pytest.raises(BrokenPipeError):
        for _ in range(10000):
            talk.stdin.write(b"1+1\n" * 100), talk.stdin.flush()
    assert talk.wait(20) == 2


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_stopped_and_gone_on(attn, pairs, tmp_path, how):
    many = [word if word != "6" else "60" for word in FEW]
    attn("train", "--data", pairs, "-o", "whole.safetensors", *many, "--quiet")
    start, statuses = ["--data", str(pairs), "-o", "m.safetensors", "--replace", *many], []
    for wait in range(30):
        begun = (tmp_path / "m.last.safetensors").exists()
        again = ["--resume", "m.last.safetensors", "-o", "m.safetensors", "--threads", "2"]
        run = subprocess.Popen([ATTN, "train", "--quiet", *(again if begun else start)], cwd=tmp_path,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.02 * 1.15**wait)
        run.send_signal(how)
        statuses.append(run.wait())
        if statuses[-1] == 0:
            break
    assert statuses[-1] == 0 and set(statuses[:-1]) <= {130, -how}
    for name in "{}.safetensors", "{}.last.safetensors":
        assert (tmp_path / name.format("m")).read_bytes() == (tmp_path / name.format("whole")).read_bytes()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("phase,says", [
    (["dates", "--steps", "1", "--examples", "16000000"], "interrupted at step 1"),
    (["dates", "--steps", "9", "--accumulate", "1000000"], "interrupted at step 0"),
    (["--data", "large.tsv", "--tokenizer", "bpe:20000"], "interrupted before the first step"),
    (["dates", "--steps", "1", "--examples", "1", "--examine", "16000000"], "stopped by the caller")])
def test_each_phase_hears_the_first_signal(tmp_path, how, phase, says):
    """What would take much longer than 20 s ends at once, with status 130, and can go on."""
    if "large.tsv" in phase:
        draw = random.Random(1)
        words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=12)) for _ in range(200000)]
        (tmp_path / "large.tsv").write_text("".join(f"{' '.join(draw.choices(words, k=40))}\tb\n" for _ in range(120000)))
    run = subprocess.Popen([ATTN, "train", *phase, "--config", SMALL, "-o", "m.safetensors"], cwd=tmp_path,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(2.5)
    assert run.poll() is None, "it ended before it could be interrupted: nothing is shown"
    start = time.monotonic()
    run.send_signal(how)
    out, err = run.communicate()
    assert time.monotonic() - start < 3 and run.returncode == 130 and says in err, (time.monotonic() - start, run.returncode, out, err)
    left = set(os.listdir(tmp_path)) - {"large.tsv"}
    assert left == (set() if "before" in says else {"m.last.safetensors"} if "step" in says
                    else {"m.last.safetensors", "m.safetensors"})


def test_a_run_goes_on_as_it_was(attn, model, pairs):
    again = ["train", "--resume", "m.last.safetensors", "-o", "m.safetensors"]
    assert "nothing was left to do" in attn(*again[:-1], "n.safetensors").stdout
    assert "steps cannot change in a resumed run" in attn(*again, "--steps", 9, status=2).stderr
    assert "precision cannot change in a resumed run" in attn(*again, "--precision", "float32", status=2).stderr
    assert "pairs.tsv: error: cannot open" in attn(*again, status=2, preexec_fn=pairs.unlink).stderr
    pairs.write_text("1\t2\n3\t4\n")
    assert "pairs.tsv: the data have changed" in attn(*again, status=2).stderr


def test_divergence(attn, tmp_path):
    for every in 3, 100:
        end = attn("train", "addition", *FEW[:2], "--steps", 40, "--rate", "1e30", "--validate-every", every, "--quiet", status=2)
        assert "try a lower learning_rate" in end.stderr and not os.listdir(tmp_path)


def limited(what, to):
    return lambda: resource.setrlimit(what, (to, to))


def test_a_full_disk(attn, pairs, tmp_path):
    full = attn("train", "--data", pairs, "-o", "m.safetensors", *FEW, status=2, preexec_fn=limited(resource.RLIMIT_FSIZE, 4096))
    assert "m.safetensors: error: cannot write: File too large" in full.stderr and os.listdir(tmp_path) == ["pairs.tsv"]


def test_memory_that_is_refused(attn, pairs, tmp_path):
    with open(ATTN, "rb") as f:
        if b"__asan_init" in f.read():
            pytest.skip("AddressSanitizer takes all the address space there is")
    refused = attn("train", "--data", pairs, "-o", "m.safetensors", *FEW[2:], "--config", '{"d_model": 8192}', status=2,
                   preexec_fn=limited(resource.RLIMIT_AS, 1 << 30))
    assert "out of memory" in refused.stderr and os.listdir(tmp_path) == ["pairs.tsv"]


def rewrite(path, to, member, **changes):
    """A checkpoint whose metadata say something else."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + size])
    head["__metadata__"][member] = json.dumps({**json.loads(head["__metadata__"][member]), **changes})
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    to.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size:])


def shorten(path, to, name, rows):
    """A checkpoint with fewer rows of a table, and a configuration that agrees."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    head, body, out = json.loads(data[8:8 + size]), data[8 + size:], b""
    config = {**json.loads(head["__metadata__"]["config"]), "source_vocab_size": rows}
    head = {n: t for n, t in head.items() if not n.startswith("adamw.")}
    head["__metadata__"]["config"] = json.dumps(config)
    for n, tensor in head.items():
        if n != "__metadata__":
            begin, end = tensor["data_offsets"]
            if n == name:
                end -= (tensor["shape"][0] - rows) * tensor["shape"][1] * 4
                tensor["shape"][0] = rows
            tensor["data_offsets"] = [len(out), len(out) + end - begin]
            out += body[begin:end]
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    to.write_bytes(struct.pack("<Q", len(text)) + text + out)


def test_an_encoders_table_has_a_row_for_each_word(attn, tmp_path):
    config = json.dumps(json.loads(ENCODER) | {"share_encoder_decoder_embeddings": False})
    attn("train", "copy", *FEW[2:], "--config", config, "--examine", 1, "--quiet")
    words = 31  # four special ones, 26 letters, a mark; a tab
    for rows in words + 1, words - 3, 5:
        shorten(tmp_path / "copy.safetensors", tmp_path / "lie.safetensors", "source_embedding.weight", rows)
        for command in (["generate", "lie.safetensors", "=zzz"], ["embed", "lie.safetensors", "=zzz"]):
            done = attn(*command, status=0 if rows > words else 2)
            assert rows > words or f"the tokenizer has {words + 1} tokens" in done.stderr


@pytest.mark.parametrize("member,changes", [
    ("config", {"d_model": 1 << 24, "ffn_dim": 1 << 24}), ("config", {"num_heads": 1 << 24, "head_dim": 1 << 24}),
    ("config", {"vocabulary": 5, "source_vocabulary": 5}), ("config", {"kind": "encoder"}), ("tokenizer", {"version": 7}),
    ("training", {"max_tokens": 1 << 40}), ("training", {"max_length": -1}), ("training", {"step": 2**63 - 1}), ("training", {"gradient_accumulation_steps": 0}),
    ("training", {"precision": "half"}), ("training", {"precision": 16}),
    ("run", {"data": None}), ("run", {"data": None, "task": "datez"}), ("run", {"data_hash": 5}), ("run", {"max_validation_examples": 0}),
    ("run", {"max_validation_examples": (1 << 24) + 1}), ("run", {"max_validation_examples": 1 << 62})])
def test_checkpoints_that_lie(attn, model, tmp_path, member, changes):
    rewrite(model, tmp_path / "lie.last.safetensors", member, **changes)
    attn("train", "--resume", "lie.last.safetensors", "-o", "lie.safetensors", status=2)
    attn("generate", "lie.last.safetensors", "1+1", status=2 if member in ("config", "tokenizer") else 0)


def test_weights_that_are_no_numbers_say_nothing(attn, model, tmp_path):
    """No reply, no vector, no cosine of 0 is made of them."""
    bad = load_file(model)
    with safe_open(model, "numpy") as file:
        metadata = file.metadata()
    bad["encoder.norm.bias"][0] = float("nan")
    save_file(bad, tmp_path / "bad.safetensors", metadata)
    for command in (["generate", "bad.safetensors", "1+1"], ["show", "bad.safetensors", "--input", "1+1"],
                    ["embed", "bad.safetensors", "1+1", "2+2"], ["embed", "bad.safetensors", "1+1", "--json"],
                    ["embed", "bad.safetensors", "1+1", "-o", "v.npy"]):
        assert "not finite" in attn(*command, status=2).stderr
    assert not (tmp_path / "v.npy").exists()


def test_files_that_are_no_checkpoints(attn, model, pairs, tmp_path):
    whole = model.read_bytes()
    for name, data in ("cut", whole[:5000]), ("short", whole[:-4]), ("empty", b""), ("text", b"1\t2\n"):
        (tmp_path / name).write_bytes(data)
        for command in (["generate", name, "1"], ["train", "--resume", name, "-o", "n.safetensors"]):
            assert f": {name}: " in attn(*command, status=2).stderr
    assert "config.json: error: cannot open" in attn("generate", ".", "1", status=2).stderr
