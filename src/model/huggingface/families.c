/* families.c -- the tables of BERT, GPT-2 and Marian.
 * [huggingface/transformers, models/{bert,gpt2,marian}/configuration_*.py and modeling_*.py] */
#include "families.h"

#include <stddef.h>

#define ACTIVATIONS                                                                              \
  {"activation", "relu", "relu"}, {"activation", "gelu", "gelu"},                                \
      {"activation", "gelu_new", "gelu_tanh"}, {"activation", "gelu_pytorch_tanh", "gelu_tanh"}, \
      {"activation", "silu", "silu"}, {                                                          \
    "activation", "swish", "silu"                                                                \
  }

/* ---- BERT: an encoder, post-norm; normalized embeddings with token types ---- */

static const struct attn_hf_member bert_members[] = {
    {"architectures", "head", NULL},
    {"vocab_size", "vocab_size", "30522"},
    {"hidden_size", "d_model", "768"},
    {"num_hidden_layers", "encoder_layers", "12"},
    {"num_attention_heads", "num_heads", "12"},
    {"intermediate_size", "ffn_dim", "3072"},
    {"hidden_act", "activation", "\"gelu\""},
    {"max_position_embeddings", "max_positions", "512"},
    {"type_vocab_size", "type_vocab_size", "2"},
    {"layer_norm_eps", "norm_eps", "1e-12"},
    {"tie_word_embeddings", NULL, "true"},
    {"hidden_dropout_prob", "dropout", "0.1"},
    {"position_embedding_type", NULL, "\"absolute\""},
    {"is_encoder_decoder", NULL, "false"},
    {"is_decoder", NULL, "false"},
    {"add_cross_attention", NULL, "false"},
    {NULL, "kind", "\"encoder\""},
    {NULL, "positions", "\"learned\""},
    {NULL, "norm_first", "false"},
    {NULL, "final_norm", "false"},
    {NULL, "normalize_embedding", "true"},
    {NULL, "tie_word_embeddings", "true"},
    {NULL, "scale_embedding", "false"},
    {NULL, "output_bias", "true"},
    {NULL, NULL, NULL}};

static const struct attn_hf_value bert_values[] = {{"head", "BertModel", "none"},
                                                   {"head", "BertForMaskedLM", "transform"},
                                                   {"head", "BertForPreTraining", "transform"},
                                                   ACTIVATIONS,
                                                   {NULL, NULL, NULL}};

#define BERT_LAYER "bert.encoder.layer.#."
static const struct attn_hf_tensor_name bert_tensors[] = {
    {"bert.embeddings.word_embeddings.weight", "source_embedding.weight", ATTN_HF_ALL_ROWS, 0, 0},
    {"bert.embeddings.position_embeddings.weight", "source_positions.weight", ATTN_HF_ALL_ROWS, 0,
     0},
    {"bert.embeddings.token_type_embeddings.weight", "token_types.weight", ATTN_HF_ALL_ROWS, 0, 0},
    {"bert.embeddings.LayerNorm.", "source_norm.", ATTN_HF_ALL_ROWS, 0, 0},
    {BERT_LAYER "attention.self.query.", "encoder.layers.#.self_attn.in_proj_", ATTN_HF_QUERY_ROWS,
     0, 0},
    {BERT_LAYER "attention.self.key.", "encoder.layers.#.self_attn.in_proj_", ATTN_HF_KEY_ROWS, 0,
     0},
    {BERT_LAYER "attention.self.value.", "encoder.layers.#.self_attn.in_proj_", ATTN_HF_VALUE_ROWS,
     0, 0},
    {BERT_LAYER "attention.output.dense.", "encoder.layers.#.self_attn.out_proj.", ATTN_HF_ALL_ROWS,
     0, 0},
    {BERT_LAYER "attention.output.LayerNorm.", "encoder.layers.#.norm1.", ATTN_HF_ALL_ROWS, 0, 0},
    {BERT_LAYER "intermediate.dense.", "encoder.layers.#.linear1.", ATTN_HF_ALL_ROWS, 0, 0},
    {BERT_LAYER "output.dense.", "encoder.layers.#.linear2.", ATTN_HF_ALL_ROWS, 0, 0},
    {BERT_LAYER "output.LayerNorm.", "encoder.layers.#.norm2.", ATTN_HF_ALL_ROWS, 0, 0},
    {"cls.predictions.transform.dense.", "transform.", ATTN_HF_ALL_ROWS, 0, 0},
    {"cls.predictions.transform.LayerNorm.", "transform_norm.", ATTN_HF_ALL_ROWS, 0, 0},
    {"cls.predictions.bias", "output.bias", ATTN_HF_ALL_ROWS, 0, 0},
    {NULL, NULL, ATTN_HF_ALL_ROWS, 0, 0}};

