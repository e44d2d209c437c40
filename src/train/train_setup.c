/* train_setup.c -- creates a run's data, tokenizer, model and trainer, or reads them from a
 * checkpoint. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caption_files.h"
#include "json_text.h"
#include "error.h"
#include "file.h"
#include "pretrain_encoder.h"
#include "train_run.h"

enum {
  TASK_EXAMPLES = 20000, /* of a task, which has no end: for the vocabulary, and for lengths */
  MIN_POSITIONS = 64,
  POLL_INTERVAL = 256
};

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: setting up a run");
}

static attn_status invalid(attn_error *err, const char *setting, const char *message) {
  return attn_fail(err, ATTN_ERR_ARGUMENT, setting, "%s %s", setting, message);
}

/* ---- Progress ---- */

static int report(void *run, int64_t done, int64_t total) {
  struct attn_train_run *r = run;
  r->state.done = done, r->state.total = total;
  return r->config.progress && r->config.progress(r->config.context, &r->state);
}

struct attn_watch *attn_train_run_phase(struct attn_train_run *r, enum attn_train_phase phase) {
  r->state.phase = (int32_t)phase, r->state.validated = 0;
  r->watch.progress = report, r->watch.context = r, r->watch.name = "progress";
  return &r->watch;
}

/* ---- Settings ---- */

/* max > 0: an integer. A resumed run has the settings of its checkpoint. */
static attn_status check_settings(const attn_train_config *c, attn_error *err) {
  const struct {
    const char *name;
    int is_set;
    int64_t value, max;
  } settings[] = {{"task", c->task != NULL, 0, 0},
                  {"data", c->data != NULL, 0, 0},
                  {"validation_data", c->validation_data != NULL, 0, 0},
                  {"images", c->images != NULL, 0, 0},
                  {"config", c->config != NULL, 0, 0},
                  {"tokenizer", c->tokenizer != NULL, 0, 0},
                  {"lr_schedule", c->lr_schedule != NULL, 0, 0},
                  {"precision", c->precision != NULL, 0, 0},
                  {"steps", c->steps != 0, c->steps, INT64_MAX},
                  {"batch_size", c->batch_size != 0, c->batch_size, ATTN_BATCH_SIZE_MAX},
                  {"gradient_accumulation_steps", c->gradient_accumulation_steps != 0,
                   c->gradient_accumulation_steps, ATTN_BATCH_SIZE_MAX},
                  {"warmup_steps", c->warmup_steps != 0, c->warmup_steps, INT64_MAX},
                  {"validate_every", c->validate_every != 0, c->validate_every, INT64_MAX},
                  {"max_validation_examples", c->max_validation_examples != 0,
                   c->max_validation_examples, ATTN_VALIDATION_EXAMPLES_MAX},
                  {"patience", c->patience != 0, c->patience, INT64_MAX},
                  {"target_exact_match", c->target_exact_match != 0, 0, 0},
                  {"learning_rate", c->learning_rate != 0, 0, 0},
                  {"weight_decay", c->weight_decay != 0, 0, 0},
                  {"max_grad_norm", c->max_grad_norm != 0, 0, 0},
                  {"label_smoothing", c->label_smoothing != 0, 0, 0},
                  {"pretrain_encoder_steps", c->pretrain_encoder_steps != 0,
                   c->pretrain_encoder_steps, INT64_MAX},
                  {"freeze_cnn", c->freeze_cnn != 0, 0, 0},
                  {"seed", c->seed != 0, 0, 0},
                  {"threads", 0, c->threads, 1024}};
  for (size_t n = 0; n < sizeof settings / sizeof *settings; n++) {
    if (c->resume && settings[n].is_set)
      return invalid(err, settings[n].name, "cannot change in a resumed run; leave it out");
    if (settings[n].value < 0)
      return attn_fail(err, ATTN_ERR_ARGUMENT, settings[n].name, "%s must be at least 1, got %lld",
                       settings[n].name, (long long)settings[n].value);
    if (settings[n].value > settings[n].max)
      return attn_fail(err, ATTN_ERR_ARGUMENT, settings[n].name,
                       "%s must be between 1 and %lld, got %lld", settings[n].name,
                       (long long)settings[n].max, (long long)settings[n].value);
  }
  if (!c->resume && !c->task == !c->data)
    return invalid(err, "task, data", "are alternatives; give exactly one");
  if (c->images && !c->data) return invalid(err, "images", "requires data");
  if (c->images && !*c->images) return invalid(err, "images", "must be a folder, got \"\"");
  if (c->validation_data && !c->data) return invalid(err, "validation_data", "requires data");
  if (!isfinite(c->learning_rate) || c->learning_rate < 0)
    return invalid(err, "learning_rate", "must be finite and above 0");
  if (!isfinite(c->weight_decay)) return invalid(err, "weight_decay", "must be finite");
  if (!isfinite(c->max_grad_norm)) return invalid(err, "max_grad_norm", "must be finite");
  if (!(c->target_exact_match >= 0 && c->target_exact_match <= 1))
    return invalid(err, "target_exact_match", "must be between 0 and 1");
  if (!(c->label_smoothing >= 0 && c->label_smoothing < 1))
    return invalid(err, "label_smoothing", "must be at least 0 and below 1");
  return ATTN_OK;
}

