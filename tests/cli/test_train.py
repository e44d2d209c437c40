"""attn train and attn generate, mostly with models too small to learn anything."""
import json
import os
import resource
import shlex
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import ATTN, json_lines, read_safetensors, safetensors
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

SMALL = '{"d_model": 8, "num_heads": 2, "ffn_dim": 16, "encoder_layers": 1, "decoder_layers": 1}'
DECODER = '{"kind": "decoder", "d_model": 8, "num_heads": 2, "ffn_dim": 16, "decoder_layers": 1}'
ENCODER = '{"kind": "encoder", "d_model": 32, "num_heads": 4, "ffn_dim": 64, "encoder_layers": 1}'
FEW = ["--config", SMALL, "--steps", "6", "--batch-size", "4", "--validate-every", "3", "--max-validation-examples", "4", "--threads", "2"]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{a}+{b}\t{a + b}\n" for a in range(8) for b in range(8)))
    return path


@pytest.fixture
def model(attn, pairs, tmp_path):
    attn("train", "--data", pairs, "-o", "m.safetensors", *FEW, "--quiet")
    return tmp_path / "m.safetensors"


def test_help_and_tasks(attn):
    for command in "train", "generate":
        assert "usage: attn " + command in attn(command, "--help").stdout
        assert attn(command, status=2).stderr.startswith(f"attn {command}: expected a ")
    tasks = attn("train", "--list").stdout
    assert "dates" in tasks and " -> " in tasks
    assert 'did you mean "dates"?' in attn("train", "datse", status=2).stderr
    assert "did you mean --steps?" in attn("train", "dates", "--stesp", "3", status=2).stderr


def test_a_task(attn, tmp_path):
    done = attn("train", "addition", *FEW, "--test-examples", 10)
    assert "finished after 6 steps" in done.stdout and "of 10 other examples match exactly" in done.stdout
    assert "Ctrl-C stops" in done.stderr and done.stderr.count("\nstep ") == 2
    assert sorted(os.listdir(tmp_path)) == ["addition.last.safetensors", "addition.safetensors"]
    assert attn("generate", "addition.safetensors", "1+1", "2+2", "--max-new-tokens", 5).stdout.count("\n") == 2
    again = attn("train", "addition", *FEW, status=2).stderr
    assert "addition.safetensors exists; resume its run, overwrite it, or choose another name" in again
    attn("train", "addition", *FEW, "--overwrite", "--quiet", "--test-examples", 1)


def test_a_task_whose_decoder_reads_a_prefix(attn):
    assert " | who read the newspaper ? -> friend" in attn("train", "--list").stdout
    attn("train", "questions", *FEW, "-o", "q.safetensors", "--test-examples", 4, "--quiet")
    tries = attn("info", "q.safetensors").stdout.split("try         ")[1].splitlines()
    for command in tries:
        attn(*shlex.split(command)[1:])
    asked = ["generate", "q.safetensors", "父 は 絵 を 見た 。", "妹 は 絵 を 見た 。", "--max-new-tokens", 1, "--target-prefix"]
    one, other = (attn(*asked, question).stdout.splitlines() for question in ("誰 が 見た の ？", "what did my"))
    assert len(one) == len(other) == 2 and one != other
    assert "--target-prefix:1:1: warning: " in attn(*asked, "XYZ").stderr
    assert attn("generate", "q.safetensors", "--target-prefix", "誰", input="父 は\n妹 は\n").stdout.count("\n") == 2
    assert "at most 63 and the end token" in attn(*asked, "誰 " * 70, status=2).stderr


def test_target_prefixes_require_an_encoder_and_a_decoder(attn, pairs):
    for config in DECODER, ENCODER:
        attn("train", "copy", *FEW[2:], "--config", config, "-o", "d.safetensors", "--overwrite", "--quiet", "--test-examples", 1)
        assert "target_prefixes requires an encoder-decoder" in attn("generate", "d.safetensors", "1", "--target-prefix", "2", status=2).stderr


