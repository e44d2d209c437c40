/* cmd_generate.c -- attn generate: text from a trained model. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"
#include "help_files.h"
#include "json_output.h"
#include "model_input.h"

struct generate_options {
  attn_generation_config config;
  int64_t num_beams, num_return_sequences, top_k, threads, seed, batch_size;
  const char *precision, *target_prefix;
  int json;
};

/* ---- Output ---- */

static void print_json(const attn_model *model, const char *source,
                       const attn_generation_result *results, int64_t count) {
  attn_cli_json_begin_object(NULL);
  attn_cli_json_string("source", source);
  attn_cli_json_unknown_tokens(model, source);
  attn_cli_json_begin_array("results");
  for (int64_t n = 0; n < count && results[n].text; n++) {
    attn_cli_json_begin_object(NULL);
    attn_cli_json_bytes("text", results[n].text, (size_t)results[n].text_length);
    attn_cli_json_number("log_prob", results[n].log_prob);
    attn_cli_json_number("score", results[n].score);
    attn_cli_json_int("token_count", results[n].token_count);
    attn_cli_json_bool("finished", results[n].finished);
    attn_cli_json_end_object();
  }
  attn_cli_json_end_array();
  attn_cli_json_end_object(), attn_cli_json_end_line();
}

static void print_text(const attn_generation_result *results, int64_t count) {
  for (int64_t n = 0; n < count && results[n].text; n++) {
    if (count > 1) printf("%9.4f  ", results[n].score);
    attn_cli_print_bytes(results[n].text, (size_t)results[n].text_length, stdout);
    puts("");
  }
}

static attn_status run_model(const attn_model *model, const struct generate_options *o,
                             const char *const *sources, int64_t count,
                             attn_generation_result *results, attn_error *err) {
  attn_generation_config config = o->config;
  const char **prefixes = calloc((size_t)count + 1, sizeof *prefixes);
  if (!prefixes) return attn_cli_no_memory(err);
  for (int64_t n = 0; n < count; n++) prefixes[n] = o->target_prefix;
  if (o->target_prefix) config.target_prefixes = prefixes;
  attn_status status = attn_model_generate(model, sources, count, &config, results, err);
  free(prefixes);
  return status;
}

/* Prints the results unless dry_run. */
static attn_status generate(const attn_model *model, const struct generate_options *o,
                            const char *const *sources, int64_t count, int dry_run,
                            attn_error *err) {
  int64_t each = o->config.num_return_sequences ? o->config.num_return_sequences : 1;
  attn_generation_result *results = calloc((size_t)(count * each) + 1, sizeof *results);
  if (!results) return attn_cli_no_memory(err);
  results->struct_size = sizeof *results;
  attn_status status = run_model(model, o, sources, count, results, err);
  for (int64_t n = 0; n < count && !status && !dry_run; n++)
    if (o->json)
      print_json(model, sources[n], results + n * each, each);
    else
      print_text(results + n * each, each);
  attn_generation_results_free(results, status ? 0 : count * each);
  free(results);
  return status;
}

/* ---- Lines of standard input ---- */

enum { BATCHES_PER_BLOCK = 16 }; /* enough for all threads */

/* Lines that are generated from together. */
struct line_block {
  char **lines;
  int64_t count, capacity, first; /* first: line number in the input */
  int64_t nul_column;             /* of the line after the block, if that contains a NUL */
};

/* Removes the line ending. Returns -1 if the line contains a NUL. */
static int strip(char *line, size_t length) {
  length -= length && line[length - 1] == '\n';
  length -= length && line[length - 1] == '\r';
  line[length] = 0;
  return strlen(line) == length ? 0 : -1;
}

/* Returns the index of the first line that the model refuses, or count. */
static int64_t find_refused(const attn_model *model, const struct generate_options *o,
                            const struct line_block *b, attn_error *err) {
  int64_t n = 0;
  while (n < b->count && !generate(model, o, (const char *const *)b->lines + n, 1, 1, err)) n++;
  return n;
}

/* line 0: the whole block. */
static int report_line(attn_error *err, int64_t line) {
  err->line = line, err->column = line > 0;
  return attn_cli_report_error("-", err);
}

/* The fallback if there is no memory for the block. */
static int generate_each_line(const attn_model *model, const struct generate_options *o,
                              const struct line_block *b) {
  attn_error err;
  for (int64_t n = 0; n < b->count; n++)
    if (generate(model, o, (const char *const *)b->lines + n, 1, 0, &err))
      return report_line(&err, b->first + n);
  return EXIT_OK;
}

/* If a line is refused, the lines before it are generated first. */
static int generate_lines(const attn_model *model, const struct generate_options *o,
                          const struct line_block *b) {
  const char *const *lines = (const char *const *)b->lines;
  attn_error err, refusal;
  if (!b->count || !generate(model, o, lines, b->count, 0, &err)) return EXIT_OK;
  int64_t n = find_refused(model, o, b, &refusal);
  if (n == b->count) /* samples depend on the position in the batch: no fallback */
    return o->config.temperature > 0 ? report_line(&err, 0) : generate_each_line(model, o, b);
  if (n && generate(model, o, lines, n, 0, &err)) return report_line(&err, 0);
  return report_line(&refusal, b->first + n);
}

/* Flushes after each block, so that a closed pipe ends the program. */
static int process_block(const attn_model *model, const struct generate_options *o,
                         struct line_block *b) {
  for (int64_t n = 0; n < b->count; n++)
    attn_cli_warn_unknown_tokens("-", b->first + n, model, b->lines[n]);
  int result = generate_lines(model, o, b);
  for (int64_t n = 0; n < b->count; n++) free(b->lines[n]);
  b->first += b->count, b->count = 0;
  if (fflush(stdout) && !result) result = EXIT_TROUBLE;
  return result;
}

