/* cmd_embed.c -- attn embed: texts as vectors, and how alike they are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"
#include "unknown_tokens.h"

static const char help[] =
    "attn embed - texts as vectors, and how alike they are\n\n"
    "usage: attn embed MODEL [TEXT...] [OPTION...]\n"
    "       attn embed MODEL < lines\n\n"
    "MODEL is a folder as Hugging Face keeps an encoder: config.json, model.safetensors,\n"
    "tokenizer.json; or a checkpoint of attn train that has an encoder. Printed are the cosines\n"
    "between all texts; of more than 20, to each the one that is most like it.\n\n"
    "  -o FILE                the vectors, (texts, width), as npy or safetensors:name\n"
    "  --pooling WHAT         mean or first: of all tokens, or the first's [what the folder says]\n"
    "  --raw                  vectors as they are pooled, not of length 1\n"
    "  --threads N            [all]\n"
    "  --together N           texts side by side: faster, but neighbours change last bits [1]\n"
    "  --json                 a line for each text: its vector, its cosines\n\n"
    "What the model has no token for is read as <unk>, with a warning that tells where; --json "
    "has\n"
    "it as \"unknown\".\n\n"
    "exit status: 0 fine, 2 trouble, 130 interrupted\n\n"
    "examples:\n"
    "  attn embed all-MiniLM-L6-v2 'A man is eating.' 'Someone has a meal.' 'It rains.'\n"
    "  attn embed all-MiniLM-L6-v2 -o vectors.npy < sentences.txt\n"
    "  attn embed all-MiniLM-L6-v2 --json < questions.txt | jq .vector\n";

enum { TABLE_MOST = 20, COUNT_MOST = 1 << 24 };

struct wishes {
  attn_embedding_how how;
  const char *output, *pooling;
  int64_t threads, together;
  int raw, json, wants_help;
};

struct texts {
  const char **text;
  int64_t count, width;
  int lines; /* of standard input */
  float *vectors;
  double *lengths;
};

static int usage(const char *message) { return attn_cli_print_usage_error("embed", "%s", message); }

static int no_memory(void) { return attn_cli_print_error("embed", "no memory"); }

/* ---- How alike ---- */

static double product(const struct texts *t, int64_t a, int64_t b) {
  double sum = 0;
  for (int64_t d = 0; d < t->width; d++)
    sum += (double)t->vectors[a * t->width + d] * (double)t->vectors[b * t->width + d];
  return sum;
}

/* A vector of zeros is like none. */
static double cosine(const struct texts *t, int64_t a, int64_t b) {
  double lengths = t->lengths[a] * t->lengths[b];
  return lengths > 0 ? product(t, a, b) / lengths : 0;
}

static void put_text(const char *text) {
  printf("  "), attn_cli_print_text(text, stdout), puts("");
}

static void put_table(const struct texts *t) {
  printf("%5s", "");
  for (int64_t b = 0; b < t->count; b++) printf(" %7lld", (long long)b + 1);
  puts("");
  for (int64_t a = 0; a < t->count; a++) {
    printf("%5lld", (long long)a + 1);
    for (int64_t b = 0; b < t->count; b++) printf(" %7.4f", cosine(t, a, b));
    put_text(t->text[a]);
  }
}

static void put_nearest(const struct texts *t) {
  for (int64_t a = 0; a < t->count; a++) {
    int64_t near = a == 0;
    for (int64_t b = 0; b < t->count; b++)
      if (b != a && cosine(t, a, b) > cosine(t, a, near)) near = b;
    printf("%5lld %5lld %7.4f", (long long)a + 1, (long long)near + 1, cosine(t, a, near));
    put_text(t->text[a]);
  }
}

static void put_json(const attn_model *model, const struct texts *t) {
  for (int64_t a = 0; a < t->count; a++) {
    printf("{\"text\": "), attn_cli_json_string(t->text[a]), printf(", ");
    attn_cli_json_unknown_tokens(model, t->text[a]), printf(", \"cosines\": [");
    for (int64_t b = 0; b < t->count; b++)
      printf(b ? ", " : ""), attn_cli_json_number(cosine(t, a, b));
    printf("], \"vector\": [");
    for (int64_t d = 0; d < t->width; d++)
      printf(d ? ", " : ""), attn_cli_json_number((double)t->vectors[a * t->width + d]);
    puts("]}");
  }
}

/* ---- Vectors ---- */

/* Behind the last text: what is left to do is not wanted. */
static attn_status interrupted(attn_error *err) {
  *err = (attn_error){.status = ATTN_ERR_INTERRUPTED, .message = "interrupted", .offset = -1};
  return err->status;
}

static attn_status embed(const attn_model *model, const struct wishes *w, struct texts *t,
                         attn_error *err) {
  struct attn_cli_progress progress = attn_cli_progress_begin("embedding", 0);
  attn_embedding_how how = w->how;
  how.progress = attn_cli_progress_update, how.progress_context = &progress;
  attn_status status = attn_model_embed(model, t->text, t->count, &how, t->vectors, err);
  attn_cli_progress_end(&progress);
  if (!status && attn_cli_interrupted()) status = interrupted(err);
  for (int64_t n = 0; n < t->count && !status; n++) t->lengths[n] = sqrt(product(t, n, n));
  return status;
}

