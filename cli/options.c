#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"

int attn_cli_whole(const char *text, int64_t *value) {
  int negative = *text == '-';
  const char *at = text + negative;
  int64_t sum = 0;
  if (!*at) return -1;
  for (; *at; at++) {
    if (*at < '0' || *at > '9') return -1;
    if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_sub_overflow(sum, *at - '0', &sum))
      return -1;
  }
  /* Counted downwards, so that the least number has a place too. */
  if (!negative && sum == INT64_MIN) return -1;
  *value = negative ? sum : -sum;
  return 0;
}

/* strtod reads what the C locale writes: the program never sets another. Hexadecimal is not asked
 * for; nan and inf are left to the callee, which says what is wrong with them. */
int attn_cli_real(const char *text, double *value) {
  char *end;
  if (!*text || strpbrk(text, " \t\n\v\f\rxXpP")) return -1;
  errno = 0;
  *value = strtod(text, &end);
  return *end || errno == ERANGE ? -1 : 0;
}

enum { OPTIONS_MOST = 64 };

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Edits that make b of a [Levenshtein 1966]. */
static size_t edits(const char *a, const char *b) {
  enum { MOST = 40 };
  size_t n = strlen(b), row[MOST + 1];
  if (n > MOST || strlen(a) > MOST) return MOST;
  for (size_t j = 0; j <= n; j++) row[j] = j;
  for (size_t i = 1; a[i - 1]; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      size_t above = row[j], replaced = diagonal + (a[i - 1] != b[j - 1]);
      row[j] = smaller(smaller(above, row[j - 1]) + 1, replaced);
      diagonal = above;
    }
  }
  return row[n];
}

const char *attn_cli_nearest(const char *text, const char *const *names, int count) {
  const char *best = NULL;
  size_t least = 3; /* more edits than two are another word */
  for (int n = 0; n < count; n++) {
    size_t distance = edits(text, names[n]);
    if (distance < least) least = distance, best = names[n];
  }
  return best;
}

static int unknown(const char *command, const char *name, const struct attn_cli_option *table,
                   int options) {
  const char *names[OPTIONS_MOST];
  for (int n = 0; n < options; n++) names[n] = table[n].name;
  const char *near = attn_cli_nearest(name, names, options);
  fprintf(stderr, "attn %s: there is no option %.60s", command, name);
  if (near) fprintf(stderr, "; did you mean %s?", near);
  fprintf(stderr, "\nTry: attn %s --help\n", command);
  return -1;
}

static int store(const char *command, const struct attn_cli_option *o, const char *value) {
  int bad = 0;
  if (o->kind == OPTION_FLAG) *(int *)o->to = 1;
  if (o->kind == OPTION_TEXT || o->kind == OPTION_MAYBE) *(const char **)o->to = value;
  if (o->kind == OPTION_WHOLE) bad = attn_cli_whole(value, o->to);
  if (o->kind == OPTION_REAL) bad = attn_cli_real(value, o->to);
  if (bad)
    fprintf(stderr, "attn %s: %s: \"%.60s\" is no %s\n", command, o->name, value,
            o->kind == OPTION_WHOLE ? "whole number" : "number");
  if (!bad && o->given) *o->given = 1;
  return bad;
}

/* Two values for one thing: which is meant? --output and -o are one, a flag may be repeated. */
static int twice(const char *command, const struct attn_cli_option *table, int k, uint64_t *seen) {
  for (int n = 0; n < OPTIONS_MOST && *seen >> n; n++)
    if ((*seen >> n & 1) && table[n].to == table[k].to && table[k].kind != OPTION_FLAG)
      return fprintf(stderr, "attn %s: %s is given twice\n", command, table[k].name), -1;
  *seen |= (uint64_t)1 << k;
  return 0;
}

/* One option at argv[*n]; steps over a value that stands by itself. */
static int take(int argc, char **argv, int *n, const struct attn_cli_option *table, int options,
                uint64_t *seen) {
  char *word = argv[*n], *equals = strncmp(word, "--", 2) ? NULL : strchr(word, '=');
  size_t length = equals ? (size_t)(equals - word) : strlen(word);
  for (int k = 0; k < options; k++) {
    if (strlen(table[k].name) != length || strncmp(table[k].name, word, length)) continue;
    const char *value = equals ? equals + 1 : "";
    if (table[k].kind == OPTION_FLAG && equals)
      return fprintf(stderr, "attn %s: %s takes no value\n", argv[0], table[k].name), -1;
    if (table[k].kind != OPTION_FLAG && table[k].kind != OPTION_MAYBE && !equals) {
      if (*n + 1 >= argc || !strncmp(argv[*n + 1], "--", 2))
        return fprintf(stderr, "attn %s: %s needs a value\n", argv[0], table[k].name), -1;
      value = argv[++*n];
    }
    return twice(argv[0], table, k, seen) ? -1 : store(argv[0], &table[k], value);
  }
  if (equals) *equals = 0;
  return unknown(argv[0], word, table, options);
}

int attn_cli_options(int argc, char **argv, const struct attn_cli_option *table, int options,
                     int *operands) {
  uint64_t seen = 0;
  int plain = 0;
  *operands = 0;
  for (int n = 1; n < argc; n++) {
    if (!plain && !strcmp(argv[n], "--")) {
      plain = 1;
    } else if (!plain && argv[n][0] == '-' && argv[n][1]) {
      if (take(argc, argv, &n, table, options, &seen)) return -1;
    } else {
      argv[++*operands] = argv[n];
    }
  }
  return 0;
}
