#include "console.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "command.h"

/* ---- Messages ------------------------------------------------------------------ */

/* Control characters, in UTF-8's two-byte form too, could move the cursor or worse. */
void attn_cli_put_plain(const char *text, FILE *to) {
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    int control = *c < 0x20 || *c == 0x7F;
    if (*c == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0) control = 1, c++;
    fputc(control ? '?' : *c, to);
  }
}

int attn_cli_fail(const char *command, const char *place, const attn_error *err) {
  if (err->status == ATTN_ERR_FILE && ferror(stdout)) return EXIT_TROUBLE; /* the end will say it */
  if (err->line)
    fprintf(stderr, "attn: ");
  else
    fprintf(stderr, "attn %s: ", command);
  if (place) attn_cli_put_plain(place, stderr);
  if (place && !err->line) fprintf(stderr, ": ");
  if (err->line)
    fprintf(stderr, "%s%lld:%lld: error: ", place ? ":" : "", (long long)err->line,
            (long long)err->column);
  if (err->offset >= 0) fprintf(stderr, "byte %lld: ", (long long)err->offset);
  attn_cli_put_plain(err->message, stderr);
  fprintf(stderr, " (%s)\n", attn_status_name(err->status));
  return err->status == ATTN_ERR_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_TROUBLE;
}

/* ---- The terminal --------------------------------------------------------------- */

void attn_cli_begin(void) {
  /* The lowest free number is given out: 0 is asked first. Each is opened the wrong way round. */
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
      _exit(EXIT_TROUBLE);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); /* a file that may grow no more is a full disk */
}

int attn_cli_end(int status) {
  int before = ferror(stdout), pipe = errno == EPIPE;
  errno = 0;
  if (!fflush(stdout) && !before) return status;
  if (errno != EPIPE && !(before && pipe))
    fprintf(stderr, "attn: standard output: cannot write%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
  return EXIT_TROUBLE;
}

static int write_stdout(void *context, const char *text, size_t bytes) {
  (void)context;
  return fwrite(text, 1, bytes, stdout) != bytes;
}

attn_sink attn_cli_stdout(void) { return (attn_sink){NULL, write_stdout}; }

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
  if (text && !attn_cli_whole(text, &columns) && columns >= 20 && columns <= 10000)
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

int attn_cli_style(attn_style *style, const char *lang, const char *color, int64_t width,
                   int64_t precision) {
  if (lang && strcmp(lang, "en") && strcmp(lang, "ja"))
    return fprintf(stderr, "attn: --lang must be en or ja\n"), -1;
  if (color && strcmp(color, "auto") && strcmp(color, "always") && strcmp(color, "never"))
    return fprintf(stderr, "attn: --color must be auto, always or never\n"), -1;
  if (width && (width < 20 || width > 10000))
    return fprintf(stderr, "attn: --width must be 20 to 10000\n"), -1;
  if (precision < -1 || precision > 17)
    return fprintf(stderr, "attn: --precision must be 0 to 17\n"), -1;
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
    if (n == 0) return ferror(from) ? trouble(err, ATTN_ERR_FILE, strerror(errno)) : ATTN_OK;
  }
}

/* There is always room for one byte more. */
static attn_status slurp(const char *path, char **text, size_t *bytes, attn_error *err) {
  int standard = !strcmp(path, "-");
  *text = NULL;
  FILE *from = standard ? stdin : fopen(path, "rb");
  if (!from) return trouble(err, ATTN_ERR_FILE, strerror(errno));
  attn_status status = read_stream(from, text, bytes, err);
  if (!standard) fclose(from);
  if (status) free(*text), *text = NULL;
  return status;
}

attn_status attn_cli_slurp(const char *path, char **text, attn_error *err) {
  size_t bytes;
  attn_status status = slurp(path, text, &bytes, err);
  if (!status) (*text)[bytes] = 0;
  return status;
}

attn_status attn_cli_lesson(const char *path, attn_lesson **lesson, attn_error *err) {
  char *text;
  size_t bytes;
  *lesson = NULL;
  attn_status status = slurp(path, &text, &bytes, err);
  if (!status) status = attn_lesson_read(text, bytes, path, lesson, err);
  free(text);
  return status;
}

int attn_cli_each(int files, char **argv, int (*one)(const char *path, const void *wishes),
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

void attn_cli_hold(int held) {
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

void attn_cli_progress_next(struct attn_cli_progress *p, const char *what) {
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

int attn_cli_tick(void *context, int64_t done, int64_t total) {
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

/* The bytes of the UTF-8 character at text; 0 where there is none. */
static int utf8_length(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  int length = c[0] < 0x80 ? 1 : c[0] < 0xC2 ? 0 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : 4;
  if (c[0] > 0xF4 || (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xED && c[1] > 0x9F) ||
      (c[0] == 0xF0 && c[1] < 0x90) || (c[0] == 0xF4 && c[1] > 0x8F))
    return 0;
  for (int n = 1; n < length; n++)
    if ((c[n] & 0xC0) != 0x80) return 0;
  return length;
}

void attn_cli_json_text(const char *text) {
  putchar('"');
  for (int length; *text; text += length ? length : 1) {
    unsigned char c = (unsigned char)*text;
    length = utf8_length(text);
    if (!length)
      printf("\\ufffd");
    else if (c < 0x20)
      printf("\\u%04x", c);
    else
      printf("%s%.*s", c == '"' || c == '\\' ? "\\" : "", length, text);
  }
  putchar('"');
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
