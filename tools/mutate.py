#!/usr/bin/env python3
"""Mutation testing: breaks the code in one place at a time and requires a test to fail.

    tools/mutate.py [NAME...]        all mutations, or the named ones
    tools/mutate.py --part 2/4       the second quarter
    tools/mutate.py --sample N       N of them, drawn by ATTN_SEED, by default the commit's tree: one commit, one sample
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

    --passed        the tests of build/test have just passed: do not repeat them without a mutation
    --named         only the tests that the entries name: fast, for many entries at once

The preset test (build/test, Ninja) is built first. For a mutation, only the files that contain the mutated code are
compiled, from a copy of the tree in build/mutate, and only the programs that link them are linked; a test of
which no program changes is not run. build/mutate/caught.json has the test that caught each mutation last; it is tried first.
"""
import argparse
import fcntl
import json
import os
import queue
import random
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mutations as tables
import refresh_mutations

ROOT = Path(__file__).resolve().parent.parent
COPIES, BUILD = ROOT / "build/mutate", ROOT / "build/test"
CPU_SECONDS, SECONDS = 60, 600  # of one test's process at most; a mutation that makes it longer counts as caught
PYTEST_FOUND_NONE = 4, 5  # its exit status if the named test does not exist
PASSING = set()       # tests that passed without a mutation
ALL_PASSED, ONLY_NAMED = "--passed" in sys.argv, "--named" in sys.argv
CAUGHT = {}           # by name: the test that caught it last
SAVING = threading.Lock()
HEAVY = {"sdpa_f32_avx512.c", "sdpa_bf16_avx512.c", "model_avx512.c", "model_bf16.c"}  # take long to compile; the scalar and AVX2 kernels have most of the same code
SUITES = {  # which tests run for a mutated module, by their folders in tests/; others get those of the C code
    "lesson": ("lesson", "report", "cli"),
    "report": ("report", "lesson", "cli"),
    "cli": ("cli",),
    "python": ("python",),
}
SLOW_FOLDERS = ("sdpa", "kernel")  # they fail for mutations of the kernels and rarely for what is built on them


def run(*command, cwd, **options):
    return subprocess.run(list(map(str, command)), cwd=cwd, text=True, errors="replace", capture_output=True,
                          **options)


class Test:
    """A test of CTest's list: its programs, what to run, and its folder in tests/."""

    def __init__(self, entry, graph):
        properties = {p["name"]: p["value"] for p in entry.get("properties", [])}
        self.name, self.labels = entry["name"], properties.get("LABELS", [])
        self.environment = dict(v.split("=", 1) for v in properties.get("ENVIRONMENT", []))
        self.python = "python" in self.labels
        self.command = entry["command"]
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


def last_times():
    """The seconds that each test took on average, as CTest has noted them."""
    notes = BUILD / "Testing/Temporary/CTestCostData.txt"
    lines = notes.read_text().partition("---")[0].split("\n") if notes.exists() else []
    return {name: float(seconds) for name, _, seconds in (line.split() for line in lines if line)}


class Build:
    """build/test: its tests, how each object is compiled, which files it includes, and how each program is linked."""

    def __init__(self):
        os.environ.setdefault("CMAKE_GENERATOR", "Ninja")
        for command in (["cmake", "--preset", "test", f"-DATTN_PYTHON={sys.executable}"], ["cmake", "--build", "--preset", "test"]):
            done = run(*command, cwd=ROOT)
            if done.returncode:
                sys.exit(done.stdout + done.stderr)
        listing = json.loads(run("ctest", "--test-dir", BUILD, "--show-only=json-v1", cwd=ROOT).stdout)
        every = [Test(entry, listing["backtraceGraph"]) for entry in listing["tests"]]
        self.tests = {t.name: t for t in every if t.folder and "rare" not in t.labels and "long" not in t.labels}
        self.seconds = last_times()
        self.compile = {}  # by object
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            command = shlex.split(entry["command"])
            self.compile[command[command.index("-o") + 1]] = command
        self.includes = {}  # by object
        for block in run("ninja", "-t", "deps", cwd=BUILD).stdout.split("\n\n"):
            name, *files = block.splitlines() or [""]
            self.includes[name.split(": #deps")[0]] = {os.path.normpath(BUILD / f.strip()) for f in files}  # ccache makes them relative
        self.link = {}  # by program or shared library
        for line in run("ninja", "-t", "commands", "all", cwd=BUILD).stdout.splitlines():
            output = re.search(r" -o (\S+) ", line)
            if output and output[1] not in self.compile:
                self.link[output[1]] = line

    def affected(self, path, heavy):
        """The objects that contain a file's code, without the heavy ones if there are others."""
        every = [o for o, files in self.includes.items() if str(ROOT / path) in files and o in self.compile]
        return every if heavy else [o for o in every if Path(o).stem not in HEAVY] or every

    def programs(self, test):
        """What a test runs or loads: a program, or the files and the folder that its environment names."""
        named = {*test.command, *test.environment.values()}
        libraries = {o for o in self.link if o.startswith("libattn")}
        found = {o for o in self.link if str(BUILD / o) in named}
        return found | libraries if str(BUILD) in named or "attn" in found else found


