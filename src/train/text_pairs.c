#include "text_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "file.h"
#include "hash.h"
#include "scene.h"
#include "vocabulary.h"
#include "watch.h"

enum { TRAINING, VALIDATION };
enum { POLL_INTERVAL = 1 << 20, LINE_SIZE_MAX = 1 << 16, FILE_SIZE_MAX = 1 << 30 };

/* Byte offsets of a line's start, first tab and end; tab == end: no tab. */
struct text_line {
  size_t source, tab, end;
  int64_t number;
};

struct text_lines {
  struct text_line *at;
  size_t count, capacity;
};

struct attn_text_pairs {
  const struct attn_task *task;
  struct attn_photos *photos[2]; /* by TRAINING, VALIDATION; NULL: the task has none */
  uint64_t seed, hash;
  int plain_text;
  struct attn_aligned_pair example;    /* a task's */
  char *text[2];                       /* of the files */
  const char *text_of[2], *name_of[2]; /* by TRAINING, VALIDATION */
  struct text_lines lines[2];
  uint32_t *order; /* of the training lines, in this epoch; FILE_SIZE_MAX limits them to 2^32 */
  uint64_t epoch;
  struct attn_watch *watch;
};

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: data");
}

static attn_status open_photos(struct attn_text_pairs *d, attn_error *err) {
  attn_status status = ATTN_OK;
  for (int side = 0; side < 2 && !status; side++) {
    status = attn_photos_open(side, d->watch, &d->photos[side], err);
    if (!status) d->hash = d->hash * 31 + attn_photos_hash(d->photos[side]);
  }
  return status;
}

attn_status attn_text_pairs_from_task(const char *name, uint64_t seed, struct attn_watch *watch,
                                      struct attn_text_pairs **pairs, attn_error *err) {
  const struct attn_task *task;
  attn_status status = attn_task_require(name, &task, err);
  if (status) return status;
  struct attn_text_pairs *d = calloc(1, sizeof *d);
  if (!d) return out_of_memory(err);
  d->task = task, d->seed = seed, d->watch = watch;
  if (task->has_photos) status = open_photos(d, err);
  if (status) return attn_text_pairs_free(d), status;
  *pairs = d;
  return ATTN_OK;
}

/* ---- Reading ---- */

attn_status attn_text_pair_fail(const struct attn_text_pair *pair, attn_status status,
                                const char *message, attn_error *err) {
  if (!pair->file) return attn_fail(err, status, NULL, "%s", message);
  return attn_fail_at(err, status, pair->line, 1, "%.120s:%lld:1: %s", pair->file,
                      (long long)pair->line, message);
}

/* What is wrong with a line, or NULL. */
static const char *find_fault(const struct attn_text_pairs *d, const char *text,
                              const struct text_line *line) {
  const char *start = text + line->source;
  size_t bytes = line->end - line->source, after_tab = line->end - line->tab;
  if (bytes > LINE_SIZE_MAX) return "line is longer than 65536 bytes";
  if (memchr(start, 0, bytes)) return "line contains a NUL byte; expected text";
  if (!attn_utf8_is_valid(start, bytes)) return "line is not UTF-8; convert the file";
  if (d->plain_text) return NULL;
  if (!after_tab) return "line has no tab; expected source<TAB>target";
  return memchr(text + line->tab + 1, '\t', after_tab - 1)
             ? "line has two tabs; expected source<TAB>target"
             : NULL;
}

static attn_status check_line(const struct attn_text_pairs *d, const char *path, const char *text,
                              const struct text_line *line, attn_error *err) {
  const struct attn_text_pair pair = {.file = path, .line = line->number};
  const char *fault = find_fault(d, text, line);
  return fault ? attn_text_pair_fail(&pair, ATTN_ERR_FORMAT, fault, err) : ATTN_OK;
}

static attn_status add_line(struct text_lines *to, const struct text_line *line, attn_error *err) {
  if (!attn_grow((void **)&to->at, &to->capacity, to->count + 1, sizeof *to->at))
    return out_of_memory(err);
  to->at[to->count++] = *line;
  return ATTN_OK;
}

