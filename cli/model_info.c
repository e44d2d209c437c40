#include "model_info.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/train.h"
#include "command.h"
#include "console.h"
#include "json_output.h"

/* ---- Text ---- */

enum { LABEL = 12 };

/* Begins a line: its name, to the column of the values. */
static void print_label(const char *name) { attn_cli_print_cell(name, -LABEL); }

static void print_layers(const attn_model_info *f) {
  print_label("layers");
  if (f->encoder_layers && f->decoder_layers)
    attn_cli_print_message(stdout, "%d encoder, %d decoder; %d heads", (int)f->encoder_layers,
                           (int)f->decoder_layers, (int)f->num_heads);
  else
    attn_cli_print_message(stdout, "%d; %d heads", (int)(f->encoder_layers + f->decoder_layers),
                           (int)f->num_heads);
  if (f->num_kv_heads != f->num_heads)
    attn_cli_print_message(stdout, ", %d key/value heads", (int)f->num_kv_heads);
  if (!f->image_size && strcmp(f->alignment, "scaled"))
    attn_cli_print_message(stdout, ", alignment %s", f->alignment);
  putchar('\n'), print_label("sizes");
  attn_cli_print_line("d_model %lld, ffn_dim %lld, max_positions %lld tokens",
                      (long long)f->d_model, (long long)f->ffn_dim, (long long)f->max_positions);
}

static void print_vision(const attn_model_info *f) {
  print_label("images");
  attn_cli_print_line("%d x %d pixels, grid %d x %d; decoder %s, alignment %s", (int)f->image_size,
                      (int)f->image_size, (int)f->grid_size, (int)f->grid_size, f->decoder_type,
                      f->alignment);
}

static void print_vocabulary(const attn_model_info *f) {
  print_label("vocabulary");
  attn_cli_print_line("%lld tokens, tokenizer %s", (long long)f->vocab_size, f->tokenizer);
  print_label("parameters");
  attn_cli_print_line("%lld, %.1f MiB as float32", (long long)f->parameter_count,
                      (double)f->parameter_count * 4 / (1 << 20));
}

static void print_validation(const attn_model_info *f) {
  print_label("validation");
  if (!f->validation_step) return attn_cli_print_line("none yet");
  if (!isnan(f->validation_exact_match))
    attn_cli_print_message(stdout, "exact match %.2f %%, ", 100 * f->validation_exact_match);
  attn_cli_print_line("loss %.4f nats per token: recorded during training", f->validation_loss);
  print_label("");
  attn_cli_print_line("at step %lld, with greedy decoding of at most %lld held-out examples",
                      (long long)f->validation_step, (long long)f->validation_max_examples);
}

static void print_training(const attn_model_info *f) {
  print_label("training");
  if (!f->has_training) return attn_cli_print_line("not recorded in the file");
  attn_cli_print_message(stdout, "%lld steps in %s on the %s ", (long long)f->step, f->precision,
                         f->task ? "task" : "file");
  attn_cli_print_text(f->task ? f->task : f->data, stdout), putchar('\n');
  print_validation(f);
}

/* An argument of a shell, in quotes if necessary. */
static void print_argument(const char *text) {
  static const char plain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+:,-";
  char *copy = strdup(text);
  const int is_quoted = !*text || text[strspn(text, plain)];
  if (is_quoted) putchar('\'');
  for (char *part = copy, *quote; part; part = quote) {
    if ((quote = strchr(part, '\''))) *quote++ = 0;
    attn_cli_print_text(part, stdout);
    if (quote) fputs("'\\''", stdout);
  }
  if (is_quoted) putchar('\'');
  free(copy);
}

/* "try         attn generate dates.safetensors '12 May 1991'" */
static void print_command(const char *lead, const char *command, const char *path,
                          const char *arguments, const char *text, const char *end) {
  print_label(lead), printf("attn %s ", command);
  print_argument(path);
  printf(" %s%s%s\n", arguments, text, end);
}

/* What the commands to try are given: an example of the task that the model was trained on. */
struct example_input {
  char text[600];
  char prefix[300], target[600]; /* options, where the task has a prefix */
};

