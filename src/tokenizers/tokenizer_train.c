/* tokenizer_train.c -- vocabularies from texts. [Sennrich et al. 2016, algorithm 1]
 * Pairs are counted once; a merge visits only the words that may contain it. */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "vocabulary.h"
#include "watch.h"

enum { REPORT_EVERY = 32 };

static attn_status no_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to train a vocabulary");
}

/* Not for every text: most are short. */
static attn_status report(struct attn_watch *watch, size_t done, size_t total, attn_error *err) {
  return done % REPORT_EVERY ? ATTN_OK
                             : attn_watch_report(watch, (int64_t)done, (int64_t)total, err);
}

static attn_status invalid_utf8(const struct attn_text_view *text, size_t number, size_t at,
                                attn_error *err) {
  return attn_fail_offset(err, ATTN_ERR_FORMAT, (int64_t)at,
                          "texts[%zu]: byte 0x%02x is not valid UTF-8; convert it to UTF-8", number,
                          (unsigned char)text->text[at]);
}

static int add_special(struct attn_tokenizer *t) {
  for (int n = 0; n < ATTN_NUM_SPECIAL_TOKENS; n++)
    if (!attn_vocabulary_add(t, attn_special_tokens[n], strlen(attn_special_tokens[n]), 1))
      return 0;
  return 1;
}

static int add_code(struct attn_tokenizer *t, int32_t code) {
  char word[4];
  return attn_vocabulary_add(t, word, attn_utf8_write(code, word), 0);
}

/* ---- Characters ---- */

enum { CODES = 0x110000 };

static attn_status mark(const struct attn_text_view *text, size_t number, unsigned char *seen,
                        attn_error *err) {
  int32_t code;
  for (size_t at = 0, bytes; at < text->length; at += bytes) {
    bytes = attn_utf8_read(text->text + at, text->length - at, &code);
    if (!bytes) return invalid_utf8(text, number, at, err);
    seen[code / 8] |= (unsigned char)(1 << code % 8);
  }
  return ATTN_OK;
}

attn_status attn_tokenizer_train_characters(const struct attn_text_view *texts, size_t count,
                                            struct attn_watch *watch,
                                            struct attn_tokenizer **tokenizer, attn_error *err) {
  struct attn_tokenizer *t = attn_vocabulary_new(ATTN_TOKENIZER_CHARACTER);
  unsigned char *seen = calloc(CODES / 8, 1);
  int whole = t && seen && add_special(t);
  attn_status status = whole ? ATTN_OK : no_memory(err);
  for (size_t n = 0; n < count && !status; n++) {
    status = report(watch, n, count, err);
    if (!status) status = mark(&texts[n], n, seen, err);
  }
  for (int32_t code = 1; code < CODES && !status; code++)
    if (seen[code / 8] >> code % 8 & 1 && !add_code(t, code)) status = no_memory(err);
  free(seen);
  if (status) return attn_tokenizer_free(t), status;
  *tokenizer = t;
  return ATTN_OK;
}

/* ---- Words ---- */

static attn_status find_words(const struct attn_text_view *text, size_t number,
                              struct attn_intern *words, attn_error *err) {
  size_t at = 0;
  for (size_t bytes; (bytes = attn_next_word(text->text, text->length, &at)); at += bytes)
    if (attn_intern_add(words, text->text + at, bytes) < 0) return no_memory(err);
  return at == text->length ? ATTN_OK : invalid_utf8(text, number, at, err);
}