def test_json_is_json(attn, pairs, model):
    out = json_lines(attn("train", "--data", pairs, "-o", "j.safetensors", *FEW, "--json", "--quiet").stdout)
    assert [line["step"] for line in out] == [3, 6, 6]
    assert out[-1]["stop_reason"] == "max_steps" and out[-1]["output"] == "j.safetensors"
    assert all(line.keys() >= {"best_metric", "best_step", "skipped_steps"} for line in out)
    assert out[-1]["test"].keys() == {"examples", "exact_matches", "aligned_tokens", "alignment_matches", "alignment_chance"}, "as in train.h"
    replies = json_lines(attn("generate", model, '1"+\\1\n', "2", "--json", "--num-beams", 3, "--num-return-sequences", 3).stdout)
    assert [r["source"] for r in replies] == ['1"+\\1\n', "2"]
    for r in replies:
        scores = [reply["score"] for reply in r["results"]]
        assert len(scores) == 3 and scores == sorted(scores, reverse=True) and max(scores) <= 0


@pytest.mark.parametrize("text,message", [
    (b"", "bad.tsv: no lines to train on"),
    (b"a\tb\n", "bad.tsv: no lines to validate on"),
    (b"a\tb\nab\n", "attn: bad.tsv:2:1: error: line has no tab; expected source<TAB>target"),
    (b"a\tb\nc\td\te\n", "attn: bad.tsv:2:1: error: line has two tabs; expected source<TAB>target"),
    (b"a\tb\n\0\tc\n", "attn: bad.tsv:2:1: error: line contains a NUL byte"),
    (b"a\tb\n\xff\tc\n", "attn: bad.tsv:2:1: error: line is not UTF-8"),
    (b"a\tb\n" + b"x" * 10_000_000, "attn: bad.tsv:2:1: error: line is longer than 65536 bytes")])
def test_bad_lines_are_reported(attn, pairs, tmp_path, text, message):
    (tmp_path / "bad.tsv").write_bytes(text)
    assert message in attn("train", "--data", "bad.tsv", "-o", "b.safetensors", *FEW, status=2).stderr
    if b"\n" in text and text.count(b"\n") + (not text.endswith(b"\n")) > 1:
        assert message in attn("train", "--data", pairs, "--validation-data", "bad.tsv", "-o", "b.safetensors", *FEW, status=2).stderr
    assert sorted(os.listdir(tmp_path)) == ["bad.tsv", "pairs.tsv"]


@pytest.mark.parametrize("arguments,message", [
    (["--data", "."], "not a regular file"), (["--data", "none"], "attn: none: error: cannot open"), (["--data", "pipe"], "not a regular file"),
    (["-o", "/nowhere/m"], "attn: /nowhere/m: error: cannot create"), (["-o", "."], "is not a regular file"), (["-o", ""], "empty"),
    (["--steps", "-1"], "steps must be at least 1, got -1"), (["--batch-size", str(2**63 - 1)], "batch_size must be between 1 and 1048576, got 9223372036854775807"),
    (["--learning-rate", "nan"], "learning_rate must be"), (["--learning-rate", "inf"], "learning_rate must be"), (["--target-exact-match", "2"], "target_exact_match must be between 0 and 1"), (["--threads", "-1"], "--threads"),
    (["--test-examples", "-1"], "--test-examples"), (["--precision", "half"], '--precision must be float32 or bf16, got "half"'),
    (["--tokenizer", "wordz"], "characters, words, bpe:SIZE or an existing file, got wordz"),
    (["--tokenizer", "bpe:3"], "vocab_size must be between 260 (four special tokens and every byte) and 2^24, got 3"), (["--config", "["], "attn: [: error: cannot open: No such file"), (["--config", "{"], "line 1"),
    (["--config", '{"num_heads": 0}'], '"num_heads" must be'), (["--config", '{"decoder_layers": 0}'], "has no decoder"),
    (["--config", '{"encoder_layers": 0}'], "config has no encoder layers"),
    (["--config", '{"kind": "encoder", "head": "none"}'], "the model has no output head"),
    (["--config", '{"max_positions": 3}'], "tokens; the model has positions for 2")])
def test_bad_options_are_refused_at_once(attn, pairs, tmp_path, arguments, message):
    os.mkfifo(tmp_path / "pipe")
    given = {"--data": "pairs.tsv", "-o": "m.safetensors", "--config": SMALL, "--steps": "2"}
    given.update(zip(arguments[::2], arguments[1::2]))
    done = attn("train", *[word for pair in given.items() for word in pair], status=2)
    assert message in done.stderr and not list(tmp_path.glob("*.safetensors"))