/* ---- Output files ---- */

/* "dates.last.safetensors" for "dates.safetensors", and for "dates". */
static char *last_name(const char *path) {
  static const char extension[] = ".safetensors";
  size_t length = strlen(path), end = sizeof extension - 1;
  if (length > end && !strcmp(path + length - end, extension)) length -= end;
  char *name = malloc(length + sizeof ".last" + end);
  if (name) sprintf(name, "%.*s.last%s", (int)length, path, extension);
  return name;
}

static attn_status check_does_not_exist(const char *path, attn_error *err) {
  if (access(path, F_OK)) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "output",
                   "%s exists; resume its run, overwrite it, or choose another name", path);
}

static int is_same_file(const char *a, const char *b) {
  struct stat one, other;
  return !stat(a, &one) && !stat(b, &other) && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

/* Whether the outputs are those of the resumed run, which may be replaced. */
static int is_own(const struct attn_train_run *r, const char *resumed) {
  return resumed && (is_same_file(r->last_path, resumed) || is_same_file(r->best_path, resumed));
}

/* Locks a path, after checking that it can be written: failing after training would lose it. */
static attn_status claim(const char *path, struct attn_lock *lock, attn_error *err) {
  char *target = NULL;
  attn_status status = attn_file_target(path, &target, err);
  if (!status) status = attn_file_writable(target, err);
  if (!status) status = attn_lock_begin(lock, target, 20, err);
  free(target);
  return status;
}

static attn_status claim_outputs(struct attn_train_run *r, attn_error *err) {
  const attn_train_config *c = &r->config;
  if (!c->output) return invalid(err, "output", "is missing");
  r->best_path = strdup(c->output), r->last_path = last_name(c->output);
  if (!r->best_path || !r->last_path) return out_of_memory(err);
  attn_status status = claim(r->best_path, &r->locks[0], err);
  if (!status) status = claim(r->last_path, &r->locks[1], err);
  r->replaces_another_run = !is_own(r, c->resume);
  if (!status && r->replaces_another_run && !c->replace) {
    status = check_does_not_exist(r->best_path, err);
    if (!status) status = check_does_not_exist(r->last_path, err);
  }
  return status;
}

/* ---- Data ---- */

static int copy(char **to, const char *text) { return !text || (*to = strdup(text)); }

static attn_status open_data(struct attn_train_run *r, int plain_text, uint64_t seed,
                             attn_error *err) {
  const struct attn_run_record *c = &r->record;
  struct attn_watch *watch = attn_train_run_phase(r, ATTN_TRAIN_READ_DATA);
  if (c->task) return attn_text_pairs_from_task(c->task, seed, watch, &r->pairs, err);
  if (c->images)
    return attn_captions_open(c->images, c->data, c->validation_data, seed, watch, &r->pairs, err);
  return attn_text_pairs_from_file(c->data, c->validation_data, plain_text, seed, watch, &r->pairs,
                                   err);
}

/* 1: the sources are pictures. */
static int has_pictures(const struct attn_train_run *r) {
  const struct attn_task *task = attn_text_pairs_task(r->pairs);
  return r->record.images || (task && task->picture_side);
}

/* ---- Tokenizer ---- */

static attn_status copy_passage(struct attn_text_view *to, struct attn_text_view from,
                                attn_error *err) {
  char *text = malloc(from.length + 1);
  if (!text) return out_of_memory(err);
  if (from.length) memcpy(text, from.text, from.length);
  *to = (struct attn_text_view){text, from.length};
  return ATTN_OK;
}

enum { SIDES = 3 }; /* texts of an example */

/* Copies the sources, unless they name pictures, prefixes and targets of the training examples, and
 * the tab of decoder prompts. */
static attn_status collect(const struct attn_train_run *r, int64_t count, struct attn_watch *watch,
                           struct attn_text_view *texts, attn_error *err) {
  int are_names = has_pictures(r);
  attn_status status = ATTN_OK;
  struct attn_text_pair pair;
  for (int64_t n = 0; n < count && !status; n++) {
    if (n % POLL_INTERVAL == 0) status = attn_watch_report(watch, n, count, err);
    if (!status) status = attn_text_pairs_get(r->pairs, (uint64_t)n, 0, &pair, err);
    if (!status && are_names) pair.source = (struct attn_text_view){"", 0};
    if (!status) status = copy_passage(&texts[SIDES * n], pair.source, err);
    if (!status) status = copy_passage(&texts[SIDES * n + 1], pair.prefix, err);
    if (!status) status = copy_passage(&texts[SIDES * n + 2], pair.target, err);
  }
  if (!status) status = copy_passage(&texts[SIDES * count], (struct attn_text_view){"\t", 1}, err);
  return status;
}

static attn_status train_tokenizer(const char *kind, const struct attn_text_view *texts,
                                   size_t count, struct attn_watch *watch,
                                   struct attn_tokenizer **t, attn_error *err) {
  char *end = NULL;
  long vocab_size = strncmp(kind, "bpe:", 4) ? 0 : strtol(kind + 4, &end, 10);
  if (!strcmp(kind, "characters"))
    return attn_tokenizer_train_characters(texts, count, watch, t, err);
  if (!strcmp(kind, "words")) return attn_tokenizer_train_words(texts, count, watch, t, err);
  if (end && !*end) return attn_tokenizer_train_bpe(texts, count, vocab_size, watch, t, err);
  if (!access(kind, F_OK)) return attn_tokenizer_read(kind, t, err);
  return attn_fail(err, ATTN_ERR_ARGUMENT, "tokenizer",
                   "tokenizer must be characters, words, bpe:SIZE or an existing file, got %.80s",
                   kind);
}

/* From the training examples alone: characters that only validation has are unknown. */
static attn_status make_tokenizer(struct attn_train_run *r, const char *kind, attn_error *err) {
  int64_t count = attn_text_pairs_count(r->pairs, 0);
  if (!count) count = TASK_EXAMPLES;
  struct attn_watch *watch = attn_train_run_phase(r, ATTN_TRAIN_BUILD_VOCABULARY);
  size_t text_count = SIDES * (size_t)count + 1;
  struct attn_text_view *texts = calloc(text_count, sizeof *texts);
  attn_status status = texts ? collect(r, count, watch, texts, err) : out_of_memory(err);
  if (!status) status = train_tokenizer(kind, texts, text_count, watch, &r->tokenizer, err);
  for (size_t n = 0; texts && n < text_count; n++) free((void *)texts[n].text);
  free(texts);
  if (!status) status = attn_tokenizer_check_special_tokens(r->tokenizer, err);
  if (!status && !(r->tokenizer_json = attn_tokenizer_to_json(r->tokenizer)))
    status = out_of_memory(err);
  return status;
}

static const char *default_tokenizer(const struct attn_text_pairs *pairs) {
  const struct attn_task *task = attn_text_pairs_task(pairs);
  return task && task->tokens == ATTN_TASK_WORDS ? "words" : "characters";
}

/* ---- Model ---- */

static attn_status read_config(const char *text, json_t **root, attn_error *err) {
  if (!text) text = "{}";
  attn_status status = attn_json_read_object("model configuration", text, strlen(text), root, err);
  return status ? status : attn_model_config_rename_members(*root, err);
}

static int is_member(const json_t *root, const char *name, const char *value) {
  const char *text = json_string_value(json_object_get(root, name));
  return text && !strcmp(text, value);
}

/* The kind that is given; by default an encoder-decoder. */
static enum attn_model_kind kind_of(const json_t *root) {
  for (int kind = ATTN_DECODER; kind <= ATTN_VISION_ENCODER_DECODER; kind++)
    if (is_member(root, "kind", attn_model_kind_name((enum attn_model_kind)kind)))
      return (enum attn_model_kind)kind;
  return ATTN_ENCODER_DECODER;
}

/* A model reads pictures if and only if the data have them. */
static attn_status check_kind(const struct attn_train_run *r, const json_t *root, attn_error *err) {
  int is_vision = kind_of(root) == ATTN_VISION_ENCODER_DECODER;
  if (is_vision && !has_pictures(r))
    return invalid(err, "config",
                   "has kind \"vision-encoder-decoder\", but the data have no pictures");
  if (!json_object_get(root, "kind") || is_vision || !has_pictures(r)) return ATTN_OK;
  return invalid(err, "config",
                 "must have kind \"vision-encoder-decoder\": the sources are pictures");
}

static attn_status check_model(const struct attn_model_config *config, int64_t vocab_size,
                               attn_error *err) {
  if (config->vocab_size != vocab_size || config->source_vocab_size != vocab_size)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "config",
                     "config: vocabulary of %lld tokens, but the tokenizer has %lld; leave it out",
                     (long long)config->vocab_size, (long long)vocab_size);
  if (config->kind != ATTN_ENCODER && config->decoder_layers < 1)
    return invalid(err, "config", "has no decoder layers");
  if ((config->kind == ATTN_ENCODER || config->kind == ATTN_ENCODER_DECODER) &&
      config->encoder_layers < 1)
    return invalid(err, "config", "has no encoder layers");
  return ATTN_OK;
}