/* Other heads, tied copies, and positions 0 .. n-1. */
static const char *const bert_unused[] = {
    "pooler.dense.weight",          "pooler.dense.bias",
    "embeddings.position_ids",      "cls.predictions.decoder.weight",
    "cls.predictions.decoder.bias", "cls.seq_relationship.weight",
    "cls.seq_relationship.bias",    NULL};

/* ---- GPT-2: a decoder, pre-norm; its Conv1D holds (in, out) ---- */

static const struct attn_hf_member gpt2_members[] = {
    {"architectures", "head", "\"GPT2LMHeadModel\""},
    {"vocab_size", "vocab_size", "50257"},
    {"n_embd", "d_model", "768"},
    {"n_layer", "decoder_layers", "12"},
    {"n_head", "num_heads", "12"},
    {"n_inner", "ffn_dim", "null"},
    {"activation_function", "activation", "\"gelu_new\""},
    {"n_positions", "max_positions", "1024"},
    {"layer_norm_epsilon", "norm_eps", "1e-5"},
    {"tie_word_embeddings", "tie_word_embeddings", "true"},
    {"resid_pdrop", "dropout", "0.1"},
    {"scale_attn_weights", NULL, "true"},
    {"is_encoder_decoder", NULL, "false"},
    {"scale_attn_by_inverse_layer_idx", NULL, "false"},
    {"add_cross_attention", NULL, "false"},
    {NULL, "kind", "\"decoder\""},
    {NULL, "positions", "\"learned\""},
    {NULL, "norm_first", "true"},
    {NULL, "final_norm", "true"},
    {NULL, "scale_embedding", "false"},
    {NULL, "output_bias", "false"},
    {NULL, NULL, NULL}};

static const struct attn_hf_value gpt2_values[] = {{"head", "GPT2LMHeadModel", "linear"},
                                                   {"head", "GPT2Model", "linear"},
                                                   ACTIVATIONS,
                                                   {NULL, NULL, NULL}};

#define GPT2_LAYER "transformer.h.#."
static const struct attn_hf_tensor_name gpt2_tensors[] = {
    {"transformer.wte.weight", "target_embedding.weight", ATTN_HF_ALL_ROWS, 0, 0},
    {"transformer.wpe.weight", "target_positions.weight", ATTN_HF_ALL_ROWS, 0, 0},
    {GPT2_LAYER "ln_1.", "decoder.layers.#.norm1.", ATTN_HF_ALL_ROWS, 0, 0},
    {GPT2_LAYER "attn.c_attn.", "decoder.layers.#.self_attn.in_proj_", ATTN_HF_ALL_ROWS, 1, 0},
    {GPT2_LAYER "attn.c_proj.", "decoder.layers.#.self_attn.out_proj.", ATTN_HF_ALL_ROWS, 1, 0},
    {GPT2_LAYER "ln_2.", "decoder.layers.#.norm2.", ATTN_HF_ALL_ROWS, 0, 0},
    {GPT2_LAYER "mlp.c_fc.", "decoder.layers.#.linear1.", ATTN_HF_ALL_ROWS, 1, 0},
    {GPT2_LAYER "mlp.c_proj.", "decoder.layers.#.linear2.", ATTN_HF_ALL_ROWS, 1, 0},
    {"transformer.ln_f.", "decoder.norm.", ATTN_HF_ALL_ROWS, 0, 0},
    {"lm_head.weight", "output.weight", ATTN_HF_ALL_ROWS, 0, 0},
    {NULL, NULL, ATTN_HF_ALL_ROWS, 0, 0}};

