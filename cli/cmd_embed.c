/* cmd_embed.c -- attn embed: text embeddings and their cosine similarities. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"
#include "help_files.h"
#include "json_output.h"
#include "model_input.h"

enum { MAX_TABLE = 20, MAX_BATCH_SIZE = 1 << 24 };

struct embed_options {
  attn_embedding_config config;
  const char *output, *pooling;
  int64_t threads, batch_size;
  int no_normalize, json;
};

struct embedded_texts {
  const char **text;
  int64_t count, d_model;
  int is_stdin;
  float *vectors; /* (count, d_model) */
  double *norms;
};

/* ---- Similarities ---- */

static double dot(const struct embedded_texts *t, int64_t a, int64_t b) {
  double sum = 0;
  for (int64_t d = 0; d < t->d_model; d++)
    sum += (double)t->vectors[a * t->d_model + d] * (double)t->vectors[b * t->d_model + d];
  return sum;
}

/* 0 if one of the vectors is 0. */
static double cosine(const struct embedded_texts *t, int64_t a, int64_t b) {
  double norms = t->norms[a] * t->norms[b];
  return norms > 0 ? dot(t, a, b) / norms : 0;
}

static void print_name(const char *text) {
  printf("  "), attn_cli_print_text(text, stdout), puts("");
}

static void print_table(const struct embedded_texts *t) {
  printf("%5s", "");
  for (int64_t b = 0; b < t->count; b++) printf(" %7lld", (long long)b + 1);
  puts("");
  for (int64_t a = 0; a < t->count; a++) {
    printf("%5lld", (long long)a + 1);
    for (int64_t b = 0; b < t->count; b++) printf(" %7.4f", cosine(t, a, b));
    print_name(t->text[a]);
  }
}

static void print_nearest(const struct embedded_texts *t) {
  for (int64_t a = 0; a < t->count; a++) {
    int64_t nearest = a == 0;
    for (int64_t b = 0; b < t->count; b++)
      if (b != a && cosine(t, a, b) > cosine(t, a, nearest)) nearest = b;
    printf("%5lld %5lld %7.4f", (long long)a + 1, (long long)nearest + 1, cosine(t, a, nearest));
    print_name(t->text[a]);
  }
}

static void print_json(const attn_model *model, const struct embedded_texts *t) {
  for (int64_t a = 0; a < t->count; a++) {
    attn_cli_json_begin_object(NULL);
    attn_cli_json_string("text", t->text[a]);
    attn_cli_json_unknown_tokens(model, t->text[a]);
    attn_cli_json_begin_array("cosine_similarities");
    for (int64_t b = 0; b < t->count; b++) attn_cli_json_number(NULL, cosine(t, a, b));
    attn_cli_json_end_array();
    attn_cli_json_begin_array("embedding");
    for (int64_t d = 0; d < t->d_model; d++)
      attn_cli_json_number(NULL, (double)t->vectors[a * t->d_model + d]);
    attn_cli_json_end_array();
    attn_cli_json_end_object(), attn_cli_json_end_line();
  }
}

static void print_similarities(const attn_model *model, const struct embed_options *o,
                               const struct embedded_texts *t) {
  if (o->json)
    print_json(model, t);
  else if (t->count <= MAX_TABLE)
    print_table(t);
  else
    print_nearest(t);
}

/* ---- Embeddings ---- */

static attn_status embed(const attn_model *model, const struct embed_options *o,
                         struct embedded_texts *t, attn_error *err) {
  struct attn_cli_progress progress = attn_cli_progress_begin("embedding", 0);
  attn_embedding_config config = o->config;
  config.progress = attn_cli_progress_update, config.progress_context = &progress;
  attn_status status = attn_model_embed(model, t->text, t->count, &config, t->vectors, err);
  attn_cli_progress_end(&progress);
  if (!status && attn_cli_interrupted()) /* after the last call of progress */
    status = attn_cli_fail(err, ATTN_ERR_INTERRUPTED, "interrupted");
  for (int64_t n = 0; n < t->count && !status; n++) t->norms[n] = sqrt(dot(t, n, n));
  return status;
}

static attn_status write_embeddings(const struct embed_options *o, const struct embedded_texts *t,
                                    attn_error *err) {
  const attn_tensor all = {t->vectors, ATTN_F32, 2, {t->count, t->d_model}, {t->d_model, 1}};
  if (!o->output) return ATTN_OK;
  attn_cli_defer_interrupts(1);
  attn_status status = attn_array_write(o->output, &all, err);
  attn_cli_defer_interrupts(0);
  return status;
}

