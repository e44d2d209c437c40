/* run_begin.c -- a run's data, words, model and trainer, from what was asked for or from a file. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json_text.h"
#include "error.h"
#include "file.h"
#include "run.h"

enum { VOCABULARY_FROM = 20000, LENGTH_LEAST = 64, MEASURED = 20000, TOLD = 256 };

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to begin a run");
}

static attn_status wrong(attn_error *err, const char *what, const char *must) {
  return attn_fail(err, ATTN_ERR_ARGUMENT, what, "%s %s", what, must);
}

/* ---- What it is at ---- */

static int tell(void *run, int64_t done, int64_t total) {
  struct attn_run *r = run;
  r->state.done = done, r->state.total = total;
  return r->wanted.progress && r->wanted.progress(r->wanted.context, &r->state);
}

struct attn_watch *attn_run_phase(struct attn_run *r, enum attn_train_phase phase) {
  r->state.phase = (int32_t)phase, r->state.validated = 0;
  r->watch.stop = tell, r->watch.context = r, r->watch.name = "progress";
  return &r->watch;
}

/* ---- Where it goes ---- */

/* "dates.last.safetensors" of "dates.safetensors", and of "dates". */
static char *last_name(const char *path) {
  static const char ending[] = ".safetensors";
  size_t length = strlen(path), end = sizeof ending - 1;
  if (length > end && !strcmp(path + length - end, ending)) length -= end;
  char *name = malloc(length + sizeof ".last" + end);
  if (name) sprintf(name, "%.*s.last%s", (int)length, path, ending);
  return name;
}

static attn_status check_free(const char *path, attn_error *err) {
  if (access(path, F_OK)) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "output",
                   "%s is there already; resume from it, replace it, or choose another name", path);
}

