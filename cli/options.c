#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"

int attn_cli_parse_int(const char *text, int64_t *value) {
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
int attn_cli_parse_double(const char *text, double *value) {
  char *end;
  if (!*text || strpbrk(text, " \t\n\v\f\rxXpP")) return -1;
  errno = 0;
  *value = strtod(text, &end);
  return *end || errno == ERANGE ? -1 : 0;
}

enum { OPTIONS_MOST = 64 };

static int unknown(const char *command, const char *name, const struct attn_cli_option *table,
                   int options) {
  const char *names[OPTIONS_MOST];
  for (int n = 0; n < options; n++) names[n] = table[n].name;
  const char *near = attn_text_nearest(name, names, options);
  attn_cli_print_usage_error(command, "there is no option %.60s%s%s%s", name,
                             near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
  return -1;
}

static int store(const char *command, const struct attn_cli_option *o, const char *value) {
  int bad = 0;
  if (o->kind == OPTION_FLAG) *(int *)o->to = 1;
  if (o->kind == OPTION_TEXT || o->kind == OPTION_OPTIONAL_TEXT) *(const char **)o->to = value;
  if (o->kind == OPTION_INT) bad = attn_cli_parse_int(value, o->to);
  if (o->kind == OPTION_DOUBLE) bad = attn_cli_parse_double(value, o->to);
  if (bad)
    attn_cli_print_error(command, "%s: \"%.60s\" is no %s", o->name, value,
                         o->kind == OPTION_INT ? "whole number" : "number");
  if (!bad && o->given) *o->given = 1;
  return bad;
}

/* Two values for one thing: which is meant? --output and -o are one, a flag may be repeated. */
static int twice(const char *command, const struct attn_cli_option *table, int k, uint64_t *seen) {
  for (int n = 0; n < OPTIONS_MOST && *seen >> n; n++)
    if ((*seen >> n & 1) && table[n].to == table[k].to && table[k].kind != OPTION_FLAG)
      return attn_cli_print_error(command, "%s is given twice", table[k].name), -1;
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
      return attn_cli_print_error(argv[0], "%s takes no value", table[k].name), -1;
    if (table[k].kind != OPTION_FLAG && table[k].kind != OPTION_OPTIONAL_TEXT && !equals) {
      if (*n + 1 >= argc || !strncmp(argv[*n + 1], "--", 2))
        return attn_cli_print_error(argv[0], "%s needs a value", table[k].name), -1;
      value = argv[++*n];
    }
    return twice(argv[0], table, k, seen) ? -1 : store(argv[0], &table[k], value);
  }
  if (equals) *equals = 0;
  return unknown(argv[0], word, table, options);
}

int attn_cli_parse_options(int argc, char **argv, const struct attn_cli_option *table, int options,
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
