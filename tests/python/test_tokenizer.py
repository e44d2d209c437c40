"""Tokenizers of attn and Hugging Face on the same files, in both directions: the same token ids for the same text."""
import json
import os
import re
import subprocess
import unicodedata

import pytest

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

TOKENIZE = os.environ["ATTN_TOKENIZE"]
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]


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
    loaded.encode_special_tokens = True  # no special tokens in texts
    return loaded


def is_old(code):
    """Tests for characters assigned long ago, equal in all Unicode tables; without U+0000, which JSON names cannot have."""
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
    """Compares token ids and decoded texts."""
    loaded = theirs(file)
    wanted = [loaded.encode(text, add_special_tokens=False).ids for text in texts]
    found = encode(file, texts)
    for text, a, b in zip(texts, found, wanted):
        assert a == b, repr(text)
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
def test_bpe_training_matches(rng, tmp_path, round_):
    """Compares merges up to the first pair for which Hugging Face keeps a stale count."""
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
    assert merges_of(here)[:alike] == merges_of(there)[:alike]


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
    """A word spelled like a special token is text in attn and the token in Hugging Face."""
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


def test_pre_tokenization_of_all_characters(tmp_path):
    """Each character between a letter and a digit, after a space, twice, and after another of its class."""
    file = tmp_path / "tokenizer.json"
    chosen = OLD[::7] if not os.environ.get("ATTN_ALL") else OLD
    texts = ["".join(f"ab{c}12 {c}{c}!{c} {c}" for c in chosen[n:n + 200]) for n in range(0, len(chosen), 200)]
    ours("train-bpe", 2000, file, lines=hexes(texts))
    same(file, texts)


STEADY = [c for c in OLD if unicodedata.category(c) == unicodedata.ucd_3_2_0.category(c)]
MARKS = list("\u0300\u0301\u0327\u0323\u302e\u302f\u0488\u1d165\u0345") + ["\U0001d165", "\U0001d16d", "\u0338"]
ODD = list("İIıſKÅΣςßẞﬁ가힣각ཀྵ\u0344\u037e\u0387\u1fefंো豈\u200b\u200d\u00ad\ufeff\x00\x01\x7f\x85\ufffd\ue000$+<=>^`|~«»„、。") + ["\U0002f800", "\U0002b820", "\U0002a6df", "\U00010400"]


def bert_text(rng, most=50):
    return "".join(rng.choice(rng.choice([NEAR, PIECES, STEADY, MARKS, ODD, NEAR])) for _ in range(rng.randrange(most)))


