"""The tables of tests/mutations, and where their entries apply in a source tree.

An entry names a symbol (a function, variable, enumerator, type or macro; in Python also Class.method)
and a piece of its definition, `old`, with the replacement, `new`. Code is compared token by token:
white space, line breaks and comments do not matter. `file`, a base name, is needed only where several
symbols of that name contain the piece. `test` is the test to try first.
"""
import ast
import bisect
import difflib
import io
import json
import re
import subprocess
import tarfile
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

TABLES = "tests/mutations"
SOURCES = ("src", "cli", "python")
C_TOKEN = re.compile(r"""(?P<directive>(?m:^)[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)|(?P<skip>\s+|\\\n|//[^\n]*|/\*.*?\*/)
    |(?:L|u8|u|U)?"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*
    |<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|[<>=!]=|&&|\|\||[-+*/%&|^]=|\#\#|.""", re.S | re.X)
PYTHON_TOKEN = re.compile(r'''(?P<skip>\s+|\\\n|\#[^\n]*)
    |[rbfuRBFU]{0,2}(?:"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |[^\W\d]\w*|\.?\d(?:[eE][+-]|[\w.])*|\*\*=|//=|<<=|>>=|\.\.\.|->|\*\*|//|<<|>>|[<>=!:]=|[-+*/%&|^@]=|.''', re.S | re.X)
NAME = re.compile(r"[A-Za-z_]\w*\Z")
KEYWORDS = set("""auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    and as assert class def del elif except finally from global import in is lambda not or pass raise try with yield
    None True False""".split())


@dataclass(frozen=True)
class Mutation:
    name: str
    symbol: str
    old: str
    new: str
    test: str = ""
    file: str = ""


def is_identifier(token):
    return NAME.match(token) is not None and token not in KEYWORDS


def scan(text, python, start=0):
    """(token, begin, end, whether a preprocessor directive has it) for each token."""
    for match in (PYTHON_TOKEN if python else C_TOKEN).finditer(text):
        if match.lastgroup == "directive":
            at, line = start + match.start(), match.group()
            hash_at = line.index("#")
            yield "#", at + hash_at, at + hash_at + 1, True
            for token, begin, end, _ in scan(line[hash_at + 1:], False, at + hash_at + 1):
                yield token, begin, end, True
        elif match.lastgroup != "skip":
            yield match.group(), start + match.start(), start + match.end(), False


def words(text, python=False):
    return [token for token, *_ in scan(text, python)]


class Source:
    """A file's tokens, and the symbols that it defines: (name, first token, token after the last)."""

    def __init__(self, path, text):
        self.path, self.text, self.python = path, text, path.endswith(".py")
        found = list(scan(text, self.python))
        self.tokens, self.begins, self.ends = ([f[n] for f in found] for n in range(3))
        self.symbols = list(self.python_symbols() if self.python else self.c_symbols([f[3] for f in found]))

    def python_symbols(self):
        lines = [0]
        for line in self.text.splitlines(keepends=True):
            lines.append(lines[-1] + len(line))

        def walk(nodes, prefix):
            for node in nodes:
                names = []
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    names = [prefix + node.name]
                    yield from walk(node.body, prefix + node.name + ".")
                elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names = [prefix + t.id for t in targets if isinstance(t, ast.Name)]
                elif isinstance(node, (ast.If, ast.Try, ast.With)):
                    yield from walk(node.body, prefix)
                first = bisect.bisect_left(self.begins, lines[node.lineno - 1])
                last = bisect.bisect_left(self.begins, lines[node.end_lineno])
                yield from ((name, first, last) for name in names)

        return walk(ast.parse(self.text).body, "")

    def c_symbols(self, in_directive):
        tokens, first, depth = self.tokens, None, 0
        body = assigned = None  # of the item that is read: its first brace and its first "=" outside of brackets
        for n, token in enumerate(tokens):
            if in_directive[n]:
                if token == "#" and tokens[n + 1:n + 2] == ["define"]:
                    end = next((k for k in range(n + 1, len(tokens)) if not in_directive[k] or tokens[k] == "#"
                                and "\n" in self.text[self.ends[k - 1]:self.begins[k]]), len(tokens))
                    yield tokens[n + 2], n, end
                continue
            first = n if first is None else first
            if depth == 0 and token == "{" and body is None:
                body = n
            if depth == 0 and token == "=" and assigned is None:
                assigned = n
            depth += (token in "([{") - (token in ")]}")
            if depth:
                continue
            function = self.function_name(first, body) if body is not None and assigned is None else None
            if token == ";" or token == "}" and function:
                names = [function] if function else self.declared(first, n, body, assigned)
                yield from ((name, first, n + 1) for name in names)
                first = body = assigned = None

    def function_name(self, first, body):
        """The name in front of the parentheses in front of a body; None if it is not a function's."""
        n = body - 1
        while n > first and NAME.match(self.tokens[n]):
            n -= 1
        if self.tokens[n] != ")":
            return None
        depth = 0
        for n in range(n, first - 1, -1):
            depth += (self.tokens[n] == ")") - (self.tokens[n] == "(")
            if depth == 0:  # f(...), or a macro that makes the name, as in ROW(f)(...)
                return self.tokens[n - 1] if self.tokens[n - 1] != ")" else self.tokens[n - 2]
        return None

    def declared(self, first, last, body, assigned):
        tokens = self.tokens
        if body is None and assigned is None and "(" in tokens[first:last] and tokens[first] != "typedef":
            return  # a prototype
        depth, after_type = 0, False
        for n in range(first, last):
            depth += (tokens[n] in "([{") - (tokens[n] in ")]}")
            if not is_identifier(tokens[n]):
                continue
            if tokens[n - 1] in ("struct", "union", "enum") and depth == 0 and tokens[n + 1] == "{":
                yield tokens[n]
            elif depth == 0 and tokens[n + 1] in ("[", "=", ";", ",") and not after_type:
                after_type = True
                yield tokens[n]
            elif depth == 1 and "enum" in tokens[first:body or first] and tokens[n - 1] in ("{", ","):
                yield tokens[n]


