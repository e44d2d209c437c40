/* cmd_train.c -- attn train: a Transformer from nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attn/train.h"
#include "command.h"
#include "console.h"

static const char help[] =
    "attn train - a Transformer from nothing: a task, or your own pairs\n\n"
    "usage: attn train TASK [OPTION...]\n"
    "       attn train --data PAIRS.tsv -o NAME.safetensors [OPTION...]\n"
    "       attn train --resume NAME.last.safetensors -o NAME.safetensors\n\n"
    "  -o, --output FILE  the best checkpoint [TASK.safetensors]; the last one stands beside it,\n"
    "                     as NAME.last.safetensors\n"
    "  --replace          files of these names may be replaced, but for read-only ones\n"
    "  --data FILE        lines of source<TAB>target, UTF-8\n"
    "  --held-out FILE    lines to validate on [a tenth of --data's]\n"
    "  --resume FILE      goes on where a run stopped, bit for bit\n\n"
    "the model:\n"
    "  --config FILE      JSON, or '{\"width\": 128, ...}' itself: what differs from the default;\n"
    "                     \"kind\" may be encoder-decoder, decoder, or encoder: a token at each "
    "place\n"
    "  --tokenizer KIND   characters, words, bpe:8000, or a tokenizer.json\n\n"
    "the run (in brackets what a task does not set otherwise):\n"
    "  --steps N [4000]  --batch N [64]  --accumulate N [1]  --rate R [0.002]\n"
    "  --schedule cosine|noam|constant  --warm-up N  --decay R [0.01]  --clip R [1]\n"
    "  --smoothing R [0]  --seed N [0]  --threads N [all]\n"
    "  --precision float32|bf16 [float32]: bf16: linear layers multiply rounded numbers\n"
    "  --validate-every N  --examples N [256]: how often, and on how many unseen ones\n"
    "  --until SHARE      ends when so many replies of the unseen are right, 0.999 say\n"
    "  --patience N       ends after so many validations without a better one\n"
    "  --examine N        a task: at the end asks the best for so many other unseen ones [2000]\n\n"
    "  --list             the tasks, each with an example\n"
    "  --json             a line of JSON for each validation, and one for the end\n"
    "  --quiet            no progress\n\n"
    "examples:\n"
    "  attn train dates\n"
    "  attn generate dates.safetensors '12 May 1991'\n"
    "  attn train --data pairs.tsv -o mine.safetensors --tokenizer bpe:2000 --patience 5\n"
    "  attn train addition --config '{\"kind\": \"decoder\", \"width\": 128}' -o "
    "sums.safetensors\n"
    "  attn train reverse --config '{\"kind\": \"encoder\"}'\n";

struct wishes {
  attn_train run;
  int64_t examine, seed, threads;
  int json, quiet, list, wants_help;
  char *output, *config; /* made here */
};

/* ---- While it runs ---- */

struct view {
  const struct wishes *w;
  double last;
  int32_t phase;
  struct attn_cli_progress progress;
};

static void put_share(double share, FILE *to) {
  if (isnan(share))
    fprintf(to, "    -  ");
  else
    fprintf(to, "%6.2f %%", share * 100);
}

