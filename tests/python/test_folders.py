"""GPT-2 and Marian folders in attn, and attn's checkpoints in transformers: the same outputs, token by token, greedily and
by beam search, and the same log-probabilities. Unsupported settings that would change them are rejected by name and value."""
import copy
import json
import os
import resource
import subprocess
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer, BertConfig, GenerationConfig,
                          GPT2Config, GPT2LMHeadModel, MarianConfig, MarianMTModel, PreTrainedTokenizerFast)

from yardstick import near

ATTN = os.environ["ATTN_BIN"]
PAD, END, FIRST, WORDS, LENGTH = 0, 1, 2, 40, 24
torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

GPT2 = dict(vocab_size=WORDS, n_positions=LENGTH, n_embd=24, n_layer=2, n_head=3, bos_token_id=END, eos_token_id=END)
MARIAN = dict(vocab_size=WORDS, d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
              decoder_attention_heads=3, encoder_ffn_dim=40, decoder_ffn_dim=40, max_position_embeddings=LENGTH,
              pad_token_id=PAD, eos_token_id=END, decoder_start_token_id=PAD, forced_eos_token_id=END,
              activation_function="swish", scale_embedding=True)


def attn(*arguments, status=0):
    done = subprocess.run([ATTN, *map(str, arguments)], capture_output=True, text=True, timeout=100)
    assert done.returncode == status, done.stderr
    return done


def replies(folder, texts, *options):
    return [json.loads(l)["results"] for l in attn("generate", folder, "--json", *options, "--", *texts).stdout.splitlines()]