static int is_same_file(const char *a, const char *b) {
  struct stat one, other;
  return !stat(a, &one) && !stat(b, &other) && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

/* A run's own files are what it goes on from: these are replaced without a word. */
static int is_own(const struct attn_run *r, const char *resumed) {
  return resumed && (is_same_file(r->last_path, resumed) || is_same_file(r->best_path, resumed));
}

/* Before hours are spent on what could not be kept, or would be another's as well. */
static attn_status claim(const char *path, struct attn_lock *lock, attn_error *err) {
  char *target = NULL;
  attn_status status = attn_file_target(path, &target, err);
  if (!status) status = attn_file_writable(target, err);
  if (!status) status = attn_lock_begin(lock, target, 20, err);
  free(target);
  return status;
}

static attn_status place(struct attn_run *r, const attn_train *w, attn_error *err) {
  if (!w->output) return wrong(err, "output", "is missing: where shall the checkpoint go?");
  r->best_path = strdup(w->output), r->last_path = last_name(w->output);
  if (!r->best_path || !r->last_path) return out_of_memory(err);
  attn_status status = claim(r->best_path, &r->locks[0], err);
  if (!status) status = claim(r->last_path, &r->locks[1], err);
  r->replaces = !is_own(r, w->resume);
  if (!status && r->replaces && !w->replace) {
    status = check_free(r->best_path, err);
    if (!status) status = check_free(r->last_path, err);
  }
  return status;
}

/* ---- What is learned from ---- */

static int copy(char **to, const char *text) { return !text || (*to = strdup(text)); }

static attn_status open_data(struct attn_run *r, int joined, uint64_t seed, attn_error *err) {
  const struct attn_record *c = &r->record;
  if (c->task) return attn_data_of_task(c->task, seed, &r->data, err);
  return attn_data_of_file(c->data, c->held_out, joined, seed, attn_run_phase(r, ATTN_TRAIN_READS),
                           &r->data, err);
}

/* Of a task so many examples, of a file all: what validation alone has stays unknown. */
static int64_t count_texts(const struct attn_data *data) {
  int64_t count = attn_data_count(data, 0);
  return count ? count : VOCABULARY_FROM;
}

static attn_status keep(struct attn_text_view *to, struct attn_text_view text, attn_error *err) {
  char *kept = malloc(text.length + 1);
  if (!kept) return out_of_memory(err);
  if (text.length) memcpy(kept, text.text, text.length);
  *to = (struct attn_text_view){kept, text.length};
  return ATTN_OK;
}

/* Both sides of every example; and a tab, which joins them where the model has one side. */
static attn_status collect(struct attn_data *data, int64_t count, struct attn_watch *watch,
                           struct attn_text_view *texts, attn_error *err) {
  attn_status status = ATTN_OK;
  struct attn_pair pair;
  for (int64_t n = 0; n < count && !status; n++) {
    if (n % TOLD == 0) status = attn_watch_tell(watch, n, count, err);
    if (!status) status = attn_data_pair(data, (uint64_t)n, 0, &pair, err);
    if (!status) status = keep(&texts[2 * n], pair.source, err);
    if (!status) status = keep(&texts[2 * n + 1], pair.target, err);
  }
  if (!status) status = keep(&texts[2 * count], (struct attn_text_view){"\t", 1}, err);
  return status;
}

static attn_status train_words(const char *kind, const struct attn_text_view *texts, size_t count,
                               struct attn_watch *watch, struct attn_tokenizer **t,
                               attn_error *err) {
  char *end = NULL;
  long words = strncmp(kind, "bpe:", 4) ? 0 : strtol(kind + 4, &end, 10);
  if (!strcmp(kind, "characters"))
    return attn_tokenizer_train_characters(texts, count, watch, t, err);
  if (!strcmp(kind, "words")) return attn_tokenizer_train_words(texts, count, watch, t, err);
  if (end && !*end) return attn_tokenizer_train_bpe(texts, count, words, watch, t, err);
  if (!access(kind, F_OK)) return attn_tokenizer_read(kind, t, err);
  return wrong(err, "tokenizer", "may be characters, words, bpe:8000, or a file that is there");
}

static attn_status make_words(struct attn_run *r, const char *kind, attn_error *err) {
  int64_t count = count_texts(r->data);
  struct attn_watch *watch = attn_run_phase(r, ATTN_TRAIN_WORDS);
  struct attn_text_view *texts = calloc(2 * (size_t)count + 1, sizeof *texts);
  attn_status status = texts ? collect(r->data, count, watch, texts, err) : out_of_memory(err);
  if (!status) status = train_words(kind, texts, 2 * (size_t)count + 1, watch, &r->tokenizer, err);
  for (int64_t n = 0; texts && n < 2 * count + 1; n++) free((void *)texts[n].text);
  free(texts);
  if (!status) status = attn_tokenizer_check_special_tokens(r->tokenizer, err);
  if (!status && !(r->words = attn_tokenizer_to_json(r->tokenizer))) status = out_of_memory(err);
  return status;
}

static const char *default_words(const struct attn_data *data) {
  const struct attn_task *task = attn_data_task(data);
  return task && task->tokens == ATTN_TASK_WORDS ? "words" : "characters";
}

/* ---- The model ---- */

static attn_status read_config(const char *text, json_t **root, attn_error *err) {
  if (!text) text = "{}";
  attn_status status = attn_json_read("model configuration", text, strlen(text), 0, root, err);
  if (status || json_is_object(*root)) return status;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL, "model configuration: it is no object");
}

static int is_kind(const json_t *root, const char *kind) {
  const char *said = json_string_value(json_object_get(root, "kind"));
  return said && !strcmp(said, kind);
}

static int set_default(json_t *root, const char *name, json_t *value) {
  if (!json_object_get(root, name)) return json_object_set_new(root, name, value);
  json_decref(value);
  return 0;
}

/* Members that were not given. Examples were measured: no position is missing. */
static attn_status complete(json_t *root, const struct attn_run *r, int64_t longest,
                            struct attn_config *config, attn_error *err) {
  int64_t words = attn_tokenizer_vocab_size(r->tokenizer);
  int failed =
      set_default(root, "width", json_integer(64)) || set_default(root, "heads", json_integer(4)) ||
      set_default(root, "hidden", json_integer(256)) ||
      set_default(root, "encoder_layers", json_integer(2)) ||
      set_default(root, "decoder_layers", json_integer(2)) ||
      set_default(root, "shared_embedding", json_true()) ||
      set_default(root, "dropout", json_real(r->record.task ? 0 : 0.1)) ||
      set_default(root, "vocabulary", json_integer(words)) ||
      set_default(root, "length", json_integer(longest > LENGTH_LEAST ? longest : LENGTH_LEAST));
  char *text = failed ? NULL : attn_json_text(root, JSON_COMPACT);
  attn_status status =
      text ? attn_config_parse(text, strlen(text), config, err) : out_of_memory(err);
  free(text);
  if (!status && (config->target_words != words || config->source_words != words))
    status = attn_fail(err, ATTN_ERR_ARGUMENT, "config",
                       "a vocabulary of %lld words; the tokenizer's has %lld: leave it out",
                       (long long)config->target_words, (long long)words);
  if (!status && config->kind != ATTN_ENCODER && config->decoder_layers < 1)
    status = wrong(err, "config", "has no decoder, and would say nothing");
  if (!status && config->kind != ATTN_DECODER && config->encoder_layers < 1)
    status = wrong(err, "config", "has an encoder without layers, which would read nothing");
  return status;
}

