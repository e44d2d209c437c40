/* cmd_generate.c -- attn generate: what a trained model says. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"
#include "unknown_tokens.h"

static const char help[] =
    "attn generate - what a trained model makes of a text\n\n"
    "usage: attn generate CHECKPOINT [TEXT...] [OPTION...]\n"
    "       attn generate CHECKPOINT < lines\n\n"
    "CHECKPOINT may be a folder of Hugging Face's (GPT-2, Marian): its replies are those of "
    "transformers.\n\n"
    "  --beams N              beam search [1: greedy; a folder's num_beams]\n"
    "  --n-best N             so many replies to each, with their scores\n"
    "  --length-penalty A     log p / ((5 + n) / 6)^A [0]; of a folder log p / n^A [its own]\n"
    "  --temperature T        draws tokens: the higher, the wilder\n"
    "  --top-k K, --top-p P   draws from the likeliest only\n"
    "  --seed N               what is drawn [0]\n"
    "  --most N               tokens at most\n"
    "  --precision P          float32 or bf16 [float32]: half the bytes of the weights\n"
    "  --together N           lines that are read and said side by side: faster, but\n"
    "                         neighbours change last bits of scores, and a line's\n"
    "                         place what is drawn of it [1]\n"
    "  --threads N            [all]\n"
    "  --json                 a line of JSON for each text\n\n"
    "What the model has no token for is read as <unk>, with a warning that tells where; --json "
    "has\n"
    "it as \"unknown\".\n\n"
    "examples:\n"
    "  attn generate dates.safetensors '平成三年五月十二日' '12 May 1991'\n"
    "  attn generate dates.safetensors 'May 12' --beams 4 --n-best 4\n"
    "  cut -f1 pairs.tsv | attn generate mine.safetensors\n";

enum { BLOCK = 16 }; /* times `together`: work for all threads */

struct wishes {
  attn_generation how;
  int64_t beams, n_best, top_k, threads, seed, together;
  const char *precision;
  int json, wants_help;
};

static void put_reply_json(const attn_reply *r) {
  printf("{\"text\": "), attn_cli_json_string(r->text);
  printf(", \"log_p\": "), attn_cli_json_number(r->log_p);
  printf(", \"score\": "), attn_cli_json_number(r->score);
  printf(", \"tokens\": %lld, \"ended\": %s}", (long long)r->tokens, r->ended ? "true" : "false");
}

static void put_json(const attn_model *model, const char *source, const attn_reply *replies,
                     int64_t n_best) {
  printf("{\"source\": "), attn_cli_json_string(source), printf(", ");
  attn_cli_json_unknown_tokens(model, source), printf(", \"replies\": [");
  for (int64_t n = 0; n < n_best && replies[n].text; n++) {
    if (n) printf(", ");
    put_reply_json(&replies[n]);
  }
  puts("]}");
}

/* One reply is a line of its own; several stand below each other with what they score. */
static void put_text(const attn_reply *replies, int64_t n_best) {
  for (int64_t n = 0; n < n_best && replies[n].text; n++) {
    if (n_best > 1) printf("%9.4f  ", replies[n].score);
    attn_cli_print_text(replies[n].text, stdout);
    puts("");
  }
}

static void put(const attn_model *model, const struct wishes *w, const char *const *sources,
                const attn_reply *replies, int64_t count) {
  int64_t n_best = w->how.n_best ? w->how.n_best : 1;
  for (int64_t n = 0; n < count; n++)
    if (w->json)
      put_json(model, sources[n], replies + n * n_best, n_best);
    else
      put_text(replies + n * n_best, n_best);
}

/* silent: only whether it can be said. */
static attn_status say(const attn_model *model, const struct wishes *w, const char *const *sources,
                       int64_t count, int silent, attn_error *err) {
  int64_t all = count * (w->how.n_best ? w->how.n_best : 1);
  attn_reply *replies = calloc((size_t)all + 1, sizeof *replies);
  *err = (attn_error){.status = ATTN_ERR_MEMORY, .message = "no memory for replies", .offset = -1};
  if (!replies) return ATTN_ERR_MEMORY;
  replies->struct_size = sizeof *replies;
  attn_status status = attn_model_generate(model, sources, count, &w->how, replies, err);
  if (!status && !silent) put(model, w, sources, replies, count);
  attn_replies_free(replies, status ? 0 : all);
  free(replies);
  return status;
}

