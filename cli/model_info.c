/* info_model.c -- what attn info says of a model. */
#include "model_info.h"

#include <math.h>
#include <stdio.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"

static void put(const char *text) { attn_cli_print_text(text, stdout); }

/* ---- For a person ---- */

static void print_layers(const attn_model_facts *f) {
  printf("layers      ");
  if (f->encoder_layers && f->decoder_layers)
    printf("%d of the encoder, %d of the decoder", (int)f->encoder_layers, (int)f->decoder_layers);
  else
    printf("%d", (int)(f->encoder_layers + f->decoder_layers));
  printf("; %d heads", (int)f->heads);
  if (f->kv_heads != f->heads) printf(", %d of keys and values", (int)f->kv_heads);
  printf("\nwidth       %lld, %lld in feed-forward layers; up to %lld tokens\n",
         (long long)f->width, (long long)f->hidden, (long long)f->length);
}

static void print_training(const attn_model_facts *f) {
  if (!f->training) {
    puts("trained     the file says nothing of it");
    return;
  }
  printf("trained     %lld steps in %s, on %s ", (long long)f->step, f->precision,
         f->task ? "the task" : "the file");
  put(f->task ? f->task : f->data);
  printf("\nheld out    ");
  if (!f->held_out_step) {
    puts("not validated yet");
    return;
  }
  if (!isnan(f->held_out_exact)) printf("%.2f %% of replies right, ", 100 * f->held_out_exact);
  printf("loss %.4f nats a token: training's own validation\n", f->held_out_loss);
  printf("            at step %lld, greedily, on up to %lld examples that it never learns from\n",
         (long long)f->held_out_step, (long long)f->held_out_most);
}

static void print_text(const char *path, const attn_model_facts *f) {
  put(path);
  printf(": %s\n", f->kind);
  print_layers(f);
  printf("vocabulary  %lld, tokenizer of kind %s\n", (long long)f->words, f->tokenizer);
  printf("parameters  %lld, as float32 %.1f MiB\n", (long long)f->weights,
         (double)f->weights * 4 / (1 << 20));
  print_training(f);
}

/* ---- JSON ---- */

static void text_member(const char *name, const char *text) {
  printf(", \"%s\": ", name);
  if (text)
    attn_cli_json_string(text);
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

static void print_training_json(const attn_model_facts *f) {
  printf(", \"training\": ");
  if (!f->training) {
    printf("null");
    return;
  }
  printf("{\"step\": %lld", (long long)f->step);
  text_member("task", f->task), text_member("data", f->data);
  text_member("precision", f->precision);
  printf(", \"held_out\": ");
  if (f->held_out_step) {
    printf("{\"step\": %lld", (long long)f->held_out_step);
    whole_member("examples_at_most", f->held_out_most);
    real_member("exact", f->held_out_exact), real_member("loss", f->held_out_loss);
    printf("}");
  } else {
    printf("null");
  }
  printf("}");
}

static void print_json(const char *path, const attn_model_facts *f) {
  printf("{\"file\": ");
  attn_cli_json_string(path);
  text_member("kind", f->kind);
  whole_member("encoder_layers", f->encoder_layers);
  whole_member("decoder_layers", f->decoder_layers);
  whole_member("heads", f->heads), whole_member("kv_heads", f->kv_heads);
  whole_member("width", f->width), whole_member("hidden", f->hidden);
  whole_member("length", f->length), whole_member("vocabulary", f->words);
  text_member("tokenizer", f->tokenizer);
  whole_member("parameters", f->weights);
  print_training_json(f);
  text_member("config", f->config);
  printf("}");
}

int attn_info_print_model(const char *path, int json, int *printed) {
  attn_model *model;
  attn_error err;
  attn_model_facts facts = {.struct_size = sizeof facts};
  if (attn_model_open(path, &model, &err)) return attn_cli_report_error("info", path, &err);
  attn_model_describe(model, &facts, NULL);
  if (json && (*printed)++) printf(", ");
  (json ? print_json : print_text)(path, &facts);
  attn_model_free(model);
  return EXIT_OK;
}
