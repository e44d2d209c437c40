/* items.c -- the numbers of the text in their order, and what each list of them is called. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "fact_tokens.h"
#include "sequence.h"
#include "steps.h"

/* Single words of longer names. */
static const struct {
  const char *words;
  int step, is_weak; /* not after another word of its sentence: "value vector" */
} WORDS[] = {
    {"dot product products", ATTN_STEP_SCORES, 0},
    {"divide divided dividing scale scaling over sqrt root temperature τ tau", ATTN_STEP_SCALED, 0},
    {"exponentiate exponentiating e", ATTN_STEP_EXPONENTIALS, 0},
    {"normalized normalised percent share shares", ATTN_STEP_WEIGHTS, 0},
    {"encoder エンコーダ エンコーダー", ATTN_STEP_K, 0},
    {"ask asks asking decoder デコーダ デコーダー", ATTN_STEP_Q, 0},
    {"result vector representation becomes answer weighted 加重和", ATTN_STEP_OUTPUT, 1},
    {"hidden 隠", ATTN_STEP_K, 1},
    {"h", ATTN_STEP_K, 1},
};

struct reader {
  struct attn_sequence *s;
  struct attn_fact_reader *r;
  int last;                  /* the token after the last number; -1: none in the line */
  int words;                 /* since then */
  int called, is_own, index; /* of the next list, see attn_item_list */
  int is_set;                /* 1: by a name in front of a sign of equality */
  int is_in_sentence;        /* 1: the name is in the sentence of this token */
  int inputs;                /* 1 << (step - ATTN_STEP_Q) of each that the line of the name names */
  int name_line;
  char word[ATTN_WORDS][ATTN_WORD_BYTES];
};

/* The text of a token in small letters. Empty: there is none, or it is longer. */
static void text_of(const struct reader *x, int at, char word[ATTN_WORD_BYTES]) {
  *word = 0;
  if (at < 0 || at >= x->r->tokens) return;
  struct attn_part p = x->r->token[at].part;
  size_t bytes = p.end - p.begin;
  if (bytes >= ATTN_WORD_BYTES) return;
  memcpy(word, x->r->line->text + p.begin, bytes);
  word[bytes] = 0;
  for (char *c = word; *c; c++)
    if (*c >= 'A' && *c <= 'Z') *c += 'a' - 'A';
}

static int is_one_of(const struct reader *x, int at, const char *words) {
  char word[ATTN_WORD_BYTES];
  text_of(x, at, word);
  return *word && attn_is_listed(words, word, strlen(word));
}

/* W_Q, of three tokens; -1: none. */
static int projection_at(const struct reader *x, int at) {
  static const char *const OF[] = {"q", "k", "v"};
  if (!is_one_of(x, at, "w") || !attn_fact_is_sign(x->r, at + 1, "_^")) return -1;
  for (int n = 0; n < 3; n++)
    if (is_one_of(x, at + 2, OF[n])) return ATTN_STEP_W_Q + n;
  return -1;
}

static int step_of_word(const struct reader *x, int at) {
  char word[ATTN_WORD_BYTES];
  int projection = projection_at(x, at);
  if (projection >= 0) return projection;
  text_of(x, at, word);
  int is_symbol = attn_fact_is_kind(x->r, at + 1, TOKEN_INDEX) ||
                  attn_fact_is_sign(x->r, at + 1, "=_") || is_one_of(x, at + 1, "の");
  if (!*word || (!word[1] && !is_symbol && !strchr("qkv", *word))) return -1;
  if (!word[1] && !strchr("qkvhsuw", *word) && is_one_of(x, at - 1, "query key value . · * @"))
    return -1;                                                            /* key A, q · A */
  if (*word == 'h' && !word[1] && is_one_of(x, at - 1, "u w")) return -1; /* U h1 */
  int step = attn_step_called(word);
  for (size_t n = 0; step < 0 && n < sizeof WORDS / sizeof *WORDS; n++)
    if ((!WORDS[n].is_weak || !x->is_own || !x->is_in_sentence) &&
        attn_is_listed(WORDS[n].words, word, strlen(word)))
      step = WORDS[n].step;
  return step;
}

