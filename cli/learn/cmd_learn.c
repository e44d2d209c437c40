/* cmd_learn.c -- attn learn: a course in chapters with exercises that the command checks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "console.h"
#include "help_files.h"
#include "json_output.h"
#include "learn.h"

struct learn_options {
  attn_style style;
  const char *output, *html, *progress;
  int64_t seed, hint;
  int has_hint, has_seed, check, json;
  struct attn_cli_learn_progress *state;
};

static const struct attn_cli_learn_chapter *chapter_of(int n) {
  return &attn_cli_learn_chapters[n - 1];
}

static void say(const struct learn_options *o, int message, const char *a, const char *b) {
  const attn_sink sink = attn_cli_stdout();
  attn_cli_learn_put(&sink, o->style.language, message, a, b, NULL);
}

/* ---- The chapters ---- */

static int done_of(const struct learn_options *o, int chapter) {
  int done = 0;
  for (int n = 0; n < LEARN_EXERCISES; n++) done += o->state->state[chapter - 1][n].is_done;
  return done;
}

/* The first chapter with an exercise that is not done; 0: none. */
static int next_chapter(const struct learn_options *o) {
  for (int n = 1; n <= attn_cli_learn_chapter_count; n++)
    if (done_of(o, n) < LEARN_EXERCISES) return n;
  return 0;
}

static void list_json(const struct learn_options *o) {
  char title[128];
  attn_cli_json_begin_object(NULL);
  attn_cli_json_begin_array("chapters");
  for (int n = 1; n <= attn_cli_learn_chapter_count; n++) {
    attn_cli_learn_title(chapter_of(n), o->style.language, title);
    attn_cli_json_begin_object(NULL);
    attn_cli_json_int("chapter", n);
    attn_cli_json_string("name", chapter_of(n)->name);
    attn_cli_json_string("title", title);
    attn_cli_json_begin_array("exercises");
    for (int e = 0; e < LEARN_EXERCISES; e++) {
      attn_cli_json_begin_object(NULL);
      attn_cli_json_int("attempts", o->state->state[n - 1][e].attempts);
      attn_cli_json_bool("done", o->state->state[n - 1][e].is_done);
      attn_cli_json_end_object();
    }
    attn_cli_json_end_array();
    attn_cli_json_end_object();
  }
  attn_cli_json_end_array();
  attn_cli_json_int("next", next_chapter(o));
  attn_cli_json_end_object();
  attn_cli_json_end_line();
}

static int list_chapters(const struct learn_options *o) {
  char title[128];
  int total = 0, next = next_chapter(o);
  if (o->json) return list_json(o), EXIT_OK;
  for (int n = 1; n <= attn_cli_learn_chapter_count; n++) total += done_of(o, n);
  say(o, LEARN_COURSE, LEARN_NUMBER(total),
      LEARN_NUMBER(attn_cli_learn_chapter_count * LEARN_EXERCISES));
  for (int n = 1; n <= attn_cli_learn_chapter_count; n++) {
    attn_cli_learn_title(chapter_of(n), o->style.language, title);
    fputs("  ", stdout);
    for (int e = 0; e < LEARN_EXERCISES; e++)
      fputs(o->state->state[n - 1][e].is_done ? "✓" : "·", stdout);
    printf(" %2d  %s\n", n, title);
  }
  say(o, next ? LEARN_NEXT : LEARN_ALL_DONE, LEARN_NUMBER(next), NULL);
  return EXIT_OK;
}

/* ---- A chapter ---- */

static const attn_step *step_named(const attn_lesson *lesson, int32_t name) {
  for (int32_t e = 0; e < lesson->examples; e++)
    for (int32_t s = 0; s < lesson->example[e].steps; s++)
      if (lesson->example[e].step[s].name == name) return &lesson->example[e].step[s];
  return NULL;
}

/* The weights of the worked example as a heat map. */
static attn_status print_figure(const struct attn_cli_learn_chapter *chapter, const char *text,
                                const struct learn_options *o, attn_error *err) {
  const attn_sink sink = attn_cli_stdout();
  attn_lesson *lesson;
  attn_status status = attn_lesson_read(text, strlen(text), chapter->name, &lesson, err);
  if (status) return status;
  const attn_step *s = step_named(lesson, ATTN_STEP_WEIGHTS);
  if (s) {
    const attn_example *e = lesson->example;
    attn_panel panel = ATTN_PANEL_INIT;
    const int columns = e->orientation == ATTN_QUERIES_IN_COLUMNS;
    panel.kind = ATTN_PANEL_HEAT;
    panel.rows = s->exact.rows, panel.cols = s->exact.cols, panel.at = s->exact.at;
    const int32_t rows = columns ? e->key_tokens : e->query_tokens;
    const int32_t cols = columns ? e->query_tokens : e->key_tokens;
    if (rows == s->exact.rows)
      panel.row_label = (const char *const *)(columns ? e->key_token : e->query_token);
    if (cols == s->exact.cols)
      panel.col_label = (const char *const *)(columns ? e->query_token : e->key_token);
    say(o, LEARN_FIGURE, NULL, NULL);
    status = attn_panels_draw(&panel, 1, NULL, ATTN_PICTURE_TEXT, &o->style, &sink, err);
  }
  attn_lesson_free(lesson);
  return status;
}

