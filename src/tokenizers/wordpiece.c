/* wordpiece.c -- text cut as BERT cuts it: cleaned, words and marks apart, each word into the
 * longest pieces of the vocabulary from the left. [Devlin et al. 2018, tokenization.py;
 * huggingface/tokenizers: normalizers::bert, pre_tokenizers::bert, models::wordpiece]
 *
 * All of it happens as characters go by: what is held is one word, and of that no more than may
 * have a piece. So Unicode's canonical order, which may move marks about, is kept within a word. */
#include "wordpiece.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "error.h"

enum { DECOMPOSED = 18, UTF8_MOST = 4, I_DOTTED = 0x130, DOT_ABOVE = 0x307 };

struct wordpiece_encoder {
  const struct attn_tokenizer *t;
  const struct attn_wordpiece *w;
  struct attn_token_output *out;
  int32_t *word;          /* (w->letters): what is held of the word */
  char *room;             /* room for a prefix, and the word as UTF-8 behind it */
  int64_t count;          /* characters of the word */
  int64_t unmoving;       /* those before this one have their places for good */
  size_t begin, at, next; /* bytes of the text: where the word and this character begin, and end */
};

/* ---- Characters ---- */

static int is_control(int32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return 0;
  utf8proc_category_t k = utf8proc_category(c);
  return k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_CO;
}

static int is_mark(int32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  utf8proc_category_t k = utf8proc_category(c);
  return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
}

/* The blocks of ideographs that there were then; U+2B820 to U+2B91F are left out there too. */
static int is_chinese(int32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

static int class_of(int32_t c) { return utf8proc_get_property(c)->combining_class; }

/* ---- A word into pieces ---- */

static int32_t find(const struct attn_tokenizer *t, const char *piece, size_t bytes) {
  int32_t id = attn_intern_find(&t->words, piece, bytes);
  return id >= 0 && t->special[id] ? -1 : id;
}

/* The end of the character before. */
static size_t step_back(const char *text, size_t end) {
  do end--;
  while (((unsigned char)text[end] & 0xC0) == 0x80);
  return end;
}

/* The longest piece at `at`, its end in *end; -1: none. The prefix is written over what is done. */
static int32_t find_longest(const struct wordpiece_encoder *c, char *text, size_t at, size_t *end) {
  size_t prefix = at ? c->w->prefix_bytes : 0, bytes = *end;
  size_t most = c->w->longest > prefix ? c->w->longest - prefix : 0;
  int32_t id = -1;
  if (prefix) memcpy(text + at - prefix, c->w->prefix, prefix);
  if (bytes - at > most) bytes = step_back(text, at + most + 1);
  for (; bytes > at; bytes = step_back(text, bytes))
    if ((id = find(c->t, text + at - prefix, bytes - at + prefix)) >= 0) break;
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

/* What is not all in the vocabulary, or too long, is one unknown word. */
static void end_word(struct wordpiece_encoder *c, size_t end) {
  size_t before = c->out->count, bytes = 0;
  char *text = c->room + c->w->prefix_bytes;
  int fits = c->count <= c->w->letters;
  for (int64_t n = 0; fits && n < c->count; n++) bytes += attn_utf8_write(c->word[n], text + bytes);
  if (!fits || !cut(c, text, bytes)) {
    c->out->count = before;
    attn_token_output_put_unknown(c->out, c->t->unknown, c->begin, end - c->begin);
  }
  c->count = c->unmoving = 0;
}

/* ---- Characters into words ---- */

/* In canonical order: behind what has a class no higher, back to the last that has none. */
static void hold(struct wordpiece_encoder *c, int32_t code, int class) {
  int64_t at = c->count;
  if (!at) c->begin = c->at;
  if (c->count++ >= c->w->letters) return;
  for (; class && at > c->unmoving && class_of(c->word[at - 1]) > class; at--)
    c->word[at] = c->word[at - 1];
  c->word[at] = code;
  if (!class) c->unmoving = c->count;
}

static void add(struct wordpiece_encoder *c, int32_t code) {
  int class = c->w->strips ? class_of(code) : 0; /* else nothing is decomposed, nor put in order */
  if (c->w->lowers) code = utf8proc_tolower(code);
  if (!is_mark(code)) {
    hold(c, code, class);
    return;
  }
  if (c->count) end_word(c, c->at);
  hold(c, code, 0);
  end_word(c, c->next);
}

/* An accent that is left out still keeps those behind it from moving before it, if it has no class.
 */
static void add_bare(struct wordpiece_encoder *c, int32_t code) {
  int32_t parts[DECOMPOSED];
  int boundary = 0;
  utf8proc_ssize_t n =
      utf8proc_decompose_char(code, parts, DECOMPOSED, UTF8PROC_DECOMPOSE, &boundary);
  for (utf8proc_ssize_t k = 0; k < n && k < DECOMPOSED; k++) {
    if (utf8proc_category(parts[k]) != UTF8PROC_CATEGORY_MN)
      add(c, parts[k]);
    else if (!class_of(parts[k]))
      c->unmoving = c->count < c->w->letters ? c->count : c->w->letters;
  }
}

static void add_any(struct wordpiece_encoder *c, int32_t code) {
  if (c->w->strips) {
    add_bare(c, code);
    return;
  }
  add(c, code);
  if (code == I_DOTTED && c->w->lowers) add(c, DOT_ABOVE); /* whose small letter is two */
}

static void take(struct wordpiece_encoder *c, int32_t code) {
  if (c->w->cleans && (code == 0 || code == 0xFFFD || is_control(code))) return;
  int alone = c->w->parts && is_chinese(code), space = attn_is_space(code);
  if ((alone || space) && c->count) end_word(c, c->at);
  if (!space) add_any(c, code);
  if (alone && c->count) end_word(c, c->next);
}

attn_status attn_wordpiece_encode(const struct attn_tokenizer *t, const char *text, size_t length,
                                  struct attn_token_output *out, attn_error *err) {
  struct wordpiece_encoder c = {.t = t, .w = &t->pieces, .out = out};
  size_t letters = (size_t)c.w->letters, at = 0, bytes;
  int32_t code;
  c.word = malloc(letters * sizeof *c.word);
  c.room = malloc(c.w->prefix_bytes + letters * UTF8_MOST);
  for (; c.word && c.room && at < length; at += bytes) {
    if (!(bytes = attn_utf8_read(text + at, length - at, &code))) break;
    c.at = at, c.next = at + bytes;
    take(&c, code);
  }
  attn_status status = ATTN_OK;
  if (!c.word || !c.room)
    status = attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a word of %zu letters", letters);
  else if (at < length)
    status = attn_fail_invalid_utf8(text, at, err);
  else if (c.count)
    end_word(&c, length);
  free(c.word), free(c.room);
  return status;
}

/* ---- Back to text ---- */

/* What stands right behind the word before it. [tokenizers: decoders::wordpiece::cleanup] */
static int clings(const char *word, size_t bytes) {
  static const char *const begins[] = {".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"};
  for (size_t n = 0; n < sizeof begins / sizeof *begins; n++)
    if (bytes >= strlen(begins[n]) && !memcmp(word, begins[n], strlen(begins[n]))) return 1;
  return 0;
}

size_t attn_wordpiece_join(const struct attn_tokenizer *t, const char *word, size_t bytes,
                           int *space) {
  const struct attn_wordpiece *w = &t->pieces;
  size_t prefix = w->prefix_bytes;
  int goes_on = bytes >= prefix && !memcmp(word, w->prefix ? w->prefix : "", prefix);
  *space = !goes_on && !(w->tidies && clings(word, bytes));
  return goes_on ? prefix : 0;
}
