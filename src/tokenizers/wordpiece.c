/* wordpiece.c -- BERT's tokenization: clean the text, separate words and punctuation, split each
 * word into the longest pieces of the vocabulary from the left. [Devlin et al. 2018,
 * tokenization.py; huggingface/tokenizers: normalizers::bert, pre_tokenizers::bert,
 * models::wordpiece]
 *
 * One pass over the characters holds one word, and no more of it than can have a piece. Unicode's
 * canonical order, which may reorder combining marks, is therefore applied within a word. */
#include "wordpiece.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "error.h"

enum {
  DECOMPOSED_MAX = 18, /* code points of the longest decomposition of one */
  UTF8_MAX = 4,        /* bytes of a code point */
  I_DOTTED = 0x130,
  DOT_ABOVE = 0x307
};

struct wordpiece_encoder {
  const struct attn_tokenizer *t;
  const struct attn_wordpiece *w;
  struct attn_token_output *out;
  int32_t *word; /* (w->max_word_chars): the word so far */
  char *buffer;  /* a prefix, then the word as UTF-8 */
  int64_t count; /* characters of the word */
  int64_t fixed; /* characters before this one keep their position */
  size_t begin, at,
      next; /* byte offsets: the start of the word, and the start and end of this character */
};

/* ---- Characters ---- */

static int is_control(int32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return 0;
  utf8proc_category_t k = utf8proc_category(c);
  return k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_CO;
}

static int is_punctuation(int32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  utf8proc_category_t k = utf8proc_category(c);
  return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
}

