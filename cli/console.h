/* console.h -- options, messages, the terminal, progress: what every command needs. */
#ifndef ATTN_CLI_CONSOLE_H
#define ATTN_CLI_CONSOLE_H

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#include "attn/attn.h"
#include "attn/lesson.h"

/* ---- Options: a table, walked once ------------------------------------------- */

enum attn_cli_option_kind {
  OPTION_FLAG,
  OPTION_TEXT,
  OPTION_INT,
  OPTION_DOUBLE,
  OPTION_OPTIONAL_TEXT
};

/* to: int * for a flag, const char ** for text, int64_t * for a whole number, double * for a real
 * one. MAYBE is text that may be missing: --verify or --verify=64 ("" then). given: optional, set
 * to 1 where the option was there. */
struct attn_cli_option {
  const char *name; /* "--scale", or "-o" */
  enum attn_cli_option_kind kind;
  void *to;
  int *given;
};

/* Walks argv[1..]; what is no option is moved to the front of argv (from 1), *operands counts it.
 * Returns 0, or -1 after a message: unknown option (with the nearest), value missing, malformed or
 * given twice. At most 64 options. */
int attn_cli_parse_options(int argc, char **argv, const struct attn_cli_option *table, int options,
                           int *operands);

/* The whole of text as a number, whatever the locale; 0, or -1. */
int attn_cli_parse_int(const char *text, int64_t *value);
int attn_cli_parse_double(const char *text, double *value);

/* ---- Messages ------------------------------------------------------------------ */

/* Nothing else writes text of others (names, documents, replies, what the user typed) to a stream:
 * as attn_text_write_plain does it. */
void attn_cli_print_text(const char *text, FILE *to);

/* On standard error "attn COMMAND: message", whatever is in the arguments; usage: and where help
 * is. command NULL: attn itself. Both return EXIT_TROUBLE. */
int attn_cli_print_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int attn_cli_print_usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* On standard error "attn: FILE:LINE:COLUMN: error: message", without what is not known of the
 * place ("attn: FILE: byte 80: error: ..."), and "attn COMMAND: error: message" where nothing is.
 * place is the file, or NULL; a message that begins with it, with a file in it or with
 * FILE:LINE:COLUMN does not say it twice. Returns the exit status. */
int attn_cli_report_error(const char *command, const char *place, const attn_error *err);

/* The same for what need not stop anything: "attn: PLACE:LINE:COLUMN: warning: message". */
void attn_cli_report_warning(const char *place, const attn_error *warning);

/* ---- The terminal --------------------------------------------------------------- */

/* Before anything else: what is closed of streams 0 to 2 becomes a stream on which every call
 * fails, so that no file opened later is taken for it; a closed pipe is an error, not a signal, and
 * so is the limit of a file's size. */
void attn_cli_init(void);

/* At the end: flushes standard output. Returns status, or EXIT_TROUBLE after a message where not
 * everything could be written; a reader that went away gets no message. */
int attn_cli_finish(int status);

/* A sink to standard output. */
attn_sink attn_cli_stdout(void);

/* Fills style: language from lang or the environment, colour ("auto", "always", "never", NULL),
 * width of the terminal (0: ask it), precision (-1: the default). Returns 0, or -1 after a message.
 */
int attn_cli_parse_style(attn_style *style, const char *lang, const char *color, int64_t width,
                         int64_t precision);

#define ATTN_CLI_NUL_BYTE "holds a byte 0, so it is no text; take it out, or name another file"

/* The column, from 1 and in characters, of byte `at` of a line. */
int64_t attn_cli_column(const char *line, size_t at);

/* A whole file, or standard input for "-", a 0 behind it; to be freed, NULL on failure. A 0 in it
 * is ATTN_ERR_FORMAT, with its place. */
attn_status attn_cli_read_text(const char *path, char **text, attn_error *err);

/* A whole file, or standard input for "-", as a lesson; limit 1 GiB. NULL on failure. */
attn_status attn_cli_read_lesson(const char *path, attn_lesson **lesson, attn_error *err);

/* Calls one(argv[n], wishes) for n = 1 .. files; the worst of the exit statuses. */
int attn_cli_for_each_file(int files, char **argv, int (*one)(const char *path, const void *wishes),
                           const void *wishes);

/* ---- Progress and Ctrl-C --------------------------------------------------------- */

struct attn_cli_progress {
  const char *what;
  double start, last;
  int quiet, shown, tenths;
  struct sigaction before[2];
};

/* Until attn_cli_progress_end the first Ctrl-C or SIGTERM sets a flag that attn_cli_progress_update
 * reports; a second one, and all others, end the program at once: there is nothing to save then. */
struct attn_cli_progress attn_cli_progress_begin(const char *what, int quiet);

/* The same progress, of something else from now on. */
void attn_cli_progress_restart(struct attn_cli_progress *progress, const char *what);

/* A library progress function; context is the struct. Draws on a terminal after a second, prints a
 * line each tenth elsewhere; nonzero once the user has pressed Ctrl-C. */
int attn_cli_progress_update(void *context, int64_t done, int64_t total);
void attn_cli_progress_end(struct attn_cli_progress *progress);

/* Nonzero once the user has pressed Ctrl-C. */
int attn_cli_interrupted(void);

/* Ctrl-C waits while held: for the moment in which files are put into place. */
void attn_cli_defer_interrupts(int held);

/* ---- JSON -------------------------------------------------------------------------- */

/* A value on standard output. What JSON has no number for (NaN, infinities) is null. */
void attn_cli_json_string(const char *text);
void attn_cli_json_number(double value);
void attn_cli_json_shape(const int64_t *shape, int rank);

/* Seconds of a clock that never jumps. */
double attn_cli_now(void);

#endif
