#include "console.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "command.h"

/* ---- Messages ------------------------------------------------------------------ */

static int write_stream(void *context, const char *text, size_t bytes) {
  return fwrite(text, 1, bytes, context) != bytes;
}

static void put_bytes(const char *text, size_t bytes, FILE *to) {
  const attn_sink sink = {to, write_stream};
  attn_text_write_plain(text, bytes, &sink, NULL);
}

void attn_cli_print_text(const char *text, FILE *to) { put_bytes(text, strlen(text), to); }

static void put_message(const char *command, const char *format, va_list arguments) {
  char text[1024];
  vsnprintf(text, sizeof text, format, arguments);
  fputs("attn", stderr);
  if (command) fprintf(stderr, " %s", command);
  fputs(": ", stderr);
  attn_cli_print_text(text, stderr);
  fputc('\n', stderr);
}

int attn_cli_print_error(const char *command, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put_message(command, format, arguments);
  va_end(arguments);
  return EXIT_TROUBLE;
}

int attn_cli_print_usage_error(const char *command, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put_message(command, format, arguments);
  va_end(arguments);
  fprintf(stderr, "Try: attn%s%s --help\n", command ? " " : "", command ? command : "");
  return EXIT_TROUBLE;
}

/* Bytes of the file's name that a message begins with, where it is place, a file in it or what was
 * cut off; 0: it begins with none. */
static size_t file_in(const char *message, const char *place) {
  enum { CUT = 120 };
  size_t n = 0;
  while (place[n] && place[n] == message[n]) n++;
  if (!n || (place[n] && place[n] != ':' && n < CUT)) return 0;
  if (message[n] == '/') n += strcspn(message + n, ":");
  return strncmp(message + n, ": ", 2) ? 0 : n;
}

/* "pairs.tsv:17:1: has no tab", "x.npy: cannot open": bytes of the file's name. */
static size_t file_before(const char *message, const char *where) {
  const char *at = strstr(message, *where ? where : ": cannot ");
  if (!at || strncmp(at + strlen(where), ": ", 2)) return 0;
  return (size_t)(at - message);
}

static void put_failure(const char *command, const char *place, const char *kind,
                        const attn_error *err) {
  char where[64] = "";
  if (err->line)
    snprintf(where, sizeof where, ":%lld:%lld", (long long)err->line, (long long)err->column);
  const char *message = err->message;
  size_t own = place ? file_in(message, place) : 0;
  int says_line = !own && !place && err->line;
  if (!own && (says_line || !err->line)) own = file_before(message, where);
  fprintf(stderr, place || own ? "attn: " : "attn %s: ", command);
  if (own)
    put_bytes(message, own, stderr), message += own + (says_line ? strlen(where) : 0) + 2;
  else if (place)
    attn_cli_print_text(place, stderr);
  fprintf(stderr, "%s%s", place || own ? where : "", place || own ? ": " : "");
  if (err->offset >= 0) fprintf(stderr, "byte %lld: ", (long long)err->offset);
  fprintf(stderr, "%s: ", kind);
  attn_cli_print_text(message, stderr);
  fputc('\n', stderr);
}

int attn_cli_report_error(const char *command, const char *place, const attn_error *err) {
  if (err->status == ATTN_ERR_FILE && ferror(stdout)) return EXIT_TROUBLE; /* the end will say it */
  put_failure(command, place, "error", err);
  return err->status == ATTN_ERR_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_TROUBLE;
}

void attn_cli_report_warning(const char *place, const attn_error *warning) {
  put_failure(NULL, place, "warning", warning);
}

/* ---- The terminal --------------------------------------------------------------- */

void attn_cli_init(void) {
  /* The lowest free number is given out: 0 is asked first. Each is opened the wrong way round. */
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
      _exit(EXIT_TROUBLE);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); /* a file that may grow no more is a full disk */
}