/* A decoder reads pairs with a tab between them. */
static void set_example(struct example_input *e, const attn_model_info *f) {
  char source[256] = "TEXT", prefix[256] = "", target[256];
  if (f->task) attn_task_example(f->task, 0, 0, 1, source, prefix, target, NULL);
  const int is_decoder = f->task && !f->encoder_layers;
  snprintf(e->text, sizeof e->text, is_decoder ? "$'%s\\t%s'" : "'%s%s'", source,
           is_decoder ? prefix : "");
  e->prefix[0] = e->target[0] = 0;
  if (!*prefix || is_decoder) return;
  snprintf(e->prefix, sizeof e->prefix, " --target-prefix '%s'", prefix);
  snprintf(e->target, sizeof e->target, " --target '%s %s'", prefix, target);
}

static void print_commands(const char *path, const attn_model_info *f) {
  struct example_input e;
  char end[700];
  set_example(&e, f);
  if (f->image_size) {
    const char *images = f->task ? "--examples 3" : "PICTURE.png";
    print_command("try", "caption", path, images, "", " --show");
    return;
  }
  if (f->decoder_layers || f->has_training)
    print_command("try", "generate", path, "", e.text, e.prefix);
  else
    print_command("try", "embed", path, "", e.text, " 'ANOTHER TEXT'");
  snprintf(end, sizeof end, "%s%s --html attention.html", e.target,
           f->encoder_layers ? "" : " --max-new-tokens 16");
  print_command("", "show", path, "--input ", e.text, end);
  snprintf(end, sizeof end, "%s --cell 'weights[0,0]'", e.target);
  print_command("", "explain", path, "--input ", e.text, end);
}

static void print_text(const char *path, const attn_model_info *f) {
  attn_cli_print_text(path, stdout);
  attn_cli_print_line(": %s", f->kind);
  print_layers(f);
  if (f->image_size) print_vision(f);
  print_vocabulary(f);
  print_training(f);
  print_commands(path, f);
}

/* ---- JSON ---- */

static void print_training_json(const attn_model_info *f) {
  if (!f->has_training) return attn_cli_json_null("training");
  attn_cli_json_begin_object("training");
  attn_cli_json_int("step", f->step);
  attn_cli_json_string("task", f->task);
  attn_cli_json_string("data", f->data);
  attn_cli_json_string("precision", f->precision);
  if (f->validation_step) {
    attn_cli_json_begin_object("validation");
    attn_cli_json_int("step", f->validation_step);
    attn_cli_json_int("max_examples", f->validation_max_examples);
    attn_cli_json_number("exact_match", f->validation_exact_match);
    attn_cli_json_number("loss", f->validation_loss);
    attn_cli_json_end_object();
  } else {
    attn_cli_json_null("validation");
  }
  attn_cli_json_end_object();
}

static void print_json(const char *path, const attn_model_info *f) {
  attn_cli_json_begin_object(NULL);
  attn_cli_json_string("file", path);
  attn_cli_json_string("kind", f->kind);
  attn_cli_json_int("encoder_layers", f->encoder_layers);
  attn_cli_json_int("decoder_layers", f->decoder_layers);
  if (f->image_size) {
    attn_cli_json_int("image_size", f->image_size), attn_cli_json_int("grid_size", f->grid_size);
    attn_cli_json_string("decoder_type", f->decoder_type);
  }
  attn_cli_json_string("alignment", f->alignment);
  attn_cli_json_int("num_heads", f->num_heads);
  attn_cli_json_int("num_kv_heads", f->num_kv_heads);
  attn_cli_json_int("d_model", f->d_model);
  attn_cli_json_int("ffn_dim", f->ffn_dim);
  attn_cli_json_int("max_positions", f->max_positions);
  attn_cli_json_int("vocab_size", f->vocab_size);
  attn_cli_json_string("tokenizer", f->tokenizer);
  attn_cli_json_int("parameter_count", f->parameter_count);
  print_training_json(f);
  attn_cli_json_string("config", f->config);
  attn_cli_json_end_object();
}

int attn_info_print_model(const char *path, int json) {
  attn_model *model;
  attn_error err;
  attn_model_info facts = {.struct_size = sizeof facts};
  if (attn_model_open(path, &model, &err)) return attn_cli_report_error(path, &err);
  attn_model_describe(model, &facts, NULL);
  (json ? print_json : print_text)(path, &facts);
  attn_model_free(model);
  return EXIT_OK;
}