/* Adds the members that are missing; takes the defaults. Nonzero: out of memory. */
static int add_missing(json_t *root, json_t *defaults) {
  int failed = json_object_update_missing(root, defaults);
  json_decref(defaults);
  return failed;
}

/* Of models that read pictures. */
static json_t *vision_defaults(const json_t *root) {
  int is_transformer = is_member(root, "decoder_type", "transformer");
  return json_pack("{s:s, s:s, s:i, s:i, s:i, s:b}", "kind", "vision-encoder-decoder",
                   "decoder_type", "lstm", "d_model", 128, "num_heads", is_transformer ? 4 : 1,
                   "head_dim", is_transformer ? 32 : 64, "scale_embedding", 0);
}

static json_t *defaults(const struct attn_train_run *r, int64_t length) {
  return json_pack("{s:i, s:i, s:i, s:i, s:i, s:b, s:f, s:I, s:I}", "d_model", 64, "num_heads", 4,
                   "ffn_dim", 256, "encoder_layers", 2, "decoder_layers", 2,
                   "share_encoder_decoder_embeddings", 1, "dropout", r->record.task ? 0.0 : 0.1,
                   "vocab_size", (json_int_t)attn_tokenizer_vocab_size(r->tokenizer),
                   "max_positions", (json_int_t)(length > MIN_POSITIONS ? length : MIN_POSITIONS));
}