/* One source in ten, whichever file or line it is in. */
static int is_held_out(const char *text, const struct text_line *line) {
  uint64_t hash = attn_hash_bytes(ATTN_HASH_BEGIN, text + line->source, line->tab - line->source);
  return (hash ^ hash >> 32) % 10 == 0;
}

/* The line of bytes at .. end - 1, without a final \r. */
static struct text_line parse_line(const char *text, size_t at, size_t end, int64_t number) {
  end -= end > at && text[end - 1] == '\r';
  const char *tab = end > at ? memchr(text + at, '\t', end - at) : NULL;
  return (struct text_line){at, tab ? (size_t)(tab - text) : end, end, number};
}

/* Reads the lines from offset at on. side: TRAINING, VALIDATION, or -1: by is_held_out. Empty lines
 * are skipped. */
static attn_status read_lines(struct attn_text_pairs *d, const char *path, const char *text,
                              size_t at, size_t size, int side, attn_error *err) {
  attn_status status = ATTN_OK;
  int64_t number = 1;
  size_t reported = 0;
  for (size_t end; at < size && !status; at = end + 1, number++) {
    const char *stop = memchr(text + at, '\n', size - at);
    end = stop ? (size_t)(stop - text) : size;
    d->hash = attn_hash_bytes(d->hash, text + at, (stop ? end + 1 : size) - at);
    if (at - reported >= POLL_INTERVAL)
      status = attn_watch_report(d->watch, (int64_t)(reported = at), (int64_t)size, err);
    const struct text_line line = parse_line(text, at, end, number);
    if (status || line.end == line.source) continue;
    status = check_line(d, path, text, &line, err);
    int held_out = side < 0 ? !status && is_held_out(text, &line) : side;
    if (!status) status = add_line(&d->lines[held_out], &line, err);
  }
  return status;
}

/* When the hash puts all lines on one side, moves the last one to the other. */
static attn_status balance(struct attn_text_pairs *d, attn_error *err) {
  attn_status status = ATTN_OK;
  for (int side = 0; side < 2; side++) {
    struct text_lines *empty = &d->lines[side], *all = &d->lines[!side];
    if (!empty->count && all->count > 1) status = add_line(empty, &all->at[--all->count], err);
  }
  return status;
}

static attn_status read_file(struct attn_text_pairs *d, const char *path, int n, int side,
                             attn_error *err) {
  size_t size = 0;
  attn_status status = attn_file_read(path, FILE_SIZE_MAX, d->watch, &d->text[n], &size, err);
  if (status) return status;
  size_t from = size >= 3 && !memcmp(d->text[n], "\xEF\xBB\xBF", 3) ? 3 : 0; /* a BOM */
  d->hash = attn_hash_bytes(d->hash, d->text[n], from);
  return read_lines(d, path, d->text[n], from, size, side, err);
}

static attn_status read_all(struct attn_text_pairs *d, const char *path,
                            const char *validation_path, attn_error *err) {
  attn_status status = read_file(d, path, TRAINING, validation_path ? TRAINING : -1, err);
  if (!status)
    status = validation_path ? read_file(d, validation_path, VALIDATION, VALIDATION, err)
                             : balance(d, err);
  if (status) return status;
  d->text_of[TRAINING] = d->text[TRAINING];
  d->text_of[VALIDATION] = d->text[validation_path != NULL];
  d->name_of[TRAINING] = path, d->name_of[VALIDATION] = validation_path ? validation_path : path;
  for (int side = 0; side < 2; side++)
    if (!d->lines[side].count)
      return attn_fail(err, ATTN_ERR_FORMAT, NULL, "%s: no lines to %s on", d->name_of[side],
                       side == VALIDATION ? "validate" : "train");
  d->order = malloc(d->lines[TRAINING].count * sizeof *d->order);
  d->epoch = UINT64_MAX;
  return d->order ? ATTN_OK : out_of_memory(err);
}

