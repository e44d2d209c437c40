#!/usr/bin/env python3
"""Mutation testing: breaks the code in one place at a time and requires a test to fail.

    tools/mutate.py [NAME...]        all mutations, or the named ones
    tools/mutate.py --part 2/4       the second quarter
    tools/mutate.py --sample N       N of them, drawn by ATTN_SEED or anew in each run
    tools/mutate.py --list           the names, by module
    tools/mutate.py --stale          those that no longer apply, each with the nearest code
    tools/mutate.py --refresh        rewrites those where only names differ; prints those that a person must mend
    tools/mutate.py --refresh NAME...  accepts the nearest code, or the proposal, for these

    --tree PATH     with --stale and --refresh: compare with the sources of another tree
    --base COMMIT   and with those of this commit, at which the entries applied (default: the last
                    commit that changed tests/mutations)

The mutations are in tests/mutations, one table per module; tools/mutations.py describes the format. Each must
apply exactly once, the mutated tree must build, and a test must fail that passes without the mutation.
Exit status 1 if one survives or is stale.

The copies of the tree stay in build/mutate with their builds, so a run compiles only what changed since the
last one. build/mutate/caught.json has the test that caught each mutation last; it is tried first.
"""
import argparse
import fcntl
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mutations as tables
import refresh_mutations

ROOT = Path(__file__).resolve().parent.parent
COPIES = ROOT / "build/mutate"
CPU_SECONDS, SECONDS = 60, 600  # of one test's process; a mutation that makes it longer counts as caught
PASSING = set()       # tests that passed without a mutation
CAUGHT = {}           # by name: the test that caught it last
SAVING = threading.Lock()
LIGHTER = {  # by base name; AVX-512 takes long to compile, and a software model of 4 lanes stands in for its 16
    "model_avx512.c": [("VL 16", "VL 4"), ("FUSED 1", "FUSED 0")],
    "cpu.c": [("return ATTN_ISA_AVX512;", "return ATTN_ISA_AVX2;")],
    "k_avx512.c": [('#include "vec_avx512.h"', """#include "kernel.h"
const struct attn_kernel attn_kernel_avx512 = {.isa = ATTN_ISA_AVX512};
#if 0"""), ('#include "sdpa_f32.inc"', "#endif")],
}
SUITES = {  # which tests run for a mutated module, by their folders in tests/; others get those of the C code
    "lesson": ("lesson", "report", "cli"),
    "report": ("report", "lesson", "cli"),
    "cli": ("cli",),
    "python": ("python",),
}
SLOW_FOLDERS = ("sdpa", "kernel")  # they fail for mutations of the kernels and rarely for what is built on them
TARGETS = {  # what a Python test needs, by the variable that names it
    "ATTN_BIN": ["attn-cli"], "ATTN_LIBRARY_PATH": ["attn", "attn-model"], "ATTN_DRIVE_MODEL": ["drive_model"],
    "ATTN_TOKENIZE": ["tokenize"],
}


def run(*command, cwd, **options):
    return subprocess.run(list(map(str, command)), cwd=cwd, text=True, errors="replace", capture_output=True,
                          **options)


class Test:
    """A test of CTest's list: what to build, what to run, and its folder in tests/."""

    def __init__(self, entry, graph, build):
        properties = {p["name"]: p["value"] for p in entry.get("properties", [])}
        self.name, self.labels = entry["name"], properties.get("LABELS", [])
        self.environment = dict(v.split("=", 1) for v in properties.get("ENVIRONMENT", []))
        self.python = "python" in self.labels
        self.command = entry.get("command", [str(build / self.name)])
        self.targets = [t for name, targets in TARGETS.items() if name in self.environment for t in targets]
        if not self.python:
            self.targets = [self.name]
        node, files = entry.get("backtrace"), []
        while node is not None:
            files.append(graph["files"][graph["nodes"][node]["file"]])
            node = graph["nodes"][node].get("parent")
        folders = [Path(f).parent.name for f in files if Path(f).parent.parent.name == "tests"]
        self.folder = folders[0] if folders else ""


def selected(command, function):
    """A pytest command with one test function of its files, or with all of them."""
    define = f"def {function.partition('[')[0]}("
    files = [word for word in command if word.endswith(".py") and define in Path(word).read_text()] if function else []
    return [word for word in command if not word.endswith(".py")] + [f"{files[0]}::{function}"] if files else command