/* Adds the members that were not given. length: of the longest example. */
static attn_status complete_config(json_t *root, const struct attn_train_run *r, int64_t length,
                                   struct attn_model_config *config, attn_error *err) {
  if ((has_pictures(r) && add_missing(root, vision_defaults(root))) ||
      add_missing(root, defaults(r, length)))
    return out_of_memory(err);
  attn_status status = attn_model_config_read(root, config, err);
  return status ? status : check_model(config, attn_tokenizer_vocab_size(r->tokenizer), err);
}

/* The limit of the configuration, or none. */
static int64_t max_positions(const json_t *root) {
  json_int_t length = json_integer_value(json_object_get(root, "max_positions"));
  return length > 0 ? length : INT64_MAX;
}

/* ---- Trainer ---- */

/* Measures all lines of a file, so that no run fails after hours because of one of them; of a task
 * as many examples as are representative. */
static attn_status measure(struct attn_train_run *r, struct attn_length_stats *l, attn_error *err) {
  struct attn_watch *watch = attn_train_run_phase(r, ATTN_TRAIN_MEASURE_EXAMPLES);
  attn_status status = ATTN_OK;
  for (int validation = 0; validation < 2 && !status; validation++) {
    int64_t count = attn_text_pairs_count(r->pairs, validation);
    if (!count) count = TASK_EXAMPLES;
    status = attn_dataset_measure(&r->dataset, count, validation, watch, l, err);
  }
  return status;
}

