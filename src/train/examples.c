#include "examples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "token_search.h"
#include "watch.h"

enum { BYTES = 1 << 17 }; /* two lines; each has at most 2^16 */
enum { TOGETHER = 32, SOURCE = 0, TARGET = 1 };

attn_status attn_examples_new(struct attn_examples *e, attn_error *err) {
  e->text = malloc(BYTES);
  for (int side = 0; side < 2; side++) e->tokens[side] = malloc(BYTES * sizeof(int32_t));
  if (e->text && e->tokens[SOURCE] && e->tokens[TARGET]) return ATTN_OK;
  attn_examples_free(e);
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for examples");
}

void attn_examples_free(struct attn_examples *e) {
  free(e->text), free(e->tokens[SOURCE]), free(e->tokens[TARGET]);
  e->text = NULL, e->tokens[SOURCE] = e->tokens[TARGET] = NULL;
}

/* Behind the tokens that this side has. */
static attn_status encode(struct attn_examples *e, int side, struct attn_text_view text,
                          const struct attn_pair *pair, attn_error *err) {
  size_t count = 0, before = (size_t)e->counts[side];
  attn_error why;
  attn_status status = attn_tokenizer_encode(
      e->tokenizer, text.text, text.length, e->tokens[side] + before, BYTES - before, &count, &why);
  if (status) return attn_data_wrong(pair, status, why.message, err);
  e->counts[side] += (int64_t)count;
  if (e->counts[side] < e->length) return ATTN_OK;
  snprintf(why.message, sizeof why.message,
           "%lld tokens; the model has positions for %lld and the end", (long long)e->counts[side],
           (long long)e->length - 1);
  return attn_data_wrong(pair, ATTN_ERR_FORMAT, why.message, err);
}

/* What a decoder alone is asked, as attn_model_generate would be: the target is encoded by itself,
 * for where words end behind the tab is the target's own. */
static attn_status encode_prompt(struct attn_examples *e, const struct attn_pair *pair,
                                 attn_error *err) {
  size_t length = pair->source.length;
  if (!pair->source.text) return ATTN_OK;
  memcpy(e->text, pair->source.text, length);
  e->text[length] = '\t';
  attn_status status = encode(e, TARGET, (struct attn_text_view){e->text, length + 1}, pair, err);
  e->prompt = e->counts[TARGET];
  return status;
}

/* The end of both sides stands behind their tokens. */
static attn_status check_labels(const struct attn_examples *e, const struct attn_pair *pair,
                                attn_error *err) {
  attn_error why;
  if (!e->labels || e->counts[TARGET] <= e->counts[SOURCE]) return ATTN_OK;
  snprintf(why.message, sizeof why.message,
           "the target has %lld tokens, its source %lld: an encoder alone says one at each place",
           (long long)e->counts[TARGET], (long long)e->counts[SOURCE]);
  return attn_data_wrong(pair, ATTN_ERR_FORMAT, why.message, err);
}

attn_status attn_examples_get(struct attn_examples *e, uint64_t n, int held_out, attn_error *err) {
  struct attn_pair pair;
  e->counts[SOURCE] = e->counts[TARGET] = e->prompt = 0;
  attn_status status = attn_data_pair(e->data, n, held_out, &pair, err);
  if (status) return status;
  status = e->joined ? encode_prompt(e, &pair, err) : encode(e, SOURCE, pair.source, &pair, err);
  if (!status) status = encode(e, TARGET, pair.target, &pair, err);
  return status ? status : check_labels(e, &pair, err);
}

attn_status attn_examples_measure(struct attn_examples *e, int64_t count, int held_out,
                                  struct attn_watch *watch, struct attn_lengths *lengths,
                                  attn_error *err) {
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < count && !status; n++) {
    status = attn_watch_tell(watch, n, count, err);
    if (!status) status = attn_examples_get(e, (uint64_t)n, held_out, err);
    int64_t longer = e->counts[e->counts[SOURCE] > e->counts[TARGET] ? SOURCE : TARGET] + 1;
    if (longer > lengths->longest) lengths->longest = longer;
    lengths->tokens += longer, lengths->count++;
  }
  return status;
}

/* ---- Validation ---- */

/* Replies to a group of examples: what was wanted, and what was said. */
struct group {
  struct attn_watch *watch;
  int64_t before, all;                  /* examples; of the validation */
  int64_t count, most, longest, prompt; /* of what is wanted, and of what it goes on from */
  struct attn_batch *asked;
  int32_t *wanted, *said;
  int64_t *wanted_counts, *said_counts;
};

static void group_free(struct group *g) {
  attn_batch_free(g->asked);
  free(g->wanted), free(g->said), free(g->wanted_counts), free(g->said_counts);
}