static void put_time(double seconds, FILE *to) {
  long whole = lround(seconds < 1e9 ? seconds : 1e9);
  if (whole >= 3600)
    fprintf(to, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  else
    fprintf(to, "%ld:%02ld", whole / 60, whole % 60);
}

static void put_line(const attn_train_state *s, FILE *to) {
  fprintf(to, "step %lld/%lld  loss %.4f  unseen ", (long long)s->step, (long long)s->steps,
          s->loss);
  if (isnan(s->unseen_exact) && !isnan(s->unseen_loss))
    fprintf(to, "loss %.4f", s->unseen_loss);
  else
    put_share(s->unseen_exact, to);
  fprintf(to, "  %.0f tokens/s  ", s->tokens_per_second);
  put_time(s->seconds_left, to);
  fprintf(to, " left");
  if (s->skipped) fprintf(to, "  %lld skipped", (long long)s->skipped);
}

static void put_json(const attn_train_state *s) {
  const struct {
    const char *name;
    double value;
  } numbers[] = {{"step", (double)s->step},
                 {"steps", (double)s->steps},
                 {"loss", s->loss},
                 {"accuracy", s->accuracy},
                 {"rate", s->rate},
                 {"unseen_loss", s->unseen_loss},
                 {"unseen_exact", s->unseen_exact},
                 {"best", s->best},
                 {"best_step", (double)s->best_step},
                 {"tokens_per_second", s->tokens_per_second},
                 {"seconds", s->seconds},
                 {"skipped", (double)s->skipped},
                 {"weights", (double)s->weights},
                 {"bytes", (double)s->bytes}};
  for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
    printf("%s\"%s\": ", n ? ", " : "{", numbers[n].name);
    attn_cli_json_number(numbers[n].value);
  }
}

static void begin(const struct wishes *w, const attn_train_state *s) {
  int half = w->run.precision && !strcmp(w->run.precision, "bf16");
  fprintf(stderr,
          "%lld weights, %lld words, %.1f MiB for training%s; Ctrl-C keeps what was learned\n",
          (long long)s->weights, (long long)s->words, (double)s->bytes / (1 << 20),
          half ? " in bf16" : "");
}

/* What takes longer than a second. A batch's examples are the step's line's. */
static int32_t show_phase(struct view *v, const attn_train_state *s) {
  static const char *const names[] = {"", "reading",   "making words of", "measuring",
                                      "", "gathering", "validating on"};
  if (s->phase != v->phase) attn_cli_progress_restart(&v->progress, names[s->phase]);
  v->phase = s->phase;
  return attn_cli_progress_update(&v->progress, s->done, s->total);
}

/* A terminal sees a line that lives, anything else a line for each validation. */
static int32_t show(void *context, const attn_train_state *s) {
  struct view *v = context;
  if (s->phase != ATTN_TRAIN_LEARNS) return show_phase(v, s);
  int live = isatty(STDERR_FILENO);
  double now = attn_cli_now();
  if (v->w->json && s->validated) put_json(s), puts("}"), fflush(stdout);
  if (v->w->quiet) return attn_cli_interrupted();
  if (v->last <= 0) begin(v->w, s), v->last = now;
  if (s->validated) {
    fprintf(stderr, "%s", live ? "\r\033[K" : ""), put_line(s, stderr), fputc('\n', stderr);
  } else if (live && now - v->last > 0.2) {
    v->last = now, fprintf(stderr, "\r\033[K"), put_line(s, stderr), fflush(stderr);
  }
  return attn_cli_interrupted();
}

/* ---- At the end ---- */

/* Of a share, by [Wilson27]: where it lies in 95 cases of 100. */
static void wilson(const attn_score_card *c, double *low, double *high) {
  const double z = 1.959964;
  double n = (double)c->examples, p = (double)c->exact / n, z2 = z * z;
  double middle = p + z2 / (2 * n), half = z * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  *low = (middle - half) / (1 + z2 / n), *high = (middle + half) / (1 + z2 / n);
}

static const char *why(int32_t end) {
  static const char *const words[] = {"goes on", "all steps made", "good enough",
                                      "no better for a while", "stopped"};
  return words[end];
}

static attn_status examine(const struct wishes *w, struct attn_cli_progress *progress,
                           attn_score_card *card, attn_error *err) {
  attn_model *model;
  if (!w->run.task || !w->examine) return ATTN_OK;
  attn_status status = attn_model_open(w->run.output, &model, err);
  if (status) return status;
  attn_cli_progress_restart(progress, "examining on");
  status = attn_model_examine(model, w->run.task, w->examine, w->run.seed, w->run.threads,
                              attn_cli_progress_update, progress, card, err);
  attn_model_free(model);
  return status;
}