class Copy:
    """A copy of the tree, and the programs of one mutation. A lock keeps other runs out of it."""

    def __init__(self, number, build):
        while not self.lock(COPIES / str(number)):
            number += 1
        self.build, self.tests, self.objects, self.isa = build, build.tests, [], {}
        self.tree, self.out = (COPIES / str(number) / name for name in ("tree", "out"))
        sync(self.tree)

    def lock(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.held = open(folder / "lock", "w")
        try:
            fcntl.flock(self.held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def begin(self, path, heavy):
        """Prepares for a mutation of this file: links to all unmutated programs, and the objects to compile."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        for header in (*BUILD.glob("src/*/*.h"), *BUILD.glob("cli/*.h")):  # generated
            (self.out / header.relative_to(BUILD)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(header, self.out / header.relative_to(BUILD))
        for name in (*self.build.link, "libattn.so", "libattn.so.0.1", "libattn-model.so", "libattn-model.so.0.1"):
            os.link(BUILD / name, self.out / name, follow_symlinks=False)
        self.objects, self.ready, self.path = self.build.affected(path, heavy), set(), path
        included = [o for o, files in self.build.includes.items() if str(ROOT / path) in files]
        self.isa = {} if len(included) == len(self.objects) else {"ATTN_ISA": "scalar"}  # by default the heavy kernel is chosen

    def here(self, text):
        """A command's or variable's text with the paths of this copy."""
        return re.sub(rf"{re.escape(str(ROOT))}/(?!build/)", f"{self.tree}/", text.replace(str(BUILD), str(self.out)))

    def make(self, outputs):
        """Compiles and links what the mutation changes in these programs: the errors if that fails, None if nothing changes."""
        changed = False
        for output in sorted(outputs, reverse=True):
            line = self.build.link[output]
            objects = [o for o in self.objects if f" {o} " in line]
            changed |= bool(objects)
            for o in [o for o in objects if o not in self.ready]:
                command = [self.here(word) for word in self.build.compile[o]] + ["-w"]
                target = self.out / o
                target.parent.mkdir(parents=True, exist_ok=True)
                command[command.index("-o") + 1] = str(target)
                done = run(*command, cwd=BUILD)
                if done.returncode:
                    return done.stderr[-2000:]
                self.ready.add(o)
            if not objects or output in self.ready:
                continue
            for o in objects:
                line = line.replace(f" {o} ", f" {self.out / o} ")
            (self.out / output).unlink()  # a link to the file in build/test
            done = run("sh", "-c", line.replace(f" -o {output} ", f" -o {self.out / output} "), cwd=BUILD)
            if done.returncode:
                return done.stderr[-2000:]
            self.ready.add(output)
        return "" if changed or self.path.endswith(".py") else None

    def order(self, mutation, module):
        """The tests to run: the likeliest one first, then those of the module's folder. Each is a test's name,
        with ::test_function after it where one function is enough."""
        first = [t for t in (CAUGHT.get(mutation.name), mutation.test) if t and t.split("::")[0] in self.tests]
        folders = SUITES.get(module, ())
        suite = [t for t in self.tests.values() if (t.folder in folders if folders else not t.python and t.folder not in SUITES)]
        suite.sort(key=lambda t: (folders.index(t.folder) if folders else 0 if t.folder == module else 2 if t.folder in SLOW_FOLDERS else 1,
                                  t.name))
        return list(dict.fromkeys(first + [t.name for t in suite]))

    def execute(self, each, mutated):
        """Runs a test, by name or name::function: (whether it failed, its name with the function that failed)."""
        name, _, function = each.partition("::")
        test = self.tests[name]
        command, environment = test.command, {**test.environment, **self.isa}
        if mutated:
            command, environment = list(map(self.here, command)), {key: self.here(value) for key, value in environment.items()}
        environment["ATTN_NO_WEB"] = "1"  # a copy would build the pages again, and with -Werror: an unused function would count as caught
        if test.python:
            command = selected(command, function) + ["-x"]
        try:
            limit = min(CPU_SECONDS, 5 + 2 * self.build.seconds.get(name, CPU_SECONDS))
            done = run("bash", "-c", f'ulimit -t {limit:.0f}; exec "$@"', "-", *command, cwd=self.out, timeout=SECONDS,
                       env={**os.environ, **environment})
        except subprocess.TimeoutExpired:
            return True, each
        failed = re.search(r"^(?:FAILED|ERROR) \S*?\.py::(.+?)(?: - .*)?$", done.stdout, re.M) if test.python else None
        missing = test.python and done.returncode in PYTEST_FOUND_NONE
        return done.returncode != 0 and not missing, f"{name}::{failed[1]}" if failed else each

    def failing(self, tests):
        """Runs the tests one by one: the first that fails, and the compiler's errors if its programs do not build."""
        for each in tests:
            errors = self.make(self.build.programs(self.tests[each.partition("::")[0]]))
            if errors:
                return each, "does not build:\n" + errors
            failed, name = (False, each) if errors is None else self.execute(each, True)
            if failed:
                return name, ""
        return None, ""

    def detect(self, path, first, tests):
        """As failing, with light objects; what they do not show the first tests may with all."""
        for some, heavy in ((first, False), (first, True), (tests, False)):
            if heavy and self.build.affected(path, True) == self.build.affected(path, False):
                continue
            self.begin(path, heavy)
            test, problem = self.failing(some)
            if test or problem:
                return test, problem
        return None, ""

    def passes(self, test, named):
        """Whether a test that caught a mutation passes without it. With --passed, one that its entry names is trusted."""
        key = test, *self.isa
        trusted = ALL_PASSED and named and not self.isa
        if key not in PASSING and (trusted or not self.execute(test, False)[0]):
            PASSING.add(key)
        return key in PASSING

    def judge(self, mutation, place):
        """(whether a test caught the mutation, the verdict in words)."""
        file = self.tree / place.source.path
        text = file.read_text()
        tests = self.order(mutation, tables.module_of(place.source.path).split("/")[-1])
        first = [t for t in tests if mutation.test and t.startswith(mutation.test)]
        if ONLY_NAMED:
            tests = []
        file.write_text(place.mutated(mutation.new))
        try:
            test, problem = self.detect(place.source.path, first, tests)
        finally:
            file.write_text(text)
        if problem or not test:
            return False, problem or "SURVIVED"
        if not self.passes(test, bool(mutation.test) and test.startswith(mutation.test)):
            return False, f"{test} fails without the mutation too"
        remember(mutation.name, test)
        return True, f"caught by {test}"


def files_of(tree):
    """The paths of all files of a tree, relative to it, without builds and caches."""
    for folder, below, names in os.walk(tree):
        below[:] = [d for d in below if not d.startswith((".", "__pycache__")) and (d != "build" or Path(folder) != tree)]
        yield from ((Path(folder) / name).relative_to(tree) for name in names)


def sync(tree):
    """Makes the tree a copy of the source."""
    source, there = set(files_of(ROOT)), set(files_of(tree))
    for path in there - source:
        (tree / path).unlink()
    for path in source:
        data = (ROOT / path).read_bytes()
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


def commits_tree():
    """The hash of the commit's tree; empty without Git or outside of a repository."""
    if not shutil.which("git"):
        return ""
    shown = subprocess.run(["git", "rev-parse", "HEAD^{tree}"], cwd=ROOT, capture_output=True, text=True)
    return shown.stdout.strip() if shown.returncode == 0 else ""


def choose(every, options):
    """The mutations to run; `every` is in the order of their files."""
    if options.part:
        part, parts = map(int, options.part.split("/"))
        return every[len(every) * (part - 1) // parts:len(every) * part // parts]
    if options.sample:
        seed = os.environ.get("ATTN_SEED") or commits_tree() or str(random.SystemRandom().randrange(2**32))
        count = min(options.sample, len(every))
        print(f"{count} of {len(every)} mutations, ATTN_SEED={seed}; make mutate runs all", flush=True)
        drawn = set(random.Random(seed).sample(sorted(m.name for m in every), count))
        return [m for m in every if m.name in drawn]
    unknown = set(options.names) - {m.name for m in every}
    if unknown:
        sys.exit(f"unknown mutations: {', '.join(sorted(unknown))}; --list prints all names")
    return [m for m in every if (not options.names or m.name in options.names) and (m.test or not ONLY_NAMED)]


def run_all(chosen, places):
    if (COPIES / "caught.json").exists():
        before = json.loads((COPIES / "caught.json").read_text())
        CAUGHT.update((name, test) for name, test in before.items() if name in places)
    count = min(os.cpu_count() or 1, 8, len(chosen))
    build = Build()
    os.environ["CMOCKA_TEST_ABORT"] = "1"  # the first failure is enough
    with ThreadPoolExecutor(count) as pool:
        copies = queue.SimpleQueue()
        for copy in pool.map(lambda n: Copy(n, build), range(count)):
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


def documents():
    """The tests of the documents of tests/lesson/documents, one each."""
    tables_of_documents = (ROOT / "tests/lesson/documents").glob("*.toml")
    return {f"cli_foreign::test_small_documents[{name}]" for t in tables_of_documents for name in tomllib.loads(t.read_text())}


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
    gone |= {m.test for m in every if m.test.endswith("]")} - documents()
    if gone:
        print("tests that are named but do not exist: " + ", ".join(sorted(gone)))
    print(f"{len(every)} mutations: {len(stale)} stale, {len(written)} refreshed, {left} to mend")
    return 1 if left or gone else 0


def main():
    parser = argparse.ArgumentParser(description="Mutation testing; see the head of this file.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    for flag in ("list", "stale", "refresh", "passed", "named"):
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