/* Writes a new file; an existing one is kept. */
static attn_status write_new(const char *path, const struct attn_cli_buffer *text,
                             const struct learn_options *o, attn_error *err) {
  FILE *to = fopen(path, "wx");
  if (!to && errno == EEXIST) return say(o, LEARN_KEPT, path, NULL), ATTN_OK;
  int failed = !to || fwrite(text->bytes, 1, text->size, to) != text->size;
  if (to) failed |= fclose(to) != 0;
  if (!failed) return say(o, LEARN_WROTE, path, NULL), ATTN_OK;
  const char *reason = strerror(errno);
  if (to) remove(path);
  return attn_cli_fail(err, ATTN_ERR_FILE, "%.150s: cannot write: %s", path, reason);
}

enum { PATH_BYTES = 4096 };

static int exercise_path(const struct learn_options *o, int chapter, int exercise,
                         char path[PATH_BYTES]) {
  return snprintf(path, PATH_BYTES, "%s%s%d-%d.md", o->output ? o->output : "",
                  o->output ? "/" : "", chapter, exercise);
}

static attn_status write_exercise(const struct attn_cli_learn_task *task,
                                  const struct learn_options *o, attn_error *err) {
  struct attn_cli_buffer buffer = {NULL, 0, 0, 0};
  const attn_sink sink = attn_cli_buffer_sink(&buffer);
  char path[PATH_BYTES];
  const int bytes = exercise_path(o, task->chapter, task->exercise, path);
  attn_status status =
      bytes < (int)sizeof path
          ? attn_cli_learn_write(task, &sink, err)
          : attn_cli_fail(err, ATTN_ERR_FILE, "%.60s...: the path is too long", path);
  if (!status && buffer.failed) status = attn_cli_no_memory(err);
  if (!status) status = write_new(path, &buffer, o, err);
  free(buffer.bytes);
  return status;
}

static attn_status print_chapter(int n, const struct learn_options *o, attn_error *err) {
  const struct attn_cli_learn_chapter *chapter = chapter_of(n);
  const char *text = chapter->text[o->style.language];
  char file[PATH_BYTES];
  printf("%d. %s", n, text + 2);
  attn_status status = print_figure(chapter, text, o, err);
  if (!status) say(o, LEARN_EXERCISES_ARE, NULL, NULL);
  for (int e = 1; e <= LEARN_EXERCISES && !status; e++)
    status = write_exercise(
        &(struct attn_cli_learn_task){n, e, (uint64_t)o->seed, o->style.language}, o, err);
  exercise_path(o, n, 1, file);
  if (!status) say(o, LEARN_THEN_CHECK, file, NULL);
  return status;
}

/* ---- A check ---- */

static int is_done(const struct attn_cli_learn_result *r) {
  return !r->open && !r->wrong && !r->coarse;
}

static void print_count(const struct learn_options *o, int message, int count) {
  if (count) say(o, message, LEARN_NUMBER(count), NULL);
}

static void print_result(const char *path, const struct attn_cli_learn_check *c,
                         const struct learn_options *o) {
  const struct attn_cli_learn_result *r = &c->result;
  char name[32];
  snprintf(name, sizeof name, "%d.%d", c->task.chapter, c->task.exercise);
  const attn_sink sink = attn_cli_stdout();
  if (o->json) {
    attn_cli_json_begin_object(NULL);
    attn_cli_json_string("file", path);
    attn_cli_json_string("exercise", name);
    attn_cli_json_bool("done", is_done(r));
    attn_cli_json_int("wrong", r->wrong);
    attn_cli_json_int("open", r->open);
    attn_cli_json_int("coarse", r->coarse);
    attn_cli_json_int("level", r->level);
    attn_cli_json_string("report", r->report.bytes ? r->report.bytes : "");
    attn_cli_json_end_object();
    attn_cli_json_end_line();
    return;
  }
  say(o, is_done(r) ? LEARN_DONE : LEARN_NOT_DONE, path, name);
  print_count(o, LEARN_WRONG_COUNT, r->wrong);
  print_count(o, LEARN_OPEN_COUNT, r->open);
  print_count(o, LEARN_COARSE_COUNT, r->coarse);
  if (r->report.bytes) sink.write(sink.context, r->report.bytes, strlen(r->report.bytes));
}

static void record(struct attn_cli_learn_state *s, const struct attn_cli_learn_check *c) {
  s->attempts++;
  s->is_done |= is_done(&c->result);
  s->level = c->result.level;
  s->seed = c->task.seed, s->place = c->result.place;
}

