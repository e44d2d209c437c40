#include "encode.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "error.h"

struct outcome {
  attn_status status;
  attn_error error;
};

struct job {
  const struct attn_encoding *e;
  struct outcome *outcomes; /* of each group */
  _Atomic int halted;
  _Atomic int64_t done;
  atomic_flag telling;
};

struct group {
  struct attn_text text;
  int32_t *places;
  int64_t *starts;
  struct attn_tape tape;
};

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for texts to be read");
}

/* The texts' part, as if there were no more. */
static attn_status cut(struct group *g, const struct attn_text *all, int64_t first, int64_t count,
                       attn_error *err) {
  int64_t from = all->starts[first], n = all->starts[first + count] - from;
  g->starts = calloc((size_t)count + 1, sizeof *g->starts);
  g->places = calloc((size_t)n + 1, sizeof *g->places);
  if (!g->starts || !g->places) return out_of_memory(err);
  for (int64_t s = 0; s < count; s++) {
    int64_t start = g->starts[s], end = g->starts[s + 1] = all->starts[first + s + 1] - from;
    for (int64_t t = start; t < end; t++) g->places[t] = (int32_t)(t - start);
  }
  g->text = (struct attn_text){.n = n,
                               .sequences = count,
                               .tokens = all->tokens + from,
                               .places = g->places,
                               .starts = g->starts};
  return ATTN_OK;
}

static attn_status read_group(const struct attn_encoding *e, struct group *g, int64_t first,
                              int64_t count, attn_error *err) {
  struct attn_value *y = NULL;
  attn_status status = cut(g, e->texts, first, count, err);
  g->tape.host.threads = 1; /* so that sums are the same with any number of them */
  if (!status)
    status = (e->labels ? attn_transformer_label_alone : attn_transformer_encode_alone)(
        e->network, &g->tape, &g->text, &y, err);
  for (int64_t s = 0; s < count && !status; s++)
    status = e->take(e->context, first + s, y->x + g->starts[s] * y->width,
                     g->starts[s + 1] - g->starts[s], y->width, err);
  attn_tape_close(&g->tape);
  free(g->places), free(g->starts);
  return status;
}

static attn_status tell(struct job *j, int64_t count, attn_error *err) {
  const struct attn_encoding *e = j->e;
  int stop = 0;
  j->done += count;
  if (!e->stop || atomic_flag_test_and_set(&j->telling)) return ATTN_OK;
  stop = e->stop(e->stop_context, j->done, e->texts->sequences);
  atomic_flag_clear(&j->telling);
  if (!stop) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_INTERRUPTED, "progress", "stopped by the caller's function");
}

static void run_group(void *argument, int64_t index, int32_t worker) {
  struct job *j = argument;
  const struct attn_encoding *e = j->e;
  struct outcome *o = &j->outcomes[index];
  struct group g = {.places = NULL};
  int64_t first = index * e->together, left = e->texts->sequences - first;
  int64_t count = left < e->together ? left : e->together;
  (void)worker;
  if (j->halted) return;
  o->status = read_group(e, &g, first, count, &o->error);
  if (!o->status) o->status = tell(j, count, &o->error);
  if (o->status) j->halted = 1;
}

attn_status attn_encoding_run(const struct attn_encoding *e, attn_error *err) {
  const struct attn_host host = {.threads = e->threads};
  struct job j = {.e = e, .telling = ATOMIC_FLAG_INIT};
  int64_t count = e->texts->sequences, groups = count ? (count - 1) / e->together + 1 : 0;
  attn_status status = ATTN_OK;
  if (!(j.outcomes = calloc((size_t)groups + 1, sizeof *j.outcomes))) return out_of_memory(err);
  attn_layer_run(&host, groups, run_group, &j);
  for (int64_t n = 0; n < groups && !status; n++) {
    status = j.outcomes[n].status;
    if (status && err) *err = j.outcomes[n].error;
  }
  free(j.outcomes);
  return status;
}