@pytest.mark.parametrize("config", [SMALL, DECODER])
@pytest.mark.parametrize("tokenizer", ["characters", "words", "bpe:270"])
def test_every_kind_of_model_and_tokenizer(attn, tmp_path, config, tokenizer):
    (tmp_path / "t.tsv").write_text("".join(f"{a} and\t  {a}\n" for a in range(30)) + "\t\n")
    attn("train", "--data", "t.tsv", "-o", "t.safetensors", *FEW[2:], "--config", config, "--tokenizer", tokenizer, "--quiet")
    for text in "3 and", "", "☃ \x01", " ":
        done = attn("generate", "t.safetensors", text, "--max-new-tokens", 3, errors="replace")  # may end within a character
        assert done.stdout.endswith("\n")
    assert "at most 63 and the end token fit into max_positions" in attn("generate", "t.safetensors", "1 " * 70, status=2).stderr


def test_a_decoder_learns_any_lines(attn, tmp_path):
    (tmp_path / "t.txt").write_text("so it goes\nand so on\n\tand\ton\nand on\n")
    out = attn("train", "--data", "t.txt", "-o", "t.safetensors", *FEW[2:], "--config", DECODER, "--json", "--quiet").stdout
    assert json_lines(out)[-1]["validation_loss"] > 0


def test_an_encoder_learns_a_token_per_position(attn, tmp_path):
    out = attn("train", "copy", "--config", ENCODER, "--steps", 600, "--learning-rate", 0.01, "--target-exact-match", 0.95, "--validate-every", 50,
               "--max-validation-examples", 64, "--test-examples", 100, "--threads", 1, "--json", "--quiet").stdout
    end = json_lines(out)[-1]
    assert end["stop_reason"] == "target_reached" and end["step"] < 600 and end["test"]["exact_matches"] > 80 and end["test"]["aligned_tokens"] == 0
    sources = ["=" + text for text in ("maple", "copper", "lantern", "window", "quilt")]
    replies = json_lines(attn("generate", "copy.safetensors", *sources, "--json").stdout)
    results = [r["results"][0] for r in replies]
    assert sum("=" + reply["text"] == source for reply, source in zip(results, sources)) >= 4
    for reply in results:
        assert reply["finished"] and -1 < reply["log_prob"] < 0 and abs(reply["log_prob"] - reply["score"]) < 1e-6
    few = attn("generate", "copy.safetensors", sources[0], "--max-new-tokens", 2).stdout.strip()
    assert results[0]["text"].startswith(few) and len(few) < len("maple")
    assert attn("generate", "copy.safetensors", input=sources[0] + "\n\n").stdout.startswith(results[0]["text"] + "\n")
    for bad, message in ((["--num-beams", 2], "one token for each position: num_beams and num_return_sequences must be 0 or 1, got 2"),
                         (["--num-beams", 2, "--num-return-sequences", 2], "one token for each position: num_beams and num_return_sequences must be 0 or 1, got 2"),
                         (["--temperature", 1], "the most likely token for each position: temperature must be 0, got 1")):
        assert "an encoder predicts " + message in attn("generate", "copy.safetensors", sources[0], *bad, status=2).stderr
    shown = json.loads(attn("show", "copy.safetensors", "--input", "=abc", "--json").stdout)
    assert "an encoder takes no target" in attn("show", "copy.safetensors", "--input", "=abc", "--target", "x", status=2).stderr
    assert shown["query_tokens"] == shown["key_tokens"] == [*"=abc", "</s>"]
    assert "softmax" in attn("explain", "copy.safetensors", "--input", "=abc", "--cell", "weights[0,1]").stdout
    assert "no steps were left" in attn("train", "--resume", "copy.last.safetensors", "-o", "n.safetensors").stdout


def test_bf16_learns_too(attn, tmp_path):
    """A model that copies letters; the checkpoint records the precision."""
    run = ["copy", "--config", ENCODER, "--learning-rate", 0.01, "--validate-every", 50, "--max-validation-examples", 64, "--threads", 1, "--precision", "bf16"]
    done = attn("train", *run, "--steps", 600, "--target-exact-match", 0.95, "--test-examples", 100, "--json")
    assert "for training in bf16; Ctrl-C" in done.stderr
    end = json_lines(done.stdout)[-1]
    assert end["stop_reason"] == "target_reached" and end["step"] < 600 and end["test"]["exact_matches"] > 80
    sources = ["=" + text for text in ("maple", "copper", "lantern", "window", "quilt")]
    texts = [r["results"][0]["text"] for r in json_lines(attn("generate", "copy.safetensors", *sources, "--json").stdout)]
    assert sum("=" + text == source for text, source in zip(texts, sources)) >= 4
    head = (tmp_path / "copy.last.safetensors").read_bytes()[:1 << 16]
    assert b'\\"precision\\":\\"bf16\\"' in head


