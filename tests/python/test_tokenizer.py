"""Our tokenizers and Hugging Face's, file by file in both directions: the same numbers for the same text."""
import json
import os
import random
import re
import subprocess
import unicodedata

import pytest

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

TOKENIZE = os.environ["ATTN_TOKENIZE"]
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
SEED = int(os.environ.get("ATTN_SEED", random.SystemRandom().randrange(2**32)))
print(f"test_tokenizer: ATTN_SEED={SEED}")


@pytest.fixture
def rng(request):
    return random.Random(f"{SEED} {request.node.name}")


def ours(command, *arguments, lines=()):
    done = subprocess.run([TOKENIZE, command, *map(str, arguments)], input="".join(f"{l}\n" for l in lines),
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def hexes(texts):
    return [text.encode().hex() for text in texts]


def encode(file, texts):
    return [[int(n) for n in line.split()] for line in ours("encode", file, lines=hexes(texts))]


def decode(file, ids):
    lines = ours("decode", file, lines=[" ".join(map(str, row)) for row in ids])
    return [bytes.fromhex(line).decode(errors="replace") for line in lines]


def theirs(file):
    loaded = Tokenizer.from_file(str(file))
    loaded.encode_special_tokens = True  # text is text, whatever it says
    return loaded


def is_old(code):
    """Assigned long ago, so that every table of Unicode has it alike; U+0000 is not for names in JSON."""
    return code and unicodedata.ucd_3_2_0.category(chr(code)) not in ("Cn", "Cs", "Co") and \
        unicodedata.category(chr(code))[0] == unicodedata.ucd_3_2_0.category(chr(code))[0]


OLD = [chr(code) for code in range(0x110000) if is_old(code)]
NEAR = list("aabcdestlrvmTS019 '’!?.,-_\t\n\r\v\f \x85\xa0\u1680\u2003\u2028\u3000éß私は字½Ⅷ٣e\u0301\u200d😀")
PIECES = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", " '", "  ", "\n\n", "<s>", "<unk>", "</s>", " the", "ing"]


def some_text(rng, most=60):
    parts = [rng.choice(rng.choice([NEAR, NEAR, PIECES, OLD])) for _ in range(rng.randrange(most))]
    return "".join(parts)


def some_corpus(rng):
    stems = ["".join(rng.choice("abcdeéio私は1") for _ in range(rng.randrange(1, 7))) for _ in range(60)]
    line = lambda: rng.choice([" ", "  ", " ", "\n"]).join(
        rng.choice(stems) + rng.choice(["", "s", "'s", "ing", "!", ", "]) for _ in range(rng.randrange(1, 25)))
    return [line() for _ in range(60)]


def same(file, texts):
    """The numbers of both are the same, and so is what becomes of them."""
    loaded = theirs(file)
    wanted = [loaded.encode(text, add_special_tokens=False).ids for text in texts]
    found = encode(file, texts)
    for text, a, b in zip(texts, found, wanted):
        assert a == b, f"ATTN_SEED={SEED}: {text!r}"
    assert decode(file, found) == [loaded.decode(row) if row else "" for row in wanted]
    return found


def train_theirs(corpus, words, alphabet=True, **options):
    t = Tokenizer(models.BPE(**options))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet() if alphabet else []
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=words, special_tokens=SPECIAL, show_progress=False,
                                                      initial_alphabet=letters))
    return t


def merges_of(file):
    pairs = json.loads(file.read_text())["model"]["merges"]
    return [tuple(pair.split(" ") if isinstance(pair, str) else pair) for pair in pairs]


@pytest.mark.parametrize("round_", range(4))
def test_bpe_from_here(rng, tmp_path, round_):
    file, texts = tmp_path / "tokenizer.json", [some_text(rng) for _ in range(300)]
    ours("train-bpe", rng.randrange(260, 700), file, lines=hexes(some_corpus(rng) + texts[:20]))
    texts.append("ab" * 500 + " " * 500 + "é" * 300)
    found = same(file, texts)
    assert decode(file, found) == texts


@pytest.mark.parametrize("round_", range(4))
def test_bpe_from_there(rng, tmp_path, round_):
    file, again = tmp_path / "tokenizer.json", tmp_path / "again.json"
    whole = round_ % 2
    trained = train_theirs(some_corpus(rng), rng.randrange(300, 700), whole, **({} if whole else {"unk_token": "<unk>"}))
    trained.save(str(file))
    texts = [some_text(rng) for _ in range(300)]
    found = same(file, texts)
    ours("rewrite", file, again)
    assert same(again, texts) == found
    assert theirs(again).get_vocab() == theirs(file).get_vocab()
    assert merges_of(again) == merges_of(file)


