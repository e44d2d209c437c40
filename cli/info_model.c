/* info_model.c -- what attn info says of a model. */
#include "info_model.h"

#include <math.h>
#include <stdio.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"

static void put(const char *text) { attn_cli_put_plain(text, stdout); }

/* ---- For a person ---- */

static void print_layers(const attn_model_info *f) {
  printf("layers      ");
  if (f->encoder_layers && f->decoder_layers)
    printf("%d of the encoder, %d of the decoder", (int)f->encoder_layers, (int)f->decoder_layers);
  else
    printf("%d", (int)(f->encoder_layers + f->decoder_layers));
  printf("; %d heads", (int)f->num_heads);
  if (f->num_kv_heads != f->num_heads) printf(", %d of keys and values", (int)f->num_kv_heads);
  printf("\nwidth       %lld, %lld in feed-forward layers; up to %lld tokens\n",
         (long long)f->d_model, (long long)f->ffn_dim, (long long)f->max_positions);
}

static void print_training(const attn_model_info *f) {
  if (!f->has_training) {
    puts("trained     the file says nothing of it");
    return;
  }
  printf("trained     %lld steps in %s, on %s ", (long long)f->step, f->precision,
         f->task ? "the task" : "the file");
  put(f->task ? f->task : f->data);
  printf("\nheld out    ");
  if (!f->validation_step) {
    puts("not validated yet");
    return;
  }
  if (!isnan(f->validation_exact_match))
    printf("%.2f %% of replies right, ", 100 * f->validation_exact_match);
  printf("loss %.4f nats a token: training's own validation\n", f->validation_loss);
  printf("            at step %lld, greedily, on up to %lld examples that it never learns from\n",
         (long long)f->validation_step, (long long)f->validation_max_examples);
}

static void print_text(const char *path, const attn_model_info *f) {
  put(path);
  printf(": %s\n", f->kind);
  print_layers(f);
  printf("vocabulary  %lld, tokenizer of kind %s\n", (long long)f->vocab_size, f->tokenizer);
  printf("parameters  %lld, as float32 %.1f MiB\n", (long long)f->parameter_count,
         (double)f->parameter_count * 4 / (1 << 20));
  print_training(f);
}

/* ---- JSON ---- */

static void text_member(const char *name, const char *text) {
  printf(", \"%s\": ", name);
  if (text)
    attn_cli_json_text(text);
  else
    printf("null");
}

static void whole_member(const char *name, int64_t value) {
  printf(", \"%s\": %lld", name, (long long)value);
}

static void real_member(const char *name, double value) {
  printf(", \"%s\": ", name);
  attn_cli_json_number(value);
}

static void print_training_json(const attn_model_info *f) {
  printf(", \"training\": ");
  if (!f->has_training) {
    printf("null");
    return;
  }
  printf("{\"step\": %lld", (long long)f->step);
  text_member("task", f->task), text_member("data", f->data);
  text_member("precision", f->precision);
  printf(", \"held_out\": ");
  if (f->validation_step) {
    printf("{\"step\": %lld", (long long)f->validation_step);
    whole_member("examples_at_most", f->validation_max_examples);
    real_member("exact", f->validation_exact_match), real_member("loss", f->validation_loss);
    printf("}");
  } else {
    printf("null");
  }
  printf("}");
}

static void print_json(const char *path, const attn_model_info *f) {
  printf("{\"file\": ");
  attn_cli_json_text(path);
  text_member("kind", f->kind);
  whole_member("encoder_layers", f->encoder_layers);
  whole_member("decoder_layers", f->decoder_layers);
  whole_member("heads", f->num_heads), whole_member("kv_heads", f->num_kv_heads);
  whole_member("width", f->d_model), whole_member("hidden", f->ffn_dim);
  whole_member("length", f->max_positions), whole_member("vocabulary", f->vocab_size);
  text_member("tokenizer", f->tokenizer);
  whole_member("parameters", f->parameter_count);
  print_training_json(f);
  text_member("config", f->config);
  printf("}");
}

int attn_info_model(const char *path, int json, int *printed) {
  attn_model *model;
  attn_error err;
  attn_model_info facts = {.struct_size = sizeof facts};
  if (attn_model_open(path, &model, &err)) return attn_cli_fail("info", path, &err);
  attn_model_describe(model, &facts, NULL);
  if (json && (*printed)++) printf(", ");
  (json ? print_json : print_text)(path, &facts);
  attn_model_free(model);
  return EXIT_FINE;
}