def test_an_encoder_refuses_longer_targets(attn, tmp_path):
    few = [*FEW[2:], "--config", ENCODER, "--quiet"]
    (tmp_path / "t.tsv").write_text("".join(f"{n} is\t{n}\n" for n in range(20)) + "\t\n7\t7 7\n")
    assert ("attn: t.tsv:22:1: error: the target has 3 tokens, its source 1: an encoder predicts one token per position"
            in attn("train", "--data", "t.tsv", "-o", "t.safetensors", *few, status=2).stderr)
    attn("train", "--data", "t.tsv", "-o", "t.safetensors", *few[:-2], SMALL, "--quiet")  # another kind accepts it
    for task in "dates", "numerals", "translation":
        assert "an encoder predicts one token per position" in attn("train", task, *few, status=2).stderr
    (tmp_path / "t.tsv").write_text("so\n")
    assert "attn: t.tsv:1:1: error: line has no tab" in attn("train", "--data", "t.tsv", "-o", "n.safetensors", *few, status=2).stderr


def test_samples_depend_on_the_seed(attn, model):
    def sample(*more):
        return attn("generate", model, "1+1", "--temperature", "5", "--max-new-tokens", "20", *more).stdout
    assert sample("--seed", 1) == sample("--seed", 1, "--threads", 1) and len({sample("--seed", s) for s in range(5)}) > 1
    greedy = attn("generate", model, "1+1", "--max-new-tokens", "20").stdout
    assert sample("--top-k", 1) == greedy
    for bad in (["--temperature", "nan"], ["--temperature", "-1"], ["--top-p", "2"], ["--num-return-sequences", "2"], ["--num-beams", "5000"],
                ["--max-new-tokens", "-1"], ["--length-penalty", "inf"], ["--precision", "int8"], ["--batch-size", "-1"], ["--num-beams", "2", "--temperature", "1"]):
        attn("generate", model, "1+1", *bad, status=2)


def test_bf16_is_close_to_float32(attn, model):
    def score(*more):
        return json.loads(attn("generate", model, "1+1", "--json", "--max-new-tokens", 2, *more).stdout)["results"][0]["log_prob"]
    assert score("--precision", "float32") == score()
    assert 0 < abs(score("--precision", "bf16") - score()) < 0.1


def test_lines_of_standard_input(attn, model):
    one = attn("generate", model, "1+1", "2+2", "1\r1").stdout
    assert attn("generate", model, input="1+1\r\n2+2\n1\r1").stdout == one
    assert attn("generate", model, input="").stdout == ""
    for batch_size in 2, 3, 50:
        assert attn("generate", model, "--batch-size", batch_size, input="1+1\n2+2\n1\r1").stdout == one
        bad = attn("generate", model, "--batch-size", batch_size, input="1+1\n" + "1" * 99 + "\n2\n", status=2)
        assert bad.stdout == one.splitlines(True)[0] and "attn: -:2:1: error: the text has 99 tokens; at most 63 and the end token fit into max_positions" in bad.stderr
        bad = attn("generate", model, "--batch-size", batch_size, input="1+1\n2+2\n1\0\n", status=2)
        assert bad.stdout == "".join(one.splitlines(True)[:2]) and "-:3:2: error: contains a NUL byte" in bad.stderr
    bad = attn("generate", model, input="1+1\n" + "1" * 99 + "\n2\n", status=2)
    assert bad.stdout == one.splitlines(True)[0] and "attn: -:2:1: error: the text has 99 tokens; at most 63 and the end token fit into max_positions" in bad.stderr
    assert "-:1:2: error: contains a NUL byte" in attn("generate", model, input="1\0+1\n", status=2).stderr