/* BERT's blocks of ideographs, which also omit U+2B820 to U+2B91F. */
static int is_chinese(int32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

static int class_of(int32_t c) { return utf8proc_get_property(c)->combining_class; }

/* ---- A word into pieces ---- */

/* The start of the character that ends at end. */
static size_t step_back(const char *text, size_t end) {
  do end--;
  while (((unsigned char)text[end] & 0xC0) == 0x80);
  return end;
}

/* The longest piece at `at`, its end in *end; -1: none. The prefix overwrites text already encoded.
 */
static int32_t find_longest(const struct wordpiece_encoder *c, char *text, size_t at, size_t *end) {
  size_t prefix = at ? c->w->prefix_bytes : 0, bytes = *end;
  size_t most = c->w->max_token_bytes > prefix ? c->w->max_token_bytes - prefix : 0;
  int32_t id = -1;
  if (prefix) memcpy(text + at - prefix, c->w->prefix, prefix);
  if (bytes - at > most) bytes = step_back(text, at + most + 1);
  for (; bytes > at; bytes = step_back(text, bytes))
    if ((id = attn_vocabulary_find(c->t, text + at - prefix, bytes - at + prefix)) >= 0) break;
  *end = bytes;
  return id;
}

static int cut(const struct wordpiece_encoder *c, char *text, size_t bytes) {
  for (size_t at = 0, end; at < bytes; at = end) {
    end = bytes;
    int32_t id = find_longest(c, text, at, &end);
    if (id < 0) return 0;
    attn_token_output_put(c->out, id);
  }
  return 1;
}

/* A word that the vocabulary does not cover, or that is too long, is one unknown token. */
static void end_word(struct wordpiece_encoder *c, size_t end) {
  size_t before = c->out->count, bytes = 0;
  char *text = c->buffer + c->w->prefix_bytes;
  int fits = c->count <= c->w->max_word_chars;
  for (int64_t n = 0; fits && n < c->count; n++) bytes += attn_utf8_write(c->word[n], text + bytes);
  if (!fits || !cut(c, text, bytes)) {
    c->out->count = before;
    attn_token_output_put_text(c->out, -1, c->t->unknown, c->begin, end - c->begin);
  }
  c->count = c->fixed = 0;
}

/* ---- Characters into words ---- */

/* Inserts in canonical order: after characters of a class that is not higher, at most back to the
 * last of class 0. */
static void hold(struct wordpiece_encoder *c, int32_t code, int class) {
  int64_t at = c->count;
  if (!at) c->begin = c->at;
  if (c->count++ >= c->w->max_word_chars) return;
  for (; class && at > c->fixed && class_of(c->word[at - 1]) > class; at--)
    c->word[at] = c->word[at - 1];
  c->word[at] = code;
  if (!class) c->fixed = c->count;
}

static void add(struct wordpiece_encoder *c, int32_t code) {
  int class =
      c->w->strip_accents ? class_of(code) : 0; /* otherwise nothing is decomposed or reordered */
  if (c->w->lowercase) code = utf8proc_tolower(code);
  if (!is_punctuation(code)) {
    hold(c, code, class);
    return;
  }
  if (c->count) end_word(c, c->at);
  hold(c, code, 0);
  end_word(c, c->next);
}

/* A dropped accent of class 0 still keeps later marks from moving before it. */
static void add_bare(struct wordpiece_encoder *c, int32_t code) {
  int32_t parts[DECOMPOSED_MAX];
  int boundary = 0;
  utf8proc_ssize_t n =
      utf8proc_decompose_char(code, parts, DECOMPOSED_MAX, UTF8PROC_DECOMPOSE, &boundary);
  for (utf8proc_ssize_t k = 0; k < n && k < DECOMPOSED_MAX; k++) {
    if (utf8proc_category(parts[k]) != UTF8PROC_CATEGORY_MN)
      add(c, parts[k]);
    else if (!class_of(parts[k]))
      c->fixed = c->count < c->w->max_word_chars ? c->count : c->w->max_word_chars;
  }
}

static void add_any(struct wordpiece_encoder *c, int32_t code) {
  if (c->w->strip_accents) {
    add_bare(c, code);
    return;
  }
  add(c, code);
  if (code == I_DOTTED && c->w->lowercase) add(c, DOT_ABOVE); /* its lowercase is two characters */
}

static void take(struct wordpiece_encoder *c, int32_t code) {
  if (c->w->clean_text && (code == 0 || code == 0xFFFD || is_control(code))) return;
  int alone = c->w->handle_chinese_chars && is_chinese(code), space = attn_is_space(code);
  if ((alone || space) && c->count) end_word(c, c->at);
  if (!space) add_any(c, code);
  if (alone && c->count) end_word(c, c->next);
}

attn_status attn_wordpiece_encode(const struct attn_tokenizer *t, const char *text, size_t length,
                                  struct attn_token_output *out, attn_error *err) {
  struct wordpiece_encoder c = {.t = t, .w = &t->wordpiece, .out = out};
  size_t letters = (size_t)c.w->max_word_chars, at = 0, bytes;
  int32_t code;
  c.word = malloc(letters * sizeof *c.word);
  c.buffer = malloc(c.w->prefix_bytes + letters * UTF8_MAX);
  for (; c.word && c.buffer && at < length; at += bytes) {
    if (!(bytes = attn_utf8_read(text + at, length - at, &code))) break;
    c.at = at, c.next = at + bytes;
    take(&c, code);
  }
  attn_status status = ATTN_OK;
  if (!c.word || !c.buffer)
    status =
        attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a word of %zu characters", letters);
  else if (at < length)
    status = attn_fail_invalid_utf8(text, at, err);
  else if (c.count)
    end_word(&c, length);
  free(c.word), free(c.buffer);
  return status;
}

/* ---- Back to text ---- */

/* Whether the word follows the previous one without a space.
 * [tokenizers: decoders::wordpiece::cleanup] */
static int attaches(const char *word, size_t bytes) {
  static const char *const begins[] = {".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"};
  for (size_t n = 0; n < sizeof begins / sizeof *begins; n++)
    if (bytes >= strlen(begins[n]) && !memcmp(word, begins[n], strlen(begins[n]))) return 1;
  return 0;
}

size_t attn_wordpiece_join(const struct attn_tokenizer *t, const char *word, size_t bytes,
                           int *space) {
  const struct attn_wordpiece *w = &t->wordpiece;
  size_t prefix = w->prefix_bytes;
  int continues = bytes >= prefix && !memcmp(word, w->prefix ? w->prefix : "", prefix);
  *space = !continues && !(w->cleanup && attaches(word, bytes));
  return continues ? prefix : 0;
}