/* Notes what the word at `at` calls the numbers after it; not the cat of k_cat. */
static void read_word(struct reader *x, int at) {
  int step = attn_fact_is_sign(x->r, at - 1, "_") ? -1 : step_of_word(x, at);
  if (step >= 0 && !x->is_set) {
    int sign = at + 1 + attn_fact_is_kind(x->r, at + 1, TOKEN_INDEX);
    x->called = step, x->is_own = x->is_in_sentence = 1;
    x->is_set = attn_fact_is_sign(x->r, sign, "=");
    if (x->name_line != x->r->line->line) x->inputs = 0;
    x->name_line = x->r->line->line;
    if (step >= ATTN_STEP_Q && step <= ATTN_STEP_V) x->inputs |= 1 << (step - ATTN_STEP_Q);
  } else if (step < 0)
    text_of(x, at, x->word[x->words % ATTN_WORDS]);
  int is_of_key = step == ATTN_STEP_K || step == ATTN_STEP_SCORES || step == ATTN_STEP_WEIGHTS;
  if (is_of_key && attn_fact_is_kind(x->r, at + 1, TOKEN_INDEX))
    x->index = atoi(x->r->line->text + x->r->token[at + 1].part.begin);
  x->words++;
}

/* "0.7 for the sun, 0.3": what is in front of the comma is of the number before it. */
static void forget_labels(struct reader *x) {
  memset(x->word, 0, sizeof x->word);
  x->index = 0;
}

/* Not the bullet in front of a line. */
static int is_operator(const struct reader *x, int at) {
  if (is_one_of(x, at, "^") && is_one_of(x, at + 1, "t ⊤")) return 0; /* transposed */
  return is_one_of(x, at, "* + ^ x × · ⋅ ∙ ÷ √ sqrt root") || (at > 0 && is_one_of(x, at, "-"));
}

static int is_number(const struct reader *x, int at) {
  return attn_fact_is_kind(x->r, at, TOKEN_NUMBER) || attn_fact_is_kind(x->r, at, TOKEN_VALUE);
}

/* "4.10 over 6.23 is" */
static int is_over(const struct reader *x, int at) {
  return is_one_of(x, at, "over") && is_number(x, at - 1) && is_number(x, at + 1) &&
         is_one_of(x, at + 2, "is = gives");
}

/* "2.83 / 4.83 =", but not the list "0.33 / 0.67" */
static int is_division(const struct reader *x, int at) {
  if (is_over(x, at)) return 1;
  if (!attn_fact_is_sign(x->r, at, "/")) return 0;
  while (attn_fact_is_sign(x->r, at, "/") && is_number(x, at + 1)) at += 2;
  return attn_fact_is_sign(x->r, at, "=") || !is_number(x, at - 1) || is_operator(x, at);
}

/* softmax(1.2, 0.5), exp(0.3), softmax [1.2, 0.5] */
static int is_argument(const struct reader *x, int at) {
  int open = at - 1;
  while (attn_fact_is_kind(x->r, open, TOKEN_NUMBER) || attn_fact_is_sign(x->r, open, ",")) open--;
  int is_called = attn_fact_is_sign(x->r, open, "(") || attn_fact_is_kind(x->r, at, TOKEN_VALUE);
  if (attn_fact_is_sign(x->r, open, "(")) open--;
  return is_called && is_one_of(x, open, "exp softmax");
}

/* The 1 of "1 / √2" */
static int is_numerator(const struct reader *x, int at) {
  return attn_fact_is_whole(x->r, at) && x->r->token[at].cell.value == 1 &&
         !attn_fact_is_sign(x->r, at - 1, "=") && attn_fact_is_sign(x->r, at + 1, "/") &&
         is_one_of(x, at + 2, "√ sqrt");
}

/* The 1 of "key 1 (0.5, 1)", of "key 1   key 2", of "query 1 with key 2" */
static int is_index_of_vector(const struct reader *x, int at) {
  char word[ATTN_WORD_BYTES];
  text_of(x, at - 1, word);
  if (at < 1 || !is_one_of(x, at - 1, "query key value weight score")) return 0;
  return attn_fact_is_kind(x->r, at + 1, TOKEN_VALUE) || is_one_of(x, at + 1, word) ||
         attn_fact_is_sign(x->r, at + 1, ":=?") || is_one_of(x, at + 1, "with to on") ||
         (at > 2 && at + 1 == x->r->tokens && is_one_of(x, at - 3, word));
}

