"""The installed library: programs outside the tree compile against it and run."""
import os
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(os.environ["ATTN_SOURCE"])
BUILD = Path(os.environ["ATTN_BUILD"])

PROGRAM = r"""
#include <attn/attn.h>
#include <stdio.h>

int main(void) {
  float q[] = {1, 0}, k[] = {1, 0, 0, 1}, v[] = {10, 0, 0, 10}, o[2];
  attn_tensor tq = attn_tensor_dense(ATTN_F32, q, 1, 1, 1, 2);
  attn_tensor tk = attn_tensor_dense(ATTN_F32, k, 1, 1, 2, 2);
  attn_tensor tv = attn_tensor_dense(ATTN_F32, v, 1, 1, 2, 2);
  attn_tensor to = attn_tensor_dense(ATTN_F32, o, 1, 1, 1, 2);
  attn_error err;
  if (attn_sdpa_forward(NULL, &tq, &tk, &tv, &to, &err)) return puts(err.message), 1;
  printf("%.3f %.3f\n", (double)o[0], (double)o[1]);
  return 0;
}
"""
EXPECTED = "6.698 3.302\n"  # softmax([1, 0] / sqrt 2) = .6698 .3302


def run(*command, **options):
    done = subprocess.run(command, text=True, capture_output=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", str(BUILD), "--prefix", str(prefix))
    return prefix


def library_folder(prefix):
    return next(prefix.rglob("libattn.so")).parent


def sanitized():
    return "ATTN_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text()


pytestmark = pytest.mark.skipif(sanitized(), reason="a sanitized library needs a sanitized program")


@pytest.mark.parametrize("static", [False, True])
def test_a_program_compiles_through_pkg_config(installed, tmp_path, static):
    (tmp_path / "p.c").write_text(PROGRAM)
    folder = library_folder(installed)
    environment = {**os.environ, "PKG_CONFIG_PATH": str(folder / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "libattn", env=environment).split()
    if static:
        flags = [f"-I{installed}/include", str(folder / "libattn.a"), "-lm", "-pthread"]
    run("cc", "-o", str(tmp_path / "p"), str(tmp_path / "p.c"), *flags)
    out = run(str(tmp_path / "p"), env={**os.environ, "LD_LIBRARY_PATH": str(folder)})
    assert out == EXPECTED


def test_a_program_compiles_through_the_cmake_package(installed, tmp_path):
    (tmp_path / "p.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p C)\nfind_package(libattn REQUIRED)\n"
        "add_executable(p p.c)\ntarget_link_libraries(p PRIVATE libattn::attn)\n"
        "add_executable(s p.c)\ntarget_link_libraries(s PRIVATE libattn::attn_static)\n")
    run("cmake", "-S", str(tmp_path), "-B", str(tmp_path / "b"), f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", str(tmp_path / "b"))
    for program in ("p", "s"):
        assert run(str(tmp_path / "b" / program)) == EXPECTED


def test_the_installed_command_runs(installed):
    assert run(str(installed / "bin/attn"), "--version").startswith("attn ")
    assert (installed / "share/man/man1/attn.1").exists() and "アテンション" in (installed / "share/man/ja/man1/attn.1").read_text()
    for script in "bash-completion/completions/attn", "zsh/site-functions/_attn", "fish/vendor_completions.d/attn.fish":
        assert (installed / "share" / script).exists()


def test_the_examples_compile_against_the_installed_library(installed, tmp_path):
    examples = sorted((SOURCE / "examples/c").glob("*.c"))
    assert examples
    folder = library_folder(installed)
    for example in examples:
        run("cc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Werror", f"-I{installed}/include", "-o", str(tmp_path / "e"),
            str(example), f"-L{folder}", "-lattn", "-lattn-model", "-lm", "-pthread",
            f"-Wl,-rpath,{folder}")
        run(str(tmp_path / "e"), cwd=tmp_path)