/* ---- The trainer ---- */

static int64_t or_else(int64_t value, int64_t other) { return value ? value : other; }

/* Below 0 it is to be none. */
static double real_or_else(double value, double other) {
  return value > 0 ? value : value < 0 ? 0 : other;
}

static attn_status read_schedule(const char *name, enum attn_schedule_kind *kind, attn_error *err) {
  if (!name || attn_schedule_find(name, kind)) return ATTN_OK; /* NULL: *kind stays the default */
  return wrong(err, "schedule", "must be \"cosine\", \"noam\" or \"constant\"");
}

static attn_status read_precision(const char *name, int32_t *halves, attn_error *err) {
  if (!name || attn_precision_find(name, halves)) return ATTN_OK; /* NULL: *halves stays 0 */
  return wrong(err, "precision", "must be \"float32\" or \"bf16\"");
}

static attn_status check_numbers(const attn_train *w, attn_error *err) {
  const struct {
    const char *name;
    int64_t value, most;
  } whole[] = {{"steps", w->steps, INT64_MAX},
               {"batch", w->batch, ATTN_PAIRS_MOST},
               {"accumulate", w->accumulate, ATTN_PAIRS_MOST},
               {"warm_up", w->warm_up, INT64_MAX},
               {"examples", w->examples, ATTN_EXAMPLES_MOST},
               {"validate_every", w->validate_every, INT64_MAX},
               {"patience", w->patience, INT64_MAX},
               {"threads", w->threads, 1024}};
  for (size_t n = 0; n < sizeof whole / sizeof *whole; n++)
    if (whole[n].value < 0 || whole[n].value > whole[n].most)
      return attn_fail(err, ATTN_ERR_ARGUMENT, whole[n].name, "%s is %lld; it may be 1 to %lld",
                       whole[n].name, (long long)whole[n].value, (long long)whole[n].most);
  if (!isfinite(w->rate) || w->rate < 0) return wrong(err, "rate", "must be above 0");
  if (!isfinite(w->decay) || !isfinite(w->clip)) return wrong(err, "decay, clip", "must be finite");
  if (!(w->until >= 0 && w->until <= 1)) return wrong(err, "until", "is a share: 0 to 1");
  if (!(w->smoothing >= 0 && w->smoothing < 1)) return wrong(err, "smoothing", "must be in [0, 1)");
  return ATTN_OK;
}

/* A batch has room for the longest pairs, but for no more than four times the mean: where it is
 * full before that, it is shorter. A task is not measured whole. */
static attn_status make_room(struct attn_training *h, const struct attn_lengths *l, int64_t length,
                             attn_error *err) {
  int64_t mean = l->tokens / l->count + 1;
  h->longest = l->longest > LENGTH_LEAST ? l->longest : LENGTH_LEAST;
  if (h->longest > length) h->longest = length;
  h->tokens = h->batch * (l->longest < 4 * mean ? l->longest : 4 * mean);
  if (h->tokens <= ATTN_BATCH_MOST) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "batch",
                   "batch is %lld: more than 2^24 tokens; accumulate smaller ones",
                   (long long)h->batch);
}

/* Of a file all lines, so that no run dies of one after hours; of a task as many as will do. */
static attn_status measure(struct attn_run *r, struct attn_lengths *l, attn_error *err) {
  struct attn_watch *watch = attn_run_phase(r, ATTN_TRAIN_MEASURES);
  attn_status status = ATTN_OK;
  for (int held_out = 0; held_out < 2 && !status; held_out++) {
    int64_t count = attn_data_count(r->data, held_out);
    status = attn_examples_measure(&r->examples, count ? count : MEASURED, held_out, watch, l, err);
  }
  return status;
}

