#include "console.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"

/* ---- Messages ------------------------------------------------------------------ */

static int write_stream(void *context, const char *text, size_t bytes) {
  return fwrite(text, 1, bytes, context) != bytes;
}

attn_sink attn_cli_sink(FILE *to) { return (attn_sink){to, write_stream}; }

void attn_cli_print_bytes(const char *text, size_t bytes, FILE *to) {
  const attn_sink sink = attn_cli_sink(to);
  attn_text_write_plain(text, bytes, &sink, NULL);
}

void attn_cli_print_text(const char *text, FILE *to) {
  attn_cli_print_bytes(text, strlen(text), to);
}

void attn_cli_print_shape(const int64_t *shape, int rank) {
  putchar('(');
  for (int n = 0; n < rank; n++) printf("%s%lld", n ? ", " : "", (long long)shape[n]);
  printf("%s)", rank == 1 ? "," : "");
}

static void print_translated(FILE *to, const char *format, va_list arguments) {
  char text[1024], buffer[ATTN_CLI_MESSAGE_MAX];
  vsnprintf(text, sizeof text, format, arguments);
  attn_cli_print_text(attn_cli_translate(text, buffer), to);
}

void attn_cli_print_message(FILE *to, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_translated(to, format, arguments);
  va_end(arguments);
}

void attn_cli_print_line(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_translated(stdout, format, arguments);
  va_end(arguments);
  putchar('\n');
}

void attn_cli_print_cell(const char *text, int width) {
  char buffer[ATTN_CLI_MESSAGE_MAX];
  const char *shown = attn_cli_translate(text, buffer);
  const int spaces = abs(width) - attn_text_width(shown), count = spaces > 0 ? spaces : 0;
  if (width > 0) printf("%*s", count, "");
  attn_cli_print_text(shown, stdout);
  if (width < 0) printf("%*s", count, "");
}

void attn_cli_print_written(const char *path, const char *file) {
  attn_cli_print_message(stdout, "wrote ");
  attn_cli_print_text(path, stdout), puts(file);
}

static const char *command;

void attn_cli_set_command(const char *name) { command = name; }

static void print_error(const char *format, va_list arguments) {
  fprintf(stderr, command ? "attn %s: " : "attn: ", command);
  print_translated(stderr, format, arguments);
  fputc('\n', stderr);
}

int attn_cli_print_error(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_error(format, arguments);
  va_end(arguments);
  return EXIT_TROUBLE;
}

int attn_cli_print_usage_error(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_error(format, arguments);
  va_end(arguments);
  attn_cli_print_message(stderr, "Try: attn%s%s --help", command ? " " : "",
                         command ? command : "");
  fputc('\n', stderr);
  return EXIT_TROUBLE;
}

int attn_cli_print_unknown_name(const char *kind, const char *name, const char *const *names,
                                int count) {
  const char *near = attn_text_nearest(name, names, count);
  if (near)
    attn_cli_print_error("unknown %s \"%.40s\"; did you mean \"%s\"?", kind, name, near);
  else
    attn_cli_print_error("unknown %s \"%.40s\"", kind, name);
  attn_cli_print_message(stderr, "Try: attn %s --list", command);
  fputc('\n', stderr);
  return EXIT_TROUBLE;
}

int attn_cli_print_no_memory(void) { return attn_cli_print_error("no memory"); }

attn_status attn_cli_fail(attn_error *err, attn_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  *err = (attn_error){.status = status, .offset = -1};
  vsnprintf(err->message, sizeof err->message, format, arguments);
  va_end(arguments);
  return status;
}

attn_status attn_cli_fail_file(attn_error *err, const char *path, const char *what) {
  return attn_cli_fail(err, ATTN_ERR_FILE, "%.150s: %s: %s", path, what, strerror(errno));
}

attn_status attn_cli_no_memory(attn_error *err) {
  return attn_cli_fail(err, ATTN_ERR_MEMORY, "no memory");
}

/* Length of the file name at the start of a message, if that is file, a file in the folder of that
 * name, or such a name cut at the library's limit; else 0. */
static size_t given_file_length(const char *message, const char *file) {
  enum { CUT = 120 };
  size_t n = 0;
  while (file[n] && file[n] == message[n]) n++;
  if (!n || (file[n] && file[n] != ':' && n < CUT)) return 0;
  if (message[n] == '/') n += strcspn(message + n, ":");
  return strncmp(message + n, ": ", 2) ? 0 : n;
}

/* Length of the file name in "pairs.tsv:17:1: has no tab" or "x.npy: cannot open"; else 0. */
static size_t file_length(const char *message, const char *location) {
  const char *at = strstr(message, *location ? location : ": cannot ");
  if (!at || strncmp(at + strlen(location), ": ", 2)) return 0;
  return (size_t)(at - message);
}

/* The message in the language, without its first bytes, a file name and location. Its entry has
 * them too, or is one of the rest. */
