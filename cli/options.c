#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command.h"
#include "console.h"

/* ---- Values ---- */

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
  /* The sum is negative because only then INT64_MIN is representable. */
  if (!negative && sum == INT64_MIN) return -1;
  *value = negative ? sum : -sum;
  return 0;
}

/* The program never leaves the C locale, so strtod reads a decimal point. Hexadecimal is refused;
 * nan and inf are passed on, the callee reports them. */
int attn_cli_parse_double(const char *text, double *value) {
  char *end;
  if (!*text || strpbrk(text, " \t\n\v\f\rxXpP")) return -1;
  errno = 0;
  *value = strtod(text, &end);
  return *end || errno == ERANGE ? -1 : 0;
}

int attn_cli_check_range(const char *option, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return 0;
  attn_cli_print_error("%s must be between %lld and %lld, got %lld", option, (long long)min,
                       (long long)max, (long long)value);
  return -1;
}

int attn_cli_parse_choice(const char *option, const char *text, const char *const *names,
                          int count) {
  const int is_japanese = attn_cli_language() == ATTN_LANGUAGE_JAPANESE;
  const char *const comma = is_japanese ? "、" : ", ", *const last = is_japanese ? "、" : " or ";
  char list[160] = "";
  size_t length = 0;
  for (int n = 0; n < count; n++) {
    if (!strcmp(text, names[n])) return n;
    const char *separator = n == 0 ? "" : n == count - 1 ? last : comma;
    length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", separator, names[n]);
  }
  attn_cli_print_error("%s must be %s, got \"%.60s\"", option, list, text);
  return -1;
}

/* ---- Names ---- */

enum { MAX_OPTIONS = 64 };

/* The options of a command, and those that every command has. */
struct option_set {
  struct attn_cli_option at[MAX_OPTIONS];
  int count;
  uint64_t seen; /* bit n: at[n] */
};

/* Options of earlier versions. A pair applies to the commands that have the new option. */
static const struct {
  const char *before, *now;
} renamed[] = {
    {"--accumulate", "--gradient-accumulation-steps"},
    {"--batch", "--batch-size"},
    {"--beams", "--num-beams"},
    {"--clip", "--max-grad-norm"},
    {"--decay", "--weight-decay"},
    {"--examine", "--test-examples"},
    {"--examples", "--max-validation-examples"},
    {"--heads", "--num-heads"},
    {"--held-out", "--validation-data"},
    {"--kv-heads", "--num-kv-heads"},
    {"--lengths", "--key-lengths"},
    {"--most", "--max-new-tokens"},
    {"--n-best", "--num-return-sequences"},
    {"--rate", "--learning-rate"},
    {"--raw", "--no-normalize"},
    {"--replace", "--overwrite"},
    {"--schedule", "--lr-schedule"},
    {"--smoothing", "--label-smoothing"},
    {"--together", "--batch-size"},
    {"--until", "--target-exact-match"},
    {"--warm-up", "--warmup-steps"},
};

static const char *new_name(const char *name, const struct option_set *set) {
  for (size_t n = 0; n < sizeof renamed / sizeof *renamed; n++)
    for (int k = 0; k < set->count && !strcmp(name, renamed[n].before); k++)
      if (!strcmp(set->at[k].name, renamed[n].now)) return renamed[n].now;
  return NULL;
}

static int refuse_unknown(const struct option_set *set, const char *name) {
  const char *names[MAX_OPTIONS], *now = new_name(name, set);
  if (now) return attn_cli_print_usage_error("%s is now %s", name, now);
  for (int n = 0; n < set->count; n++) names[n] = set->at[n].name;
  const char *near = attn_text_nearest(name, names, set->count);
  if (!near) return attn_cli_print_usage_error("unknown option %.60s", name);
  return attn_cli_print_usage_error("unknown option %.60s; did you mean %s?", name, near);
}

/* ---- The table ---- */

static int add_text(const struct attn_cli_option *o, const char *value) {
  struct attn_cli_texts *to = o->to;
  if (to->count == ATTN_CLI_TEXTS_MAX)
    return attn_cli_print_error("%s is given more than %d times", o->name, ATTN_CLI_TEXTS_MAX);
  to->text[to->count++] = value;
  return 0;
}

static int store_choice(const struct attn_cli_option *o, const char *value) {
  const struct attn_cli_choice *choice = o->to;
  if (attn_cli_parse_choice(o->name, value, choice->names, choice->count) < 0) return EXIT_TROUBLE;
  *choice->to = value;
  return 0;
}

static int store_value(const struct attn_cli_option *o, const char *value) {
  switch (o->kind) {
    case OPTION_FLAG:
      *(int *)o->to = 1;
      return 0;
    case OPTION_INT:
      if (!attn_cli_parse_int(value, o->to)) return 0;
      return attn_cli_print_error("%s must be an integer, got \"%.60s\"", o->name, value);
    case OPTION_DOUBLE:
      if (!attn_cli_parse_double(value, o->to)) return 0;
      return attn_cli_print_error("%s must be a number, got \"%.60s\"", o->name, value);
    case OPTION_TEXTS:
      return add_text(o, value);
    case OPTION_CHOICE:
      return store_choice(o, value);
    default:
      *(const char **)o->to = value;
      return 0;
  }
}