static void tell_end(const struct wishes *w, const attn_train_state *end,
                     const attn_score_card *card) {
  double low = 0, high = 1;
  if (card->examples) wilson(card, &low, &high);
  if (w->json) {
    put_json(end), printf(", \"end\": "), attn_cli_json_string(why(end->end));
    printf(", \"output\": "), attn_cli_json_string(w->run.output);
    printf(", \"examined\": %lld, \"exact\": %lld, \"aligned\": %lld, \"pointed\": %lld}\n",
           (long long)card->examples, (long long)card->exact, (long long)card->aligned,
           (long long)card->pointed);
    return;
  }
  printf("%s after %lld steps, ", why(end->end), (long long)end->step);
  put_time(end->seconds, stdout);
  if (end->best_step) {
    printf("; the best, of step %lld: ", (long long)end->best_step);
    attn_cli_print_text(w->run.output, stdout), putchar('\n');
  } else {
    printf("; nothing was left to do\n");
  }
  if (card->examples)
    printf("%lld of %lld other unseen examples right: %.2f %% (95 %%: %.2f to %.2f)\n",
           (long long)card->exact, (long long)card->examples,
           100 * (double)card->exact / (double)card->examples, 100 * low, 100 * high);
  if (card->aligned)
    printf(
        "cross-attention points at the right source word in %.1f %% of %lld cases (equal weights: "
        "%.1f %%)\n",
        100 * (double)card->pointed / (double)card->aligned, (long long)card->aligned,
        100 * card->chance);
}

static int train(struct wishes *w) {
  attn_error err = {.offset = -1};
  attn_train_state end = ATTN_TRAIN_STATE_INIT;
  attn_score_card card = ATTN_SCORE_CARD_INIT;
  struct view view = {.w = w, .progress = attn_cli_progress_begin("train", w->quiet)};
  w->run.progress = show, w->run.context = &view;
  attn_status status = attn_model_train(&w->run, &end, &err);
  int trained = !status;
  if (trained) status = examine(w, &view.progress, &card, &err);
  attn_cli_progress_end(&view.progress);
  if (trained && (!status || status == ATTN_ERR_INTERRUPTED)) tell_end(w, &end, &card);
  if (!status) return EXIT_OK;
  return attn_cli_report_error("train", err.offset >= 0 ? w->run.resume : NULL, &err);
}

/* ---- What was asked for ---- */

static int list(void) {
  attn_task_facts task = ATTN_TASK_FACTS_INIT;
  char source[256], target[256];
  for (int32_t n = 0; attn_task_describe(n, &task); n++) {
    printf("%-12s %s\n", task.name, task.summary);
    for (uint64_t k = 0; k < 2; k++)
      if (!attn_task_example(task.name, 1, k, 0, source, target, NULL))
        printf("%-12s   %s -> %s\n", "", source, target);
  }
  return EXIT_OK;
}