static const char *translate_after(const char *message, size_t skipped, char *buffer) {
  const char *whole = attn_cli_translate(message, buffer);
  if (whole != message && !strncmp(whole, message, skipped)) return whole + skipped;
  return attn_cli_translate(message + skipped, buffer);
}

static void report(const char *file, const char *severity, const attn_error *err) {
  char location[64] = "";
  if (err->line)
    snprintf(location, sizeof location, ":%lld:%lld", (long long)err->line, (long long)err->column);
  const char *message = err->message;
  size_t length = file ? given_file_length(message, file) : 0;
  int has_location = !length && !file && err->line; /* the message may begin with it */
  if (!length && (has_location || !err->line)) length = file_length(message, location);
  size_t skipped = length ? length + (has_location ? strlen(location) : 0) + 2 : 0;
  char buffer[ATTN_CLI_MESSAGE_MAX];
  fprintf(stderr, file || length ? "attn: " : "attn %s: ", command);
  if (length)
    attn_cli_print_bytes(message, length, stderr);
  else if (file)
    attn_cli_print_text(file, stderr);
  if (file || length) fprintf(stderr, "%s: ", location);
  if (err->offset >= 0) attn_cli_print_message(stderr, "byte %lld: ", (long long)err->offset);
  attn_cli_print_message(stderr, "%s", severity);
  attn_cli_print_text(translate_after(message, skipped, buffer), stderr);
  fputc('\n', stderr);
}

int attn_cli_report_error(const char *file, const attn_error *err) {
  if (err->status == ATTN_ERR_FILE && ferror(stdout))
    return EXIT_TROUBLE; /* attn_cli_finish reports it */
  report(file, "error: ", err);
  return err->status == ATTN_ERR_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_TROUBLE;
}

void attn_cli_report_warning(const char *file, const attn_error *warning) {
  report(file, "warning: ", warning);
}

/* ---- The terminal --------------------------------------------------------------- */

void attn_cli_init(void) {
  /* open() returns the lowest free descriptor. Input is opened for writing, output for reading. */
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
      _exit(EXIT_TROUBLE);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); /* write() fails instead, as on a full disk */
}

int attn_cli_finish(int status) {
  int before = ferror(stdout), pipe = errno == EPIPE;
  errno = 0;
  if (!fflush(stdout) && !before) return status;
  attn_cli_set_command(NULL);
  if (errno != EPIPE && !(before && pipe))
    return errno ? attn_cli_print_error("standard output: cannot write: %s", strerror(errno))
                 : attn_cli_print_error("standard output: cannot write");
  return EXIT_TROUBLE;
}

attn_sink attn_cli_stdout(void) { return attn_cli_sink(stdout); }

void attn_cli_write(const attn_sink *sink, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  sink->write(sink->context, text, strlen(text));
}

/* ---- Files -------------------------------------------------------------------------- */

static attn_status fail_errno(attn_error *err, const char *what) {
  return attn_cli_fail(err, ATTN_ERR_FILE, "%s: %s", what, strerror(errno));
}

/* Leaves the capacity above *length, for a final 0. */
static attn_status read_stream(FILE *from, char **text, size_t *length, attn_error *err) {
  const size_t limit = (size_t)1 << 30;
  size_t capacity = 0;
  for (*text = NULL, *length = 0;;) {
    if (*length == capacity) {
      capacity = capacity ? capacity * 2 : 65536;
      char *grown = capacity <= limit ? realloc(*text, capacity) : NULL;
      if (!grown)
        return attn_cli_fail(err, ATTN_ERR_MEMORY, "larger than 1 GiB or than the free memory");
      *text = grown;
    }
    size_t n = fread(*text + *length, 1, capacity - *length, from);
    *length += n;
    if (n == 0) return ferror(from) ? fail_errno(err, "cannot read") : ATTN_OK;
  }
}

static attn_status read_bytes(const char *path, char **text, size_t *length, attn_error *err) {
  int standard = !strcmp(path, "-");
  *text = NULL;
  FILE *from = standard ? stdin : fopen(path, "rb");
  if (!from) return fail_errno(err, "cannot open");
  attn_status status = read_stream(from, text, length, err);
  if (!standard) fclose(from);
  if (status) free(*text), *text = NULL;
  return status;
}

char *attn_cli_next_line(char **at) {
  char *line = *at, *end = line + strcspn(line, "\n");
  if (!*line) return NULL;
  *at = end + (*end == '\n');
  *end = 0;
  if (end > line && end[-1] == '\r') end[-1] = 0;
  return line;
}

char *attn_cli_join_path(const char *folder, const char *name) {
  const size_t bytes = strlen(folder) + strlen(name) + 2;
  char *path = malloc(bytes);
  if (path) snprintf(path, bytes, "%s/%s", folder, name);
  return path;
}