def words():
    """One word per token, so that the text of an output shows its tokens."""
    t = Tokenizer(models.WordLevel({"<pad>": PAD, "</s>": END, **{f"w{n}": n for n in range(FIRST, WORDS)}}, unk_token="<pad>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.add_special_tokens(["<pad>", "</s>"])
    return PreTrainedTokenizerFast(tokenizer_object=t, pad_token="<pad>", eos_token="</s>")


def shaken(model):
    with torch.no_grad():  # as they begin, most are 0 and 1, which hide much; and all replies are alike
        for name, p in model.named_parameters():
            if "embed_positions" not in name:
                p += torch.randn_like(p) * 0.3
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias += torch.randn_like(model.final_logits_bias)
            model.final_logits_bias[0, END] += 1
    model.set_attn_implementation("eager")
    return model.eval()


def build(family, folder, tokenizer=None, change=(), **generation):
    """Writes a model with generation settings; None removes a setting."""
    model = shaken(GPT2LMHeadModel(GPT2Config(**GPT2 | dict(change))) if family == "gpt2" else
                   MarianMTModel(MarianConfig(**MARIAN | dict(change))))
    for name, value in generation.items():
        setattr(model.generation_config, name, value)
    model.save_pretrained(folder)
    (tokenizer or words()).save_pretrained(folder)
    return model


def some_text(rng, most=12):
    return [rng.randrange(FIRST, WORDS) for _ in range(rng.randrange(1, most))]


def spell(ids):
    return " ".join(f"w{n}" for n in ids)


def said(model, ids, prefix=(), **how):
    """Returns the tokens that transformers generates, without special ones, and the number of steps."""
    marian = model.config.is_encoder_decoder
    read = torch.tensor([ids + [END] if marian else ids])
    if prefix:
        how["decoder_input_ids"] = torch.tensor([[PAD, *prefix]])
    if "max_new_tokens" not in how and model.generation_config.max_length is None and model.generation_config.max_new_tokens is None:
        how["max_length"] = LENGTH + 1  # attn generates up to the last position, transformers up to 20 tokens by default
    out = model.generate(read, do_sample=False, return_dict_in_generate=True, output_scores=True, **how)
    rows = out.sequences[:, 1 + len(prefix) if marian else read.shape[1]:]
    scores = out.sequences_scores.tolist() if "sequences_scores" in out else None
    return [[n for n in row.tolist() if n >= FIRST] for row in rows], scores


SETTINGS = {
    "as they are": {},
    "a length": dict(max_length=14),
    "new tokens": dict(max_new_tokens=6),
    "some words never": dict(bad_words_ids=[[n] for n in range(FIRST, FIRST + 12)] + [[END]]),
    "long ones preferred": dict(num_beams=2, length_penalty=2.0),
    "short ones preferred": dict(num_beams=2, length_penalty=-1.0),
    "early": dict(num_beams=2, early_stopping=True),
    "beams of its own": dict(num_beams=3),
}


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("family", ["gpt2", "marian"])
def test_generation_matches(family, settings, rng, tmp_path):
    model = build(family, tmp_path, **SETTINGS[settings])
    exact = copy.deepcopy(model).double()
    sources = [some_text(rng) for _ in range(2)]
    lengths = set()
    for beams in (None, 1, 2, 5):
        n_best = beams or 1
        options = ["--num-return-sequences", n_best, "--num-beams", beams] if beams else []
        how = dict(num_return_sequences=n_best, num_beams=beams) if beams else {}
        for ids, ours in zip(sources, replies(tmp_path, map(spell, sources), *options), strict=True):
            (rows, scores), (sure, _) = said(model, ids, **how), said(exact, ids, **how)
            if rows != sure:
                continue  # transformers drops the scores as well
            assert [r["text"] for r in ours] == [spell(row) for row in rows], (beams, ids)
            lengths |= {r["token_count"] for r in ours}
            if scores:
                assert np.allclose([r["score"] for r in ours], scores, rtol=1e-4), (beams, ids)
    assert lengths


@pytest.mark.parametrize("family", ["gpt2", "marian"])
def test_max_new_tokens_has_precedence_over_max_length(family, rng, tmp_path):
    """A length given to a call replaces the folder's max_length, even where the prompt is longer than that. A source of
    Marian ends with the model's eos also where the generation settings have none."""
    model = build(family, tmp_path, max_length=4, eos_token_id=None, forced_eos_token_id=None)
    exact, compared = copy.deepcopy(model).double(), 0
    sources = [[rng.randrange(FIRST, WORDS) for _ in range(6)] for _ in range(8)]
    for ids, (ours,) in zip(sources, replies(tmp_path, map(spell, sources), "--max-new-tokens", 9), strict=True):
        (row,), _ = said(model, ids, max_new_tokens=9)
        assert ours["token_count"] == 9
        if [row] == said(exact, ids, max_new_tokens=9)[0]:
            compared += 1
            assert ours["text"] == spell(row), ids
    assert compared


@pytest.mark.parametrize("settings", ["as they are", "a length", "new tokens", "long ones preferred", "beams of its own"])
def test_target_prefixes_match(settings, rng, tmp_path):
    """A target prefix is transformers' decoder_input_ids, after the token that starts each target."""
    model = build("marian", tmp_path, **SETTINGS[settings])
    exact, compared = copy.deepcopy(model).double(), 0
    for ids, prefix in [(some_text(rng), some_text(rng, 5)) for _ in range(4)]:
        (rows, scores), (sure, _) = said(model, ids, prefix), said(exact, ids, prefix)
        (ours,) = replies(tmp_path, [spell(ids)], "--target-prefix", spell(prefix))
        if rows == sure:
            compared += 1
            assert [r["text"] for r in ours] == [spell(row) for row in rows], (ids, prefix)
            assert not scores or np.allclose([r["score"] for r in ours], scores, rtol=1e-4), (ids, prefix)
    assert compared


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("family", ["gpt2", "marian"])
def test_16_bit_weights(family, dtype, rng, tmp_path):
    """16-bit weights are widened; computation is in float32. Sinusoidal positions are not in the file, and not rounded."""
    build(family, tmp_path).to(dtype).save_pretrained(tmp_path)
    kind = AutoModelForSeq2SeqLM if family == "marian" else AutoModelForCausalLM
    model = kind.from_pretrained(tmp_path, dtype=torch.float32, attn_implementation="eager").eval()
    exact = copy.deepcopy(model).double()
    for ids in (some_text(rng) for _ in range(2)):
        (row,), _ = said(model, ids)
        if [row] == said(exact, ids)[0]:
            assert replies(tmp_path, [spell(ids)])[0][0]["text"] == spell(row)


def log_p(model, read, row, begin, ended):
    """The log-probability of the tokens of an output, and of its end token if it has one."""
    labels = row + [END_OF[model.config.model_type]] * ended
    with torch.no_grad():
        if model.config.is_encoder_decoder:
            logits = model(input_ids=torch.tensor([read]), decoder_input_ids=torch.tensor([[begin] + labels[:-1]])).logits[0]
        else:
            logits = model(input_ids=torch.tensor([read + labels[:-1]])).logits[0][len(read) - 1:]
    p = torch.log_softmax(logits, -1)[range(len(labels)), labels]
    return p.sum().item()


END_OF = {"gpt2": 2, "marian": 2}  # those of our own vocabularies
OURS = {
    "marian": {"norm_first": False, "final_norm": False, "positions": "sinusoidal_halves", "tie_word_embeddings": True,
               "output_bias": True, "activation": "gelu"},
    "gpt2": {"kind": "decoder", "positions": "learned", "tie_word_embeddings": True, "output_bias": False,
             "scale_embedding": False, "activation": "gelu_tanh"},
    "gpt2, untied, SiLU": {"kind": "decoder", "positions": "learned", "tie_word_embeddings": False, "output_bias": False,
                           "scale_embedding": False, "activation": "silu"},
}


@pytest.mark.parametrize("tokenizer", ["characters", "words", "bpe:300"])
@pytest.mark.parametrize("name", OURS)
def test_exported_checkpoint_in_transformers(name, tokenizer, rng, tmp_path):
    """A model trained by attn and exported gives the same outputs and log-probabilities in transformers."""
    pairs = [("".join(letters := rng.choices("abcd ", k=rng.randrange(2, 9))).strip() or "a", "".join(reversed(letters)).strip() or "a")
             for _ in range(200)]
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
    config = {"d_model": 24, "num_heads": 3, "ffn_dim": 40, "max_positions": 40, "dropout": 0.0} | OURS[name]
    attn("train", "--data", tmp_path / "pairs.tsv", "-o", tmp_path / "ours.safetensors", "--config", json.dumps(config),
         "--tokenizer", tokenizer, "--steps", 60, "--quiet", "--threads", 1)
    folder = tmp_path / "theirs"
    assert json.loads(attn("export", tmp_path / "ours.safetensors", "-o", folder, "--json").stdout)["parameter_count"] > 1000
    kind = AutoModelForSeq2SeqLM if name == "marian" else AutoModelForCausalLM
    model = kind.from_pretrained(folder, attn_implementation="eager").eval()
    exact, words_ = copy.deepcopy(model).double(), AutoTokenizer.from_pretrained(folder)
    texts = [a for a, _ in pairs[:6]]
    for source in (tmp_path / "ours.safetensors", folder):
        ours, found = replies(source, texts), []
        for text, (reply,) in zip(texts, ours, strict=True):
            read = words_(text)["input_ids"]
            assert read[0 if name != "marian" else -1] == (1 if name != "marian" else 2)
            row = model.generate(torch.tensor([read]), do_sample=False)[0].tolist()[1 if name == "marian" else len(read):]
            ended = row[-1:] == [2]
            row = row[:len(row) - ended]
            assert reply["text"] == words_.decode(row, skip_special_tokens=True) and reply["token_count"] == len(row)
            assert reply["finished"] == ended
            found.append((reply["log_prob"], *(log_p(m, read, row, 1, ended) for m in (model, exact))))
        near(*zip(*found), name)
    attn("export", tmp_path / "ours.safetensors", "-o", folder, status=2)
    attn("export", folder, "-o", tmp_path / "again/", status=0)
    for file in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (folder / file).read_bytes() == (tmp_path / "again" / file).read_bytes(), file


def test_snippet_of_models_page(tmp_path, monkeypatch):
    """The snippet of docs/models.md loads strictly, and gives the same log-probability."""
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    snippet = page[page.index("```python\nimport json, torch") + 10:]
    monkeypatch.chdir(tmp_path)
    attn("train", "dates", "--steps", 20, "--test-examples", 0, "--quiet", "--threads", 1)
    names = {}
    exec(snippet[:snippet.index("```")], names)
    with names["safe_open"]("dates.safetensors", "pt") as file:
        words_ = Tokenizer.from_str(file.metadata()["tokenizer"])
    ((ours,),) = replies("dates.safetensors", ["12 May 1991"], "--max-new-tokens", 12)
    said_ = words_.encode(ours["text"]).ids
    assert len(said_) == ours["token_count"]
    with torch.no_grad():
        logits = names["logits"](words_.encode("12 May 1991").ids + [2], [1] + said_)
    labels = said_ + [2] * ours["finished"]
    p = torch.log_softmax(logits.double(), -1)[range(len(labels)), labels].sum().item()
    assert abs(p - ours["log_prob"]) < 1e-4 * abs(p), (p, ours)


@pytest.mark.parametrize("family", ["gpt2", "marian"])
def test_show_and_explain(family, rng, tmp_path):
    """Compares the attention weights of every head; explains one of them."""
    model = build(family, tmp_path)
    ids = some_text(rng)
    told, side = (spell(some_text(rng)), "--input") if family == "marian" else (spell(ids), "--target")
    options = ["--input", spell(ids), "--target", told] if family == "marian" else ["--target", told]
    target = [int(w[1:]) for w in told.split()]
    with torch.no_grad():
        if family == "marian":
            out = model(input_ids=torch.tensor([ids + [END]]), decoder_input_ids=torch.tensor([[PAD] + target]), output_attentions=True)
            theirs = {"encoder": out.encoder_attentions, "decoder": out.decoder_attentions, "cross": out.cross_attentions}
        else:
            theirs = {"decoder": model(input_ids=torch.tensor([target]), output_attentions=True).attentions}
    for kind, layers in theirs.items():
        seen = [json.loads(l) for l in attn("show", tmp_path, *options, "--kind", kind, "--json", "--all").stdout.splitlines()]
        heads = [np.array(s["weights"]) for s in seen if s["title"].startswith("head")]
        for ours, expected in zip(heads, (head.numpy() for layer in layers for head in layer[0]), strict=True):
            assert ours.shape == expected.shape and np.abs(ours - expected).max() < 1e-5, kind
    assert "weights" in attn("explain", tmp_path, *options).stdout


def test_gpt2_vocab_and_merges(rng, tmp_path):
    """vocab.json and merges.txt without tokenizer.json, as in the first GPT-2 files. An empty text starts with
    bos_token_id."""
    texts = ["the cat sat on the mat", "a dog ran home", "  two  spaces, and a tab\t", "naïve 私は", ""]
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    t.train_from_iterator(texts * 3, trainers.BpeTrainer(vocab_size=290, special_tokens=["<|endoftext|>"], show_progress=False,
                                                         initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    fast = PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<|endoftext|>", eos_token="<|endoftext|>")
    model = build("gpt2", tmp_path, fast, change={"vocab_size": len(fast) + 3, "n_positions": 64, "bos_token_id": 0, "eos_token_id": 0})
    before = replies(tmp_path, texts, "--max-new-tokens", 9)
    for text, (reply,) in zip(texts, before):
        read = torch.tensor([fast(text)["input_ids"] or [0]])
        row = model.generate(read, do_sample=False, max_new_tokens=9)[0][read.shape[1]:].tolist()
        assert reply["token_count"] == len(row) - (row[-1] == 0)
        sound = lambda text: text.replace("\ufffd", "")  # random bytes are rarely UTF-8
        assert sound(reply["text"]) == sound(fast.decode([n for n in row if n < len(fast)], skip_special_tokens=True))
    os.remove(tmp_path / "tokenizer.json")
    t.model.save(str(tmp_path))
    assert replies(tmp_path, texts, "--max-new-tokens", 9) == before
    (tmp_path / "merges.txt").write_text("#version: 0.2\nno such\n")
    assert "merges[0]" in attn("generate", tmp_path, "a", status=2).stderr


def test_sentencepiece_is_rejected(tmp_path):
    build("marian", tmp_path)
    os.remove(tmp_path / "tokenizer.json")
    (tmp_path / "source.spm").write_bytes(b"\n")
    assert "SentencePiece" in attn("generate", tmp_path, "a", status=2).stderr


# ---- What is refused, and what is passed over ----

def edit(path, change):
    whole = json.loads(path.read_text()) | change
    path.write_text(json.dumps({k: v for k, v in whole.items() if v is not ...}))


def refused(folder, *expected):
    message = attn("generate", folder, "w3", status=2).stderr
    assert all(s in message for s in expected) and message.startswith(f"attn: {folder}") and ": error: " in message, message


GENERATION = [
    {"do_sample": True}, {"min_length": 3}, {"min_new_tokens": 3}, {"max_time": 1.5}, {"stop_strings": ["w3"]},
    {"repetition_penalty": 1.2}, {"encoder_repetition_penalty": 1.2}, {"no_repeat_ngram_size": 3},
    {"encoder_no_repeat_ngram_size": 3}, {"renormalize_logits": True}, {"forced_bos_token_id": 3},
    {"remove_invalid_values": True}, {"exponential_decay_length_penalty": [3, 1.5]}, {"suppress_tokens": [3]},
    {"begin_suppress_tokens": [3]}, {"sequence_bias": [[[3], 1.5]]}, {"token_healing": True}, {"guidance_scale": 1.5},
    {"watermarking_config": {"bias": 2.0}}, {"num_return_sequences": 2}, {"penalty_alpha": 0.5}, {"dola_layers": "low"},
    {"diversity_penalty": 0.5}, {"num_beam_groups": 2}, {"constraints": [3]}, {"force_words_ids": [[3]]},
    {"early_stopping": "never"}, {"length_penalty": 11}, {"length_penalty": "x"}, {"num_beams": 0}, {"num_beams": 5000},
    {"max_length": 1}, {"max_length": 1.5}, {"max_new_tokens": 0}, {"bad_words_ids": [[3, 4]]}, {"bad_words_ids": 3},
    {"bad_words_ids": [[WORDS]]}, {"eos_token_id": [1, 3]}, {"eos_token_id": WORDS}, {"forced_eos_token_id": 3},
    {"decoder_start_token_id": -1}, {"bos_token_id": "w3"}, {"pad_token_id": 1.5}, {"target_lookbehind": 3}, {"low_memory": True},
]
# Sampling, cache implementations, additional outputs, and faster ways to the same tokens.
HARMLESS = """temperature top_k top_p min_p top_h typical_p epsilon_cutoff eta_cutoff use_cache cache_implementation cache_config
max_cache_len output_attentions output_hidden_states output_scores output_logits return_dict_in_generate is_assistant
num_assistant_tokens num_assistant_tokens_schedule assistant_confidence_threshold prompt_lookup_num_tokens
max_matching_ngram_size assistant_early_exit assistant_lookbehind assistant_ensemble_weight speculation_type
compile_config disable_compile continuous_batching_config prefill_chunk_size _from_model_config transformers_version use_mtp""".split()


@pytest.mark.parametrize("change", GENERATION, ids=json.dumps)
def test_unsupported_generation_settings(change, tmp_path):
    """In generation_config.json, or in config.json without it."""
    build("marian", tmp_path)
    (name, value), = change.items()
    edit(tmp_path / "generation_config.json", change)
    refused(tmp_path, "generation_config.json", f'"{name}"', json.dumps(value, separators=(",", ":")))
    os.remove(tmp_path / "generation_config.json")
    edit(tmp_path / "config.json", change)
    refused(tmp_path, "config.json", f'"{name}"', json.dumps(value, separators=(",", ":")))


def test_every_generation_setting_is_handled():
    """Every setting of transformers is supported, rejected above, or listed as harmless."""
    done = {"max_length", "max_new_tokens", "num_beams", "pad_token_id", "eos_token_id", "bos_token_id", "decoder_start_token_id"}
    known = {k for change in GENERATION for k in change} | done | set(HARMLESS)
    assert set(GenerationConfig().to_dict()) <= known, set(GenerationConfig().to_dict()) - known


CONFIG = {
    "gpt2": [{"activation_function": "quick_gelu"}, {"scale_attn_weights": False}, {"scale_attn_by_inverse_layer_idx": True},
             {"add_cross_attention": True}, {"is_encoder_decoder": True}, {"pruned_heads": {"0": [1]}},
             {"quantization_config": {"bits": 4}}, {"tie_encoder_decoder": True}, {"cross_attention_hidden_size": 7}],
    "marian": [{"activation_function": "mish"}, {"decoder_attention_heads": 2}, {"decoder_ffn_dim": 41},
               {"decoder_vocab_size": 39}, {"share_encoder_decoder_embeddings": False}, {"tie_word_embeddings": False},
               {"is_encoder_decoder": False}, {"normalize_before": True}, {"normalize_embedding": True},
               {"add_final_layer_norm": True}, {"static_position_embeddings": False}, {"is_decoder": True},
               {"add_cross_attention": True}],
    "bert": [{"hidden_act": "mish"}, {"position_embedding_type": "relative_key"}, {"is_decoder": True},
             {"add_cross_attention": True}, {"tie_word_embeddings": False}, {"is_encoder_decoder": True}],
}
# Dropout, initialization, unused heads, output formats, label names.
PASSED = {
    "gpt2": """resid_pdrop embd_pdrop attn_pdrop initializer_range summary_type summary_use_proj summary_activation
    summary_proj_to_labels summary_first_dropout reorder_and_upcast_attn""".split(),
    "marian": "dropout attention_dropout activation_dropout encoder_layerdrop decoder_layerdrop init_std".split(),
    "bert": "hidden_dropout_prob attention_probs_dropout_prob initializer_range classifier_dropout".split(),
    "all": """transformers_version architectures output_hidden_states return_dict dtype chunk_size_feed_forward id2label label2id
    problem_type use_cache pad_token_id bos_token_id eos_token_id decoder_start_token_id forced_eos_token_id _name_or_path
    model_type output_attentions is_encoder_decoder""".split(),
}
# Sizes, which the weights then do not have, and what test_huggingface refuses or varies.
SIZES = {
    "gpt2": "vocab_size n_positions n_embd n_layer n_head n_inner layer_norm_epsilon tie_word_embeddings".split(),
    "marian": """vocab_size max_position_embeddings encoder_layers encoder_ffn_dim encoder_attention_heads decoder_layers d_model
    scale_embedding""".split(),
    "bert": """vocab_size hidden_size num_hidden_layers num_attention_heads intermediate_size max_position_embeddings type_vocab_size
    layer_norm_eps""".split(),
}


@pytest.mark.parametrize("family, change", [(f, c) for f in ("gpt2", "marian") for c in CONFIG[f]], ids=str)
def test_unsupported_config_values(family, change, tmp_path):
    build(family, tmp_path)
    (name, value), = change.items()
    edit(tmp_path / "config.json", change)
    refused(tmp_path, "config.json", f'"{name}"', value if isinstance(value, str) else json.dumps(value, separators=(",", ":")))


@pytest.mark.parametrize("family, config", [("gpt2", GPT2Config), ("marian", MarianConfig), ("bert", BertConfig)])
def test_every_config_member_is_handled(family, config):
    known = {k for change in CONFIG[family] for k in change} | set(PASSED[family]) | set(PASSED["all"]) | set(SIZES[family])
    assert set(config().to_dict()) <= known, set(config().to_dict()) - known


@pytest.mark.parametrize("family", ["gpt2", "marian"])
def test_ignored_members_change_nothing(family, tmp_path):
    """Such as dropout, which is for training."""
    build(family, tmp_path)
    before = replies(tmp_path, ["w3 w4"])
    for name in PASSED[family]:
        if not name.startswith("summary"):
            edit(tmp_path / "config.json", {name: 0.5})
    edit(tmp_path / "generation_config.json", {"temperature": 0.3, "top_k": 2, "top_p": 0.5})
    assert replies(tmp_path, ["w3 w4"]) == before


def test_export_of_unsupported_models(tmp_path):
    """The error names the member and its value; no file is left."""
    attn("train", "letters", "--steps", 2, "--test-examples", 0, "-o", tmp_path / "x.safetensors", "--quiet", "--threads", 1)
    message = attn("export", tmp_path / "x.safetensors", "-o", tmp_path / "to", status=2).stderr
    assert '"tie_word_embeddings" is false, which a marian model cannot represent; it must be true' in message, message
    assert [p.name for p in tmp_path.iterdir() if "to" in p.name] == []
    config = {"norm_first": False, "final_norm": False, "positions": "sinusoidal_halves", "tie_word_embeddings": True,
              "output_bias": True, "alignment": "general"}
    attn("train", "letters", "--steps", 2, "--test-examples", 0, "-o", tmp_path / "x.safetensors", "--quiet", "--threads", 1,
         "--overwrite", "--config", json.dumps(config))
    message = attn("export", tmp_path / "x.safetensors", "-o", tmp_path / "to", status=2).stderr
    assert '"alignment" is "general", which a marian model cannot represent; it must be "scaled"' in message, message
    build("marian", tmp_path / "theirs")
    message = attn("export", tmp_path / "theirs", "-o", tmp_path / "nowhere" / "to", status=2).stderr
    assert "nowhere" in message and "error: cannot create: No such file" in message, message


def test_failed_export_changes_nothing(tmp_path):
    """An existing empty folder stays empty on a full disk, without other files next to it."""
    build("marian", tmp_path / "theirs")
    (tmp_path / "to").mkdir()
    full = subprocess.run([ATTN, "export", tmp_path / "theirs", "-o", tmp_path / "to"], capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
    assert full.returncode == 2 and "File too large" in full.stderr, full.stderr
    assert sorted(p.relative_to(tmp_path).parts[0] for p in tmp_path.rglob("*") if "theirs" not in p.parts) == ["to"]
    attn("export", tmp_path / "theirs", "-o", tmp_path / "to")
    assert (tmp_path / "to" / "model.safetensors").exists()


@pytest.mark.parametrize("what, expected", [
    ({"single": "</s> $A"}, None), ({"single": "$A </s>"}, "prompt"), ({"single": "$A $A"}, "post_processor.single")])
def test_special_tokens_around_a_text(what, expected, rng, tmp_path):
    """A token before a prompt is supported; one after it is rejected."""
    t = words()
    t.backend_tokenizer.post_processor = processors.TemplateProcessing(**what, special_tokens=[("</s>", END)])
    model = build("gpt2", tmp_path, t)
    if expected:
        return refused(tmp_path, expected)
    ids = some_text(rng)
    assert replies(tmp_path, [spell(ids)])[0][0]["text"] == spell(said(model, [END] + ids)[0][0])
