/* bench_picture.c -- results as rooflines, a panel for each group of cases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { LABEL = 64 };

struct roofline_data {
  attn_panel panel[BENCH_WORKS];
  int count, points;
  double (*at)[2];
  char (*text)[LABEL];
  const char **label;
  char note[96];
};

static void add_point(struct roofline_data *d, const struct bench_result *r) {
  int n = d->points++;
  d->at[n][0] = r->operations / r->bytes, d->at[n][1] = r->gflops;
  snprintf(d->text[n], LABEL, "%s %lld %s", attn_cli_bench_dtype_text(r->c.dtype),
           (long long)r->c.shape.width, r->c.name);
  d->label[n] = d->text[n];
}

static void add_panel(struct roofline_data *d, const struct bench_run *run, const char *work) {
  int first = d->points;
  for (int n = 0; n < run->results; n++)
    if (!strcmp(run->result[n].c.work, work) && run->result[n].ours.count &&
        run->result[n].c.unit != BENCH_GTANH)
      add_point(d, &run->result[n]);
  if (d->points == first) return;
  d->panel[d->count++] = (attn_panel){.struct_size = sizeof *d->panel,
                                      .kind = ATTN_PANEL_ROOFLINE,
                                      .rows = d->points - first,
                                      .cols = 2,
                                      .at = d->at[first],
                                      .row_label = d->label + first,
                                      .title = {work, NULL},
                                      .note = {d->note, NULL},
                                      .row_axis = {"operations per byte", NULL},
                                      .col_axis = {"GFLOP/s", NULL},
                                      .roof = run->best[BENCH_PEAK],
                                      .slope = run->best[BENCH_READ]};
}

static attn_status draw(const struct bench_run *run, struct roofline_data *d,
                        attn_picture_format format, const attn_sink *sink, attn_error *err) {
  const char *works[BENCH_WORKS];
  char title[160];
  int count = attn_cli_bench_works(works);
  snprintf(d->note, sizeof d->note, "roof: %.1f GFLOP/s, %.1f GB/s; %d thread%s",
           run->best[BENCH_PEAK], run->best[BENCH_READ], (int)run->threads,
           run->threads == 1 ? "" : "s");
  for (int n = 0; n < count; n++) add_panel(d, run, works[n]);
  if (!d->count) return attn_cli_fail(err, ATTN_ERR_ARGUMENT, "nothing to draw");
  snprintf(title, sizeof title, "libattn %s on %.60s, %s", attn_version_string(), run->machine.cpu,
           attn_isa_name(run->machine.isa));
  const attn_bilingual_text both = {title, NULL};
  attn_style style = {.struct_size = sizeof style, .precision = 4};
  return attn_panels_draw(d->panel, d->count, &both, format, &style, sink, err);
}

attn_status attn_cli_bench_draw(const void *data, attn_picture_format format, const attn_sink *sink,
                                attn_error *err) {
  const struct bench_run *run = data;
  size_t count = (size_t)run->results + 1;
  struct roofline_data d = {.at = calloc(count, sizeof *d.at),
                            .text = calloc(count, sizeof *d.text),
                            .label = calloc(count, sizeof *d.label)};
  attn_status status =
      d.at && d.text && d.label ? draw(run, &d, format, sink, err) : attn_cli_no_memory(err);
  free(d.at), free(d.text), free(d.label);
  return status;
}