/* The causal mask, and the tied copy. */
static const char *const gpt2_unused[] = {".attn.bias", ".attn.masked_bias", "lm_head.weight",
                                          NULL};

/* ---- Marian: encoder and decoder, post-norm ---- */

static const struct attn_hf_member marian_members[] = {
    {"architectures", "head", "\"MarianMTModel\""},
    {"vocab_size", "vocab_size", NULL},
    {"decoder_vocab_size", "vocab_size", "@vocab_size"},
    {"d_model", "d_model", "1024"},
    {"encoder_layers", "encoder_layers", "12"},
    {"decoder_layers", "decoder_layers", "12"},
    {"encoder_attention_heads", "num_heads", "16"},
    {"decoder_attention_heads", "num_heads", "16"},
    {"encoder_ffn_dim", "ffn_dim", "4096"},
    {"decoder_ffn_dim", "ffn_dim", "4096"},
    {"activation_function", "activation", "\"gelu\""},
    {"max_position_embeddings", "max_positions", "1024"},
    {"scale_embedding", "scale_embedding", "false"},
    {"share_encoder_decoder_embeddings", NULL, "true"},
    {"tie_word_embeddings", NULL, "true"},
    {"dropout", "dropout", "0.1"},
    {"is_encoder_decoder", NULL, "true"},
    {"normalize_before", NULL, "false"},
    {"is_decoder", NULL, "false"},
    {"add_cross_attention", NULL, "false"},
    {"normalize_embedding", NULL, "false"},
    {"add_final_layer_norm", NULL, "false"},
    {"static_position_embeddings", NULL, "true"},
    {NULL, "kind", "\"encoder-decoder\""},
    {NULL, "share_encoder_decoder_embeddings", "true"},
    {NULL, "tie_word_embeddings", "true"},
    {NULL, "positions", "\"sinusoidal_halves\""},
    {NULL, "norm_first", "false"},
    {NULL, "final_norm", "false"},
    {NULL, "norm_eps", "1e-5"},
    {NULL, "output_bias", "true"},
    {NULL, NULL, NULL}};

static const struct attn_hf_value marian_values[] = {
    {"head", "MarianMTModel", "linear"}, ACTIVATIONS, {NULL, NULL, NULL}};

