#include "model_info.h"

#include <math.h>
#include <stdio.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"
#include "json_writer.h"

/* ---- Text ---- */

static void print_layers(const attn_model_facts *f) {
  printf("layers      ");
  if (f->encoder_layers && f->decoder_layers)
    printf("%d encoder, %d decoder", (int)f->encoder_layers, (int)f->decoder_layers);
  else
    printf("%d", (int)(f->encoder_layers + f->decoder_layers));
  printf("; %d heads", (int)f->heads);
  if (f->kv_heads != f->heads) printf(", %d key/value heads", (int)f->kv_heads);
  printf("\nsizes       d_model %lld, ffn_dim %lld, max_positions %lld tokens\n",
         (long long)f->width, (long long)f->hidden, (long long)f->length);
}

static void print_training(const attn_model_facts *f) {
  if (!f->training) {
    puts("training    not recorded in the file");
    return;
  }
  printf("training    %lld steps in %s on the %s ", (long long)f->step, f->precision,
         f->task ? "task" : "file");
  attn_cli_print_text(f->task ? f->task : f->data, stdout);
  printf("\nvalidation  ");
  if (!f->held_out_step) {
    puts("none yet");
    return;
  }
  if (!isnan(f->held_out_exact)) printf("exact match %.2f %%, ", 100 * f->held_out_exact);
  printf("loss %.4f nats per token: recorded during training\n", f->held_out_loss);
  printf("            at step %lld, with greedy decoding of at most %lld held-out examples\n",
         (long long)f->held_out_step, (long long)f->held_out_most);
}

static void print_text(const char *path, const attn_model_facts *f) {
  attn_cli_print_text(path, stdout);
  printf(": %s\n", f->kind);
  print_layers(f);
  printf("vocabulary  %lld tokens, tokenizer %s\n", (long long)f->words, f->tokenizer);
  printf("parameters  %lld, %.1f MiB as float32\n", (long long)f->weights,
         (double)f->weights * 4 / (1 << 20));
  print_training(f);
}

/* ---- JSON ---- */

static void print_training_json(const attn_model_facts *f) {
  if (!f->training) {
    attn_cli_json_null("training");
    return;
  }
  attn_cli_json_begin_object("training");
  attn_cli_json_int("step", f->step);
  attn_cli_json_string("task", f->task);
  attn_cli_json_string("data", f->data);
  attn_cli_json_string("precision", f->precision);
  if (f->held_out_step) {
    attn_cli_json_begin_object("validation");
    attn_cli_json_int("step", f->held_out_step);
    attn_cli_json_int("max_examples", f->held_out_most);
    attn_cli_json_number("exact_match", f->held_out_exact);
    attn_cli_json_number("loss", f->held_out_loss);
    attn_cli_json_end_object();
  } else {
    attn_cli_json_null("validation");
  }
  attn_cli_json_end_object();
}

static void print_json(const char *path, const attn_model_facts *f) {
  attn_cli_json_begin_object(NULL);
  attn_cli_json_string("file", path);
  attn_cli_json_string("kind", f->kind);
  attn_cli_json_int("encoder_layers", f->encoder_layers);
  attn_cli_json_int("decoder_layers", f->decoder_layers);
  attn_cli_json_int("num_heads", f->heads);
  attn_cli_json_int("num_kv_heads", f->kv_heads);
  attn_cli_json_int("d_model", f->width);
  attn_cli_json_int("ffn_dim", f->hidden);
  attn_cli_json_int("max_positions", f->length);
  attn_cli_json_int("vocab_size", f->words);
  attn_cli_json_string("tokenizer", f->tokenizer);
  attn_cli_json_int("parameter_count", f->weights);
  print_training_json(f);
  attn_cli_json_string("config", f->config);
  attn_cli_json_end_object();
}

int attn_info_print_model(const char *path, int json) {
  attn_model *model;
  attn_error err;
  attn_model_facts facts = {.struct_size = sizeof facts};
  if (attn_model_open(path, &model, &err)) return attn_cli_report_error("info", path, &err);
  attn_model_describe(model, &facts, NULL);
  (json ? print_json : print_text)(path, &facts);
  attn_model_free(model);
  return EXIT_OK;
}
