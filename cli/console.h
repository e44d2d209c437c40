/* console.h -- options, messages, the terminal, progress: what every command needs. */
#ifndef ATTN_CLI_CONSOLE_H
#define ATTN_CLI_CONSOLE_H

#include <stddef.h>

#include "attn/attn.h"
#include "attn/lesson.h"

/* ---- Options: a table, walked once ------------------------------------------- */

enum attn_cli_kind { OPTION_FLAG, OPTION_TEXT, OPTION_WHOLE, OPTION_REAL, OPTION_MAYBE };

/* to: int * for a flag, const char ** for text, int64_t * for a whole number, double * for a real
 * one. MAYBE is text that may be missing: --verify or --verify=64 ("" then). given: optional, set
 * to 1 where the option was there. */
struct attn_cli_option {
  const char *name; /* "--scale", or "-o" */
  enum attn_cli_kind kind;
  void *to;
  int *given;
};

/* Walks argv[1..]; what is no option is moved to the front of argv (from 1), *operands counts it.
 * Returns 0, or -1 after a message: unknown option (with the nearest), value missing or malformed. */
int attn_cli_options(int argc, char **argv, const struct attn_cli_option *table, int options,
                     int *operands);

/* The whole of text as a number, whatever the locale; 0, or -1. */
int attn_cli_whole(const char *text, int64_t *value);
int attn_cli_real(const char *text, double *value);

/* The name most like text, or NULL where none is near. */
const char *attn_cli_nearest(const char *text, const char *const *names, int count);

/* ---- Messages ------------------------------------------------------------------ */

/* "attn run: k: message (ATTN_ERR_SHAPE)" on standard error; returns EXIT_TROUBLE. */
int attn_cli_fail(const char *command, const char *place, const attn_error *err);

/* ---- The terminal --------------------------------------------------------------- */

/* A sink to standard output. */
attn_sink attn_cli_stdout(void);

/* Fills style: language from lang or the environment, colour ("auto", "always", "never", NULL),
 * width of the terminal (0: ask it), precision (-1: the default). Returns 0, or -1 after a message. */
int attn_cli_style(attn_style *style, const char *lang, const char *color, int64_t width,
                   int64_t precision);

/* A whole file, or standard input for "-"; the caller frees *text. Limit 1 GiB. */
attn_status attn_cli_slurp(const char *path, char **text, size_t *bytes, attn_error *err);

/* ---- Progress and Ctrl-C --------------------------------------------------------- */

struct attn_cli_progress {
  const char *what;
  double start, last;
  int quiet, shown, tenths;
};

/* From here on Ctrl-C sets a flag that attn_cli_tick reports. */
struct attn_cli_progress attn_cli_progress_begin(const char *what, int quiet);

/* A library progress function; context is the struct. Draws on a terminal after a second, prints a
 * line each tenth elsewhere; nonzero once the user has pressed Ctrl-C. */
int attn_cli_tick(void *context, int64_t done, int64_t total);
void attn_cli_progress_end(struct attn_cli_progress *progress);

/* Seconds of a clock that never jumps. */
double attn_cli_now(void);

#endif
