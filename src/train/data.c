#include "data.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "file.h"
#include "vocabulary.h"
#include "watch.h"

enum { TOLD = 1 << 20, LINE_MOST = 1 << 16, FILE_MOST = 1 << 30, TRAINED = 0, HELD_OUT = 1 };

static const uint64_t FNV_BASIS = 0xcbf29ce484222325u;

/* A line of a text in memory: where it begins, its first tab, where it ends; tab == end: none. */
struct line {
  size_t source, tab, end;
  int64_t number;
};

struct lines {
  struct line *at;
  size_t count, room;
};

struct attn_data {
  const struct attn_task *task;
  uint64_t seed, hash;
  int joined;
  struct attn_example_pair made;
  char *text[2];                       /* of the two files */
  const char *text_of[2], *name_of[2]; /* of the two sides */
  struct lines lines[2];
  uint32_t *order; /* of the lines, in round `round`; of FILE_MOST bytes there are no 2^32 */
  uint64_t round;
  struct attn_watch *watch;
};

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the data");
}

attn_status attn_data_of_task(const char *name, uint64_t seed, struct attn_data **data,
                              attn_error *err) {
  const struct attn_task *task;
  attn_status status = attn_task_require(name, &task, err);
  if (status) return status;
  if (!(*data = calloc(1, sizeof **data))) return out_of_memory(err);
  (*data)->task = task, (*data)->seed = seed;
  return ATTN_OK;
}

/* ---- Reading ---- */

/* FNV-1a, from FNV_BASIS on. */
static uint64_t add_to_hash(uint64_t hash, const char *text, size_t size) {
  for (size_t n = 0; n < size; n++) hash = (hash ^ (unsigned char)text[n]) * 0x100000001b3u;
  return hash;
}

attn_status attn_data_wrong(const struct attn_pair *pair, attn_status status, const char *what,
                            attn_error *err) {
  if (!pair->file) return attn_fail(err, status, NULL, "%s", what);
  return attn_fail_at(err, status, pair->line, 1, "%.120s:%lld:1: %s", pair->file,
                      (long long)pair->line, what);
}

static int is_utf8(const char *text, size_t bytes) {
  int32_t code;
  for (size_t at = 0, more; at < bytes; at += more)
    if (!(more = attn_utf8_read(text + at, bytes - at, &code))) return 0;
  return 1;
}

/* NULL, or what is wrong with a line. */
static const char *fault_of(const struct attn_data *d, const char *text, const struct line *line) {
  const char *start = text + line->source;
  size_t bytes = line->end - line->source, behind = line->end - line->tab;
  if (bytes > LINE_MOST) return "longer than 65536 bytes";
  if (memchr(start, 0, bytes)) return "holds a 0: this is no text";
  if (!is_utf8(start, bytes)) return "is not UTF-8; convert the file";
  if (d->joined) return NULL;
  if (!behind) return "has no tab; it must be source<TAB>target";
  return memchr(text + line->tab + 1, '\t', behind - 1)
             ? "has two tabs; it must be source<TAB>target"
             : NULL;
}

static attn_status check_line(const struct attn_data *d, const char *path, const char *text,
                              const struct line *line, attn_error *err) {
  const struct attn_pair place = {.file = path, .line = line->number};
  const char *fault = fault_of(d, text, line);
  return fault ? attn_data_wrong(&place, ATTN_ERR_FORMAT, fault, err) : ATTN_OK;
}

static attn_status add_line(struct lines *to, const struct line *line, attn_error *err) {
  if (to->count == to->room) {
    size_t room = to->room ? 2 * to->room : 1024;
    struct line *more = realloc(to->at, room * sizeof *more);
    if (!more) return out_of_memory(err);
    to->at = more, to->room = room;
  }
  to->at[to->count++] = *line;
  return ATTN_OK;
}

/* One source in ten, the same in every file. */
static int is_held_out(const char *text, const struct line *line) {
  uint64_t hash = add_to_hash(FNV_BASIS, text + line->source, line->tab - line->source);
  return (hash ^ hash >> 32) % 10 == 0;
}

/* From at to end, which may be behind a \r. */
static struct line line_of(const char *text, size_t at, size_t end, int64_t number) {
  end -= end > at && text[end - 1] == '\r';
  const char *tab = end > at ? memchr(text + at, '\t', end - at) : NULL;
  return (struct line){at, tab ? (size_t)(tab - text) : end, end, number};
}

/* From at on. side: where its lines go; -1: to either. Empty lines are passed over. */
static attn_status read_lines(struct attn_data *d, const char *path, const char *text, size_t at,
                              size_t size, int side, attn_error *err) {
  attn_status status = ATTN_OK;
  int64_t number = 1;
  size_t told = 0;
  for (size_t end; at < size && !status; at = end + 1, number++) {
    const char *stop = memchr(text + at, '\n', size - at);
    end = stop ? (size_t)(stop - text) : size;
    d->hash = add_to_hash(d->hash, text + at, (stop ? end + 1 : size) - at);
    if (at - told >= TOLD)
      status = attn_watch_tell(d->watch, (int64_t)(told = at), (int64_t)size, err);
    const struct line line = line_of(text, at, end, number);
    if (status || line.end == line.source) continue;
    status = check_line(d, path, text, &line, err);
    int held_out = side < 0 ? !status && is_held_out(text, &line) : side;
    if (!status) status = add_line(&d->lines[held_out], &line, err);
  }
  return status;
}