/* ---- Lines of standard input ---- */

/* Those that are asked at once. */
struct block {
  char **lines;
  int64_t count, room, first; /* first: its number in the input */
  int64_t zero;               /* the column at which the line that could not be read holds a 0 */
};

/* Without what ends it; -1: it is no text. */
static int strip(char *line, size_t length) {
  length -= length && line[length - 1] == '\n';
  length -= length && line[length - 1] == '\r';
  line[length] = 0;
  return strlen(line) == length ? 0 : -1;
}

/* The first line that is refused by itself, or count. */
static int64_t find_refused(const attn_model *model, const struct wishes *w, const struct block *b,
                            attn_error *err) {
  int64_t n = 0;
  while (n < b->count && !say(model, w, (const char *const *)b->lines + n, 1, 1, err)) n++;
  return n;
}

static int fail_at(attn_error *err, int64_t line) {
  err->line = line, err->column = line > 0;
  return attn_cli_report_error("generate", "-", err);
}

/* For want of memory for all; not where what is drawn depends on the place among them. */
static int say_each(const attn_model *model, const struct wishes *w, const struct block *b) {
  attn_error err;
  for (int64_t n = 0; n < b->count; n++)
    if (say(model, w, (const char *const *)b->lines + n, 1, 0, &err))
      return fail_at(&err, b->first + n);
  return EXIT_OK;
}

/* All at once; where a line is refused, those before it. */
static int say_block(const attn_model *model, const struct wishes *w, const struct block *b) {
  const char *const *lines = (const char *const *)b->lines;
  attn_error err, refusal;
  if (!b->count || !say(model, w, lines, b->count, 0, &err)) return EXIT_OK;
  int64_t n = find_refused(model, w, b, &refusal);
  if (n == b->count) return w->how.temperature > 0 ? fail_at(&err, 0) : say_each(model, w, b);
  if (n && say(model, w, lines, n, 0, &err)) return fail_at(&err, 0);
  return fail_at(&refusal, b->first + n);
}

/* Nobody is talked to who went away. */
static int ask(const attn_model *model, const struct wishes *w, struct block *b) {
  for (int64_t n = 0; n < b->count; n++)
    attn_cli_warn_unknown_tokens("-", b->first + n, model, b->lines[n]);
  int result = say_block(model, w, b);
  for (int64_t n = 0; n < b->count; n++) free(b->lines[n]);
  b->first += b->count, b->count = 0;
  if (fflush(stdout) && !result) result = EXIT_TROUBLE;
  return result;
}

/* 1: one line more; 0: the end; -1: it is no text; below: -2 - errno. */
static int read_line(struct block *b) {
  char *line = NULL;
  size_t room = 0;
  ssize_t length = getline(&line, &room, stdin);
  if (length >= 0 && !strip(line, (size_t)length)) return b->lines[b->count++] = line, 1;
  if (length >= 0) b->zero = attn_cli_column(line, strlen(line));
  free(line);
  return length >= 0 ? -1 : feof(stdin) ? 0 : -errno - 2;
}

/* more: what read_line gave. */
static int complain(const struct block *b, int more) {
  const attn_error zero = {ATTN_ERR_FORMAT, "", ATTN_CLI_NUL_BYTE, b->first, b->zero, -1};
  if (more == -1)
    attn_cli_report_error("generate", "-", &zero);
  else
    attn_cli_print_error("generate", "standard input: cannot read: %s", strerror(-more - 2));
  return EXIT_TROUBLE;
}

/* Line by line, so that it can be talked to, or so many together. What stands before a line that
 * cannot be read is said. */