attn_status attn_text_pairs_from_file(const char *path, const char *validation_path, int plain_text,
                                      uint64_t seed, struct attn_watch *watch,
                                      struct attn_text_pairs **pairs, attn_error *err) {
  struct attn_text_pairs *d = calloc(1, sizeof *d);
  if (!d) return out_of_memory(err);
  d->seed = seed, d->plain_text = plain_text, d->hash = ATTN_HASH_BEGIN, d->watch = watch;
  attn_status status = read_all(d, path, validation_path, err);
  if (status) return attn_text_pairs_free(d), status;
  *pairs = d;
  return ATTN_OK;
}

void attn_text_pairs_free(struct attn_text_pairs *d) {
  if (!d) return;
  for (int side = 0; side < 2; side++) {
    attn_photos_free(d->photos[side]);
    free(d->text[side]), free(d->lines[side].at);
  }
  free(d->order), free(d);
}

/* ---- Examples ---- */

int64_t attn_text_pairs_count(const struct attn_text_pairs *d, int validation) {
  return (int64_t)d->lines[validation != 0].count;
}

void attn_text_pairs_scene(const struct attn_text_pairs *d, uint64_t n, int validation,
                           struct attn_scene *scene) {
  attn_scene_make(d->seed, n, validation ? ATTN_SCENE_VALIDATION : ATTN_SCENE_TRAINING,
                  d->task->has_photos, d->photos[validation != 0], scene);
}

uint64_t attn_text_pairs_hash(const struct attn_text_pairs *d) { return d->hash; }

void attn_text_pairs_add_hash(struct attn_text_pairs *d, uint64_t hash) { d->hash += hash; }

const struct attn_task *attn_text_pairs_task(const struct attn_text_pairs *d) { return d->task; }

/* Shuffles the training lines [Fisher & Yates; Durstenfeld 1964]. */
static attn_status shuffle(struct attn_text_pairs *d, uint64_t epoch, attn_error *err) {
  uint32_t count = (uint32_t)d->lines[TRAINING].count;
  struct attn_random_stream random = {.seed = d->seed, .n = epoch};
  attn_status status = ATTN_OK;
  d->epoch = UINT64_MAX; /* none until the shuffle is complete */
  for (uint32_t n = 0; n < count; n++) d->order[n] = n;
  for (uint32_t n = count; n > 1 && !status; n--) {
    if (n % POLL_INTERVAL == 0) status = attn_watch_report(d->watch, count - n, count, err);
    uint32_t other = attn_random_below(&random, n), last = d->order[n - 1];
    d->order[n - 1] = d->order[other], d->order[other] = last;
  }
  if (!status) d->epoch = epoch;
  return status;
}

static attn_status get_line(struct attn_text_pairs *d, uint64_t n, int validation,
                            struct attn_text_pair *pair, attn_error *err) {
  uint64_t count = d->lines[validation].count, epoch = n / count, index = n % count;
  attn_status status = !validation && epoch != d->epoch ? shuffle(d, epoch, err) : ATTN_OK;
  if (status) return status;
  const struct text_line *line = &d->lines[validation].at[validation ? index : d->order[index]];
  const char *text = d->text_of[validation];
  *pair = (struct attn_text_pair){.file = d->name_of[validation], .line = line->number};
  if (line->tab == line->end) {
    pair->target = (struct attn_text_view){text + line->source, line->end - line->source};
  } else {
    pair->source = (struct attn_text_view){text + line->source, line->tab - line->source};
    pair->target = (struct attn_text_view){text + line->tab + 1, line->end - line->tab - 1};
  }
  return ATTN_OK;
}

attn_status attn_text_pairs_get(struct attn_text_pairs *d, uint64_t n, int validation,
                                struct attn_text_pair *pair, attn_error *err) {
  if (!d->task) return get_line(d, n, validation != 0, pair, err);
  attn_task_make(d->task, d->seed, n, validation, &d->example);
  *pair = (struct attn_text_pair){.source = {d->example.source, strlen(d->example.source)},
                                  .target = {d->example.target, strlen(d->example.target)}};
  if (*d->example.prefix)
    pair->prefix = (struct attn_text_view){d->example.prefix, strlen(d->example.prefix)};
  return ATTN_OK;
}
