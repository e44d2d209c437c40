/* search_results.h -- a search, its results in memory of a fixed size, and a progress callback that
 * stops it. */
#ifndef TEST_SEARCH_RESULTS_H
#define TEST_SEARCH_RESULTS_H

#include "models.h"
#include "token_search.h"

enum { WORDS = 11, BEGIN = 1, END = 2, MOST = 12, RESULT_TOKENS = 1 << 12, RESULTS = 128 };

struct search_output {
  int32_t tokens[SOURCES * RESULT_TOKENS];
  int64_t token_counts[SOURCES * RESULTS];
  unsigned char finished[SOURCES * RESULTS];
  double scores[SOURCES * RESULTS];
  float log_probs[SOURCES * RESULT_TOKENS];
};

/* All outputs, filled with a pattern. */
static struct attn_search_results all_of(struct search_output *f) {
  memset(f, 0x55, sizeof *f);
  return (struct attn_search_results){f->tokens, f->token_counts, f->finished, f->scores,
                                      f->log_probs};
}

static void search(const struct attn_token_batch *text, const struct attn_search_config *how,
                   struct search_output *f) {
  const struct attn_search_results found = all_of(f);
  attn_error err;
  if (attn_search_run(network, text, how, &found, &err)) fail_msg("%s", err.message);
}

/* The search fails. An invalid argument leaves the outputs unchanged; other failures, such as
 * logits that are not finite ("network"), may have written some. */
static void expect_refused(const struct attn_token_batch *text,
                           const struct attn_search_config *how, attn_status status,
                           const char *argument) {
  static struct search_output f, untouched;
  const struct attn_search_results found = all_of(&f);
  attn_error err = {0};
  all_of(&untouched);
  assert_int_equal(attn_search_run(network, text, how, &found, &err), status);
  assert_string_equal(err.argument, argument);
  if (status == ATTN_ERR_ARGUMENT && strcmp(argument, "network"))
    assert_memory_equal(&f, &untouched, sizeof f);
}

struct progress {
  int64_t calls, stop_at, done, of;
};

static int report(void *context, int64_t done, int64_t of) {
  struct progress *p = context;
  assert_true(done >= p->done);
  p->done = done, p->of = of;
  return ++p->calls == p->stop_at;
}

/* For scarce_fail_each: searches all sources. */
struct search_call {
  const struct attn_search_config *config;
  struct search_output *results;
};

static attn_status run_search(void *call) {
  struct search_call *c = call;
  const struct attn_search_results found = all_of(c->results);
  return attn_search_run(network, &source, c->config, &found, NULL);
}

#endif
