/* study_table.c -- results of a study: means with intervals as text, JSON and pictures. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json_output.h"
#include "study.h"

static int copy_names(const char **to, const char *const *from, int max) {
  int n = 0;
  for (; from[n] && n < max; n++) to[n] = from[n];
  return n;
}

struct study_table *attn_cli_study_table(struct study_run *run, const char *key, const char *title,
                                         const char *row_axis, const char *const *rows,
                                         const char *column_axis, const char *const *columns) {
  struct study_table *t = &run->table[run->tables++];
  *t = (struct study_table){.key = key,
                            .title = title,
                            .row_axis = row_axis,
                            .column_axis = column_axis,
                            .seeds = (int)run->seeds};
  t->rows = copy_names(t->row, rows, STUDY_ROWS);
  t->columns = copy_names(t->column, columns, STUDY_COLUMNS);
  for (int r = 0; r < t->rows; r++)
    for (int c = 0; c < t->columns; c++)
      for (int s = 0; s < t->seeds; s++) t->sample[r][c][s] = NAN;
  return t;
}

/* ---- Intervals ---- */

/* The 97.5 % quantile of Student's t with n degrees of freedom, 1 to 31. */
static double t_quantile(int n) {
  static const double T[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                             2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                             2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                             2.060,  2.056, 2.052, 2.048, 2.045, 2.042, 2.040};
  return T[n - 1];
}

double attn_cli_study_mean(const struct study_table *t, int row, int column, double *half) {
  const double *x = t->sample[row][column];
  double sum = 0, squares = 0;
  for (int s = 0; s < t->seeds; s++) sum += x[s];
  double mean = sum / t->seeds;
  for (int s = 0; s < t->seeds; s++) squares += (x[s] - mean) * (x[s] - mean);
  *half = NAN;
  if (t->seeds > 1) *half = t_quantile(t->seeds - 1) * sqrt(squares / (t->seeds - 1) / t->seeds);
  return mean;
}

/* ---- Text ---- */

enum { GAP = 2, MEAN = 8, INTERVAL = 10 };

/* Three decimals, fewer for large numbers, an exponent for tiny ones. */
static void cell_text(const struct study_table *t, int row, int column, char *mean,
                      char *interval) {
  double half, value = attn_cli_study_mean(t, row, column, &half), size = fabs(value);
  const char *format = size > 0 && size < 0.001 ? "%s%.1e" : size < 10 ? "%s%.3f" : "%s%.1f";
  snprintf(mean, 32, isfinite(value) ? format : "-", "", value);
  snprintf(interval, 32, isfinite(half) ? format : "", " +-", half);
}

static void widen(int *widest, const char *name) {
  char buffer[ATTN_CLI_MESSAGE_MAX];
  const int width = attn_text_width(attn_cli_translate(name, buffer));
  if (width > *widest) *widest = width;
}

static int widest_row(const struct study_table *t) {
  int widest = 0;
  widen(&widest, t->column_axis);
  for (int r = 0; r < t->rows; r++) widen(&widest, t->row[r]);
  return widest;
}

static void print_column_names(const struct study_table *t) {
  printf("  "), attn_cli_print_cell(t->column_axis, -widest_row(t));
  for (int c = 0; c < t->columns; c++)
    attn_cli_print_cell(t->column[c], GAP + MEAN + (c ? INTERVAL : 0));
  putchar('\n');
}

static void print_row(const struct study_table *t, int row) {
  char mean[32], interval[32];
  int due = 0; /* spaces after an interval */
  printf("  "), attn_cli_print_cell(t->row[row], -widest_row(t));
  for (int c = 0; c < t->columns; c++) {
    cell_text(t, row, c, mean, interval);
    printf("%*s%s", due + GAP + MEAN, mean, interval);
    due = INTERVAL - (int)strlen(interval);
  }
  putchar('\n');
}

static void print_table(const struct study_table *t) {
  putchar('\n'), attn_cli_print_line("%s", t->title);
  print_column_names(t);
  for (int row = 0; row < t->rows; row++) print_row(t, row);
}

void attn_cli_study_print_text(const struct study_run *run) {
  printf("%s: ", run->study->name);
  attn_cli_print_line("%s", run->study->claim);
  attn_cli_print_wrapped(run->study->method, 0, 0, stdout);
  if (run->seeds > 1) {
    attn_cli_print_line("Means of %lld seeds with 95 %% intervals (Student's t).",
                        (long long)run->seeds);
  }
  for (int n = 0; n < run->tables; n++) print_table(&run->table[n]);
}

/* ---- JSON ---- */

static void print_json_cell(const struct study_table *t, int row, int column) {
  double half, mean = attn_cli_study_mean(t, row, column, &half);
  attn_cli_json_begin_object(NULL);
  attn_cli_json_number("mean", mean);
  attn_cli_json_number("half_width", half);
  attn_cli_json_numbers("samples", t->sample[row][column], t->seeds);
  attn_cli_json_end_object();
}

static void print_json_table(const struct study_table *t) {
  attn_cli_json_begin_object(NULL);
  attn_cli_json_string("key", t->key);
  attn_cli_json_string("title", t->title);
  attn_cli_json_strings("rows", t->row, t->rows);
  attn_cli_json_strings("columns", t->column, t->columns);
  attn_cli_json_begin_array("values");
  for (int r = 0; r < t->rows; r++) {
    attn_cli_json_begin_array(NULL);
    for (int c = 0; c < t->columns; c++) print_json_cell(t, r, c);
    attn_cli_json_end_array();
  }
  attn_cli_json_end_array();
  attn_cli_json_end_object();
}

void attn_cli_study_print_json(const struct study_run *run) {
  attn_cli_json_begin_object(NULL);
  attn_cli_json_string("study", run->study->name);
  attn_cli_json_string("claim", run->study->claim);
  attn_cli_json_string("source", run->study->source);
  attn_cli_json_int("seeds", run->seeds);
  attn_cli_json_int("steps", run->steps);
  attn_cli_json_begin_array("tables");
  for (int n = 0; n < run->tables; n++) print_json_table(&run->table[n]);
  attn_cli_json_end_array();
  attn_cli_json_end_object(), attn_cli_json_end_line();
}

/* ---- Pictures ---- */

attn_status attn_cli_study_draw(const void *data, attn_picture_format format, const attn_sink *sink,
                                attn_error *err) {
  const struct study_run *run = data;
  attn_panel panels[STUDY_TABLES];
  double mean[STUDY_TABLES][STUDY_ROWS * STUDY_COLUMNS], half;
  for (int n = 0; n < run->tables; n++) {
    const struct study_table *t = &run->table[n];
    for (int at = 0; at < t->rows * t->columns; at++)
      mean[n][at] = attn_cli_study_mean(t, at / t->columns, at % t->columns, &half);
    panels[n] = (attn_panel){.struct_size = sizeof *panels,
                             .kind = t->is_share ? ATTN_PANEL_HEAT : ATTN_PANEL_MATRIX,
                             .rows = t->rows,
                             .cols = t->columns,
                             .at = mean[n],
                             .row_label = t->row,
                             .col_label = t->column,
                             .title = {t->title, NULL},
                             .note = {run->seeds > 1 ? "means of the seeds" : NULL, NULL},
                             .row_axis = {t->row_axis, NULL},
                             .col_axis = {t->column_axis, NULL}};
  }
  const attn_bilingual_text title = {run->study->claim, NULL};
  attn_style style = {.struct_size = sizeof style, .precision = 3};
  return attn_panels_draw(panels, run->tables, &title, format, &style, sink, err);
}
