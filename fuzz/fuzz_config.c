/* fuzz_config.c -- any text as a configuration: written and read back it is the same, and a small
 * model of it is trained for a step, opened and used; or it is refused with an error. */
#include "attn/train.h"
#include "config.h"
#include "opened.h"
#include "network.h"

enum { MAX_PARAMETERS = 1 << 15, MAX_LENGTH = 1 << 10 };

/* Small enough for many runs per second. */
static int is_small(const struct attn_model_config *c) {
  int64_t numbers;
  return c->encoder_layers + c->decoder_layers <= 8 && !attn_network_count(c, &numbers, NULL) &&
         numbers <= MAX_PARAMETERS && c->max_positions <= MAX_LENGTH &&
         c->num_heads * c->head_dim <= MAX_LENGTH;
}

static int parse(const char *text, size_t length, struct attn_model_config *c) {
  attn_error err;
  attn_status status = attn_model_config_parse(text, length, c, &err);
  MUST(!status || (status == ATTN_ERR_FORMAT && err.message[0]));
  return !status;
}

/* The written text has every member. */
static void write_back(const struct attn_model_config *c) {
  struct attn_model_config again;
  char *text = attn_model_config_write(c);
  MUST(text && parse(text, strlen(text), &again));
  char *twice = attn_model_config_write(&again);
  MUST(twice && !strcmp(text, twice));
  free(text), free(twice);
}

static int32_t stop(void *context, const attn_train_state *state) {
  (void)context;
  return state->step >= 1;
}

static void train(const char *config) {
  static const char lines[] = "ab\tba\na b\tb a\naa\tab\nbb\tb\n12\t21\nc\tc\n";
  char data[1100], output[1100];
  attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
  attn_error err;
  put_file("pairs.tsv", lines, sizeof lines - 1);
  run.data = run.validation_data = path_of(data, "pairs.tsv"),
  run.output = path_of(output, "m.safetensors");
  run.config = config, run.replace = 1,
  run.steps = run.batch_size = run.max_validation_examples = 1, run.threads = 1;
  run.tokenizer = "words", run.progress = stop; /* "characters" takes longer */
  attn_status status = attn_model_train(&run, NULL, &err);
  MUST(!status || err.message[0]);
  if (!status) MUST(!use_model(output));
}

/* With the vocabulary size that training sets. */
static int is_trainable(const char *text) {
  const char *close = strrchr(text, '}');
  size_t capacity = strlen(text) + 64;
  char *whole = malloc(capacity);
  struct attn_model_config c;
  MUST(whole);
  snprintf(whole, capacity, "%.*s,\"vocab_size\":11}", close ? (int)(close - text) : 0, text);
  int small = parse(whole, strlen(whole), &c) && is_small(&c);
  free(whole);
  return small;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct attn_model_config c;
  if (parse((const char *)data, size, &c)) write_back(&c);
  char *text = text_of((struct part){(const char *)data, size});
  if (strlen(text) == size && is_trainable(text)) train(text);
  free(text);
  return 0;
}
