"""The laws of the house: who sees whom, what is exported, what a header may hold."""
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(os.environ["ATTN_SOURCE"])
BUILD = Path(os.environ["ATTN_BUILD"])

# The dependency law of docs/architecture.md: a room and the rooms that it may include.
LAW = {
    "base": set(),
    "ref": {"base"},
    "kernel": {"base"},
    "sdpa": {"base", "ref", "kernel"},
    "nn": {"base"},
    "model": {"base", "nn", "io", "tokenizers"},
    "train": {"base", "nn", "io", "tokenizers", "model"},
    "io": {"base"},
    "tokenizers": {"base", "io"},
    "lesson": {"base", "ref"},
    "text": {"base"},
    "graphics": {"base", "text"},
    "report": {"base", "text", "graphics"},
}


def commands():
    return json.loads((BUILD / "compile_commands.json").read_text())


def headers_of(room):
    return sorted(p.name for p in (SOURCE / "src" / room).glob("*.h"))


def compile_flags(room):
    """The flags that the build gives to some file of the room, without input and output."""
    entry = next(c for c in commands() if f"/src/{room}/" in c["file"])
    words = shlex.split(entry["command"])
    keep, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-c"):
            skip = True
        else:
            keep.append(word)
    return keep


def compiles(room, header):
    return subprocess.run(
        compile_flags(room) + ["-fsyntax-only", "-x", "c", "-"],
        input=f'#include "{header}"\ntypedef int something;\n', text=True, capture_output=True,
    ).returncode == 0


@pytest.mark.parametrize("room", LAW)
def test_a_room_sees_the_rooms_below_it_and_no_other(room):
    for other in LAW:
        for header in headers_of(other):
            allowed = other == room or other in LAW[room]
            if allowed and header.startswith("vec_"):
                continue  # an instruction set's words: only its own shim has the flags for them
            assert compiles(room, header) == allowed, f"{room} includes {other}/{header}"


def test_every_folder_of_src_is_under_the_law():
    assert {p.name for p in (SOURCE / "src").iterdir() if p.is_dir()} == set(LAW)


def test_header_names_are_unique():
    names = [p.name for p in SOURCE.glob("src/*/*.h")]
    assert len(names) == len(set(names))


def test_no_include_climbs_out_of_its_room():
    for path in SOURCE.glob("src/**/*.[chi]*"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.match(r'\s*#\s*include\s*"[^"]*\.\./', line):
                pytest.fail(f"{path}:{number}: {line.strip()}")


def test_the_command_sees_only_the_public_headers():
    for path in SOURCE.glob("cli/*.[ch]"):
        for name in re.findall(r'#include "([^"]+)"', path.read_text()):
            assert name.startswith("attn/") or (SOURCE / "cli" / name).exists(), f"{path}: {name}"
    for entry in commands():
        if "/cli/" in entry["file"]:
            assert f"{SOURCE}/src" not in entry["command"]


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", str(BUILD / library)], text=True,
                         capture_output=True, check=True).stdout
    return {line.split()[-1] for line in out.splitlines()}


@pytest.mark.parametrize("library", ["libattn.so", "libattn-model.so"])
def test_only_attn_symbols_are_exported(library):
    names = exported(library)
    assert names, "nothing exported: the test would prove nothing"
    assert {n for n in names if not n.startswith("attn_")} == set()


def test_the_exports_are_the_public_headers_and_nothing_else():
    declared = set()
    for header in (SOURCE / "include/attn").glob("*.h"):
        declared |= set(re.findall(r"ATTN_API\s[^;{]*?\b(attn_\w+)\(", header.read_text()))
    assert exported("libattn.so") | exported("libattn-model.so") == declared
    assert exported("libattn.so") & exported("libattn-model.so") == set()


@pytest.mark.parametrize("library", ["libattn.a", "libattn-model.a"])
def test_static_libraries_define_only_attn_names(library):
    out = subprocess.run(["nm", "-g", "--defined-only", str(BUILD / library)], text=True,
                         capture_output=True, check=True).stdout
    names = {line.split()[-1] for line in out.splitlines() if len(line.split()) == 3}
    assert {n for n in names if not n.startswith("attn_")} == set()


def test_the_core_needs_nothing_but_libc_and_libm():
    out = subprocess.run(["readelf", "-d", str(BUILD / "libattn.so")], text=True,
                         capture_output=True, check=True).stdout
    needed = set(re.findall(r"NEEDED.*\[([^\]]+)\]", out))
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2",
                      "ld-linux-aarch64.so.1"}


@pytest.mark.parametrize("header", sorted(p.name for p in (SOURCE / "include/attn").glob("*.h")))
@pytest.mark.parametrize("language", [["-xc", "-std=c11"], ["-xc++", "-std=c++11"]])
def test_each_public_header_compiles_alone(header, language):
    compiler = shlex.split(commands()[0]["command"])[0]
    run = subprocess.run(
        [compiler, *language, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only",
         f"-I{SOURCE}/include", "-"], input=f'#include "attn/{header}"\nint main(void){{return 0;}}\n',
        text=True, capture_output=True)
    if language[0] == "-xc++" and "cc1plus" in run.stderr:
        pytest.skip("no C++ compiler here")
    assert run.returncode == 0, run.stderr


def public_cdef():
    """The headers as cffi takes them: without the preprocessor's lines."""
    text = ""
    for name in ("attn.h", "io.h", "lesson.h", "nn.h", "model.h", "train.h", "picture.h"):
        body = (SOURCE / "include/attn" / name).read_text()
        body = re.sub(r"#ifdef __cplusplus\nextern.*?#endif", "", body, flags=re.S)
        body = re.sub(r"#ifdef __cplusplus\n}\n#endif", "", body)
        body = re.sub(r"(?m)^#(?!define ATTN_\w+ \d+\b).*$", "", body)
        text += body.replace("ATTN_API ", "")
    return text


def test_the_headers_are_in_the_subset_that_cffi_parses():
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    ffi.cdef(public_cdef())
    assert ffi.sizeof("attn_tensor") == 16 + 16 * 8
    library = ffi.dlopen(str(BUILD / "libattn.so"))
    assert ffi.string(library.attn_version_string()).count(b".") == 2


def test_half_of_the_core_header_is_documentation():
    lines = (SOURCE / "include/attn/attn.h").read_text().splitlines()
    inside, words = False, 0
    for line in lines:
        starts = "/*" in line
        words += inside or starts
        inside = (inside or starts) and "*/" not in line
    assert words / sum(1 for line in lines if line.strip()) >= 0.5


def test_files_stay_small_enough_to_hold_in_the_head():
    for pattern in ("src/**/*.c", "src/**/*.inc", "src/**/*.h", "cli/*.c"):
        for path in SOURCE.glob(pattern):
            assert len(path.read_text().splitlines()) <= 600, path