def test_a_closed_pipe_ends_the_program(model):
    """Endless lines, of which the reader takes one."""
    talk = subprocess.Popen([ATTN, "generate", model, "--max-new-tokens", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    talk.stdin.write(b"1+1\n"), talk.stdin.flush()
    assert talk.stdout.readline()
    talk.stdout.close()
    with pytest.raises(BrokenPipeError):
        for _ in range(10000):
            talk.stdin.write(b"1+1\n" * 100), talk.stdin.flush()
    assert talk.wait(20) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_resumed_run_is_bit_identical(attn, pairs, tmp_path, number):
    many = [word.replace("6", "60") for word in FEW]
    attn("train", "--data", pairs, "-o", "whole.safetensors", *many, "--quiet")
    start, statuses = ["--data", str(pairs), "-o", "m.safetensors", "--overwrite", *many], []
    for wait in range(30):
        started = (tmp_path / "m.last.safetensors").exists()
        again = ["--resume", "m.last.safetensors", "-o", "m.safetensors", "--threads", "2"]
        run = subprocess.Popen([ATTN, "train", "--quiet", *(again if started else start)], cwd=tmp_path,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.02 * 1.15**wait)
        run.send_signal(number)
        statuses.append(run.wait())
        if statuses[-1] == 0:
            break
    assert statuses[-1] == 0 and set(statuses[:-1]) <= {130, -number}
    for name in "{}.safetensors", "{}.last.safetensors":
        assert (tmp_path / name.format("m")).read_bytes() == (tmp_path / name.format("whole")).read_bytes()


LARGE = "a file of which a vocabulary takes long"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """120000 lines of 40 words, of 200000 words."""
    rng = np.random.default_rng(1)
    words = np.full((200000, 13), ord(" "), np.uint8)
    words[:, :12] = rng.integers(ord("a"), ord("z") + 1, (200000, 12))
    lines = words[rng.integers(len(words), size=(120000, 40))].reshape(120000, -1)
    lines[:, -1] = ord("\t")
    path = tmp_path_factory.mktemp("large") / "large.tsv"
    path.write_bytes(np.hstack([lines, np.tile(np.frombuffer(b"b\n", np.uint8), (120000, 1))]).tobytes())
    return str(path)


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("phase,message", [
    (["dates", "--steps", "1", "--max-validation-examples", "16000000"], "interrupted at step 1"),
    (["dates", "--steps", "9", "--gradient-accumulation-steps", "1000000"], "interrupted at step 0"),
    (["--data", LARGE, "--tokenizer", "bpe:20000"], "interrupted before the first step"),
    (["dates", "--steps", "1", "--max-validation-examples", "1", "--test-examples", "16000000"], "stopped by the caller")])
def test_each_phase_stops_at_the_first_signal(tmp_path, large, number, phase, message):
    """A phase of much more than 20 s ends at once, with status 130, and can be resumed."""
    run = subprocess.Popen([ATTN, "train", *(large if word == LARGE else word for word in phase), "--config", SMALL, "-o", "m.safetensors"], cwd=tmp_path,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while run.poll() is None and cpu_seconds(run.pid) < 0.7:
            time.sleep(0.02)
        assert run.poll() is None, "it ended before the signal"
        start = time.monotonic()
        run.send_signal(number)
        out, err = run.communicate(timeout=60)
    finally:
        run.kill()
    assert time.monotonic() - start < 3 and run.returncode == 130 and message in err, (time.monotonic() - start, run.returncode, out, err)
    left = set(os.listdir(tmp_path))
    assert left == (set() if "before" in message else {"m.last.safetensors"} if "step" in message
                    else {"m.last.safetensors", "m.safetensors"})


def test_a_resumed_run_keeps_its_settings(attn, model, pairs):
    again = ["train", "--resume", "m.last.safetensors", "-o", "m.safetensors"]
    assert "no steps were left" in attn(*again[:-1], "n.safetensors").stdout
    assert "steps cannot change in a resumed run" in attn(*again, "--steps", 9, status=2).stderr
    assert "precision cannot change in a resumed run" in attn(*again, "--precision", "float32", status=2).stderr
    assert "pairs.tsv: error: cannot open" in attn(*again, status=2, preexec_fn=pairs.unlink).stderr
    pairs.write_text("1\t2\n3\t4\n")
    assert "pairs.tsv: the data have changed" in attn(*again, status=2).stderr


def test_divergence(attn, tmp_path):
    for every in 3, 100:
        end = attn("train", "addition", *FEW[:2], "--steps", 40, "--learning-rate", "1e30", "--validate-every", every, "--quiet", status=2)
        assert "try a lower learning_rate" in end.stderr and not os.listdir(tmp_path)


def limited(what, to):
    return lambda: resource.setrlimit(what, (to, to))


def test_a_full_disk(attn, pairs, tmp_path):
    full = attn("train", "--data", pairs, "-o", "m.safetensors", *FEW, status=2, preexec_fn=limited(resource.RLIMIT_FSIZE, 4096))
    assert "m.safetensors: error: cannot write: File too large" in full.stderr and os.listdir(tmp_path) == ["pairs.tsv"]


def test_no_memory(attn, pairs, tmp_path):
    with open(ATTN, "rb") as f:
        if b"__asan_init" in f.read():
            pytest.skip("AddressSanitizer reserves the address space")
    refused = attn("train", "--data", pairs, "-o", "m.safetensors", *FEW[2:], "--config", '{"d_model": 8192}', status=2,
                   preexec_fn=limited(resource.RLIMIT_AS, 1 << 30))
    assert "out of memory" in refused.stderr and os.listdir(tmp_path) == ["pairs.tsv"]


def rewrite(path, to, member, **changes):
    """Changes a member of a checkpoint's metadata."""
    header, data = read_safetensors(path)
    metadata = header["__metadata__"]
    metadata[member] = json.dumps({**json.loads(metadata[member]), **changes})
    to.write_bytes(safetensors(header, data))


def resize_vocabulary(path, to, name, rows):
    """Keeps the first rows of the embedding called name, and changes the configuration to match."""
    header, data = read_safetensors(path)
    metadata, out = header.pop("__metadata__"), b""
    metadata["config"] = json.dumps({**json.loads(metadata["config"]), "source_vocab_size": rows})
    header = {n: t for n, t in header.items() if not n.startswith("adamw.")}
    for n, tensor in header.items():
        begin, end = tensor["data_offsets"]
        if n == name:
            end -= (tensor["shape"][0] - rows) * tensor["shape"][1] * 4
            tensor["shape"][0] = rows
        tensor["data_offsets"] = [len(out), len(out) + end - begin]
        out += data[begin:end]
    to.write_bytes(safetensors({"__metadata__": metadata, **header}, out))


def test_an_encoders_embedding_has_a_row_per_token(attn, tmp_path):
    config = json.dumps(json.loads(ENCODER) | {"shared_embedding": False})
    attn("train", "copy", *FEW[2:], "--config", config, "--test-examples", 1, "--quiet")
    words = 31  # four special tokens, 26 letters, a mark; a tab
    for rows in words + 1, words - 3, 5:
        resize_vocabulary(tmp_path / "copy.safetensors", tmp_path / "lie.safetensors", "source_embedding.weight", rows)
        for command in (["generate", "lie.safetensors", "=zzz"], ["embed", "lie.safetensors", "=zzz"]):
            done = attn(*command, status=0 if rows > words else 2)
            assert rows > words or f"the tokenizer has {words + 1} tokens" in done.stderr


@pytest.mark.parametrize("member,changes", [
    ("config", {"d_model": 1 << 24, "ffn_dim": 1 << 24}), ("config", {"num_heads": 1 << 24, "head_dim": 1 << 24}),
    ("config", {"vocab_size": 5, "source_vocab_size": 5}), ("config", {"kind": "encoder"}), ("tokenizer", {"version": 7}),
    ("training", {"max_tokens": 1 << 40}), ("training", {"max_length": -1}), ("training", {"step": 2**63 - 1}), ("training", {"gradient_accumulation_steps": 0}),
    ("training", {"precision": "half"}), ("training", {"precision": 16}),
    ("run", {"data": None}), ("run", {"data": None, "task": "datez"}), ("run", {"data_hash": 5}), ("run", {"max_validation_examples": 0}),
    ("run", {"max_validation_examples": (1 << 24) + 1}), ("run", {"max_validation_examples": 1 << 62})])
def test_checkpoints_with_false_metadata(attn, model, tmp_path, member, changes):
    rewrite(model, tmp_path / "lie.last.safetensors", member, **changes)
    attn("train", "--resume", "lie.last.safetensors", "-o", "lie.safetensors", status=2)
    attn("generate", "lie.last.safetensors", "1+1", status=2 if member in ("config", "tokenizer") else 0)


def test_weights_that_are_not_finite(attn, model, tmp_path):
    """An error, and neither text nor an embedding."""
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


def test_files_that_are_not_checkpoints(attn, model, pairs, tmp_path):
    whole = model.read_bytes()
    for name, data in ("cut", whole[:5000]), ("short", whole[:-4]), ("empty", b""), ("text", b"1\t2\n"):
        (tmp_path / name).write_bytes(data)
        for command in (["generate", name, "1"], ["train", "--resume", name, "-o", "n.safetensors"]):
            assert f": {name}: " in attn(*command, status=2).stderr
    assert "config.json: error: cannot open" in attn("generate", ".", "1", status=2).stderr
