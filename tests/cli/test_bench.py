"""attn bench: the cases, their checks, the peers. The times themselves are not tested."""
import importlib.util
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from conftest import ATTN, SOURCE, run

QUICK = ["--quick", "--quiet"]
SCHEMA = json.loads((SOURCE / "docs/bench.schema.json").read_text())
WORKS = ["forward", "mask", "backward", "decode", "short", "shapes", "features", "threads", "train", "generate"]


def bench(*arguments, **options):
    return json.loads(run("bench", *QUICK, *arguments, "--json", **options).stdout)


@pytest.fixture(scope="module")
def every_run(tmp_path_factory):
    """The folder of a run of all cases, with PyTorch where it is installed: its result, pictures, and its folder for temporary files."""
    folder = tmp_path_factory.mktemp("bench")
    (folder / "temporary").mkdir()
    done = run("bench", *QUICK, "--peers", "torch" if importlib.util.find_spec("torch") else "none", "--python", sys.executable, "--json",
               "--svg", folder / "b.svg", "--html", folder / "b.html", env={"TMPDIR": str(folder / "temporary")})
    (folder / "result.json").write_text(done.stdout.splitlines()[0])
    return folder


@pytest.fixture(scope="module")
def every_case(every_run):
    return json.loads((every_run / "result.json").read_text())


def test_every_case_is_right_and_measured(every_case):
    """A wrong result is an error, so a run that succeeds has checked each case against the equations in double."""
    result = every_case
    jsonschema.validate(result, SCHEMA)
    assert list(dict.fromkeys(case["work"] for case in result["cases"])) == WORKS
    for case in result["cases"]:
        assert case["skipped"] == f"needs {case['threads']} CPUs" if case["threads"] > result["cpus"] else case["rates"]["best"] > 0
    assert result["peak_gflops"] > 0 and result["read_gbytes"] > 0 and not result["interrupted"]


def test_best_median_and_share_follow_from_the_samples(every_case):
    for case in every_case["cases"]:
        ours, limit, base = case["rates"], case["limit"], case["base"]
        if case["skipped"]:
            continue
        assert ours["best"] == max(ours["samples"]) and ours["median"] == pytest.approx(statistics.median(ours["samples"]))
        assert case["share"] == (limit and pytest.approx(ours["best"] / max(limit["samples"])))
        if case["work"] in ("forward", "mask"):
            own_peak = case["dtype"] == "f32" or (case["dtype"] == "bf16" and every_case["isa"] in ("avx512_bf16", "amx_bf16"))
            assert (base is None) == (case["work"] == "forward" and own_peak)


def test_goals_are_those_of_the_listed_shapes_and_a_shortfall_is_marked():
    """A goal is a share of a limit that no call reaches in one second on a shared machine, or of another rate."""
    arguments = ["bench", "--quiet", "--peers", "none", "--work", "short", "--seconds", "1"]
    result = json.loads(run(*arguments, "--json").stdout)
    if result["isa"] == "scalar":
        pytest.skip("goals are for AVX2 and AVX-512")
    goals = [case for case in result["cases"] if case["goal"] is not None]
    assert [case["goal"] for case in goals] == [40, 55] and all(case["goal_of"] == "rate" for case in goals)
    assert all(case["short"] == (case["reached"] < case["goal"]) for case in goals)
    assert all(case["goal"] is None for case in bench("--peers", "none", "--work", "forward", "--shapes", "1x2x64x32")["cases"])


def test_a_limit_of_cpu_time_hides_no_rate():
    """Under a limit Linux counts a process's CPU time in steps of 4 ms, longer than a sample."""
    command = f'ulimit -t 60; exec "{ATTN}" bench {" ".join(QUICK)} --peers none --work short,generate --json'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert all(case["rates"] for case in json.loads(done.stdout)["cases"])


