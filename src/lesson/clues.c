/* clues.c -- what the words and formulas of an example say about how it computes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "assemble.h"

static const char *const SCALE_WORDS[] = {"sqrt",         "√",      "scaled", "scaling", "スケール",
                                          "スケーリング", "平方根", NULL};
static const char *const DENIALS[] = {"not ", "no ",  "n't",    "without", "none", "unscaled",
                                      "omit", "skip", "ません", "ない",    "なし", "無し",
                                      "せず", "省略", "省き",   "無視",    NULL};
static const char *const MASK_WORDS[] = {"causal", "因果",       "masked",     "マスク", "future",
                                         "未来",   "look-ahead", "look ahead", NULL};
static const char *const SOFTMAX_WORDS[] = {"softmax", "ソフトマックス", "正規化", "normali", NULL};
static const char *const COLUMN_WORDS[] = {"列方向", "各列",  "列ごと", "column",
                                           "axis=0", "dim=0", NULL};
static const char *const ROW_WORDS[] = {"行方向", "各行", "行ごと", "row", NULL};

/* The text as one formula, in the letters that formulas share. */
static int formula_says(const char *text, const char *const *words) {
  char normal[256];
  attn_normal_name(text, normal, sizeof normal);
  for (; *words; words++)
    if (strstr(normal, *words)) return 1;
  return 0;
}

static void read_orientation(struct attn_clues *c, const char *text) {
  static const char *const UPRIGHT[] = {"kqt",       "kqtop",     "atv",           "atopv",
                                        "sumiaijxi", "sumiaijvi", "sumialphaijvi", "sumialphaijxi",
                                        "qjcdotki",  "qjcdotxi",  "kicdotqj",      "xicdotqj",
                                        NULL};
  static const char *const FLAT[] = {"qkt",           "qktop",    "sumjaijvj", "sumjaijxj",
                                     "sumjalphaijvj", "qicdotkj", NULL};
  if (formula_says(text, UPRIGHT)) c->columns++;
  if (formula_says(text, FLAT)) c->rows++;
  if (!attn_text_has_any(text, SOFTMAX_WORDS)) return;
  int columns = attn_text_has_any(text, COLUMN_WORDS), rows = attn_text_has_any(text, ROW_WORDS);
  if (columns && !rows) c->columns++;
  if (rows && !columns) c->rows++;
}

static void read_sources(struct attn_clues *c, const char *text) {
  char n[256];
  attn_normal_name(text, n, sizeof n);
  if (strlen(n) > 24) return;
  int all = strstr(n, "qkvx") || strstr(n, "qxkxvx") || strstr(n, "kvqx");
  if (all || strstr(n, "qkx") || strcmp(n, "qx") == 0) c->queries_are_inputs = 1;
  if (all || strstr(n, "qkx") || strcmp(n, "kvx") == 0 || strcmp(n, "kx") == 0)
    c->keys_are_inputs = 1;
  if (all || strcmp(n, "kvx") == 0 || strcmp(n, "vx") == 0) c->values_are_inputs = 1;
}

/* n of \sqrt{n} or √n, where it is a number. */
static double root_of(const char *text) {
  const char *at = strstr(text, "sqrt");
  if (at)
    at += 4;
  else if ((at = strstr(text, "√")) != NULL)
    at += strlen("√");
  if (!at) return 0;
  while (*at == '{' || *at == '(' || *at == ' ') at++;
  double value = 0;
  while (*at >= '0' && *at <= '9' && value < 1e6) value = value * 10 + (*at++ - '0');
  return *at == '.' ? 0 : value;
}

/* A sentence that speaks of scaling and denies something leaves both open: what it denies is
 * beyond us. */
static void read_scale(struct attn_clues *c, const char *text) {
  if (attn_text_has_any(text, SCALE_WORDS)) {
    c->scaled = 1;
    if (attn_text_has_any(text, DENIALS)) c->unscaled = 1;
  }
  if (strchr(text, '=') && attn_text_has(text, "softmax") &&
      attn_formula_role(text) == ATTN_STEP_WEIGHTS && attn_text_has(text, "QK") &&
      !attn_text_has_any(text, SCALE_WORDS) && !strchr(text, '/') && !attn_text_has(text, "frac"))
    c->unscaled = 1;
}

static void read_mask(struct attn_clues *c, const struct attn_item *item) {
  if (!attn_text_has_any(item->text, MASK_WORDS)) return;
  static const char *const STRONG[] = {"mask: causal", "mask: yes",   "マスク: 因果",
                                       "マスク：因果", "causal mask", "causal: yes",
                                       "因果マスク",   NULL};
  int negative = attn_text_has(item->text, "no mask") || attn_text_has(item->text, "mask: none") ||
                 attn_text_has(item->text, "マスクなし") || attn_text_has(item->text, "without");
  if (negative) return;
  if (!c->mask_line) c->mask_line = item->line;
  c->maybe_masked = 1;
  if (attn_text_has_any(item->text, STRONG)) c->masked = 1;
}

static void read_number(struct attn_clues *c, const struct attn_item *item) {
  char n[64];
  attn_normal_name(item->text, n, sizeof n);
  if (strcmp(n, "dk") == 0) c->d_k = item->value;
  if ((strcmp(n, "scale") == 0 || strcmp(n, "スケール") == 0) && isfinite(item->value) &&
      item->value != 0) {
    c->scale = item->value;
    c->scaled = 1;
  }
}

static void read_item(struct attn_clues *c, const struct attn_item *item) {
  if (item->kind == ATTN_ITEM_NUMBER) read_number(c, item);
  if (item->kind == ATTN_ITEM_MATRIX) {
    read_scale(c, item->formula);
    read_orientation(c, item->formula);
    read_orientation(c, item->text);
    if (attn_formula_role(item->formula) == ATTN_STEP_SCALED && root_of(item->formula) > 0)
      c->root = root_of(item->formula);
    if (attn_meaning_of(item->text).name == ATTN_STEP_SCALED) {
      double stated = attn_stated_divisor(*item->formula ? item->formula : item->text);
      c->scaled = 1;
      if (stated > 0) c->divisor = stated;
    }
  }
  if (item->kind != ATTN_ITEM_SENTENCE && item->kind != ATTN_ITEM_HEADING) return;
  read_scale(c, item->text);
  read_orientation(c, item->text);
  read_sources(c, item->text);
  read_mask(c, item);
  if (attn_text_has(item->text, "concatenat") || attn_text_has(item->text, "連結")) c->appended = 1;
}

void attn_read_clues(struct attn_assembly *a) {
  const struct attn_document *d = a->document;
  struct attn_clues c = {0};
  for (int i = a->range.begin; i < a->range.end; i++)
    if (!d->item[i].block) read_item(&c, &d->item[i]);
  c.document_scaled = a->document_scaled;
  a->clues = c;
}

int attn_mentions_scale(const struct attn_document *d) {
  int found = 0;
  for (int i = 0; i < d->items && !found; i++)
    if (d->item[i].kind == ATTN_ITEM_SENTENCE || d->item[i].kind == ATTN_ITEM_HEADING)
      found = attn_text_has_any(d->item[i].text, SCALE_WORDS);
  return found;
}
