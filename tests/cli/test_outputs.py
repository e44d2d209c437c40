"""Output files: one writer per name, no leftovers, read-only files are kept."""
import fcntl
import os
import subprocess
import time

import numpy as np
import pytest
from conftest import ATTN
from safetensors.numpy import load_file

SMALL = '{"d_model": 8, "num_heads": 2, "ffn_dim": 16, "encoder_layers": 1, "decoder_layers": 1}'
TRAIN = ["train", "dates", "--config", SMALL, "--batch-size", "4", "--max-validation-examples", "4", "--test-examples", "0", "--quiet"]
MARIAN = '{"norm_first": false, "final_norm": false, "positions": "sinusoidal_halves", "tie_word_embeddings": true, "output_bias": true, "d_model": 8}'
LONG = [*TRAIN, "--steps", "100000000", "-o", "m.safetensors"]
SHORT = [*TRAIN, "--steps", "2", "-o", "m.safetensors"]


@pytest.fixture
def run(attn, tmp_path):
    np.save(tmp_path / "q.npy", np.ones((4, 4), np.float32))
    return ["run", "--q", "q.npy", "--k", "q.npy", "--v", "q.npy", "--quiet", "-o"]


def hidden(folder):
    return {name for name in os.listdir(folder) if name.startswith(".")}


@pytest.mark.parametrize("training", [0, 1])
def test_leftovers_of_killed_writers_are_removed(attn, run, tmp_path, training):
    """And nothing else: no file of a running writer, no file of another name, no target of a link."""
    (tmp_path / "mine").write_text("mine")
    for name in ".attn-1-0.part", ".attn-99999-999.part", ".attn-notes.part", ".attn-1-2.part~":
        (tmp_path / name).write_text("half a file")
    (tmp_path / ".attn-old.safetensors.lock").touch(), (tmp_path / ".attn-mine.lock").write_text("mine")
    (tmp_path / ".attn-2-0.part").symlink_to("mine"), (tmp_path / ".attn-3-0.part").mkdir()
    with open(tmp_path / ".attn-4-0.part", "w") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        attn(*(SHORT if training else [*run, "o.npy"]))
    assert hidden(tmp_path) == {".attn-notes.part", ".attn-1-2.part~", ".attn-mine.lock", ".attn-2-0.part",
                                ".attn-3-0.part", ".attn-4-0.part"}
    assert (tmp_path / "mine").read_text() == "mine"


def test_leftovers_of_killed_training_are_removed(attn, tmp_path):
    for n in range(30):
        dies = subprocess.Popen([ATTN, *LONG, "--validate-every", "1", "--overwrite"], cwd=tmp_path)
        time.sleep(0.1 + 0.007 * n)
        dies.kill(), dies.wait()
    attn(*SHORT, "--overwrite")
    assert set(os.listdir(tmp_path)) == {"m.safetensors", "m.last.safetensors"}


@pytest.mark.parametrize("name", ["m.safetensors", "m.last.safetensors"])
def test_two_runs_do_not_share_an_output(attn, tmp_path, name):
    """The second is refused at its start, under any name of the file. It may start once the first is killed."""
    first = subprocess.Popen([ATTN, *LONG], cwd=tmp_path)
    while ".attn-m.last.safetensors.lock" not in hidden(tmp_path):
        time.sleep(0.01)
    (tmp_path / "folder").symlink_to(".")
    for arguments in ([*SHORT, "--overwrite"], [*SHORT[:-1], "folder/" + name], [*SHORT[:-1], "m", "--overwrite"]):
        assert "is another run's output" in attn(*arguments, status=2).stderr
    assert first.poll() is None
    first.kill(), first.wait()
    attn(*SHORT, "--overwrite")
    assert hidden(tmp_path) == set()


def test_read_only_files_are_kept(attn, run, tmp_path):
    """Also for root, which may write everything, and with --overwrite."""
    attn(*SHORT), attn(*run, "o.npy")
    for name in "m.safetensors", "m.last.safetensors", "o.npy":
        (tmp_path / name).chmod(0o444)
        before = (tmp_path / name).read_bytes()
        command = [*run, "o.npy"] if name == "o.npy" else [*SHORT, "--overwrite"]
        assert f"{name}: is read-only; choose another path or make it writable (chmod u+w)" in attn(*command, status=2).stderr
        assert (tmp_path / name).read_bytes() == before and hidden(tmp_path) == set()
        (tmp_path / name).chmod(0o644)
    attn(*SHORT, "--overwrite"), attn(*run, "o.npy")