static int may_repeat(enum attn_cli_option_kind kind) {
  return kind == OPTION_FLAG || kind == OPTION_TEXTS;
}

/* Refuses a second value for one variable, also by another name (-o and --output). */
static int store(struct option_set *set, int k, const char *value) {
  const struct attn_cli_option *o = &set->at[k];
  for (int n = 0; n < set->count; n++)
    if ((set->seen >> n & 1) && set->at[n].to == o->to && !may_repeat(o->kind))
      return attn_cli_print_error("%s is given twice", o->name);
  set->seen |= (uint64_t)1 << k;
  int refused = store_value(o, value);
  if (!refused && o->given) *o->given = 1;
  return refused;
}

static int takes_no_argument(const struct attn_cli_option *o) {
  return o->kind == OPTION_FLAG || o->kind == OPTION_OPTIONAL_TEXT;
}

/* Parses the option at argv[*n] and skips its value if that is an argument of its own. */
static int parse_option(struct option_set *set, int argc, char **argv, int *n) {
  char *word = argv[*n], *equals = strncmp(word, "--", 2) ? NULL : strchr(word, '=');
  size_t length = equals ? (size_t)(equals - word) : strlen(word);
  for (int k = 0; k < set->count; k++) {
    const struct attn_cli_option *o = &set->at[k];
    if (strlen(o->name) != length || strncmp(o->name, word, length)) continue;
    const char *value = equals ? equals + 1 : "";
    if (o->kind == OPTION_FLAG && equals) return attn_cli_print_error("%s takes no value", o->name);
    if (!takes_no_argument(o) && !equals) {
      if (*n + 1 >= argc || !strncmp(argv[*n + 1], "--", 2))
        return attn_cli_print_error("%s needs a value", o->name);
      value = argv[++*n];
    }
    return store(set, k, value);
  }
  if (equals) *equals = 0;
  return refuse_unknown(set, word);
}

static int list_options(const struct option_set *set) {
  for (const struct attn_cli_option *o = set->at; o < set->at + set->count; o++) {
    const struct attn_cli_choice *choice = o->kind == OPTION_CHOICE ? o->to : NULL;
    printf("%s%s", o->name, takes_no_argument(o) ? "" : "=");
    for (int n = 0; choice && n < choice->count; n++) printf("\t%s", choice->names[n]);
    puts("");
  }
  return EXIT_OK;
}

int attn_cli_parse_options(int argc, char **argv, const char *help,
                           const struct attn_cli_option *table, int options, int *operands) {
  int is_help = 0, only_operands = 0;
  const char *lang = NULL; /* only checked: attn_cli_set_language chooses */
  const struct attn_cli_option common[] = {
      {"--help", OPTION_FLAG, &is_help, NULL},
      {"-h", OPTION_FLAG, &is_help, NULL},
      {"--lang", ATTN_CLI_CHOICE(&lang, attn_cli_languages), NULL}};
  struct option_set set = {.count = 0};
  for (; set.count < options; set.count++) set.at[set.count] = table[set.count];
  for (int n = 0; n < 3; n++) set.at[set.count++] = common[n];
  *operands = 0;
  attn_cli_set_command(argv[0]);
  if (argc == 2 && !strcmp(argv[1], ATTN_CLI_LIST_OPTIONS)) return list_options(&set);
  for (int n = 1; n < argc; n++) {
    if (!only_operands && !strcmp(argv[n], "--")) {
      only_operands = 1;
    } else if (!only_operands && argv[n][0] == '-' && argv[n][1]) {
      if (parse_option(&set, argc, argv, &n)) return EXIT_TROUBLE;
    } else {
      argv[++*operands] = argv[n];
    }
  }
  return is_help ? (attn_cli_print_help(help, stdout), EXIT_OK) : ATTN_CLI_CONTINUE;
}

/* ---- Style ---- */

const char *const attn_cli_colors[3] = {"auto", "always", "never"};

static int wants_color(const char *color) {
  if (color && !strcmp(color, "always")) return 1;
  if (color && !strcmp(color, "never")) return 0;
  const char *force = getenv("CLICOLOR_FORCE"), *no = getenv("NO_COLOR"), *term = getenv("TERM");
  if (no && *no) return 0;
  if (force && *force && strcmp(force, "0")) return 1;
  return isatty(STDOUT_FILENO) && !(term && !strcmp(term, "dumb"));
}

static int terminal_width(void) {
  struct winsize size;
  int64_t columns;
  const char *text = getenv("COLUMNS");
  if (text && !attn_cli_parse_int(text, &columns) && columns >= 20 && columns <= 10000)
    return (int)columns;
  if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col >= 20) return size.ws_col;
  return 80;
}

int attn_cli_parse_style(const struct attn_cli_style_options *o, attn_style *style) {
  if (o->width && attn_cli_check_range("--width", o->width, 20, 10000)) return -1;
  if (o->precision != -1 && attn_cli_check_range("--precision", o->precision, 0, 17)) return -1;
  int32_t precision = o->precision < 0 ? 0 : o->precision ? (int32_t)o->precision : -1;
  *style = (attn_style){sizeof *style, (int32_t)attn_cli_language(), wants_color(o->color),
                        o->width ? (int32_t)o->width : terminal_width(), precision};
  return 0;
}