/* The 2.718 of "e, which is about 2.718" */
static int is_base(const struct reader *x, int at) {
  const attn_cell *cell = &x->r->token[at].cell;
  return is_one_of(x, at - 1, "about approximately roughly 約 およそ") && cell->decimals > 1 &&
         fabs(cell->value - exp(1)) <= attn_cell_half(cell);
}

/* "2." or "3)" in front of a line or heading, the 1 of "token 1", the 2 of "2つ目" */
static int is_index(const struct reader *x, int at) {
  static const char COUNTED[] =
      "token tokens word row column step head position part section problem exercise example page "
      "トークン 単語 行 列 ステップ 問 例 図 表 章 節 第";
  static const char COUNTER[] = "つ|番|次元|個|語|人|回|桁|単語|組|[行列]目";
  size_t end = x->r->token[at].part.end;
  if (!attn_fact_is_whole(x->r, at)) return 0;
  if (attn_match_at(x->s->g->scan->patterns, COUNTER, x->r->line->text, x->r->line->bytes, end,
                    NULL))
    return 1;
  if (is_one_of(x, at + 1, "decimals decimal digits places") || is_index_of_vector(x, at)) return 1;
  if (at > 0 && is_one_of(x, at - 1, COUNTED)) return 1;
  if (at > 1 && is_one_of(x, at - 1, "number") && is_one_of(x, at - 2, COUNTED)) return 1;
  int begin = at;
  while (begin > 0 && attn_fact_is_sign(x->r, begin - 1, "#")) begin--;
  return begin == 0 &&
         (x->r->line->text[end - 1] == '.' || attn_fact_is_sign(x->r, at + 1, ".):/"));
}

/* The dot between "1行目 [1, 0]・2行目 [0, 1]" */
static int is_separator(const struct reader *x, int at) {
  return is_one_of(x, at, "·") && (at + 1 == x->r->tokens || is_index(x, at + 1));
}

static int is_operand(const struct reader *x, int at) {
  int before = at - 1, after = at + 1;
  while (attn_fact_is_sign(x->r, before, "(")) before--;
  while (attn_fact_is_sign(x->r, after, ")")) after++;
  if (attn_fact_is_kind(x->r, at + 1, TOKEN_WORD) && attn_fact_is_kind(x->r, at + 2, TOKEN_INDEX))
    return 1; /* 0.5 v1 */
  return is_operator(x, before) || (is_operator(x, after) && !is_separator(x, after)) ||
         is_division(x, after) || is_over(x, before) ||
         (attn_fact_is_sign(x->r, before, "/") && is_division(x, before)) || is_argument(x, at);
}

/* The numbers of "(3/6)", which count parts */
static int is_part(const struct reader *x, int at) {
  return attn_fact_is_whole(x->r, at) && attn_fact_is_sign(x->r, at - 1, "(") &&
         attn_fact_is_sign(x->r, at + 1, "/") && attn_fact_is_whole(x->r, at + 2) &&
         attn_fact_is_sign(x->r, at + 3, ")");
}

/* √2, sqrt(2), the root of 2 */
static int is_root(const struct reader *x, int at) {
  if (is_one_of(x, at - 1, "of") && is_one_of(x, at - 2, "root")) return 1;
  return is_one_of(x, at - 1 - attn_fact_is_sign(x->r, at - 1, "("), "√ sqrt");
}

/* The 1.414 of "√2 ≈ 1.414" and "√2 (= 1.414)", but not of "2 / √2 ≈ 1.414" */
static int is_value_of_root(const struct reader *x, int at) {
  int of = at - 2 - is_one_of(x, at - 2, "( )");
  if (!attn_fact_is_sign(x->r, at - 1, "=") || !attn_fact_is_whole(x->r, of) || !is_root(x, of))
    return 0;
  int sign = of - 1 - attn_fact_is_sign(x->r, of - 1, "(");
  if (is_one_of(x, sign - 1, "/ ÷")) return 0;
  double root = sqrt(x->r->token[of].cell.value);
  return attn_fact_is_kind(x->r, at, TOKEN_NUMBER) &&
         fabs(x->r->token[at].cell.value - root) < .01 * root;
}