static int64_t or_default(int64_t value, int64_t otherwise) { return value ? value : otherwise; }

/* A negative value is 0. */
static double real_or_default(double value, double otherwise) {
  return value > 0 ? value : value < 0 ? 0 : otherwise;
}

static attn_status make_trainer_config(const attn_train_config *c, const struct attn_task *task,
                                       struct attn_trainer_config *t, attn_error *err) {
  int64_t steps = or_default(c->steps, task ? task->steps : 4000);
  *t = (struct attn_trainer_config){
      .adam = {0.9, 0.98, 1e-9, real_or_default(c->weight_decay, 0.01)},
      .schedule = {ATTN_LR_COSINE, real_or_default(c->learning_rate, 0.002),
                   or_default(c->warmup_steps, steps / 20 + 1), steps},
      .max_grad_norm = real_or_default(c->max_grad_norm, 1),
      .label_smoothing = c->label_smoothing,
      .batch_size = or_default(c->batch_size, 64),
      .gradient_accumulation_steps = or_default(c->gradient_accumulation_steps, 1),
      .seed = c->seed,
      .threads = c->threads,
      .freeze_cnn = c->freeze_cnn != 0};
  if (c->lr_schedule && !attn_lr_schedule_find(c->lr_schedule, &t->schedule.kind))
    return invalid(err, "lr_schedule", "must be \"cosine\", \"noam\" or \"constant\"");
  if (c->precision && !attn_precision_find(c->precision, &t->bf16))
    return invalid(err, "precision", "must be \"float32\" or \"bf16\"");
  return ATTN_OK;
}

/* Capacity for batch_size examples of the longest length, but of at most four times the mean: a
 * batch of longer ones has fewer examples. A task's lengths are estimates. */
static attn_status set_batch_capacity(struct attn_trainer_config *t,
                                      const struct attn_length_stats *l, int64_t positions,
                                      attn_error *err) {
  int64_t mean = l->total / l->count + 1;
  t->max_length = l->longest > MIN_POSITIONS ? l->longest : MIN_POSITIONS;
  if (t->max_length > positions) t->max_length = positions;
  t->max_tokens = t->batch_size * (l->longest < 4 * mean ? l->longest : 4 * mean);
  if (t->max_tokens <= ATTN_BATCH_TOKENS_MAX) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "batch_size",
                   "batch_size %lld needs more than 2^24 tokens; use smaller batches and "
                   "gradient_accumulation_steps",
                   (long long)t->batch_size);
}

