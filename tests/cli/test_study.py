"""attn study: claims about attention as experiments."""
import json
import math
import signal
import statistics
import subprocess
import time

import pytest

from conftest import ATTN, run

T_975 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}  # Student's t, by degrees of freedom


def study(*arguments):
    return json.loads(run("study", *arguments, "--json", "--quiet").stdout)


def means(table):
    return {row: dict(zip(table["columns"], (cell["mean"] for cell in values))) for row, values in zip(table["rows"], table["values"])}


def test_list():
    names = [line.split()[0] for line in run("study", "--list").stdout.splitlines()]
    assert names == ["scaling", "residual", "norm", "heads", "positions", "bottleneck", "alignment", "permutation"]


def test_self_attention_is_equivariant_until_positions_are_added():
    difference, bits = map(means, (t for t in study("permutation", "--seeds", "8")["tables"]))
    assert bits["queries permuted"]["share"] == 1 and difference["queries permuted"]["largest"] == 0
    assert 0 < difference["all permuted"]["largest"] < 1e-5
    assert difference["with positions"]["largest"] > 0.1


def test_unscaled_scores_saturate_the_softmax():
    """The weights of 16 keys: 64 dimensions leave their largest weight unchanged if scaled, and nearly 1 if not; the gradient
    vanishes. 20 steps of training are too few for its claim."""
    weight, gradient, _ = map(means, study("scaling", "--steps", "4", "--seeds", "2")["tables"])
    assert abs(weight["scores / sqrt(d)"]["512"] - weight["scores / sqrt(d)"]["16"]) < 0.1
    assert weight["scores"]["512"] > 0.85 and gradient["scores"]["512"] < gradient["scores / sqrt(d)"]["512"] / 2


def test_residual_connections_train_four_layers():
    table = means(study("residual", "--seeds", "1", "--steps", "65", "--test-examples", "200")["tables"][0])
    assert table["x + f(x)"]["4"] > 0.15 and table["f(x)"]["4"] < 0.05


def test_means_and_intervals_follow_from_the_samples():
    """Student's t over the seeds; the same seeds give the same samples."""
    first, again = (study("permutation", "--seeds", "3", "--seed", "5") for _ in range(2))
    assert first == again
    for table in first["tables"]:
        for cell in (cell for row in table["values"] for cell in row):
            x = cell["samples"]
            assert len(x) == 3 and math.isclose(cell["mean"], statistics.mean(x), rel_tol=1e-12, abs_tol=1e-15)
            assert math.isclose(cell["half_width"], T_975[2] * statistics.stdev(x) / math.sqrt(3), rel_tol=1e-3, abs_tol=1e-15)
    assert study("permutation", "--seeds", "1")["tables"][0]["values"][0][0]["half_width"] is None


def test_the_heads_of_one_layer_differ():
    exact, distance, time_of_a_step = map(means, study("heads", "--seeds", "1", "--steps", "3", "--test-examples", "20")["tables"])
    assert distance["distance"]["1"] is None and 0 < distance["distance"]["8"] <= 1
    assert all(ms > 0 for ms in time_of_a_step["ms"].values()) and set(exact["exact matches"]) == {"1", "2", "4", "8"}


def test_pictures(tmp_path):
    svg, html = tmp_path / "s.svg", tmp_path / "s.html"
    assert "0.000" in run("study", "permutation", "--svg", svg, "--html", html).stdout
    assert "<svg" in svg.read_text() and "queries permuted" in svg.read_text() and "<table" in html.read_text()


@pytest.mark.parametrize("arguments,message", [
    (["scalling"], 'did you mean "scaling"'), ([], "expected one study"), (["norm", "heads"], "expected one study"),
    (["norm", "--seeds", "0"], "--seeds must be between 1 and 32"), (["norm", "--seeds", "33"], "--seeds"),
    (["norm", "--steps", "0"], "--steps must be between 1"), (["norm", "--threads", "-1"], "--threads"),
    (["norm", "--test-examples", "0"], "--test-examples must be between 1")])
def test_bad_arguments(arguments, message):
    done = run("study", *arguments, status=2)
    assert message in done.stderr and done.stdout == ""


def test_ctrl_c_leaves_no_files(tmp_path):
    process = subprocess.Popen([ATTN, "study", "positions"], env={"TMPDIR": str(tmp_path), "LC_ALL": "C.UTF-8"}, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not list(tmp_path.glob("attn-study-*/train.tsv")) and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and stdout == "" and not list(tmp_path.iterdir())


def test_a_folder_for_temporary_files_that_does_not_exist(tmp_path):
    done = run("study", "norm", env={"TMPDIR": str(tmp_path / "absent")}, status=2)
    assert "No such file" in done.stderr


def test_captioners_are_compared():
    """Untrained models: shares of all alignments, and no pointing without weights that differ."""
    quick = ["--seeds", "1", "--steps", "1", "--test-examples", "10"]
    tables = study("alignment", *quick)["tables"]
    rows = dict(zip(tables[0]["rows"], tables[0]["values"]))
    assert list(rows) == ["additive", "dot", "scaled", "general", "uniform"] and rows["uniform"][2]["mean"] is None
    assert all(0 <= row[0]["mean"] <= 1 for row in rows.values()) and all(row[0]["mean"] > 0 for row in tables[1]["values"])
    assert study("bottleneck", *quick)["tables"][0]["columns"] == ["1", "2", "3"]
