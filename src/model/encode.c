#include "encode.h"

#include <stdlib.h>

#include "error.h"
#include "sharing.h"

struct job {
  const struct attn_encoding *e;
  struct attn_sharing sharing;
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

static attn_status read_group(void *job, int64_t first, int64_t count, attn_error *err) {
  struct job *j = job;
  const struct attn_encoding *e = j->e;
  struct group g = {.places = NULL};
  struct attn_value *y = NULL;
  attn_status status = cut(&g, e->texts, first, count, err);
  g.tape.host.threads = 1; /* so that sums are the same with any number of them */
  if (!status)
    status = (e->labels ? attn_transformer_label_alone : attn_transformer_encode_alone)(
        e->network, e->pack, &g.tape, &g.text, &y, err);
  for (int64_t s = 0; s < count && !status; s++)
    status = e->take(e->context, first + s, y->x + g.starts[s] * y->width,
                     g.starts[s + 1] - g.starts[s], y->width, err);
  if (!status) {
    j->sharing.done += count;
    status = attn_sharing_tell(&j->sharing, err);
  }
  attn_tape_close(&g.tape);
  free(g.places), free(g.starts);
  return status;
}

attn_status attn_encoding_run(const struct attn_encoding *e, attn_error *err) {
  struct job j = {.e = e};
  j.sharing = (struct attn_sharing){.sequences = e->texts->sequences,
                                    .together = e->together,
                                    .threads = e->threads,
                                    .work = read_group,
                                    .argument = &j,
                                    .stop = e->stop,
                                    .context = e->stop_context,
                                    .stop_name = "progress"};
  return attn_sharing_run(&j.sharing, err);
}