static attn_status make_trainer(struct attn_train_run *r, json_t *root, attn_error *err) {
  struct attn_model_config model;
  struct attn_trainer_config config;
  struct attn_length_stats lengths = {1, 0, 0};
  r->dataset.max_positions = max_positions(root);
  attn_status status = measure(r, &lengths, err);
  if (!status) status = complete_config(root, r, lengths.longest + 1, &model, err);
  if (!status)
    status = make_trainer_config(&r->config, attn_text_pairs_task(r->pairs), &config, err);
  if (!status) status = set_batch_capacity(&config, &lengths, model.max_positions, err);
  if (status) return status;
  r->dataset.max_positions = model.max_positions;
  r->dataset.image_size = model.image_size;
  return attn_trainer_new(&model, &config, &r->trainer, err);
}

static attn_status open_dataset(struct attn_train_run *r, enum attn_model_kind kind,
                                attn_error *err) {
  r->dataset = (struct attn_dataset){
      .pairs = r->pairs, .tokenizer = r->tokenizer, .kind = kind, .folder = r->record.images};
  return attn_dataset_init(&r->dataset, err);
}

/* ---- A new run ---- */

static attn_status make_record(struct attn_train_run *r, attn_error *err) {
  const attn_train_config *c = &r->config;
  struct attn_run_record *record = &r->record;
  *record = (struct attn_run_record){
      .max_validation_examples = or_default(c->max_validation_examples, 256),
      .patience = c->patience,
      .pretrain_encoder_steps = c->pretrain_encoder_steps,
      .target_exact_match = c->target_exact_match > 0 ? c->target_exact_match : NAN,
      .best_metric = NAN,
      .best_validation_loss = NAN,
      .validation_exact_match = NAN,
      .validation_loss = NAN};
  return copy(&record->task, c->task) && copy(&record->data, c->data) &&
                 copy(&record->validation_data, c->validation_data) &&
                 copy(&record->images, c->images)
             ? ATTN_OK
             : out_of_memory(err);
}

static attn_status check_encoder(const struct attn_train_run *r, attn_error *err) {
  const attn_train_config *c = &r->config;
  if (c->pretrain_encoder_steps && (!c->task || !has_pictures(r)))
    return invalid(err, "pretrain_encoder_steps",
                   "requires a task with pictures, whose objects are known");
  if (c->freeze_cnn && !has_pictures(r)) return invalid(err, "freeze_cnn", "requires pictures");
  return ATTN_OK;
}

static attn_status pretrain(struct attn_train_run *r, attn_error *err) {
  const int64_t steps = r->record.pretrain_encoder_steps;
  if (!steps) return ATTN_OK;
  return attn_pretrain_encoder(r->trainer, &r->dataset, steps,
                               attn_train_run_phase(r, ATTN_TRAIN_PRETRAIN_ENCODER), NULL, err);
}

static attn_status open_new(struct attn_train_run *r, attn_error *err) {
  const attn_train_config *c = &r->config;
  json_t *root = NULL;
  attn_status status = make_record(r, err);
  if (!status) status = read_config(c->config, &root, err);
  enum attn_model_kind kind = kind_of(root);
  if (!status) status = open_data(r, kind == ATTN_DECODER, c->seed, err);
  if (!status) status = check_kind(r, root, err);
  if (!status) status = check_encoder(r, err);
  if (!status)
    status = make_tokenizer(r, c->tokenizer ? c->tokenizer : default_tokenizer(r->pairs), err);
  if (!status) status = open_dataset(r, has_pictures(r) ? ATTN_VISION_ENCODER_DECODER : kind, err);
  if (!status) status = make_trainer(r, root, err);
  if (!status) status = pretrain(r, err);
  json_decref(root);
  if (status) return status;
  int64_t every = r->trainer->config.schedule.steps / 20;
  r->record.data_hash = attn_text_pairs_hash(r->pairs);
  r->record.validate_every = or_default(c->validate_every, every > 50 ? every : 50);
  return ATTN_OK;
}