static attn_status group_new(struct group *g, int64_t length, attn_error *err) {
  size_t tokens = (size_t)(TOGETHER * length);
  g->most = length;
  g->wanted = malloc(tokens * sizeof *g->wanted), g->said = malloc(tokens * sizeof *g->said);
  g->wanted_counts = malloc(TOGETHER * sizeof *g->wanted_counts);
  g->said_counts = malloc(TOGETHER * sizeof *g->said_counts);
  if (!g->wanted || !g->said || !g->wanted_counts || !g->said_counts)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a validation");
  return attn_batch_new(TOGETHER, TOGETHER * length, &g->asked, err);
}

static void ask(struct group *g, const struct attn_examples *e) {
  const int32_t *target = e->tokens[TARGET] + e->prompt;
  int64_t count = e->counts[TARGET] - e->prompt;
  if (e->joined)
    attn_batch_add(g->asked, NULL, 0, e->tokens[TARGET], e->prompt);
  else
    attn_batch_add(g->asked, e->tokens[SOURCE], e->counts[SOURCE], NULL, 0);
  memcpy(g->wanted + g->count * g->most, target, (size_t)count * sizeof *target);
  g->wanted_counts[g->count++] = count;
  if (count > g->longest) g->longest = count;
  if (e->prompt > g->prompt) g->prompt = e->prompt;
}

/* One token more than the longest reply: what goes on is wrong. */
static int64_t say_at_most(const struct group *g) {
  int64_t room = g->most - g->prompt;
  return g->longest + 1 < room ? g->longest + 1 : room;
}

static attn_status diverged(attn_error *err) {
  return attn_fail(err, ATTN_ERR_DIVERGED, NULL,
                   "what the model says to the unseen is no number any more. Try a lower rate");
}

/* The group's replies, as a part of the validation. */
static int tell_group(void *group, int64_t done, int64_t of) {
  const struct group *g = group;
  (void)of;
  return attn_watch_tell(g->watch, g->before + done, g->all, NULL) != ATTN_OK;
}

/* How many of the group's replies are right; it is empty then. A prompt has its beginning. */
static attn_status listen(struct group *g, const struct attn_examples *e,
                          const struct attn_trainer *t, int64_t *right, attn_error *err) {
  int64_t most = say_at_most(g);
  const struct attn_search how = {.most = most,
                                  .begin = e->joined ? -1 : ATTN_TOKEN_BEGIN,
                                  .end = ATTN_TOKEN_END,
                                  .together = TOGETHER / 4,
                                  .threads = t->threads,
                                  .stop = tell_group,
                                  .context = g};
  const struct attn_found found = {.tokens = g->said, .counts = g->said_counts};
  const struct attn_text *text = e->joined ? &g->asked->target : &g->asked->source;
  attn_status status =
      g->count ? attn_search_run(t->part[0].network, text, &how, &found, err) : ATTN_OK;
  if (status == ATTN_ERR_ARGUMENT) status = diverged(err); /* it takes no logits but numbers */
  for (int64_t n = 0; n < g->count && !status; n++)
    *right += g->said_counts[n] == g->wanted_counts[n] &&
              !memcmp(g->said + n * most, g->wanted + n * g->most,
                      (size_t)g->said_counts[n] * sizeof *g->said);
  attn_batch_clear(g->asked);
  g->before += g->count, g->count = g->longest = g->prompt = 0;
  return status;
}

static int add(const struct attn_examples *e, struct attn_trainer *t) {
  return attn_trainer_add(t, e->tokens[SOURCE], e->counts[SOURCE], e->tokens[TARGET],
                          e->counts[TARGET]);
}

/* One more example for both questions: how likely was it, and would the model say it? */
static attn_status take(struct attn_examples *e, struct attn_trainer *t, struct group *g,
                        struct attn_loss *loss, int64_t *right, attn_error *err) {
  attn_status status = ATTN_OK;
  if (!add(e, t)) {
    status = attn_trainer_evaluate(t, loss, err);
    if (!status) add(e, t);
  }
  if (e->joined && !e->prompt) return status;
  ask(g, e);
  return status || g->count < TOGETHER ? status : listen(g, e, t, right, err);
}

attn_status attn_examples_validate(struct attn_examples *e, struct attn_trainer *t, int64_t count,
                                   struct attn_watch *watch, struct attn_unseen *unseen,
                                   attn_error *err) {
  struct attn_loss loss = {0, 0, 0};
  struct group g = {.watch = watch, .all = count};
  int64_t right = 0, asked = 0;
  attn_status status = group_new(&g, e->length < BYTES ? e->length : BYTES, err);
  for (int64_t n = 0; n < count && !status; n++) {
    status = attn_watch_tell(watch, n, count, err);
    if (!status) status = attn_examples_get(e, (uint64_t)n, 1, err);
    asked += !e->joined || e->prompt;
    if (!status) status = take(e, t, &g, &loss, &right, err);
  }
  if (!status) status = listen(&g, e, t, &right, err);
  if (!status && t->added) status = attn_trainer_evaluate(t, &loss, err);
  group_free(&g);
  unseen->loss = loss.sum / (double)loss.rows;
  unseen->exact = asked ? (double)right / (double)asked : NAN;
  return !status && !isfinite(unseen->loss) ? diverged(err) : status;
}
