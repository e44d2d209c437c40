/* bpe.c -- merges one word's bytes: the lowest rank first, the leftmost among equals. */
#include <stdlib.h>

#include "vocabulary.h"

enum { GONE = -2, END = -1 };

void attn_bpe_word_free(struct attn_bpe_word *m) { free(m->at), free(m->heap.at); }

static int offer(struct attn_bpe_word *m, const struct attn_tokenizer *t, int32_t place) {
  if (place == END || m->at[place].next == END) return 1;
  const struct attn_bpe_merge *merge =
      attn_vocabulary_find_merge(t, m->at[place].id, m->at[m->at[place].next].id);
  return !merge || attn_heap_push(&m->heap, (uint64_t)merge->rank, (uint64_t)place);
}

/* Skips an entry whose pair has changed since it was pushed. */
static int take(struct attn_bpe_word *m, const struct attn_tokenizer *t,
                struct attn_heap_item top) {
  int32_t place = (int32_t)top.second;
  struct attn_bpe_symbol *left = &m->at[place];
  if (left->id == GONE || left->next == END) return 1;
  struct attn_bpe_symbol *right = &m->at[left->next];
  const struct attn_bpe_merge *merge = attn_vocabulary_find_merge(t, left->id, right->id);
  if (!merge || (uint64_t)merge->rank != top.first) return 1;
  left->id = merge->word, left->next = right->next;
  right->id = GONE;
  if (left->next != END) m->at[left->next].before = place;
  return offer(m, t, left->before) && offer(m, t, place);
}

int attn_bpe_word_merge(struct attn_bpe_word *m, const struct attn_tokenizer *t, const char *word,
                        size_t bytes, size_t *count) {
  *count = 0;
  if (!attn_grow((void **)&m->at, &m->capacity, bytes, sizeof *m->at)) return 0;
  for (size_t n = 0; n < bytes; n++) {
    int32_t id = t->byte[(unsigned char)word[n]];
    m->at[n] = (struct attn_bpe_symbol){.id = id < 0 ? t->unknown : id,
                                        .next = n + 1 < bytes ? (int32_t)n + 1 : END,
                                        .before = (int32_t)n - 1};
  }
  for (size_t n = 0; n < bytes; n++)
    if (!offer(m, t, (int32_t)n)) return 0;
  while (m->heap.count)
    if (!take(m, t, attn_heap_pop(&m->heap))) return 0;
  for (size_t n = 0; n < bytes; n++)
    if (m->at[n].id != GONE) m->at[(*count)++] = m->at[n];
  return 1;
}