static void warn_unknown(const attn_model *model, const struct embedded_texts *t) {
  for (int64_t n = 0; n < t->count; n++) {
    char name[32] = "-";
    if (!t->is_stdin) snprintf(name, sizeof name, "text %lld", (long long)n + 1);
    attn_cli_warn_unknown_tokens(name, t->is_stdin ? n + 1 : 0, model, t->text[n]);
  }
}

static int embed_texts(const attn_model *model, const struct embed_options *o,
                       struct embedded_texts *t) {
  attn_error err;
  attn_model_info info = {.struct_size = sizeof info};
  if (attn_model_describe(model, &info, &err)) return attn_cli_report_error(NULL, &err);
  t->d_model = info.d_model;
  t->vectors = calloc((size_t)(t->count * t->d_model) + 1, sizeof *t->vectors);
  t->norms = calloc((size_t)t->count + 1, sizeof *t->norms);
  if (!t->vectors || !t->norms) return attn_cli_print_no_memory();
  warn_unknown(model, t);
  if (embed(model, o, t, &err)) return attn_cli_report_error(NULL, &err);
  if (write_embeddings(o, t, &err)) return attn_cli_report_error(o->output, &err);
  print_similarities(model, o, t);
  return EXIT_OK;
}

/* ---- Texts ---- */

/* Splits input at its line endings, in place. */
static int split_lines(char *input, struct embedded_texts *t) {
  int64_t max = t->is_stdin = 1;
  for (const char *at = input; *at; at++) max += *at == '\n';
  if (!(t->text = calloc((size_t)max, sizeof *t->text))) return attn_cli_print_no_memory();
  for (char *line; (line = attn_cli_next_line(&input));) t->text[t->count++] = line;
  return EXIT_OK;
}

static int run(const struct embed_options *o, const attn_model *model, int operands, char **argv) {
  struct embedded_texts t = {.count = 0};
  attn_error err;
  char *input = NULL;
  int result = EXIT_OK;
  if (operands > 1) {
    if (!(t.text = calloc((size_t)operands, sizeof *t.text))) return attn_cli_print_no_memory();
    for (; t.count < operands - 1; t.count++) t.text[t.count] = argv[2 + t.count];
  } else if (attn_cli_read_text("-", &input, &err)) {
    return attn_cli_report_error("-", &err);
  } else {
    result = split_lines(input, &t);
  }
  if (result == EXIT_OK)
    result = t.count ? embed_texts(model, o, &t)
                     : attn_cli_print_usage_error(
                           "expected texts as operands or as lines of standard input");
  free(t.text), free(t.vectors), free(t.norms), free(input);
  return result;
}

static const char *const poolings[] = {"mean", "cls"};

static int set_config(struct embed_options *o) {
  if (o->pooling) {
    int pooling = attn_cli_parse_choice("--pooling", o->pooling, poolings, 2);
    if (pooling < 0) return -1;
    o->config.pooling = pooling ? ATTN_POOLING_CLS : ATTN_POOLING_MEAN;
  }
  if (o->no_normalize) o->config.normalize = ATTN_NORMALIZE_NONE;
  if (attn_cli_check_range("--threads", o->threads, 0, ATTN_CLI_MAX_THREADS) ||
      attn_cli_check_range("--batch-size", o->batch_size, 0, MAX_BATCH_SIZE))
    return -1;
  o->config.threads = (int32_t)o->threads, o->config.batch_size = (int32_t)o->batch_size;
  return 0;
}

int attn_cmd_embed(int argc, char **argv) {
  struct embed_options o = {.config = ATTN_EMBEDDING_CONFIG_INIT};
  attn_error err;
  attn_model *model;
  int operands;
  const struct attn_cli_option table[] = {
      {"-o", OPTION_TEXT, &o.output, NULL},
      {"--output", OPTION_TEXT, &o.output, NULL},
      {"--pooling", ATTN_CLI_CHOICE(&o.pooling, poolings), NULL},
      {"--no-normalize", OPTION_FLAG, &o.no_normalize, NULL},
      {"--threads", OPTION_INT, &o.threads, NULL},
      {"--batch-size", OPTION_INT, &o.batch_size, NULL},
      {"--json", OPTION_FLAG, &o.json, NULL}};
  const int ended = attn_cli_parse_options(argc, argv, embed_txt, ATTN_CLI_TABLE(table), &operands);
  if (ended >= 0) return ended;
  if (!operands) return attn_cli_print_usage_error("expected a model");
  if (set_config(&o)) return EXIT_TROUBLE;
  if (o.output && attn_array_outputs_check(&o.output, 1, &err))
    return attn_cli_report_error(o.output, &err);
  if (attn_model_open(argv[1], &model, &err)) return attn_cli_report_error(argv[1], &err);
  int result = run(&o, model, operands, argv);
  attn_model_free(model);
  return result;
}
