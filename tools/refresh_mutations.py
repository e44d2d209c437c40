"""Finds where a stale entry of tests/mutations belongs now, and rewrites it where that is certain.

The base is a commit at which the entries applied: its definition of the symbol is aligned with today's,
token by token, which finds the statement and the renamed identifiers. Without it the statement alone is
aligned with every part of the definition.
"""
import difflib
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from mutations import Place, is_identifier, module_of, occurrences, scan, words

RENAMED, GAP = 0.4, 1.0
LONGEST = 1500  # tokens of a definition that is aligned as a whole


def substitution(a, b):
    if a == b:
        return 0
    if is_identifier(a) and is_identifier(b):
        return RENAMED
    literal = [t[0].isdigit() or t[0] in "\"'" for t in (a, b)]
    return 0.8 if all(literal) else 2 * GAP


def is_renamed(a, b):
    """Whether only a name or the text of a message differs."""
    return is_identifier(a) and is_identifier(b) or a[:1] == b[:1] == '"'


def align(old, now, part=False):
    """The cheapest alignment: (its cost, pairs of positions, -1 for a gap). With part, `now` may go on at both ends."""
    width = len(now) + 1
    rows = [[0.0 if part else GAP * j for j in range(width)]]
    for a in old:
        above = rows[-1]
        row = [above[0] + GAP]
        for j in range(1, width):
            best = above[j - 1] + substitution(a, now[j - 1])
            if above[j] + GAP < best:
                best = above[j] + GAP
            if row[j - 1] + GAP < best:
                best = row[j - 1] + GAP
            row.append(best)
        rows.append(row)
    end = min(range(width), key=rows[-1].__getitem__) if part else width - 1
    return rows[-1][end], trace(rows, old, now, end, part)


def trace(rows, old, now, j, part):
    i, pairs = len(old), []
    while i or j and not part:
        here = rows[i][j]
        if i and j and abs(here - rows[i - 1][j - 1] - substitution(old[i - 1], now[j - 1])) < 1e-9:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif i and abs(here - rows[i - 1][j] - GAP) < 1e-9:
            i -= 1
            pairs.append((i, -1))
        else:
            j -= 1
            pairs.append((-1, j))
    return pairs[::-1]


@dataclass
class Match:
    """The part of today's source that is nearest to an entry's old piece."""
    place: Place
    pairs: list          # of tokens, "" for a gap: (old, today's)
    cost: float
    certain: bool        # found by its surroundings, or alone in being so near
    names: dict = field(default_factory=dict)  # identifiers that were renamed around it

    def renames(self):
        """(the names and messages that differ, old to new, those that became different things); None if more differs."""
        found, unclear = {}, set()
        for old, now in self.pairs:
            if old != now and not is_renamed(old, now):
                return None
            if found.setdefault(old, now) != now:
                unclear.add(old)
        return {old: now for old, now in found.items() if old != now}, unclear


def piece(definition, old, pairs):
    """The Match of the tokens that pairs of positions cover in a definition."""
    now = definition.tokens
    while pairs and pairs[0][0] < 0:
        pairs = pairs[1:]
    while pairs and pairs[-1][0] < 0:
        pairs = pairs[:-1]
    taken = [j for _, j in pairs if j >= 0]
    if not taken:
        return None
    place = Place(definition.source, definition.symbol, definition.begin + taken[0], definition.begin + taken[-1] + 1)
    both = [(old[i] if i >= 0 else "", now[j] if j >= 0 else "") for i, j in pairs]
    cost = sum(GAP if "" in (a, b) else substitution(a, b) for a, b in both)
    return Match(place, both, cost, False)


def by_surroundings(definition, before, place):
    """Aligns the whole definition with what it was: `before` is the base's, `place` the piece in it."""
    old, now = before.tokens, definition.tokens
    if max(len(old), len(now)) > LONGEST:
        return None
    cost, pairs = align(old, now)
    if cost > 0.5 * len(old):
        return None
    first, end = place.begin - before.begin, place.end - before.begin
    at = [n for n, (i, _) in enumerate(pairs) if first <= i < end]
    match = piece(definition, old, pairs[at[0]:at[-1] + 1])
    if match:
        match.certain = True
        votes = Counter((old[i], now[j]) for i, j in pairs if i >= 0 and j >= 0 and is_identifier(old[i]) and is_identifier(now[j]))
        for (a, b), _ in sorted(votes.items(), key=lambda v: v[1]):
            match.names[a] = b
    return match


def by_itself(definition, old):
    now = definition.tokens
    cost, pairs = align(old, now, part=True)
    match = piece(definition, old, pairs)
    if match:
        first, end = match.place.begin - definition.begin, match.place.end - definition.begin
        rest = min(align(old, part, part=True)[0] for part in (now[:first], now[end:]))
        names = [t for t in old if is_identifier(t)]
        same = sum(a == b for a, b in match.pairs if is_identifier(a))
        match.certain = rest > cost + RENAMED and 2 * same >= len(names) > 0
    return match


def similar(tree, tokens, python, count):
    """The definitions most like these tokens."""
    wanted = Counter(tokens)
    total, found = sum(wanted.values()), []
    for source in tree.sources:
        if source.python == python:
            for name, begin, end in source.symbols:
                both = sum((wanted & Counter(source.tokens[begin:end])).values())
                found.append((both / max(total, 1) - 0.2 * (end - begin) / max(total, end - begin), len(found), Place(source, name, begin, end)))
    return [place for *_, place in sorted(found, key=lambda f: -f[0])[:count]]