attn_status attn_cli_make_temporary_folder(char *path, size_t size, const char *name,
                                           attn_error *err) {
  const char *parent = getenv("TMPDIR");
  if (!parent || !*parent) parent = "/tmp";
  const int length = snprintf(path, size, "%s/%s-XXXXXX", parent, name);
  errno = ENAMETOOLONG;
  if (length < (int)size && mkdtemp(path)) return ATTN_OK;
  attn_status status = attn_cli_fail_file(err, path, "cannot create the folder");
  *path = 0;
  return status;
}

int64_t attn_cli_column(const char *line, size_t at) {
  int64_t column = 1;
  for (size_t n = 0; n < at; n++) column += (line[n] & 0xC0) != 0x80;
  return column;
}

/* The text is passed on as a C string, which would end at the NUL. */
static attn_status refuse_nul(const char *text, size_t length, attn_error *err) {
  const char *nul = memchr(text, 0, length), *line = text;
  if (!nul) return ATTN_OK;
  attn_cli_fail(err, ATTN_ERR_FORMAT, ATTN_CLI_NUL_BYTE);
  err->line = 1;
  for (const char *end; (end = memchr(line, '\n', (size_t)(nul - line))); err->line++)
    line = end + 1;
  err->column = attn_cli_column(line, (size_t)(nul - line));
  return ATTN_ERR_FORMAT;
}

attn_status attn_cli_read_text(const char *path, char **text, attn_error *err) {
  size_t length;
  attn_status status = read_bytes(path, text, &length, err);
  if (!status) status = refuse_nul(*text, length, err);
  if (!status)
    (*text)[length] = 0;
  else
    free(*text), *text = NULL;
  return status;
}

attn_status attn_cli_read_document(const char *path, attn_lesson **lesson, char **text,
                                   size_t *bytes, attn_error *err) {
  *lesson = NULL;
  attn_status status = read_bytes(path, text, bytes, err);
  return status ? status : attn_lesson_read(*text, *bytes, path, lesson, err);
}

int attn_cli_for_each_file(int files, char **argv,
                           int (*run)(const char *path, const void *options), const void *options) {
  int highest = 0;
  for (int n = 1; n <= files; n++) {
    int status = run(argv[n], options);
    if (status > highest) highest = status;
  }
  return highest;
}

/* ---- Progress and Ctrl-C ------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

int attn_cli_interrupted(void) { return interrupted; }

void attn_cli_defer_interrupts(int defer) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(defer ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static void on_interrupt(int signal_number) {
  (void)signal_number;
  interrupted = 1;
}

uint64_t attn_cli_random(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

double attn_cli_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const int stop_signals[] = {SIGINT, SIGTERM};

struct attn_cli_progress attn_cli_progress_begin(const char *label, int quiet) {
  struct attn_cli_progress p = {.label = label, .quiet = quiet};
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_interrupt;
  action.sa_flags = (int)SA_RESETHAND; /* a second Ctrl-C ends the program at once */
  for (int n = 0; n < 2; n++) sigaction(stop_signals[n], &action, &p.before[n]);
  p.start = p.last = attn_cli_now();
  return p;
}

void attn_cli_clear_line(void) { fputs("\r\033[K", stderr); }

void attn_cli_progress_hide(struct attn_cli_progress *p) {
  if (p->shown) attn_cli_clear_line();
  p->shown = 0;
}

void attn_cli_progress_restart(struct attn_cli_progress *p, const char *label) {
  attn_cli_progress_hide(p);
  p->label = label, p->start = p->last = attn_cli_now(), p->tenths = 0;
}

static void draw(struct attn_cli_progress *p, double fraction, double left) {
  char bar[31];
  for (int n = 0; n < 30; n++) bar[n] = n < (int)(fraction * 30) ? '=' : ' ';
  bar[30] = 0;
  fputc('\r', stderr);
  attn_cli_print_message(stderr, "%s [%s] %3.0f %%  %.0f s left ", p->label, bar, fraction * 100,
                         left);
  p->shown = 1;
}

int attn_cli_progress_update(void *context, int64_t done, int64_t total) {
  struct attn_cli_progress *p = context;
  double now = attn_cli_now(), fraction = total ? (double)done / (double)total : 1;
  double left = fraction > 0 ? (now - p->start) * (1 - fraction) / fraction : 0;
  if (p->quiet || now - p->start < 1) return interrupted;
  if (isatty(STDERR_FILENO)) {
    if (now - p->last > 0.1) p->last = now, draw(p, fraction, left);
  } else if ((int)(fraction * 10) > p->tenths) {
    p->tenths = (int)(fraction * 10);
    attn_cli_print_message(stderr, "%s %d %%, %.0f s left", p->label, p->tenths * 10, left);
    fputc('\n', stderr);
  }
  return interrupted;
}

void attn_cli_progress_end(struct attn_cli_progress *p) {
  attn_cli_progress_hide(p);
  for (int n = 0; n < 2; n++) sigaction(stop_signals[n], &p->before[n], NULL);
}
