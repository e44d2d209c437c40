"""attn completion: what the shells offer is what --help lists."""
import os
import re
import shutil
import subprocess

import pytest
from conftest import ATTN, run

COMMANDS = [line.split("\t")[0] for line in run("--complete").stdout.splitlines()]

COMPLETE = r"""
source <(attn completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_attn
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def offered(tmp_path):
    """offered(*words): what bash offers for the last word."""
    (tmp_path / "attn").symlink_to(ATTN)

    def call(*words):
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(["bash", "-c", COMPLETE, "bash", "attn", *words], capture_output=True, text=True, env=environment, cwd=tmp_path)
        assert done.stderr == "" and done.returncode == 0, done.stderr
        return done.stdout.split()
    return call


def options_of(command):
    """The options at the beginning of a line of the help, and -h."""
    found = set()
    for line in run(command, "--help").stdout.splitlines():
        m = re.match(r" +((?:-o|--?[a-z][\w-]*)(?: [A-Z]\S*)?(?:, --?[a-z][\w-]*(?: [A-Z]\S*)?)*)", line)
        found |= set(re.findall(r"(?<![\w-])(?:--[a-z][\w-]*|-o)", m[1])) if m else set()
    return found | {"--help", "-h", "--lang"}


def test_every_command_is_offered(offered):
    assert set(COMMANDS) <= set(offered("")) and len(COMMANDS) == len(set(COMMANDS)) >= 15
    assert set(re.findall(r"(?m)^  ([a-z]+) ", run("--help").stdout)) - {"attn", "man"} == set(COMMANDS)
    assert offered("ch") == ["check"] and "--version" in offered("--v")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_the_help_is_offered(offered, command):
    given = set(offered(command, "-"))
    assert options_of(command) <= given, command
    assert all(re.search(rf"(?<![\w-]){o}(?![\w-])", run(command, "--help").stdout) for o in given - {"-h", "--help", "--lang", "-o", "--precision"}), "not in the help"


def test_values_are_offered_where_they_are_a_fixed_set(offered):
    assert offered("check", "a.md", "--lang", "") == ["en", "ja"]
    assert offered("check", "--color", "a") == ["auto", "always"]
    assert offered("check", "--lang", "=", "j") == offered("check", "--lang", "=j"[0], "j") == ["ja"] and offered("check", "--lang", "=") == ["en", "ja"]
    assert offered("new", "--kind", "c") == ["causal", "cross", "columns"]
    assert offered("run", "--empty-row", "") == ["zero", "mean", "nan", "error"]
    assert offered("check", "--html", "") == offered("check", "le") == offered("nonsense", "-") == []  # bash completes files


def test_a_value_of_the_list_is_accepted_and_no_other():
    for command, option, value in [("new", "--lang", "fr"), ("train", "--lr-schedule", "x"), ("run", "--align", "left"), ("show", "--kind", "both")]:
        assert f'{option} must be ' in run(command, option, value, status=2).stderr


@pytest.mark.parametrize("shell", ["zsh", "fish", "bash"])
def test_the_scripts_have_no_syntax_errors(tmp_path, shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(run("completion", shell).stdout)
    subprocess.run([shell, "-n", "script"], cwd=tmp_path, check=True)


def test_an_unknown_shell():
    assert "SHELL must be bash, zsh or fish, got \"tcsh\"" in run("completion", "tcsh", status=2).stderr
    assert "expected a shell" in run("completion", status=2).stderr
    assert run("--complete", "nothing", status=2).stdout == ""