class Copy:
    """A copy of the tree with its own build. A lock keeps other runs out of it."""

    def __init__(self, number):
        while not self.lock(COPIES / str(number)):
            number += 1
        self.tree, self.build = (COPIES / str(number) / name for name in ("tree", "build"))
        sync(self.tree)
        if self.configure().returncode:  # left by another generator or compiler, perhaps: start again
            shutil.rmtree(self.build, ignore_errors=True)
            done = self.configure()
            if done.returncode:
                raise RuntimeError(done.stdout + done.stderr)
        listing = json.loads(run("ctest", "--test-dir", self.build, "--show-only=json-v1", cwd=self.tree).stdout)
        every = [Test(entry, listing["backtraceGraph"], self.build) for entry in listing["tests"]]
        self.tests = {t.name: t for t in every if t.folder and "rare" not in t.labels and "long" not in t.labels}

    def lock(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.held = open(folder / "lock", "w")
        try:
            fcntl.flock(self.held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def configure(self):
        cache = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        return run("cmake", "-S", self.tree, "-B", self.build, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O1",
                   "-DATTN_TESTS=ON", f"-DATTN_PYTHON={sys.executable}", *cache, cwd=self.tree)

    def order(self, mutation, module):
        """The tests to run: the likeliest one first, then those of the module's folder. Each is a test's name,
        with ::test_function after it where one function is enough."""
        first = [t for t in (CAUGHT.get(mutation.name), mutation.test) if t and t.split("::")[0] in self.tests]
        folders = SUITES.get(module, ())
        suite = [t for t in self.tests.values() if (t.folder in folders if folders else not t.python and t.folder not in SUITES)]
        suite.sort(key=lambda t: (folders.index(t.folder) if folders else 0 if t.folder == module else 2 if t.folder in SLOW_FOLDERS else 1,
                                  t.name))
        return list(dict.fromkeys(first + [t.name for t in suite]))

    def failing(self, tests):
        """Builds and runs the tests one by one: the first that fails, and the compiler's errors if one does not build."""
        for each in tests:
            name, _, function = each.partition("::")
            test = self.tests[name]
            if test.targets:
                built = run("cmake", "--build", self.build, "--target", *test.targets, cwd=self.tree)
                if built.returncode:
                    return each, "does not build:\n" + built.stdout[-2000:] + built.stderr[-500:]
            command = list(test.command)
            if test.python:
                command = selected(command, function) + ["-x"]
            try:
                done = run("bash", "-c", f'ulimit -t {CPU_SECONDS}; exec "$@"', "-", *command, cwd=self.build, timeout=SECONDS,
                           env={**os.environ, **test.environment})
            except subprocess.TimeoutExpired:
                return each, ""
            if done.returncode:
                failed = re.search(r"^(?:FAILED|ERROR) \S*?\.py::(.+?)(?: - .*)?$", done.stdout, re.M) if test.python else None
                return f"{name}::{failed.group(1)}" if failed else each, ""
        return None, ""

    def passes(self, test):
        """Whether a test that caught a mutation passes without it."""
        if test not in PASSING and self.failing([test]) == (None, ""):
            PASSING.add(test)
        return test in PASSING

    def judge(self, mutation, place):
        """(whether a test caught the mutation, the verdict in words)."""
        file = self.tree / place.source.path
        text = file.read_text()
        file.write_text(place.mutated(mutation.new))
        try:
            test, problem = self.failing(self.order(mutation, tables.module_of(place.source.path).split("/")[-1]))
        finally:
            file.write_text(text)
        if problem or not test:
            return False, problem or "SURVIVED"
        if not self.passes(test):
            return False, f"{test} fails without the mutation too"
        remember(mutation.name, test)
        return True, f"caught by {test}"


def files_of(tree):
    """The paths of all files of a tree, relative to it, without builds and caches."""
    for folder, below, names in os.walk(tree):
        below[:] = [d for d in below if not d.startswith((".", "__pycache__")) and (d != "build" or Path(folder) != tree)]
        yield from ((Path(folder) / name).relative_to(tree) for name in names)


def sync(tree):
    """Makes the tree a copy of the source. Unchanged files keep their times, so they are not compiled again."""
    source, there = set(files_of(ROOT)), set(files_of(tree))
    for path in there - source:
        (tree / path).unlink()
    for path in source:
        data = (ROOT / path).read_bytes()
        for old, new in LIGHTER.get(path.name, []):
            assert data.count(old.encode()) == 1, f"{path}: {old}"
            data = data.replace(old.encode(), new.encode())
        if path not in there or (tree / path).read_bytes() != data:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(data)
        shutil.copymode(ROOT / path, tree / path)


def remember(name, test):
    with SAVING:
        CAUGHT[name] = test
        whole = COPIES / f"caught.{os.getpid()}"
        whole.write_text(json.dumps(CAUGHT, indent=0, sort_keys=True))
        whole.rename(COPIES / "caught.json")


def break_one(copies, mutation, place):
    """Runs a mutation in a free copy and prints the verdict; True if a test caught it."""
    copy, start = copies.get(), time.monotonic()
    try:
        caught, verdict = copy.judge(mutation, place)
    finally:
        copies.put(copy)
    print(f"{'ok  ' if caught else 'LOST'} {mutation.name}: {verdict} ({time.monotonic() - start:.0f} s)", flush=True)
    return caught


def choose(every, options):
    """The mutations to run; `every` is in the order of their files, so that restoring one compiles what the next needs."""
    if options.part:
        part, parts = map(int, options.part.split("/"))
        return every[len(every) * (part - 1) // parts:len(every) * part // parts]
    if options.sample:
        seed = os.environ.get("ATTN_SEED", str(random.SystemRandom().randrange(2**32)))
        count = min(options.sample, len(every))
        print(f"{count} of {len(every)} mutations, ATTN_SEED={seed}; make mutate runs all", flush=True)
        drawn = set(random.Random(seed).sample(sorted(m.name for m in every), count))
        return [m for m in every if m.name in drawn]
    unknown = set(options.names) - {m.name for m in every}
    if unknown:
        sys.exit(f"unknown mutations: {', '.join(sorted(unknown))}; --list prints all names")
    return [m for m in every if not options.names or m.name in options.names]


def run_all(chosen, places):
    if (COPIES / "caught.json").exists():
        before = json.loads((COPIES / "caught.json").read_text())
        CAUGHT.update((name, test) for name, test in before.items() if name in places)
    count = min(os.cpu_count() or 1, 8, len(chosen))
    os.environ["CMAKE_BUILD_PARALLEL_LEVEL"] = "1"  # the copies are built in parallel
    os.environ["CMOCKA_TEST_ABORT"] = "1"           # the first failure is enough
    os.environ.setdefault("CCACHE_BASEDIR", str(COPIES))
    with ThreadPoolExecutor(count) as pool:
        copies = queue.SimpleQueue()
        for copy in pool.map(Copy, range(count)):
            copies.put(copy)
        lost = list(pool.map(lambda m: break_one(copies, m, places[m.name][0]), chosen)).count(False)
    print(f"{len(chosen) - lost} of {len(chosen)} mutations caught")
    return 1 if lost else 0


def base_tree(commit):
    """The sources of the commit at which the entries applied; None without git."""
    try:
        if not commit:
            commit = run("git", "log", "-1", "--format=%H", "--", tables.TABLES, cwd=ROOT).stdout.strip()
        return tables.Tree(ROOT, commit) if commit else None
    except (OSError, subprocess.CalledProcessError):
        return None


def refresh(every, stale, tree, options):
    """Prints the stale entries with the nearest code; with --refresh, rewrites those that it can."""
    base, written, left = base_tree(options.base), {}, 0
    for m in stale:
        match = refresh_mutations.nearest(m, tree, base)
        entry, why = None, ""
        if match:
            entry, why = refresh_mutations.rewritten(m, match, tree, base, m.name in options.names)
        if entry and not options.stale:
            written[m.name] = entry
            print(f"refreshed: {m.name}" + (f" (check: {why})" if why else ""))
        else:
            left += 1
            refresh_mutations.show(m, match, why or "only names differ: --refresh rewrites it")
    if written or not options.stale and not stale:
        tables.save_all(ROOT, [written.get(m.name, m) for m in every], tree)
    gone = {m.test for m in every if m.test.startswith("test_") and not list((ROOT / "tests").glob(f"*/{m.test}.c"))}
    if gone:
        print("tests that are named but do not exist: " + ", ".join(sorted(gone)))
    print(f"{len(every)} mutations: {len(stale)} stale, {len(written)} refreshed, {left} to mend")
    return 1 if left or gone else 0


def main():
    parser = argparse.ArgumentParser(description="Mutation testing; see the head of this file.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    for flag in ("list", "stale", "refresh"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--part", metavar="N/ALL")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--tree", default=ROOT)
    parser.add_argument("--base")
    options = parser.parse_args()
    every, tree = tables.load(ROOT), tables.Tree(options.tree)
    places = {m.name: tree.find(m) for m in every}
    stale = [m for m in every if len(places[m.name]) != 1]
    if options.stale or options.refresh:
        sys.exit(refresh(every, stale, tree, options))
    if stale:
        sys.exit("these no longer apply (tools/mutate.py --stale): " + ", ".join(m.name for m in stale))
    every.sort(key=lambda m: places[m.name][0].source.path)
    if options.list:
        print(*(f"{tables.module_of(places[m.name][0].source.path):12} {m.name}" for m in every), sep="\n")
        return
    chosen = choose(every, options)
    sys.exit(run_all(chosen, places) if chosen else "no mutation chosen")


if __name__ == "__main__":
    main()