static attn_status write_out(const struct wishes *w, const struct texts *t, attn_error *err) {
  const attn_tensor all = {t->vectors, ATTN_F32, 2, {t->count, t->width}, {t->width, 1}};
  if (!w->output) return ATTN_OK;
  attn_cli_defer_interrupts(1);
  attn_status status = attn_array_write(w->output, &all, err);
  attn_cli_defer_interrupts(0);
  return status;
}

static void put(const attn_model *model, const struct wishes *w, const struct texts *t) {
  if (w->json)
    put_json(model, t);
  else if (t->count <= TABLE_MOST)
    put_table(t);
  else
    put_nearest(t);
}

static void warn(const attn_model *model, const struct texts *t) {
  for (int64_t n = 0; n < t->count; n++) {
    char name[32] = "-";
    if (!t->lines) snprintf(name, sizeof name, "text %lld", (long long)n + 1);
    attn_cli_warn_unknown_tokens(name, t->lines ? n + 1 : 0, model, t->text[n]);
  }
}

static int work(const attn_model *model, const struct wishes *w, struct texts *t) {
  attn_error err;
  attn_model_facts facts = {.struct_size = sizeof facts};
  if (attn_model_describe(model, &facts, &err)) return attn_cli_report_error("embed", NULL, &err);
  t->width = facts.width;
  t->vectors = calloc((size_t)(t->count * t->width) + 1, sizeof *t->vectors);
  t->lengths = calloc((size_t)t->count + 1, sizeof *t->lengths);
  if (!t->vectors || !t->lengths) return no_memory();
  warn(model, t);
  if (embed(model, w, t, &err)) return attn_cli_report_error("embed", NULL, &err);
  if (write_out(w, t, &err)) return attn_cli_report_error("embed", w->output, &err);
  put(model, w, t);
  return EXIT_OK;
}

/* ---- Texts ---- */

/* Lines of all, which is cut up. */
static int read_lines(char *all, struct texts *t) {
  int64_t most = t->lines = 1;
  for (const char *at = all; *at; at++) most += *at == '\n';
  if (!(t->text = calloc((size_t)most, sizeof *t->text))) return no_memory();
  for (char *at = all; *at;) {
    char *end = at + strcspn(at, "\n");
    int more = *end == '\n';
    *end = 0;
    if (end > at && end[-1] == '\r') end[-1] = 0;
    t->text[t->count++] = at;
    at = end + more;
  }
  return EXIT_OK;
}

static int run(const struct wishes *w, const attn_model *model, int operands, char **argv) {
  struct texts t = {.count = 0};
  attn_error err;
  char *all = NULL;
  int result = EXIT_OK;
  if (operands > 1) {
    if (!(t.text = calloc((size_t)operands, sizeof *t.text))) return no_memory();
    for (; t.count < operands - 1; t.count++) t.text[t.count] = argv[2 + t.count];
  } else if (attn_cli_read_text("-", &all, &err)) {
    return attn_cli_report_error("embed", "-", &err);
  } else {
    result = read_lines(all, &t);
  }
  if (result == EXIT_OK)
    result = t.count ? work(model, w, &t) : usage("there is no text; name some, or give lines");
  free(t.text), free(t.vectors), free(t.lengths), free(all);
  return result;
}

static int choose(struct wishes *w) {
  const char *p = w->pooling;
  if (p && strcmp(p, "mean") && strcmp(p, "first")) return usage("--pooling may be mean or first");
  if (p) w->how.pooling = *p == 'm' ? ATTN_POOLING_MEAN : ATTN_POOLING_FIRST;
  if (w->raw) w->how.norm = ATTN_NORM_NONE;
  if (w->threads < 0 || w->threads > 1024) return usage("--threads may be 0 to 1024");
  if (w->together < 0 || w->together > COUNT_MOST) return usage("--together may be 0 to 2^24");
  w->how.threads = (int32_t)w->threads, w->how.together = (int32_t)w->together;
  return EXIT_OK;
}

int attn_cmd_embed(int argc, char **argv) {
  struct wishes w = {.how = ATTN_EMBEDDING_HOW_INIT};
  attn_error err;
  attn_model *model;
  int operands;
  const struct attn_cli_option table[] = {
      {"-o", OPTION_TEXT, &w.output, NULL},         {"--output", OPTION_TEXT, &w.output, NULL},
      {"--pooling", OPTION_TEXT, &w.pooling, NULL}, {"--raw", OPTION_FLAG, &w.raw, NULL},
      {"--threads", OPTION_INT, &w.threads, NULL},  {"--together", OPTION_INT, &w.together, NULL},
      {"--json", OPTION_FLAG, &w.json, NULL},       {"--help", OPTION_FLAG, &w.wants_help, NULL},
      {"-h", OPTION_FLAG, &w.wants_help, NULL}};
  if (attn_cli_parse_options(argc, argv, table, sizeof table / sizeof *table, &operands))
    return EXIT_TROUBLE;
  if (w.wants_help) return fputs(help, stdout), EXIT_OK;
  if (!operands) return usage("which model?");
  if (choose(&w)) return EXIT_TROUBLE;
  if (w.output && attn_array_outputs_check(&w.output, 1, &err))
    return attn_cli_report_error("embed", w.output, &err);
  if (attn_model_open(argv[1], &model, &err)) return attn_cli_report_error("embed", argv[1], &err);
  int result = run(&w, model, operands, argv);
  attn_model_free(model);
  return result;
}
