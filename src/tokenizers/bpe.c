/* bpe.c -- merges one word's bytes: the lowest rank first, the leftmost among equals. */
#include <stdlib.h>

#include "vocabulary.h"

enum { GONE = -2, END = -1 };

void attn_bpe_word_free(struct attn_bpe_word *m) {
  free(m->at), free(m->next), free(m->before), free(m->heap.at);
}

static int offer(struct attn_bpe_word *m, const struct attn_tokenizer *t, int32_t place) {
  if (place == END || m->next[place] == END) return 1;
  const struct attn_bpe_merge *merge =
      attn_vocabulary_find_merge(t, m->at[place], m->at[m->next[place]]);
  return !merge || attn_heap_push(&m->heap, (uint64_t)merge->rank, (uint64_t)place);
}

/* Skips an entry whose pair has changed since it was pushed. */
static int take(struct attn_bpe_word *m, const struct attn_tokenizer *t,
                struct attn_heap_item top) {
  int32_t place = (int32_t)top.second, right = m->next[place];
  if (m->at[place] == GONE || right == END) return 1;
  const struct attn_bpe_merge *merge = attn_vocabulary_find_merge(t, m->at[place], m->at[right]);
  if (!merge || (uint64_t)merge->rank != top.first) return 1;
  m->at[place] = merge->word;
  m->at[right] = GONE;
  m->next[place] = m->next[right];
  if (m->next[place] != END) m->before[m->next[place]] = place;
  return offer(m, t, m->before[place]) && offer(m, t, place);
}

int attn_bpe_word_merge(struct attn_bpe_word *m, const struct attn_tokenizer *t, const char *word,
                        size_t bytes, size_t *count) {
  *count = 0;
  if (!attn_grow((void **)&m->at, &m->at_capacity, bytes, sizeof *m->at) ||
      !attn_grow((void **)&m->next, &m->next_capacity, bytes, sizeof *m->next) ||
      !attn_grow((void **)&m->before, &m->before_capacity, bytes, sizeof *m->before))
    return 0;
  for (size_t n = 0; n < bytes; n++) {
    int32_t id = t->byte[(unsigned char)word[n]];
    m->at[n] = id < 0 ? t->unknown : id;
    m->before[n] = (int32_t)n - 1;
    m->next[n] = n + 1 < bytes ? (int32_t)n + 1 : END;
  }
  for (size_t n = 0; n < bytes; n++)
    if (!offer(m, t, (int32_t)n)) return 0;
  while (m->heap.count)
    if (!take(m, t, attn_heap_pop(&m->heap))) return 0;
  for (size_t n = 0; n < bytes; n++)
    if (m->at[n] != GONE) m->at[(*count)++] = m->at[n];
  return 1;
}
