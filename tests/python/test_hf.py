"""attn_implementation="attn" against "eager": logits, gradients and greedy generation of small models."""
import copy

import pytest
import torch
import transformers as t

import attn.hf  # noqa: F401  (registers)

SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 97,
         "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
STILL = {"attention_probs_dropout_prob": 0.0, "hidden_dropout_prob": 0.0}
MODELS = {
    "llama, grouped heads": (t.LlamaForCausalLM, t.LlamaConfig(**SIZES, num_key_value_heads=2)),
    "gpt2": (t.GPT2LMHeadModel, t.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=97, attn_pdrop=0.0, resid_pdrop=0.0,
                                             embd_pdrop=0.0, bos_token_id=1, eos_token_id=2)),
    "bert, padded": (t.BertModel, t.BertConfig(**SIZES, **STILL)),
    "mistral, sliding window": (t.MistralForCausalLM, t.MistralConfig(**SIZES, num_key_value_heads=2, sliding_window=5)),
    "gemma2, softcap": (t.Gemma2ForCausalLM, t.Gemma2Config(**SIZES, num_key_value_heads=2, head_dim=8, sliding_window=5,
                                                            attn_logit_softcapping=5.0, query_pre_attn_scalar=8)),
    "gpt-oss, sinks": (t.GptOssForCausalLM, t.GptOssConfig(
        **{**SIZES, "intermediate_size": 32}, num_key_value_heads=2, head_dim=8, num_local_experts=2,
        num_experts_per_tok=1, sliding_window=5, layer_types=["sliding_attention", "full_attention"])),
    "t5, cross-attention": (t.T5ForConditionalGeneration, t.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                                                                     vocab_size=97, dropout_rate=0.0)),
}


def twins(name):
    kind, config = MODELS[name]
    torch.manual_seed(1)
    eager = kind._from_config(copy.deepcopy(config), attn_implementation="eager")
    ours = kind._from_config(copy.deepcopy(config), attn_implementation="attn")
    ours.load_state_dict(eager.state_dict())
    assert ours.config._attn_implementation == "attn" and eager.config._attn_implementation == "eager"
    return eager, ours


def outputs(model, inputs):
    result = model(**inputs)
    return result.logits if hasattr(result, "logits") else result.last_hidden_state


@pytest.mark.parametrize("name", MODELS)
def test_logits_and_gradients(name):
    eager, ours = twins(name)
    ids, mask = torch.randint(3, 97, (2, 11)), torch.ones(2, 11, dtype=torch.long)
    mask[1, :4] = 0
    inputs = {"input_ids": ids, "attention_mask": mask}
    kept = mask[..., None]
    if name.startswith("t5"):
        inputs["decoder_input_ids"] = torch.randint(3, 97, (2, 7))
        kept = 1
    want, got = outputs(eager, inputs), outputs(ours, inputs)
    torch.testing.assert_close(got * kept, want * kept, atol=2e-6, rtol=1e-5)
    d = torch.randn_like(want) * kept
    (want * d).sum().backward()
    (got * d).sum().backward()
    for (which, a), b in zip(eager.named_parameters(), ours.parameters()):
        if a.grad is not None:
            torch.testing.assert_close(b.grad, a.grad, atol=1e-4, rtol=1e-4, msg=lambda m: f"{which}: {m}")


@pytest.mark.parametrize("name", [n for n in MODELS if not n.startswith(("bert", "t5"))])
def test_greedy_generation_with_cache(name):
    eager, ours = (model.eval() for model in twins(name))
    ids = torch.randint(3, 97, (2, 9))
    ids[1, :3] = 0
    options = {"attention_mask": (ids != 0).long(), "max_new_tokens": 16, "do_sample": False, "pad_token_id": 0}
    assert torch.equal(ours.generate(ids, **options), eager.generate(ids, **options))