def nearest(mutation, tree, base):
    """The Match of a stale entry, or None."""
    before = place = None
    if base:
        places = base.find(mutation)
        if len(places) == 1:
            place = places[0]
            before = min((d for d in base.definitions(mutation) if d.source is place.source and d.begin <= place.begin < d.end),
                         key=lambda d: d.end - d.begin)
    python = mutation.file.endswith(".py") if mutation.file else place is not None and place.source.python
    old = words(mutation.old, python)
    definitions = tree.definitions(mutation) or tree.by_name.get(mutation.symbol, [])
    matches = [by_surroundings(d, before, place) for d in definitions] if before else []
    matches += [by_itself(d, old) for d in definitions]
    best = min((m for m in matches if m), key=lambda m: m.cost * (0.6 if m.certain else 1), default=None)
    if best and best.cost < 0.3 * len(old):
        return best
    moved = [p for s in tree.sources for d in [Place(s, "", 0, len(s.tokens))] for p in occurrences(d, old)]
    if len(moved) == 1 and len(old) > 4:
        return Match(enclosing(moved[0]), [(t, t) for t in old], 0, True)
    for d in similar(tree, before.tokens if before else old, python, 12):
        matches += [by_surroundings(d, before, place)] if before else []
        alone = by_itself(d, old)
        if alone:
            alone.certain = False  # of another symbol
            matches.append(alone)
    return min((m for m in matches if m and m.cost < 0.6 * len(old)), key=lambda m: m.cost * (0.6 if m.certain else 1), default=None)


def enclosing(place):
    """The same place, by the name of the smallest symbol around it."""
    around = [s for s in place.source.symbols if s[1] <= place.begin and place.end <= s[2]]
    return replace(place, symbol=min(around, key=lambda s: s[2] - s[1])[0] if around else "")


def renamed(text, names, python):
    at, out = 0, []
    for token, begin, end, _ in scan(text, python):
        out += [text[at:begin], names.get(token, token)]
        at = end
    return "".join(out) + text[at:]


def merged(mutation, match):
    """Today's piece with the entry's change in it: None where both changed the same tokens."""
    python = match.place.source.python
    old, new, text = words(mutation.old, python), words(mutation.new, python), match.place.text
    spans, names, position, j = {}, dict(match.names), 0, 0
    names.update((a, b) for a, b in match.pairs if is_renamed(a, b))
    now = list(scan(text, python))
    for a, b in match.pairs:  # spans: of the old token at a position, today's token
        if a:
            spans[position] = j if b and (a == b or is_renamed(a, b)) else None
            position += 1
        j += bool(b)
    edits, written = [], list(scan(mutation.new, python))
    for kind, i1, i2, k1, k2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        covered = [spans[i] for i in range(i1, i2)]
        if None in covered or covered and covered != list(range(covered[0], covered[0] + len(covered))):
            return None
        if not covered and (i1 == 0 or spans[i1 - 1] is None):
            return None
        if covered:
            begin, end = now[covered[0]][1], now[covered[-1]][2]
        else:
            begin = end = now[spans[i1 - 1]][2]
        first = (written[k1][1] if covered else written[k1 - 1][2]) if k2 > k1 else 0
        edits.append((begin, end, renamed(mutation.new[first:written[k2 - 1][2]], names, python) if k2 > k1 else ""))
    for begin, end, change in reversed(edits):
        text = text[:begin] + change + text[end:]
    return text


def rewritten(mutation, match, tree, base, accept):
    """(the entry for today's source, what to check in it), or (None, why not)."""
    place, python = match.place, match.place.source.python
    renames = match.renames()
    if renames is None and not accept:
        return None, "more than names differs"
    if not match.certain and not accept:
        return None, "the nearest statement is not certain"
    names, unclear = renames or ({}, set())
    written = words(mutation.new, python)
    if renames is None or unclear:
        inserted = Counter(written) - Counter(words(mutation.old, python))
        if unclear & set(inserted) and not accept:
            return None, f"two new names for {', '.join(sorted(unclear))}"
        new = merged(mutation, match)
    else:
        names.update((t, match.names[t]) for t in written if t not in names and t in match.names)
        new = renamed(mutation.new, names, python)
    if new is None:
        return None, "the change itself does not fit any more"
    entry = replace(mutation, symbol=place.symbol, old=place.text, new=new, file="")
    known = tree.identifiers() | set(words(mutation.new, python) if base is None else ())
    lost = [t for t in words(new, python) if is_identifier(t) and t not in known and (base is None or t in base.identifiers())]
    if lost:
        return None, f"no longer in the tree: {', '.join(lost)}"
    found = tree.find(entry)
    if len(found) > 1:
        entry = replace(entry, file=Path(place.source.path).name)
        found = tree.find(entry)
    if len(found) != 1:
        return None, f"found {len(found)} times"
    alien = {t for t in words(new, python) if is_identifier(t)} - set(words(entry.old, python)) - set(place.source.tokens)
    return entry, f"names that its file does not have: {', '.join(sorted(alien))}" if alien else ""


def show(mutation, match, why, python=False):
    """What a person needs to mend an entry."""
    print(f"{mutation.name}\n  {'symbol':8}{mutation.symbol}\n  {'old':8}{mutation.old}\n  {'new':8}{mutation.new}")
    if not match:
        print("  nothing in the tree is like it")
        return
    place = match.place
    line = place.source.text.count("\n", 0, place.span[0]) + 1
    print(f"  {'nearest':8}{place.text}\n  {'in':8}{place.symbol}, {place.source.path}:{line}")
    proposal = merged(mutation, match)
    if proposal is not None:
        print(f"  {'propose':8}{proposal}")
    if why:
        print(f"  {'because':8}{why}")
