/* options.h -- command-line options: a table per command, parsed in one pass. */
#ifndef ATTN_CLI_OPTIONS_H
#define ATTN_CLI_OPTIONS_H

#include <stdint.h>

#include "language.h"

enum attn_cli_option_kind {
  OPTION_FLAG,          /* to: int *, set to 1 */
  OPTION_TEXT,          /* to: const char ** */
  OPTION_INT,           /* to: int64_t * */
  OPTION_DOUBLE,        /* to: double * */
  OPTION_OPTIONAL_TEXT, /* to: const char **; --verify stores "", --verify=64 stores "64" */
  OPTION_TEXTS,         /* to: struct attn_cli_texts *; may be repeated */
  OPTION_CHOICE         /* to: struct attn_cli_choice * */
};

enum { ATTN_CLI_TEXTS_MAX = 64 };

struct attn_cli_texts {
  const char *text[ATTN_CLI_TEXTS_MAX];
  int count;
};

/* A text that must be one of count names. */
struct attn_cli_choice {
  const char **to;
  const char *const *names;
  int count;
};
#define ATTN_CLI_CHOICE(to, names) \
  OPTION_CHOICE, (&(struct attn_cli_choice){to, names, sizeof(names) / sizeof *(names)})

struct attn_cli_option {
  const char *name; /* "--scale" or "-o" */
  enum attn_cli_option_kind kind;
  void *to;
  int *given; /* NULL, or set to 1 if the option is present */
};

#define ATTN_CLI_TABLE(table) table, sizeof table / sizeof *table

#define ATTN_CLI_LIST_OPTIONS "--list-options"

/* Parses argv[1..] and moves the operands to argv[1..*operands]. Messages name the command argv[0]
 * from now on. Every command also has --help, -h and --lang. Returns ATTN_CLI_CONTINUE, or the exit
 * status of a command that is done: after --help; after argv[1] ATTN_CLI_LIST_OPTIONS, which prints
 * the options for shells, a line each, "--lang=" and its names after tabs if it takes a value; or
 * after a message: an unknown option (with the nearest name, or the new name of a renamed option),
 * a missing or malformed value, an option given twice. At most 61 options. */
enum { ATTN_CLI_CONTINUE = -1 };
int attn_cli_parse_options(int argc, char **argv, const char *help,
                           const struct attn_cli_option *table, int options, int *operands);

/* Parse all of text as a number, independent of the locale. Return 0 or -1. */
int attn_cli_parse_int(const char *text, int64_t *value);
int attn_cli_parse_double(const char *text, double *value);

/* Returns 0, or -1 after "--threads must be between 0 and 1024, got 5000". */
int attn_cli_check_range(const char *option, int64_t value, int64_t min, int64_t max);

enum { ATTN_CLI_MAX_THREADS = 1024 };

/* Returns the index of text in names, or -1 after "--kind must be cross, encoder or decoder, got
 * "x"". */
int attn_cli_parse_choice(const char *option, const char *text, const char *const *names,
                          int count);

/* ---- Style ---- */

/* Options of the commands that print documents. */
struct attn_cli_style_options {
  const char *color;
  int64_t width, precision; /* 0: of the terminal; -1: the default */
};
#define ATTN_CLI_STYLE_DEFAULTS \
  { NULL, 0, -1 }
extern const char *const attn_cli_colors[3];
#define ATTN_CLI_STYLE_OPTIONS(s)                                   \
  {"--color", ATTN_CLI_CHOICE(&(s)->color, attn_cli_colors), NULL}, \
      {"--width", OPTION_INT, &(s)->width, NULL}, {                 \
    "--precision", OPTION_INT, &(s)->precision, NULL                \
  }

/* Fills style from the options, the environment and the terminal. Returns 0, or -1 after a
 * message. */
int attn_cli_parse_style(const struct attn_cli_style_options *options, attn_style *style);

#endif