def test_shapes_and_types_select():
    cases = bench("--peers", "none", "--work", "forward,backward", "--dtype", "bf16", "--shapes", "1x2x64x32,2x4/2x16x48x8")["cases"]
    assert {case["dtype"] for case in cases} == {"bf16"}
    assert {tuple(case["shape"].values()) for case in cases} == {(1, 2, 2, 64, 64, 32, 32), (2, 4, 2, 16, 48, 8, 8)}
    assert [case["name"] for case in cases] == ["full", "full", "causal", "causal"] * 2


def test_pytorch_gets_the_same_problem(every_case):
    """Its first result is compared with ours: a helper that computes something else is not timed."""
    pytest.importorskip("torch")
    result = every_case
    assert result["peers"][0]["version"]
    for case in result["cases"]:
        peer, = case["peers"]
        reason = "no paged or int8 cache" if "cache" in case["name"] or "pages" in case["name"] else None
        if case["work"] == "generate" and peer["reason"]:
            reason = "transformers is not installed"
        assert peer["reason"] == reason, case["name"]
        assert case["skipped"] or reason or peer["ratio"] == pytest.approx(case["rates"]["best"] / peer["rates"]["best"])


def test_absent_peers_are_no_error(tmp_path):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} -S -E \"$@\"\n")  # without site-packages
    python.chmod(0o755)
    done = run("bench", "--quick", "--work", "short", "--peers", "torch,openvino", "--python", python)
    assert "without torch (not installed), openvino (not installed)" in done.stderr and "0 below a peer" in done.stdout
    done = run("bench", "--quick", "--work", "short", "--peers", "torch", "--python", "/nowhere/python")
    assert "without torch (the process has ended)" in done.stderr


@pytest.mark.parametrize("answer,reason", [("reply('result %d' % size, bytes(4 * size))", "computes another result"),
                                           ("sys.exit()", "the process has ended"), ("reply('cannot no')", "no")])
def test_a_peer_that_ends_or_computes_another_result_is_left_out(tmp_path, answer, reason):
    """A program in place of the helper, which answers zeros, ends, or refuses."""
    python = tmp_path / "python"
    python.write_text(f"""#!{sys.executable}
import sys
def reply(text, data=b""):
    sys.stdout.buffer.write(text.encode() + b"\\n" + data); sys.stdout.flush()
reply("ready 1.0")
for line in iter(sys.stdin.buffer.readline, b""):
    for item in line.decode().split("inputs=")[1].split(";"):
        n = 1
        for d in item.split(":")[2].split(","): n *= int(d)
        if item.startswith("q"): size = n
        sys.stdin.buffer.read(4 * n)
    {answer}
""")
    python.chmod(0o755)
    for case in bench("--work", "short", "--peers", "torch", "--python", python)["cases"]:
        assert case["peers"][0]["reason"] == reason and case["peers"][0]["rates"] is None and case["rates"]


@pytest.mark.parametrize("arguments,message", [
    (["--work", "forwards"], "--work must be forward, mask"), (["--peers", "tensorflow"], "--peers must be torch"),
    (["--dtype", "f64"], "--dtype must be"), (["--isa", "sse"], "--isa must be"), (["--threads", "0"], "--threads must be between 1"),
    (["--seconds", "0"], "--seconds must be between"), (["--shapes", "1x2x3"], '"1x2x3" is not a shape'), (["x"], "unexpected operand"),
    (["--shapes", "1x3/2x16x16"], "is not a shape"), (["--shapes", "1x1x99999999x64"], "is not a shape"),
    (["--work", "backward", "--dtype", "int8"], "no case has these types")])
def test_bad_arguments(arguments, message):
    done = run("bench", *arguments, status=2)
    assert message in done.stderr and done.stdout == ""


def test_an_instruction_set_of_another_cpu(tmp_path):
    done = run("bench", "--list", env={"ATTN_ISA": "avx10"}, status=2)
    assert "avx10" in done.stderr
    assert bench("--peers", "none", "--work", "short", "--isa", "scalar")["isa"] == "scalar"


