/* cmd_generate.c -- attn generate: what a trained model says. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"

static const char help[] =
    "attn generate - what a trained model makes of a text\n\n"
    "usage: attn generate CHECKPOINT [TEXT...] [OPTION...]\n"
    "       attn generate CHECKPOINT < lines\n\n"
    "  --beams N              beam search [1: greedy]\n"
    "  --n-best N             so many replies to each, with their scores\n"
    "  --length-penalty A     log p / ((5 + n) / 6)^A [0]\n"
    "  --temperature T        draws tokens: the higher, the wilder\n"
    "  --top-k K, --top-p P   draws from the likeliest only\n"
    "  --seed N               what is drawn [0]\n"
    "  --most N               tokens at most\n"
    "  --threads N            [all]\n"
    "  --json                 a line of JSON for each text\n\n"
    "examples:\n"
    "  attn generate dates.safetensors '平成三年五月十二日' '12 May 1991'\n"
    "  attn generate dates.safetensors 'May 12' --beams 4 --n-best 4\n"
    "  cut -f1 pairs.tsv | attn generate mine.safetensors\n";

struct wishes {
  attn_generation how;
  int64_t beams, n_best, top_k, threads, seed;
  int json, wants_help;
};

static void put_reply_json(const attn_reply *r) {
  printf("{\"text\": "), attn_cli_json_text(r->text);
  printf(", \"log_p\": "), attn_cli_json_number(r->log_p);
  printf(", \"score\": "), attn_cli_json_number(r->score);
  printf(", \"tokens\": %lld, \"ended\": %s}", (long long)r->tokens, r->ended ? "true" : "false");
}

static void put_json(const char *source, const attn_reply *replies, int64_t n_best) {
  printf("{\"source\": "), attn_cli_json_text(source), printf(", \"replies\": [");
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
    attn_cli_put_plain(replies[n].text, stdout);
    puts("");
  }
}

/* line: of standard input, or 0. */
static int say(const attn_model *model, const struct wishes *w, const char *const *sources,
               int64_t count, int64_t line) {
  attn_error err = {.line = 0};
  int64_t n_best = w->how.n_best ? w->how.n_best : 1;
  attn_reply *replies = calloc((size_t)(count * n_best) + 1, sizeof *replies);
  if (!replies) return fprintf(stderr, "attn generate: no memory\n"), EXIT_TROUBLE;
  attn_status status = attn_model_generate(model, sources, count, &w->how, replies, &err);
  for (int64_t n = 0; n < count && !status; n++) {
    if (w->json)
      put_json(sources[n], replies + n * n_best, n_best);
    else
      put_text(replies + n * n_best, n_best);
  }
  attn_replies_free(replies, status ? 0 : count * n_best);
  free(replies);
  if (status && line) err.line = line, err.column = 1;
  return status ? attn_cli_fail("generate", line ? "-" : NULL, &err) : EXIT_FINE;
}

/* Without what ends it; -1: it is no text. */
static int strip(char *line, size_t length) {
  length -= length && line[length - 1] == '\n';
  length -= length && line[length - 1] == '\r';
  line[length] = 0;
  return strlen(line) == length ? 0 : -1;
}

static int hear(const attn_model *model, const struct wishes *w, char *line, size_t length,
                int64_t number) {
  const char *source = line;
  if (!strip(line, length)) return say(model, w, &source, 1, number);
  fprintf(stderr, "attn: -:%lld:1: error: holds a 0: this is no text\n", (long long)number);
  return EXIT_TROUBLE;
}

/* Line by line, so that it can be talked to. Nobody is talked to who went away. */
static int listen(const attn_model *model, const struct wishes *w) {
  char *line = NULL;
  size_t room = 0;
  int64_t number = 1;
  int result = EXIT_FINE;
  errno = 0;
  for (ssize_t length; !result && (length = getline(&line, &room, stdin)) >= 0; number++) {
    result = hear(model, w, line, (size_t)length, number);
    if (fflush(stdout) && !result) result = EXIT_TROUBLE;
  }
  if (!result && !feof(stdin)) {
    fprintf(stderr, "attn generate: standard input: cannot read: %s\n", strerror(errno));
    result = EXIT_TROUBLE;
  }
  free(line);
  return result;
}

static int is_number_of(const char *name, int64_t value, int64_t most) {
  if (value >= 0 && value <= most) return 1;
  fprintf(stderr, "attn generate: %s may be 0 to %lld\n", name, (long long)most);
  return 0;
}

static int generate(struct wishes *w, int operands, char **argv) {
  attn_error err;
  attn_model *model;
  if (!operands)
    return fprintf(stderr, "attn generate: which checkpoint?\nTry: attn generate --help\n"),
           EXIT_TROUBLE;
  if (!is_number_of("--beams", w->beams, 4096) || !is_number_of("--n-best", w->n_best, 4096) ||
      !is_number_of("--top-k", w->top_k, 1 << 24) || !is_number_of("--threads", w->threads, 1024))
    return EXIT_TROUBLE;
  w->how.beams = (int32_t)w->beams, w->how.n_best = (int32_t)w->n_best;
  w->how.top_k = (int32_t)w->top_k, w->how.threads = (int32_t)w->threads;
  w->how.seed = (uint64_t)w->seed;
  if (attn_model_open(argv[1], &model, &err)) return attn_cli_fail("generate", argv[1], &err);
  int result = operands > 1 ? say(model, w, (const char *const *)(argv + 2), operands - 1, 0)
                            : listen(model, w);
  attn_model_free(model);
  return result;
}

int attn_cmd_generate(int argc, char **argv) {
  struct wishes w = {.how = ATTN_GENERATION_INIT};
  int operands;
  const struct attn_cli_option table[] = {
      {"--beams", OPTION_WHOLE, &w.beams, NULL},
      {"--n-best", OPTION_WHOLE, &w.n_best, NULL},
      {"--length-penalty", OPTION_REAL, &w.how.length_penalty, NULL},
      {"--temperature", OPTION_REAL, &w.how.temperature, NULL},
      {"--top-k", OPTION_WHOLE, &w.top_k, NULL},
      {"--top-p", OPTION_REAL, &w.how.top_p, NULL},
      {"--seed", OPTION_WHOLE, &w.seed, NULL},
      {"--most", OPTION_WHOLE, &w.how.most, NULL},
      {"--threads", OPTION_WHOLE, &w.threads, NULL},
      {"--json", OPTION_FLAG, &w.json, NULL},
      {"--help", OPTION_FLAG, &w.wants_help, NULL},
      {"-h", OPTION_FLAG, &w.wants_help, NULL}};
  if (attn_cli_options(argc, argv, table, sizeof table / sizeof *table, &operands))
    return EXIT_TROUBLE;
  if (w.wants_help) return fputs(help, stdout), EXIT_FINE;
  return generate(&w, operands, argv);
}
