"""Rules of the source tree: what a module may include, what the libraries export, how files and types are named."""
import json
import os
import re
import shlex
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest

SOURCE = Path(os.environ["ATTN_SOURCE"])
BUILD = Path(os.environ["ATTN_BUILD"])

# The include rule of docs/architecture.md: each module and the modules it may include.
MAY_INCLUDE = {
    "base": set(),
    "ref": {"base"},
    "kernel": {"base"},
    "sdpa": {"base", "ref", "kernel"},
    "nn": {"base"},
    "io": {"base"},
    "tokenizers": {"base", "io"},
    "model": {"base", "nn", "io", "tokenizers"},
    "train": {"base", "nn", "io", "tokenizers", "model"},
    "lesson": {"base", "ref"},
    "text": {"base"},
    "graphics": {"base", "text"},
    "report": {"base", "text", "graphics"},
}
FILES_PER_FOLDER = 25
REDESIGNED = "src/lesson"  # being redesigned: exempt from the rules of types and folders
LINES_PER_FILE = 600


def commands():
    return json.loads((BUILD / "compile_commands.json").read_text())


def files(*folders, suffixes=(".c", ".h", ".inc")):
    return sorted(p for folder in folders for p in (SOURCE / folder).rglob("*") if p.suffix in suffixes)


def headers_of(module):
    return sorted(p.name for p in files(f"src/{module}", suffixes=(".h",)))


def compile_flags(module):
    """The flags of the module's first file, without input and output."""
    entry = next(c for c in commands() if c["file"].startswith(f"{SOURCE}/src/{module}/"))
    arguments = shlex.split(entry["command"])
    keep, skip = [], False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in ("-o", "-c"):
            skip = True
        else:
            keep.append(argument)
    return keep


def compile_as(module, text, *arguments):
    return subprocess.run(compile_flags(module) + [*arguments, "-x", "c", "-"], input=text, text=True, capture_output=True)


@pytest.mark.parametrize("module", MAY_INCLUDE)
def test_a_module_finds_exactly_the_headers_it_may_include(module):
    """By its include paths: what the compiler does not find, no file of the module can include."""
    owners = {header: other for other in MAY_INCLUDE for header in headers_of(other)}
    text = "".join(f'#if __has_include("{header}")\nfound {header}\n#endif\n' for header in owners)
    run = compile_as(module, text, "-E", "-P")
    assert run.returncode == 0, run.stderr
    found = {line.split()[1] for line in run.stdout.replace(" . ", ".").splitlines() if line.startswith("found ")}
    assert found == {header for header, other in owners.items() if other == module or other in MAY_INCLUDE[module]}


@pytest.mark.parametrize("module", MAY_INCLUDE)
def test_each_header_of_a_module_compiles_alone(module):
    for header in headers_of(module):
        if header.startswith("vec_"):
            continue  # needs the compiler flags of its instruction set, which only the kernels of that set have
        run = compile_as(module, f'#include "{header}"\ntypedef int something;\n', "-fsyntax-only")
        assert run.returncode == 0, f"{module}/{header}: {run.stderr}"


def test_every_folder_of_src_has_an_include_rule():
    assert {p.name for p in (SOURCE / "src").iterdir() if p.is_dir()} == set(MAY_INCLUDE)


def test_header_names_are_unique():
    names = Counter(p.name for p in files("src", "web", suffixes=(".h",)))
    assert [n for n, count in names.items() if count > 1] == []


def test_source_file_names_are_unique():
    names = Counter(p.name for p in files("src", "cli", "bench", "web", suffixes=(".c",)))
    assert [n for n, count in names.items() if count > 1] == []


def test_a_header_names_itself():
    """Its include guard ends in its name, and so does a comment that begins with a file name: renamed files keep neither."""
    for path in files("src", "cli", "include", "web", "tests", "fuzz", suffixes=(".h", ".c", ".inc")):
        text = path.read_text()
        guard, name = re.search(r"^#ifndef (\w+_H)$", text, re.M), re.match(r"/\*+\s*\*?\s*(\w+\.(?:c|h|inc))\b", text)
        assert path.suffix != ".h" or not guard or guard[1].endswith(path.name.upper().replace(".", "_")), f"{path}: {guard[1]}"
        assert not name or name[1] == path.name, f"{path}: {name[1]}"