/* Returns 1 after a line, 0 at the end, -1 at a line with a NUL, -2 - errno on failure. */
static int read_line(struct line_block *b) {
  char *line = NULL;
  size_t capacity = 0;
  ssize_t length = getline(&line, &capacity, stdin);
  if (length >= 0 && !strip(line, (size_t)length)) return b->lines[b->count++] = line, 1;
  if (length >= 0) b->nul_column = attn_cli_column(line, strlen(line));
  free(line);
  return length >= 0 ? -1 : feof(stdin) ? 0 : -errno - 2;
}

static int report_read_error(const struct line_block *b, int read_result) {
  const attn_error nul = {ATTN_ERR_FORMAT, "", ATTN_CLI_NUL_BYTE, b->first, b->nul_column, -1};
  if (read_result == -1)
    attn_cli_report_error("-", &nul);
  else
    attn_cli_print_error("standard input: cannot read: %s", strerror(-read_result - 2));
  return EXIT_TROUBLE;
}

/* With batch size 1 line by line, for interactive use. Lines before an unreadable one are
 * generated from. */
static int generate_from_stdin(const attn_model *model, const struct generate_options *o) {
  int64_t capacity = o->batch_size > 1 ? o->batch_size * BATCHES_PER_BLOCK : 1;
  struct line_block b = {
      .lines = calloc((size_t)capacity, sizeof *b.lines), .capacity = capacity, .first = 1};
  if (!b.lines) return attn_cli_print_no_memory();
  int result = EXIT_OK, more = 1;
  while (more > 0 && !result) {
    while (b.count < b.capacity && (more = read_line(&b)) > 0) continue;
    result = process_block(model, o, &b);
  }
  free(b.lines);
  return more < 0 && !result ? report_read_error(&b, more) : result;
}

/* ---- The command ---- */

static const char *const precisions[] = {"float32", "bf16"};

static int set_config(struct generate_options *o) {
  const struct {
    const char *name;
    int64_t value, max;
  } integers[] = {{"--num-beams", o->num_beams, 4096},
                  {"--num-return-sequences", o->num_return_sequences, 4096},
                  {"--top-k", o->top_k, 1 << 24},
                  {"--batch-size", o->batch_size, 1 << 16},
                  {"--threads", o->threads, ATTN_CLI_MAX_THREADS}};
  for (size_t n = 0; n < sizeof integers / sizeof *integers; n++)
    if (attn_cli_check_range(integers[n].name, integers[n].value, 0, integers[n].max)) return -1;
  o->config.num_beams = (int32_t)o->num_beams;
  o->config.num_return_sequences = (int32_t)o->num_return_sequences;
  o->config.top_k = (int32_t)o->top_k, o->config.threads = (int32_t)o->threads;
  o->config.seed = (uint64_t)o->seed, o->config.batch_size = (int32_t)o->batch_size;
  return attn_cli_parse_precision(o->precision, &o->config.precision);
}

static int generate_from_operands(const attn_model *model, const struct generate_options *o,
                                  int count, char **texts) {
  attn_error err;
  for (int n = 0; n < count; n++) {
    char name[32];
    snprintf(name, sizeof name, "text %d", n + 1);
    attn_cli_warn_unknown_tokens(name, 0, model, texts[n]);
  }
  attn_status status = generate(model, o, (const char *const *)texts, count, 0, &err);
  return status ? attn_cli_report_error(NULL, &err) : EXIT_OK;
}

int attn_cmd_generate(int argc, char **argv) {
  struct generate_options o = {.config = ATTN_GENERATION_CONFIG_INIT};
  int operands;
  attn_model *model;
  attn_error err;
  const struct attn_cli_option table[] = {
      {"--num-beams", OPTION_INT, &o.num_beams, NULL},
      {"--num-return-sequences", OPTION_INT, &o.num_return_sequences, NULL},
      {"--length-penalty", OPTION_DOUBLE, &o.config.length_penalty, NULL},
      {"--temperature", OPTION_DOUBLE, &o.config.temperature, NULL},
      {"--top-k", OPTION_INT, &o.top_k, NULL},
      {"--top-p", OPTION_DOUBLE, &o.config.top_p, NULL},
      {"--seed", OPTION_INT, &o.seed, NULL},
      {"--target-prefix", OPTION_TEXT, &o.target_prefix, NULL},
      {"--max-new-tokens", OPTION_INT, &o.config.max_new_tokens, NULL},
      {"--threads", OPTION_INT, &o.threads, NULL},
      {"--batch-size", OPTION_INT, &o.batch_size, NULL},
      {"--precision", ATTN_CLI_CHOICE(&o.precision, precisions), NULL},
      {"--json", OPTION_FLAG, &o.json, NULL}};
  const int ended =
      attn_cli_parse_options(argc, argv, generate_txt, ATTN_CLI_TABLE(table), &operands);
  if (ended >= 0) return ended;
  if (!operands) return attn_cli_print_usage_error("expected a model");
  if (set_config(&o)) return EXIT_TROUBLE;
  if (attn_model_open(argv[1], &model, &err)) return attn_cli_report_error(argv[1], &err);
  if (o.target_prefix) attn_cli_warn_unknown_tokens("--target-prefix", 0, model, o.target_prefix);
  int result = operands > 1 ? generate_from_operands(model, &o, operands - 1, argv + 2)
                            : generate_from_stdin(model, &o);
  attn_model_free(model);
  return result;
}
