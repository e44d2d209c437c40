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

#define ENCODER_LAYER "encoder.layers.#."
#define DECODER_LAYER "decoder.layers.#."
#define BERT_LAYER "bert.encoder.layer.#."
static const struct attn_hf_tensor_name bert_tensors[] = {
    {"bert.embeddings.word_embeddings.weight", "source_embedding.weight", ATTN_HF_WHOLE},
    {"bert.embeddings.position_embeddings.weight", "source_positions.weight", ATTN_HF_WHOLE},
    {"bert.embeddings.token_type_embeddings.weight", "token_types.weight", ATTN_HF_WHOLE},
    {"bert.embeddings.LayerNorm.", "source_norm.", ATTN_HF_WHOLE},
    {BERT_LAYER "attention.self.query.", ENCODER_LAYER "self_attn.in_proj_", ATTN_HF_QUERY_ROWS},
    {BERT_LAYER "attention.self.key.", ENCODER_LAYER "self_attn.in_proj_", ATTN_HF_KEY_ROWS},
    {BERT_LAYER "attention.self.value.", ENCODER_LAYER "self_attn.in_proj_", ATTN_HF_VALUE_ROWS},
    {BERT_LAYER "attention.output.dense.", ENCODER_LAYER "self_attn.out_proj.", ATTN_HF_WHOLE},
    {BERT_LAYER "attention.output.LayerNorm.", ENCODER_LAYER "norm1.", ATTN_HF_WHOLE},
    {BERT_LAYER "intermediate.dense.", ENCODER_LAYER "linear1.", ATTN_HF_WHOLE},
    {BERT_LAYER "output.dense.", ENCODER_LAYER "linear2.", ATTN_HF_WHOLE},
    {BERT_LAYER "output.LayerNorm.", ENCODER_LAYER "norm2.", ATTN_HF_WHOLE},
    {"cls.predictions.transform.dense.", "transform.", ATTN_HF_WHOLE},
    {"cls.predictions.transform.LayerNorm.", "transform_norm.", ATTN_HF_WHOLE},
    {"cls.predictions.bias", "output.bias", ATTN_HF_WHOLE},
    {NULL, NULL, ATTN_HF_WHOLE}};

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
    {"transformer.wte.weight", "target_embedding.weight", ATTN_HF_WHOLE},
    {"transformer.wpe.weight", "target_positions.weight", ATTN_HF_WHOLE},
    {GPT2_LAYER "ln_1.", DECODER_LAYER "norm1.", ATTN_HF_WHOLE},
    {GPT2_LAYER "attn.c_attn.", DECODER_LAYER "self_attn.in_proj_", ATTN_HF_TRANSPOSED},
    {GPT2_LAYER "attn.c_proj.", DECODER_LAYER "self_attn.out_proj.", ATTN_HF_TRANSPOSED},
    {GPT2_LAYER "ln_2.", DECODER_LAYER "norm2.", ATTN_HF_WHOLE},
    {GPT2_LAYER "mlp.c_fc.", DECODER_LAYER "linear1.", ATTN_HF_TRANSPOSED},
    {GPT2_LAYER "mlp.c_proj.", DECODER_LAYER "linear2.", ATTN_HF_TRANSPOSED},
    {"transformer.ln_f.", "decoder.norm.", ATTN_HF_WHOLE},
    {"lm_head.weight", "output.weight", ATTN_HF_WHOLE},
    {NULL, NULL, ATTN_HF_WHOLE}};

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

#define MARIAN_ENCODER "model.encoder.layers.#."
#define MARIAN_DECODER "model.decoder.layers.#."
static const struct attn_hf_tensor_name marian_tensors[] = {
    {"model.shared.weight", "target_embedding.weight", ATTN_HF_WHOLE},
    {"final_logits_bias", "output.bias", ATTN_HF_ROW_VECTOR},
    {MARIAN_ENCODER "self_attn.q_proj.", ENCODER_LAYER "self_attn.in_proj_", ATTN_HF_QUERY_ROWS},
    {MARIAN_ENCODER "self_attn.k_proj.", ENCODER_LAYER "self_attn.in_proj_", ATTN_HF_KEY_ROWS},
    {MARIAN_ENCODER "self_attn.v_proj.", ENCODER_LAYER "self_attn.in_proj_", ATTN_HF_VALUE_ROWS},
    {MARIAN_ENCODER "self_attn.out_proj.", ENCODER_LAYER "self_attn.out_proj.", ATTN_HF_WHOLE},
    {MARIAN_ENCODER "self_attn_layer_norm.", ENCODER_LAYER "norm1.", ATTN_HF_WHOLE},
    {MARIAN_ENCODER "fc1.", ENCODER_LAYER "linear1.", ATTN_HF_WHOLE},
    {MARIAN_ENCODER "fc2.", ENCODER_LAYER "linear2.", ATTN_HF_WHOLE},
    {MARIAN_ENCODER "final_layer_norm.", ENCODER_LAYER "norm2.", ATTN_HF_WHOLE},
    {MARIAN_DECODER "self_attn.q_proj.", DECODER_LAYER "self_attn.in_proj_", ATTN_HF_QUERY_ROWS},
    {MARIAN_DECODER "self_attn.k_proj.", DECODER_LAYER "self_attn.in_proj_", ATTN_HF_KEY_ROWS},
    {MARIAN_DECODER "self_attn.v_proj.", DECODER_LAYER "self_attn.in_proj_", ATTN_HF_VALUE_ROWS},
    {MARIAN_DECODER "self_attn.out_proj.", DECODER_LAYER "self_attn.out_proj.", ATTN_HF_WHOLE},
    {MARIAN_DECODER "self_attn_layer_norm.", DECODER_LAYER "norm1.", ATTN_HF_WHOLE},
    {MARIAN_DECODER "encoder_attn.q_proj.", DECODER_LAYER "multihead_attn.in_proj_",
     ATTN_HF_QUERY_ROWS},
    {MARIAN_DECODER "encoder_attn.k_proj.", DECODER_LAYER "multihead_attn.in_proj_",
     ATTN_HF_KEY_ROWS},
    {MARIAN_DECODER "encoder_attn.v_proj.", DECODER_LAYER "multihead_attn.in_proj_",
     ATTN_HF_VALUE_ROWS},
    {MARIAN_DECODER "encoder_attn.out_proj.", DECODER_LAYER "multihead_attn.out_proj.",
     ATTN_HF_WHOLE},
    {MARIAN_DECODER "encoder_attn_layer_norm.", DECODER_LAYER "norm2.", ATTN_HF_WHOLE},
    {MARIAN_DECODER "fc1.", DECODER_LAYER "linear1.", ATTN_HF_WHOLE},
    {MARIAN_DECODER "fc2.", DECODER_LAYER "linear2.", ATTN_HF_WHOLE},
    {MARIAN_DECODER "final_layer_norm.", DECODER_LAYER "norm3.", ATTN_HF_WHOLE},
    {NULL, NULL, ATTN_HF_WHOLE}};

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