int attn_cli_finish(int status) {
  int before = ferror(stdout), pipe = errno == EPIPE;
  errno = 0;
  if (!fflush(stdout) && !before) return status;
  if (errno != EPIPE && !(before && pipe))
    fprintf(stderr, "attn: standard output: cannot write%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
  return EXIT_TROUBLE;
}

attn_sink attn_cli_stdout(void) { return (attn_sink){stdout, write_stream}; }

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

/* "ja", "ja_JP.UTF-8" -> Japanese; anything else -> English, as programs do. */
static attn_language language_of(const char *lang) {
  static const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
  for (int n = 0; !lang && n < 3; n++) {
    const char *value = getenv(names[n]);
    if (value && *value) lang = value;
  }
  return lang && !strncmp(lang, "ja", 2) ? ATTN_LANGUAGE_JAPANESE : ATTN_LANGUAGE_ENGLISH;
}

int attn_cli_parse_style(attn_style *style, const char *lang, const char *color, int64_t width,
                         int64_t precision) {
  if (lang && strcmp(lang, "en") && strcmp(lang, "ja"))
    return attn_cli_print_error(NULL, "--lang must be en or ja"), -1;
  if (color && strcmp(color, "auto") && strcmp(color, "always") && strcmp(color, "never"))
    return attn_cli_print_error(NULL, "--color must be auto, always or never"), -1;
  if (width && (width < 20 || width > 10000))
    return attn_cli_print_error(NULL, "--width must be 20 to 10000"), -1;
  if (precision < -1 || precision > 17)
    return attn_cli_print_error(NULL, "--precision must be 0 to 17"), -1;
  *style = (attn_style){sizeof *style, (int32_t)language_of(lang), wants_color(color),
                        width ? (int32_t)width : terminal_width(),
                        precision < 0 ? 0
                        : precision   ? (int32_t)precision
                                      : -1};
  return 0;
}

/* ---- Files -------------------------------------------------------------------------- */

static attn_status trouble(attn_error *err, attn_status status, const char *what) {
  memset(err, 0, sizeof *err);
  err->status = status;
  err->offset = -1;
  snprintf(err->message, sizeof err->message, "%s", what);
  return status;
}

static attn_status cannot(attn_error *err, const char *what) {
  char text[160];
  snprintf(text, sizeof text, "cannot %s: %s", what, strerror(errno));
  return trouble(err, ATTN_ERR_FILE, text);
}

static attn_status read_stream(FILE *from, char **text, size_t *bytes, attn_error *err) {
  const size_t limit = (size_t)1 << 30;
  size_t room = 0;
  for (*text = NULL, *bytes = 0;;) {
    if (*bytes == room) {
      char *grown = room < limit ? realloc(*text, room = room ? room * 2 : 65536) : NULL;
      if (!grown) return trouble(err, ATTN_ERR_MEMORY, "larger than memory, or than 1 GiB");
      *text = grown;
    }
    size_t n = fread(*text + *bytes, 1, room - *bytes, from);
    *bytes += n;
    if (n == 0) return ferror(from) ? cannot(err, "read") : ATTN_OK;
  }
}

/* There is always room for one byte more. */
static attn_status slurp(const char *path, char **text, size_t *bytes, attn_error *err) {
  int standard = !strcmp(path, "-");
  *text = NULL;
  FILE *from = standard ? stdin : fopen(path, "rb");
  if (!from) return cannot(err, "open");
  attn_status status = read_stream(from, text, bytes, err);
  if (!standard) fclose(from);
  if (status) free(*text), *text = NULL;
  return status;
}

int64_t attn_cli_column(const char *line, size_t at) {
  int64_t column = 1;
  for (size_t n = 0; n < at; n++) column += (line[n] & 0xC0) != 0x80;
  return column;
}

/* Programs take a 0 for the end of a text: what is behind it would be dropped without a word. */
static attn_status refuse_zero(const char *text, size_t bytes, attn_error *err) {
  const char *zero = memchr(text, 0, bytes), *line = text;
  if (!zero) return ATTN_OK;
  trouble(err, ATTN_ERR_FORMAT, ATTN_CLI_NUL_BYTE);
  err->line = 1;
  for (const char *end; (end = memchr(line, '\n', (size_t)(zero - line))); err->line++)
    line = end + 1;
  err->column = attn_cli_column(line, (size_t)(zero - line));
  return ATTN_ERR_FORMAT;
}

attn_status attn_cli_read_text(const char *path, char **text, attn_error *err) {
  size_t bytes;
  attn_status status = slurp(path, text, &bytes, err);
  if (!status) status = refuse_zero(*text, bytes, err);
  if (!status)
    (*text)[bytes] = 0;
  else
    free(*text), *text = NULL;
  return status;
}

attn_status attn_cli_read_lesson(const char *path, attn_lesson **lesson, attn_error *err) {
  char *text;
  size_t bytes;
  *lesson = NULL;
  attn_status status = slurp(path, &text, &bytes, err);
  if (!status) status = attn_lesson_read(text, bytes, path, lesson, err);
  free(text);
  return status;
}

int attn_cli_for_each_file(int files, char **argv, int (*one)(const char *path, const void *wishes),
                           const void *wishes) {
  int worst = 0;
  for (int n = 1; n <= files; n++) {
    int status = one(argv[n], wishes);
    if (status > worst) worst = status;
  }
  return worst;
}

/* ---- Progress and Ctrl-C ------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

int attn_cli_interrupted(void) { return interrupted; }

void attn_cli_defer_interrupts(int held) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(held ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static void on_interrupt(int signal_number) {
  (void)signal_number;
  interrupted = 1;
}

double attn_cli_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const int stops[] = {SIGINT, SIGTERM};

struct attn_cli_progress attn_cli_progress_begin(const char *what, int quiet) {
  struct attn_cli_progress p = {.what = what, .quiet = quiet};
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_interrupt;
  action.sa_flags = (int)SA_RESETHAND; /* a second Ctrl-C ends the program at once */
  for (int n = 0; n < 2; n++) sigaction(stops[n], &action, &p.before[n]);
  p.start = p.last = attn_cli_now();
  return p;
}