/* ---- A resumed run ---- */

/* Invalid lines were valid when the run began, so the data have changed. */
static attn_status open_same_data(struct attn_train_run *r, int plain_text, uint64_t seed,
                                  attn_error *err) {
  attn_status status = open_data(r, plain_text, seed, err);
  if (status && status != ATTN_ERR_FORMAT) return status;
  if (!status && r->record.data_hash == attn_text_pairs_hash(r->pairs)) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "%s: the data have changed since the run began; start a new run",
                   r->record.data ? r->record.data : r->record.task);
}

/* The best checkpoint is next to the resumed one; under another name the search starts over. */
static void reset_best(struct attn_train_run *r) {
  struct attn_run_record *c = &r->record;
  if (is_own(r, r->config.resume) && !access(r->best_path, F_OK)) return;
  c->best_metric = c->best_validation_loss = NAN;
  c->best_step = c->validations_without_improvement = 0;
}

static attn_status open_tokenizer(struct attn_train_run *r, struct attn_checkpoint *c,
                                  attn_error *err) {
  const char *json = c->tokenizer;
  attn_status status = attn_tokenizer_parse(json, strlen(json), &r->tokenizer, err);
  if (!status) status = attn_tokenizer_check_special_tokens(r->tokenizer, err);
  if (status) return status;
  r->tokenizer_json = c->tokenizer, c->tokenizer = NULL;
  int64_t words = attn_tokenizer_vocab_size(r->tokenizer);
  if (c->model.kind != ATTN_ENCODER && c->model.decoder_layers < 1)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL, "checkpoint: the model has no decoder layers");
  if (words == c->model.vocab_size && words == c->model.source_vocab_size) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "checkpoint: the tokenizer has %lld tokens, the model %lld", (long long)words,
                   (long long)c->model.vocab_size);
}

static attn_status open_resumed(struct attn_train_run *r, attn_error *err) {
  struct attn_checkpoint c = {.tokenizer = NULL};
  const attn_train_config *config = &r->config;
  attn_status status =
      attn_checkpoint_resume(config->resume, config->threads, &r->trainer, &c, err);
  if (!status) status = attn_run_record_parse(c.run, &r->record, err);
  if (!status) status = open_same_data(r, c.model.kind == ATTN_DECODER, c.trainer.seed, err);
  if (!status && has_pictures(r) != (c.model.kind == ATTN_VISION_ENCODER_DECODER))
    status =
        attn_fail(err, ATTN_ERR_FORMAT, NULL, "checkpoint: the model reads %s, its data have %s",
                  has_pictures(r) ? "texts" : "pictures", has_pictures(r) ? "pictures" : "texts");
  if (!status) status = open_tokenizer(r, &c, err);
  if (!status) status = open_dataset(r, c.model.kind, err);
  r->dataset.max_positions = c.model.max_positions, r->dataset.image_size = c.model.image_size;
  if (!status) reset_best(r);
  attn_checkpoint_close(&c);
  return status;
}

attn_status attn_train_run_open(struct attn_train_run *r, attn_error *err) {
  attn_status status = claim_outputs(r, err);
  if (!status) status = check_settings(&r->config, err);
  if (status) return status;
  return r->config.resume ? open_resumed(r, err) : open_new(r, err);
}

void attn_train_run_free(struct attn_train_run *r) {
  attn_trainer_free(r->trainer), attn_dataset_free(&r->dataset);
  attn_tokenizer_free(r->tokenizer), attn_text_pairs_free(r->pairs);
  attn_run_record_free(&r->record);
  free(r->tokenizer_json), free(r->best_path), free(r->last_path);
  for (int n = 0; n < 2; n++) attn_lock_end(&r->locks[n]);
}