/* The 1.41 of "divided by 1.41", of "the root of 2 (1.41)" */
static int is_divisor(const struct reader *x, int at) {
  const attn_cell *cell = &x->r->token[at].cell;
  if (!attn_fact_is_kind(x->r, at, TOKEN_NUMBER)) return 0;
  double size = rint(cell->value * cell->value);
  int is_aside = attn_fact_is_sign(x->r, at - 1, "(") && attn_fact_is_sign(x->r, at + 1, ")") &&
                 attn_fact_is_whole(x->r, at - 2) && x->r->token[at - 2].cell.value == size;
  if (!is_aside && !is_one_of(x, at - 1, "by over ÷")) return 0;
  return cell->decimals > 1 && size > 1 && fabs(sqrt(size) - cell->value) <= attn_cell_half(cell);
}

/* Is it a whole number after such words? They begin within the last characters in front of it. */
static int is_whole_after(const struct reader *x, int at, const char *words, int characters) {
  const struct attn_part front = {0, x->r->token[at].part.begin};
  return attn_fact_is_whole(x->r, at) &&
         attn_part_ends_in(x->s->g, words, x->r->line->text, front, characters);
}

/* The 1 of "they add up to 1" */
static int is_whole(const struct reader *x, int at) {
  static const char ADDS_UP[] =
      "(?i)(?:\\b(?:adds? up|adding up|sums?|summing) to|合わせて|合計[はが]?|足す?と|和[はが]) ?$";
  enum { CHARACTERS = 16 };
  return x->r->token[at].cell.value == 1 && is_whole_after(x, at, ADDS_UP, CHARACTERS);
}

/* The 4 of "the dimension is 4", "次元が4なので" */
static int is_size(const struct reader *x, int at) {
  static const char SIZE[] = "(?i)(?:\\bdimension(?: is| of| =)?|次元数?[はが]?) ?$";
  enum { CHARACTERS = 16 };
  return is_whole_after(x, at, SIZE, CHARACTERS);
}

/* The sums of "(1×2 + 0×1, 1×0 + 0×1) = (2, 0)" */
static int is_working(const struct reader *x, int at) {
  return attn_fact_is_kind(x->r, at, TOKEN_VALUE) && attn_fact_is_sign(x->r, at + 1, "=") &&
         attn_fact_is_kind(x->r, at + 2, TOKEN_VALUE);
}

/* The 4 of "ghci> printRounded 4 z" */
static int is_of_command(const struct reader *x, int at) {
  static const char PROMPT[] = "(?:[A-Za-z]>|>>>?)[ \\t][A-Za-z_][\\w. \\t]*+\\(?$";
  enum { CHARACTERS = 40 };
  return is_whole_after(x, at, PROMPT, CHARACTERS);
}

/* 18:33 */
static int is_time(const struct reader *x, int at) {
  if (!attn_fact_is_whole(x->r, at) || !attn_fact_is_sign(x->r, at + 1, ":") ||
      !attn_fact_is_whole(x->r, at + 2))
    return 0;
  const struct attn_part *hour = &x->r->token[at].part, *minute = &x->r->token[at + 2].part;
  return minute->begin == hour->end + 1 && minute->end == minute->begin + 2;
}

/* 2023; 2021/7/18 are three numbers together. */
static int is_year(const struct reader *x, int at) {
  return attn_fact_is_whole(x->r, at) && attn_is_year(&x->r->token[at].cell) &&
         !attn_fact_is_sign(x->r, at + 1, "/");
}

static int is_of_date(const struct reader *x, int at) {
  return is_year(x, at) || is_time(x, at) || is_time(x, at - 2);
}

static int is_excluded(const struct reader *x, int at) {
  return is_of_date(x, at) || is_of_command(x, at) || is_operand(x, at) || is_root(x, at) ||
         is_divisor(x, at) || is_base(x, at) || is_numerator(x, at) || is_index(x, at) ||
         is_value_of_root(x, at) || is_working(x, at) || is_whole(x, at) || is_size(x, at) ||
         is_part(x, at) || is_part(x, at - 2);
}