static int listen(const attn_model *model, const struct wishes *w) {
  int64_t room = w->together > 1 ? w->together * BLOCK : 1;
  struct block b = {.lines = calloc((size_t)room, sizeof *b.lines), .room = room, .first = 1};
  if (!b.lines) return attn_cli_print_error("generate", "no memory");
  int result = EXIT_OK, more = 1;
  while (more > 0 && !result) {
    while (b.count < b.room && (more = read_line(&b)) > 0) continue;
    result = ask(model, w, &b);
  }
  free(b.lines);
  return more < 0 && !result ? complain(&b, more) : result;
}

static int is_number_of(const char *name, int64_t value, int64_t most) {
  if (value >= 0 && value <= most) return 1;
  attn_cli_print_error("generate", "%s may be 0 to %lld", name, (long long)most);
  return 0;
}

static int read_precision(struct wishes *w) {
  const char *p = w->precision ? w->precision : "float32";
  w->how.precision = !strcmp(p, "bf16") ? ATTN_BF16 : ATTN_F32;
  if (!strcmp(p, "bf16") || !strcmp(p, "float32")) return 0;
  attn_cli_print_error("generate", "--precision may be float32 or bf16, not %.60s", p);
  return -1;
}

static int say_texts(const attn_model *model, const struct wishes *w, int count, char **texts) {
  attn_error err;
  for (int n = 0; n < count; n++) {
    char name[32];
    snprintf(name, sizeof name, "text %d", n + 1);
    attn_cli_warn_unknown_tokens(name, 0, model, texts[n]);
  }
  attn_status status = say(model, w, (const char *const *)texts, count, 0, &err);
  return status ? attn_cli_report_error("generate", NULL, &err) : EXIT_OK;
}

static int generate(struct wishes *w, int operands, char **argv) {
  attn_error err;
  attn_model *model;
  if (!operands) return attn_cli_print_usage_error("generate", "which checkpoint?");
  if (!is_number_of("--beams", w->beams, 4096) || !is_number_of("--n-best", w->n_best, 4096) ||
      !is_number_of("--top-k", w->top_k, 1 << 24) ||
      !is_number_of("--together", w->together, 1 << 16) ||
      !is_number_of("--threads", w->threads, 1024))
    return EXIT_TROUBLE;
  w->how.beams = (int32_t)w->beams, w->how.n_best = (int32_t)w->n_best;
  w->how.top_k = (int32_t)w->top_k, w->how.threads = (int32_t)w->threads;
  w->how.seed = (uint64_t)w->seed, w->how.together = (int32_t)w->together;
  if (read_precision(w)) return EXIT_TROUBLE;
  if (attn_model_open(argv[1], &model, &err))
    return attn_cli_report_error("generate", argv[1], &err);
  int result = operands > 1 ? say_texts(model, w, operands - 1, argv + 2) : listen(model, w);
  attn_model_free(model);
  return result;
}

int attn_cmd_generate(int argc, char **argv) {
  struct wishes w = {.how = ATTN_GENERATION_INIT};
  int operands;
  const struct attn_cli_option table[] = {
      {"--beams", OPTION_INT, &w.beams, NULL},
      {"--n-best", OPTION_INT, &w.n_best, NULL},
      {"--length-penalty", OPTION_DOUBLE, &w.how.length_penalty, NULL},
      {"--temperature", OPTION_DOUBLE, &w.how.temperature, NULL},
      {"--top-k", OPTION_INT, &w.top_k, NULL},
      {"--top-p", OPTION_DOUBLE, &w.how.top_p, NULL},
      {"--seed", OPTION_INT, &w.seed, NULL},
      {"--most", OPTION_INT, &w.how.most, NULL},
      {"--threads", OPTION_INT, &w.threads, NULL},
      {"--together", OPTION_INT, &w.together, NULL},
      {"--precision", OPTION_TEXT, &w.precision, NULL},
      {"--json", OPTION_FLAG, &w.json, NULL},
      {"--help", OPTION_FLAG, &w.wants_help, NULL},
      {"-h", OPTION_FLAG, &w.wants_help, NULL}};
  if (attn_cli_parse_options(argc, argv, table, sizeof table / sizeof *table, &operands))
    return EXIT_TROUBLE;
  if (w.wants_help) return fputs(help, stdout), EXIT_OK;
  return generate(&w, operands, argv);
}