/* As the configuration says; else what the examples take. */
static int64_t length_of(const json_t *root) {
  json_int_t length = json_integer_value(json_object_get(root, "length"));
  return length > 0 ? length : INT64_MAX;
}

static attn_status plan(const attn_train *w, const struct attn_task *task, struct attn_training *h,
                        attn_error *err) {
  int64_t steps = or_else(w->steps, task ? task->steps : 4000);
  *h = (struct attn_training){
      .adam = {0.9, 0.98, 1e-9, real_or_else(w->decay, 0.01)},
      .schedule = {ATTN_SCHEDULE_COSINE, real_or_else(w->rate, task ? task->rate : 0.002),
                   or_else(w->warm_up, steps / 20 + 1), steps},
      .clip = real_or_else(w->clip, 1),
      .smoothing = w->smoothing,
      .batch = or_else(w->batch, 64),
      .accumulate = or_else(w->accumulate, 1),
      .seed = w->seed,
      .threads = w->threads};
  attn_status status = read_schedule(w->schedule, &h->schedule.kind, err);
  return status ? status : read_precision(w->precision, &h->halves, err);
}

static attn_status make_trainer(struct attn_run *r, const attn_train *w, json_t *root,
                                attn_error *err) {
  struct attn_config config;
  struct attn_training how;
  struct attn_lengths lengths = {1, 0, 0};
  r->examples.length = length_of(root);
  attn_status status = measure(r, &lengths, err);
  if (!status) status = complete(root, r, lengths.longest + 1, &config, err);
  if (!status) status = plan(w, attn_data_task(r->data), &how, err);
  if (!status) status = make_room(&how, &lengths, config.length, err);
  if (status) return status;
  r->examples.length = config.length;
  return attn_trainer_new(&config, &how, &r->trainer, err);
}

/* ---- Anew ---- */

static attn_status note(struct attn_run *r, const attn_train *w, attn_error *err) {
  struct attn_record *c = &r->record;
  *c = (struct attn_record){.examples = or_else(w->examples, 256),
                            .patience = w->patience,
                            .until = w->until > 0 ? w->until : NAN,
                            .best = NAN,
                            .best_loss = NAN,
                            .exact = NAN,
                            .loss = NAN};
  if (!w->task == !w->data)
    return wrong(err, "task, data", "are two ways to say what is learned: give one");
  if (w->held_out && !w->data) return wrong(err, "held_out", "belongs to data");
  return copy(&c->task, w->task) && copy(&c->data, w->data) && copy(&c->held_out, w->held_out)
             ? ATTN_OK
             : out_of_memory(err);
}

static attn_status begin_anew(struct attn_run *r, const attn_train *w, attn_error *err) {
  json_t *root = NULL;
  attn_status status = note(r, w, err);
  if (!status) status = check_numbers(w, err);
  if (!status) status = read_config(w->config, &root, err);
  int joined = is_kind(root, "decoder");
  if (!status) status = open_data(r, joined, w->seed, err);
  if (!status) status = make_words(r, w->tokenizer ? w->tokenizer : default_words(r->data), err);
  r->examples = (struct attn_examples){.data = r->data,
                                       .tokenizer = r->tokenizer,
                                       .joined = joined,
                                       .labels = is_kind(root, "encoder")};
  if (!status) status = attn_examples_new(&r->examples, err);
  if (!status) status = make_trainer(r, w, root, err);
  json_decref(root);
  if (status) return status;
  int64_t steps = r->trainer->how.schedule.steps, part = steps / 20 > 50 ? steps / 20 : 50;
  r->record.hash = attn_data_hash(r->data);
  r->record.validate_every = or_else(w->validate_every, part);
  return ATTN_OK;
}

/* ---- From a file ---- */

/* Lines that are wrong now were not when it began. */
static attn_status open_same_data(struct attn_run *r, int joined, uint64_t seed, attn_error *err) {
  attn_status status = open_data(r, joined, seed, err);
  if (status && status != ATTN_ERR_FORMAT) return status;
  if (!status && r->record.hash == attn_data_hash(r->data)) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "%s: not the lines that this run began with; begin a new one",
                   r->record.data ? r->record.data : r->record.task);
}