@pytest.mark.parametrize("round_", range(6))
def test_training_merges_the_same_pairs(rng, tmp_path, round_):
    """Theirs keeps a stale count of a pair that comes again, which needs a word made in two ways: up to there."""
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    corpus, words = some_corpus(rng), rng.randrange(300, 900)
    ours("train-bpe", words, here, lines=hexes(corpus))
    train_theirs(corpus, words).save(str(there))
    made, alike = set(), 0
    for pair in merges_of(there):
        if "".join(pair) in made:
            break
        made.add("".join(pair))
        alike += 1
    assert alike > 20
    assert merges_of(here)[:alike] == merges_of(there)[:alike], f"ATTN_SEED={SEED}"


def test_characters_from_here(rng, tmp_path):
    file, corpus = tmp_path / "tokenizer.json", [some_text(rng) for _ in range(100)]
    ours("train-characters", file, lines=hexes(corpus))
    found = same(file, corpus)
    assert decode(file, found) == corpus
    assert 3 not in sum(found, [])
    same(file, [some_text(rng) for _ in range(300)])
    vocab = theirs(file).get_vocab()
    assert sorted(vocab, key=vocab.get) == SPECIAL + sorted(set("".join(corpus)))


def test_characters_from_there(rng, tmp_path):
    letters = rng.sample(OLD, 300) + NEAR
    words = SPECIAL + list(dict.fromkeys(letters))
    t = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    t.decoder = decoders.Fuse()
    t.add_special_tokens(SPECIAL)
    t.save(str(tmp_path / "tokenizer.json"))
    same(tmp_path / "tokenizer.json", [some_text(rng) for _ in range(300)])


def no_special(rng):
    """A word that is spelled like a special token stays text here and becomes the token there."""
    text = some_text(rng)
    for word in SPECIAL:
        text = text.replace(word, "x")
    return text


def test_words_from_here(rng, tmp_path):
    file, corpus = tmp_path / "tokenizer.json", [no_special(rng) for _ in range(100)]
    ours("train-words", file, lines=hexes(corpus))
    found = same(file, corpus)
    words = [re.sub(r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+", " ", text) for text in corpus]
    assert decode(file, found) == [text.strip(" ") for text in words]
    assert 3 not in sum(found, [])
    same(file, [no_special(rng) for _ in range(300)])
    assert encode(file, ["<s> </s> <pad> <unk>"]) == [[3, 3, 3, 3]]


def test_words_from_there(rng, tmp_path):
    words = SPECIAL + list(dict.fromkeys(" ".join(some_corpus(rng)).split()))
    t = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.add_special_tokens(SPECIAL)
    t.save(str(tmp_path / "tokenizer.json"))
    same(tmp_path / "tokenizer.json", some_corpus(rng) + [no_special(rng) for _ in range(100)])


def test_every_old_character_is_split_alike(tmp_path):
    """Between a letter and a digit, behind a space, twice, behind another of its own: its class shows."""
    file = tmp_path / "tokenizer.json"
    chosen = OLD[::7] if not os.environ.get("ATTN_ALL") else OLD
    texts = ["".join(f"ab{c}12 {c}{c}!{c} {c}" for c in chosen[n:n + 200]) for n in range(0, len(chosen), 200)]
    ours("train-bpe", 2000, file, lines=hexes(texts))
    same(file, texts)


def test_unsupported_features_are_named(tmp_path):
    """What Hugging Face's library can write and ours would do otherwise is refused."""
    from tokenizers import normalizers, processors
    file = tmp_path / "tokenizer.json"

    def refused(change, word):
        t = train_theirs(["ab ab"], 270)
        change(t)
        t.save(str(file))
        done = subprocess.run([TOKENIZE, "encode", str(file)], input="", capture_output=True, text=True)
        assert done.returncode == 1 and word in done.stderr, done.stderr

    refused(lambda t: setattr(t, "normalizer", normalizers.NFC()), "normalizer")
    refused(lambda t: setattr(t, "pre_tokenizer", pre_tokenizers.ByteLevel(add_prefix_space=True)), "add_prefix_space")
    refused(lambda t: setattr(t, "pre_tokenizer", pre_tokenizers.Whitespace()), "pre_tokenizer.type")
    refused(lambda t: setattr(t, "decoder", decoders.Metaspace()), "decoder.type")
    refused(lambda t: setattr(t, "post_processor", processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)])), "post_processor.type")
    refused(lambda t: t.enable_truncation(5), "truncation")
    refused(lambda t: t.enable_padding(), "padding")
    refused(lambda t: t.add_tokens(["word"]), "added_tokens[4].special")
    refused(lambda t: setattr(t.model, "dropout", 0.1), "model.dropout")
    refused(lambda t: setattr(t.model, "fuse_unk", True), "model.fuse_unk")
    refused(lambda t: setattr(t, "model", models.Unigram([("<pad>", 0.0)])), "Unigram")