static int unknown_task(const char *name) {
  enum { MOST = 32 };
  const char *names[MOST], *near;
  attn_task_facts task = ATTN_TASK_FACTS_INIT;
  int count = 0;
  while (count < MOST && attn_task_describe(count, &task)) names[count++] = task.name;
  for (int n = 0; n < count; n++)
    if (!strcmp(name, names[n])) return 0;
  near = attn_text_nearest(name, names, count);
  attn_cli_print_error("train", "there is no task \"%.40s\"%s%s%s", name,
                       near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
  fputs("Try: attn train --list\n", stderr);
  return 1;
}

/* --config's text: the JSON itself, or a file's. */
static int read_config(struct wishes *w) {
  attn_error err;
  if (!w->run.config || *w->run.config == '{') return 0;
  if (attn_cli_read_text(w->run.config, &w->config, &err))
    return attn_cli_report_error("train", w->run.config, &err), -1;
  w->run.config = w->config;
  return 0;
}

static int name_output(struct wishes *w) {
  static const char ending[] = ".safetensors";
  if (w->run.output) return 0;
  if (!w->run.task) return attn_cli_print_error("train", "-o FILE: where shall it go?"), -1;
  size_t length = strlen(w->run.task);
  if (!(w->output = malloc(length + sizeof ending)))
    return attn_cli_print_error("train", "no memory"), -1;
  memcpy(w->output, w->run.task, length), memcpy(w->output + length, ending, sizeof ending);
  w->run.output = w->output;
  return 0;
}

static int prepare(struct wishes *w, int operands, char **argv) {
  if (operands > 1) return attn_cli_print_error("train", "one task at a time"), -1;
  if (operands && unknown_task(argv[1])) return -1;
  w->run.task = operands ? argv[1] : NULL;
  if (!operands && !w->run.data && !w->run.resume)
    return attn_cli_print_usage_error("train", "which task, or --data FILE?"), -1;
  if (w->threads < 0 || w->threads > 1024)
    return attn_cli_print_error("train", "--threads may be 0 to 1024"), -1;
  if (w->examine < 0 || w->examine > 1 << 24)
    return attn_cli_print_error("train", "--examine may be 0 to %d", 1 << 24), -1;
  w->run.seed = (uint64_t)w->seed, w->run.threads = (int32_t)w->threads;
  return name_output(w) ? -1 : read_config(w);
}

static int options(struct wishes *w, int argc, char **argv, int *operands) {
  attn_train *r = &w->run;
  const struct attn_cli_option table[] = {
      {"--output", OPTION_TEXT, &r->output, NULL},
      {"-o", OPTION_TEXT, &r->output, NULL},
      {"--replace", OPTION_FLAG, &r->replace, NULL},
      {"--data", OPTION_TEXT, &r->data, NULL},
      {"--held-out", OPTION_TEXT, &r->held_out, NULL},
      {"--resume", OPTION_TEXT, &r->resume, NULL},
      {"--config", OPTION_TEXT, &r->config, NULL},
      {"--tokenizer", OPTION_TEXT, &r->tokenizer, NULL},
      {"--steps", OPTION_INT, &r->steps, NULL},
      {"--batch", OPTION_INT, &r->batch, NULL},
      {"--accumulate", OPTION_INT, &r->accumulate, NULL},
      {"--rate", OPTION_DOUBLE, &r->rate, NULL},
      {"--schedule", OPTION_TEXT, &r->schedule, NULL},
      {"--warm-up", OPTION_INT, &r->warm_up, NULL},
      {"--decay", OPTION_DOUBLE, &r->decay, NULL},
      {"--clip", OPTION_DOUBLE, &r->clip, NULL},
      {"--smoothing", OPTION_DOUBLE, &r->smoothing, NULL},
      {"--precision", OPTION_TEXT, &r->precision, NULL},
      {"--seed", OPTION_INT, &w->seed, NULL},
      {"--threads", OPTION_INT, &w->threads, NULL},
      {"--validate-every", OPTION_INT, &r->validate_every, NULL},
      {"--examples", OPTION_INT, &r->examples, NULL},
      {"--until", OPTION_DOUBLE, &r->until, NULL},
      {"--patience", OPTION_INT, &r->patience, NULL},
      {"--examine", OPTION_INT, &w->examine, NULL},
      {"--list", OPTION_FLAG, &w->list, NULL},
      {"--json", OPTION_FLAG, &w->json, NULL},
      {"--quiet", OPTION_FLAG, &w->quiet, NULL},
      {"--help", OPTION_FLAG, &w->wants_help, NULL},
      {"-h", OPTION_FLAG, &w->wants_help, NULL}};
  return attn_cli_parse_options(argc, argv, table, sizeof table / sizeof *table, operands);
}

int attn_cmd_train(int argc, char **argv) {
  struct wishes w = {.run = ATTN_TRAIN_INIT, .examine = 2000};
  int operands;
  if (options(&w, argc, argv, &operands)) return EXIT_TROUBLE;
  if (w.wants_help) return fputs(help, stdout), EXIT_OK;
  if (w.list) return list();
  int result = prepare(&w, operands, argv) ? EXIT_TROUBLE : train(&w);
  free(w.output), free(w.config);
  return result;
}
