/* cmd_train.c -- attn train: train a Transformer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attn/train.h"
#include "command.h"
#include "console.h"
#include "help_files.h"
#include "json_output.h"

struct train_options {
  attn_train_config config;
  int64_t test_examples, seed, threads;
  int json, quiet, list;
  char *output, *config_text; /* allocated */
};

/* ---- Progress ---- */

struct train_progress {
  const struct train_options *o;
  double last; /* time of the last line; 0 before the first */
  int32_t phase;
  struct attn_cli_progress bar;
};

static const char *format_time(double seconds, char *to, size_t capacity) {
  long whole = lround(seconds < 1e9 ? seconds : 1e9);
  if (whole >= 3600)
    snprintf(to, capacity, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  else
    snprintf(to, capacity, "%ld:%02ld", whole / 60, whole % 60);
  return to;
}

static void print_step(const attn_train_state *s, FILE *to) {
  char validation[48] = "    -  ", left[32];
  if (!isnan(s->validation_exact_match))
    snprintf(validation, sizeof validation, "%6.2f %%", s->validation_exact_match * 100);
  else if (!isnan(s->validation_loss))
    snprintf(validation, sizeof validation, "loss %.4f", s->validation_loss);
  attn_cli_print_message(to, "step %lld/%lld  loss %.4f  validation %s  %.0f tokens/s  %s left",
                         (long long)s->step, (long long)s->steps, s->loss, validation,
                         s->tokens_per_second, format_time(s->seconds_left, left, sizeof left));
  if (s->skipped_steps) attn_cli_print_message(to, "  %lld skipped", (long long)s->skipped_steps);
}

static void print_state_json(const attn_train_state *s) {
  attn_cli_json_int("step", s->step);
  attn_cli_json_int("steps", s->steps);
  attn_cli_json_number("loss", s->loss);
  attn_cli_json_number("accuracy", s->accuracy);
  attn_cli_json_number("learning_rate", s->learning_rate);
  attn_cli_json_number("grad_norm", s->grad_norm);
  attn_cli_json_number("validation_loss", s->validation_loss);
  attn_cli_json_number("validation_exact_match", s->validation_exact_match);
  attn_cli_json_number("best_metric", s->best_metric);
  attn_cli_json_int("best_step", s->best_step);
  attn_cli_json_number("tokens_per_second", s->tokens_per_second);
  attn_cli_json_number("seconds", s->seconds);
  attn_cli_json_int("skipped_steps", s->skipped_steps);
  attn_cli_json_int("parameter_count", s->parameter_count);
  attn_cli_json_int("memory_bytes", s->memory_bytes);
}

static void print_validation_json(const attn_train_state *s) {
  attn_cli_json_begin_object(NULL);
  print_state_json(s);
  attn_cli_json_end_object(), attn_cli_json_end_line();
  fflush(stdout);
}

static void print_start(const struct train_options *o, const attn_train_state *s) {
  int is_bf16 = o->config.precision && !strcmp(o->config.precision, "bf16");
  attn_cli_print_message(stderr,
                         "%lld parameters, vocabulary of %lld, %.1f MiB for training%s; Ctrl-C "
                         "stops and keeps a checkpoint",
                         (long long)s->parameter_count, (long long)s->vocab_size,
                         (double)s->memory_bytes / (1 << 20), is_bf16 ? " in bf16" : "");
  fputc('\n', stderr);
}

/* A bar for the phases other than steps. Loading a batch has none: the step line is current. */
static int32_t update_phase(struct train_progress *p, const attn_train_state *s) {
  static const char *const labels[] = {[ATTN_TRAIN_READ_DATA] = "reading data",
                                       [ATTN_TRAIN_BUILD_VOCABULARY] = "building vocabulary",
                                       [ATTN_TRAIN_MEASURE_EXAMPLES] = "measuring examples",
                                       [ATTN_TRAIN_STEP] = "",
                                       [ATTN_TRAIN_LOAD_BATCH] = "loading batch",
                                       [ATTN_TRAIN_VALIDATE] = "validating",
                                       [ATTN_TRAIN_PRETRAIN_ENCODER] = "pre-training encoder"};
  if (s->phase != p->phase) attn_cli_progress_restart(&p->bar, labels[s->phase]);
  p->phase = s->phase;
  return attn_cli_progress_update(&p->bar, s->done, s->total);
}

/* A terminal shows one line that is redrawn; elsewhere there is a line per validation. */
static int32_t update_progress(void *context, const attn_train_state *s) {
  struct train_progress *p = context;
  if (s->phase != ATTN_TRAIN_STEP) return update_phase(p, s);
  int is_terminal = isatty(STDERR_FILENO);
  double now = attn_cli_now();
  if (p->o->json && s->validated) print_validation_json(s);
  if (p->o->quiet) return attn_cli_interrupted();
  if (p->last <= 0) print_start(p->o, s), p->last = now;
  if (s->validated || (is_terminal && now - p->last > 0.2)) {
    if (is_terminal) attn_cli_clear_line();
    print_step(s, stderr);
    if (s->validated)
      fputc('\n', stderr);
    else
      p->last = now, fflush(stderr);
  }
  return attn_cli_interrupted();
}

/* ---- Result ---- */

/* The score interval of a proportion [Wilson27], in percent. */
static void find_interval(int64_t part, int64_t of, double *low, double *high) {
  const double z = 1.959964, z2 = z * z;
  double n = (double)of, p = (double)part / n, center = p + z2 / (2 * n);
  double radius = z * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  *low = 100 * fmax(0, center - radius) / (1 + z2 / n);
  *high = 100 * (center + radius) / (1 + z2 / n);
}

enum { ROW_NAME = 35 };

static void print_row(const char *name, int64_t part, int64_t of, const char *of_what) {
  double low, high;
  printf("  "), attn_cli_print_cell(name, -ROW_NAME);
  find_interval(part, of, &low, &high);
  if (of)
    attn_cli_print_line("%.2f %% (95 %%: %.2f to %.2f) of %lld %s", 100 * (double)part / (double)of,
                        low, high, (long long)of, of_what);
  else
    attn_cli_print_line("- of 0 %s", of_what);
}

/* Whether the task has pictures. */
static int has_pictures(const attn_evaluation *e) {
  return e->examples_by_objects[0] + e->examples_by_objects[1] + e->examples_by_objects[2] > 0;
}

static void print_pictures(const attn_evaluation *e) {
  static const char *const names[] = {"exact, one object", "exact, two objects",
                                      "exact, three objects"};
  for (int n = 0; n < 3; n++)
    print_row(names[n], e->exact_matches_by_objects[n], e->examples_by_objects[n], "pictures");
  if (e->unseen_examples)
    print_row("exact, unseen shape in a colour", e->unseen_exact_matches, e->unseen_examples,
              "pictures");
  if (!e->aligned_tokens) return;
  print_row("attention highest at the object", e->alignment_matches, e->aligned_tokens, "phrases");
  printf("  "), attn_cli_print_cell("  of uniform weights", -ROW_NAME);
  printf("%.2f %%\n", 100 * e->alignment_chance);
  print_row("word changes, its place hidden", e->hidden_changes, e->hidden_words, "words");
  print_row("word changes, another place hidden", e->control_changes, e->hidden_words, "words");
}

/* By attn_train_stop_reason. */
static const struct {
  const char *name, *text;
} stop_reasons[] = {{"running", "running"},
                    {"max_steps", "finished"},
                    {"target_reached", "target reached"},
                    {"early_stopped", "stopped early without improvement"},
                    {"interrupted", "interrupted"}};

static attn_status evaluate(const struct train_options *o, struct attn_cli_progress *bar,
                            attn_evaluation *evaluation, attn_error *err) {
  attn_model *model;
  if (!o->config.task || !o->test_examples) return ATTN_OK;
  attn_status status = attn_model_open(o->config.output, &model, err);
  if (status) return status;
  attn_cli_progress_restart(bar, "evaluating");
  status = attn_model_evaluate(model, o->config.task, o->test_examples, o->config.seed,
                               o->config.threads, attn_cli_progress_update, bar, evaluation, err);
  attn_model_free(model);
  return status;
}

static void print_pictures_json(const attn_evaluation *e) {
  static const char *const names[][2] = {{"one_object_examples", "one_object_exact_matches"},
                                         {"two_objects_examples", "two_objects_exact_matches"},
                                         {"three_objects_examples", "three_objects_exact_matches"}};
  for (int n = 0; n < 3; n++) {
    attn_cli_json_int(names[n][0], e->examples_by_objects[n]);
    attn_cli_json_int(names[n][1], e->exact_matches_by_objects[n]);
  }
  attn_cli_json_int("unseen_examples", e->unseen_examples);
  attn_cli_json_int("unseen_exact_matches", e->unseen_exact_matches);
  attn_cli_json_int("hidden_words", e->hidden_words);
  attn_cli_json_int("hidden_changes", e->hidden_changes);
  attn_cli_json_int("control_changes", e->control_changes);
}

static void print_result_json(const struct train_options *o, const attn_train_state *end,
                              const attn_evaluation *e) {
  attn_cli_json_begin_object(NULL);
  print_state_json(end);
  attn_cli_json_string("stop_reason", stop_reasons[end->stop_reason].name);
  attn_cli_json_string("output", o->config.output);
  attn_cli_json_begin_object("test");
  attn_cli_json_int("examples", e->examples);
  attn_cli_json_int("exact_matches", e->exact_matches);
  attn_cli_json_int("aligned_tokens", e->aligned_tokens);
  attn_cli_json_int("alignment_matches", e->alignment_matches);
  attn_cli_json_number("alignment_chance", e->alignment_chance);
  if (has_pictures(e)) print_pictures_json(e);
  attn_cli_json_end_object();
  attn_cli_json_end_object(), attn_cli_json_end_line();
}

static void print_end(const struct train_options *o, const attn_train_state *end) {
  char time[32];
  const char *reason = stop_reasons[end->stop_reason].text;
  format_time(end->seconds, time, sizeof time);
  if (end->best_step) {
    attn_cli_print_message(stdout,
                           "%s after %lld steps, %s; best checkpoint, of step %lld: ", reason,
                           (long long)end->step, time, (long long)end->best_step);
    attn_cli_print_text(o->config.output, stdout);
  } else {
    attn_cli_print_message(stdout, "%s after %lld steps, %s; no steps were left", reason,
                           (long long)end->step, time);
  }
  putchar('\n');
}

static void print_test(const attn_evaluation *e) {
  double low, high;
  find_interval(e->exact_matches, e->examples, &low, &high);
  attn_cli_print_line(
      "test: %lld of %lld other examples match exactly: %.2f %% (95 %%: %.2f "
      "to %.2f)",
      (long long)e->exact_matches, (long long)e->examples,
      100 * (double)e->exact_matches / (double)e->examples, low, high);
}

static void print_result(const struct train_options *o, const attn_train_state *end,
                         const attn_evaluation *e) {
  print_end(o, end);
  if (e->examples) print_test(e);
  if (has_pictures(e)) return print_pictures(e);
  if (!e->aligned_tokens) return;
  attn_cli_print_line(
      "cross-attention is highest at the right source token for %.1f %% of %lld tokens (uniform "
      "weights: %.1f %%)",
      100 * (double)e->alignment_matches / (double)e->aligned_tokens, (long long)e->aligned_tokens,
      100 * e->alignment_chance);
}

static int train(struct train_options *o) {
  attn_error err = {.offset = -1};
  attn_train_state end = ATTN_TRAIN_STATE_INIT;
  attn_evaluation evaluation = ATTN_EVALUATION_INIT;
  struct train_progress progress = {.o = o, .bar = attn_cli_progress_begin("training", o->quiet)};
  o->config.progress = update_progress, o->config.context = &progress;
  attn_status status = attn_model_train(&o->config, &end, &err);
  int trained = !status;
  if (trained) status = evaluate(o, &progress.bar, &evaluation, &err);
  attn_cli_progress_end(&progress.bar);
  if (trained && (!status || status == ATTN_ERR_INTERRUPTED))
    (o->json ? print_result_json : print_result)(o, &end, &evaluation);
  if (!status) return EXIT_OK;
  return attn_cli_report_error(err.offset >= 0 ? o->config.resume : NULL, &err);
}

/* ---- Options ---- */

/* "picture 0" is a phrase; a text is not translated. */
static void print_source(const attn_task_info *task, const char *source) {
  if (task->picture_size)
    attn_cli_print_cell(source, 0);
  else
    attn_cli_print_text(source, stdout);
}

static int list_tasks(void) {
  enum { LIST_NAME = 13 };
  attn_task_info task = ATTN_TASK_INFO_INIT;
  char source[256], prefix[256], target[256];
  for (int32_t n = 0; attn_task_describe(n, &task); n++) {
    printf("%-*s", LIST_NAME, task.name);
    attn_cli_print_line("%s", task.summary);
    for (uint64_t k = 0; k < 2; k++) {
      if (attn_task_example(task.name, 1, k, 0, source, prefix, target, NULL)) continue;
      printf("%*s", LIST_NAME + 2, ""), print_source(&task, source);
      printf("%s%s -> %s\n", *prefix ? " | " : "", prefix, target);
    }
  }
  return EXIT_OK;
}

static int check_task(const char *name) {
  enum { MAX_TASKS = 32 };
  const char *names[MAX_TASKS];
  attn_task_info task = ATTN_TASK_INFO_INIT;
  int count = 0;
  while (count < MAX_TASKS && attn_task_describe(count, &task)) names[count++] = task.name;
  for (int n = 0; n < count; n++)
    if (!strcmp(name, names[n])) return 0;
  attn_cli_print_unknown_name("task", name, names, count);
  return -1;
}

/* --config is a JSON object or the name of a file with one. */
static int read_config(struct train_options *o) {
  attn_error err;
  if (!o->config.config || *o->config.config == '{') return 0;
  if (attn_cli_read_text(o->config.config, &o->config_text, &err))
    return attn_cli_report_error(o->config.config, &err), -1;
  o->config.config = o->config_text;
  return 0;
}

/* The default output is TASK.safetensors. */
static int set_output(struct train_options *o) {
  static const char ending[] = ".safetensors";
  if (o->config.output) return 0;
  if (!o->config.task) return attn_cli_print_usage_error("expected -o FILE"), -1;
  size_t length = strlen(o->config.task);
  if (!(o->output = malloc(length + sizeof ending))) return attn_cli_print_no_memory(), -1;
  memcpy(o->output, o->config.task, length), memcpy(o->output + length, ending, sizeof ending);
  o->config.output = o->output;
  return 0;
}

static int prepare(struct train_options *o, int operands, char **argv) {
  if (operands > 1) return attn_cli_print_usage_error("expected one task"), -1;
  if (operands && check_task(argv[1])) return -1;
  o->config.task = operands ? argv[1] : NULL;
  if (!operands && !o->config.data && !o->config.resume)
    return attn_cli_print_usage_error("expected a task, --data FILE or --resume FILE"), -1;
  if (attn_cli_check_range("--threads", o->threads, 0, ATTN_CLI_MAX_THREADS) ||
      attn_cli_check_range("--test-examples", o->test_examples, 0, 1 << 24))
    return -1;
  o->config.seed = (uint64_t)o->seed, o->config.threads = (int32_t)o->threads;
  return set_output(o) ? -1 : read_config(o);
}

static const char *const schedules[] = {"cosine", "noam", "constant"};
static const char *const precisions[] = {"float32", "bf16"};

static int parse(struct train_options *o, int argc, char **argv, int *operands) {
  attn_train_config *c = &o->config;
  const struct attn_cli_option table[] = {
      {"--output", OPTION_TEXT, &c->output, NULL},
      {"-o", OPTION_TEXT, &c->output, NULL},
      {"--overwrite", OPTION_FLAG, &c->replace, NULL},
      {"--data", OPTION_TEXT, &c->data, NULL},
      {"--images", OPTION_TEXT, &c->images, NULL},
      {"--captions", OPTION_TEXT, &c->data, NULL},
      {"--validation-data", OPTION_TEXT, &c->validation_data, NULL},
      {"--resume", OPTION_TEXT, &c->resume, NULL},
      {"--config", OPTION_TEXT, &c->config, NULL},
      {"--tokenizer", OPTION_TEXT, &c->tokenizer, NULL},
      {"--steps", OPTION_INT, &c->steps, NULL},
      {"--batch-size", OPTION_INT, &c->batch_size, NULL},
      {"--gradient-accumulation-steps", OPTION_INT, &c->gradient_accumulation_steps, NULL},
      {"--learning-rate", OPTION_DOUBLE, &c->learning_rate, NULL},
      {"--lr-schedule", ATTN_CLI_CHOICE(&c->lr_schedule, schedules), NULL},
      {"--warmup-steps", OPTION_INT, &c->warmup_steps, NULL},
      {"--weight-decay", OPTION_DOUBLE, &c->weight_decay, NULL},
      {"--max-grad-norm", OPTION_DOUBLE, &c->max_grad_norm, NULL},
      {"--label-smoothing", OPTION_DOUBLE, &c->label_smoothing, NULL},
      {"--precision", ATTN_CLI_CHOICE(&c->precision, precisions), NULL},
      {"--pretrain-encoder", OPTION_INT, &c->pretrain_encoder_steps, NULL},
      {"--freeze-cnn", OPTION_FLAG, &c->freeze_cnn, NULL},
      {"--seed", OPTION_INT, &o->seed, NULL},
      {"--threads", OPTION_INT, &o->threads, NULL},
      {"--validate-every", OPTION_INT, &c->validate_every, NULL},
      {"--max-validation-examples", OPTION_INT, &c->max_validation_examples, NULL},
      {"--target-exact-match", OPTION_DOUBLE, &c->target_exact_match, NULL},
      {"--patience", OPTION_INT, &c->patience, NULL},
      {"--test-examples", OPTION_INT, &o->test_examples, NULL},
      {"--list", OPTION_FLAG, &o->list, NULL},
      {"--json", OPTION_FLAG, &o->json, NULL},
      {"--quiet", OPTION_FLAG, &o->quiet, NULL}};
  return attn_cli_parse_options(argc, argv, train_txt, ATTN_CLI_TABLE(table), operands);
}

int attn_cmd_train(int argc, char **argv) {
  struct train_options o = {.config = ATTN_TRAIN_CONFIG_INIT, .test_examples = 2000};
  int operands;
  const int ended = parse(&o, argc, argv, &operands);
  if (ended >= 0) return ended;
  if (o.list) return list_tasks();
  int result = prepare(&o, operands, argv) ? EXIT_TROUBLE : train(&o);
  free(o.output), free(o.config_text);
  return result;
}