def test_no_include_contains_a_parent_directory():
    for path in files("src"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.match(r'\s*#\s*include\s*"[^"]*\.\./', line):
                pytest.fail(f"{path}:{number}: {line.strip()}")


def test_the_command_includes_only_public_headers():
    for path in files("cli"):
        for name in re.findall(r'#include "([^"]+)"', path.read_text()):
            assert name.startswith("attn/") or any((SOURCE / "cli").rglob(name)) or (BUILD / "cli" / name).exists(), f"{path}: {name}"
    for entry in commands():
        if Path(entry["file"]).is_relative_to(SOURCE / "cli"):
            assert f"{SOURCE}/src" not in entry["command"]


# ---- Types: one name, one definition ----

def without_comments_and_strings(text):
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


def closing_brace(text, position):
    """The offset after the brace that closes the one before position."""
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        position += 1
    return position


def type_definitions(text):
    """Names that a file defines: tags with a body, and typedefs other than `typedef struct x x;`."""
    text = without_comments_and_strings(text)
    names = {m[2] for m in re.finditer(r"\b(struct|union|enum)\s+(\w+)\s*\{", text)}
    for m in re.finditer(r"\btypedef\s+(?:struct|union|enum)\s*\w*\s*\{", text):
        end = closing_brace(text, m.end())
        names.add(re.match(r"\s*(\w+)", text[end:])[1])
    for body in re.findall(r"\btypedef\b([^;{}]*);", text):
        alias = re.fullmatch(r"\s*(?:struct|union|enum)\s+(\w+)\s+(\w+)\s*", body)
        if alias and alias[1] == alias[2]:
            continue
        function = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", body)
        name = function or re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*|__attribute__.*)?$", body) or re.search(r"(\w+)\s*\(", body)
        names.add(name[1])
    return names


def test_the_reader_of_type_definitions_finds_each_form():
    text = """
    typedef struct a a;            /* declares, does not define: struct c { } */
    struct b { union { int x; } as; };
    typedef struct { struct { int y; } z; } c;
    typedef enum d { D } d;
    typedef int (*e)(void *data);
    typedef float f;
    typedef float g[4];
    """
    assert type_definitions(text) == {"b", "c", "d", "e", "f", "g"}


def test_type_names_are_unique():
    """Also the local ones: a reader who searches for a type finds one definition."""
    where = defaultdict(list)
    for path in files("src", "include", "cli"):
        if path.name.startswith("vec_") or path.is_relative_to(SOURCE / REDESIGNED):
            continue  # vec_*.h: one for each instruction set, with the same vector types
        for name in type_definitions(path.read_text()):
            where[name].append(str(path.relative_to(SOURCE)))
    repeated = [f"{name}: {' '.join(paths)}" for name, paths in sorted(where.items()) if len(paths) > 1]
    assert repeated == [], "\n" + "\n".join(repeated)


# ---- The built libraries ----

def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", str(BUILD / library)], text=True,
                         capture_output=True, check=True).stdout
    return {line.split()[-1] for line in out.splitlines()}


@pytest.mark.parametrize("library", ["libattn.so", "libattn-model.so"])
def test_shared_libraries_export_only_attn_symbols(library):
    names = exported(library)
    assert names, "no exported symbol found: the test would prove nothing"
    assert {n for n in names if not n.startswith("attn_")} == set()


def test_exported_symbols_are_those_of_the_public_headers():
    declared = set()
    for header in (SOURCE / "include/attn").glob("*.h"):
        declared |= set(re.findall(r"ATTN_API\s[^;{]*?\b(attn_\w+)\(", header.read_text()))
    assert exported("libattn.so") | exported("libattn-model.so") == declared
    assert exported("libattn.so") & exported("libattn-model.so") == set()


@pytest.mark.parametrize("library", ["libattn.a", "libattn-model.a"])
def test_static_libraries_define_only_attn_symbols(library):
    out = subprocess.run(["nm", "-g", "--defined-only", str(BUILD / library)], text=True,
                         capture_output=True, check=True).stdout
    names = {line.split()[-1] for line in out.splitlines() if len(line.split()) == 3}
    assert {n for n in names if not n.startswith("attn_")} == set()


def test_the_core_depends_only_on_libc_libm_and_pthreads():
    out = subprocess.run(["readelf", "-d", str(BUILD / "libattn.so")], text=True,
                         capture_output=True, check=True).stdout
    needed = set(re.findall(r"NEEDED.*\[([^\]]+)\]", out))
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2",
                      "ld-linux-aarch64.so.1"}


# ---- Public headers ----

@pytest.mark.parametrize("header", sorted(p.name for p in (SOURCE / "include/attn").glob("*.h")))
@pytest.mark.parametrize("language", [["-xc", "-std=c11"], ["-xc++", "-std=c++11"]])
def test_each_public_header_compiles_alone(header, language):
    compiler = shlex.split(commands()[0]["command"])[0]
    run = subprocess.run(
        [compiler, *language, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only",
         f"-I{SOURCE}/include", "-"], input=f'#include "attn/{header}"\nint main(void){{return 0;}}\n',
        text=True, capture_output=True)
    if language[0] == "-xc++" and "cc1plus" in run.stderr:
        pytest.skip("no C++ compiler")
    assert run.returncode == 0, run.stderr


def public_cdef():
    """The public headers without preprocessor lines, which cffi does not parse."""
    text = ""
    for name in ("attn.h", "io.h", "lesson.h", "nn.h", "model.h", "train.h", "picture.h"):
        body = (SOURCE / "include/attn" / name).read_text()
        body = re.sub(r"#ifdef __cplusplus\nextern.*?#endif", "", body, flags=re.S)
        body = re.sub(r"#ifdef __cplusplus\n}\n#endif", "", body)
        body = re.sub(r"(?m)^#(?!define ATTN_\w+ \d+\b).*$", "", body)
        text += body.replace("ATTN_API ", "")
    return text


def test_cffi_parses_the_public_headers():
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    ffi.cdef(public_cdef())
    assert ffi.sizeof("attn_tensor") == 16 + 16 * 8
    library = ffi.dlopen(str(BUILD / "libattn.so"))
    assert ffi.string(library.attn_version_string()).count(b".") == 2


def test_at_least_half_of_attn_h_is_documentation():
    lines = (SOURCE / "include/attn/attn.h").read_text().splitlines()
    inside, documentation = False, 0
    for line in lines:
        starts = "/*" in line
        documentation += inside or starts
        inside = (inside or starts) and "*/" not in line
    assert documentation / sum(1 for line in lines if line.strip()) >= 0.5


# ---- Sizes ----

def test_files_have_at_most_600_lines():
    for path in files("src", "cli", "web"):
        assert len(path.read_text().splitlines()) <= LINES_PER_FILE, path


def test_folders_have_at_most_25_files():
    counts = Counter(str(p.parent.relative_to(SOURCE)) for p in files("src", "cli", "bench", "include", "web"))
    too_many = {f: n for f, n in counts.items() if n > FILES_PER_FOLDER and f != REDESIGNED}
    assert too_many == {}