/* Where chance held nothing out, or everything, the last line goes over. */
static void balance(struct attn_data *d) {
  for (int side = 0; side < 2; side++) {
    struct lines *none = &d->lines[side], *all = &d->lines[!side];
    if (none->count || all->count < 2 || !none->room) continue;
    none->at[none->count++] = all->at[--all->count];
  }
}

static attn_status read_file(struct attn_data *d, const char *path, int n, int side,
                             attn_error *err) {
  size_t size = 0;
  attn_status status = attn_file_read(path, FILE_MOST, d->watch, &d->text[n], &size, err);
  if (status) return status;
  size_t from = size >= 3 && !memcmp(d->text[n], "\xEF\xBB\xBF", 3) ? 3 : 0; /* a BOM */
  d->hash = add_to_hash(d->hash, d->text[n], from);
  return read_lines(d, path, d->text[n], from, size, side, err);
}

static attn_status reserve(struct lines *lines, attn_error *err) {
  lines->at = malloc(sizeof *lines->at);
  lines->room = lines->at != NULL;
  return lines->at ? ATTN_OK : out_of_memory(err);
}

static attn_status read_all(struct attn_data *d, const char *path, const char *held_out,
                            attn_error *err) {
  attn_status status = reserve(&d->lines[TRAINED], err);
  if (!status) status = reserve(&d->lines[HELD_OUT], err);
  if (!status) status = read_file(d, path, TRAINED, held_out ? TRAINED : -1, err);
  if (!status && held_out) status = read_file(d, held_out, HELD_OUT, HELD_OUT, err);
  if (status) return status;
  d->text_of[TRAINED] = d->text[TRAINED], d->text_of[HELD_OUT] = d->text[held_out != NULL];
  d->name_of[TRAINED] = path, d->name_of[HELD_OUT] = held_out ? held_out : path;
  if (!held_out) balance(d);
  for (int side = 0; side < 2; side++)
    if (!d->lines[side].count)
      return attn_fail(err, ATTN_ERR_FORMAT, NULL, "%s: there is nothing to %s", d->name_of[side],
                       side ? "validate on" : "learn from");
  d->order = malloc(d->lines[TRAINED].count * sizeof *d->order);
  d->round = UINT64_MAX;
  return d->order ? ATTN_OK : out_of_memory(err);
}

attn_status attn_data_of_file(const char *path, const char *held_out, int joined, uint64_t seed,
                              struct attn_watch *watch, struct attn_data **data, attn_error *err) {
  struct attn_data *d = calloc(1, sizeof *d);
  if (!d) return out_of_memory(err);
  d->seed = seed, d->joined = joined, d->hash = FNV_BASIS, d->watch = watch;
  attn_status status = read_all(d, path, held_out, err);
  if (status) return attn_data_free(d), status;
  *data = d;
  return ATTN_OK;
}

void attn_data_free(struct attn_data *d) {
  if (!d) return;
  for (int side = 0; side < 2; side++) free(d->text[side]), free(d->lines[side].at);
  free(d->order), free(d);
}

/* ---- Examples ---- */

int64_t attn_data_count(const struct attn_data *d, int held_out) {
  return (int64_t)d->lines[held_out != 0].count;
}

uint64_t attn_data_hash(const struct attn_data *d) { return d->hash; }

const struct attn_task *attn_data_task(const struct attn_data *d) { return d->task; }

/* A new order for each round [Fisher & Yates; Durstenfeld 1964]. */
static attn_status shuffle(struct attn_data *d, uint64_t round, attn_error *err) {
  uint32_t count = (uint32_t)d->lines[TRAINED].count;
  struct attn_draws draws = {.seed = d->seed, .n = round};
  attn_status status = ATTN_OK;
  d->round = UINT64_MAX; /* no round's, until it is whole */
  for (uint32_t n = 0; n < count; n++) d->order[n] = n;
  for (uint32_t n = count; n > 1 && !status; n--) {
    if (n % TOLD == 0) status = attn_watch_tell(d->watch, count - n, count, err);
    uint32_t other = attn_draw_below(&draws, n), last = d->order[n - 1];
    d->order[n - 1] = d->order[other], d->order[other] = last;
  }
  if (!status) d->round = round;
  return status;
}

static attn_status line_pair(struct attn_data *d, uint64_t n, int held_out, struct attn_pair *pair,
                             attn_error *err) {
  uint64_t count = d->lines[held_out].count, round = n / count, index = n % count;
  attn_status status = !held_out && round != d->round ? shuffle(d, round, err) : ATTN_OK;
  if (status) return status;
  const struct line *line = &d->lines[held_out].at[held_out ? index : d->order[index]];
  const char *text = d->text_of[held_out];
  *pair = (struct attn_pair){.file = d->name_of[held_out], .line = line->number};
  if (line->tab == line->end) {
    pair->target = (struct attn_text_view){text + line->source, line->end - line->source};
  } else {
    pair->source = (struct attn_text_view){text + line->source, line->tab - line->source};
    pair->target = (struct attn_text_view){text + line->tab + 1, line->end - line->tab - 1};
  }
  return ATTN_OK;
}

attn_status attn_data_pair(struct attn_data *d, uint64_t n, int held_out, struct attn_pair *pair,
                           attn_error *err) {
  if (!d->task) return line_pair(d, n, held_out != 0, pair, err);
  d->task->make(d->seed, n, held_out, &d->made);
  *pair = (struct attn_pair){.source = {d->made.source, strlen(d->made.source)},
                             .target = {d->made.target, strlen(d->made.target)}};
  return ATTN_OK;
}