#define MARIAN_IN "model.encoder.layers.#."
#define MARIAN_OUT "model.decoder.layers.#."
static const struct attn_hf_tensor_name marian_tensors[] = {
    {"model.shared.weight", "target_embedding.weight", ATTN_HF_ALL_ROWS, 0, 0},
    {"final_logits_bias", "output.bias", ATTN_HF_ALL_ROWS, 0, 1},
    {MARIAN_IN "self_attn.q_proj.", "encoder.layers.#.self_attn.in_proj_", ATTN_HF_QUERY_ROWS, 0,
     0},
    {MARIAN_IN "self_attn.k_proj.", "encoder.layers.#.self_attn.in_proj_", ATTN_HF_KEY_ROWS, 0, 0},
    {MARIAN_IN "self_attn.v_proj.", "encoder.layers.#.self_attn.in_proj_", ATTN_HF_VALUE_ROWS, 0,
     0},
    {MARIAN_IN "self_attn.out_proj.", "encoder.layers.#.self_attn.out_proj.", ATTN_HF_ALL_ROWS, 0,
     0},
    {MARIAN_IN "self_attn_layer_norm.", "encoder.layers.#.norm1.", ATTN_HF_ALL_ROWS, 0, 0},
    {MARIAN_IN "fc1.", "encoder.layers.#.linear1.", ATTN_HF_ALL_ROWS, 0, 0},
    {MARIAN_IN "fc2.", "encoder.layers.#.linear2.", ATTN_HF_ALL_ROWS, 0, 0},
    {MARIAN_IN "final_layer_norm.", "encoder.layers.#.norm2.", ATTN_HF_ALL_ROWS, 0, 0},
    {MARIAN_OUT "self_attn.q_proj.", "decoder.layers.#.self_attn.in_proj_", ATTN_HF_QUERY_ROWS, 0,
     0},
    {MARIAN_OUT "self_attn.k_proj.", "decoder.layers.#.self_attn.in_proj_", ATTN_HF_KEY_ROWS, 0, 0},
    {MARIAN_OUT "self_attn.v_proj.", "decoder.layers.#.self_attn.in_proj_", ATTN_HF_VALUE_ROWS, 0,
     0},
    {MARIAN_OUT "self_attn.out_proj.", "decoder.layers.#.self_attn.out_proj.", ATTN_HF_ALL_ROWS, 0,
     0},
    {MARIAN_OUT "self_attn_layer_norm.", "decoder.layers.#.norm1.", ATTN_HF_ALL_ROWS, 0, 0},
    {MARIAN_OUT "encoder_attn.q_proj.", "decoder.layers.#.multihead_attn.in_proj_",
     ATTN_HF_QUERY_ROWS, 0, 0},
    {MARIAN_OUT "encoder_attn.k_proj.", "decoder.layers.#.multihead_attn.in_proj_",
     ATTN_HF_KEY_ROWS, 0, 0},
    {MARIAN_OUT "encoder_attn.v_proj.", "decoder.layers.#.multihead_attn.in_proj_",
     ATTN_HF_VALUE_ROWS, 0, 0},
    {MARIAN_OUT "encoder_attn.out_proj.", "decoder.layers.#.multihead_attn.out_proj.",
     ATTN_HF_ALL_ROWS, 0, 0},
    {MARIAN_OUT "encoder_attn_layer_norm.", "decoder.layers.#.norm2.", ATTN_HF_ALL_ROWS, 0, 0},
    {MARIAN_OUT "fc1.", "decoder.layers.#.linear1.", ATTN_HF_ALL_ROWS, 0, 0},
    {MARIAN_OUT "fc2.", "decoder.layers.#.linear2.", ATTN_HF_ALL_ROWS, 0, 0},
    {MARIAN_OUT "final_layer_norm.", "decoder.layers.#.norm3.", ATTN_HF_ALL_ROWS, 0, 0},
    {NULL, NULL, ATTN_HF_ALL_ROWS, 0, 0}};

/* Computed sinusoids, and tied copies. */
static const char *const marian_unused[] = {"embed_positions.weight", "embed_tokens.weight",
                                            "lm_head.weight", NULL};

/* ---- All ---- */

static const struct attn_hf_family bert = {"bert",      "bert.",      bert_members,
                                           bert_values, bert_tensors, bert_unused},
                                   gpt2 = {"gpt2",      "transformer.", gpt2_members,
                                           gpt2_values, gpt2_tensors,   gpt2_unused},
                                   marian = {"marian",       "",
                                             marian_members, marian_values,
                                             marian_tensors, marian_unused};

const struct attn_hf_family *const attn_hf_families[] = {&bert, &gpt2, &marian, NULL};

/* Members of all families that change results; never written. */
const struct attn_hf_member attn_hf_common_members[] = {
    {"pruned_heads", NULL, "{}"},
    {"quantization_config", NULL, "null"},
    {"tie_encoder_decoder", NULL, "false"},
    {"cross_attention_hidden_size", NULL, "null"},
    {NULL, NULL, NULL}};