static struct attn_item_list *begin_list(struct reader *x, int at) {
  static const int ALL = 7;
  struct attn_sequence *s = x->s;
  if (x->inputs == ALL && !x->is_set) x->is_own = 0; /* "queries, keys and values": none of them */
  struct attn_item_list *l = &s->list[s->lists++];
  *l = (struct attn_item_list){.first = s->items,
                               .called = x->called,
                               .is_own = x->is_own,
                               .is_set = x->is_set,
                               .is_operand = is_excluded(x, at),
                               .is_root = is_root(x, at),
                               .is_argument = is_argument(x, at),
                               .is_bare = x->last >= 0 && !x->words,
                               .index = x->index};
  memcpy(l->word, x->word, sizeof l->word);
  if (is_index(x, at)) return l;
  x->words = x->is_own = x->is_set = x->inputs = 0;
  forget_labels(x);
  return l;
}

static int add_item(struct attn_sequence *s, const attn_cell *cell) {
  if (s->items == ATTN_ITEMS_MAX) return 0;
  s->item[s->items++] = (struct attn_item){*cell, s->lists - 1, -1, 0};
  s->list[s->lists - 1].count++;
  return 1;
}

/* Each row of a matrix is a vector. */
static int add_value(struct reader *x, int at) {
  struct attn_grouping *g = x->s->g;
  int index = x->r->token[at].value;
  if (!attn_group_is_value(g, index)) return 1;
  const struct attn_scan_value *v = &g->lines->value[index];
  for (int n = 0; n < v->grids; n++)
    for (int c = 0; c < v->grid[n].rows * v->grid[n].cols; c++) {
      if (x->s->lists == ATTN_ITEMS_MAX) return 0;
      if (c % v->grid[n].cols == 0) {
        struct attn_item_list *l = begin_list(x, at);
        l->is_vector = 1, l->is_next_row = c > 0;
      }
      if (!add_item(x->s, &v->grid[n].cells[c])) return 0;
    }
  return 1;
}

/* Is only a comma, "and" or the like between the number before and this one? */
static int is_joined(const struct reader *x, int at) {
  if (x->last < 0 || at - x->last > 2) return 0;
  for (int n = x->last; n < at; n++)
    if (!is_one_of(x, n, ", ; / . 、 and と")) return 0;
  return 1;
}

static int add_number(struct reader *x, int at) {
  struct attn_sequence *s = x->s;
  int joined = is_joined(x, at) && s->lists && !s->list[s->lists - 1].is_vector &&
               s->list[s->lists - 1].is_operand == is_excluded(x, at);
  if (!joined) {
    if (s->lists == ATTN_ITEMS_MAX) return 0;
    begin_list(x, at);
  }
  x->last = at + 1;
  attn_cell cell = x->r->token[at].cell;
  if (is_one_of(x, at + 1, "% ％ percent パーセント")) {
    attn_cell share = attn_cell_percent(cell);
    share.line = cell.line, share.column = cell.column;
    cell = share;
  }
  return add_item(s, &cell);
}

static int add_line(struct reader *x) {
  x->last = -1, x->words = x->is_set = x->index = 0;
  attn_fact_tokens(x->r);
  if (x->r->tokens == ATTN_FACT_TOKENS_MAX) return 0;
  for (int at = 0; at < x->r->tokens; at++) {
    int kind = x->r->token[at].kind;
    if (is_one_of(x, at, ", ; . 、 。 and と")) forget_labels(x);
    if (is_one_of(x, at, ". 。")) x->is_in_sentence = 0;
    if (kind == TOKEN_WORD) read_word(x, at);
    if (kind == TOKEN_NUMBER && !add_number(x, at)) return 0;
    if (kind == TOKEN_VALUE && !add_value(x, at)) return 0;
    if (kind == TOKEN_VALUE) x->last = at + 1;
  }
  return 1;
}

int attn_sequence_items(struct attn_sequence *s) {
  struct reader x = {.s = s, .called = -1};
  x.r = attn_group_take(s->g, 1, sizeof *x.r);
  if (!x.r) return 0;
  x.r->g = s->g, x.r->is_text = 1;
  for (int n = 0; n < s->g->lines->lines; n++) {
    x.r->line = &s->g->lines->line[n];
    if (!add_line(&x)) return 0;
  }
  return s->items > 0;
}
