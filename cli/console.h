/* console.h -- messages, the terminal, files, progress: what every command needs. */
#ifndef ATTN_CLI_CONSOLE_H
#define ATTN_CLI_CONSOLE_H

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#include "attn/attn.h"
#include "attn/lesson.h"
#include "language.h"
#include "options.h"

/* ---- Messages ---- */

/* Writes untrusted text (names, documents, replies, arguments) as attn_text_write_plain does. No
 * other function writes such text to a stream. */
void attn_cli_print_bytes(const char *text, size_t bytes, FILE *to);
void attn_cli_print_text(const char *text, FILE *to);

/* "(2, 3)", or "(2,)" for rank 1. */
void attn_cli_print_shape(const int64_t *shape, int rank);

/* Writes a message, in Japanese if that is the language. */
void attn_cli_print_message(FILE *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same to standard output, and ends the line. */
void attn_cli_print_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes the translation of a text to standard output, in |width| columns of the terminal: at their
 * right end, or at their left end if width is negative. A longer text is not cut. */
void attn_cli_print_cell(const char *text, int width);

/* Writes "wrote PATH" to standard output; file: what follows the path, or "". */
void attn_cli_print_written(const char *path, const char *file);

/* Sets the command that messages name; NULL, as before the first call: attn itself. */
void attn_cli_set_command(const char *name);

/* Write "attn COMMAND: message" to standard error; the second adds where the help is. Both return
 * EXIT_TROUBLE. */
int attn_cli_print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int attn_cli_print_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes "attn COMMAND: unknown KIND "NAME"; did you mean "NEAREST"?" and how to list the names:
 * "Try: attn COMMAND --list". Returns EXIT_TROUBLE. */
int attn_cli_print_unknown_name(const char *kind, const char *name, const char *const *names,
                                int count);

/* Writes "attn COMMAND: no memory". Returns EXIT_TROUBLE. */
int attn_cli_print_no_memory(void);

/* Set err to a status and a message, and return the status. attn_cli_fail_file: ATTN_ERR_FILE and
 * "PATH: what: " with the reason from errno. attn_cli_no_memory: ATTN_ERR_MEMORY. */
attn_status attn_cli_fail(attn_error *err, attn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
attn_status attn_cli_fail_file(attn_error *err, const char *path, const char *what);
attn_status attn_cli_no_memory(attn_error *err);

/* Writes "attn: FILE:LINE:COLUMN: error: message" to standard error, with as much of the location
 * as is known: "attn: FILE: byte 80: error: ...", "attn COMMAND: error: ...". file is the input, or
 * NULL. A file name or location at the start of the message is not repeated.
 * Returns the exit status. */
int attn_cli_report_error(const char *file, const attn_error *err);

/* The same for "attn: FILE:LINE:COLUMN: warning: message". */
void attn_cli_report_warning(const char *file, const attn_error *warning);

/* ---- The terminal ---- */

/* Called first. Reopens those of streams 0 to 2 that are closed so that every call on them fails:
 * otherwise a file opened later could become standard output. Ignores SIGPIPE and SIGXFSZ, so that
 * a closed pipe and the file size limit are errors. */
void attn_cli_init(void);

/* Called last: flushes standard output. Returns status, or EXIT_TROUBLE after a message if not
 * everything was written. A reader that closed the pipe gets no message. */
int attn_cli_finish(int status);

/* A sink to a stream, and to standard output. */
attn_sink attn_cli_sink(FILE *to);
attn_sink attn_cli_stdout(void);

/* Writes to a sink as printf does, at most 1023 bytes. */
void attn_cli_write(const attn_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- Files ---- */

#define ATTN_CLI_NUL_BYTE "contains a NUL byte; expected text without NUL bytes"

/* The column, from 1 and in characters, of byte `at` of a line. */
int64_t attn_cli_column(const char *line, size_t at);

/* The line at *at, without its ending, which is overwritten; *at moves to the next one. NULL at
 * the end of the text. */
char *attn_cli_next_line(char **at);

/* "FOLDER/NAME", to be freed; NULL: no memory. */
char *attn_cli_join_path(const char *folder, const char *name);

/* Creates a folder of a new name in $TMPDIR, or /tmp: "/tmp/NAME-Xy3aB9". *path is empty on
 * failure. */
attn_status attn_cli_make_temporary_folder(char *path, size_t size, const char *name,
                                           attn_error *err);

/* Reads a file, or standard input if path is "-", of at most 1 GiB. *text is 0-terminated and to be
 * freed; NULL on failure. A NUL byte is ATTN_ERR_FORMAT, with its location. */
attn_status attn_cli_read_text(const char *path, char **text, attn_error *err);

/* Reads a file, or standard input if path is "-", as a lesson. *lesson is NULL on failure. The
 * caller frees *text in any case. */
attn_status attn_cli_read_document(const char *path, attn_lesson **lesson, char **text,
                                   size_t *bytes, attn_error *err);

/* Calls run(argv[n], options) for n = 1..files. Returns the highest exit status. */
int attn_cli_for_each_file(int files, char **argv,
                           int (*run)(const char *path, const void *options), const void *options);

/* ---- Progress and Ctrl-C ---- */

struct attn_cli_progress {
  const char *label;
  double start, last;
  int quiet, shown, tenths;
  struct sigaction before[2];
};

/* From here to attn_cli_progress_end the first Ctrl-C or SIGTERM sets a flag, which
 * attn_cli_progress_update returns. A second one ends the program at once. */
struct attn_cli_progress attn_cli_progress_begin(const char *label, int quiet);

/* Starts again at 0 % with another label. */
void attn_cli_progress_restart(struct attn_cli_progress *progress, const char *label);

/* A progress function of the library; context is the struct. After one second it draws a bar on a
 * terminal, or prints a line per 10 % elsewhere. Returns nonzero after Ctrl-C. */
int attn_cli_progress_update(void *context, int64_t done, int64_t total);
void attn_cli_progress_end(struct attn_cli_progress *progress);

/* Erases the bar until the next update, for lines on the same terminal. */
void attn_cli_progress_hide(struct attn_cli_progress *progress);

/* Erases the current line of the terminal on standard error. */
void attn_cli_clear_line(void);

/* Nonzero after Ctrl-C. */
int attn_cli_interrupted(void);

/* Blocks SIGINT and SIGTERM while files are moved into place (1), or unblocks them (0). */
void attn_cli_defer_interrupts(int defer);

/* The next number of a seed: SplitMix64. */
uint64_t attn_cli_random(uint64_t *state);

/* Seconds of a monotonic clock. */
double attn_cli_now(void);

#endif