static int by_bytes(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Hugging Face's library would encode a word spelled like a special token as that token, and its
 * file cannot contain a word with a NUL. */
static attn_status add_words(struct attn_tokenizer *t, const struct attn_intern *words,
                             attn_error *err) {
  size_t bytes;
  const char **sorted = malloc((words->count + 1) * sizeof *sorted);
  attn_status status = sorted ? ATTN_OK : no_memory(err);
  for (size_t n = 0; n < words->count && !status; n++) {
    sorted[n] = attn_intern_key(words, n, &bytes);
    if (strlen(sorted[n]) < bytes || attn_intern_find(&t->tokens, sorted[n], bytes) >= 0)
      status = attn_fail(err, ATTN_ERR_ARGUMENT, "texts",
                         "the word \"%.40s\" is a special token or contains a NUL; remove it",
                         sorted[n]);
  }
  if (!status) qsort(sorted, words->count, sizeof *sorted, by_bytes);
  for (size_t n = 0; n < words->count && !status; n++)
    if (!attn_vocabulary_add(t, sorted[n], strlen(sorted[n]), 0)) status = no_memory(err);
  free(sorted);
  return status;
}

attn_status attn_tokenizer_train_words(const struct attn_text_view *texts, size_t count,
                                       struct attn_watch *watch, struct attn_tokenizer **tokenizer,
                                       attn_error *err) {
  struct attn_tokenizer *t = attn_vocabulary_new(ATTN_TOKENIZER_WORD);
  struct attn_intern words = {0};
  attn_status status = t && add_special(t) ? ATTN_OK : no_memory(err);
  for (size_t n = 0; n < count && !status; n++) {
    status = report(watch, n, count, err);
    if (!status) status = find_words(&texts[n], n, &words, err);
  }
  if (!status) status = add_words(t, &words, err);
  attn_intern_free(&words);
  if (status) return attn_tokenizer_free(t), status;
  *tokenizer = t;
  return ATTN_OK;
}

/* ---- Pairs ---- */

enum { NOWHERE = -1 };

struct bpe_pair {
  int64_t count; /* in all texts */
  int64_t where; /* the list of the words that may contain it: an index of place, or NOWHERE */
  int changed;
};

struct bpe_occurrence {
  int64_t next; /* index, or NOWHERE */
  int32_t word;
};

struct bpe_trainer {
  struct attn_tokenizer *tokenizer;
  struct attn_watch *watch;
  attn_error *err;
  attn_status stopped;      /* by the watch; any other failure is lack of memory */
  struct attn_intern words; /* the distinct words of the texts */
  int64_t *times;           /* (words) occurrences of each */
  int32_t *symbol;          /* of all words, concatenated */
  size_t *start, *length;   /* (words) */
  struct attn_intern pairs;
  struct bpe_pair *pair;
  struct bpe_occurrence *place;
  int32_t *changed; /* pairs that became more frequent since the last merge */
  size_t times_capacity, pair_capacity, place_capacity, changed_capacity, places, changes;
  struct attn_heap heap; /* (~count, pair); a count that has dropped is noticed when popped */
};

static void training_free(struct bpe_trainer *g) {
  attn_intern_free(&g->words);
  attn_intern_free(&g->pairs);
  free(g->times), free(g->symbol), free(g->start), free(g->length);
  free(g->pair), free(g->place), free(g->changed), free(g->heap.at);
}

static int32_t pair_number(struct bpe_trainer *g, int32_t left, int32_t right) {
  const int32_t key[2] = {left, right};
  size_t before = g->pairs.count;
  if (!attn_grow((void **)&g->pair, &g->pair_capacity, before + 1, sizeof *g->pair)) return -1;
  int32_t n = attn_intern_add(&g->pairs, key, sizeof key);
  if (g->pairs.count > before) g->pair[n] = (struct bpe_pair){0, NOWHERE, 0};
  return n;
}

/* Notes that the pair has become more frequent, by an occurrence in the word. */
static int found_in(struct bpe_trainer *g, int32_t n, int32_t word) {
  struct bpe_pair *p = &g->pair[n];
  if (!p->changed) {
    if (!attn_grow((void **)&g->changed, &g->changed_capacity, g->changes + 1, sizeof *g->changed))
      return 0;
    p->changed = 1;
    g->changed[g->changes++] = n;
  }
  if (p->where != NOWHERE && g->place[p->where].word == word) return 1;
  if (!attn_grow((void **)&g->place, &g->place_capacity, g->places + 1, sizeof *g->place)) return 0;
  g->place[g->places] = (struct bpe_occurrence){p->where, word};
  p->where = (int64_t)g->places++;
  return 1;
}

/* Counts one more (sign 1) or one less (-1) of the pair in the word. */
static int change(struct bpe_trainer *g, int32_t left, int32_t right, int sign, int32_t word) {
  int32_t n = pair_number(g, left, right);
  if (n < 0) return 0;
  g->pair[n].count += sign * g->times[word];
  return sign < 0 || found_in(g, n, word);
}

static int push(struct bpe_trainer *g, int32_t n) {
  int32_t pair[2];
  size_t bytes;
  memcpy(pair, attn_intern_key(&g->pairs, (size_t)n, &bytes), sizeof pair);
  return attn_heap_push(&g->heap, ~(uint64_t)g->pair[n].count,
                        (uint64_t)pair[0] << 32 | (uint32_t)pair[1]);
}

static int push_changed(struct bpe_trainer *g) {
  for (size_t n = 0; n < g->changes; n++) {
    struct bpe_pair *p = &g->pair[g->changed[n]];
    p->changed = 0;
    if (p->count > 0 && !push(g, g->changed[n])) return 0;
  }
  g->changes = 0;
  return 1;
}

/* Returns 0 if the watch stops the training. */
static int report_progress(struct bpe_trainer *g, size_t done, size_t total) {
  g->stopped = report(g->watch, done, total, g->err);
  return !g->stopped;
}

/* ---- The words of the texts ---- */

static int count_words(struct bpe_trainer *g, const struct attn_text_view *text) {
  for (size_t at = 0, bytes; at < text->length; at += bytes) {
    size_t before = g->words.count;
    bytes = attn_gpt2_word_length(text->text + at, text->length - at);
    if (!attn_grow((void **)&g->times, &g->times_capacity, before + 1, sizeof *g->times)) return 0;
    int32_t n = attn_intern_add(&g->words, text->text + at, bytes);
    if (n < 0) return 0;
    if (g->words.count > before) g->times[n] = 0;
    g->times[n]++;
  }
  return 1;
}

static int spell(struct bpe_trainer *g, size_t word, size_t at) {
  size_t bytes;
  const char *text = attn_intern_key(&g->words, word, &bytes);
  g->start[word] = at;
  g->length[word] = bytes;
  for (size_t n = 0; n < bytes; n++) {
    g->symbol[at + n] = g->tokenizer->byte[(unsigned char)text[n]];
    if (n && !change(g, g->symbol[at + n - 1], g->symbol[at + n], 1, (int32_t)word)) return 0;
  }
  return 1;
}

static int spell_words(struct bpe_trainer *g) {
  g->symbol = malloc((g->words.used + 1) * sizeof *g->symbol);
  g->start = malloc((g->words.count + 1) * sizeof *g->start);
  g->length = malloc((g->words.count + 1) * sizeof *g->length);
  if (!g->symbol || !g->start || !g->length) return 0;
  for (size_t n = 0; n < g->words.count; n++)
    if (!report_progress(g, n, g->words.count) || !spell(g, n, g->words.start[n])) return 0;
  return push_changed(g);
}

/* ---- Merging ---- */

static int merge_in(struct bpe_trainer *g, int32_t word, int32_t left, int32_t right,
                    int32_t merged) {
  int32_t *s = g->symbol + g->start[word];
  size_t n = g->length[word], kept = 0;
  int whole = 1;
  for (size_t i = 0; i < n && whole; i++) {
    if (s[i] != left || i + 1 >= n || s[i + 1] != right) {
      s[kept++] = s[i];
      continue;
    }
    if (kept)
      whole = change(g, s[kept - 1], left, -1, word) && change(g, s[kept - 1], merged, 1, word);
    if (whole && i + 2 < n)
      whole = change(g, right, s[i + 2], -1, word) && change(g, merged, s[i + 2], 1, word);
    s[kept++] = merged;
    i++;
  }
  g->length[word] = kept;
  return whole;
}

static int merge_everywhere(struct bpe_trainer *g, int32_t n, int32_t left, int32_t right,
                            int32_t merged) {
  int64_t where = g->pair[n].where;
  g->pair[n].where = NOWHERE;
  for (; where != NOWHERE; where = g->place[where].next)
    if (!merge_in(g, g->place[where].word, left, right, merged)) return 0;
  g->pair[n].count = 0; /* all merged; in aaa the overlapping second pair was counted too */
  return push_changed(g);
}

/* Sets *merged to the token of the two concatenated, known or new. It is never a special token:
 * those are not spelled by merges. */
static int join(struct attn_tokenizer *t, int32_t left, int32_t right, int32_t *merged) {
  size_t a, b;
  const char *one = attn_intern_key(&t->tokens, (size_t)left, &a);
  const char *two = attn_intern_key(&t->tokens, (size_t)right, &b);
  char *word = malloc(a + b);
  if (!word) return 0;
  memcpy(word, one, a);
  memcpy(word + a, two, b);
  *merged = attn_intern_find(&t->tokens, word, a + b);
  int whole = *merged >= 0 || attn_vocabulary_add(t, word, a + b, 0);
  if (*merged < 0) *merged = (int32_t)t->tokens.count - 1;
  free(word);
  return whole;
}

static int merge(struct bpe_trainer *g, int32_t n, int32_t left, int32_t right) {
  int32_t merged;
  if (!join(g->tokenizer, left, right, &merged)) return 0;
  /* A pair recurs if another merge produces one of its tokens: its merge is known then. */
  if (!attn_vocabulary_find_merge(g->tokenizer, left, right) &&
      !attn_vocabulary_add_merge(g->tokenizer, left, right, merged))
    return 0;
  return merge_everywhere(g, n, left, right, merged);
}

static int merge_all(struct bpe_trainer *g, size_t vocab_size) {
  while (g->heap.count && g->tokenizer->tokens.count < vocab_size) {
    g->stopped = attn_watch_report(g->watch, (int64_t)g->tokenizer->tokens.count,
                                   (int64_t)vocab_size, g->err);
    if (g->stopped) return 0;
    struct attn_heap_item top = attn_heap_pop(&g->heap);
    int32_t left = (int32_t)(top.second >> 32), right = (int32_t)(uint32_t)top.second;
    int32_t n = pair_number(g, left, right);
    if (n < 0) return 0;
    int whole = 1;
    if (g->pair[n].count == (int64_t)~top.first)
      whole = merge(g, n, left, right);
    else if (g->pair[n].count > 0)
      whole = push(g, n);
    if (!whole) return 0;
  }
  return 1;
}

/* ---- Byte pairs ---- */

/* Letters in ascending order, as Hugging Face sorts them: ids break ties between equal counts. */
static int add_letters(struct attn_tokenizer *t) {
  for (int32_t letter = 0; letter < 256 + 68; letter++)
    if (attn_unicode_to_byte(letter) >= 0 && !add_code(t, letter)) return 0;
  return 1;
}

static int train(struct bpe_trainer *g, const struct attn_text_view *texts, size_t count,
                 size_t vocab_size) {
  g->tokenizer = attn_vocabulary_new(ATTN_TOKENIZER_BPE);
  if (!g->tokenizer || !add_special(g->tokenizer) || !add_letters(g->tokenizer)) return 0;
  for (size_t n = 0; n < count; n++)
    if (!report_progress(g, n, count) || !count_words(g, &texts[n])) return 0;
  return spell_words(g) && merge_all(g, vocab_size);
}

attn_status attn_tokenizer_train_bpe(const struct attn_text_view *texts, size_t count,
                                     int64_t vocab_size, struct attn_watch *watch,
                                     struct attn_tokenizer **tokenizer, attn_error *err) {
  struct bpe_trainer g = {.watch = watch, .err = err};
  if (vocab_size < ATTN_NUM_SPECIAL_TOKENS + 256 || vocab_size > ATTN_VOCAB_SIZE_MAX)
    return attn_fail(
        err, ATTN_ERR_ARGUMENT, "vocab_size",
        "vocab_size must be between 260 (four special tokens and every byte) and 2^24, "
        "got %lld",
        (long long)vocab_size);
  int whole = train(&g, texts, count, (size_t)vocab_size);
  training_free(&g);
  if (!whole) {
    attn_tokenizer_free(g.tokenizer);
    return g.stopped ? g.stopped : no_memory(err);
  }
  *tokenizer = g.tokenizer;
  return ATTN_OK;
}