@dataclass
class Place:
    """Tokens begin .. end - 1 of a file, in a symbol's definition."""
    source: Source
    symbol: str
    begin: int
    end: int

    @property
    def span(self):
        return self.source.begins[self.begin], self.source.ends[self.end - 1]

    @property
    def tokens(self):
        return self.source.tokens[self.begin:self.end]

    @property
    def text(self):
        """The tokens on one line: a space for white space or a comment between two."""
        source, out = self.source, []
        for n in range(self.begin, self.end):
            out += [" "] if n > self.begin and source.begins[n] > source.ends[n - 1] else []
            out.append(source.tokens[n])
        return "".join(out)

    def mutated(self, new):
        begin, end = self.span
        return self.source.text[:begin] + new + self.source.text[end:]


class Tree:
    """The sources of a folder, or of a commit of the repository that contains the folder."""

    def __init__(self, root, commit=None):
        self.root, self.sources, self.by_name = Path(root), [], defaultdict(list)
        for path, text in sorted(self.of_commit(commit) if commit else self.of_folder()):
            source = Source(path, text)
            self.sources.append(source)
            for name, begin, end in source.symbols:
                place = Place(source, name, begin, end)
                self.by_name[name].append(place)
                if "." in name:
                    self.by_name[name.rsplit(".", 1)[1]].append(place)

    def of_folder(self):
        for folder in SOURCES:
            for path in (self.root / folder).rglob("*"):
                if path.suffix in (".c", ".h", ".inc", ".py"):
                    yield str(path.relative_to(self.root)), path.read_text()

    def of_commit(self, commit):
        packed = subprocess.run(["git", "archive", commit, *SOURCES], cwd=self.root, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            for member in archive:
                if member.isfile() and member.name.endswith((".c", ".h", ".inc", ".py")):
                    yield member.name, archive.extractfile(member).read().decode()

    def definitions(self, mutation):
        found = self.by_name.get(mutation.symbol, [])
        return [p for p in found if not mutation.file or Path(p.source.path).name == mutation.file]

    def find(self, mutation):
        """Where the entry applies: every occurrence, one if all is well."""
        places = {}
        for definition in self.definitions(mutation):
            for place in occurrences(definition, words(mutation.old, definition.source.python)):
                places[place.source.path, place.begin] = place
        return list(places.values())

    def identifiers(self):
        return {token for source in self.sources for token in source.tokens if is_identifier(token)}


def occurrences(definition, wanted):
    tokens, source = definition.tokens, definition.source
    for n in range(len(tokens) - len(wanted) + 1 if wanted else 0):
        if tokens[n:n + len(wanted)] == wanted:
            yield Place(source, definition.symbol, definition.begin + n, definition.begin + n + len(wanted))


# --- the tables ---

def load(root):
    """All entries, in the order of the files; a name has one entry only."""
    entries_by_name = {}
    for path in sorted((Path(root) / TABLES).glob("*.toml")):
        for name, keys in tomllib.loads(path.read_text()).items():
            if name in entries_by_name:
                raise SystemExit(f"{path}: a second mutation named {name!r}")
            entries_by_name[name] = Mutation(name, **keys)
    return list(entries_by_name.values())


def quoted(text):
    return f"'{text}'" if "'" not in text and "\n" not in text else f"'''{text}'''"


def table_of(module, mutations):
    """The text of a module's table: the entries in the given order."""
    lines = [f"# Mutations of {module}. tools/mutate.py runs them; tools/mutations.py describes the keys."]
    for m in mutations:
        lines += ["", f"[{json.dumps(m.name, ensure_ascii=False)}]", f'symbol = "{m.symbol}"']
        lines += [f'file = "{m.file}"'] if m.file else []
        lines += [f"old = {quoted(m.old)}", f"new = {quoted(m.new)}"]
        lines += [f'test = "{m.test}"'] if m.test else []
    text = "\n".join(lines) + "\n"
    assert [Mutation(name, **keys) for name, keys in tomllib.loads(text).items()] == list(mutations)
    return text


def module_of(path):
    """src/nn of src/nn/gemm/x.c; cli and python of theirs."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "src" else parts[0]


def save_all(root, mutations, tree):
    """Each entry goes into the table of the module that has its symbol now; one that applies nowhere stays where it is."""
    before = {}
    for path in (Path(root) / TABLES).glob("*.toml"):
        before.update((name, path.stem) for name in tomllib.loads(path.read_text()))
    tables = defaultdict(list)
    modules = {module_of(s.path).split("/")[-1]: module_of(s.path) for s in tree.sources}
    for m in mutations:
        places = tree.find(m)
        stem = module_of(places[0].source.path).split("/")[-1] if places else before[m.name]
        tables[modules.get(stem, stem)].append(m)
    texts = {module.split("/")[-1] + ".toml": table_of(module, entries) for module, entries in tables.items()}
    for path in (Path(root) / TABLES).glob("*.toml"):
        path.unlink()
    for name, text in texts.items():
        (Path(root) / TABLES / name).write_text(text)