def bert(rng, texts):
    """A WordPiece vocabulary of pieces of these texts, with random settings."""
    from tokenizers import normalizers, processors
    names = rng.choice([["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], ["<s>", "<pad>", "</s>", "<unk>"]])
    first, last, unknown = ("[CLS]", "[SEP]", "[UNK]") if "[PAD]" in names else ("<s>", "</s>", "<unk>")
    prefix = rng.choice(["##", "##", "", "_", "éé"])
    lower = rng.random() < 0.6
    around = dict(clean_text=rng.random() < 0.7, handle_chinese_chars=rng.random() < 0.7, lowercase=lower,
                  strip_accents=rng.choice([None, True, False]))
    normalizer = normalizers.BertNormalizer(**around)
    cutter = pre_tokenizers.BertPreTokenizer()
    vocab = {name: n for n, name in enumerate(names)}
    for text in texts:
        for word, _ in cutter.pre_tokenize_str(normalizer.normalize_str(text)):
            at = 0
            while at < len(word) and len(vocab) < 4000:
                end = at + rng.randrange(1, 4)
                piece = (prefix if at else "") + word[at:end]
                if "\0" not in piece and rng.random() < 0.97:
                    vocab.setdefault(piece, len(vocab))
                at = end
    t = Tokenizer(models.WordPiece(vocab, unk_token=unknown, continuing_subword_prefix=prefix,
                                   max_input_chars_per_word=rng.choice([3, 8, 100])))
    t.normalizer, t.pre_tokenizer = normalizer, cutter
    t.decoder = decoders.WordPiece(prefix=prefix, cleanup=rng.random() < 0.5)
    t.add_special_tokens(names)
    t.post_processor = processors.TemplateProcessing(single=f"{first} $A {last}",
                                                     pair=f"{first} $A {last} $B:1 {last}:1",
                                                     special_tokens=[(first, vocab[first]), (last, vocab[last])])
    return t


@pytest.mark.parametrize("round_", range(12))
def test_wordpiece_from_there(rng, tmp_path, round_):
    file, again = tmp_path / "tokenizer.json", tmp_path / "again.json"
    texts = [bert_text(rng) for _ in range(200)] + ["a" * 99, "ab" * 50, "a" * 101, "中" * 150, "!" * 150,
                                                  "a\u0301" * 99, "e" + "\u302e\U0001d165" * 30 + "\u0488" + "\U0001d165\u302e"]
    made = bert(rng, texts[:150])
    made.save(str(file))
    found = same(file, texts)
    ours("rewrite", file, again)
    assert same(again, texts) == found
    assert json.loads(again.read_text())["post_processor"] == json.loads(file.read_text())["post_processor"]
    made.enable_truncation(7)
    made.enable_padding(length=20)
    made.save(str(file))
    assert encode(file, texts) == found  # the model's to do


def test_wordpiece_normalization_of_all_characters(rng, tmp_path):
    """Each character alone and next to letters, accents and marks that may be reordered."""
    from tokenizers import normalizers
    chosen = STEADY if os.environ.get("ATTN_ALL") else STEADY[rng.randrange(7)::7]
    texts = ["".join(f"ab{c}12 {c}{c}!{c} x\u302e{c}\u0327a" for c in chosen[n:n + 50])
             for n in range(0, len(chosen), 50)]
    letters = sorted({c for lower in (True, False) for text in texts for c in
                      normalizers.BertNormalizer(lowercase=lower).normalize_str(text) if c != "\0" and not c.isspace()})
    words = ["[UNK]", "[CLS]", "[SEP]"] + letters + ["##" + c for c in letters]
    for lower, strip in ((True, None), (False, None), (True, False)):
        t = Tokenizer(models.WordPiece({w: n for n, w in enumerate(words)}, unk_token="[UNK]"))
        t.normalizer = normalizers.BertNormalizer(lowercase=lower, strip_accents=strip)
        t.pre_tokenizer, t.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
        t.add_special_tokens(words[:3])
        t.save(str(tmp_path / "tokenizer.json"))
        same(tmp_path / "tokenizer.json", texts)


def test_unsupported_wordpiece(rng, tmp_path):
    """Each unsupported change of a valid file is rejected by name."""
    file = tmp_path / "tokenizer.json"
    made = bert(rng, ["ab ab"])
    made.save(str(file))
    right = json.loads(file.read_text())

    def refused(path, value, word):
        change = json.loads(json.dumps(right))
        at = change
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value
        file.write_text(json.dumps(change))
        done = subprocess.run([TOKENIZE, "encode", str(file)], input="", capture_output=True, text=True)
        assert done.returncode == 1 and word in done.stderr, (path, done.stderr)

    for value in (0, -1, 2**40, "100", None):
        refused(["model", "max_input_chars_per_word"], value, "max_input_chars_per_word")
    refused(["model", "unk_token"], "nowhere", "unk_token")
    refused(["model", "continuing_subword_prefix"], None, "continuing_subword_prefix")
    refused(["decoder", "prefix"], "other", "decoder.prefix")
    refused(["decoder"], None, "decoder")
    refused(["normalizer"], None, "normalizer")
    refused(["normalizer", "type"], "NFC", "normalizer.type")
    refused(["normalizer", "strip_accents"], 1, "strip_accents")
    refused(["pre_tokenizer", "type"], "Whitespace", "pre_tokenizer.type")
    refused(["post_processor", "type"], "BertProcessing", "post_processor.type")
    refused(["post_processor", "single"], right["post_processor"]["pair"], "post_processor.single")
    refused(["post_processor", "single", 1, "Sequence", "type_id"], 1, "post_processor.single")
    refused(["post_processor", "single", 0, "SpecialToken", "id"], "ab", "post_processor.single")
    for token in right["post_processor"]["special_tokens"]:
        refused(["post_processor", "special_tokens", token, "ids"], [3, 3], "special_tokens")
    truncation = {"direction": "Right", "max_length": 9, "strategy": "LongestFirst", "stride": 0}
    for name, value in (("direction", "Left"), ("max_length", 2), ("max_length", 2**31), ("strategy", "OnlySecond"),
                        ("stride", 1)):
        refused(["truncation"], truncation | {name: value}, f"truncation.{name}")
    refused(["more"], 1, "more")
    refused(["model", "vocab", "a b"], len(right["model"]["vocab"]), "white space")


def test_unsupported_tokenizers(tmp_path):
    """Features that attn does not implement are rejected by name."""
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