def test_list():
    lines = run("bench", "--list").stdout.splitlines()
    assert list(dict.fromkeys(line.split()[0] for line in lines)) == WORKS
    assert all(line.startswith("decode") for line in run("bench", "--list", "--dtype", "int8").stdout.splitlines())


def test_a_wrong_result_is_an_error(preload):
    """A forward that writes nothing: its zeros are outside the bounds."""
    environment = preload("""#include "attn/attn.h"
attn_status attn_sdpa_forward(const attn_sdpa *d, const attn_tensor *q, const attn_tensor *k, const attn_tensor *v,
                              const attn_tensor *o, attn_error *e) { return ATTN_OK; }""")
    done = run("bench", *QUICK, "--peers", "none", "--work", "forward", env=environment, status=1)
    assert "forward, full, f32: wrong output" in done.stderr and "GFLOP/s  " not in done.stdout


def test_a_wrong_gradient_is_an_error(preload):
    environment = preload("""#include "attn/attn.h"
attn_status attn_sdpa_backward(const attn_sdpa *d, const attn_tensor *q, const attn_tensor *k, const attn_tensor *v,
                               const attn_tensor *o, const attn_tensor *d_o, const attn_sdpa_gradients *g, attn_error *e) {
  attn_status (*real)(const attn_sdpa *, const attn_tensor *, const attn_tensor *, const attn_tensor *, const attn_tensor *,
                      const attn_tensor *, const attn_sdpa_gradients *, attn_error *) = dlsym(RTLD_NEXT, "attn_sdpa_backward");
  attn_status s = real(d, q, k, v, o, d_o, g, e);
  if (q->dtype == ATTN_F32) ((float *)g->d_k->data)[5] += 0.01f;
  return s;
}""")
    done = run("bench", *QUICK, "--peers", "none", "--work", "backward", env=environment, status=1)
    assert "backward, full, f32: wrong dK" in done.stderr


def test_another_build_is_a_peer():
    """The same library under another name: its results are checked like ours, also through its own cache."""
    library = max((str(path) for path in [*Path(ATTN).parent.glob("libattn.so*")]), key=len)
    for case in bench("--peers", "none", "--library", library, "--work", "forward,backward,decode,features")["cases"]:
        assert case["peers"][0]["name"] == "library" and case["peers"][0]["ratio"] > 0
    assert "has no attn_sdpa_forward" in run("bench", *QUICK, "--peers", "none", "--library", "libc.so.6", status=2).stderr
    assert "cannot open" in run("bench", *QUICK, "--peers", "none", "--library", "/nowhere/libattn.so", status=2).stderr


def test_no_file_of_a_training_remains(every_run, tmp_path):
    assert [p for p in (every_run / "temporary").iterdir() if not p.name.startswith("torchinductor")] == []
    assert "No such file" in run("bench", *QUICK, "--peers", "none", "--work", "train", env={"TMPDIR": str(tmp_path / "x")}, status=2).stderr


def cpu_seconds(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_ctrl_c_prints_what_has_been_measured(form):
    process = subprocess.Popen([ATTN, "bench", "--peers", "none", "--seconds", "1000", "--shapes", "1x2x64x32", *form], text=True,
                               env={**os.environ, "LC_ALL": "C.UTF-8"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while cpu_seconds(process) < 0.5:  # of which the first limit takes 0.2, and the calls of this shape microseconds
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    if form:
        result = json.loads(stdout)
        assert result["interrupted"] and result["cases"][0]["rates"]["best"] > 0
    else:
        assert "1 of " in stdout and "cases measured" in stdout


def test_pictures(every_run):
    svg, html = (every_run / "b.svg").read_text(), (every_run / "b.html").read_text()
    assert "<svg" in svg and "decode" in svg and "<table" in html