static void erase(struct attn_cli_progress *p) {
  if (p->shown) fprintf(stderr, "\r%*s\r", 79, "");
  p->shown = 0;
}

void attn_cli_progress_restart(struct attn_cli_progress *p, const char *what) {
  erase(p);
  p->what = what, p->start = p->last = attn_cli_now(), p->tenths = 0;
}

static void draw(struct attn_cli_progress *p, double part, double left) {
  char bar[31];
  for (int n = 0; n < 30; n++) bar[n] = n < (int)(part * 30) ? '=' : ' ';
  bar[30] = 0;
  fprintf(stderr, "\r%s [%s] %3.0f %%  %.0f s left ", p->what, bar, part * 100, left);
  p->shown = 1;
}

int attn_cli_progress_update(void *context, int64_t done, int64_t total) {
  struct attn_cli_progress *p = context;
  double now = attn_cli_now(), part = total ? (double)done / (double)total : 1;
  double left = part > 0 ? (now - p->start) * (1 - part) / part : 0;
  if (p->quiet || now - p->start < 1) return interrupted;
  if (isatty(STDERR_FILENO)) {
    if (now - p->last > 0.1) p->last = now, draw(p, part, left);
  } else if ((int)(part * 10) > p->tenths) {
    p->tenths = (int)(part * 10);
    fprintf(stderr, "%s %d %%, %.0f s left\n", p->what, p->tenths * 10, left);
  }
  return interrupted;
}

void attn_cli_progress_end(struct attn_cli_progress *p) {
  erase(p);
  for (int n = 0; n < 2; n++) sigaction(stops[n], &p->before[n], NULL);
}

/* ---- JSON -------------------------------------------------------------------------- */

void attn_cli_json_string(const char *text) {
  const attn_sink sink = attn_cli_stdout();
  attn_text_write_json(text, strlen(text), &sink, NULL);
}

void attn_cli_json_number(double value) {
  if (value - value == 0)
    printf("%.17g", value);
  else
    printf("null");
}

void attn_cli_json_shape(const int64_t *shape, int rank) {
  putchar('[');
  for (int n = 0; n < rank; n++) printf("%s%lld", n ? ", " : "", (long long)shape[n]);
  putchar(']');
}