static attn_status check_text(const char *path, const char *text, const struct learn_options *o,
                              int *result, attn_error *err) {
  struct attn_cli_learn_check c = {.text = text, .style = &o->style, .hint = (int)o->hint};
  attn_status status = attn_cli_learn_identify(text, &c.task, err);
  if (status) return status;
  struct attn_cli_learn_state *state = &o->state->state[c.task.chapter - 1][c.task.exercise - 1];
  c.before = state;
  status = attn_cli_learn_exercise_of(&c.task)->question ? attn_cli_learn_check_question(&c, err)
                                                         : attn_cli_learn_check_sheet(&c, err);
  if (!status) status = attn_cli_buffer_end(&c.result.report, err);
  if (!status) {
    record(state, &c);
    status = attn_cli_learn_progress_write(o->state, err);
  }
  if (!status) print_result(path, &c, o);
  *result = is_done(&c.result) ? EXIT_OK : EXIT_FOUND;
  free(c.result.report.bytes);
  return status;
}

static int check_file(const char *path, const void *options) {
  const struct learn_options *o = options;
  attn_error err;
  char *text;
  int result = EXIT_TROUBLE;
  attn_status status = attn_cli_read_text(path, &text, &err);
  if (!status) status = check_text(path, text, o, &result, &err);
  free(text);
  return status ? attn_cli_report_error(path, &err) : result;
}

/* ---- The command ---- */

static const char *conflict(const struct learn_options *o, int operands) {
  if (o->check && !operands) return "expected a file to check";
  if (o->html && (operands || o->check)) return "--html writes all chapters; leave out the rest";
  if (!o->check && operands > 1) return "expected one chapter";
  if (!o->check && o->has_hint) return "--hint applies to --check";
  if (o->check && (o->output || o->has_seed)) return "--output and --seed apply to a chapter";
  if (operands && o->json && !o->check) return "--json lists the chapters, or applies to --check";
  return NULL;
}

static int run_chapter(const char *text, const struct learn_options *o) {
  int64_t n;
  attn_error err;
  if (attn_cli_parse_int(text, &n))
    return attn_cli_print_usage_error(
        "expected a chapter's number, got \"%.60s\"; --check FILE checks a file", text);
  if (attn_cli_check_range("CHAPTER", n, 1, attn_cli_learn_chapter_count)) return EXIT_TROUBLE;
  if (print_chapter((int)n, o, &err)) return attn_cli_report_error(NULL, &err);
  return EXIT_OK;
}

static int run_pages(const struct learn_options *o) {
  attn_error err;
  if (attn_cli_learn_pages(o->html, &o->style, &err)) return attn_cli_report_error(NULL, &err);
  attn_cli_print_written(o->html, "/index.html");
  return EXIT_OK;
}

static int run_with_progress(struct learn_options *o, int operands, char **argv) {
  struct attn_cli_learn_progress progress;
  attn_error err;
  int result;
  o->state = &progress;
  if (attn_cli_learn_progress_read(o->progress, &progress, &err))
    result = attn_cli_report_error(progress.path, &err);
  else
    result = o->check ? attn_cli_for_each_file(operands, argv, check_file, o) : list_chapters(o);
  attn_cli_learn_progress_free(&progress);
  return result;
}

int attn_cmd_learn(int argc, char **argv) {
  struct learn_options o = {.seed = 1};
  struct attn_cli_style_options style = ATTN_CLI_STYLE_DEFAULTS;
  int operands;
  const struct attn_cli_option table[] = {{"--check", OPTION_FLAG, &o.check, NULL},
                                          {"--output", OPTION_TEXT, &o.output, NULL},
                                          {"-o", OPTION_TEXT, &o.output, NULL},
                                          {"--seed", OPTION_INT, &o.seed, &o.has_seed},
                                          {"--hint", OPTION_INT, &o.hint, &o.has_hint},
                                          {"--html", OPTION_TEXT, &o.html, NULL},
                                          {"--progress", OPTION_TEXT, &o.progress, NULL},
                                          {"--json", OPTION_FLAG, &o.json, NULL},
                                          ATTN_CLI_STYLE_OPTIONS(&style)};
  const int ended = attn_cli_parse_options(argc, argv, learn_txt, ATTN_CLI_TABLE(table), &operands);
  if (ended >= 0) return ended;
  const char *message = conflict(&o, operands);
  if (message) return attn_cli_print_usage_error("%s", message);
  if ((o.has_hint && attn_cli_check_range("--hint", o.hint, 1, 3)) ||
      attn_cli_parse_style(&style, &o.style))
    return EXIT_TROUBLE;
  if (o.html) return run_pages(&o);
  if (operands && !o.check) return run_chapter(argv[1], &o);
  return run_with_progress(&o, operands, argv);
}