def test_links_and_special_files(attn, run, tmp_path):
    """A symbolic link is followed; another hard link keeps the old content; devices and folders are refused."""
    attn(*run, "real.npy")
    before = (tmp_path / "real.npy").read_bytes()
    (tmp_path / "link.npy").symlink_to("real.npy"), (tmp_path / "hard.npy").hardlink_to(tmp_path / "real.npy")
    np.save(tmp_path / "q.npy", 2 * np.ones((4, 4), np.float32))
    attn(*run, "link.npy")
    assert (tmp_path / "link.npy").is_symlink() and (tmp_path / "real.npy").read_bytes() != before
    assert (tmp_path / "hard.npy").read_bytes() == before
    for place in "/dev/null", "/dev/stdout", ".":
        assert "regular file" in attn(*SHORT[:-1], place, "--overwrite", status=2).stderr


def test_tensors_added_concurrently_are_all_kept(run, tmp_path):
    """Writers of one file wait for each other."""
    names = [f"t{n}" for n in range(8)]
    for writer in [subprocess.Popen([ATTN, *run, f"all.safetensors:{name}"], cwd=tmp_path) for name in names]:
        assert writer.wait() == 0
    assert set(load_file(tmp_path / "all.safetensors")) == set(names)
    assert not hidden(tmp_path)


def test_a_failed_export_keeps_an_empty_folder(attn, tmp_path):
    """A successful one uses it. Any other folder or link is refused."""
    attn("train", "dates", "--config", MARIAN, *SHORT[4:])
    (tmp_path / "empty").mkdir(), (tmp_path / "full" / "inner").mkdir(parents=True), (tmp_path / "link").symlink_to("gone")
    before = set(os.listdir(tmp_path))
    failed = subprocess.run(["bash", "-c", 'ulimit -f 1; exec "$0" "$@"', ATTN, "export", "m.safetensors", "-o", "empty"],
                            cwd=tmp_path, capture_output=True, text=True)
    assert failed.returncode == 2 and "File too large" in failed.stderr
    for name in "full", "link":
        assert "exists already" in attn("export", "m.safetensors", "-o", name, status=2).stderr
    assert set(os.listdir(tmp_path)) == before and not os.listdir(tmp_path / "empty")
    attn("export", "m.safetensors", "-o", "empty")
    assert set(os.listdir(tmp_path)) == before and "config.json" in os.listdir(tmp_path / "empty")


def test_leftovers_of_a_killed_export_do_not_stop_another(attn, tmp_path):
    """With the same process number, which the first process of every container has."""
    attn("train", "dates", "--config", MARIAN, *SHORT[4:])
    script = 'mkdir "to.$$.part" "to.$$-0.part"; exec "$0" "$@"'
    subprocess.run(["sh", "-c", script, ATTN, "export", "m.safetensors", "-o", "to"], cwd=tmp_path, check=True)
    assert len(os.listdir(tmp_path / "to")) == 5


@pytest.mark.parametrize("command", [
    ["train", "dates", "--config", SMALL, "--batch-size", "64", "--steps", "4", "--test-examples", "70", "-o", "n.safetensors"],
    ["train", "dates", "--tokenizer", "bpe:300", "--batch-size", "8", "--steps", "1", "--test-examples", "1", "-o", "n.safetensors"],
    ["train", "--resume", "m.last.safetensors", "-o", "m.safetensors"],
    ["generate", "m.safetensors", "12 May 1991", "--num-beams", "4", "--num-return-sequences", "4"],
    ["generate", "m.safetensors", "12 May 1991", "--precision", "bf16"],
    ["show", "m.safetensors", "--input", "12 May 1991"], ["embed", "m.safetensors", "one", "two"],
    ["explain", "m.safetensors", "--input", "12 May 1991"],
    ["run", "--q", "l.npy", "--k", "l.npy", "--v", "l.npy", "--causal", "-o", "o.npy", "--verify"],
    ["check", "lesson.md"], ["explain", "lesson.md", "--html", "lesson.html"], ["info", "--measure"]])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_small_stack_is_enough(attn, tmp_path, command, threads):
    """64 KiB, which is then also the default for threads."""
    attn(*SHORT)
    np.save(tmp_path / "l.npy", np.ones((2, 300, 64), np.float32))
    (tmp_path / "lesson.md").write_text(attn("new").stdout)
    done = subprocess.run(["bash", "-c", 'ulimit -s 64; exec "$0" "$@"', ATTN, *command], cwd=tmp_path, capture_output=True,
                          text=True, env={**os.environ, "ATTN_THREADS": str(threads), "LC_ALL": "C.UTF-8"}, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