/* A setting that would be left unheard is refused. */
static attn_status check_alone(const attn_train *w, attn_error *err) {
  const struct {
    const char *name;
    int given;
  } settings[] = {{"task", w->task != NULL},
                  {"data", w->data != NULL},
                  {"held_out", w->held_out != NULL},
                  {"config", w->config != NULL},
                  {"tokenizer", w->tokenizer != NULL},
                  {"schedule", w->schedule != NULL},
                  {"precision", w->precision != NULL},
                  {"steps", w->steps != 0},
                  {"batch", w->batch != 0},
                  {"accumulate", w->accumulate != 0},
                  {"warm_up", w->warm_up != 0},
                  {"validate_every", w->validate_every != 0},
                  {"examples", w->examples != 0},
                  {"patience", w->patience != 0},
                  {"until", w->until != 0},
                  {"rate", w->rate != 0},
                  {"decay", w->decay != 0},
                  {"clip", w->clip != 0},
                  {"smoothing", w->smoothing != 0},
                  {"seed", w->seed != 0}};
  for (size_t n = 0; n < sizeof settings / sizeof *settings; n++)
    if (settings[n].given)
      return wrong(err, settings[n].name, "is the checkpoint's where a run goes on: leave it out");
  return ATTN_OK;
}

/* Under another name the best is looked for anew, for it stands at the old one. */
static void find_best(struct attn_run *r, const char *resumed) {
  struct attn_record *c = &r->record;
  if (is_own(r, resumed) && !access(r->best_path, F_OK)) return;
  c->best = c->best_loss = NAN, c->best_step = c->worse = 0;
}

/* The words of a checkpoint: numbers of theirs are rows of its tables. */
static attn_status take_words(struct attn_run *r, struct attn_checkpoint *c, attn_error *err) {
  attn_status status = attn_tokenizer_parse(c->tokenizer, strlen(c->tokenizer), &r->tokenizer, err);
  if (!status) status = attn_tokenizer_check_special_tokens(r->tokenizer, err);
  if (status) return status;
  r->words = c->tokenizer, c->tokenizer = NULL;
  int64_t words = attn_tokenizer_vocab_size(r->tokenizer);
  if (c->config.kind != ATTN_ENCODER && c->config.decoder_layers < 1)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL, "checkpoint: the model has no decoder");
  if (words == c->config.target_words && words == c->config.source_words) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "checkpoint: the tokenizer has %lld words, the model %lld", (long long)words,
                   (long long)c->config.target_words);
}

static attn_status begin_again(struct attn_run *r, const attn_train *w, attn_error *err) {
  struct attn_checkpoint c = {.tokenizer = NULL};
  attn_status status = check_alone(w, err);
  if (!status) status = attn_checkpoint_resume(w->resume, w->threads, &r->trainer, &c, err);
  if (!status) status = attn_record_parse(c.run, &r->record, err);
  int joined = !status && c.config.kind == ATTN_DECODER;
  if (!status) status = open_same_data(r, joined, c.how.seed, err);
  if (!status) status = take_words(r, &c, err);
  r->examples = (struct attn_examples){.data = r->data,
                                       .tokenizer = r->tokenizer,
                                       .joined = joined,
                                       .labels = c.config.kind == ATTN_ENCODER,
                                       .length = c.config.length};
  if (!status) status = attn_examples_new(&r->examples, err);
  if (!status) find_best(r, w->resume);
  attn_checkpoint_close(&c);
  return status;
}

attn_status attn_run_begin(struct attn_run *r, attn_error *err) {
  const attn_train *w = &r->wanted;
  attn_status status = place(r, w, err);
  if (status) return status;
  return w->resume ? begin_again(r, w, err) : begin_anew(r, w, err);
}

void attn_run_free(struct attn_run *r) {
  attn_trainer_free(r->trainer), attn_examples_free(&r->examples);
  attn_tokenizer_free(r->tokenizer), attn_data_free(r->data), attn_record_free(&r->record);
  free(r->words), free(r->best_path), free(r->last_path);
  for (int n = 0; n < 2; n++) attn_lock_end(&r->locks[n]);
}
